/* SPDX-License-Identifier: BSD-2-Clause */
/* The Internet checksum of what is long: a relay sums up each payload twice, on its way in and
 * out, and where the port does not do that it is what costs most after moving the bytes.
 *
 * Summing native words and swapping the result gives the big-endian sum: RFC 1071, section
 * 2(B).  Of each 64-bit lane two sums are kept, of all of it and of its upper half; the lower
 * half's is the difference, modulo 2^64, and that is exact below 2^32 turns. */
#include "rd/packet.h"

#include <string.h>

/* A function of that name with vectors of that many bytes, as wide as the processor's: wider
 * ones compilers take to pieces. */
#define SUM_BLOCKS(name, bytes, attribute)                                                    \
	static attribute uint64_t name(const uint8_t *p, size_t blocks)                       \
	{                                                                                     \
		typedef uint64_t lanes __attribute__((vector_size(bytes)));                   \
		lanes all = {0}, upper = {0};                                                 \
		for (const uint8_t *end = p + blocks * RD_SUM_BLOCK; p < end; p += (bytes)) { \
			lanes v;                                                              \
			memcpy(&v, p, sizeof v);                                              \
			all += v;                                                             \
			upper += v >> 32;                                                     \
		}                                                                             \
		lanes sum = upper + (all - (upper << 32));                                    \
		uint64_t s = 0;                                                               \
		for (size_t k = 0; k < (bytes) / 8; k++)                                      \
			s += sum[k];                                                          \
		return s;                                                                     \
	}

SUM_BLOCKS(sum_any, 16, )
#if defined(__x86_64__)
SUM_BLOCKS(sum_avx2, 32, __attribute__((target("avx2"))))
SUM_BLOCKS(sum_avx512, 64, __attribute__((target("avx512f"))))

enum rd_sum_way
rd_sum_best(void)
{
	return __builtin_cpu_supports("avx512f") ? RD_SUM_AVX512
	       : __builtin_cpu_supports("avx2")	 ? RD_SUM_AVX2
						 : RD_SUM_ANY;
}
#else
/* Never asked for. */
#define sum_avx512 sum_any
#define sum_avx2   sum_any

enum rd_sum_way
rd_sum_best(void)
{
	return RD_SUM_ANY;
}
#endif

uint64_t
rd_sum_by(enum rd_sum_way way, const void *data, size_t blocks)
{
	switch (way) {
	case RD_SUM_AVX512:
		return sum_avx512(data, blocks);
	case RD_SUM_AVX2:
		return sum_avx2(data, blocks);
	case RD_SUM_ANY:
		break;
	}
	return sum_any(data, blocks);
}

/* Below that adding up a vector's lanes takes longer than doing without. */
#define BLOCKS_FROM 256u

/* Modulo 2^64 - 1, of which 2^16 - 1 is a divisor: what is carried out comes in again below. */
static inline uint64_t
add_word(uint64_t sum, const uint8_t *p)
{
	uint64_t w;
	memcpy(&w, p, sizeof w);
	sum += w;
	return sum + (sum < w);
}

/* 32 bytes, or 64: compilers make twice as many instructions of it. */
static inline uint64_t
add_four(uint64_t sum, const uint8_t *p)
{
#if defined(__x86_64__)
	__asm__("addq (%1), %0\n\tadcq 8(%1), %0\n\tadcq 16(%1), %0\n\tadcq 24(%1), %0\n\t"
		"adcq $0, %0"
		: "+r"(sum)
		: "r"(p), "m"(*(const uint8_t(*)[32])p)
		: "cc");
	return sum;
#else
	return add_word(add_word(add_word(add_word(sum, p), p + 8), p + 16), p + 24);
#endif
}

static inline uint64_t
add_eight(uint64_t sum, const uint8_t *p)
{
#if defined(__x86_64__)
	__asm__("addq (%1), %0\n\tadcq 8(%1), %0\n\tadcq 16(%1), %0\n\tadcq 24(%1), %0\n\t"
		"adcq 32(%1), %0\n\tadcq 40(%1), %0\n\tadcq 48(%1), %0\n\tadcq 56(%1), %0\n\t"
		"adcq $0, %0"
		: "+r"(sum)
		: "r"(p), "m"(*(const uint8_t(*)[64])p)
		: "cc");
	return sum;
#else
	return add_four(add_four(sum, p), p + 32);
#endif
}

uint64_t
rd_cksum_add(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;
	if (len >= BLOCKS_FROM) {
		size_t blocks = len / RD_SUM_BLOCK;
		sum += rd_sum_by(rd_sum_best(), p, blocks);
		p += blocks * RD_SUM_BLOCK;
		len -= blocks * RD_SUM_BLOCK;
	}
	uint64_t words = 0;
	for (; len >= 64; len -= 64, p += 64)
		words = add_eight(words, p);
	if (len >= 32) {
		words = add_four(words, p);
		len -= 32;
		p += 32;
	}
	for (; len >= 8; len -= 8, p += 8)
		words = add_word(words, p);
	sum += (words & UINT32_MAX) + (words >> 32);
	if (len >= 4) {
		uint32_t w;
		memcpy(&w, p, 4);
		sum += w;
		p += 4;
		len -= 4;
	}
	if (len >= 2) {
		uint16_t w;
		memcpy(&w, p, 2);
		sum += w;
		p += 2;
		len -= 2;
	}
	if (len)
		sum += *p;
	return sum;
}
