/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a fuzzer's input as choices below a bound, for the models of datatypes. */
#ifndef TEST_FUZZ_CHOICES_H
#define TEST_FUZZ_CHOICES_H

#include <stddef.h>
#include <stdint.h>

static const uint8_t *choices_at;
static size_t choices_left;

/* 0 once the input is used up. */
static inline uint32_t
choices_below(uint32_t n)
{
	uint32_t v = 0;

	if (n == 0)
		return 0;
	for (uint32_t seen = 1; seen < n && choices_left > 0; seen <<= 8) {
		v = v << 8 | *choices_at++;
		choices_left--;
	}
	return v % n;
}

static inline void
choices_from(const uint8_t *data, size_t size)
{
	choices_at = data;
	choices_left = size;
}

#endif
