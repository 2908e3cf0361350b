/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/prng.h"

#include "cmocka_all.h"

/* The reference outputs of Vigna's splitmix64 for seed 1234567. */
static void
splitmix_reference(void **state)
{
	(void)state;
	static const uint64_t want[] = {6457827717110365317ull, 3203168211198807973ull,
					9817491932198370423ull, 4593380528125082431ull,
					16408922859458223821ull};
	uint64_t x = 1234567;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		assert_true(base_prng_splitmix(&x) == want[i]);
}

/* The reference outputs of Blackman and Vigna's xoshiro256** for state 1 2 3 4. */
static void
xoshiro_reference(void **state)
{
	(void)state;
	static const uint64_t want[] = {
		11520ull,
		0ull,
		1509978240ull,
		1215971899390074240ull,
		1216172134540287360ull,
		607988272756665600ull,
		16172922978634559625ull,
		8476171486693032832ull,
		10595114339597558777ull,
		2904607092377533576ull,
	};
	struct base_prng p = {{1, 2, 3, 4}};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		assert_true(base_prng_next(&p) == want[i]);
}

/* Saved seeds of simulator runs depend on this: it must never change. */
static void
seeding_fills_the_state_with_splitmix(void **state)
{
	(void)state;
	struct base_prng p = base_prng_seed(1234567);
	assert_true(p.s[0] == 6457827717110365317ull);
	assert_true(p.s[1] == 3203168211198807973ull);
	assert_true(p.s[2] == 9817491932198370423ull);
	assert_true(p.s[3] == 4593380528125082431ull);
}

static void
below_stays_below_and_reaches_all(void **state)
{
	(void)state;
	struct base_prng p = base_prng_seed(1);
	assert_true(base_prng_below(&p, 0) == 0);
	assert_true(base_prng_below(&p, 1) == 0);
	uint32_t seen[7] = {0};
	for (int i = 0; i < 7000; i++) {
		uint64_t v = base_prng_below(&p, 7);
		assert_in_range(v, 0, 6);
		seen[v]++;
	}
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], 850, 1150); /* mean 1000, sigma 29 */
	for (int i = 0; i < 100; i++)
		assert_true(base_prng_below(&p, UINT64_MAX) < UINT64_MAX);
}

static void
chance_in_parts_per_billion(void **state)
{
	(void)state;
	struct base_prng p = base_prng_seed(2);
	uint32_t n = 0;
	for (int i = 0; i < 100000; i++) {
		assert_false(base_prng_chance(&p, 0));
		assert_true(base_prng_chance(&p, 1000000000));
		n += base_prng_chance(&p, 10000000); /* 1 % */
	}
	assert_in_range(n, 850, 1150); /* mean 1000, sigma 31 */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splitmix_reference),
		cmocka_unit_test(xoshiro_reference),
		cmocka_unit_test(seeding_fills_the_state_with_splitmix),
		cmocka_unit_test(below_stays_below_and_reaches_all),
		cmocka_unit_test(chance_in_parts_per_billion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
