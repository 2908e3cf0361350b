/* SPDX-License-Identifier: BSD-2-Clause */
/* spd/far.h - what daemons of two sites tell each other, sealed from one to the other: relays carry
 * it, and open what they carry.
 *
 *	0 u8 version = 1 | u8 kind | u16 from | u16 to | u16 0
 *	8 u32 id of the key, 0: not sealed | u32 0
 *     16 u64 session of who says it | u64 session of whom it is for, as he said it; 0: he has not
 *     32 u64 number
 *     40 the block | tag of 16, unless it is not sealed
 *
 *	kind 1 HELLO    "this is my session": no block; number 1: and I know yours, 0: not yet.
 *			The tag is a code under the key
 *	     2 BLOCK    numbers grow with each
 *
 * A session is a random number of one life of a daemon.  It is believed when it comes in a HELLO
 * that says ours: then it is no word of a life before.  So after HELLO, HELLO back and HELLO both
 * know, and the key of what they tell each other is made of both sessions and the key of the file.
 * A number that is not larger than the last one is not taken.  A session that was left is not taken
 * again, of the last SPD_FAR_LEFT of a unit.
 *
 * Without keys the same is said, and whoever comes is believed.
 *
 * Sans-I/O.  Memory  malloc, about 2 KiB a unit.  Threads  one owner.  Units  ns.
 * Errors  enum spd_far_got; a block of no use changes nothing. */
#ifndef SPD_FAR_H
#define SPD_FAR_H

#include "seal/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPD_FAR_HEAD 40u
#define SPD_FAR_MORE (SPD_FAR_HEAD + SEAL_TAG) /* bytes beside the block */
#define SPD_FAR_LEFT 8u

enum spd_far_got {
	SPD_FAR_NONE,	/* nothing, or what came before */
	SPD_FAR_BLOCK,	/* of the unit */
	SPD_FAR_ANSWER, /* say HELLO to the unit */
	SPD_FAR_BAD,	/* it makes no sense, or is for another unit */
	SPD_FAR_KEY,	/* not by a key of ours, or not sealed where we do */
};

struct spd_far;

/* units: of all sites; me: which of them; session: random, not 0.  NULL: no memory. */
struct spd_far *spd_far_new(const struct seal_crypto *crypto, uint32_t units, uint32_t me,
			    uint64_t session);
void spd_far_free(struct spd_far *f); /* accepts NULL */
/* From now on; the first one seals.  n 0: nothing is sealed. */
void spd_far_keys(struct spd_far *f, const struct seal_psk *key, uint32_t n);

/* SPD_FAR_MORE bytes at most: their number. */
size_t spd_far_hello(struct spd_far *f, uint32_t unit, uint8_t out[SPD_FAR_MORE]);
/* Does the unit's session have to be learned first?  Then spd_far_hello() is to be said. */
bool spd_far_knows(const struct spd_far *f, uint32_t unit);
/* To a unit that is known, out: len + SPD_FAR_MORE bytes; the bytes written. */
size_t spd_far_seal(struct spd_far *f, uint32_t unit, const void *block, size_t len, uint8_t *out);
/* What came, opened in place.  *unit: whose it says it is, if it is not BAD; BLOCK: *block, *n. */
enum spd_far_got spd_far_open(struct spd_far *f, uint8_t *bytes, size_t len, uint32_t *unit,
			      const uint8_t **block, size_t *n);

#endif
