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
	enum ocs_algorithm a;
	enum ocs_mode mode;
	uint32_t k;
	double want[4];
} rows[] = {
	{"linear naive", OCS_LINEAR, OCS_NAIVE, 2, {.3131, .3134, .3294, .5731}},
	{"linear k=2", OCS_LINEAR, OCS_BATCHED, 2, {.1631, .1634, .1794, .4231}},
	{"linear k=3", OCS_LINEAR, OCS_BATCHED, 3, {.1131, .1134, .1294, .3731}},
	{"linear k=4", OCS_LINEAR, OCS_BATCHED, 4, {.0831, .0834, .0994, .3431}},
	{"ring naive", OCS_RING, OCS_NAIVE, 2, {.6262, .6262, .6272, .6425}},
	{"ring k=1", OCS_RING, OCS_BATCHED, 1, {.6262, .6262, .6272, .6425}},
	{"ring k=2", OCS_RING, OCS_BATCHED, 2, {.0131, .0131, .0136, .0212}},
	{"doubling naive", OCS_DOUBLING, OCS_NAIVE, 2, {.0505, .0505, .0510, .0586}},
	{"doubling k=2", OCS_DOUBLING, OCS_BATCHED, 2, {.0305, .0305, .0310, .0386}},
	{"doubling k=3", OCS_DOUBLING, OCS_BATCHED, 3, {.0205, .0205, .0210, .0286}},
	{"doubling k=4", OCS_DOUBLING, OCS_BATCHED, 4, {.0205, .0205, .0210, .0286}},
	{"binomial naive", OCS_BINOMIAL, OCS_NAIVE, 2, {.0505, .0505, .0531, .0924}},
	{"binomial k=2", OCS_BINOMIAL, OCS_BATCHED, 2, {.0305, .0305, .0331, .0724}},
	{"binomial k=4", OCS_BINOMIAL, OCS_BATCHED, 4, {.0205, .0205, .0231, .0624}},
};

static void
test_reference_values(void **state)
{
	(void)state;
	static const double n[4] = {1, 1024, 65536, 1048576};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct ocs_model m = {32, rows[i].k, 1e-4, 8e-9, 0.01};
		for (int j = 0; j < 4; j++) {
			double t = ocs_model_s(&m, rows[i].a, rows[i].mode, n[j]);
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
	struct ocs_model one = {1, 1, 1e-4, 8e-9, 0.01}, none = {0, 1, 1e-4, 8e-9, 0.01};
	assert_true(ocs_model_s(&one, OCS_LINEAR, OCS_NAIVE, 100) == 0);
	assert_int_equal(ocs_model_gammas(&one, OCS_RING, OCS_NAIVE), 0);
	assert_true(ocs_model_s(&none, OCS_RING, OCS_NAIVE, 1) < 0);
	struct ocs_model odd = {9, 3, 0, 0, 1};
	assert_int_equal(ocs_model_gammas(&odd, OCS_BINOMIAL, OCS_NAIVE), 4);
	assert_int_equal(ocs_model_gammas(&odd, OCS_BINOMIAL, OCS_BATCHED), 2);
	assert_true(ocs_model_s(&odd, OCS_LINEAR, OCS_IDEAL, 10) == 0);
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
