/* SPDX-License-Identifier: BSD-2-Clause */
/* Warnings of relayd --check, from a sysfs of our own; and what several files must say alike. */
#include "advice.h"

#include "cmocka_all.h"
#include "driver/idle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bsd/string.h>

static const char good[] =
	"{ \"cluster\": { \"name\": \"a\","
	"  \"relays\": [ { \"private\": \"10.0.0.1\", \"global\": \"198.51.100.1\" },"
	"   { \"private\": \"10.0.0.2\", \"global\": \"198.51.100.2\" } ] },"
	" \"ports\": {"
	"  \"private\": { \"interface\": \"eth0\", \"address\": \"10.0.0.1\", \"prefix_len\": 24 },"
	"  \"global\": { \"device\": \"0000:03:00.0\", \"address\": \"198.51.100.1\","
	"   \"prefix_len\": 24 } },"
	" \"impi\": { \"server\": \"203.0.113.5:7810\" }, \"sealing\": { \"key_file\": \"/k\" } }";

static void
read_good(struct rd_conf *c)
{
	static struct rd_faults f;
	memset(&f, 0, sizeof f);
	if (!rd_conf_parse(good, strlen(good), c, &f))
		fail_msg("%s: %s", f.fault[0].pointer, f.fault[0].text);
}

/* ---- the machine ------------------------------------------------------------------------- */

static char sys[] = "/tmp/test_rd_advice.XXXXXX";

static void
put_sys(const char *file, const char *line)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", sys, file);
	for (char *slash = path + strlen(sys) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		(void)mkdir(path, 0700);
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(line, f);
	fclose(f);
}

/* Two nodes of two cores of two threads: 0 and 4 are one core, 2, 3, 6, 7 on node 1. */
static int
make_sys(void **state)
{
	(void)state;
	if (!mkdtemp(sys))
		return -1;
	for (int i = 0; i < 8; i++) {
		char file[120], line[16];
		snprintf(file, sizeof file,
			 "devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
		snprintf(line, sizeof line, "%d,%d\n", i % 4, i % 4 + 4);
		put_sys(file, line);
		snprintf(file, sizeof file, "devices/system/cpu/cpu%d/node%d/x", i, i % 4 / 2);
		put_sys(file, "");
		snprintf(file, sizeof file, "devices/system/cpu/cpu%d/cpufreq/scaling_governor", i);
		put_sys(file, i == 1 ? "powersave\n" : "performance\n");
	}
	put_sys("bus/pci/devices/0000:03:00.0/numa_node", "1\n");
	put_sys("class/net/eth0/device/numa_node", "-1\n");
	return 0;
}

static int
remove_sys(void **state)
{
	char command[80];
	(void)state;
	snprintf(command, sizeof command, "rm -r '%s'", sys);
	return system(command);
}

static void
machine(void **state)
{
	static const struct {
		const char *lcores;
		uint32_t workers;
		const char *warning[3];
	} row[] = {
		{"0@0,1@2", 1, {NULL}},
		{"0@0,1@2,2@3", 2, {NULL}},
		{"0@2,1@0", 1, {"lcore 1 is on CPU 0 of NUMA node 0, the port of the global leg"}},
		{"0@0,1@2,2@2", 2, {"lcores 1 and 2 are both on CPU 2"}},
		{"0@0,1@2,2@6",
		 2,
		 {"lcores 1 and 2 are on CPUs 2 and 6, which are threads of one core"}},
		{"0@0,1@1", 1, {"governor of CPU 1 is powersave", "NUMA node 0"}},
		{"(0,1)@(0-3)", 1, {NULL}},
		{"0-2",
		 2,
		 {"governor of CPU 1 is powersave", "lcore 1 is on CPU 1 of NUMA node 0"}},
		{"0@0,1@30", 1, {NULL}}, /* what sysfs does not know */
		{"0@2,1@2",
		 1,
		 {"lcore 0, which is control, and the worker of lcore 1 are both on CPU 2"}},
		{"(0,1)@(2,3)", 1, {NULL}},
	};
	static struct rd_conf c;
	static struct rd_faults w;
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		uint32_t n = 0;
		print_message("  %s\n", row[i].lcores);
		read_good(&c);
		strlcpy(c.eal.lcores, row[i].lcores, sizeof c.eal.lcores);
		c.workers = row[i].workers;
		memset(&w, 0, sizeof w);
		rd_check_advice(sys, &c, &w);
		for (; n < 3 && row[i].warning[n]; n++)
			if (n < w.count && !strstr(w.fault[n].text, row[i].warning[n]))
				fail_msg("\"%s\" is not \"%s\"", w.fault[n].text,
					 row[i].warning[n]);
		assert_int_equal(w.count, n);
	}
}

/* A worker that sleeps leaves control its time. */
static void
asleep(void **state)
{
	static struct rd_conf c;
	static struct rd_faults w;
	(void)state;
	read_good(&c);
	strlcpy(c.eal.lcores, "0@2,1@2", sizeof c.eal.lcores);
	c.idle = RD_IDLE_SLEEP;
	memset(&w, 0, sizeof w);
	rd_check_advice(sys, &c, &w);
	assert_int_equal(w.count, 0);
}

/* Two legs at one port are two networks if they are two VLANs. */
static void
one_port(void **state)
{
	static struct rd_conf c;
	static struct rd_faults w;
	(void)state;
	for (uint32_t vlan = 0; vlan < 2; vlan++) {
		read_good(&c);
		strlcpy(c.eal.lcores, "0@0,1@2", sizeof c.eal.lcores);
		strlcpy(c.port[RD_LEG_GLOBAL].device, c.port[RD_LEG_PRIVATE].device,
			sizeof c.port[RD_LEG_GLOBAL].device);
		strlcpy(c.port[RD_LEG_GLOBAL].interface, c.port[RD_LEG_PRIVATE].interface,
			sizeof c.port[RD_LEG_GLOBAL].interface);
		c.port[RD_LEG_GLOBAL].vlan = vlan;
		memset(&w, 0, sizeof w);
		rd_check_advice(sys, &c, &w);
		assert_int_equal(w.count, vlan ? 0 : 1);
		if (!vlan)
			assert_string_equal(w.fault[0].pointer, "/ports/global/vlan");
	}
}

/* ---- several files ----------------------------------------------------------------------- */

enum what { NOTHING, SAME_RELAY, SEALING, JOBS, POLICY, LIST };

static void
several(void **state)
{
	static const struct {
		enum what what;
		bool other_cluster;
		const char *pointer; /* NULL: they go together */
	} row[] = {
		{NOTHING, false, NULL},
		{SAME_RELAY, false, "/ports/private/address"},
		{SEALING, false, "/ports/global/sealing"},
		{SEALING, true, "/ports/global/sealing"},
		{JOBS, false, "/limits/jobs"},
		{JOBS, true, NULL},
		{POLICY, false, "/trunks/policy"},
		{LIST, false, "/cluster/relays"},
		{LIST, true, NULL},
	};
	static struct rd_conf a, b;
	static struct rd_faults f;
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		read_good(&a);
		b = a;
		b.cluster.self = row[i].what == SAME_RELAY ? 0 : 1;
		if (row[i].other_cluster)
			strlcpy(b.cluster.name, "b", sizeof b.cluster.name);
		if (row[i].what == SEALING)
			b.port[RD_LEG_GLOBAL].sealing = RD_SEALING_OFF;
		if (row[i].what == JOBS)
			b.limits.jobs++;
		if (row[i].what == POLICY)
			b.trunks.policy = RD_POLICY_STRIPE;
		if (row[i].what == LIST)
			b.cluster.relay[1].global_address++;
		memset(&f, 0, sizeof f);
		rd_conf_agree(&a, "a0.json", &b, &f);
		print_message("  %zu: %s\n", i, f.count ? f.fault[0].text : "");
		assert_int_equal(f.count, row[i].pointer != NULL);
		if (!row[i].pointer)
			continue;
		assert_string_equal(f.fault[0].pointer, row[i].pointer);
		assert_non_null(strstr(f.fault[0].text, "a0.json"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(machine, make_sys, remove_sys),
		cmocka_unit_test(asleep),
		cmocka_unit_test(one_port),
		cmocka_unit_test(several),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
