/* SPDX-License-Identifier: BSD-2-Clause */
/* Stateful scenarios and labs: what is refused and by which words; how many lanes; the
 * shipped scenarios. */
#include "cmocka_all.h"

#include "pktgen/lab.h"
#include "pktgen/load.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static const char good[] =
	"{'name':'n','proves':'p','world':{'hosts':4,'relays':2,'procs_per_relay':3,'jobs':2},"
	"'traffic':{'pattern':'all','direction':'out','payload':64,'window':8},"
	"'run':{'rounds':2},'events':[{'do':'cut_global','at_ms':5,'for_ms':7}],"
	"'expect':[{'measure':'lost','max':0}]}";
static const char good_lab[] =
	"{'private':{'port':'eth1','prefix_len':16,'relay':'10.0.0.2','relay_global':'198.18.0.2',"
	"'primary':'10.0.0.1','first':'10.0.16.0'},'global':{'port':'eth2','prefix_len':16,"
	"'relay':'198.18.0.2','first':'198.18.16.0'}}";

static struct pg_load load;
static struct pg_lab lab;

/* base with one text replaced, and JSON's quotes. */
static const char *
changed(const char *base, const char *from, const char *to)
{
	static char text[2048];
	const char *at = strstr(base, from);
	assert_non_null(at);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	return text;
}

static int
parse(const char *text, char *err, size_t max)
{
	return pg_load_parse(&load, text, strlen(text), err, max);
}

static void
a_good_file_is_read(void **state)
{
	char err[256] = "";
	(void)state;
	assert_int_equal(parse(changed(good, "", ""), err, sizeof err), 0);
	assert_int_equal(load.hosts, 4);
	assert_int_equal(load.jobs, 2);
	assert_int_equal(load.rounds, 2);
	assert_int_equal(load.size[0].bytes, 64);
	assert_int_equal(load.event[0].what, PG_DO_cut_global);
	assert_int_equal(load.event[0].for_ms, 7);
	assert_true(load.want[0].has_max && !load.want[0].has_min);
	assert_int_equal(pg_load_lanes(&load), 24);
}

static void
a_template_keeps_a_rate(void **state)
{
	static const char text[] =
		"{\"name\":\"n\",\"proves\":\"p\",\"world\":{\"hosts\":1,\"relays\":1},"
		"\"traffic\":{\"pattern\":\"pairs\",\"payload\":64,\"generator\":\"template\","
		"\"rate_pps\":2000},\"expect\":[{\"measure\":\"lost\",\"max\":0}]}";
	char err[256] = "";
	(void)state;
	assert_int_equal(parse(text, err, sizeof err), 0);
	assert_true(load.from_template);
	assert_int_equal(load.rate_pps, 2000);
}

static void
a_search_is_read(void **state)
{
	static const char text[] =
		"{\"name\":\"n\",\"proves\":\"p\",\"world\":{},\"traffic\":{\"pattern\":\"pairs\","
		"\"payload\":64},\"search\":{\"max_pps\":90000,\"loss_ppm\":1000},"
		"\"expect\":[{\"measure\":\"ndr_pps\",\"min\":1}]}";
	char err[256] = "";
	(void)state;
	assert_int_equal(parse(text, err, sizeof err), 0);
	assert_int_equal(load.search.max_pps, 90000);
	assert_int_equal(load.search.loss_ppm, 1000);
	assert_int_equal(load.search.trials, 3);
	assert_int_equal(load.want[0].measure, PG_M_ndr_pps);
}

static void
lanes_are_counted(void **state)
{
	static const struct {
		const char *traffic;
		uint64_t lanes;
	} cases[] = {
		{"'pattern':'pairs','direction':'out'", 6},
		{"'pattern':'pairs','direction':'in'", 6},
		{"'pattern':'pairs','direction':'both'", 12},
		{"'pattern':'incast','direction':'out'", 4},
		{"'pattern':'incast','direction':'in'", 6},
		{"'pattern':'all','direction':'both'", 48},
		{"'lanes':5,'pattern':'all','direction':'both'", 10},
	};
	char err[256];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *t =
			changed(good, "'pattern':'all','direction':'out'", cases[i].traffic);
		assert_int_equal(parse(t, err, sizeof err), 0);
		assert_int_equal(pg_load_lanes(&load), cases[i].lanes);
	}
}

static void
bad_files_are_refused_by_name(void **state)
{
	static const struct {
		const char *from, *to, *word;
	} cases[] = {
		{"'hosts':4", "'hosts':0", "world.hosts"},
		{"'hosts':4", "'hots':4", "world.hots: there is no such key; did you mean hosts?"},
		{"'hosts':4", "'quux':4", "there are hosts, relays"},
		{"'hosts':4", "'hosts':'4'", "world.hosts: a whole number is wanted, not a text"},
		{"'do':'cut_global',", "", "events[0].do: is missing"},
		{"'jobs':2", "'jobs':513", "world.jobs"},
		{"'procs_per_relay':3", "'procs_per_relay':65536,'series':true", "in series"},
		{"'payload':64", "'payload':63", "traffic.payload"},
		{"'payload':64", "'payload':[[64,1],[9001,1]]", "payload[1]"},
		{"'payload':64", "'payload':'imax'", "traffic.payload"},
		{"'payload':64", "'payload':[[64,1],[65,1]],'message':9", "one size"},
		{"'pattern':'all'", "'pattern':'some'", "pattern"},
		{"'out'", "'up'", "direction"},
		{"'window':8", "'window':0", "traffic.window"},
		{"'window':8", "'window':8,'generator':'player'", "generator"},
		{"'window':8", "'window':8,'generator':'template'", "events"},
		{"'rounds':2", "'rounds':0", "run.rounds"},
		{"'cut_global'", "'cut_it'", "cut_it"},
		{"'at_ms':5", "'at_ms':-1", "events[0]"},
		{"'measure':'lost'", "'measure':'last'", "last"},
		{",'max':0", "", "cannot fail"},
		{"'max':0", "'max':0,'min':1", "less than"},
		{"'measure':'lost'", "'counters':['drops']", "drops"},
		{"'name':'n'", "'name':''", "name"},
		{"'expect':", "'search':{},'expect':", "search.max_pps: is missing"},
		{"'expect':", "'search':{'max_pps':9},'expect':", "less than min_pps"},
		{"'expect':", "'search':{'max_pps':9000,'trials':2},'expect':", "an odd number"},
		{"'expect':", "'search':{'max_pps':9000},'expect':", "run.rounds"},
		{"'hosts':4", "'hosts':4,'hosts':5", "hosts"},
	};
	char err[256];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		*err = 0;
		assert_int_equal(parse(changed(good, cases[i].from, cases[i].to), err, sizeof err),
				 -1);
		if (!strstr(err, cases[i].word))
			fail_msg("%s: said \"%s\"", cases[i].to, err);
	}
}

static void
labs_are_checked(void **state)
{
	static const struct {
		const char *from, *to, *word;
	} cases[] = {
		{"'10.0.16.0'", "'10.1.16.0'", "private.first"},
		{"'primary':'10.0.0.1',", "", "primary"},
		{"'global':", "'globe':", "globe"},
		{"'port':'eth2'", "'port':''", "global.port"},
		{"'port':'eth2'", "'port':'eth2','mtu':100", "global.mtu: 1280 to 9600"},
		{"'port':'eth2'", "'prot':'eth2'",
		 "global.prot: there is no such key; did you mean port?"},
		{"'port':'eth2',", "", "global.port: is missing"},
		{"'port':'eth2'", "'port':'eth2','pmd':'x'", "global.pmd"},
		{"'relay':'10.0.0.2'", "'relay':'10.0.0'", "private.relay"},
		{"'port':'eth2'", "'port':'eth2','ipv6':'10.0.0.0/8'",
		 "global.ipv6: \"10.0.0.0/8\" is not a prefix"},
		{"'port':'eth2'", "'port':'eth2','ipv6':'fd00::/64'", "global.ipv6"},
		{"'port':'eth1'", "'port':'eth1','ipv6':'fd00::/96'",
		 "private.ipv6: relayd has no IPv6 on its private leg"},
	};
	char err[256] = "";
	(void)state;
	assert_int_equal(pg_lab_parse(&lab, changed(good_lab, "", ""), err, sizeof err), 0);
	assert_int_equal(lab.side[0].first, 0x0a001000);
	assert_int_equal(lab.side[1].udp_port, 7812);
	assert_false(lab.series);
	assert_false(lab.side[1].six);
	static const uint8_t net[12] = {0xfd, 0, 0x57, 0xa6};
	const char *six =
		changed(good_lab, "'port':'eth2',", "'port':'eth2','ipv6':'fd00:57a6::/96',");
	assert_int_equal(pg_lab_parse(&lab, six, err, sizeof err), 0);
	assert_true(lab.side[1].six && !lab.side[0].six);
	assert_memory_equal(lab.side[1].six_prefix, net, sizeof net);
	if (pg_lab_load(&lab, "tools/pktgen-scenarios/example/lab.json", err, sizeof err))
		fail_msg("the example: %s", err);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		*err = 0;
		assert_int_equal(pg_lab_parse(&lab, changed(good_lab, cases[i].from, cases[i].to),
					      err, sizeof err),
				 -1);
		if (!strstr(err, cases[i].word))
			fail_msg("%s: said \"%s\"", cases[i].to, err);
	}
}

static void
shipped_scenarios_are_good(void **state)
{
	glob_t g;
	char err[256];
	uint32_t n = 0;
	(void)state;
	assert_int_equal(glob("tools/pktgen-scenarios/*.json", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (!pg_load_is(g.gl_pathv[i]))
			continue;
		n++;
		if (pg_load_load(&load, g.gl_pathv[i], err, sizeof err))
			fail_msg("%s: %s", g.gl_pathv[i], err);
	}
	globfree(&g);
	assert_true(n >= 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_file_is_read),
		cmocka_unit_test(a_template_keeps_a_rate),
		cmocka_unit_test(a_search_is_read),
		cmocka_unit_test(lanes_are_counted),
		cmocka_unit_test(bad_files_are_refused_by_name),
		cmocka_unit_test(labs_are_checked),
		cmocka_unit_test(shipped_scenarios_are_good),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
