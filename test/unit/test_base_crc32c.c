/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/crc32c.h"

#include "base/prng.h"

#include "cmocka_all.h"

#include <string.h>

static uint8_t zeros[32], ones[32], up[32], down[32];

/* "123456789" is the catalogue's check value; the 32-byte ones are from RFC 3720,
 * appendix B.4. */
static const struct {
	const char *name;
	const void *data;
	size_t len;
	uint32_t want;
} cases[] = {
	{"nothing", "", 0, 0},
	{"check value", "123456789", 9, 0xe3069283},
	{"one letter", "a", 1, 0xc1d04330},
	{"32 zeros", zeros, 32, 0x8a9136aa},
	{"32 ones", ones, 32, 0x62a8ab43},
	{"32 going up", up, 32, 0x46dd794e},
	{"32 going down", down, 32, 0x113fdb5c},
};

static void
known_values(void **state)
{
	(void)state;
	for (uint8_t i = 0; i < 32; i++) {
		ones[i] = 0xff;
		up[i] = i;
		down[i] = (uint8_t)(31 - i);
	}
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		print_message("%s\n", cases[i].name);
		assert_int_equal(base_crc32c(0, cases[i].data, cases[i].len), cases[i].want);
		assert_int_equal(base_crc32c_table(0, cases[i].data, cases[i].len), cases[i].want);
	}
}

/* The CPU's instruction and the table agree for every length and alignment, and a
 * value may be continued anywhere. */
static void
instruction_equals_table_and_continues(void **state)
{
	(void)state;
	uint8_t buf[200];
	struct base_prng p = base_prng_seed(3);
	for (size_t i = 0; i < sizeof buf; i++)
		buf[i] = (uint8_t)base_prng_next(&p);
	for (size_t off = 0; off < 9; off++)
		for (size_t len = 0; off + len <= 100; len++) {
			uint32_t start = (uint32_t)base_prng_next(&p);
			uint32_t want = base_crc32c_table(start, buf + off, len);
			assert_int_equal(base_crc32c(start, buf + off, len), want);
			size_t cut = (size_t)base_prng_below(&p, len + 1);
			uint32_t first = base_crc32c(start, buf + off, cut);
			assert_int_equal(base_crc32c(first, buf + off + cut, len - cut), want);
		}
}

static void
sees_every_single_bit(void **state)
{
	(void)state;
	uint8_t buf[64] = {1, 2, 3};
	uint32_t good = base_crc32c(0, buf, sizeof buf);
	for (size_t bit = 0; bit < 8 * sizeof buf; bit++) {
		buf[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		assert_int_not_equal(base_crc32c(0, buf, sizeof buf), good);
		buf[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(instruction_equals_table_and_continues),
		cmocka_unit_test(sees_every_single_bit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
