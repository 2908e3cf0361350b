/* SPDX-License-Identifier: BSD-2-Clause */
/* How long who waits spins before it sleeps. */
#include "cmocka_all.h"

#include "spin.h"

#define US 1000ull

/* Waits one after another, and what the budget is then. */
static void
budget_follows(void **state)
{
	static const struct {
		const char *what;
		bool crowded, slept;
		uint64_t waited_us;
		int times;
		uint64_t budget_us;
	} row[] = {
		{"what is spun for pays", false, false, 20, 10, 200},
		{"long sleeps: shorter, but not below a wake-up", false, true, 5000, 10, 50},
		{"and back", false, false, 20, 3, 200},
		{"long again", false, true, 801, 10, 50},
		/* two ranks that answer each other and both sleep get out of it */
		{"no longer than two wake-ups", false, true, 400, 3, 200},
		{"nobody spins for others' cores", true, true, 400, 10, 50},
	};
	struct lmpi_spin s = LMPI_SPIN_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		if (row[i].crowded && !lmpi_spin_crowded(&s))
			lmpi_spin_crowd(&s);
		for (int t = 0; t < row[i].times; t++)
			lmpi_spin_waited(&s, row[i].slept, row[i].waited_us * US);
		if (s.budget_ns != row[i].budget_us * US)
			fail_msg("%s: %llu ns", row[i].what, (unsigned long long)s.budget_ns);
	}
}

static void
limit_holds(void **state)
{
	struct lmpi_spin s = LMPI_SPIN_INIT;

	(void)state;
	lmpi_spin_limit(&s, 0);
	lmpi_spin_waited(&s, false, 0);
	assert_int_equal(s.budget_ns, 0);
	lmpi_spin_waited(&s, true, US);
	assert_int_equal(s.budget_ns, 0);
	lmpi_spin_limit(&s, 1000 * US);
	assert_int_equal(s.budget_ns, 1000 * US);
	for (int t = 0; t < 20; t++)
		lmpi_spin_waited(&s, true, 1000000 * US);
	assert_true(s.budget_ns < 1000 * US);
}

/* When there is a yield, how long they are, and how often they come then. */
static uint64_t
yielded(struct lmpi_spin *s, uint64_t took_ns, int times)
{
	for (int i = 0; i < times; i++)
		lmpi_spin_yielded(s, 1000 * US, 1000 * US + took_ns);
	return s->gap_ns;
}

static void
core_is_given_away(void **state)
{
	struct lmpi_spin s = LMPI_SPIN_INIT;

	(void)state;
	/* What yields take here: a sixteenth of the waiting. */
	assert_int_equal(yielded(&s, 300, 10), 16 * 300);
	/* Somebody used it: at once again, until he has had enough. */
	assert_int_equal(yielded(&s, 2000, 1), 0);
	assert_true(lmpi_spin_yields(&s, 0, s.yielded_at_ns));
	uint64_t cost = s.yield_ns;
	assert_true(cost >= 300 && cost < 330);
	assert_true(yielded(&s, 300, 1) <= cost);
	assert_int_equal(yielded(&s, 300, 10), 16 * 300);
	/* Since when nothing has come counts, and the last yield. */
	assert_false(lmpi_spin_yields(&s, s.yielded_at_ns, s.yielded_at_ns + 16 * 300 - 1));
	assert_true(lmpi_spin_yields(&s, s.yielded_at_ns, s.yielded_at_ns + 16 * 300));
	assert_true(lmpi_spin_yields(&s, 0, s.yielded_at_ns + 16 * 300));
	assert_false(lmpi_spin_yields(&s, 2000 * US, 2000 * US + 16 * 300 - 1));
	/* A machine whose system calls are slow, or get so, is not one where others want the core.
	 */
	s = (struct lmpi_spin)LMPI_SPIN_INIT;
	assert_true(yielded(&s, 1400, 1) > 0);
	assert_true(yielded(&s, 1400, 2000) > 16 * 1200);
	assert_int_equal(yielded(&s, 200, 1), 16 * 200);
	/* One that cannot be: the clock stood still, or others had the core for ever. */
	assert_true(yielded(&s, 0, 10) > 0);
	(void)yielded(&s, 100000 * US, 1000);
	assert_true(s.yield_ns <= 4000);
	lmpi_spin_crowd(&s);
	assert_int_equal(yielded(&s, 300, 10), 0);
}

/* More ranks than cores, and nobody said so: nearly all yields are taken, some by those who have no
 * more to do than to yield as well. */
static void
busy_core_is_seen(void **state)
{
	struct lmpi_spin s = LMPI_SPIN_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++)
		(void)yielded(&s, i % 8 == 0 ? 600 : 1500 + (uint64_t)i % 5 * 1000, 1);
	assert_true(s.yield_ns <= 600);
	assert_int_equal(yielded(&s, 2500, 1), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_follows),
		cmocka_unit_test(limit_holds),
		cmocka_unit_test(core_is_given_away),
		cmocka_unit_test(busy_core_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
