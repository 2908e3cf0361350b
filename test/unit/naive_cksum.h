/* SPDX-License-Identifier: BSD-2-Clause */
/* naive_cksum.h - the Internet checksum for tests, not by the code that is tested. */
#ifndef NAIVE_CKSUM_H
#define NAIVE_CKSUM_H

#include <stddef.h>
#include <stdint.h>

/* RFC 1071 word by word, as the RFC's text says it. */
static inline uint16_t
naive_cksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0u);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

#endif
