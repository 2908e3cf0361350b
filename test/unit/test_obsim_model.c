/* SPDX-License-Identifier: BSD-2-Clause */
#include "model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* p = 32, alpha = 1e-4 s, beta = 8e-9 s/B, gamma = 0.01 s, as in [OC]; wanted
 * values in seconds for n = 1 B, 1 KiB, 64 KiB, 1 MiB, to four places. */
static const struct {
	const char *name;
	enum obs_algorithm a;
	enum obs_strategy mode;
	uint32_t k;
	double want[4];
} rows[] = {
	{"linear naive", OBS_LINEAR, OBS_NAIVE, 2, {.3131, .3134, .3294, .5731}},
	{"linear k=2", OBS_LINEAR, OBS_BATCHED, 2, {.1631, .1634, .1794, .4231}},
	{"linear k=3", OBS_LINEAR, OBS_BATCHED, 3, {.1131, .1134, .1294, .3731}},
	{"linear k=4", OBS_LINEAR, OBS_BATCHED, 4, {.0831, .0834, .0994, .3431}},
	{"ring naive", OBS_RING, OBS_NAIVE, 2, {.6262, .6262, .6272, .6425}},
	{"ring k=1", OBS_RING, OBS_BATCHED, 1, {.6262, .6262, .6272, .6425}},
	{"ring k=2", OBS_RING, OBS_BATCHED, 2, {.0131, .0131, .0136, .0212}},
	{"doubling naive", OBS_DOUBLING, OBS_NAIVE, 2, {.0505, .0505, .0510, .0586}},
	{"doubling k=2", OBS_DOUBLING, OBS_BATCHED, 2, {.0305, .0305, .0310, .0386}},
	{"doubling k=3", OBS_DOUBLING, OBS_BATCHED, 3, {.0205, .0205, .0210, .0286}},
	{"doubling k=4", OBS_DOUBLING, OBS_BATCHED, 4, {.0205, .0205, .0210, .0286}},
	{"binomial naive", OBS_BINOMIAL, OBS_NAIVE, 2, {.0505, .0505, .0531, .0924}},
	{"binomial k=2", OBS_BINOMIAL, OBS_BATCHED, 2, {.0305, .0305, .0331, .0724}},
	{"binomial k=4", OBS_BINOMIAL, OBS_BATCHED, 4, {.0205, .0205, .0231, .0624}},
};

static void
test_reference_values(void **state)
{
	(void)state;
	static const double n[4] = {1, 1024, 65536, 1048576};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct obs_model m = {32, rows[i].k, 1e-4, 8e-9, 0.01};
		for (int j = 0; j < 4; j++) {
			double t = obs_model_s(&m, rows[i].a, rows[i].mode, n[j]);
			if (fabs(t - rows[i].want[j]) > 0.00005 + 1e-9)
				fail_msg("%s, n = %.0f: %.6f s, wanted %.4f", rows[i].name, n[j], t,
					 rows[i].want[j]);
		}
	}
}

static void
test_edges(void **state)
{
	(void)state;
	struct obs_model one = {1, 1, 1e-4, 8e-9, 0.01}, none = {0, 1, 1e-4, 8e-9, 0.01};
	assert_true(obs_model_s(&one, OBS_LINEAR, OBS_NAIVE, 100) == 0);
	assert_int_equal(obs_model_gammas(&one, OBS_RING, OBS_NAIVE), 0);
	assert_true(obs_model_s(&none, OBS_RING, OBS_NAIVE, 1) < 0);
	struct obs_model odd = {9, 3, 0, 0, 1};
	assert_int_equal(obs_model_gammas(&odd, OBS_BINOMIAL, OBS_NAIVE), 4);
	assert_int_equal(obs_model_gammas(&odd, OBS_BINOMIAL, OBS_BATCHED), 2);
	assert_true(obs_model_s(&odd, OBS_LINEAR, OBS_IDEAL, 10) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference_values),
		cmocka_unit_test(test_edges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
