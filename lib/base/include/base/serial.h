/* SPDX-License-Identifier: BSD-2-Clause */
/* base/serial.h - arithmetic on 32-bit numbers that wrap (packet numbers,
 * segment sequence numbers).  RFC 1982: a is before b if the way from a up to
 * b is shorter than 2^31.  No code compares such numbers with a raw '<'. */
#ifndef BASE_SERIAL_H
#define BASE_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

static inline bool
serial_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool
serial_le(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

static inline bool
serial_gt(uint32_t a, uint32_t b)
{
	return serial_lt(b, a);
}

static inline bool
serial_ge(uint32_t a, uint32_t b)
{
	return serial_le(b, a);
}

static inline uint32_t
serial_max(uint32_t a, uint32_t b)
{
	return serial_lt(a, b) ? b : a;
}

#endif
