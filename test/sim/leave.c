/* SPDX-License-Identifier: BSD-2-Clause */
/* An end that is done leaves in the midst of the others' traffic, as a process does that
 * calls MPI_Finalize first: it closes its paths without a word.  Nobody takes that for a
 * death, and what the others have for each other arrives. */
#include "scenario.h"

#include <stdio.h>

#define LOOK_NS (2 * BASE_MS_NS)

struct leave {
	struct world *w;
	uint32_t who;
	uint64_t left_ns, left_at; /* blocks placed by then */
};

static uint64_t
size(void *arg, uint32_t i)
{
	(void)arg;
	return 1000 + 9000 * (i % 7);
}

/* Once all it sent and was sent has arrived, end to end. */
static void
leave_if_done(struct sim *s, void *who, uint64_t arg)
{
	struct leave *l = who;
	struct world *w = l->w;
	struct end *e = &w->end[l->who];
	bool done = !suci_held(e->ep) && !suci_lanes_pending(e->lanes);
	for (uint32_t i = 0; i < w->nstream; i++) {
		const struct stream *st = &w->stream[i];
		if (st->src == l->who || st->dst == l->who)
			done = done && st->done == st->n && st->placed == st->n;
	}
	if (!done) {
		sim_at(s, s->now_ns + LOOK_NS, leave_if_done, l, arg);
		return;
	}
	l->left_ns = s->now_ns;
	l->left_at = w->seen.placed;
	e->quitting = true;
	sim_log(s, "rank %u leaves", l->who);
	for (uint32_t p = 0; p < e->limits.paths_max; p++) {
		struct suci_path_info info;
		if (suci_path_info(e->ep, p, &info))
			suci_path_close(e->ep, p, "", node_now(&e->clock, s->now_ns));
	}
	end_drive(e);
}

void
leave_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed ^ 0x1eaf);
	struct world_conf c;
	struct leave l = {0};
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.nclusters = 2;
	for (int i = 0; i < 2; i++) {
		c.cluster[i].ranks = 2 + (uint32_t)base_prng_below(&p, 3);
		c.cluster[i].relays = 1 + (uint32_t)base_prng_below(&p, 2);
	}
	c.trunk.loss_ppb = base_prng_chance(&p, 500000000) ? 10000000 : 0;
	struct world *w = l.w = world_new(s, &c);
	l.who = (uint32_t)base_prng_below(&p, w->nend);
	for (uint32_t a = 0; a < w->nend; a++)
		for (uint32_t b = 0; b < w->nend; b++)
			if (w->end[a].client != w->end[b].client)
				world_stream(w, a, b, a == l.who || b == l.who ? 20 : 200, size,
					     NULL);
	world_start(w);
	sim_at(s, s->now_ns + LOOK_NS, leave_if_done, &l, 0);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete 60 s after rank %u left", l.who);
	SIM_CHECK(s, l.left_ns && l.left_at < w->blocks_total,
		  "rank %u did not leave before the others were done", l.who);
	for (uint32_t i = 0; i < w->nend; i++)
		INVARIANT(s, REASON, !w->end[i].ended, "rank %u: over, as rank %u left: %s", i,
			  l.who, w->end[i].why);
	snprintf(o->note, sizeof o->note, "rank %u of %u left at %llu ms, %llu blocks to come",
		 l.who, w->nend, (unsigned long long)(l.left_ns / BASE_MS_NS),
		 (unsigned long long)(w->blocks_total - l.left_at));
	scenario_end(w, o);
}
