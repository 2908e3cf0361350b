/* SPDX-License-Identifier: BSD-2-Clause */
/* What another configuration changes, and what of it a running relay can take over. */
#include "cmocka_all.h"

#include "rd/reload.h"

#include <stdio.h>
#include <string.h>

#include <bsd/string.h>

static const char good[] =
	"{\n"
	" \"cluster\": { \"name\": \"a\",\n"
	"  \"relays\": [ { \"private\": \"10.0.0.2\", \"global\": \"198.51.100.2\" },\n"
	"   { \"private\": \"10.0.0.1\", \"global\": \"198.51.100.1\" } ] },\n"
	" \"ports\": {\n"
	"  \"private\": { \"interface\": \"eth0\", \"address\": \"10.0.0.1\", \"prefix_len\": 24 "
	"},\n"
	"  \"global\": { \"device\": \"0000:03:00.0\", \"address\": \"198.51.100.1\",\n"
	"   \"prefix_len\": 24, \"gateway\": \"198.51.100.254\" } },\n"
	" \"impi\": { \"server\": \"203.0.113.5:7810\" }, \"sealing\": { \"key_file\": \"/k\" }\n"
	"}\n";

/* good, with more in front of it. */
static void
read_with(const char *more, struct rd_conf *c)
{
	static struct rd_faults f;
	char text[sizeof good + 512];
	memset(&f, 0, sizeof f);
	snprintf(text, sizeof text, "{ %s %s", more, good + 1);
	if (!rd_conf_parse(text, strlen(text), c, &f))
		fail_msg("%s: %s", more, f.fault[0].text);
}

static void
difference(void **state)
{
	static const struct {
		const char *from, *to;
		const char *key; /* NULL: no difference */
		bool now;
		const char *was, *is;
	} row[] = {
		{"", "", NULL, false, "", ""},
		{"\"log_level\": \"info\",", "", NULL, false, "", ""},
		{"", "\"log_level\": \"debug\",", "log_level", true, "info", "debug"},
		{"\"drain_ms\": 7,", "", "drain_ms", true, "7", "5000"},
		{"\"eal\": { \"lcores\": \"0-2\" },",
		 "\"eal\": { \"lcores\": \"0-2\" }, \"workers\": 2,", "workers", false, "1", "2"},
		{"", "\"suci\": { \"global_cc\": \"bbr\" },", "suci.global_cc", true, "cubic",
		 "bbr"},
		{"", "\"suci\": { \"credit\": 9 },", "suci.credit", false, "0", "9"},
		{"", "\"telemetry\": false,", "telemetry", false, "true", "false"},
		{"", "\"eal\": { \"extra\": [\"-x\"] },", "eal.extra", false, "a list of 0",
		 "a list of 1"},
		{"", "\"trunks\": { \"pairs\": \"198.51.100.0/24=stripe\" },", "trunks.pairs", true,
		 "\"\"", "\"198.51.100.0/24=stripe\""},
		{"",
		 "\"optical\": { \"ports\": [{ \"interface\": \"l0\", \"address\": "
		 "\"10.50.0.1/24\","
		 " \"switch_port\": 1 }] },",
		 "optical.ports", false, "a list of 0", "a list of 1"},
	};
	static struct rd_conf a, b;
	static struct rd_changes d;
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		print_message("  %s -> %s\n", row[i].from, row[i].to);
		read_with(row[i].from, &a);
		read_with(row[i].to, &b);
		rd_conf_changes(&a, &b, &d);
		assert_int_equal(d.count, row[i].key != NULL);
		if (!row[i].key)
			continue;
		assert_string_equal(d.change[0].key->path, row[i].key);
		assert_int_equal(d.change[0].now, row[i].now);
		assert_int_equal(d.restart, !row[i].now);
		assert_string_equal(d.change[0].from, row[i].was);
		assert_string_equal(d.change[0].to, row[i].is);
		assert_string_equal(d.change[0].why, "");
	}
}

/* What is taken over, and what stays; a second look finds only the latter. */
static void
take_over(void **state)
{
	static struct rd_conf runs, file, merged;
	static struct rd_changes d;
	static struct rd_faults f;
	(void)state;
	memset(&f, 0, sizeof f);
	read_with("\"eal\": { \"lcores\": \"0-2\" },", &runs);
	read_with("\"eal\": { \"lcores\": \"0-2\" }, \"log_level\": \"debug\", \"workers\": 2, "
		  "\"drain_ms\": 9, \"trunks\": "
		  "{ \"pairs\": \"198.51.100.0/24=stripe\", \"partition_timeout_s\": 3 },",
		  &file);
	assert_true(rd_conf_merge(&runs, &file, &merged, &f));
	rd_conf_take(&runs, &merged);
	assert_int_equal(runs.log_level, RD_LOG_DEBUG);
	assert_int_equal(runs.drain_ms, 9);
	assert_int_equal(runs.trunks.npairs, 1);
	assert_int_equal(runs.trunks.pair[0].policy, RD_POLICY_STRIPE);
	assert_int_equal(runs.workers, 1);
	assert_int_equal(runs.trunks.partition_timeout_s, 10);
	rd_conf_changes(&runs, &file, &d);
	assert_int_equal(d.count, 2);
	assert_int_equal(d.restart, 2);
}

/* A key that can be reloaded, a value that cannot; and two that do not go together. */
static void
stays(void **state)
{
	static struct rd_conf runs, file, merged;
	static struct rd_changes d;
	static struct rd_faults f;
	(void)state;
	read_with("", &runs);
	file = runs;
	strlcpy(file.impi.server, "impi.example:7810", sizeof file.impi.server);
	strlcpy(file.impi.server_host, "impi.example", sizeof file.impi.server_host);
	strlcpy(file.sealing.identity_file, "/i", sizeof file.sealing.identity_file);
	strlcpy(file.sealing.peers_file, "/p", sizeof file.sealing.peers_file);
	rd_conf_changes(&runs, &file, &d);
	assert_int_equal(d.count, 3);
	assert_int_equal(d.restart, 3);
	for (uint32_t i = 0; i < d.count; i++)
		assert_string_not_equal(d.change[i].why, "");
	memset(&f, 0, sizeof f);
	assert_true(rd_conf_merge(&runs, &file, &merged, &f));
	assert_string_equal(merged.impi.server, runs.impi.server);
	assert_string_equal(merged.sealing.peers_file, "");
	/* Sealing goes off with a restart, and its key now: that cannot be. */
	file = runs;
	file.port[RD_LEG_GLOBAL].sealing = RD_SEALING_OFF;
	strlcpy(file.sealing.key_file, "", sizeof file.sealing.key_file);
	assert_false(rd_conf_merge(&runs, &file, &merged, &f));
	assert_string_equal(f.fault[0].pointer, "/ports/global/sealing");
}

/* Names of the list are names of the table. */
static void
reloadable_keys(void **state)
{
	uint32_t n = 0;
	(void)state;
	for (uint32_t i = 0; i < rd_conf_keys_count; i++)
		n += rd_conf_reloads(&rd_conf_keys[i]);
	assert_int_equal(n, 26);
	assert_true(rd_conf_keys_count <= RD_CHANGES_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(difference),
		cmocka_unit_test(take_over),
		cmocka_unit_test(stays),
		cmocka_unit_test(reloadable_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
