/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration of mpispd: where processes go, and what is said about files that cannot work.
 */
#include "cmocka_all.h"
#include "spd/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIVERSE "\"universe\":{\"name\":\"u\"}"
#define PROGRAM	 "\"program\":[\"p\"]"

static struct spd_conf *
read_text(const char *text, char why[SPD_WHY])
{
	return spd_conf_parse("t.json", text, strlen(text), why);
}

static void
processes_have_places(void **state)
{
	static const char text[] =
		"{" UNIVERSE ",\"units\":{\"n1\":\"10.0.0.2:99\"},"
		"\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM ",\"compute\":1,\"out\":1},"
		"\"b\":{\"units\":[\"n1\",\"n2\"]," PROGRAM
		",\"compute\":4,\"in\":1,\"out\":2,\"spares\":3,\"in_flight\":\"drop\"}},"
		"\"chains\":[{\"from\":\"a\",\"to\":\"b\",\"ordered\":true,\"window\":4}]}";
	static const uint16_t on[] = {0, 0, 1, 1, 0, 1, 0, 1, 0, 1};
	char why[SPD_WHY];
	struct spd_conf *c = read_text(text, why);

	(void)state;
	assert_string_equal(why, "");
	assert_non_null(c);
	assert_int_equal(c->nunits, 3);
	assert_string_equal(c->unit[1].host, "10.0.0.2");
	assert_int_equal(c->unit[1].port, 99);
	assert_string_equal(c->unit[2].host, "n2");
	assert_int_equal(c->unit[2].port, SPD_PORT);
	assert_int_equal(c->unit[2].index, 1);
	assert_int_equal(c->cluster[1].in_flight, SP_IN_FLIGHT_DROP);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(c->cluster[1].unit_of[i], on[i]);
	assert_int_equal(c->nchains, 1);
	assert_true(c->chain[0].ordered && c->chain[0].window == 4);
	assert_int_equal(c->beat_ms, 20);
	spd_conf_free(c);
}

/* Stages agree together, whatever is between them; others alone. */
static void
stages_are_one_group(void **state)
{
	static const uint16_t on[] = {0, 0, 1, 2, 3, 3, 2};
	static const uint8_t pool[] = {0, 1, 4, 4, 6, 7, 4};
	struct spd_group g;
	char why[SPD_WHY];
	struct spd_conf *c =
		read_text("{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
			  ",\"compute\":1,\"out\":1},\"p\":{\"units\":[\"n1\"]," PROGRAM
			  ",\"compute\":2},\"b\":{\"units\":[\"n2\",\"n3\"]," PROGRAM
			  ",\"compute\":2,\"spares\":1},\"c\":{\"units\":[\"n4\"]," PROGRAM
			  ",\"compute\":1,\"in\":1,\"start\":\"later\"}},"
			  "\"chains\":[{\"from\":\"a\",\"to\":\"b\"}]}",
			  why);

	(void)state;
	assert_string_equal(why, "");
	assert_true(spd_group_make(c, 2, &g));
	assert_true(g.pipeline);
	assert_int_equal(g.clusters, 3);
	assert_int_equal(g.units, 4);
	assert_int_equal(g.voters, 3);
	assert_int_equal(g.roles, 6);
	assert_int_equal(g.slots, 7);
	for (uint32_t s = 0; s < 7; s++) {
		assert_int_equal(g.unit_of[s], on[s]);
		assert_int_equal(g.pool_of[s], pool[s]);
	}
	assert_int_equal(g.off, (uint64_t)3 << 6);
	assert_int_equal(spd_group_unit(&g, 4), 3);
	assert_int_equal(spd_group_unit(&g, 1), SP_NONE);
	assert_int_equal(g.agreed.role[1].cluster, 0);
	assert_int_equal(g.agreed.role[4].cluster, 3);
	assert_string_equal(g.agreed.cluster[3].name, c->cluster[3].name);
	spd_group_free(&g);
	assert_true(spd_group_make(c, 1, &g));
	assert_false(g.pipeline);
	assert_int_equal(g.roles, 2);
	assert_int_equal(g.units, 1);
	spd_group_free(&g);
	spd_conf_free(c);
}

#define FIRST                                                            \
	"\"clusters\":{\"a\":{\"units\":[\"n0\",\"n8\",\"n9\"]," PROGRAM \
	",\"compute\":1,\"out\":1},"
#define LATER "\"b\":{\"units\":[\"n1\",\"n2\"],\"start\":\"later\",\"in\":1,\"compute\":"

/* Where nodes of a cluster that starts later are, and what runs there, is not for others. */
static void
what_is_a_clusters_own(void **state)
{
	static const struct {
		const char *text;
		bool same, own; /* as the first one */
	} rows[] = {
		{"{" UNIVERSE "," FIRST LATER "2}}}", true, true},
		{"{ " UNIVERSE ",\n" FIRST LATER "2}}}", true, true},
		{"{" UNIVERSE ",\"units\":{\"n1\":\"*\",\"n2\":\"*\"}," FIRST LATER "2}}}", true,
		 false},
		{"{" UNIVERSE ",\"units\":{\"n1\":\"10.0.0.9\"}," FIRST LATER "2," PROGRAM "}}}",
		 true, false},
		{"{" UNIVERSE "," FIRST LATER "2,\"wdir\":\"/\",\"io\":[\"q\"],"
		 "\"relay\":\"10.0.0.9:7811,10.0.0.8:7811\"}}}",
		 true, false},
		{"{" UNIVERSE "," FIRST LATER "3}}}", false, true},
		{"{" UNIVERSE ",\"units\":{\"n0\":\"10.0.0.9\"}," FIRST LATER "2}}}", false, true},
		{"{\"universe\":{\"name\":\"v\"}," FIRST LATER "2}}}", false, true},
	};
	uint64_t hash = 0, own = 0;
	char why[SPD_WHY];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct spd_conf *c = read_text(rows[i].text, why);
		assert_string_equal(why, "");
		hash = i ? hash : c->hash;
		own = i ? own : c->cluster[1].own;
		if ((c->hash == hash) != rows[i].same || (c->cluster[1].own == own) != rows[i].own)
			fail_msg("%s", rows[i].text);
		assert_int_equal(c->cluster[0].own, 0);
		spd_conf_free(c);
	}
}

struct bad_text {
	const char *text, *says;
};

static void
refuse_texts(const struct bad_text *bad, size_t n)
{
	char why[SPD_WHY];

	for (size_t i = 0; i < n; i++) {
		assert_null(read_text(bad[i].text, why));
		if (!strstr(why, bad[i].says))
			fail_msg("%s\n  says: %s\n  not: %s", bad[i].text, why, bad[i].says);
	}
}

static void
relays_and_programs_of_pmix(void **state)
{
	static const struct bad_text bad[] = {
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
		 ",\"compute\":1,\"relay\":\"n9\"}}}",
		 "clusters.a.relay: \"n9\" is no IPv4:PORT"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
		 ",\"compute\":1,\"relay\":\"10.0.0.1:0\"}}}",
		 "clusters.a.relay: \"10.0.0.1:0\" is no"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
		 ",\"compute\":1,\"relay\":\"10.0.0.1:1,10.0.0.1:1\"}}}",
		 "clusters.a.relay: \"10.0.0.1:1,10.0.0.1:1\" is no IPv4:PORT of a relay, or of "
		 "two"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
		 ",\"compute\":1,\"relay\":\"10.0.0.1:1,10.0.0.2:1,10.0.0.3:1\"}}}",
		 "clusters.a.relay: \"10.0.0.1:1,10.0.0.2:1,10.0.0.3:1\" is no"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
		 ",\"compute\":1,\"relay\":\"10.0.0.1:1,\"}}}",
		 "clusters.a.relay: \"10.0.0.1:1,\" is no"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
		 ",\"compute\":1,\"in\":1,\"pmix\":true}}}",
		 "clusters.a.pmix: a is a stage"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
		 ",\"compute\":1,\"spares\":2,\"pmix\":true}}}",
		 "clusters.a.pmix: 2 spares, but PMIx gives"},
	};

	(void)state;
	refuse_texts(bad, sizeof bad / sizeof *bad);
}

static void
what_cannot_work_is_told(void **state)
{
	static const struct bad_text bad[] = {
		{"{", "t.json:1: "},
		{"{}", "universe.name: it is missing"},
		{"{" UNIVERSE ",\"univers\":1}", "\"univers\" is no key here; there are universe"},
		{"{" UNIVERSE "}", "clusters: 1 to 31 clusters"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[]," PROGRAM ",\"compute\":1}}}",
		 "clusters.a.units: a list of names"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\",\"n\"]," PROGRAM
		 ",\"compute\":1}}}",
		 "clusters.a.units: unit n is in cluster a already"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"],\"compute\":1}}}",
		 "clusters.a.program: a list"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM "}}}",
		 "clusters.a: it has no process"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":-1}}}",
		 "clusters.a.compute: a whole number from 0 to 4096"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1,\"in_flight\":\"lost\"}}}",
		 "clusters.a.in_flight: \"lost\" is none of epoch, ulfm, drop"},
		{"{\"universe\":{\"name\":\"u\",\"slots_max\":4},\"clusters\":{\"a\":{\"units\":"
		 "[\"n\"]," PROGRAM ",\"compute\":4,\"spares\":1}}}",
		 "clusters.a: 5 processes in the beginning, but universe.slots_max is 4"},
		{"{" UNIVERSE ",\"severity\":{\"process\":\"continue\",\"node\":\"stop\"},"
		 "\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM ",\"compute\":1,\"spares\":1}}}",
		 "clusters.a: 1 spares, but neither"},
		{"{" UNIVERSE ",\"severity\":{\"process\":\"bypass\"}}", "severity.process: "},
		{"{" UNIVERSE
		 ",\"units\":{\"m\":\"h\"},\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1}}}",
		 "units: no cluster has unit m"},
		{"{" UNIVERSE ",\"units\":{\"m\":\"h\",\"n\":\"h\"},\"clusters\":{\"a\":{\"units\":"
		 "[\"n\",\"m\"]," PROGRAM ",\"compute\":1}}}",
		 "units: n and m are both at h:7820"},
		{"{" UNIVERSE
		 ",\"units\":{\"n\":\"h:0\"},\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1}}}",
		 "units.n: \"h:0\" is no HOST or HOST:PORT"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM ",\"compute\":1}},"
		 "\"chains\":[{\"from\":\"a\",\"to\":\"b\"}]}",
		 "chains[0]: "},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1,\"in\":1,\"out\":1},\"b\":{\"units\":[\"m\"]," PROGRAM
		 ",\"compute\":1,\"in\":1,\"out\":1}},\"chains\":[{\"from\":\"a\",\"to\":\"b\"},"
		 "{\"from\":\"b\",\"to\":\"a\"}]}",
		 "chains[1]: "},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1},\"b\":{\"units\":[\"m\"]," PROGRAM
		 ",\"compute\":1}},\"chains\":[{\"from\":\"a\",\"to\":\"b\"}]}",
		 "chains[0]: neither a has an \"out\" nor b an \"in\""},
		{"{" UNIVERSE ",\"spares\":{\"none_left\":\"grow\"},\"clusters\":{\"a\":{\"units\":"
		 "[\"n\"]," PROGRAM ",\"compute\":1}}}",
		 "spares.none_left: \"grow\" is none of wait, stop, shrink"},
		{"{" UNIVERSE ",\"spares\":{\"none_left\":\"shrink\",\"refill\":true},\"clusters\":"
		 "{\"a\":{\"units\":[\"n\"]," PROGRAM ",\"compute\":1}}}",
		 "spares.none_left: \"shrink\" would never come about"},
		{"{" UNIVERSE
		 ",\"spares\":{\"none_left\":\"shrink\"},\"clusters\":{\"a\":{\"units\":"
		 "[\"n\"]," PROGRAM ",\"compute\":1,\"in_flight\":\"drop\"}}}",
		 "clusters.a has in_flight drop"},
		{"{" UNIVERSE
		 ",\"spares\":{\"none_left\":\"shrink\"},\"clusters\":{\"a\":{\"units\":"
		 "[\"n\"]," PROGRAM ",\"compute\":1,\"out\":1}}}",
		 "\"shrink\" is for clusters that are no stages; a is one"},
	};

	(void)state;
	refuse_texts(bad, sizeof bad / sizeof *bad);
}

static void
stages_that_cannot_work(void **state)
{
	static const struct bad_text bad[] = {
		{"{" UNIVERSE
		 ",\"units\":{\"n\":\"*\"},\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1}}}",
		 "units: n is at \"*\", which is for clusters that start later"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1,\"out\":1},\"b\":{\"units\":[\"m\"]," PROGRAM
		 ",\"compute\":1,\"in\":1,\"start\":\"later\"}},\"chains\":[{\"from\":\"a\",\"to\":"
		 "\"b\"}]}",
		 "chains[0]: cluster b starts later"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1,\"start\":\"later\"}}}",
		 "clusters.a: \"start\": \"later\" is for stages"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1,\"out\":1,\"start\":\"later\"}}}",
		 "clusters: all stages start later"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1,\"io_spares\":1}}}",
		 "clusters.a: io_spares for I/O processes, but it has none"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1,\"start\":\"soon\"}}}",
		 "clusters.a.start: \"soon\" is none of now, later"},
		{"{" UNIVERSE
		 ",\"pipeline\":{\"ahead\":99},\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1}}}",
		 "pipeline.ahead: a whole number from 1 to 16"},
		{"{" UNIVERSE
		 ",\"pipeline\":{\"set_aside\":1},\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1}}}",
		 "pipeline.set_aside: 0, never, or 2 to 100"},
		{"{\"universe\":{\"name\":\"u\",\"slots_max\":4},\"clusters\":{\"a\":{\"units\":["
		 "\"n\"]," PROGRAM ",\"compute\":2,\"out\":1},\"b\":{\"units\":[\"m\"]," PROGRAM
		 ",\"compute\":2,\"in\":1}}}",
		 "clusters: 6 processes of all stages in the beginning, but universe.slots_max is "
		 "4"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"out\":1},\"b\":{\"units\":[\"m\"]," PROGRAM
		 ",\"compute\":1}},\"chains\":[{\"from\":\"a\",\"to\":\"b\"}]}",
		 "chains[0]: cluster a has no ranks (\"compute\"): nobody would make frames"},
		{"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM
		 ",\"compute\":1},\"b\":{\"units\":[\"m\"]," PROGRAM
		 ",\"in\":1}},\"chains\":[{\"from\":\"a\",\"to\":\"b\"}]}",
		 "chains[0]: cluster b has no ranks (\"compute\"): nobody would take frames"},
		{"{" UNIVERSE ",\"units\":{\"n1\":\"*\",\"n2\":\"*\"},\"clusters\":{" LATER
		 "2},\"c\":{\"units\":[\"n3\"]," PROGRAM ",\"compute\":1,\"in\":1}}}",
		 "clusters.b.units: the first 3 units vote, and 2 of them are at \"*\", n1, n2 "
		 "among"},
	};

	(void)state;
	refuse_texts(bad, sizeof bad / sizeof *bad);
}

#define EAST "\"east\":{\"relay\":\"10.0.0.254:7812\",\"wan\":\"192.0.2.1:7812\"}"
#define WEST "\"west\":{\"relay\":\"10.0.0.254:7812\",\"wan\":\"192.0.2.2:7812\"}"
#define TWO  "\"sites\":{" EAST "," WEST "}"
/* Two units with the same address. */
#define SITED                                                       \
	"\"units\":{\"a\":{\"at\":\"10.0.0.1\",\"site\":\"east\"}," \
	"\"b\":{\"at\":\"10.0.0.1\",\"site\":\"west\"}}"
#define STAGES                                                                               \
	"\"clusters\":{\"c\":{\"units\":[\"a\",\"b\"]," PROGRAM ",\"compute\":2,\"out\":1}," \
	"\"d\":{\"units\":[\"e\"]," PROGRAM ",\"compute\":1,\"in\":1,\"start\":\"later\"}}"
#define PLACED ",\"e\":{\"at\":\"*\",\"site\":\"west\"}}"

static void
sites_have_relays(void **state)
{
	char why[SPD_WHY], text[2000];
	(void)state;
	snprintf(text, sizeof text, "{" UNIVERSE "," TWO ",%.*s" PLACED "," STAGES "}",
		 (int)strlen(SITED) - 1, SITED);
	struct spd_conf *c = read_text(text, why);
	assert_string_equal(why, "");
	assert_int_equal(c->nsites, 2);
	assert_string_equal(c->unit[1].host, "10.0.0.1");
	assert_false(spd_unit_is_near(c, 0, 1));
	assert_true(spd_unit_is_near(c, 1, 2));
	assert_string_equal(spd_relay_of_unit(c, 1), "10.0.0.254:7812");
	/* Nobody's number, realm and token are another's; another universe has others. */
	struct spd_claim a = spd_claim_of_unit(c, 0, 1000), b = spd_claim_of_unit(c, 1, 1000);
	assert_true(a.number + 1 == b.number && b.number < 1000);
	assert_true(a.realm == b.realm && a.token != b.token);
	spd_conf_free(c);
	char *name = strstr(text, "\"u\"");
	name[1] = 'v';
	c = read_text(text, why);
	struct spd_claim other = spd_claim_of_unit(c, 0, 1000);
	assert_true(other.realm != a.realm && other.token != a.token);
	spd_conf_free(c);
	c = read_text("{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\",\"m\"]," PROGRAM
		      ",\"compute\":1,\"relay\":\"10.0.0.9:1\"}}}",
		      why);
	assert_true(spd_unit_is_near(c, 0, 1));
	assert_string_equal(spd_relay_of_unit(c, 1), "10.0.0.9:1");
	spd_conf_free(c);
}

#define ALONE(n, more)                                                                 \
	"\"clusters\":{\"c\":{\"units\":[\"a\",\"b\"]," PROGRAM ",\"compute\":2" n "}" \
	"}" more "}"

static void
sites_that_cannot_work(void **state)
{
	static const struct bad_text bad[] = {
		{"{" UNIVERSE ",\"sites\":{},", "t.json:1"},
		{"{" UNIVERSE ",\"sites\":{}," ALONE("", ""), "sites: 1 to 64 sites"},
		{"{" UNIVERSE ",\"sites\":{\"east\":{\"wan\":\"192.0.2.1:1\"}}," ALONE("", ""),
		 "sites.east.relay: it is missing"},
		{"{" UNIVERSE ",\"sites\":{\"east\":{\"relay\":\"10.0.0.9:1\"}}," ALONE("", ""),
		 "sites.east.wan: it is missing"},
		{"{" UNIVERSE
		 ",\"sites\":{\"east\":{\"relay\":\"fe\",\"wan\":\"192.0.2.1:1\"}}," ALONE("", ""),
		 "sites.east.relay: \"fe\" is no IPv4:PORT of a relay, as nodes"},
		{"{" UNIVERSE
		 ",\"sites\":{\"east\":{\"relay\":\"10.0.0.9:1\",\"wan\":\"w\"}}," ALONE("", ""),
		 "sites.east.wan: \"w\" is no IPv4:PORT of a relay, as relays of other"},
		{"{" UNIVERSE ",\"sites\":{\"east\":{\"relays\":\"10.0.0.9:1\"}}," ALONE("", ""),
		 "sites.east: \"relays\" is no key here; there are relay wan"},
		{"{" UNIVERSE ",\"sites\":{" EAST ",\"far\":{\"relay\":\"10.0.0.9:1\",\"wan\":"
		 "\"192.0.2.1:7812\"}}," ALONE("", ""),
		 "sites.far: sites east and far have the same relay, \"wan\" 192.0.2.1:7812"},
		{"{" UNIVERSE ",\"sites\":{" EAST ",\"east\":{}}," ALONE("", ""), "t.json:1"},
		{"{" UNIVERSE ",\"sites\":{\"east\":{\"relay\":\"10.0.0.9:1\",\"wan\":"
		 "\"192.0.2.1:1,192.0.2.2:1\"}}," ALONE("", ""),
		 "sites.east: \"relay\" and \"wan\" name another number of relays"},
		{"{" UNIVERSE ",\"sites\":{\"east\":{\"relay\":\"10.0.0.9:1,10.0.0.9:1\",\"wan\":"
		 "\"192.0.2.1:1,192.0.2.2:1\"}}," ALONE("", ""),
		 "sites.east.relay: \"10.0.0.9:1,10.0.0.9:1\" is no IPv4:PORT of a relay"},
		{"{" UNIVERSE ",\"sites\":{" EAST ",\"far\":{\"relay\":\"10.0.0.9:1,10.0.0.8:1\","
		 "\"wan\":\"192.0.2.9:7812,192.0.2.1:7812\"}}," ALONE("", ""),
		 "sites.far: sites east and far have the same relay"},
		{"{" UNIVERSE "," TWO "," ALONE("", ""),
		 "units.a: it names no site, and there are \"sites\""},
		{"{" UNIVERSE "," TWO ",\"units\":{\"a\":\"10.0.0.1\"}," ALONE("", ""),
		 "units.a: it names no site"},
		{"{" UNIVERSE "," TWO ",\"units\":{\"a\":{\"site\":\"north\"}}," ALONE("", ""),
		 "units.a: there is no site north in \"sites\""},
		{"{" UNIVERSE ",\"units\":{\"a\":{\"site\":\"east\"}}," ALONE("", ""),
		 "units.a: there is no site east"},
		{"{" UNIVERSE "," TWO ",\"units\":{\"a\":{\"site\":\"east\"},\"a\":{\"site\":"
		 "\"west\"}}," ALONE("", ""),
		 "t.json:1"},
		{"{" UNIVERSE "," TWO ",\"units\":{\"a\":{\"at\":\"h\",\"site\":\"east\"},"
		 "\"b\":{\"at\":\"h\",\"site\":\"east\"}}," ALONE(",\"in\":1", ""),
		 "units: a and b are both at h:7820 of site east"},
		{"{" UNIVERSE "," TWO ",\"units\":{\"a\":{\"site\":\"east\"},\"b\":{\"site\":"
		 "\"east\"}}," ALONE("", ""),
		 "sites.west: no unit is at that site"},
		{"{" UNIVERSE "," TWO "," SITED "," ALONE("", ""),
		 "clusters.c: a is at site east and b at west, but it is no stage"},
		{"{" UNIVERSE "," TWO "," SITED "," ALONE(",\"in\":1,\"relay\":\"10.0.0.9:1\"", ""),
		 "clusters.c: its relay is that of its units' sites"},
	};

	(void)state;
	refuse_texts(bad, sizeof bad / sizeof *bad);
}

static void
what_may_not_be_meant_is_noted(void **state)
{
	static const char text[] =
		"{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n\",\"m\"]," PROGRAM
		",\"compute\":4,\"spares\":1}}}";
	char why[SPD_WHY];
	struct spd_conf *c = read_text(text, why);

	(void)state;
	assert_non_null(c);
	assert_true(spd_conf_warning(c, 0, why));
	assert_non_null(strstr(why, "psk_file is not set"));
	assert_true(spd_conf_warning(c, 1, why));
	assert_non_null(strstr(why, "cluster a has two units"));
	assert_true(spd_conf_warning(c, 2, why));
	assert_non_null(strstr(why, "1 spares, and a unit with 2 processes"));
	assert_false(spd_conf_warning(c, 3, why));
	spd_conf_free(c);
	c = read_text("{" UNIVERSE ",\"clusters\":{\"a\":{\"units\":[\"n0\"]," PROGRAM
		      ",\"compute\":1,\"in\":1}}}",
		      why);
	assert_non_null(c);
	assert_true(spd_conf_warning(c, 0, why));
	assert_non_null(strstr(why, "cluster a has I/O processes before it, and no chain there"));
	assert_false(spd_conf_warning(c, 1, why));
	spd_conf_free(c);
}

static void
what_runs_out_is_noted(void **state)
{
	static const char text[] =
		"{\"universe\":{\"name\":\"u\",\"state\":\"x\",\"slots_max\":6},"
		"\"clusters\":{\"a\":{\"units\":[\"n\"]," PROGRAM ",\"compute\":2},"
		"\"b\":{\"units\":[\"m\"]," PROGRAM ",\"compute\":1,\"out\":1},"
		"\"c\":{\"units\":[\"o\"]," PROGRAM ",\"compute\":2}},"
		"\"chains\":[{\"from\":\"b\",\"to\":\"c\",\"on_lost\":\"bypass\"}]}";
	static const char *const says[] = {
		"psk_file is not set", "universe.state \"x\" is a folder below",
		"slots_max is 6, and 4 processes begin: after 2 deaths",
		"chain b -> c has on_lost bypass, but no chain leads on from c"};
	char why[SPD_WHY];
	struct spd_conf *c = read_text(text, why);

	(void)state;
	assert_string_equal(why, "");
	for (uint32_t n = 0; n < 4; n++) {
		assert_true(spd_conf_warning(c, n, why));
		if (!strstr(why, says[n]))
			fail_msg("%s\n  not: %s", why, says[n]);
	}
	spd_conf_free(c);
}

#define PLACE	 "\"b\":{\"units\":[\"n1\"],\"start\":\"later\",\"in\":1,\"compute\":1}"
#define NO_STAGE "\"x\":{\"units\":[\"n9\"]," PROGRAM ",\"compute\":1}"
#define LAST	 "\"c\":{\"units\":[\"n3\",\"n4\",\"n5\"]," PROGRAM ",\"compute\":1,\"in\":1}"

/* A cluster that starts later: one of three voters is its, or none. */
static void
voters_that_come_later_are_noted(void **state)
{
	static const char *const texts[] = {
		"{" UNIVERSE ",\"units\":{\"n1\":\"*\"},\"clusters\":{" PLACE "," NO_STAGE "," LAST
		"}}",
		"{" UNIVERSE ",\"units\":{\"n1\":\"*\"},\"clusters\":{" NO_STAGE "," LAST "," PLACE
		"}}",
	};
	char why[SPD_WHY];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct spd_conf *c = read_text(texts[i], why);
		bool noted = false;
		assert_string_equal(why, "");
		for (uint32_t n = 0; spd_conf_warning(c, n, why); n++)
			noted |= strstr(why, "cluster b starts later, and 1 of the 3 voters are "
					     "its (n1)") != NULL;
		assert_int_equal(noted, i == 0);
		spd_conf_free(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_have_places),
		cmocka_unit_test(stages_are_one_group),
		cmocka_unit_test(what_is_a_clusters_own),
		cmocka_unit_test(relays_and_programs_of_pmix),
		cmocka_unit_test(what_cannot_work_is_told),
		cmocka_unit_test(stages_that_cannot_work),
		cmocka_unit_test(sites_have_relays),
		cmocka_unit_test(sites_that_cannot_work),
		cmocka_unit_test(what_may_not_be_meant_is_noted),
		cmocka_unit_test(what_runs_out_is_noted),
		cmocka_unit_test(voters_that_come_later_are_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
