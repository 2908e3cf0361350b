/* SPDX-License-Identifier: BSD-2-Clause */
/* Configurations whose legs are in VLANs, at one port or two, or not there. */
#include "cmocka_all.h"

#include "rd/conf.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024

/* A configuration with these keys of the legs, beside their addresses. */
static bool
parse_legs(const char *private, const char *global, struct rd_conf *c, struct rd_faults *f)
{
	char text[TEXT_MAX];
	int n = snprintf(
		text, sizeof text,
		"{ \"cluster\": { \"name\": \"a\", \"relays\": [ { \"private\": \"10.0.0.1\", "
		"\"global\": \"198.51.100.1\" } ] },\n"
		" \"ports\": {\n"
		"  \"private\": { \"address\": \"10.0.0.1\", \"prefix_len\": 24, %s },\n"
		"  \"global\": { \"address\": \"198.51.100.1\", \"prefix_len\": 24, %s } },\n"
		" \"impi\": { \"server\": \"203.0.113.5:7810\" },\n"
		" \"sealing\": { \"key_file\": \"/k\" } }\n",
		private, global);

	assert_in_range(n, 1, TEXT_MAX - 1);
	memset(f, 0, sizeof *f);
	return rd_conf_parse(text, (size_t)n, c, f);
}

static void
one_port_or_two(void **state)
{
	static const struct {
		const char *private, *global;
		bool one;
		uint32_t vlan[2];
	} row[] = {
		{"\"interface\": \"eth0\"", "\"interface\": \"eth1\"", false, {0, 0}},
		{"\"interface\": \"eth0\"", "\"interface\": \"eth0\", \"vlan\": 7", true, {0, 7}},
		{"\"interface\": \"eth0\", \"vlan\": 6",
		 "\"interface\": \"eth0\", \"vlan\": 7",
		 true,
		 {6, 7}},
		{"\"device\": \"0000:03:00.0\"",
		 "\"device\": \"0000:03:00.0\", \"vlan\": 4094",
		 true,
		 {0, 4094}},
		{"\"interface\": \"eth0\"", "\"interface\": \"eth0\"", true, {0, 0}},
	};
	static struct rd_conf c;
	static struct rd_faults f;

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		if (!parse_legs(row[i].private, row[i].global, &c, &f))
			fail_msg("row %zu: %s", i, f.count ? f.fault[0].text : "?");
		if (rd_conf_one_port(&c) != row[i].one ||
		    c.port[RD_LEG_PRIVATE].vlan != row[i].vlan[0] ||
		    c.port[RD_LEG_GLOBAL].vlan != row[i].vlan[1])
			fail_msg("row %zu: one port %d, VLANs %u and %u", i, rd_conf_one_port(&c),
				 c.port[RD_LEG_PRIVATE].vlan, c.port[RD_LEG_GLOBAL].vlan);
	}
}

static void
refused(void **state)
{
	static const struct {
		const char *name, *private, *global, *pointer, *text;
	} row[] = {
		{"a VLAN that is none", "\"interface\": \"eth0\", \"vlan\": 4095",
		 "\"interface\": \"eth1\"", "/ports/private/vlan",
		 "4095 is out of range, 0 to 4094"},
		{"one port with two rings", "\"interface\": \"eth0\"",
		 "\"interface\": \"eth0\", \"vlan\": 7, \"rx_descriptors\": 1024", "/ports/global",
		 "both legs are at one port, eth0"},
	};
	static struct rd_conf c;
	static struct rd_faults f;

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		assert_false(parse_legs(row[i].private, row[i].global, &c, &f));
		if (f.count != 1 || strcmp(f.fault[0].pointer, row[i].pointer) != 0 ||
		    !strstr(f.fault[0].text, row[i].text))
			fail_msg("%s: %zu faults, %s: %s", row[i].name, (size_t)f.count,
				 f.fault[0].pointer, f.fault[0].text);
	}
}

/* What is not in a group that is none, is empty or not there is not missing, too. */
static void
a_wrong_group_is_one_fault(void **state)
{
	static const char cluster[] =
		"\"cluster\": { \"name\": \"a\", \"relays\": [ "
		"{ \"private\": \"10.0.0.1\", \"global\": \"198.51.100.1\" } ] }";
	static const char ports[] =
		"\"ports\": { \"private\": { \"interface\": \"e0\", \"address\": \"10.0.0.1\", "
		"\"prefix_len\": 24 }, \"global\": { \"interface\": \"e1\", \"address\": "
		"\"198.51.100.1\", \"prefix_len\": 24 } }";
	static const struct {
		const char *cluster, *ports, *pointer; /* NULL: as above */
	} row[] = {
		{NULL, NULL, NULL},
		{NULL, "\"ports\": []", "/ports"},
		{NULL,
		 "\"ports\": { \"private\": 3, \"global\": { \"interface\": \"e1\", \"address\": "
		 "\"198.51.100.1\", \"prefix_len\": 24 } }",
		 "/ports/private"},
		{"\"cluster\": \"a\"", NULL, "/cluster"},
		{NULL, "\"ports\": {}", "/ports"},
		{NULL, "\"ports\": { \"private\": {}, \"global\": {} }", "/ports"},
		{NULL, "\"workers\": 1", "/ports"},
		{NULL,
		 "\"ports\": { \"private\": { \"interface\": \"e0\", \"address\": \"10.0.0.1\", "
		 "\"prefix_len\": 24 } }",
		 "/ports/global"},
		{"\"cluster\": {}", NULL, "/cluster"},
	};
	static struct rd_conf c;
	static struct rd_faults f;
	char text[1024];
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		memset(&f, 0, sizeof f);
		snprintf(text, sizeof text,
			 "{ %s, %s, \"impi\": { \"server\": \"203.0.113.5:7810\" }, "
			 "\"sealing\": { \"key_file\": \"/k\" } }",
			 row[i].cluster ? row[i].cluster : cluster,
			 row[i].ports ? row[i].ports : ports);
		assert_int_equal(rd_conf_parse(text, strlen(text), &c, &f), !row[i].pointer);
		for (uint32_t k = 0; k < f.count; k++)
			print_message("  %s: %s\n", f.fault[k].pointer, f.fault[k].text);
		assert_int_equal(f.count, row[i].pointer ? 1 : 0);
		if (row[i].pointer)
			assert_string_equal(f.fault[0].pointer, row[i].pointer);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_port_or_two),
		cmocka_unit_test(refused),
		cmocka_unit_test(a_wrong_group_is_one_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
