/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock.h"

#include "cmocka_all.h"

static void
min_and_max(void **state)
{
	(void)state;
	assert_true(base_min_ns(1, BASE_NEVER_NS) == 1);
	assert_true(base_min_ns(BASE_NEVER_NS, 1) == 1);
	assert_true(base_max_ns(1, 2) == 2);
	assert_true(base_max_ns(2, 1) == 2);
}

static void
never_stays_never(void **state)
{
	(void)state;
	static const struct {
		uint64_t a, b, want;
	} cases[] = {
		{1, 2, 3},
		{0, 0, 0},
		{BASE_NEVER_NS, 0, BASE_NEVER_NS},
		{BASE_NEVER_NS, 1, BASE_NEVER_NS},
		{1, BASE_NEVER_NS, BASE_NEVER_NS},
		{BASE_NEVER_NS, BASE_NEVER_NS, BASE_NEVER_NS},
		{BASE_NEVER_NS - 1, 1, BASE_NEVER_NS},
		{BASE_NEVER_NS - 2, 1, BASE_NEVER_NS - 1},
		{BASE_NEVER_NS - 1, BASE_S_NS, BASE_NEVER_NS},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_true(base_add_ns(cases[i].a, cases[i].b) == cases[i].want);
}

static void
units(void **state)
{
	(void)state;
	assert_true(BASE_S_NS == 1000 * BASE_MS_NS);
	assert_true(BASE_MS_NS == 1000 * BASE_US_NS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(min_and_max),
		cmocka_unit_test(never_stays_never),
		cmocka_unit_test(units),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
