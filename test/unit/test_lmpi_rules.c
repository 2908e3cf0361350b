/* SPDX-License-Identifier: BSD-2-Clause */
#include "rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *text;
	uint32_t rules; /* UINT32_MAX: refused */
} rows[] = {
	{"[]", 0},
	{" [ ] \n", 0},
	{"[{\"op\":\"bcast\",\"algorithm\":\"linear\"}]", 1},
	{"[{\"algorithm\":\"pairs\",\"op\":\"alltoall\",\"bytes_max\":1,\"size_max\":4294967295}]",
	 1},
	{"[{\"op\":\"bcast\",\"algorithm\":\"linear\"},{\"op\":\"reduce\",\"algorithm\":\"hier\"}]",
	 2},
	{"", UINT32_MAX},
	{"[", UINT32_MAX},
	{"{}", UINT32_MAX},
	{"[{}]", UINT32_MAX},
	{"[] []", UINT32_MAX},
	{"[{\"op\":\"bcast\"}]", UINT32_MAX},
	{"[{\"op\":\"bcast\",\"algorithm\":\"pairs\"}]", UINT32_MAX},
	{"[{\"op\":\"cast\",\"algorithm\":\"linear\"}]", UINT32_MAX},
	{"[{\"op\":\"bcast\",\"algorithm\":\"linear\"},]", UINT32_MAX},
	{"[{\"op\":\"bcast\",\"op\":\"bcast\",\"algorithm\":\"linear\"}]", UINT32_MAX},
	{"[{\"op\":\"bcast\",\"algorithm\":\"linear\",\"size_max\":4294967296}]", UINT32_MAX},
	{"[{\"op\":\"bcast\",\"algorithm\":\"linear\",\"bytes_max\":0}]", UINT32_MAX},
	{"[{\"op\":\"bcast\",\"algorithm\":\"linear\",\"bytes_max\":-1}]", UINT32_MAX},
	{"[{\"op\":\"bcast\",\"algorithm\":\"line\\u0061r\"}]", UINT32_MAX},
	{"[{\"op\":\"bcast\",\"algorithm\":\"a name that is longer than any name of an "
	 "algorithm\"}]",
	 UINT32_MAX},
};

static void
test_texts(void **state)
{
	(void)state;
	static struct coll_rule rule[LMPI_RULES_MAX];
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t n;
		char why[160] = "";
		bool ok = lmpi_rules_parse(rows[i].text, strlen(rows[i].text), rule, &n, why);
		if (ok != (rows[i].rules != UINT32_MAX) || (ok && n != rows[i].rules) ||
		    ok != !*why)
			fail_msg("%s: %u rules, %s", rows[i].text, n, why);
	}
	uint32_t n;
	char why[160];
	assert_true(lmpi_rules_parse(rows[3].text, strlen(rows[3].text), rule, &n, why));
	assert_int_equal(rule[0].op, COLL_ALLTOALL);
	assert_string_equal(rule[0].algorithm, "pairs");
	assert_int_equal(rule[0].bytes_max, 1);
	assert_int_equal(rule[0].size_max, UINT32_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
