/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/bytes.h - the bytes of blocks: what they are, which have come, what a sender lent.
 *
 * All come from one pool of random bytes that repeats itself without end, so a byte in
 * the wrong place is a wrong byte, and a block of gigabytes is a mapping, not a copy. */
#ifndef SIM_BYTES_H
#define SIM_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_BYTES (8u << 20)
/* What starts in the pool may run so far beyond its end. */
#define POOL_BEYOND (POOL_BYTES / 2)

/* POOL_BYTES + POOL_BEYOND. */
const uint8_t *pool_bytes(void);
static inline const uint8_t *
pool_at(uint64_t off)
{
	return pool_bytes() + off % POOL_BYTES;
}

/* A sender's copy of len bytes of the pool from off. */
uint8_t *lent_new(uint64_t off, size_t len);
/* It was given back.  True: poisoned and freed.  False: larger than POOL_BEYOND, so it
 * is a mapping; who reads it ends the run, until lent_free(). */
bool lent_end(uint8_t *lent, uint64_t off, size_t len);
/* Nobody can read it any more. */
void lent_free(uint8_t *lent, uint64_t off, size_t len);

/* Bytes that have come: ranges, in order, apart. */
struct cover {
	struct cover_range {
		uint64_t lo, hi; /* [lo, hi) */
	} * range;
	uint32_t n, cap;
};
/* False if one of the bytes has come before. */
bool cover_add(struct cover *c, uint64_t lo, uint64_t len);
void cover_free(struct cover *c);

#endif
