/* SPDX-License-Identifier: BSD-2-Clause */
/* light/note.h - what a process and its own relay tell each other about light: notes of type 7
 * (relayproto/note.h, suci_path_note).
 *
 *     u8 7 | u32 label base | u8 kind | body
 *
 * process to relay
 *   1 COMM   u32 comm | u32 leader | u32 p | u32 at | u16 n | n x u32 world rank
 *            Ranks at .. at + n - 1 of a communicator of p; the lowest rank of each cluster
 *            sends all of them, in pieces, before its first CALL.
 *   2        u32 comm | u32 leader | u32 seq | ...
 *            A call as versions before LIGHT_VERSION announce it, with its algorithm as a place
 *            in a list: nobody plans it, it goes by packets.
 *   3 RECEIVED  n x { u32 comm | u32 leader | u32 seq | u32 from | u32 to | u32 count }
 *            The receiver says how many messages from -> to of the call have arrived.
 *   4 FREE   u32 comm | u32 leader
 *   7 CALL   u32 comm | u32 leader | u32 seq | u8 op | u16 algorithm | u8 its version | u8 mode |
 *            u8 flags | u32 root | u64 bytes | u32 elem | u8 degree
 *            The collective call seq of it (coll_args).  algorithm and version are those of
 *            struct coll_algorithm; who does not know them lets the call go by packets.
 *
 * relay to process
 *   5 OFFER  u8 on | u8 ports | u8 mode | u64 light_from | u8 version
 *            Whether there is light, and from how many bytes of a message on a call is worth
 *            announcing; which announcements are understood (none: those of kind 2).
 *   6 CLEAR_TO_SEND  as RECEIVED: so many of the messages from -> to of the call may go.
 *            from = to = ANY: all messages of the call may.
 *
 * comm is the collective context id, leader the world rank of its rank 0: together unique in a
 * job; seq counts the collective calls of the communicator.  from and to are ranks of it; the
 * messages of a pair count in the order of coll/play.h.
 *
 * Notes come in any order and more than once: each says the same however often it is said, and
 * counts are cumulative.  Bytes behind a body (but RECEIVED's and CLEAR_TO_SEND's) are ignored.
 *
 * Units    bytes.  Threads  plain functions. */
#ifndef LIGHT_NOTE_H
#define LIGHT_NOTE_H

#include "circ/mode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIGHT_NOTE_TYPE	  7u
#define LIGHT_NOTE_MAX	  1024u
#define LIGHT_NOTE_HEAD	  6u
#define LIGHT_NOTE_RANKS  ((LIGHT_NOTE_MAX - LIGHT_NOTE_HEAD - 18u) / 4u)
#define LIGHT_NOTE_COUNTS ((LIGHT_NOTE_MAX - LIGHT_NOTE_HEAD) / 24u)
#define LIGHT_ANY	  UINT32_MAX
#define LIGHT_VERSION	  2u /* of CALL; an offer of another one is none */

#define LIGHT_ERR_OK	    0
#define LIGHT_ERR_MALFORMED (-1)

enum light_note_kind {
	LIGHT_NOTE_COMM = 1,
	LIGHT_NOTE_CALL_BY_INDEX = 2,
	LIGHT_NOTE_RECEIVED = 3,
	LIGHT_NOTE_FREE = 4,
	LIGHT_NOTE_OFFER = 5,
	LIGHT_NOTE_CLEAR_TO_SEND = 6,
	LIGHT_NOTE_CALL = 7,
};

#define LIGHT_CALL_FORECAST 1u /* it has not begun, but will come */
#define LIGHT_CALL_REVERSED 2u /* coll_args.reversed */
#define LIGHT_CALL_ORDERED  4u /* the reduction does not commute */

struct light_comm { /* a piece of one */
	uint32_t comm, leader;
	uint32_t p, at;
	uint16_t n;
	uint32_t rank[LIGHT_NOTE_RANKS];
};

struct light_call {
	uint32_t comm, leader, seq;
	uint8_t op;		   /* enum coll_op, < COLL_OP_COUNT */
	uint16_t algorithm;	   /* coll_algorithm.id */
	uint8_t algorithm_version; /* coll_algorithm.version */
	uint8_t mode;		   /* enum circ_mode */
	uint8_t flags;
	uint8_t degree;
	uint32_t root, elem;
	uint64_t bytes;
};

struct light_count {
	uint32_t comm, leader, seq;
	uint32_t from, to, count;
};

struct light_offer {
	bool on;
	uint8_t ports, mode;
	uint64_t light_from;
	uint8_t version; /* 0: not said */
};

struct light_note {
	uint8_t kind; /* enum light_note_kind */
	uint32_t label_base;
	uint32_t comm, leader; /* FREE */
	uint32_t counts;       /* RECEIVED, CLEAR_TO_SEND: of count[] */
	union {
		struct light_comm piece; /* COMM */
		struct light_call call;	 /* CALL; of CALL_BY_INDEX comm, leader, seq */
		struct light_count count[LIGHT_NOTE_COUNTS];
		struct light_offer offer;
	} u;
};

/* Why CALL_BY_INDEX is not planned. */
#define LIGHT_TEXT_BY_INDEX                                                                    \
	"it names its algorithm by a place in a list, as older releases do; fix: one release " \
	"of relayd and libmpi"
/* Is it a kind that processes send? */
bool light_note_is_up(uint8_t kind);
/* Returns the length written. */
size_t light_note_encode(const struct light_note *n, uint8_t out[LIGHT_NOTE_MAX]);
/* 0 or MALFORMED: not of type 7, a kind nobody knows, cut short, a piece beyond p, a mode or an
 * operation that there is not, counts that end in the middle. */
int light_note_decode(const void *in, size_t len, struct light_note *out);

#endif
