/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hist.h"

#include "base/prng.h"

#include "cmocka_all.h"

#include <stdlib.h>

static struct base_hist h, h2;

static void
empty_has_no_quantile(void **state)
{
	(void)state;
	base_hist_init(&h);
	assert_true(base_hist_quantile(&h, 500000) == 0);
	assert_true(h.count == 0);
}

static void
small_values_are_exact(void **state)
{
	(void)state;
	base_hist_init(&h);
	for (uint64_t v = 1; v <= 10; v++)
		base_hist_add(&h, v);
	static const struct {
		uint32_t ppm;
		uint64_t want;
	} cases[] = {{0, 1},	  {1, 1},      {100000, 1},  {100001, 2},
		     {500000, 5}, {900000, 9}, {900001, 10}, {1000000, 10}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		print_message("%u ppm\n", cases[i].ppm);
		assert_true(base_hist_quantile(&h, cases[i].ppm) == cases[i].want);
	}
	assert_true(h.sum == 55 && h.count == 10 && h.min == 1 && h.max == 10);
}

static void
one_value_is_exact_whatever_its_size(void **state)
{
	(void)state;
	for (uint32_t shift = 0; shift < 64; shift++)
		for (int d = -1; d <= 1; d++) {
			uint64_t v = ((uint64_t)1 << shift) + (uint64_t)(int64_t)d;
			base_hist_init(&h);
			base_hist_add(&h, v);
			assert_true(base_hist_quantile(&h, 500000) == v);
		}
	base_hist_init(&h);
	base_hist_add(&h, UINT64_MAX);
	base_hist_add(&h, 0);
	assert_true(base_hist_quantile(&h, 500000) == 0);
	assert_true(base_hist_quantile(&h, 500001) == UINT64_MAX);
}

static int
cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Never below the true quantile, never more than a sixteenth above. */
static void
quantiles_within_a_sixteenth(void **state)
{
	(void)state;
	enum { N = 4000 };
	static uint64_t v[N];
	struct base_prng p = base_prng_seed(4);
	base_hist_init(&h);
	for (int i = 0; i < N; i++) {
		v[i] = base_prng_next(&p) >> base_prng_below(&p, 64);
		base_hist_add(&h, v[i]);
	}
	qsort(v, N, sizeof *v, cmp);
	for (uint32_t k = 1; k <= N; k++) {
		uint64_t q = base_hist_quantile(&h, k * (1000000 / N));
		assert_true(q >= v[k - 1]);
		assert_true(q - v[k - 1] <= v[k - 1] / 16);
	}
}

static void
merge_equals_adding_all(void **state)
{
	(void)state;
	static struct base_hist all;
	struct base_prng p = base_prng_seed(5);
	base_hist_init(&h);
	base_hist_init(&h2);
	base_hist_init(&all);
	base_hist_merge(&h, &h2);
	assert_memory_equal(&h, &all, sizeof h);
	for (int i = 0; i < 1000; i++) {
		uint64_t v = base_prng_next(&p) >> base_prng_below(&p, 60);
		base_hist_add(i % 3 ? &h : &h2, v);
		base_hist_add(&all, v);
	}
	base_hist_merge(&h, &h2);
	assert_memory_equal(&h, &all, sizeof h);
	base_hist_init(&h2);
	base_hist_merge(&h, &h2);
	assert_memory_equal(&h, &all, sizeof h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_has_no_quantile),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(one_value_is_exact_whatever_its_size),
		cmocka_unit_test(quantiles_within_a_sixteenth),
		cmocka_unit_test(merge_equals_adding_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
