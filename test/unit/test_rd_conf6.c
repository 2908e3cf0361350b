/* SPDX-License-Identifier: BSD-2-Clause */
/* A configuration with IPv6: where the IMPI server is. */
#include "cmocka_all.h"

#include "rd/conf.h"
#include "suci/addr.h"

#include <stdio.h>
#include <string.h>

#include <bsd/string.h>

static const char good[] =
	"{ \"cluster\": { \"name\": \"a\", \"relays\": [ { \"private\": \"10.0.0.1\", \"global\": "
	"\"198.51.100.1\" } ] },\n"
	" \"ports\": { \"private\": { \"interface\": \"eth0\", \"address\": \"10.0.0.1\",\n"
	"   \"prefix_len\": 24 },\n"
	"  \"global\": { \"interface\": \"eth1\", \"address\": \"198.51.100.1\",\n"
	"   \"prefix_len\": 24, \"ipv6\": \"2001:db8::1/64\" } },\n"
	" \"impi\": { \"server\": \"[2001:db8::9]:7810\" },\n"
	" \"sealing\": { \"key_file\": \"/k\" } }\n";

/* In place. */
static void
replace_in(char *text, size_t max, const char *from, const char *to)
{
	char *at = strstr(text, from), rest[3 * sizeof good];
	assert_non_null(at);
	strlcpy(rest, at + strlen(from), sizeof rest);
	int n = snprintf(at, max - (size_t)(at - text), "%s%s", to, rest);
	assert_in_range(n, 1, max - (size_t)(at - text) - 1);
}

/* The server by IPv6. */
static void
server_of_ipv6(void **state)
{
	static struct rd_conf c;
	static struct rd_faults f;
	struct suci_addr at;
	char text[2 * sizeof good];
	(void)state;
	memcpy(text, good, sizeof good);
	memset(&f, 0, sizeof f);
	assert_true(rd_conf_parse(text, strlen(text), &c, &f));
	assert_string_equal(c.impi.server_host, "2001:db8::9");
	assert_int_equal(c.impi.server_port, 7810);
	assert_true(rd_conf_server(&c, &at) && at.family == 6 && at.ip[15] == 9);
	/* Beyond the prefix there must be a gateway; ourselves only with an open port. */
	replace_in(text, sizeof text, "[2001:db8::9]", "[2001:db9::9]");
	memset(&f, 0, sizeof f);
	assert_false(rd_conf_parse(text, strlen(text), &c, &f));
	assert_non_null(strstr(f.fault[0].text, "there is no ports.global.gateway6"));
	replace_in(text, sizeof text, "[2001:db9::9]", "[2001:db8::1]");
	memset(&f, 0, sizeof f);
	assert_false(rd_conf_parse(text, strlen(text), &c, &f));
	assert_non_null(strstr(f.fault[0].text, "\"tap_allow\": \"global:tcp/7810\""));
}

/* The text with one piece changed is refused for that. */
static void
must_refuse(const char *from, const char *to, const char *pointer, const char *why)
{
	static struct rd_conf c;
	static struct rd_faults f;
	char text[3 * sizeof good];
	memcpy(text, good, sizeof good);
	replace_in(text, sizeof text, "\"prefix_len\": 24 },\n",
		   "\"prefix_len\": 24, \"ipv6\": \"fd00::fe/64\" },\n");
	replace_in(text, sizeof text, from, to);
	memset(&f, 0, sizeof f);
	assert_false(rd_conf_parse(text, strlen(text), &c, &f));
	assert_string_equal(f.fault[0].pointer, pointer);
	if (!strstr(f.fault[0].text, why))
		fail_msg("%s: \"%s\" is not \"%s\"", pointer, f.fault[0].text, why);
}

#define RELAY0	"\"global\": \"198.51.100.1\" }"
#define RELAY1	", { \"private\": \"10.0.0.2\", \"global\": \"198.51.100.2\""
#define OWN6(a) "\"global\": \"198.51.100.1\", \"private6\": \"" a "\" }"

/* The private leg by IPv6: its prefix may call, each relay of the cluster has its address. */
static void
inside(void **state)
{
	static struct rd_conf c;
	static struct rd_faults f;
	uint8_t at[16] = {0xfd, [15] = 0xfe}, node[16] = {0xfd, [15] = 1}, far[16] = {0xfd, 1};
	char text[3 * sizeof good];
	(void)state;
	memcpy(text, good, sizeof good);
	replace_in(text, sizeof text, "\"prefix_len\": 24 },\n",
		   "\"prefix_len\": 24, \"ipv6\": \"fd00::fe/64\" },\n");
	memset(&f, 0, sizeof f);
	assert_true(rd_conf_parse(text, strlen(text), &c, &f));
	assert_memory_equal(c.port[RD_LEG_PRIVATE].address6, at, 16);
	assert_memory_equal(c.cluster.relay[0].private6, at, 16);
	assert_true(base_prefixes_have(&c.impi.allowed, node));
	assert_false(base_prefixes_have(&c.impi.allowed, far));
	assert_true(rd_conf_knows_six(&c.port[RD_LEG_PRIVATE], node));
	assert_false(rd_conf_knows_six(&c.port[RD_LEG_GLOBAL], node));

	replace_in(text, sizeof text, RELAY0,
		   OWN6("fd00::fe") RELAY1 ", \"private6\": \"fd00::fd\" }");
	memset(&f, 0, sizeof f);
	assert_true(rd_conf_parse(text, strlen(text), &c, &f));
	assert_int_equal(c.cluster.relay[1].private6[15], 0xfd);
}

static void
inside_wrong(void **state)
{
	(void)state;
	must_refuse("fd00::fe/64", "fd00::fe", "/ports/private/ipv6", "is not an IPv6 address and");
	must_refuse("fd00::fe/64", "2001:db8::7/64", "/ports/global/ipv6", "overlap");
	must_refuse("fd00::fe/64", "fd00::fe/64\", \"gateway6\": \"fd01::1",
		    "/ports/private/gateway6", "is not in the prefix of ports.private.ipv6");
	must_refuse("fd00::fe/64\"", "\", \"gateway6\": \"fd01::1\"", "/ports/private/gateway6",
		    "leads nowhere without ports.private.ipv6");
	must_refuse("\"eth1\"", "\"eth0\"", "/ports/private/ipv6", "give the legs different");
	must_refuse(RELAY0, OWN6("fd00::ff"), "/cluster/relays/0/private6", "differs from our own");
	must_refuse(RELAY0, OWN6("10.0.0.1"), "/cluster/relays/0/private6",
		    "is not an IPv6 address");
	must_refuse(RELAY0, OWN6("ff02::1"), "/cluster/relays/0/private6",
		    "is a multicast address");
	must_refuse(RELAY0, OWN6("fd00::fe") RELAY1 " }", "/cluster/relays/1",
		    "lacks \"private6\"");
	must_refuse(RELAY0, OWN6("fd00::fe") RELAY1 ", \"private6\": \"fd01::fd\" }",
		    "/cluster/relays/1/private6", "is outside the prefix");
	must_refuse(RELAY0, OWN6("fd00::fe") RELAY1 ", \"private6\": 7 }",
		    "/cluster/relays/1/private6", "must be a string");
	must_refuse(RELAY0,
		    OWN6("fd00::fe") RELAY1
		    ", \"private6\": \"fd00::7\" }, "
		    "{ \"private\": \"10.0.0.3\", \"global\": \"198.51.100.3\", "
		    "\"private6\": \"fd00::7\" }",
		    "/cluster/relays/2/private6", "is that of relay 1");
	must_refuse("\"sealing\"",
		    "\"neighbours\": { \"mac\": \"fd02::1=02:00:00:00:00:01\" }, \"sealing\"",
		    "/neighbours/mac", "is neither in the IPv6 prefix of a leg nor a gateway6");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_of_ipv6),
		cmocka_unit_test(inside),
		cmocka_unit_test(inside_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
