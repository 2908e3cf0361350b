/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/draw.h - drawing from a seed. */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include "base/prng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t
pick(struct base_prng *p, const uint64_t *of, size_t n)
{
	return of[base_prng_below(p, n)];
}
#define PICK(p, ...)                             \
	pick(p, (const uint64_t[]){__VA_ARGS__}, \
	     sizeof(const uint64_t[]){__VA_ARGS__} / sizeof(uint64_t))

static inline uint64_t
between(struct base_prng *p, uint64_t lo, uint64_t hi)
{
	return lo + base_prng_below(p, hi - lo + 1);
}

static inline bool
coin(struct base_prng *p, uint32_t percent)
{
	return base_prng_below(p, 100) < percent;
}

#endif
