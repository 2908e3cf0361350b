/* SPDX-License-Identifier: BSD-2-Clause */
/* relayproto/door.h - notes about doors: endpoints that join at any time (doc/job-setup.md, Doors).
 *
 *     u8 8 | u8 op | u32 request | u32 label | body
 *
 *     op            from     label                         body
 *     1 REGISTER    process  0, or what it is to have      u16 n | u64 realm | u64 token | u16 most
 *                                                          [ | u32 ipv4 | u16 port ]
 *     2 ADDRESS     relay    the first of n                u8 len | address
 *     3 LEAVE       process  the first of n                -
 *     4 IMPORT      process  of its own door, or 0         u8 len | address
 *     5 IMPORTED    relay    what it is called             u16 n | u16 turn
 *     6 REFUSED     relay    0, of a REGISTER why          -
 *     7 HOLD        process  that it was called by         -
 *     8 DROP        process  what it is called; request: of its IMPORT, 0 for HOLD   -
 *     9 GONE        relay    what it is called; request: of its IMPORT, or 0         words
 *    13 NAMED       relay    what it is called, if it is granted                     -
 *
 * and between relays
 *
 *     8 DROP        the importer's                         -
 *     9 GONE        the door's own; request: the importer's                          words
 *    10 ASK         the importer's                         u8 len | address | u8 len | own address
 *    11 ANSWER      the importer's                         u8 ok | u32 own door's there | u32 here
 *    12 WITHDRAW    the door's own; request: the importer's: what an ASK offered is so no more
 *
 * A REGISTER with a label is about a door at two relays: the other one is at that global address,
 * and either has given the door that label, or is asked to have it under that label, too.  Without
 * another relay it is about a door that the relay gave that label, and has forgotten since; or
 * about one whose label no relay gives, from DOOR_CLAIMS on (door/address.h).
 *
 * request is the asker's, not 0, and comes back with the answer.  An address is what lib/door
 * writes; here it is only bytes, at most RELAY_DOOR_ADDRESS_MAX.  Words are nothing, or a text, u8
 * len | bytes, at most RELAY_DOOR_TEXT_MAX: what the process that is gone said last; and u8 1
 * behind it if it is known to have ended.  Without that its relay, or the way to it, may be lost.
 * Bytes behind a note are ignored.
 *
 * Threads  plain functions.  Errors  relayproto/error.h. */
#ifndef RELAYPROTO_DOOR_H
#define RELAYPROTO_DOOR_H

#include "relayproto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_NOTE_DOOR	       8
#define RELAY_DOOR_ADDRESS_MAX 64u
#define RELAY_DOOR_TEXT_MAX    199u
#define RELAY_DOOR_NOTE_MAX    (10u + 1u + RELAY_DOOR_TEXT_MAX)
_Static_assert(RELAY_DOOR_NOTE_MAX >= 10u + 2u * (1u + RELAY_DOOR_ADDRESS_MAX),
	       "two addresses fit");

enum relay_door_op {
	RELAY_DOOR_REGISTER = 1,
	RELAY_DOOR_ADDRESS = 2,
	RELAY_DOOR_LEAVE = 3,
	RELAY_DOOR_IMPORT = 4,
	RELAY_DOOR_IMPORTED = 5,
	RELAY_DOOR_REFUSED = 6,
	RELAY_DOOR_HOLD = 7,
	RELAY_DOOR_DROP = 8,
	RELAY_DOOR_GONE = 9,
	RELAY_DOOR_ASK = 10,
	RELAY_DOOR_ANSWER = 11,
	RELAY_DOOR_WITHDRAW = 12,
	RELAY_DOOR_NAMED = 13,
};

/* In REFUSED of a REGISTER with a label: somebody has that, or had it until just now.  Older relays
 * say 0. */
#define RELAY_DOOR_TAKEN 1u

/* In an ANSWER that is not ok: there is such a door, and realm or token are wrong. */
#define RELAY_DOOR_GUESSED 1u

/* Bytes of an address; in a decoded note those of the note itself. */
struct relay_door_bytes {
	const uint8_t *at;
	uint8_t len; /* 0: none */
};

struct relay_door_note {
	uint8_t op; /* enum relay_door_op */
	uint32_t request, label;
	uint16_t n;	       /* REGISTER, IMPORTED */
	uint16_t turn;	       /* IMPORTED: how often it began anew; notes may come twice */
	uint16_t importers;    /* REGISTER: relays that may have it at once; 0: as configured */
	uint64_t realm, token; /* REGISTER */
	uint32_t with_ipv4;    /* REGISTER: where the other relay is; 0: said of none */
	uint16_t with_port;
	struct relay_door_bytes address; /* ADDRESS, IMPORT, ASK */
	struct relay_door_bytes own;	 /* ASK */
	struct relay_door_bytes text;	 /* GONE: or none */
	bool ended;			 /* GONE */
	bool ok;			 /* ANSWER */
	/* ANSWER: what it calls the door that was offered, or 0; not ok: RELAY_DOOR_GUESSED or 0 */
	uint32_t called;
	uint32_t offered; /* and that door */
};

/* Returns the length written. */
size_t relay_door_encode(const struct relay_door_note *n, uint8_t out[RELAY_DOOR_NOTE_MAX]);
/* 0 or MALFORMED: cut short, no such op, an address too long; *n is then untouched. */
int relay_door_decode(const void *in, size_t len, struct relay_door_note *n);

#endif
