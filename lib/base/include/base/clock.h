/* SPDX-License-Identifier: BSD-2-Clause */
/* base/clock.h - the time type every library takes as an argument.
 *
 * No library reads a clock.  A caller reads its own monotonic clock once per
 * loop turn and hands the same now_ns to everything in that turn; the
 * simulator hands in virtual time.  All times are nanoseconds since an
 * arbitrary epoch, in uint64_t, and never run backwards for one object. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define BASE_NEVER_NS UINT64_MAX /* "no deadline" */
#define BASE_US_NS    1000ull
#define BASE_MS_NS    1000000ull
#define BASE_S_NS     1000000000ull

static inline uint64_t
base_min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t
base_max_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a + b, saturating at BASE_NEVER_NS, so that "never" stays never. */
static inline uint64_t
base_add_ns(uint64_t a, uint64_t b)
{
	return a > BASE_NEVER_NS - b ? BASE_NEVER_NS : a + b;
}

/* Whole microseconds, modulo 2^32: what travels, and differences below an hour. */
static inline uint32_t
base_us32(uint64_t ns)
{
	return (uint32_t)(ns / BASE_US_NS);
}

#endif
