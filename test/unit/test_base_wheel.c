/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/wheel.h"

#include "base/clock.h"
#include "base/prng.h"

#include "../fuzz/wheel_model.h"
#include "cmocka_all.h"

static struct base_wheel w;

static void
fires_not_before_its_deadline_and_within_a_tick(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint64_t start_ns, ahead_ns;
	} cases[] = {
		{"now", 1000, 0},
		{"one ns", 1024, 1},
		{"one tick", 1024, 1024},
		{"63 ticks", 0, 63 * 1024},
		{"64 ticks", 0, 64 * 1024},
		{"over a slot boundary", 63 * 1024, 2 * 1024},
		{"one second", 12345, BASE_S_NS},
		{"one day", 12345, 86400 * BASE_S_NS},
		{"one year", 12345, 365 * 86400 * BASE_S_NS},
		/* 2^36 ticks of 2^10 ns: a machine that has been up for 19.5 hours. */
		{"just over the top level's lap", (1ull << 46) - 5000, 10000},
		{"a minute over the top level's lap", (1ull << 46) - 5000, 60 * BASE_S_NS},
		{"a lap less one slot ahead", (1ull << 46) - 5000, 63ull << 40},
		{"more than a lap ahead", 5ull << 40, 70ull << 40},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		print_message("%s\n", cases[i].name);
		struct base_timer t = {0};
		uint64_t deadline = cases[i].start_ns + cases[i].ahead_ns;
		base_wheel_init(&w, 10, cases[i].start_ns);
		base_wheel_arm(&w, &t, deadline);
		assert_true(base_timer_armed(&t));
		base_wheel_advance(&w, deadline - 1);
		assert_null(base_wheel_pop(&w));
		base_wheel_advance(&w, deadline + 1023);
		assert_ptr_equal(base_wheel_pop(&w), &t);
		assert_null(base_wheel_pop(&w));
		assert_false(base_timer_armed(&t));
		assert_true(base_wheel_next_ns(&w) == BASE_NEVER_NS);
	}
}

static void
never_cancels(void **state)
{
	(void)state;
	struct base_timer t = {0};
	base_wheel_init(&w, 10, 0);
	base_wheel_arm(&w, &t, BASE_NEVER_NS);
	assert_false(base_timer_armed(&t));
	base_wheel_arm(&w, &t, 5000);
	base_wheel_arm(&w, &t, BASE_NEVER_NS);
	assert_false(base_timer_armed(&t));
	base_wheel_cancel(&w, &t); /* not armed: nothing happens */
	base_wheel_advance(&w, BASE_S_NS);
	assert_null(base_wheel_pop(&w));
}

static void
an_expired_timer_can_be_moved_or_cancelled_before_the_pop(void **state)
{
	(void)state;
	struct base_timer a = {0}, b = {0}, c = {0};
	base_wheel_init(&w, 10, 0);
	base_wheel_arm(&w, &a, 2000);
	base_wheel_arm(&w, &b, 2000);
	base_wheel_arm(&w, &c, 2000);
	base_wheel_advance(&w, 4096);
	base_wheel_cancel(&w, &a);
	base_wheel_arm(&w, &b, 1 * BASE_MS_NS);
	assert_ptr_equal(base_wheel_pop(&w), &c);
	assert_null(base_wheel_pop(&w));
	base_wheel_advance(&w, 2 * BASE_MS_NS);
	assert_ptr_equal(base_wheel_pop(&w), &b);
	assert_null(base_wheel_pop(&w));
}

static void
time_does_not_run_backwards(void **state)
{
	(void)state;
	struct base_timer t = {0};
	base_wheel_init(&w, 10, 10 * BASE_MS_NS);
	base_wheel_arm(&w, &t, 11 * BASE_MS_NS);
	base_wheel_advance(&w, 1);
	assert_null(base_wheel_pop(&w));
	base_wheel_advance(&w, 12 * BASE_MS_NS);
	assert_ptr_equal(base_wheel_pop(&w), &t);
}

/* An idle loop that sleeps until base_wheel_next_ns() is not woken more often
 * than once per level. */
static void
few_early_wakeups(void **state)
{
	(void)state;
	for (uint64_t ahead = 1; ahead < 1ull << 45; ahead *= 3) {
		struct base_timer t = {0};
		base_wheel_init(&w, 10, 777777777);
		base_wheel_arm(&w, &t, 777777777 + ahead);
		int wakeups = 0;
		do {
			base_wheel_advance(&w, base_wheel_next_ns(&w));
			wakeups++;
		} while (!base_wheel_pop(&w));
		assert_in_range(wakeups, 1, BASE_WHEEL_LEVELS);
	}
}

static void
random_operations_against_the_model(void **state)
{
	(void)state;
	static struct wheel_model m;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct base_prng p = base_prng_seed(seed);
		uint64_t start = base_prng_next(&p) >> (2 + base_prng_below(&p, 40));
		if (seed % 4 == 0) /* near the end of a lap of some level */
			start = (1ull << (10 + 6 * (1 + base_prng_below(&p, 6)))) -
				base_prng_below(&p, 100000);
		wheel_model_init(&m, (uint32_t)base_prng_below(&p, 16), start);
		for (int i = 0; i < 2000; i++) {
			uint64_t r = base_prng_below(&p, 10);
			enum wheel_model_op op = r < 6	 ? WHEEL_ARM
						 : r < 7 ? WHEEL_CANCEL
						 : r < 8 ? WHEEL_ADVANCE
							 : WHEEL_JUMP;
			uint64_t ns = base_prng_next(&p) >> (18 + base_prng_below(&p, 46));
			if (m.now_ns > 1ull << 62)
				break;
			wheel_model_step(&m, op, (uint32_t)base_prng_next(&p), ns);
		}
		assert_true(m.fired > 10);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires_not_before_its_deadline_and_within_a_tick),
		cmocka_unit_test(never_cancels),
		cmocka_unit_test(an_expired_timer_can_be_moved_or_cancelled_before_the_pop),
		cmocka_unit_test(time_does_not_run_backwards),
		cmocka_unit_test(few_early_wakeups),
		cmocka_unit_test(random_operations_against_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
