/* SPDX-License-Identifier: BSD-2-Clause */
/* Several relays per cluster: what they carry together, and what happens when one of
 * them, its cables, or a way between two of them fails (lib/relay, relayproto/policy.h). */
#include "scenario.h"

#include <stdio.h>

#define MB	  1000000ull
#define DETECT_NS (200 * BASE_MS_NS) /* liveness of every path */
#define STALL_NS  (3 * DETECT_NS)
#define PACE_NS	  (100 * BASE_MS_NS)

/* ---- one pair over all trunks ---- */

static uint64_t
piece(void *arg, uint32_t i)
{
	(void)arg;
	(void)i;
	return MB / 10;
}

static void
count_bytes(struct stream *st, uint32_t i)
{
	*(uint64_t *)st->w->scenario += st->block[i].bytes;
}

/* Bytes of one pair in a second over so many relays on either side. */
static uint64_t
pair_over(uint32_t near, uint32_t far, uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	uint64_t bytes = 0;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.nclusters = 2;
	c.cluster[0] = (struct cluster_conf){1, near};
	c.cluster[1] = (struct cluster_conf){1, far};
	c.several = true;
	c.policy = RELAY_POLICY_STRIPE;
	c.partition_ns = BASE_S_NS;
	c.trunk.delay_ns = 2 * BASE_MS_NS;
	c.lane_window = 16384;
	c.lanes.held_max = c.lanes.ranges_max = 16384;
	c.end.limits.segments_max = 16384;
	c.end.cc = c.relay.cc = SUCI_CC_FIXED;
	c.end.fixed_window = 4000;
	c.relay.fixed_window = 2000;
	c.relay.fixed_rate_bps =
		c.global_nic.rate_bps * c.global_mtu / (c.global_mtu + SIM_UDP_OVERHEAD);
	struct world *w = world_new(s, &c);
	w->scenario = &bytes;
	w->on_placed = count_bytes;
	world_stream(w, 0, 1, 8000, piece, NULL)->outstanding_max = 64;
	world_start(w);
	sim_run(s, s->now_ns + 300 * BASE_MS_NS, NULL, NULL);
	uint64_t before = bytes;
	sim_run(s, s->now_ns + BASE_S_NS, NULL, NULL);
	uint64_t got = bytes - before;
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 60 s");
	scenario_end(w, o);
	return got;
}

void
stripe_pair(uint64_t seed, bool verbose, struct outcome *o)
{
	uint64_t one = pair_over(1, 1, seed, verbose, o);
	uint64_t four = o->ok ? pair_over(4, 4, seed, verbose, o) : 0;
	uint64_t uneven = o->ok ? pair_over(2, 4, seed, verbose, o) : 0;
	if (!o->ok)
		return;
	snprintf(o->note, sizeof o->note,
		 "one pair: 1 relay %llu MB/s, 4 relays %llu.%02llu times, 2 to 4 relays "
		 "%llu.%02llu "
		 "times",
		 (unsigned long long)(one / MB), (unsigned long long)(four / one),
		 (unsigned long long)(four * 100 / one % 100), (unsigned long long)(uneven / one),
		 (unsigned long long)(uneven * 100 / one % 100));
	if (four * 10 < one * 38 || uneven * 10 < one * 19) {
		o->ok = false;
		snprintf(o->why, sizeof o->why, "%s; wanted 3.8 and 1.9 times", o->note);
	}
}

/* ---- failures ---- */

enum failure { DIE, CABLE, PRIVATE_CABLE, TRUNK, ONE_WAY, FLAP, SWITCH, SLOW, FAILURES };

static const char *const failure_name[FAILURES] = {"relay",   "cable", "private cable", "trunk",
						   "one way", "flap",  "switch",	"slow"};

struct failover {
	struct world *w;
	struct base_prng prng;
	uint32_t happened[FAILURES], skipped;
	bool apart; /* one failure at a time: the stall is bounded */
	uint64_t end_ns, pace_ns;
	struct sim_link_conf before[SIM_LINKS_MAX];
};

static uint64_t
some_size(void *arg, uint32_t i)
{
	struct failover *f = arg;
	struct base_prng *p = &f->prng;
	(void)i;
	return base_prng_below(p, 4) ? base_prng_below(p, 4000) : base_prng_below(p, 200000);
}

static void
link_set(struct sim *s, void *who, uint64_t down)
{
	struct sim_link *l = who;
	sim_log(s, "link %u is %s", (unsigned)(l - s->link), down ? "cut" : "whole");
	l->conf.loss_ppb = down ? 1000000000 : 0;
}

static void
link_slow(struct sim *s, void *who, uint64_t rate)
{
	struct sim_link *l = who;
	(void)s;
	l->conf.rate_bps = rate;
}

static void
cut(struct failover *f, uint32_t link, uint64_t from, uint64_t until)
{
	struct sim *s = f->w->s;
	sim_at(s, from, link_set, &s->link[link], 1);
	sim_at(s, until, link_set, &s->link[link], 0);
}

/* Both links of a port. */
static void
cut_port(struct failover *f, uint32_t port, uint64_t from, uint64_t until)
{
	struct sim *s = f->w->s;
	for (uint32_t other = 0; other < s->nport; other++) {
		const uint16_t *out = s->route[port][other], *in = s->route[other][port];
		if (!out[0])
			continue;
		cut(f, out[0] - 1u, from, until);
		cut(f, (in[2] ? in[2] : in[1]) - 1u, from, until);
		return;
	}
}

static uint32_t
trunk_link(const struct failover *f, const struct rnode *a, const struct rnode *b)
{
	return f->w->s->route[a->port[RELAY_LEG_GLOBAL]][b->port[RELAY_LEG_GLOBAL]][1] - 1u;
}

/* A relay may die if another of its cluster knows the job. */
static void
die(struct sim *s, void *who, uint64_t arg)
{
	struct failover *f = who;
	struct rnode *r = &f->w->relay[arg & 0xff];
	(void)s;
	if (!r->alive || !r->has_job || !rnode_is_spare(r)) {
		f->skipped++;
		return;
	}
	rnode_kill_for(r, arg >> 8);
}

static void
plan_flap(struct failover *f, uint32_t link, uint64_t at)
{
	uint32_t n = 2 + (uint32_t)base_prng_below(&f->prng, 10);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t down = (1 + base_prng_below(&f->prng, 400)) * BASE_MS_NS;
		cut(f, link, at, at + down);
		at += down + (1 + base_prng_below(&f->prng, 400)) * BASE_MS_NS;
	}
	f->end_ns = base_max_ns(f->end_ns, at);
}

static void
plan_one(struct failover *f, enum failure kind, uint64_t at)
{
	struct world *w = f->w;
	struct base_prng *p = &f->prng;
	struct rnode *a = &w->relay[base_prng_below(p, w->nrelay)], *b = a;
	uint64_t until = at + (1 + base_prng_below(p, f->apart ? 800 : 3000)) * BASE_MS_NS;
	while (b->client == a->client)
		b = &w->relay[base_prng_below(p, w->nrelay)];
	f->end_ns = base_max_ns(f->end_ns, until);
	f->happened[kind]++;
	sim_log(w->s, "at %llu us: %s, relay %u.%u towards %u.%u, until %llu us",
		(unsigned long long)at / 1000, failure_name[kind], a->client, a->index, b->client,
		b->index, (unsigned long long)until / 1000);
	switch (kind) {
	case DIE:
		sim_at(w->s, at, die, f, (uint64_t)(a - w->relay) | (until - at) << 8);
		break;
	case CABLE:
		cut_port(f, a->port[RELAY_LEG_GLOBAL], at, until);
		break;
	case PRIVATE_CABLE:
		cut_port(f, a->port[RELAY_LEG_PRIVATE], at, until);
		break;
	case TRUNK:
		cut(f, trunk_link(f, b, a), at, until);
		cut(f, trunk_link(f, a, b), at, until);
		break;
	case ONE_WAY:
		cut(f, trunk_link(f, a, b), at, until);
		break;
	case FLAP:
		plan_flap(f, trunk_link(f, a, b), at);
		break;
	case SWITCH: /* of the whole cluster: nothing gets out for a while */
		for (uint32_t i = 0; i < w->nrelay; i++)
			if (w->relay[i].client == a->client)
				cut_port(f, w->relay[i].port[RELAY_LEG_GLOBAL], at, until);
		break;
	case SLOW:
		sim_at(w->s, at, link_slow, &w->s->link[trunk_link(f, a, b)], MB);
		sim_at(w->s, until, link_slow, &w->s->link[trunk_link(f, a, b)], 0);
		break;
	case FAILURES:
		break;
	}
}

static void
draw_world(struct failover *f, struct world_conf *c)
{
	static const uint32_t delay_us[] = {50, 1000, 10000};
	static const uint32_t rate_mb[] = {10, 25, 125};
	static const enum suci_cc_kind cc[] = {SUCI_CC_CUBIC, SUCI_CC_BBR, SUCI_CC_FIXED};
	struct base_prng *p = &f->prng;
	world_conf_default(c);
	c->nclusters = 2 + (base_prng_below(p, 4) == 0);
	for (uint32_t i = 0; i < c->nclusters; i++) {
		c->cluster[i].ranks = 1 + (uint32_t)base_prng_below(p, 3);
		c->cluster[i].relays = 2 + (uint32_t)base_prng_below(p, 3);
	}
	c->several = true;
	c->policy = (uint8_t)base_prng_below(p, 3);
	c->partition_ns = 30 * BASE_S_NS;
	c->global_nic.rate_bps = rate_mb[base_prng_below(p, 3)] * MB;
	c->trunk.delay_ns = delay_us[base_prng_below(p, 3)] * BASE_US_NS;
	c->trunk.dup_ppb = base_prng_below(p, 3) ? 0 : 1000000;
	c->lane_window = 256;
	c->lane_window_max = base_prng_below(p, 2) ? 2048 : 0;
	c->lanes.held_max = c->lanes.ranges_max = 8192;
	c->end.cc = c->relay.cc = cc[base_prng_below(p, 3)];
	c->end.fixed_window = c->relay.fixed_window = 200;
	c->end.liveness_ns = c->relay.liveness_ns = DETECT_NS;
	c->end.keepalive_ns = c->relay.keepalive_ns = DETECT_NS / 4;
}

/* Apart: one block after the other at a pace that leaves room, also to the small window of a
 * trunk that flaps, so that a stall is a stall and not a queue. */
static void
pace(struct sim *s, void *who, uint64_t arg)
{
	struct failover *f = who;
	if (world_allow_one(f->w))
		sim_at(s, s->now_ns + f->pace_ns, pace, f, arg);
}

static void
draw_traffic(struct failover *f, uint64_t (*size)(void *arg, uint32_t i), void *arg,
	     uint64_t lasts_ns)
{
	struct world *w = f->w;
	uint32_t pairs = w->nend * w->nend / 2;
	uint64_t all = base_min_ns(4 * w->conf.global_nic.rate_bps, 100 * MB);
	uint64_t n = f->apart ? lasts_ns / f->pace_ns : all / 38000 / pairs + 1;
	for (uint32_t a = 0; a < w->nend; a++)
		for (uint32_t b = 0; b < w->nend; b++)
			if (w->end[a].client != w->end[b].client)
				world_stream(w, a, b, (uint32_t)n, size, arg)->manual = f->apart;
	if (f->apart)
		sim_at(w->s, w->s->now_ns + 20 * BASE_MS_NS, pace, f, 0);
}

static uint64_t
longest_stall(const struct world *w, const struct stream **of)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < w->nstream; i++) {
		if (w->stream[i].gap_ns <= most)
			continue;
		most = w->stream[i].gap_ns;
		*of = &w->stream[i];
	}
	return most;
}

static void
failover(uint64_t seed, bool apart, bool verbose, struct outcome *o)
{
	static struct failover fail;
	struct failover *f = &fail;
	struct world_conf c;
	struct sim *s = sim_new(seed);
	const struct stream *worst = NULL;
	*f = (struct failover){.prng = base_prng_seed(seed ^ 0xfa110), .apart = apart};
	f->pace_ns = PACE_NS;
	s->verbose = verbose;
	draw_world(f, &c);
	struct world *w = f->w = world_new(s, &c);
	uint32_t n = 1 + (uint32_t)base_prng_below(&f->prng, 5);
	uint64_t at = s->now_ns + 100 * BASE_MS_NS;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t kinds = apart ? SWITCH : FAILURES; /* with a stall of their own */
		plan_one(f, (enum failure)base_prng_below(&f->prng, kinds), at);
		at += (apart ? 2500 + base_prng_below(&f->prng, 500)
			     : base_prng_below(&f->prng, 1000)) *
		      BASE_MS_NS;
		if (apart)
			at = base_max_ns(at, f->end_ns + 1500 * BASE_MS_NS);
	}
	draw_traffic(f, some_size, f, f->end_ns + BASE_S_NS - s->now_ns);
	world_start(w);
	sim_run(s, f->end_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete 60 s after the last failure");
	uint64_t stall = longest_stall(w, &worst), kept = 0, resent = 0;
	for (uint32_t i = 0; i < w->nrelay; i++)
		if (w->relay[i].alive)
			kept += relay_core_counters(w->relay[i].core)->strays_sent;
	for (uint32_t i = 0; i < w->nend; i++)
		resent += suci_lane_counters(w->end[i].lanes)->tx_again;
	INVARIANT(s, COMPLETE, !apart || stall <= STALL_NS,
		  "%u->%u: no data for %llu us until %llu us; at most %llu", worst ? worst->src : 0,
		  worst ? worst->dst : 0, (unsigned long long)(stall / BASE_US_NS),
		  (unsigned long long)((worst ? worst->gap_end_ns : 0) / BASE_US_NS),
		  (unsigned long long)(STALL_NS / BASE_US_NS));
	int len = snprintf(
		o->note, sizeof o->note,
		"%u ranks %u relays %s, %llu KB, stall %llu ms, %llu rerouted, %llu sent "
		"again;",
		w->nend, w->nrelay, (const char *const[]){"dest", "source", "stripe"}[c.policy],
		(unsigned long long)w->bytes_total / 1024, (unsigned long long)(stall / BASE_MS_NS),
		(unsigned long long)kept, (unsigned long long)resent);
	for (uint32_t k = 0; k < FAILURES; k++)
		if (f->happened[k] && len < (int)sizeof o->note)
			len += snprintf(o->note + len, sizeof o->note - (size_t)len, " %s:%u",
					failure_name[k], f->happened[k]);
	scenario_end(w, o);
}

/* One after the other: nobody waits longer than three times what it takes to notice. */
void
failover_run(uint64_t seed, bool verbose, struct outcome *o)
{
	failover(seed, seed & 1, verbose, o);
}

static uint64_t
small_size(void *arg, uint32_t i)
{
	(void)i;
	return base_prng_below(arg, 2000);
}

/* ---- as many clusters as a job may have ---- */

#define FULL_BLOCKS 12

/* 32 clusters with a process and two relays each, everybody to everybody, the policy by seed; in a
 * few clusters a relay dies and comes back. */
void
clusters_run(uint64_t seed, bool verbose, struct outcome *o)
{
	static struct failover full;
	struct failover *f = &full;
	struct world_conf c;
	struct sim *s = sim_new(seed);
	*f = (struct failover){.prng = base_prng_seed(seed ^ 0x32c), .pace_ns = PACE_NS};
	f->apart = true; /* blocks come one by one */
	s->verbose = verbose;
	world_conf_default(&c);
	c.nclusters = CLUSTERS_MAX;
	for (uint32_t i = 0; i < c.nclusters; i++)
		c.cluster[i] = (struct cluster_conf){1, 2};
	c.hosts_max = 3 * CLUSTERS_MAX;
	c.several = true;
	c.policy = (uint8_t)(seed % 3);
	c.partition_ns = 30 * BASE_S_NS;
	c.lanes.lanes_max = 2 * CLUSTERS_MAX;
	c.relay.limits.paths_max = 4 * CLUSTERS_MAX;
	c.end.liveness_ns = c.relay.liveness_ns = DETECT_NS;
	c.end.keepalive_ns = c.relay.keepalive_ns = DETECT_NS / 4;
	struct world *w = f->w = world_new(s, &c);
	for (uint32_t i = 0; i < 3; i++)
		plan_one(f, DIE, s->now_ns + (300 + 200 * i) * BASE_MS_NS);
	draw_traffic(f, small_size, &f->prng, FULL_BLOCKS * PACE_NS);
	world_start(w);
	sim_run(s, f->end_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete 60 s after the last relay came back");
	snprintf(o->note, sizeof o->note, "%u clusters, %u relays %s, %u streams, %u deaths",
		 c.nclusters, w->nrelay,
		 (const char *const[]){"dest", "source", "stripe"}[c.policy], w->nstream,
		 f->happened[DIE] - f->skipped);
	scenario_end(w, o);
}

/* ---- a relay is emptied ---- */

#define DRAIN_PACE_NS	  (5 * BASE_MS_NS)
#define DRAIN_OUTSTANDING 32
#define DRAIN_SLACK_NS	  (3 * BASE_MS_NS) /* other work of links and clocks */
#define DRAIN_EACH_NS	  (300 * BASE_MS_NS)

static void
weigh(struct sim *s, void *who, uint64_t weight)
{
	struct rnode *r = who;
	sim_log(s, "relay %u.%u has weight %llu", r->client, r->index, (unsigned long long)weight);
	int err = relay_core_set_weight(r->core, (uint32_t)weight, node_now(&r->clock, s->now_ns));
	SIM_CHECK(s, !err, "weight of relay %u.%u: %d", r->client, r->index, err);
	rnode_drive(r);
}

/* Everything is connected: what was before does not count. */
static void
begin(struct sim *s, void *who, uint64_t arg)
{
	struct world *w = who;
	(void)s, (void)arg;
	for (uint32_t i = 0; i < w->nstream; i++)
		w->stream[i].gap_ns = 0;
}

/* Segments of each go over all trunks. */
static uint64_t
several_segments(void *arg, uint32_t i)
{
	(void)i;
	return 4000 + base_prng_below(arg, 8000);
}

/* One relay after the other is emptied and filled again, while all processes talk: nothing
 * waits for longer than the way takes, but for what goes over another way and passes. */
static void
drain(uint64_t seed, bool stripe, bool verbose, struct outcome *o)
{
	static struct failover drained;
	struct failover *f = &drained;
	struct world_conf c;
	const struct stream *worst = NULL;
	struct sim *s = sim_new(seed);
	*f = (struct failover){.prng = base_prng_seed(seed ^ 0xd4a1), .apart = true};
	f->pace_ns = DRAIN_PACE_NS;
	s->verbose = verbose;
	draw_world(f, &c);
	if (stripe) {
		c.policy = RELAY_POLICY_STRIPE;
		c.global_nic.rate_bps = 125 * MB; /* so that blocks of all fit */
	}
	struct world *w = f->w = world_new(s, &c);
	uint64_t at = s->now_ns + 300 * BASE_MS_NS;
	sim_at(s, at, begin, w, 0);
	for (uint32_t i = 0; i < w->nrelay; i++, at += 2 * DRAIN_EACH_NS) {
		sim_at(s, at, weigh, &w->relay[i], 0);
		sim_at(s, at + DRAIN_EACH_NS, weigh, &w->relay[i], RELAY_WEIGHT_MAX);
	}
	draw_traffic(f, stripe ? several_segments : small_size, &f->prng, at - s->now_ns);
	/* Else a round trip of 20 ms has four blocks of its own to wait for. */
	for (uint32_t i = 0; i < w->nstream; i++)
		w->stream[i].outstanding_max = DRAIN_OUTSTANDING;
	world_start(w);
	sim_run(s, at + 10 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete 10 s after the last relay");
	/* The share of a relay that went at once would wait for windows that cubic makes as large
	 * as they were needed: by halves not even a round trip more is needed. */
	bool no_trip = stripe && c.relay.cc == SUCI_CC_CUBIC;
	uint64_t trip = no_trip ? 0 : 2 * c.trunk.delay_ns;
	uint64_t stall = longest_stall(w, &worst),
		 most = DRAIN_PACE_NS + base_max_ns(trip, DRAIN_SLACK_NS) + BASE_MS_NS;
	SIM_CHECK(s, stall <= most, "%u->%u: no data for %llu us until %llu us; at most %llu",
		  worst ? worst->src : 0, worst ? worst->dst : 0,
		  (unsigned long long)(stall / BASE_US_NS),
		  (unsigned long long)((worst ? worst->gap_end_ns : 0) / BASE_US_NS),
		  (unsigned long long)(most / BASE_US_NS));
	snprintf(o->note, sizeof o->note, "%u ranks %u relays, trunks of %llu us, %s, gap %llu us",
		 w->nend, w->nrelay, (unsigned long long)(c.trunk.delay_ns / BASE_US_NS),
		 c.relay.cc == SUCI_CC_CUBIC ? "cubic"
		 : c.relay.cc == SUCI_CC_BBR ? "bbr"
					     : "fixed",
		 (unsigned long long)(stall / BASE_US_NS));
	scenario_end(w, o);
}

void
drain_run(uint64_t seed, bool verbose, struct outcome *o)
{
	drain(seed, false, verbose, o);
}

void
drain_stripe(uint64_t seed, bool verbose, struct outcome *o)
{
	drain(seed, true, verbose, o);
}
