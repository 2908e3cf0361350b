/* SPDX-License-Identifier: BSD-2-Clause */
/* Will the program be back soon? */
#include "cmocka_all.h"

#include "away.h"

#define US 1000ull

static uint64_t now = 1;

/* A call returns; was the program trusted, so that acks stayed behind? Back after away_us. */
static bool
call(struct lmpi_away *a, bool owing, uint64_t away_us)
{
	bool soon = lmpi_away_soon(a);
	lmpi_away_left(a, now, soon && owing);
	now += away_us * US;
	lmpi_away_back(a, now);
	now += 10 * US;
	lmpi_away_back(a, now); /* further looks in the same call say nothing */
	return soon;
}

/* Of n calls one after another, the last followed by computing: how many were trusted? */
static uint32_t
burst(struct lmpi_away *a, bool owing, uint32_t n, uint64_t compute_us)
{
	uint32_t trusted = 0;
	for (uint32_t i = 0; i < n; i++)
		trusted += call(a, owing, i + 1 < n ? 5 : compute_us);
	return trusted;
}

static void
loops_are_trusted(void **state)
{
	struct lmpi_away a = {0};

	(void)state;
	assert_int_equal(burst(&a, true, 100, 5), 98);
	assert_int_equal(burst(&a, true, 100, 999), 100);
	assert_int_equal(burst(&a, true, 100, 5), 100);
}

static void
computing_is_not(void **state)
{
	struct lmpi_away a = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_false(call(&a, true, 1000));
	/* One or two calls and then computing: never. */
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(burst(&a, true, 1 + i % 2, 5000), 0);
}

/* Acks stay behind for long once for each length of a burst that is longer than all before. */
static void
mistaken_once(void **state)
{
	struct lmpi_away a = {0};

	(void)state;
	assert_int_equal(burst(&a, true, 10, 1000000), 8);
	for (int i = 0; i < 100; i++)
		assert_int_equal(burst(&a, true, 10, 1000000), 0);
	assert_int_equal(burst(&a, true, 50, 1000000), 40);
	assert_int_equal(burst(&a, true, 50, 1000000), 0);
	/* However long it was, a loop of thousands of calls is one. */
	burst(&a, true, 100000, 1000000);
	assert_int_equal(burst(&a, true, 100000, 5), 100000 - LMPI_AWAY_MANY);
}

/* Nothing was owed: nobody was harmed, nothing is learnt. */
static void
nothing_owed(void **state)
{
	struct lmpi_away a = {0};

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(burst(&a, false, 10, 1000000), 8);
	assert_int_equal(burst(&a, true, 10, 5), 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_trusted),
		cmocka_unit_test(computing_is_not),
		cmocka_unit_test(mistaken_once),
		cmocka_unit_test(nothing_owed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
