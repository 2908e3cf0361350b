/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster of which one node's clock runs at 1.1 to 12 times the rate of the others, or at 0.05
 * to 0.9, in half of the seeds the master's.  That node is found, and no other; spares play its
 * ranks, and never two play one.
 *
 * 12 is twice the beats that may be missed: by its own clock such a master hears nobody between two
 * beats for longer than a dead node is silent.  The clocks of the others say that they live. */
#include "sp.h"

#include "base/assert.h"

#include <stdio.h>

#define CHECK_NS    (2 * BASE_MS_NS)
#define COMPLETE_NS (3 * BASE_S_NS)
#define WINDOWS_NS  (8 * BASE_S_NS) /* three of 2 s, and what is left of the first */
#define MISSED	    6
#define FAST_PPM    (MISSED * 10000000 - 1000000)
#define SLOW_PPM    950000

struct clocks {
	struct spw *w;
	uint32_t bad; /* the unit */
};

static bool
is_all_up(void *who)
{
	const struct clocks *t = who;

	return spw_is_whole(t->w);
}

/* Who reigns is another one, and in its view the bad one plays nothing, all ranks are played. */
static bool
is_replaced(void *who)
{
	const struct clocks *t = who;
	uint32_t master = spw_find_master(t->w, SP_NONE);

	if (master == SP_NONE || master == t->bad)
		return false;
	const struct sp_view *v = sp_node_view(t->w->daemon[master]->node);
	for (uint32_t r = 0; r < v->l.roles; r++)
		if (v->role[r] == SP_NONE || v->slot[v->role[r]].unit == t->bad)
			return false;
	return true;
}

static void
spoil_clock(struct clocks *t, struct base_prng *p)
{
	uint32_t master = spw_find_master(t->w, SP_NONE);
	bool fast = coin(p, 50);

	t->bad = coin(p, 50) ? master : (uint32_t)base_prng_below(p, t->w->n);
	struct spw_daemon *d = t->w->daemon[t->bad];
	spw_step_clock(d, 0);
	d->clock.ppm = fast ? (int32_t)between(p, 100000, FAST_PPM)
			    : -(int32_t)between(p, 100000, SLOW_PPM);
	spw_after(d);
	sim_log(t->w->s, "unit %u%s: its clock is %d thousandths off", t->bad,
		t->bad == master ? ", the master" : "", d->clock.ppm / 1000);
}

static void
play_clocks(struct clocks *t, struct base_prng *p)
{
	struct spw *w = t->w;
	struct sim *s = w->s;

	for (uint32_t u = 0; u < w->n; u++)
		spw_start(w->daemon[u]);
	sim_run(s, s->now_ns + COMPLETE_NS, is_all_up, t);
	INVARIANT(s, COMPLETE, is_all_up(t), "the cluster does not begin");
	if (s->failed)
		return;
	spw_check_often(w, CHECK_NS);
	spoil_clock(t, p);
	int32_t ppm = w->daemon[t->bad]->clock.ppm;
	/* A slow master's windows are longer; another one begins anew. */
	uint64_t most = 2 * WINDOWS_NS * 1000 / (1000u - (ppm < 0 ? (uint32_t)-ppm / 1000 : 0)) +
			COMPLETE_NS;
	sim_run(s, s->now_ns + most, is_replaced, t);
	INVARIANT(s, COMPLETE, is_replaced(t),
		  "unit %u with a wrong clock still plays, %llu s later", t->bad,
		  (unsigned long long)(most / BASE_S_NS));
	for (uint32_t u = 0; u < w->n && !s->failed; u++)
		INVARIANT(s, COMPLETE,
			  u == t->bad || (w->daemon[u]->alive && w->daemon[u]->incarnation == 1),
			  "unit %u was ended, whose clock is right", u);
	uint32_t master = s->failed ? SP_NONE : spw_find_master(t->w, SP_NONE);
	for (uint32_t u = 0; u < w->n && master != SP_NONE; u++)
		INVARIANT(s, COMPLETE,
			  u == t->bad || !sp_node_view(w->daemon[master]->node)->unit[u].down,
			  "unit %u is put down, whose clock is right", u);
}

void
sp_clocks_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct sim *s = sim_new(seed);
	struct clocks t = {.bad = SP_NONE};
	struct sp_node_conf conf = {.cluster = 3,
				    .voters = coin(&p, 50) ? 3 : 5,
				    .beat_ns = 40 * BASE_MS_NS,
				    .missed = MISSED,
				    .election_ms = 120,
				    .heartbeat_ms = 20,
				    .snapshot_every = 16,
				    .restart_ns = 20 * BASE_MS_NS,
				    .severity = sp_severity_default()};
	struct spw_links l = {.rate_bps = 125000000, .delay_ns = 50000};

	conf.limits = (struct sp_limits){
		.units = (uint32_t)between(&p, conf.voters, 7), .roles = 6, .slots_max = 400};
	conf.slots = conf.limits.roles + 2 * conf.limits.units;
	s->verbose = verbose;
	t.w = spw_new(s, &conf, &l);
	uint64_t from = s->now_ns;
	play_clocks(&t, &p);
	sim_outcome(s, o);
	snprintf(o->note, sizeof o->note,
		 "%u units, the clock of one %d thousandths off; replaced after %.1f s, %u masters",
		 t.w->n, t.bad == SP_NONE ? 0 : t.w->daemon[t.bad]->clock.ppm / 1000,
		 (double)(s->now_ns - from) / BASE_S_NS, t.w->masters);
	spw_free(t.w);
	sim_free(s);
}
