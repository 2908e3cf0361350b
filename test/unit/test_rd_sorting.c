/* SPDX-License-Identifier: BSD-2-Clause */
/* For which addresses a port is asked to sort, and what is said of its answer. */
#include "sorting.h"

#include "cmocka_all.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* Legs with that much more each, at one port or at two. */
static void
ask(struct rd_port_conf *pc, uint32_t leg, bool one_port, const char *more, const char *more_global)
{
	static struct rd_conf c;
	static struct rd_faults f;
	char text[1200];
	snprintf(text, sizeof text,
		 "{ \"cluster\": { \"name\": \"a\","
		 "  \"relays\": [ { \"private\": \"10.0.0.1\", \"global\": \"198.51.100.1\" } ] },"
		 " \"ports\": { \"private\": { \"interface\": \"eth0\", \"address\": \"10.0.0.1\","
		 "   \"prefix_len\": 24%s },"
		 "  \"global\": { \"interface\": \"%s\", \"address\": \"198.51.100.1\","
		 "   \"prefix_len\": 24%s } },"
		 " \"impi\": { \"server\": \"203.0.113.5:7810\" },"
		 " \"sealing\": { \"key_file\": \"/k\" } }",
		 more, one_port ? "eth0" : "eth1", more_global);
	memset(&f, 0, sizeof f);
	if (!rd_conf_parse(text, strlen(text), &c, &f))
		fail_msg("%s: %s", f.fault[0].pointer, f.fault[0].text);
	memset(pc, 0xa5, sizeof *pc);
	rd_sorting_ask(&c, leg, 3, pc);
	assert_int_equal(pc->sort_ports, 3);
}

static void
is_four(const struct rd_sort_to *to, uint32_t address, uint16_t port, uint16_t vlan)
{
	assert_false(to->six);
	assert_int_equal(to->ipv4, address);
	assert_int_equal(to->port, port);
	assert_int_equal(to->vlan, vlan);
}

static void
is_six(const struct rd_sort_to *to, const char *address, uint16_t port, uint16_t vlan)
{
	uint8_t want[16];
	assert_true(to->six);
	assert_int_equal(inet_pton(AF_INET6, address, want), 1);
	assert_memory_equal(to->ipv6, want, 16);
	assert_int_equal(to->port, port);
	assert_int_equal(to->vlan, vlan);
}

static void
all_addresses_are_asked_for(void **state)
{
	struct rd_port_conf pc;
	(void)state;
	ask(&pc, RD_LEG_PRIVATE, false, "", "");
	assert_int_equal(pc.nsort, 1);
	is_four(&pc.sort[0], 0x0a000001, 7812, 0);

	ask(&pc, RD_LEG_GLOBAL, false, "", ", \"ipv6\": \"2001:db8::7/64\", \"udp_port\": 9000");
	assert_int_equal(pc.nsort, 2);
	is_four(&pc.sort[0], 0xc6336401, 9000, 0);
	is_six(&pc.sort[1], "2001:db8::7", 9000, 0);

	ask(&pc, RD_LEG_PRIVATE, true, ", \"ipv6\": \"fd00::1/64\", \"vlan\": 10",
	    ", \"ipv6\": \"2001:db8::7/64\", \"vlan\": 20, \"udp_port\": 9000");
	assert_int_equal(pc.nsort, 4);
	is_four(&pc.sort[0], 0x0a000001, 7812, 10);
	is_six(&pc.sort[1], "fd00::1", 7812, 10);
	is_four(&pc.sort[2], 0xc6336401, 9000, 20);
	is_six(&pc.sort[3], "2001:db8::7", 9000, 20);

	ask(&pc, RD_LEG_PRIVATE, true, ", \"vlan\": 10", ", \"vlan\": 20");
	assert_int_equal(pc.nsort, 2);
	is_four(&pc.sort[1], 0xc6336401, 7812, 20);
}

static void
what_is_said_of_it(void **state)
{
	static const struct {
		enum rd_sort sort;
		bool rss, rss6;
		const char *refused, *by, *said;
		enum rd_log_level level;
	} rows[] = {
		{RD_SORT_FLOW, false, false, "", "flow rules of the port", "", RD_LOG_DEBUG},
		{RD_SORT_FLOW, false, false, "W", "flow rules of the port, in part",
		 "private leg: d takes not all flow rules (W), and cannot sort by RSS: workers "
		 "hand the other frames over to each other, which costs copies (steered)",
		 RD_LOG_WARNING},
		{RD_SORT_FLOW, true, true, "W", "flow rules of the port, in part",
		 "private leg: d takes not all flow rules (W), so its RSS sorts the rest",
		 RD_LOG_INFO},
		{RD_SORT_RSS, true, true, "W", "the port's RSS",
		 "private leg: d takes no flow rules (W), so its RSS sorts", RD_LOG_INFO},
		{RD_SORT_RSS, true, false, "W", "the port's RSS (IPv4 alone)",
		 "private leg: d takes no flow rules (W), so its RSS sorts", RD_LOG_INFO},
		{RD_SORT_NONE, false, false, "W", "the workers",
		 "private leg: d takes no flow rules (W), and cannot sort by RSS: workers hand "
		 "frames over to each other, which costs copies (steered)",
		 RD_LOG_WARNING},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char out[RD_SORTING_TEXT];
		struct rd_port p = {.sort = rows[i].sort,
				    .sort_rss = rows[i].rss,
				    .sort_rss6 = rows[i].rss6,
				    .driver = "d"};
		snprintf(p.sort_refused, sizeof p.sort_refused, "%s", rows[i].refused);
		assert_string_equal(rd_sorting_by(&p), rows[i].by);
		assert_int_equal(rd_sorting_refusal("private", &p, out), rows[i].level);
		assert_string_equal(out, rows[i].said);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_addresses_are_asked_for),
		cmocka_unit_test(what_is_said_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
