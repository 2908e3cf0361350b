/* SPDX-License-Identifier: BSD-2-Clause */
/* Relays of large clusters are killed again and again, also while they come back, beside load that
 * keeps processes from reading for a while: as long as one relay of a cluster knows the job,
 * nothing is lost and the job goes on.
 *
 * What this is about is the handshake: ranks and relays open towards each other, answers wait in
 * sockets nobody reads, relays refuse an open and accept the same one a moment later. */
#include "scenario.h"

#include <stdio.h>

#define DETECT_NS (200 * BASE_MS_NS)

struct kills {
	struct world *w;
	struct base_prng prng;
	uint32_t killed, spared;
	uint64_t end_ns, pace_ns;
};

static uint64_t
small(void *arg, uint32_t i)
{
	struct kills *k = arg;
	(void)i;
	return base_prng_below(&k->prng, 3000);
}

/* arg: relay, and for how long it is gone. */
static void
die(struct sim *s, void *who, uint64_t arg)
{
	struct kills *k = who;
	struct rnode *r = &k->w->relay[arg & 0xff];
	(void)s;
	if (!r->alive || !rnode_is_spare(r)) {
		k->spared++;
		return;
	}
	k->killed++;
	rnode_kill_for(r, arg >> 8);
}

/* Whoever is not scheduled reads nothing. */
static void
load(struct sim *s, void *who, uint64_t arg)
{
	struct kills *k = who;
	struct world *w = k->w;
	struct base_prng *p = &k->prng;
	uint64_t ns = (1 + base_prng_below(p, 150)) * BASE_MS_NS;
	(void)arg;
	if (s->now_ns >= k->end_ns)
		return;
	if (base_prng_below(p, 8) == 0) {
		struct rnode *r = &w->relay[base_prng_below(p, w->nrelay)];
		if (r->alive)
			rnode_pause(r, base_min_ns(ns, DETECT_NS / 4));
	} else {
		end_pause(&w->end[base_prng_below(p, w->nend)], ns);
	}
	sim_at(s, s->now_ns + base_prng_below(p, 10 * BASE_MS_NS), load, k, 0);
}

static void
pace(struct sim *s, void *who, uint64_t arg)
{
	struct kills *k = who;
	if (world_allow_one(k->w))
		sim_at(s, s->now_ns + k->pace_ns, pace, k, arg);
}

static void
draw_world(struct kills *k, struct world_conf *c)
{
	static const uint32_t delay_us[] = {50, 1000, 10000};
	struct base_prng *p = &k->prng;
	world_conf_default(c);
	c->nclusters = 2;
	for (uint32_t i = 0; i < c->nclusters; i++) {
		c->cluster[i].ranks = 8 + (uint32_t)base_prng_below(p, 5);
		c->cluster[i].relays = 2 + (uint32_t)base_prng_below(p, 2);
	}
	c->several = true;
	c->policy = (uint8_t)base_prng_below(p, 3);
	c->partition_ns = 30 * BASE_S_NS;
	c->trunk.delay_ns = delay_us[base_prng_below(p, 3)] * BASE_US_NS;
	c->end.liveness_ns = c->relay.liveness_ns = DETECT_NS;
	c->end.keepalive_ns = c->relay.keepalive_ns = DETECT_NS / 4;
	c->seal_global = base_prng_below(p, 2);
	c->seal_identities = c->seal_global;
	/* What waited before a relay that was not scheduled comes late, and twice where it was sent
	 * again meanwhile. */
	c->private_nic.reorder_ppb = 10000000;
	c->private_nic.dup_ppb = 50000000;
	c->private_nic.reorder_ns = 100 * BASE_MS_NS;
}

/* Each victim dies up to three times, the later times while it still comes back. */
static void
plan(struct kills *k)
{
	struct world *w = k->w;
	struct base_prng *p = &k->prng;
	uint32_t n = 3 + (uint32_t)base_prng_below(p, 4);
	uint64_t at = w->s->now_ns + 100 * BASE_MS_NS;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t victim = base_prng_below(p, w->nrelay), t = at;
		for (uint64_t times = 1 + base_prng_below(p, 3); times > 0; times--) {
			uint64_t gone = base_prng_below(p, 300 * BASE_MS_NS);
			sim_at(w->s, t, die, k, victim | gone << 8);
			t += gone + base_prng_below(p, 300 * BASE_MS_NS);
		}
		k->end_ns = base_max_ns(k->end_ns, t);
		at += base_prng_below(p, 1500 * BASE_MS_NS);
	}
}

void
kills_run(uint64_t seed, bool verbose, struct outcome *o)
{
	static struct kills kills;
	struct kills *k = &kills;
	struct world_conf c;
	struct sim *s = sim_new(seed);
	*k = (struct kills){.prng = base_prng_seed(seed ^ 0x6111), .pace_ns = 20 * BASE_MS_NS};
	s->verbose = verbose;
	draw_world(k, &c);
	struct world *w = k->w = world_new(s, &c);
	plan(k);
	uint64_t blocks = (k->end_ns - s->now_ns) / k->pace_ns;
	for (uint32_t a = 0; a < w->nend; a++) {
		uint32_t b = (a + w->nend / 2) % w->nend;
		for (uint32_t hop = 0; hop < 2; hop++, b = (b + 1) % w->nend)
			if (w->end[a].client != w->end[b].client)
				world_stream(w, a, b, (uint32_t)blocks, small, k)->manual = true;
	}
	sim_at(s, s->now_ns + 20 * BASE_MS_NS, pace, k, 0);
	sim_at(s, s->now_ns + 100 * BASE_MS_NS, load, k, 0);
	world_start(w);
	sim_run(s, k->end_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete 60 s after the last kill");
	snprintf(o->note, sizeof o->note, "%u ranks, %u relays, %u kills, %u streams", w->nend,
		 w->nrelay, k->killed, w->nstream);
	scenario_end(w, o);
}
