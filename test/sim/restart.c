/* SPDX-License-Identifier: BSD-2-Clause */
/* Somebody dies in the middle of a job, and may come back knowing nothing: the job must
 * end on all sides, with a reason, within ten seconds. */
#include "scenario.h"

#include <stdio.h>

struct death {
	struct world *w;
	bool relay;
	uint32_t index;
	bool returns;
	uint64_t back_after_ns;
	uint64_t died_ns;
};

static uint64_t
size(void *arg, uint32_t i)
{
	(void)arg;
	return 1000 + 40000 * (i % 7);
}

static void
come_back(struct sim *s, void *who, uint64_t arg)
{
	struct death *d = who;
	(void)s;
	(void)arg;
	if (d->relay)
		rnode_restart(&d->w->relay[d->index]);
	else
		end_restart(&d->w->end[d->index]);
}

static void
die(struct sim *s, void *who, uint64_t arg)
{
	struct death *d = who;
	(void)arg;
	d->died_ns = s->now_ns;
	if (d->relay)
		rnode_kill(&d->w->relay[d->index]);
	else
		end_kill(&d->w->end[d->index]);
	if (d->returns)
		sim_at(s, s->now_ns + d->back_after_ns, come_back, d, 0);
}

void
restart_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct world_conf c;
	struct death d = {0};
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.nclusters = 2;
	for (int i = 0; i < 2; i++) {
		c.cluster[i].ranks = 1 + (uint32_t)base_prng_below(&p, 3);
		c.cluster[i].relays = 1 + (uint32_t)base_prng_below(&p, 2);
	}
	c.die_ok = true;
	c.end.liveness_ns = c.relay.liveness_ns = 3 * BASE_S_NS;
	c.end.keepalive_ns = c.relay.keepalive_ns = 500 * BASE_MS_NS;
	c.trunk.loss_ppb = base_prng_chance(&p, 500000000) ? 10000000 : 0;
	struct world *w = d.w = world_new(s, &c);
	for (uint32_t a = 0; a < w->nend; a++)
		for (uint32_t b = 0; b < w->nend; b++)
			if (a != b && w->end[a].client != w->end[b].client)
				world_stream(w, a, b, 4000, size, NULL);
	d.relay = base_prng_chance(&p, 500000000);
	d.index = (uint32_t)base_prng_below(&p, d.relay ? w->nrelay : w->nend);
	d.returns = base_prng_chance(&p, 500000000);
	d.back_after_ns = 1000 + base_prng_below(&p, 2 * BASE_S_NS);
	uint64_t dies_at = s->now_ns + 80 * BASE_MS_NS + base_prng_below(&p, 400 * BASE_MS_NS);
	sim_at(s, dies_at, die, &d, 0);
	world_start(w);
	sim_run(s, dies_at - 1, NULL, NULL);
	c.die_ok = true;
	for (uint32_t i = 0; i < w->nend; i++)
		INVARIANT(s, REASON, !w->end[i].ended, "rank %u: over before anybody died: %s", i,
			  w->end[i].why);
	sim_run(s, dies_at + 10 * BASE_S_NS, world_all_ended, w);
	/* A relay of the same cluster that carries nobody's way may not hear of it. */
	for (uint32_t i = 0; i < w->nend; i++) {
		const struct end *e = &w->end[i];
		INVARIANT(s, TOLD, !e->alive || e->ended,
			  "%s %u died, and 10 s later rank %u does not know",
			  d.relay ? "relay" : "rank", d.index, i);
	}
	for (uint32_t i = 0; i < w->nrelay; i++)
		INVARIANT(s, TOLD, !w->relay[i].alive || !w->relay[i].has_job,
			  "%s %u died, and 10 s later relay %u.%u does not know",
			  d.relay ? "relay" : "rank", d.index, w->relay[i].client,
			  w->relay[i].index);
	uint64_t last = 0;
	const char *why = "";
	for (uint32_t i = 0; i < w->nend; i++)
		if (w->end[i].alive && w->end[i].ended_ns > last) {
			last = w->end[i].ended_ns;
			why = w->end[i].why;
		}
	snprintf(o->note, sizeof o->note, "%s %u dies%s, all know after %llu ms: %.90s",
		 d.relay ? "relay" : "rank", d.index, d.returns ? " and returns" : "",
		 (unsigned long long)(last > d.died_ns ? (last - d.died_ns) / BASE_MS_NS : 0), why);
	scenario_end(w, o);
}
