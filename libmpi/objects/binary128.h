/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/binary128.h - long double as the 16 bytes external32 has for it.
 *
 * IEEE 754 binary128, big-endian: 1 sign bit, 15 exponent bits (bias 16383), 112
 * fraction bits (IMPI reference 2.2).  Two machine formats are known: the 80 bits
 * of x86 (same exponent, 63 fraction bits after an explicit leading one) and
 * binary128 itself.
 *
 *	to the wire	exact; encodings the x86 calls invalid become a quiet NaN
 *	from the wire	rounded to nearest, ties to even; too large becomes
 *			infinity, too small a subnormal or zero; NaNs keep their
 *			sign, their kind and the upper bits of their payload
 *
 * Nothing here touches floating-point registers, so signalling NaNs survive and no
 * exception flag is raised.  Both may work in place.
 *
 * Threads  pure functions. */
#ifndef LMPI_BINARY128_H
#define LMPI_BINARY128_H

#include <stdint.h>

#define LMPI_BINARY128_BYTES 16

/* in: sizeof(long double) bytes as they lie in memory; out: 16 bytes. */
void lmpi_binary128_store(void *out, const void *in);
/* The reverse; padding bytes of the machine format become zero. */
void lmpi_binary128_load(void *out, const void *in);

#endif
