/* SPDX-License-Identifier: BSD-2-Clause */
/* door/address.h - the address of a door: an endpoint that joined at any time and can be imported
 * by whoever holds these bytes (doc/wire.md, Doors).
 *
 *      0 version 4 bits = 1, 2 or 3 | relays 4 bits (1 .. 3)
 *      1 flags 8       1: no relay, the process itself is there
 *      2 n 16          consecutive labels, 1 ..
 *      4 cluster 32    for people and logs: which cluster it says it is of
 *      8 realm 64      random: who may find whom
 *     16 label 32      the first, below 2^24 - n + 1
 *     20 token 64      random: the proof
 *     28 relays x { ipv4 32 | port 16 }   by their global addresses; of version 2 one { ipv6 128 |
 *                     port 16 }, of a process (flag 1) that has IPv6 alone
 *        ipv4 32 | port 16     of version 3, with one relay or two: where the process itself is,
 * for those of its cluster, which has that relay crc32c 32     of all before: a letter that was
 * mistyped is no attempt to guess
 *
 * As text, for a port name or a file: "door:" and the bytes in base64url (RFC 4648, section 5)
 * without padding.
 *
 * The reader is strict: one address has one form, so equal addresses have equal bytes.
 *
 * Units    host byte order.  Threads  plain functions.  Limits  DOOR_ADDRESS_MAX,
 * DOOR_TEXT_MAX.  Errors  enum door_err; door_strerror() names what is wrong and what helps. */
#ifndef DOOR_ADDRESS_H
#define DOOR_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOOR_VERSION	  1
#define DOOR_VERSION_SIX  2
#define DOOR_VERSION_NEAR 3
#define DOOR_RELAYS_MAX	  3u
#define DOOR_LABELS_END	  (1u << 24) /* labels of doors are below */
/* From here on no relay gives labels: whose address was known before says which it is to have. */
#define DOOR_CLAIMS	  (DOOR_LABELS_END - (1u << 18))
#define DOOR_ADDRESS_MIN  38u
#define DOOR_ADDRESS_MAX  50u
#define DOOR_TEXT_PREFIX  "door:"
#define DOOR_TEXT_MAX	  (sizeof DOOR_TEXT_PREFIX + (DOOR_ADDRESS_MAX * 4u + 2u) / 3u)
#define DOOR_FLAG_PROCESS 1u /* relay[0] is where the process itself is */
_Static_assert(DOOR_ADDRESS_MAX <= 64, "what an address may take");

/* X(name, value, text) */
#define DOOR_ERRORS(X)                                                                         \
	X(OK, 0, "success")                                                                    \
	X(SHORT, -1, "a door's address is cut short; copy it whole")                           \
	X(LONG, -2, "there is something behind a door's address; copy the address alone")      \
	X(VERSION, -3, "a door's address of a version not known here; update this side")       \
	X(DAMAGED, -4, "a door's address is damaged: its checksum is wrong; copy it again")    \
	X(FIELD, -5, "a door's address names what there cannot be; ask its maker for another") \
	X(TEXT, -6, "not a door's address: it begins with \"door:\", then A-Z a-z 0-9 - _")
enum door_err {
#define X(n, v, t) DOOR_ERR_##n = v,
	DOOR_ERRORS(X)
#undef X
};
const char *door_strerror(int err);

struct door_relay {
	uint32_t ipv4; /* not 0, but of an address with six */
	uint16_t port; /* not 0 */
};

struct door_address {
	uint64_t realm, token;
	uint32_t cluster;
	uint32_t label;
	uint16_t n;
	uint8_t flags;
	uint8_t nrelays;
	struct door_relay relay[DOOR_RELAYS_MAX]; /* no two alike */
	uint8_t six[16];	/* a process is there, at the port of relay[0]; 0: none */
	struct door_relay near; /* the process behind the relays is there; port 0: not said */
};

/* Where the process of an address with DOOR_FLAG_PROCESS is, at the port of relay[0]; IPv4 as
 * ::ffff:a.b.c.d. */
void door_address_place(const struct door_address *a, uint8_t ip[16]);
/* Say that it is there: flags, relays and six. */
void door_address_put_place(struct door_address *a, const uint8_t ip[16], uint16_t port);

/* Say so too, of an address with relays; false: there is no room beside so many. */
bool door_address_put_near(struct door_address *a, uint32_t ipv4, uint16_t port);

/* The same door, field by field: between fields is what the compiler likes.  near does not count:
 * relays do not know it. */
bool door_address_same(const struct door_address *a, const struct door_address *b);
/* A relay carries both: they are of one cluster. */
bool door_address_near(const struct door_address *a, const struct door_address *b);

/* Bytes written; 0 if a field is out of range. */
size_t door_address_encode(const struct door_address *a, uint8_t out[DOOR_ADDRESS_MAX]);
/* 0, or why not; *out is then untouched.  All of in is one address. */
int door_address_decode(const void *in, size_t len, struct door_address *out);

/* As text, NUL-terminated; 0, or FIELD: out is "" then. */
int door_address_print(const struct door_address *a, char out[DOOR_TEXT_MAX]);
/* text is NUL-terminated and of any length. */
int door_address_parse(const char *text, struct door_address *out);

/* What proves to the door itself that one was given its address, without saying the token:
 * SipHash-2-4 of realm and label (12 bytes, big-endian) under the token's 8 bytes, "door" and four
 * zeros.  Between relays the token is said. */
uint64_t door_proof(const struct door_address *a);

#endif
