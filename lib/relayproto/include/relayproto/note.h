/* SPDX-License-Identifier: BSD-2-Clause */
/* relayproto/note.h - notes: what relays and processes tell each other about a job
 * (suci_path_note, doc/job-setup.md).
 *
 *     1 ABORT   u32 label base in the receiver's space | u16 len | text | [u32 token]
 *     2 LEAVE   u32 label base | [u32 token]
 *     3 PING    asks for nothing but the acknowledgement every note gets
 *     4 RELAYS  struct relay_list: the relays of the sender's cluster
 *     5 WAYS    u32 label base | u32 token | u32 ways | u32 resend    (bit per client)
 *     6 LOST    u32 label base | u32 ipv4 | u16 port | u8 lost        process to relay
 *     7 LIGHT   u32 label base | ...                                  light/note.h
 *     9 DEATH   u32 label base | u32 token | u32 first | u32 count    world ranks that have failed;
 *	         count 0, from a process: its job survives that
 *    10 REST    u32 label base | u32 token | u32 say | u32 number       process to process
 *	         about the path between them: pathpool/pathpool.h (8: relayproto/door.h)
 *
 * Between relays the token of the receiver's host id in that job follows: label bases are
 * used again, and a note may be told long after the end, when a trunk is up at last.
 *
 * What a later version may say is taken as far as it can be understood: bytes behind a note are
 * ignored, a weight that is too large counts as the largest, a policy nobody knows as DEST, the
 * policy towards a client that there cannot be is left out.  What is cut short or names an entry
 * that the list does not have is malformed.  Notes of other types are for the caller to count.
 *
 * Units    bytes; partition_s in seconds.  Threads  plain functions.  Limits  RELAY_NOTE_MAX,
 * RELAY_LIST_MAX; a text RELAY_WHY_MAX - 1.  Errors  relayproto/error.h. */
#ifndef RELAYPROTO_NOTE_H
#define RELAYPROTO_NOTE_H

#include "relayproto/error.h"
#include "relayproto/policy.h"
#include "relayproto/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_NOTE_MAX (1 + 4 + 2 + RELAY_WHY_MAX + 4)
/* Notes of type LIGHT may be as long as any note. */
#define RELAY_NOTE_LIGHT_MAX 1024

enum relay_note_type {
	RELAY_NOTE_ABORT = 1,
	RELAY_NOTE_LEAVE = 2,
	RELAY_NOTE_PING = 3,
	RELAY_NOTE_RELAYS = 4,
	RELAY_NOTE_WAYS = 5,
	RELAY_NOTE_LOST = 6,
	RELAY_NOTE_LIGHT = 7,
	RELAY_NOTE_DEATH = 9,
	RELAY_NOTE_REST = 10,
};

struct relay_note {
	uint8_t type;	     /* enum relay_note_type */
	uint32_t label_base; /* PING: 0 */
	uint32_t token;	     /* 0: none given */
	/* WAYS, bit per client: those that are reached over the sender now; those to which
	 * something may have been lost and is to be sent again end to end; those to which the
	 * sender has light (older senders: none). */
	uint32_t ways, resend, lit;
	/* LOST: the relay whose path went down at the process, or came up again. */
	uint32_t ipv4;
	uint16_t port;
	bool lost;
	uint32_t first, count;	  /* DEATH: first + count does not overflow */
	uint32_t say, number;	  /* REST */
	char text[RELAY_WHY_MAX]; /* ABORT; printable, NUL-terminated */
};

/* Returns the length written.  Neither RELAYS nor LIGHT. */
size_t relay_note_encode(const struct relay_note *n, uint8_t out[RELAY_NOTE_MAX]);
/* 0 or MALFORMED; bytes of the text that are not printable become '?', a text
 * longer than RELAY_WHY_MAX - 1 is cut.  RELAYS, LIGHT: type and label base only; the bodies
 * are for others (relay_list_decode(), light/note.h). */
int relay_note_decode(const void *in, size_t len, struct relay_note *n);

/* RELAYS: who the relays of the sender's cluster are, what the sender's own share is, and,
 * to a process, the policy towards each client.
 *
 *     u8 4 | u32 label base | u32 token | u8 client | u8 self | u8 own | u8 n |
 *     u16 partition timeout in s | n x { u32 ipv4 | u16 port | u8 weight | u8 flags } |
 *     u8 m | m x { u8 client | u8 policy } | [u8 6 | n x ipv6 128]
 *
 * Relays are called by IPv4 addresses; a process with IPv6 alone is told where they are, too. */
#define RELAY_LIST_NONE	    0xffu
#define RELAY_LIST_LOST	    1u /* flags: processes of its cluster say they cannot reach it */
#define RELAY_LIST_POLICIES 32u
#define RELAY_LIST_PLACES   6u
#define RELAY_LIST_MAX \
	(15u + RELAY_GROUP_MAX * 8u + 1u + RELAY_LIST_POLICIES * 2u + 1u + RELAY_GROUP_MAX * 16u)

struct relay_list {
	uint32_t label_base, token;
	uint8_t client; /* of the sender's cluster */
	uint8_t self;	/* the sender's entry */
	uint8_t own;	/* that of the relay that carries the receiving process, or NONE */
	uint8_t n;
	uint16_t partition_s; /* how long a cluster may be out of reach */
	struct {
		uint32_t ipv4;
		uint16_t port;
		uint8_t weight; /* 0 .. RELAY_WEIGHT_MAX; 0: only while there is no other */
		uint8_t flags;
	} relay[RELAY_GROUP_MAX];
	uint8_t npolicies;
	struct {
		uint8_t client, policy; /* below POLICIES; enum relay_policy */
	} policy[RELAY_LIST_POLICIES];
	bool places;
	uint8_t place[RELAY_GROUP_MAX][16]; /* all zero: it has none */
};

size_t relay_list_encode(const struct relay_list *l, uint8_t out[RELAY_LIST_MAX]);
/* 0 or MALFORMED: cut short, self or own beyond n, client, n or m over the limits above. */
int relay_list_decode(const void *in, size_t len, struct relay_list *l);

#endif
