/* SPDX-License-Identifier: BSD-2-Clause */
/* The search for NDR and PDR against relays that are known: where it ends, how soon, and that one
 * bad moment does not mislead it. */
#include "cmocka_all.h"

#include "pktgen/search.h"

#include <math.h>

static const struct pg_search_conf conf = {.min_pps = 1000,
					   .max_pps = 1000000,
					   .loss_ppm = 5000,
					   .precision_ppm = 10000,
					   .trials = 3,
					   .trial_ms = 100};

/* A relay that carries knee segments a second, and misses what is above. */
static double
miss_above(double pps, double knee)
{
	return pps > knee ? (pps - knee) / pps : 0;
}

/* The number of trials; every hiccup-th misses a tenth by itself. */
static uint32_t
search(struct pg_search *s, const struct pg_search_conf *c, double knee, uint32_t hiccup)
{
	double pps;
	uint32_t n = 0;
	pg_search_init(s, c);
	while (pg_search_next(s, &pps)) {
		assert_true(pps >= (double)c->min_pps && pps <= (double)c->max_pps);
		double missed = miss_above(pps, knee);
		pg_search_note(s, hiccup && ++n % hiccup == 0 ? missed + 0.1 : missed);
		n += !hiccup;
		assert_true(n < 200);
	}
	return n;
}

static void
both_rates_are_found(void **state)
{
	static const double knees[] = {1500, 44000, 123456, 999000};
	struct pg_search s;
	(void)state;
	for (size_t i = 0; i < sizeof knees / sizeof knees[0]; i++) {
		uint32_t n = search(&s, &conf, knees[i], 0);
		double ndr = pg_search_found(&s, PG_NDR), pdr = pg_search_found(&s, PG_PDR);
		/* What misses half a percent is that much above what misses none. */
		double most = fmin(knees[i] / (1 - 0.005), 1e6);
		assert_true(ndr <= knees[i] && ndr * 1.0101 >= knees[i]);
		assert_true(pdr <= most && pdr * 1.0101 >= most);
		assert_true(pdr >= ndr);
		assert_true(n % 3 == 0 && n <= 60);
	}
}

static void
the_maximum_is_tried_first(void **state)
{
	struct pg_search s;
	(void)state;
	assert_int_equal(search(&s, &conf, 2e6, 0), 3);
	assert_true(pg_search_found(&s, PG_NDR) >= 1e6);
	assert_true(pg_search_found(&s, PG_PDR) >= 1e6);
}

static void
a_relay_too_slow_has_no_rate(void **state)
{
	struct pg_search s;
	(void)state;
	(void)search(&s, &conf, 900, 0);
	assert_true(pg_search_found(&s, PG_NDR) <= 0);
	assert_true(pg_search_found(&s, PG_PDR) <= 0);
}

static void
the_minimum_itself_is_tried(void **state)
{
	struct pg_search s;
	(void)state;
	(void)search(&s, &conf, 1000, 0);
	assert_true(fabs(pg_search_found(&s, PG_NDR) - 1000) < 0.5);
}

static void
one_bad_trial_of_three_decides_nothing(void **state)
{
	struct pg_search s;
	struct pg_search_conf once = conf;
	(void)state;
	(void)search(&s, &conf, 44000, 4);
	assert_true(pg_search_found(&s, PG_NDR) * 1.0101 >= 44000);
	once.trials = 1;
	(void)search(&s, &once, 44000, 2);
	assert_true(pg_search_found(&s, PG_NDR) * 1.0101 < 44000);
}

static void
one_rate_is_a_search_too(void **state)
{
	struct pg_search s;
	struct pg_search_conf one = conf;
	(void)state;
	one.min_pps = one.max_pps = 5000;
	assert_int_equal(search(&s, &one, 1e6, 0), 3);
	assert_true(fabs(pg_search_found(&s, PG_NDR) - 5000) < 0.5);
	assert_int_equal(search(&s, &one, 10, 0), 3);
	assert_true(pg_search_found(&s, PG_PDR) <= 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_rates_are_found),
		cmocka_unit_test(the_maximum_is_tried_first),
		cmocka_unit_test(a_relay_too_slow_has_no_rate),
		cmocka_unit_test(the_minimum_itself_is_tried),
		cmocka_unit_test(one_bad_trial_of_three_decides_nothing),
		cmocka_unit_test(one_rate_is_a_search_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
