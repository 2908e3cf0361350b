/* SPDX-License-Identifier: BSD-2-Clause */
/* base/copy.h - bytes from one place to another, at the speed of memory wherever they lie.
 *
 * From a few KiB on the C library copies by `rep movsb`. AMD's Zen processors (glibc bug 30994)
 * take twenty times as long for it where the target lies 1 to 31 bytes behind the source, multiples
 * of a page left out (16 KiB: 5.6 us instead of 0.25): their loads then wait for stores with the
 * same low address bits.  Two buffers of a power of two that malloc() hands out one after the other
 * lie just like that, 16 bytes off.  There the copy is made in pieces too short for `rep movsb`.
 *
 * Pure; any thread. */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BASE_COPY_PIECE 2048

void base_copy_in_pieces(void *to, const void *from, size_t n);

/* As memmove(): the two may overlap. */
static inline void
base_copy(void *to, const void *from, size_t n)
{
	uintptr_t ahead = (uintptr_t)to - (uintptr_t)from;

	/* Overlapping ones with the target in front are a whole page apart, less 31 bytes. */
	if (n > BASE_COPY_PIECE && (ahead & 4095) - 1 < 31 && ahead >= n)
		base_copy_in_pieces(to, from, n);
	else if (n)
		memmove(to, from, n);
}

/* The same of few bytes, most often 8 to 16: two words, which may be one, instead of a call. */
static inline void
base_copy_few(void *to, const void *from, size_t n)
{
	uint64_t first, last;

	if (n - sizeof first > sizeof first) {
		base_copy(to, from, n);
		return;
	}
	memcpy(&first, from, sizeof first);
	memcpy(&last, (const uint8_t *)from + n - sizeof last, sizeof last);
	memcpy(to, &first, sizeof first);
	memcpy((uint8_t *)to + n - sizeof last, &last, sizeof last);
}

#endif
