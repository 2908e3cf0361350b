/* SPDX-License-Identifier: BSD-2-Clause */
/* base/prng.h - xoshiro256** seeded by splitmix64: the pseudo-random numbers
 * of simulators, tests, wanem and label allocation.  Integers only, the same
 * sequence on every machine for the same seed.  Not for secrets. */
#ifndef BASE_PRNG_H
#define BASE_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct base_prng {
	uint64_t s[4];
};

static inline uint64_t
base_prng_splitmix(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15ull);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline struct base_prng
base_prng_seed(uint64_t seed)
{
	struct base_prng p;
	for (int i = 0; i < 4; i++)
		p.s[i] = base_prng_splitmix(&seed);
	return p;
}

static inline uint64_t
base_prng_rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

static inline uint64_t
base_prng_next(struct base_prng *p)
{
	uint64_t r = base_prng_rotl(p->s[1] * 5, 7) * 9;
	uint64_t t = p->s[1] << 17;
	p->s[2] ^= p->s[0];
	p->s[3] ^= p->s[1];
	p->s[1] ^= p->s[2];
	p->s[0] ^= p->s[3];
	p->s[2] ^= t;
	p->s[3] = base_prng_rotl(p->s[3], 45);
	return r;
}

/* Uniform in [0, n); 0 for n = 0.  (Bias below 2^-32 for n < 2^32.) */
static inline uint64_t
base_prng_below(struct base_prng *p, uint64_t n)
{
	return n ? (uint64_t)((__extension__(unsigned __int128) base_prng_next(p) * n) >> 64) : 0;
}

/* True with probability ppb / 10^9. */
static inline bool
base_prng_chance(struct base_prng *p, uint64_t ppb)
{
	return base_prng_below(p, 1000000000ull) < ppb;
}

#endif
