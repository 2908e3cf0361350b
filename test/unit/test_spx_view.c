/* SPDX-License-Identifier: BSD-2-Clause */
/* Views, chains, policies, configurations of lib/spx: tables of questions and answers. */
#include "cmocka_all.h"
#include "spx/policy.h"
#include "spx/spx.h"
#include "spx/view.h"

#include <stdio.h>
#include <string.h>

enum { PROCS = 8 };

/* input (2 ranks) -> filter (1) -> output (1), and filter2 (1) beside the filter. */
static struct spx_proc procs[PROCS];
static struct spx_cluster clusters[4];
static struct spx_chain chains[SPX_CHAINS_MAX];
static struct spx_view view;
static char why[SPX_TEXT_MAX];

static struct spx_proc
computing(uint32_t id, uint16_t cluster, uint16_t rank)
{
	return (struct spx_proc){
		.id = id, .cluster = cluster, .rank = rank, .kind = SPX_COMPUTE, .ready = true};
}

static int
set_up_view(void **state)
{
	static const char *const names[] = {"input", "filter", "filter2", "output"};

	(void)state;
	memset(procs, 0, sizeof procs);
	memset(clusters, 0, sizeof clusters);
	memset(chains, 0, sizeof chains);
	for (uint32_t k = 0; k < 4; k++) {
		snprintf(clusters[k].name, SPX_NAME_MAX, "%s", names[k]);
		clusters[k].compute = k == 0 ? 2 : 1;
	}
	procs[0] = computing(10, 0, 0);
	procs[1] = computing(11, 0, 1);
	procs[2] = computing(12, 1, 0);
	procs[3] = computing(13, 2, 0);
	procs[4] = computing(14, 3, 0);
	procs[5] = (struct spx_proc){.id = 20, .kind = SPX_IO, .ready = true, .chains = 5};
	procs[6] = (struct spx_proc){.id = 21, .kind = SPX_IO, .ready = true, .chains = 10};
	view = (struct spx_view){.number = 1,
				 .nproc = 7,
				 .ncluster = 4,
				 .nchain = 4,
				 .proc = procs,
				 .cluster = clusters,
				 .chain = chains};
	static const uint16_t ends[4][2] = {{0, 1}, {1, 3}, {0, 2}, {2, 3}};
	for (uint32_t c = 0; c < 4; c++)
		chains[c] = (struct spx_chain){.from = ends[c][0],
					       .to = ends[c][1],
					       .state = SPX_CHAIN_ACTIVE,
					       .window = 8};
	return 0;
}

static void
expect_text(const char *row, bool ok, const char *text)
{
	if (ok != !text || (text && !strstr(why, text)))
		fail_msg("%s: %s, \"%s\", wanted \"%s\"", row, ok ? "passed" : "refused",
			 ok ? "" : why, text ? text : "passed");
}

/* --- chains from texts ---------------------------------------------------------- */

static void
chain_texts(void **state)
{
	static const struct row {
		const char *name, *ops, *text; /* NULL: it is done */
		uint32_t nchain;
	} rows[] = {
		{"nothing", " \n; ;", NULL, 4},
		{"drain, then remove", "drain input filter; remove input filter", NULL, 4},
		{"not drained", "remove input filter", "was not drained", 4},
		{"again", "add input filter", "is there already", 4},
		{"drained and again", "drain input filter\nadd input filter ordered", NULL, 4},
		{"new", "add input output window=256 policy=sticky on_lost=stop", NULL, 5},
		{"circle", "add output input", "back to it", 4},
		{"to itself", "add filter filter", "back to it", 4},
		{"unknown cluster", "add input filter3", "no cluster \"filter3\"", 4},
		{"long name", "add input 0123456789012345678901234567890123456789", "no cluster",
		 4},
		{"no such chain", "drain filter filter2", "no chain filter -> filter2", 4},
		{"verb", "join input filter", "wanted add FROM TO", 4},
		{"too few", "drain input", "wanted add FROM TO", 4},
		{"too many", "drain input filter now", "wanted add FROM TO", 4},
		{"option", "add input output fast", "\"fast\" is none of", 4},
		{"window 0", "add input output window=0", "window=1..256", 4},
		{"window 257", "add input output window=257", "window=1..256", 4},
		{"window", "add input output window=4294967297", "window=1..256", 4},
		{"policy", "add input output policy=best", "policy=rr|least", 4},
		{"move", "move filter output filter2", NULL, 5},
		{"move onto one", "move input filter filter2", "is there already", 4},
		{"all or nothing", "drain input filter; drain input filter3", "no cluster", 4},
		{"words", "add a b c d e f g h i", "more than 8 words", 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		uint32_t n = 4;
		set_up_view(NULL);
		bool ok = spx_chain_ops(&view, chains, &n, r->ops, strlen(r->ops), why);
		expect_text(r->name, ok, r->text);
		if (n != r->nchain)
			fail_msg("%s: %u chains, wanted %u", r->name, n, r->nchain);
		if (!ok && chains[0].state != SPX_CHAIN_ACTIVE)
			fail_msg("%s: refused, and done", r->name);
	}
	set_up_view(NULL);
	uint32_t n = 4;
	const char *move = "move filter output filter2";
	chains[1].ordered = true;
	assert_true(spx_chain_ops(&view, chains, &n, move, strlen(move), why));
	assert_int_equal(chains[1].state, SPX_CHAIN_DRAINING);
	assert_true(chains[4].ordered && chains[4].from == 1 && chains[4].to == 2);
}

/* --- views ------------------------------------------------------------------------ */

static void
spoil_ids(void)
{
	procs[3].id = procs[2].id;
}

static void
spoil_rank(void)
{
	procs[1].rank = 2;
}

static void
spoil_role(void)
{
	procs[1].rank = 0;
}

static void
take_role_of_dead(void)
{
	procs[0].state = SPX_DEAD;
	procs[1].rank = 0;
}

static void
spoil_cluster(void)
{
	procs[4].cluster = 4;
}

static void
spoil_chain_bit(void)
{
	procs[5].chains = 16;
}

static void
serve_series(void)
{
	procs[5].chains = 3;
}

static void
serve_around(void)
{
	chains[1].to = 2; /* input -> filter -> filter2 -> output */
	chains[2].state = SPX_CHAIN_OFF;
	procs[5].chains = 9;
}

static void
spoil_name(void)
{
	memcpy(clusters[2].name, "filter", 7);
}

static void
spoil_chain(void)
{
	chains[1].to = 9;
}

static void
spoil_window(void)
{
	chains[1].window = 0;
}

static void
spoil_twice(void)
{
	chains[2].to = 1;
}

static void
spoil_circle(void)
{
	chains[1].to = 0;
}

static void
open_circle(void)
{
	chains[1].to = 0;
	chains[0].state = SPX_CHAIN_OFF;
	procs[6].chains = 8;
}

static void
spoil_count(void)
{
	view.nproc = SPX_PROCS_MAX + 1;
}

static void
views_that_cannot_be(void **state)
{
	static const struct row {
		const char *name;
		void (*spoil)(void);
		const char *text;
	} rows[] = {
		{"ids", spoil_ids, "ids of processes have to rise"},
		{"rank beyond", spoil_rank, "rank 2 of cluster input, which has 2"},
		{"role twice", spoil_role, "processes 10 and 11 both have rank 0"},
		{"role of a dead one", take_role_of_dead, NULL},
		{"cluster", spoil_cluster, "process 14 is of cluster 4"},
		{"chain bit", spoil_chain_bit, "I/O process 20 serves a chain"},
		{"chains in series", serve_series, "one behind the other: take two"},
		{"far behind", serve_around, "input -> filter and filter2 -> output, one behind"},
		{"name twice", spoil_name, "two clusters are named filter"},
		{"chain", spoil_chain, "joins cluster 1 to 9"},
		{"window", spoil_window, "window 0 is not 1 to 256"},
		{"chain twice", spoil_twice, "is there twice"},
		{"circle", spoil_circle, "back to it"},
		{"circle that is off", open_circle, NULL},
		{"count", spoil_count, "at most 4096, 64, 64"},
	};

	(void)state;
	set_up_view(NULL);
	assert_true(spx_view_check(&view, why));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		set_up_view(NULL);
		rows[i].spoil();
		expect_text(rows[i].name, spx_view_check(&view, why), rows[i].text);
	}
}

static void
who_is_missing(void **state)
{
	(void)state;
	assert_true(spx_view_complete(&view, 0, why));
	procs[4].ready = false;
	expect_text("not ready", spx_view_complete(&view, 0, why),
		    "cluster output: rank 0 of 1 has not called");
	procs[4].state = SPX_DEAD;
	expect_text("dead", spx_view_complete(&view, 2, why), "rank 0 of 1 is not there");
	clusters[3].started = true;
	expect_text("it ran before", spx_view_complete(&view, 0, why), NULL);
	procs[5].state = SPX_PROC_DRAINING;
	expect_text("no I/O process", spx_view_complete(&view, 3, why),
		    "chain input -> filter: no I/O process is ready");
	chains[0].state = chains[2].state = SPX_CHAIN_OFF;
	expect_text("another pipeline", spx_view_complete(&view, 3, why), NULL);
}

static void
where_frames_go(void **state)
{
	(void)state;
	assert_int_equal(spx_view_giving(&view, ~UINT64_C(0), 0), 5);
	chains[0].state = SPX_CHAIN_DRAINING;
	assert_int_equal(spx_view_giving(&view, ~UINT64_C(0), 0), 4);
	assert_int_equal(spx_view_giving(&view, 1, 0), 1); /* what it has taken */
	chains[0].state = SPX_CHAIN_ACTIVE;
	clusters[1].lost = true;
	assert_int_equal(spx_view_giving(&view, ~UINT64_C(0), 0), 4);
	assert_false(spx_view_reaches(&view, 0, 3));
	chains[0].on_lost = SPX_BYPASS;
	assert_true(spx_view_reaches(&view, 0, 3));
	assert_int_equal(spx_view_into(&view, 3), 1 | 2 | 8);
	assert_int_equal(spx_view_out_of(&view, 0), 5);
	assert_null(spx_view_lead(&view, 2));
	chains[1].ordered = true;
	assert_int_equal(spx_view_lead(&view, 2)->id, 14);
	assert_null(spx_view_role(&view, SPX_ROLE(3, 1)));
}

/* --- policies ------------------------------------------------------------------------ */

static uint32_t
pick_out_of_range(void *user, const struct spx_candidate *c, uint32_t n, bool out)
{
	(void)out;
	(void)user, (void)c;
	return n + 3;
}

static uint32_t
pick_last_counted(void *user, const struct spx_candidate *c, uint32_t n, bool out)
{
	(void)out;
	(void)c;
	++*(uint32_t *)user;
	return n - 1;
}

static void
policies(void **state)
{
	static const struct row {
		const char *name;
		enum spx_policy policy;
		struct spx_candidate c[3];
		uint32_t last, want[6]; /* ids, six picks */
	} rows[] = {
		{"rr", SPX_RR, {{.id = 1}, {.id = 2}, {.id = 3}}, 1, {2, 3, 1, 2, 3, 1}},
		{"rr, the last one is gone",
		 SPX_RR,
		 {{.id = 1}, {.id = 4}, {.id = 7}},
		 5,
		 {7, 1, 4, 7, 1, 4}},
		{"least: most room",
		 SPX_LEAST,
		 {{1, 2, 0, 0, 0}, {2, 5, 9, 0, 0}, {3, 4, 0, 0, 0}},
		 1,
		 {2, 2, 2, 2, 2, 2}},
		{"least: fewest of mine",
		 SPX_LEAST,
		 {{1, 5, 3, 0, 0}, {2, 5, 9, 0, 0}, {3, 5, 1, 0, 0}},
		 1,
		 {3, 3, 3, 3, 3, 3}},
		{"least: all equal",
		 SPX_LEAST,
		 {{1, 1, 1, 0, 0}, {2, 1, 1, 0, 0}, {3, 1, 1, 0, 0}},
		 1,
		 {2, 3, 1, 2, 3, 1}},
		{"weight 1 2 3",
		 SPX_WEIGHT,
		 {{.id = 1, .weight = 1}, {.id = 2, .weight = 2}, {.id = 3, .weight = 3}},
		 1,
		 {3, 2, 1, 3, 2, 3}},
		{"sticky", SPX_STICKY, {{.id = 1}, {.id = 2}, {.id = 3}}, 3, {3, 3, 3, 3, 3, 3}},
		{"sticky, gone",
		 SPX_STICKY,
		 {{.id = 1}, {.id = 4}, {.id = 7}},
		 5,
		 {7, 7, 7, 7, 7, 7}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct spx_candidate c[3];
		struct spx_picker p = {.last = rows[i].last};
		memcpy(c, rows[i].c, sizeof c);
		for (uint32_t k = 0; k < 6; k++) {
			uint32_t id = c[spx_pick(rows[i].policy, &p, c, 3)].id;
			if (id != rows[i].want[k])
				fail_msg("%s: pick %u is %u, wanted %u", rows[i].name, k, id,
					 rows[i].want[k]);
		}
	}
	uint32_t calls = 0;
	struct spx_candidate c[2] = {{.id = 1}, {.id = 2}};
	struct spx_picker p = {.last = 1, .fn = pick_last_counted, .user = &calls};
	assert_int_equal(spx_pick(SPX_USER, &p, c, 2), 1);
	assert_int_equal(spx_pick(SPX_USER, &p, c, 2), 1);
	assert_int_equal(calls, 2);
	p.fn = pick_out_of_range;
	assert_int_equal(spx_pick(SPX_USER, &p, c, 2), 0);
	p.fn = NULL;
	assert_int_equal(spx_pick(SPX_USER, &p, c, 2), 1);
}

static void
refused_configurations(void **state)
{
	static const struct row {
		const char *text;
		struct spx_conf c;
	} rows[] = {
		{"procs_max 0", {.procs_max = 0}},
		{"procs_max 5000", {.procs_max = 5000}},
		{"origins_max", {.procs_max = 1}},
		{"window_max 12", {.procs_max = 1, .origins_max = 1, .window_max = 12}},
		{"window_max 512", {.procs_max = 1, .origins_max = 1, .window_max = 512}},
		{"room 0", {.procs_max = 1, .origins_max = 1, .window_max = 8}},
		{"ahead 17",
		 {.procs_max = 1, .origins_max = 1, .window_max = 8, .room = 1, .ahead = 17}},
		{"retry_ns",
		 {.procs_max = 1, .origins_max = 1, .window_max = 8, .room = 1, .ahead = 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (spx_conf_check(&rows[i].c, why) || !strstr(why, rows[i].text))
			fail_msg("%s: \"%s\"", rows[i].text, why);
	struct spx_conf good = {.procs_max = 1,
				.origins_max = 1,
				.window_max = 8,
				.room = 1,
				.ahead = 16,
				.retry_ns = 1,
				.retry_max_ns = 1,
				.poll_ns = 1};
	assert_true(spx_conf_check(&good, why));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(chain_texts, set_up_view),
		cmocka_unit_test_setup(views_that_cannot_be, set_up_view),
		cmocka_unit_test_setup(who_is_missing, set_up_view),
		cmocka_unit_test_setup(where_frames_go, set_up_view),
		cmocka_unit_test(policies),
		cmocka_unit_test(refused_configurations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
