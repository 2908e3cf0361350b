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
	char *at = strstr(text, from), rest[2 * sizeof good];
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_of_ipv6),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
