/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/crc32c.h"

#include <string.h>

static uint32_t table[256];

__attribute__((constructor)) static void
table_fill(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int k = 0; k < 8; k++)
			c = (c >> 1) ^ (0x82f63b78u & (0u - (c & 1)));
		table[i] = c;
	}
}

uint32_t
base_crc32c_table(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	crc = ~crc;
	while (len--)
		crc = (crc >> 8) ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t c = ~crc;
	while (len >= 8) {
		uint64_t v;
		memcpy(&v, p, 8);
		c = _mm_crc32_u64(c, v);
		p += 8;
		len -= 8;
	}
	uint32_t c32 = (uint32_t)c;
	while (len--)
		c32 = _mm_crc32_u8(c32, *p++);
	return ~c32;
}

static int have_sse42;

__attribute__((constructor)) static void
sse42_find(void)
{
	have_sse42 = __builtin_cpu_supports("sse4.2") != 0;
}

uint32_t
base_crc32c(uint32_t crc, const void *data, size_t len)
{
	return have_sse42 ? crc32c_sse42(crc, data, len) : base_crc32c_table(crc, data, len);
}
#else
uint32_t
base_crc32c(uint32_t crc, const void *data, size_t len)
{
	return base_crc32c_table(crc, data, len);
}
#endif
