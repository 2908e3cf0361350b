/* SPDX-License-Identifier: BSD-2-Clause */
#include "binary128.h"

#include <float.h>
#include <string.h>

#define BIG_ENDIAN_HOST (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

_Static_assert(sizeof(long double) == LMPI_BINARY128_BYTES, "MPI_LONG_DOUBLE has 16 bytes");

static inline uint64_t
big64(uint64_t v)
{
	return BIG_ENDIAN_HOST ? v : __builtin_bswap64(v);
}

#if LDBL_MANT_DIG == 64

#define LEADING_ONE  (UINT64_C(1) << 63)
#define EXPONENT_MAX 0x7fff
#define DROPPED_BITS 49 /* 112 fraction bits to 63 */
#define DROPPED_MASK ((UINT64_C(1) << DROPPED_BITS) - 1)

struct x87 {
	uint64_t mantissa;
	uint16_t sign_exponent;
	uint16_t padding[3];
};
_Static_assert(sizeof(struct x87) == sizeof(long double), "x87 extended, padded to 16 bytes");

void
lmpi_binary128_store(void *out, const void *in)
{
	struct x87 x;
	uint64_t word[2], fraction, exponent, sign;

	memcpy(&x, in, sizeof(x));
	sign = x.sign_exponent >> 15;
	exponent = x.sign_exponent & EXPONENT_MAX;
	fraction = x.mantissa & ~LEADING_ONE;
	if (exponent == 0) {
		exponent = x.mantissa >> 63; /* 1: a pseudo-denormal, the smallest normals */
	} else if (!(x.mantissa & LEADING_ONE)) {
		exponent = EXPONENT_MAX; /* an unnormal, pseudo-infinity or pseudo-NaN */
		fraction = UINT64_C(1) << 62;
	}
	word[0] = big64(sign << 63 | exponent << 48 | fraction >> 15);
	word[1] = big64(fraction << DROPPED_BITS);
	memcpy(out, word, sizeof(word));
}

/* To nearest, ties to even; the mantissa may carry into the exponent. */
static void
round_off(uint64_t *mantissa, uint64_t *exponent, uint64_t dropped)
{
	const uint64_t half = UINT64_C(1) << (DROPPED_BITS - 1);

	if (dropped < half || (dropped == half && !(*mantissa & 1)))
		return;
	if (++*mantissa == 0) { /* from all ones: the next power of two, or infinity */
		*mantissa = LEADING_ONE;
		++*exponent;
	} else if (*exponent == 0 && *mantissa == LEADING_ONE) {
		*exponent = 1; /* the largest subnormal became the smallest normal */
	}
}

void
lmpi_binary128_load(void *out, const void *in)
{
	struct x87 x = {0};
	uint64_t word[2], high, exponent, mantissa;

	memcpy(word, in, sizeof(word));
	word[0] = big64(word[0]);
	word[1] = big64(word[1]);
	high = word[0] & ((UINT64_C(1) << 48) - 1);
	exponent = word[0] >> 48 & EXPONENT_MAX;
	mantissa = high << 15 | word[1] >> DROPPED_BITS;
	if (exponent == EXPONENT_MAX) {
		if (mantissa == 0 && (word[1] & DROPPED_MASK) != 0)
			mantissa = UINT64_C(1) << 62; /* a NaN must not become infinity */
		mantissa |= LEADING_ONE;
	} else {
		if (exponent != 0)
			mantissa |= LEADING_ONE;
		round_off(&mantissa, &exponent, word[1] & DROPPED_MASK);
	}
	x.mantissa = mantissa;
	x.sign_exponent = (uint16_t)((word[0] >> 63) << 15 | exponent);
	memcpy(out, &x, sizeof(x));
}

#elif LDBL_MANT_DIG == 113

static void
swap_binary128(void *out, const void *in)
{
	uint64_t word[2], t;

	memcpy(word, in, sizeof(word));
	if (!BIG_ENDIAN_HOST) {
		t = big64(word[0]);
		word[0] = big64(word[1]);
		word[1] = t;
	}
	memcpy(out, word, sizeof(word));
}

void
lmpi_binary128_store(void *out, const void *in)
{
	swap_binary128(out, in);
}

void
lmpi_binary128_load(void *out, const void *in)
{
	swap_binary128(out, in);
}

#else
#error "this machine's long double is neither x87 extended nor binary128"
#endif
