/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of CPUs, of lcores and of ports of a switch as the configuration has them. */
#include "cmocka_all.h"

#include "rd/conf.h"

#include <string.h>

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

static const struct {
	const char *text;
	const char *own; /* of eight ports; NULL: refused */
} own_cases[] = {
	{"", "11111111"}, {"0-2", "11100000"}, {"7", "00000001"}, {"1,3-4", "01011000"},
	{"8", NULL},	  {"2-1", NULL},       {"0-", NULL},	  {"a", NULL},
	{"1;2", NULL},	  {"-1", NULL},	       {"1,,2", NULL},
};

static void
own_ports(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof own_cases / sizeof own_cases[0]; i++) {
		bool own[8];
		print_message("  \"%s\"\n", own_cases[i].text);
		assert_int_equal(rd_conf_own_ports(own_cases[i].text, own, 8),
				 own_cases[i].own != NULL);
		for (int p = 0; own_cases[i].own && p < 8; p++)
			assert_int_equal(own[p], own_cases[i].own[p] == '1');
	}
}

/* Groups of ports: which group each of eight is in, '.' for none; and their waves. */
static void
wave_groups(void **state)
{
	static const struct {
		const char *text, *of;
		uint32_t n, waves[3];
		const char *why;
	} cases[] = {
		{"", "........", 0, {0}, NULL},
		{"0-7=4", "00000000", 1, {4}, NULL},
		{"0-1,4=1;2-3=2", "00110...", 2, {1, 2}, NULL},
		{"7=4096;0=1;3-4=9", "1..22..0", 3, {4096, 1, 9}, NULL},
		{"0-8=1", NULL, 0, {0}, "not a list of ports below 8"},
		{"0-1", NULL, 0, {0}, "not a list of ports below 8"},
		{"=1", NULL, 0, {0}, "not a list of ports below 8"},
		{"-1=1", NULL, 0, {0}, "not a list of ports below 8"},
		{"0-1=", NULL, 0, {0}, "\"\" is not a number of links"},
		{"0-1=0", NULL, 0, {0}, "\"0\" is not a number of links"},
		{"0-1=4097", NULL, 0, {0}, "not a number of links from 1 to 4096"},
		{"0-1=99999999999999999999", NULL, 0, {0}, "not a number of links"},
		{"0-1=1,2-3=1", NULL, 0, {0}, "groups are parted by \";\""},
		{"0-1=1;", NULL, 0, {0}, "not a list of ports below 8"},
		{"0-1=1;;2=1", NULL, 0, {0}, "not a list of ports below 8"},
		{"0-3=1;3-4=1", NULL, 0, {0}, "port 3 is in two groups"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		static struct rd_lit_groups g;
		char why[RD_GROUPS_WHY] = "";
		const char *of = cases[i].of;
		print_message("  \"%s\"\n", cases[i].text);
		assert_int_equal(rd_conf_lit_groups(cases[i].text, 8, &g, why), of != NULL);
		if (!of) {
			assert_non_null(strstr(why, cases[i].why));
			continue;
		}
		assert_int_equal(g.n, cases[i].n);
		for (uint32_t p = 0; p < 8; p++, of++) {
			assert_int_equal(g.of[p], *of == '.' ? g.n : (uint32_t)(*of - '0'));
		}
		for (uint32_t k = 0; k < g.n; k++)
			assert_int_equal(g.waves[k], cases[i].waves[k]);
	}
}

static void
more_groups_than_can_be(void **state)
{
	static struct rd_lit_groups g;
	char text[8 * (RD_GROUPS_MAX + 1)] = "", why[RD_GROUPS_WHY];
	(void)state;
	for (int i = 0, at = 0; i <= RD_GROUPS_MAX; i++)
		at += snprintf(text + at, sizeof text - (size_t)at, "%s%d=1", i ? ";" : "", i);
	assert_false(rd_conf_lit_groups(text, 64, &g, why));
	assert_string_equal(why, "more than 32 groups");
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
		cmocka_unit_test(cpu_lists),   cmocka_unit_test(own_ports),
		cmocka_unit_test(wave_groups), cmocka_unit_test(more_groups_than_can_be),
		cmocka_unit_test(lcore_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
