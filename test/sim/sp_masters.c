/* SPDX-License-Identifier: BSD-2-Clause */
/* 1000 processes on 64 units whose masters fail: one after the other, cut off with a minority, with
 * disks that cannot be written.  Processes die meanwhile, so changes are under way at each of them.
 * After each of these all heals, and every unit has the view in which every role is played. */
#include "sp.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

#define ROLES	    1000u
#define SPARES	    24u
#define UNITS	    64u
#define VOTERS	    5u
#define IN_A_ROW    4u
#define DETECT_NS   (100 * BASE_MS_NS)
#define CHECK_NS    (4 * BASE_MS_NS) /* each looks at all roles */
#define CUT_NS	    (300 * BASE_MS_NS)
#define COMPLETE_NS (3 * BASE_S_NS)

struct masters {
	struct spw *w;
	struct base_prng prng;
	uint32_t not ; /* the unit that led before */
	uint64_t reign_ns, whole_ns;
	uint32_t died; /* units that are dead */
};

static bool
is_master_there(void *who)
{
	const struct masters *t = who;

	return spw_find_master(t->w, t->not ) != SP_NONE;
}

/* Who reigns now, or will soon; not `not`. */
static struct spw_daemon *
wait_for_master(struct masters *t, uint32_t not, const char *after)
{
	struct sim *s = t->w->s;
	uint64_t from = s->now_ns;

	t->not = not ;
	sim_run(s, from + COMPLETE_NS, is_master_there, t);
	uint32_t u = spw_find_master(t->w, not );
	INVARIANT(s, COMPLETE, u != SP_NONE, "nobody is master %s", after);
	t->reign_ns = base_max_ns(t->reign_ns, s->now_ns - from);
	return u == SP_NONE ? NULL : t->w->daemon[u];
}

static bool
is_all_well(void *who)
{
	const struct masters *t = who;
	const char *what;

	return spw_unfinished(t->w, &what) == SP_NONE;
}

static void
wait_until_whole(struct masters *t, const char *after)
{
	struct sim *s = t->w->s;
	uint64_t from = s->now_ns;
	const char *what = "";

	sim_run(s, from + COMPLETE_NS, is_all_well, t);
	uint32_t u = s->failed ? SP_NONE : spw_unfinished(t->w, &what);
	INVARIANT(s, COMPLETE, u == SP_NONE, "unit %u %s, %llu s after %s", u, what,
		  (unsigned long long)(COMPLETE_NS / BASE_S_NS), after);
	t->whole_ns = base_max_ns(t->whole_ns, s->now_ns - from);
}

static void
kill_some_process(struct masters *t)
{
	struct spw_daemon *d =
		t->w->daemon[between(&t->prng, VOTERS, UNITS - 1)]; /* no voter: they die enough */
	const struct sp_view *v = sp_node_view(d->node);

	for (uint32_t s = 0; s < v->slots && d->alive; s++)
		if (v->slot[s].unit == d->unit && v->slot[s].state == SP_SLOT_ROLE && d->runs[s]) {
			spw_kill_process(d, s);
			return;
		}
}

static void
pass_ms(struct masters *t, uint64_t ms)
{
	sim_run(t->w->s, t->w->s->now_ns + ms * BASE_MS_NS, NULL, NULL);
}

/* Each new one dies as soon as it reigns, or a moment later; the one before it comes back then. */
static void
kill_in_a_row(struct masters *t)
{
	struct spw_daemon *before = NULL, *d = wait_for_master(t, SP_NONE, "at first");

	for (uint32_t i = 0; i < IN_A_ROW && d && !t->w->s->failed; i++) {
		kill_some_process(t);
		pass_ms(t, base_prng_below(&t->prng, 4));
		spw_kill(d);
		t->died++;
		if (before)
			spw_start(before);
		before = d;
		d = wait_for_master(t, d->unit, "when masters died in a row");
	}
	if (before)
		spw_start(before);
	wait_until_whole(t, "masters died in a row");
}

/* The master with another voter and some units, which hear each other and nobody else. */
static void
cut_off_minority(struct masters *t)
{
	struct spw *w = t->w;
	struct spw_daemon *d = wait_for_master(t, SP_NONE, "before the net is cut");

	if (!d)
		return;
	uint64_t side = UINT64_C(1) << d->unit | UINT64_C(1) << (d->unit + 1) % VOTERS;
	for (uint32_t i = 0; i < 6; i++)
		side |= UINT64_C(1) << between(&t->prng, VOTERS, UNITS - 1);
	for (uint32_t a = 0; a < UNITS; a++)
		for (uint32_t b = 0; b < UNITS; b++)
			w->cut[a][b] = (side >> a & 1) != (side >> b & 1);
	sim_log(w->s, "a minority is cut off: 0x%llx", (unsigned long long)side);
	for (uint32_t i = 0; i < 4; i++)
		kill_some_process(t);
	wait_for_master(t, d->unit, "on the side of the majority");
	sim_run(w->s, w->s->now_ns + CUT_NS, NULL, NULL);
	for (uint32_t u = 0; u < UNITS && !w->s->failed; u++)
		INVARIANT(w->s, LEASE,
			  !(side >> u & 1) ||
				  !sp_node_may_act(w->daemon[u]->node, spw_local_ns(w->daemon[u])),
			  "unit %u of a minority goes on %llu ms after it was cut off", u,
			  (unsigned long long)(CUT_NS / BASE_MS_NS));
	memset(w->cut, 0, sizeof w->cut);
	wait_until_whole(t, "a minority was cut off");
}

/* The master's disk fails, then that of the next one. */
static void
fail_disks(struct masters *t)
{
	struct spw_daemon *d = wait_for_master(t, SP_NONE, "before disks fail"), *first = d;

	for (uint32_t i = 0; i < 2 && d && !t->w->s->failed; i++) {
		d->disk.fails = true;
		kill_some_process(t); /* so there is something to be written */
		d = wait_for_master(t, d->unit, "when disks failed");
	}
	INVARIANT(t->w->s, COMPLETE, t->w->disk_faults >= 2, "%u writes failed, not two",
		  t->w->disk_faults);
	for (uint32_t u = 0; u < VOTERS && first; u++)
		t->w->daemon[u]->disk.fails = false;
	wait_until_whole(t, "disks failed");
}

void
sp_masters_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct sim *s = sim_new(seed);
	struct sp_node_conf conf = {
		.cluster = 1,
		.voters = VOTERS,
		.limits = {.roles = ROLES, .units = UNITS, .slots_max = SPW_SLOTS_MAX},
		.slots = ROLES + SPARES,
		.beat_ns = DETECT_NS / 5,
		.missed = 5,
		.election_ms = 30,
		.heartbeat_ms = 10,
		.snapshot_every = 16,
		.restart_ns = 20 * BASE_MS_NS,
		.severity = sp_severity_default()};
	struct spw_links l = {.rate_bps = 125000000, .delay_ns = 20000, .queue_bytes = 1u << 20};
	struct masters t = {.prng = base_prng_seed(seed), .not = SP_NONE};

	s->verbose = verbose;
	t.w = spw_new(s, &conf, &l);
	for (uint32_t u = 0; u < UNITS; u++)
		spw_start(t.w->daemon[u]);
	wait_until_whole(&t, "the start");
	spw_check_often(t.w, CHECK_NS);
	t.reign_ns = t.whole_ns = 0;
	void (*const trouble[])(struct masters *) = {kill_in_a_row, cut_off_minority, fail_disks};
	for (uint32_t i = 0, at = (uint32_t)(seed % 3); i < 3 && !s->failed; i++)
		trouble[(at + i) % 3](&t);
	sim_outcome(s, o);
	snprintf(
		o->note, sizeof o->note,
		"%u masters, %u nodes and %u processes died, %u disk faults, %llu views; until the "
		"next reigns %.0f ms at most, until all is well %.0f",
		t.w->masters, t.died, t.w->deaths, t.w->disk_faults,
		(unsigned long long)t.w->newest, (double)t.reign_ns / BASE_MS_NS,
		(double)t.whole_ns / BASE_MS_NS);
	spw_free(t.w);
	sim_free(s);
}
