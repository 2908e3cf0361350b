/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario files: what is refused and by which words; the verdict over stats files; the
 * shipped scenarios. */
#include "cmocka_all.h"

#include "pcap.h"
#include "scripts.h"
#include "pktgen/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char good[] =
	"{'name':'n','proves':'p','target':{'mac':'02:00:00:00:00:01','ip':'10.0.0.1',"
	"'udp_port':7812},'source':{'mac':'02:00:00:00:00:0a','ip':'10.0.0.10'},'seed':5,"
	"'count':100,'rate_pps':10,'frames':[{'kind':'vlan','weight':3}],"
	"'expect':[{'kinds':['vlan'],'counters':['rx/*/vlan','suci/drop_short'],'min':1,"
	"'max':2,'slack':7}]}";

/* good with one text replaced, and JSON's quotes. */
static char *
changed(const char *from, const char *to)
{
	static char text[2048];
	const char *at = strstr(good, from);
	assert_non_null(at);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	return text;
}

static struct pg_scenario s;

static void
a_good_file_is_read(void **state)
{
	char err[256] = "";
	(void)state;
	assert_int_equal(pg_scenario_parse(&s, changed("", ""), err, sizeof err), 0);
	assert_string_equal(s.name, "n");
	assert_int_equal(s.conf.dst_ip, 0x0a000001);
	assert_int_equal(s.conf.src_mac[5], 10);
	assert_int_equal(s.conf.dst_port, 7812);
	assert_int_equal(s.conf.weight[PG_vlan], 3);
	assert_int_equal(s.count, 100);
	assert_int_equal(s.nexpect, 1);
	assert_true(s.expect[0].kind[PG_vlan]);
	assert_int_equal(s.expect[0].ncounters, 2);
	assert_int_equal(s.expect[0].slack, 7);
}

static void
bad_files_are_refused_by_name(void **state)
{
	static const struct {
		const char *from, *to, *word;
	} cases[] = {
		{"'seed':5", "'seed':5,'sede':1", "sede"},
		{"'weight':3", "'weight':3,'wait':1", "frames[0]"},
		{"'udp_port':7812", "'udp_port':7812,'x':1", "target"},
		{"'slack':7", "'slak':7", "expect[0]"},
		{"'seed':5,", "", "seed"},
		{"'seed':5", "'seed':-5", "seed"},
		{"'seed':5", "'seed':5,'seed':6", "duplicate"},
		{"'count':100", "'count':0", "count"},
		{"'rate_pps':10", "'rate_pps':0", "rate_pps"},
		{"'vlan','weight'", "'vlam','weight'", "vlam"},
		{"'weight':3", "'weight':0", "weight"},
		{"{'kind':'vlan','weight':3}",
		 "{'kind':'vlan','weight':3},{'kind':'vlan','weight':3}", "twice"},
		{"['vlan']", "['garbage']", "garbage"},
		{"'suci/drop_short'", "'drop_short'", "drop_short"},
		{"'max':2", "'max':0.5", "min <= max"},
		{"'min':1,'max':2,", "", "cannot fail"},
		{"02:00:00:00:00:01", "02:00:00:00:00:1", "target.mac"},
		{"10.0.0.10", "10.0.0", "source.ip"},
		{"7812", "70000", "udp_port"},
		{"'name':'n'", "'name':''", "name"},
		{"}]}", "}]", "line 1"},
		{"'seed':5", "'sead':5", "did you mean seed?"},
		{"'seed':5", "'seed':'x'", "seed: a whole number is wanted, not a text"},
		{"'seed':5,", "", "seed: is missing"},
		{"'target':", "'world':{},'target':", "--lab LAB.json"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char err[256] = "";
		const char *text = changed(cases[i].from, cases[i].to);
		assert_int_equal(pg_scenario_parse(&s, text, err, sizeof err), -1);
		if (!strstr(err, cases[i].word))
			fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err, cases[i].word);
	}
}

static json_t *
stats(int vlan, int drop_short)
{
	json_t *j = json_pack("{s:{s:i},s:{s:i},s:{s:{s:i,s:{s:i},s:{s:i}}}}", "suci", "drop_short",
			      drop_short, "forwarding", "jobs", 4, "legs", "private", "rx_arp", 5,
			      "rx_drops", "vlan", vlan, "neighbours", "learned", 6);
	assert_non_null(j);
	return j;
}

static void
counters_are_found_by_name(void **state)
{
	json_t *j = stats(3, 2);
	uint64_t v = 0;
	(void)state;
	assert_true(pg_counter(j, "rx/private/vlan", "global", &v) && v == 3);
	assert_true(pg_counter(j, "rx/*/vlan", "private", &v) && v == 3);
	assert_true(pg_counter(j, "leg/*/rx_arp", "private", &v) && v == 5);
	assert_true(pg_counter(j, "neighbours/*/learned", "private", &v) && v == 6);
	assert_true(pg_counter(j, "suci/drop_short", "private", &v) && v == 2);
	assert_true(pg_counter(j, "relay/jobs", "private", &v) && v == 4);
	assert_false(pg_counter(j, "rx/*/vlan", "global", &v));
	assert_false(pg_counter(j, "suci/other", "private", &v));
	assert_false(pg_counter(j, "tx/private/vlan", "private", &v));
	assert_false(pg_counter(j, "leg/*/rx_drops", "private", &v));
	json_decref(j);
}

static int
judge(int vlan, int drop_short, uint64_t frames, char *err, size_t err_max)
{
	uint64_t made[PG_KINDS_COUNT] = {[PG_vlan] = frames};
	json_t *before = stats(10, 10), *after = stats(vlan, drop_short);
	FILE *f = fopen("/dev/null", "we");
	assert_non_null(f);
	int r = pg_judge(&s, made, before, after, "private", f, err, err_max);
	fclose(f);
	json_decref(before);
	json_decref(after);
	return r;
}

static void
verdict_keeps_to_its_limits(void **state)
{
	char err[256] = "";
	(void)state;
	/* Both counters together: 1 to 2 a frame, and 7 more. */
	assert_int_equal(pg_scenario_parse(&s, changed("", ""), err, sizeof err), 0);
	assert_int_equal(judge(109, 10, 100, err, sizeof err), 1);
	assert_int_equal(judge(110, 10, 100, err, sizeof err), 0);
	assert_int_equal(judge(60, 60, 100, err, sizeof err), 0);
	assert_int_equal(judge(10, 217, 100, err, sizeof err), 0);
	assert_int_equal(judge(10, 218, 100, err, sizeof err), 1);
	assert_int_equal(judge(9, 200, 100, err, sizeof err), -1); /* started anew */
	assert_non_null(strstr(err, "rx/*/vlan"));
	assert_int_equal(pg_scenario_parse(&s, changed("drop_short", "drop_nil"), err, sizeof err),
			 0);
	assert_int_equal(judge(110, 10, 100, err, sizeof err), -1);
	assert_non_null(strstr(err, "drop_nil"));
}

static void
shipped_scenarios_are_good(void **state)
{
	static const char *const names[] = {"malformed", "handshake-flood", "strangers",
					    "link-noise"};
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char path[128], err[256] = "";
		struct pg_gen g;
		snprintf(path, sizeof path, "tools/pktgen-scenarios/%s.json", names[i]);
		if (pg_scenario_load(&s, path, err, sizeof err))
			fail_msg("%s: %s", path, err);
		assert_string_equal(s.name, names[i]);
		assert_true(pg_init(&g, &s.conf));
	}
	char err[256];
	assert_int_equal(pg_scenario_load(&s, "/nonexistent", err, sizeof err), -1);
	assert_string_equal(err, "cannot be read: No such file or directory");
	assert_int_equal(pg_scenario_load(&s, "/dev/null", err, sizeof err), -1);
	assert_non_null(strstr(err, "empty"));
}

static void
pcap_holds_the_frames(void **state)
{
	char path[] = "/tmp/pktgen-test-XXXXXX", err[256];
	static uint8_t file[65536];
	struct pg_gen g, again;
	(void)state;
	assert_int_equal(pg_scenario_parse(&s, changed("", ""), err, sizeof err), 0);
	assert_true(pg_init(&g, &s.conf) && pg_init(&again, &s.conf));
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(pg_pcap_write(path, &g, s.count, s.rate_pps), 0);
	ssize_t size = read(fd, file, sizeof file);
	close(fd);
	unlink(path);
	static const uint8_t head[24] = {0xd4, 0xc3, 0xb2,	  0xa1,	       2,
					 0,    4,    [16] = 0xff, [17] = 0xff, [20] = 1};
	assert_true(size > 24);
	assert_memory_equal(file, head, 24);
	size_t at = 24;
	for (uint32_t i = 0; i < s.count; i++) {
		uint8_t frame[PG_FRAME_MAX];
		enum pg_kind kind;
		uint32_t rec[4], len = (uint32_t)pg_next(&again, frame, &kind);
		memcpy(rec, file + at, 16);
		assert_int_equal(rec[0], i / 10);
		assert_int_equal(rec[1], i % 10 * 100000);
		assert_int_equal(rec[2], len);
		assert_int_equal(rec[3], len);
		assert_memory_equal(file + at + 16, frame, len);
		at += 16 + len;
	}
	assert_int_equal(at, size);
	assert_true(pg_pcap_write("/nonexistent/x", &g, 1, 1) < 0);
}

/* What the scripts say is what the scenario and its frames are. */
static void
scripts_play_the_pcap(void **state)
{
	char base[] = "/tmp/pktgen-test-XXXXXX", path[64], err[256], want[64];
	static const char *const suffix[] = {"pcap", "pkt", "lua"};
	static char text[3][65536];
	struct pg_gen g, again;
	double bits = 0;
	(void)state;
	assert_int_equal(pg_scenario_parse(&s, changed("", ""), err, sizeof err), 0);
	assert_true(pg_init(&g, &s.conf) && pg_init(&again, &s.conf));
	for (uint32_t i = 0; i < s.count; i++) {
		uint8_t frame[PG_FRAME_MAX];
		enum pg_kind kind;
		size_t len = pg_next(&again, frame, &kind);
		bits += 8.0 * (double)((len < 60 ? 60 : len) + 24);
	}
	struct pg_scripts c = {"a name", "what it proves", s.count, s.rate_pps, 100};
	assert_non_null(mkdtemp(base));
	assert_true(snprintf(path, sizeof path, "%s/x", base) > 0);
	assert_int_equal(pg_scripts_write(path, &g, &c), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(snprintf(path, sizeof path, "%s/x.%s", base, suffix[i]) > 0);
		FILE *f = fopen(path, "re");
		assert_non_null(f);
		assert_true(fread(text[i], 1, sizeof text[i] - 1, f) > 24);
		fclose(f);
		unlink(path);
	}
	assert_int_equal(rmdir(base), 0);
	double percent = bits / (double)s.count * (double)s.rate_pps / 100e6 * 100;
	snprintf(want, sizeof want, "\nset 0 rate %.6f\n", percent);
	assert_non_null(strstr(text[1], want));
	snprintf(want, sizeof want, "\nset 0 count %u\nenable 0 pcap\nstart 0\n",
		 (unsigned)s.count);
	assert_non_null(strstr(text[1], want));
	snprintf(want, sizeof want, "(port, \"rate\", %.6f)\n", percent);
	assert_non_null(strstr(text[2], want));
	for (int i = 1; i < 3; i++) {
		assert_non_null(strstr(text[i], "a name: what it proves\n"));
		assert_non_null(strstr(text[i], "-s 0:x.pcap"));
	}
	assert_int_equal(pg_scripts_write("/nonexistent/x", &g, &c), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_file_is_read),
		cmocka_unit_test(bad_files_are_refused_by_name),
		cmocka_unit_test(counters_are_found_by_name),
		cmocka_unit_test(verdict_keeps_to_its_limits),
		cmocka_unit_test(shipped_scenarios_are_good),
		cmocka_unit_test(pcap_holds_the_frames),
		cmocka_unit_test(scripts_play_the_pcap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
