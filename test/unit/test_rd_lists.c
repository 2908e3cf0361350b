/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of CPUs and of lcores as the configuration has them. */
#include "cmocka_all.h"

#include "rd/conf.h"

static const struct {
	const char *text;
	bool ok;
	uint32_t set; /* bit per CPU */
} cpu_cases[] = {
	{"0", true, 1},	     {"2-3", true, 12},
	{"0,2-3", true, 13}, {"7,7", true, 128},
	{"", false, 0},	     {"8", false, 0},
	{"1-", false, 0},    {"-1", false, 0},
	{"3-2", false, 0},   {"1,", false, 0},
	{",1", false, 0},    {"1 ,2", false, 0},
	{"0x1", false, 0},   {"1-2-3", false, 0},
	{"a", false, 0},     {"99999999999999999999", false, 0},
};

static void
cpu_lists(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cpu_cases / sizeof cpu_cases[0]; i++) {
		bool set[8];
		print_message("  \"%s\"\n", cpu_cases[i].text);
		assert_int_equal(rd_cpus_parse(cpu_cases[i].text, set, 8), cpu_cases[i].ok);
		for (uint32_t k = 0; k < 8 && cpu_cases[i].ok; k++)
			assert_int_equal(set[k], cpu_cases[i].set >> k & 1);
	}
}

static void
lcore_lists(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint32_t lcores, cpus;
	} cases[] = {
		{"0@0,1@1", true, 3, 3},
		{"0", true, 1, 1},
		{"0-3", true, 15, 15},
		{"(0-2)@0", true, 7, 1},
		{"(0,1,2)@(3,5-6)", true, 7, 0x68},
		{"0@4,(1-2)@(6-7)", true, 7, 0xd0},
		{"(0,2)", true, 5, 5},
		{"0@1,1", true, 3, 2},
		{"", false, 0, 0},
		{"0,", false, 0, 0},
		{"0@", false, 0, 0},
		{"@0", false, 0, 0},
		{"(0", false, 0, 0},
		{"0)", false, 0, 0},
		{"2-1", false, 0, 0},
		{"8", false, 0, 0},
		{"0@8", false, 0, 0},
		{"0@0@0", false, 0, 0},
		{"0 1", false, 0, 0},
		{"99999999999999999999", false, 0, 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bool lcore[8], cpu[8];
		print_message("  \"%s\"\n", cases[i].text);
		assert_int_equal(rd_lcores_parse(cases[i].text, lcore, cpu, 8), cases[i].ok);
		for (uint32_t k = 0; k < 8 && cases[i].ok; k++) {
			assert_int_equal(lcore[k], cases[i].lcores >> k & 1);
			assert_int_equal(cpu[k], cases[i].cpus >> k & 1);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(lcore_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
