/* SPDX-License-Identifier: BSD-2-Clause */
/* Every seed draws its own topology, links, limits, traffic and faults, each of them
 * with wildly different weights.  Then the net heals and everything must complete. */
#include "draw.h"
#include "faults.h"
#include "scenario.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

enum topology {
	TOPO_ANY,
	TOPO_DIRECT,
	TOPO_STAR,
	TOPO_RELAY1,
	TOPO_RELAY2,
	TOPO_THREE,
	TOPO_IDLE_RELAY,
	TOPO_OVERLOAD
};

#define SWARM_STREAMS 64

struct swarm {
	struct world *w;
	struct base_prng prng;
	uint64_t heal_ns;
};

/* No relay without a process: scenario idle-relay is about those. */
static struct cluster_conf
draw_cluster(struct base_prng *p)
{
	uint32_t ranks = (uint32_t)between(p, 1, 3);
	return (struct cluster_conf){ranks, (uint32_t)between(p, 1, ranks > 1 ? 2 : 1)};
}

static void
draw_topology(struct base_prng *p, enum topology t, struct world_conf *c)
{
	if (t == TOPO_ANY)
		t = (enum topology)between(p, TOPO_DIRECT, TOPO_THREE);
	c->nclusters = 2;
	switch (t) {
	case TOPO_ANY:
	case TOPO_DIRECT:
		c->nclusters = 1;
		c->cluster[0] = (struct cluster_conf){2, 0};
		break;
	case TOPO_STAR:
		c->nclusters = 1;
		c->cluster[0] = (struct cluster_conf){(uint32_t)between(p, 3, 17), 0};
		break;
	case TOPO_RELAY1:
		c->cluster[0] = (struct cluster_conf){(uint32_t)between(p, 1, 3), 1};
		c->cluster[1] = (struct cluster_conf){(uint32_t)between(p, 1, 3), 0};
		break;
	case TOPO_THREE:
		c->nclusters = 3;
		c->cluster[2] = draw_cluster(p);
		/* fall through */
	case TOPO_RELAY2:
	case TOPO_OVERLOAD:
		for (int i = 0; i < 2; i++)
			c->cluster[i] = draw_cluster(p);
		break;
	case TOPO_IDLE_RELAY:
		c->cluster[0] = (struct cluster_conf){1, 2};
		c->cluster[1] = (struct cluster_conf){3, 2};
		break;
	}
}

static void
draw_faults(struct base_prng *p, struct sim_link_conf *l)
{
	if (coin(p, 40))
		l->loss_ppb = (uint32_t)PICK(p, 10000, 1000000, 10000000, 50000000, 200000000);
	if (coin(p, 25))
		l->dup_ppb = (uint32_t)PICK(p, 100000, 10000000, 300000000);
	if (coin(p, 30))
		l->reorder_ppb = (uint32_t)PICK(p, 1000000, 50000000, 500000000);
	l->reorder_ns = PICK(p, 2000, 50000, 1000000, 20000000);
	if (coin(p, 20))
		l->corrupt_ppb = (uint32_t)PICK(p, 100000, 10000000, 100000000);
}

static void
draw_links(struct base_prng *p, struct world_conf *c)
{
	c->private_nic.rate_bps = PICK(p, 12500000, 125000000, 1250000000, 3125000000);
	c->private_nic.delay_ns = PICK(p, 1000, 5000, 100000, 2000000);
	c->private_nic.queue_bytes = PICK(p, 0, 0, 20000, 200000, 2000000);
	c->global_nic.rate_bps = PICK(p, 2500000, 12500000, 125000000, 1250000000);
	c->global_nic.queue_bytes = PICK(p, 0, 20000, 200000, 4000000);
	c->trunk.delay_ns = PICK(p, 0, 100000, 5000000, 20000000, 50000000);
	c->private_mtu = (uint32_t)PICK(p, 1472, 8972, 4000, 1280);
	c->global_mtu = (uint32_t)PICK(p, 1472, 1472, 8972, 1300);
	if (c->private_mtu < c->global_mtu && coin(p, 80))
		c->global_mtu = c->private_mtu;
	if (coin(p, 50))
		draw_faults(p, &c->private_nic);
	if (coin(p, 70))
		draw_faults(p, &c->trunk);
}

/* Small limits meet their bounds soon. */
static void
draw_limits(struct base_prng *p, enum topology t, struct world_conf *c)
{
	struct suci_limits *e = &c->end.limits, *r = &c->relay.limits;
	e->segments_max = (uint32_t)PICK(p, 64, 256, 8192);
	e->queue_max = (uint32_t)PICK(p, 16, 64, 4096);
	e->window_max = (uint32_t)PICK(p, 16, 64, 1024, 4096);
	r->segments_max = (uint32_t)PICK(p, 512, 4096, 32768);
	r->queue_max = (uint32_t)PICK(p, 32, 256, 8192);
	r->window_max = (uint32_t)PICK(p, 32, 256, 8192);
	e->queue_max = (uint32_t)base_min_ns(e->queue_max, e->segments_max);
	r->queue_max = (uint32_t)base_min_ns(r->queue_max, r->segments_max);
	c->lane_window = (uint32_t)PICK(p, 64, 128, 1024, 8192);
	c->lane_window_max = (uint32_t)PICK(p, 0, 0, 500, 16384);
	c->lanes.blocks_max = (uint32_t)PICK(p, 8, 64, 512);
	c->lanes.rx_blocks_max = (uint32_t)PICK(p, 32, 64, 512);
	c->lanes.held_max = (uint32_t)PICK(p, 32, 256, 4096);
	c->lanes.ranges_max = (uint32_t)PICK(p, 256, 1024, 16384);
	if (c->nclusters > 1 && t != TOPO_OVERLOAD) {
		/* Over relays a receiver must be able to hold what it grants, and a relay
		 * what its lanes may have under way; scenario overload is about less. */
		uint32_t granted = c->lane_window * 8;
		c->lanes.held_max = granted;
		c->lanes.ranges_max = granted;
		r->segments_max = (uint32_t)base_max_ns(r->segments_max, 4 * granted);
	}
	uint64_t cc = base_prng_below(p, 100);
	c->end.cc = c->relay.cc = cc < 45 ? SUCI_CC_CUBIC : cc < 70 ? SUCI_CC_BBR : SUCI_CC_FIXED;
	if (c->end.cc == SUCI_CC_FIXED) {
		c->end.fixed_window = (uint32_t)PICK(p, 8, 64, 512);
		c->relay.fixed_window = (uint32_t)PICK(p, 8, 64, 512);
		c->end.fixed_rate_bps = coin(p, 50) ? 0 : c->private_nic.rate_bps;
		c->relay.fixed_rate_bps = coin(p, 50) ? 0 : c->global_nic.rate_bps;
	}
	c->end.ack_every = c->relay.ack_every = (uint32_t)PICK(p, 0, 1, 2, 16);
	c->end.ack_delay_ns = PICK(p, 0, 100000, 5000000);
	c->relay.ack_delay_ns = PICK(p, 0, 100000, 5000000);
	if (coin(p, 40))
		c->end.keepalive_ns = c->relay.keepalive_ns = PICK(p, 50000000, 1000000000);
	c->direct_crc = coin(p, 50);
}

/* Numbers of its own: what else a seed draws stays. */
static void
draw_credit(uint64_t seed, struct world_conf *c)
{
	struct base_prng p = base_prng_seed(seed ^ 0xc7ed17);
	c->end.credit_total = (uint32_t)PICK(&p, 0, 0, 1, 3, 8, 30, 200);
	c->end.credit = (uint32_t)PICK(&p, 0, 0, 1, 4, 100);
	c->relay.credit_total = (uint32_t)PICK(&p, 0, 0, 2, 16, 100, 1000);
	c->relay.credit = (uint32_t)PICK(&p, 0, 0, 2, 100);
	c->rx_bytes_max = PICK(&p, 0, 0, 3000, 100000, 1000000);
	c->consume_ns = PICK(&p, 0, 10000, 1000000, 20000000);
}

/* The same. */
static void
draw_sealing(uint64_t seed, struct world_conf *c)
{
	struct base_prng p = base_prng_seed(seed ^ 0x5ea1);
	c->seal_global = coin(&p, 40);
	c->seal_private = coin(&p, 15);
	c->seal_epoch = (uint32_t)PICK(&p, 0, 30, 500);
	c->seal_identities = coin(&p, 50);
}

/* Do paths probe, and cut?  The same. */
static bool
draw_parts(uint64_t seed, struct world_conf *c)
{
	struct base_prng p = base_prng_seed(seed ^ 0x9a275);
	uint32_t least = c->private_mtu < c->global_mtu ? c->private_mtu : c->global_mtu;
	if (!coin(&p, 35))
		return false;
	c->end.mtu_min = (uint32_t)PICK(&p, SUCI_MTU_SAFE, 1280, least);
	c->relay.mtu_min = (uint32_t)PICK(&p, SUCI_MTU_SAFE, 1280, least);
	c->end.limits.parts_max = (uint32_t)PICK(&p, 256, 256, 4096);
	c->relay.limits.parts_max = (uint32_t)PICK(&p, 256, 4096);
	c->end.limits.wholes_max = (uint32_t)PICK(&p, 1, 4, 16, 256);
	c->relay.limits.wholes_max = (uint32_t)PICK(&p, 1, 8, 64, 1024);
	return true;
}

static uint64_t
draw_size(void *prng, uint32_t i)
{
	struct base_prng *p = prng;
	(void)i;
	switch (base_prng_below(p, 10)) {
	case 0:
		return 0;
	case 1:
		return PICK(p, 1, 8, 63, 64, 128, 129, 1368, 1400, 1416, 2800);
	case 2:
	case 3:
	case 4:
	case 5:
		return base_prng_below(p, 3000);
	case 6:
	case 7:
		return base_prng_below(p, 30000);
	case 8:
		return base_prng_below(p, 200000);
	default:
		return coin(p, 30) ? base_prng_below(p, 2u << 20) : base_prng_below(p, 300000);
	}
}

static void
draw_traffic(struct swarm *sw, enum topology t)
{
	struct world *w = sw->w;
	struct base_prng *p = &sw->prng;
	uint64_t budget = base_min_ns(12u << 20, w->conf.global_nic.rate_bps * 2);
	bool fan_in = t == TOPO_STAR || (w->nend > 6 && coin(p, 50));
	uint32_t percent = (uint32_t)PICK(p, 30, 60, 100);
	for (uint32_t a = 0; a < w->nend; a++)
		for (uint32_t b = 0; b < w->nend; b++) {
			if (a == b || (fan_in && b != 0) || w->nstream >= SWARM_STREAMS ||
			    w->bytes_total > budget)
				continue;
			bool last_chance = a + 2 >= w->nend && w->nstream == 0;
			if (!coin(p, percent) && !last_chance && !fan_in)
				continue;
			struct stream *st =
				world_stream(w, a, b, (uint32_t)between(p, 1, 40), draw_size, p);
			st->outstanding_max = (uint32_t)PICK(p, 1, 2, 8, 64);
			st->wait = coin(p, 30);
		}
}

static void
link_down(struct sim *s, void *who, uint64_t down)
{
	struct sim_link *l = who;
	l->down = down;
	sim_log(s, "link %ld %s", (long)(l - s->link), down ? "down" : "up");
}

static void
draw_flaps(struct swarm *sw)
{
	struct sim *s = sw->w->s;
	uint64_t n = coin(&sw->prng, 35) ? between(&sw->prng, 1, 6) : 0;
	for (uint64_t i = 0; i < n; i++) {
		struct sim_link *l = &s->link[base_prng_below(&sw->prng, s->nlink)];
		uint64_t from = s->now_ns + base_prng_below(&sw->prng, 1500 * BASE_MS_NS);
		uint64_t len = PICK(&sw->prng, 100000, 5000000, 80000000, 900000000);
		if (from >= sw->heal_ns)
			continue;
		sim_at(s, from, link_down, l, 1);
		sim_at(s, base_min_ns(from + len, sw->heal_ns), link_down, l, 0);
	}
}

static void
heal(struct sim *s, void *who, uint64_t arg)
{
	(void)who;
	(void)arg;
	sim_log(s, "the net heals");
	for (uint32_t i = 0; i < s->nlink; i++) {
		struct sim_link_conf *c = &s->link[i].conf;
		c->loss_ppb = c->dup_ppb = c->reorder_ppb = c->corrupt_ppb = 0;
		s->link[i].down = false;
	}
}

static void
check_often(struct sim *s, void *who, uint64_t arg)
{
	struct swarm *sw = who;
	world_check_now(sw->w);
	if (!world_quiet(sw->w))
		sim_at(s, s->now_ns + 7 * BASE_MS_NS, check_often, sw, arg);
}

static void
say_what_hangs(struct world *w, uint64_t bound_ns)
{
	for (uint32_t i = 0; i < w->nstream; i++) {
		const struct stream *st = &w->stream[i];
		if (st->done < st->n) {
			invariant_broken(
				w->s, INV_COMPLETE,
				"not complete %llu ms after healing: %u->%u has %u blocks: %u "
				"sent, "
				"%u begun, %u placed, %u done",
				(unsigned long long)(bound_ns / BASE_MS_NS), st->src, st->dst,
				st->n, st->sent, st->begun, st->placed, st->done);
			return;
		}
	}
	for (uint32_t i = 0; i < w->nend; i++)
		if (suci_held(w->end[i].ep) || suci_lanes_pending(w->end[i].lanes))
			invariant_broken(
				w->s, INV_COMPLETE,
				"all placed, but rank %u still holds %u segments, %u blocks", i,
				suci_held(w->end[i].ep), suci_lanes_pending(w->end[i].lanes));
	for (uint32_t i = 0; i < w->nrelay; i++)
		if (relay_core_held(w->relay[i].core))
			invariant_broken(w->s, INV_COMPLETE,
					 "all placed, but relay %u.%u still holds %llu segments",
					 w->relay[i].client, w->relay[i].index,
					 (unsigned long long)relay_core_held(w->relay[i].core));
}

void
scenario_end(struct world *w, struct outcome *o)
{
	struct sim *s = w->s;
	if (s->failed && s->verbose)
		world_dump(w);
	if (!s->failed)
		world_check_end(w);
	sim_outcome(s, o);
	world_free(w);
	sim_free(s);
}

/* Generous, but finite: 20 s, twenty times the slowest link's time, and four times what
 * the smallest window lets through in one round trip. */
static uint64_t
time_to_complete(const struct world *w)
{
	const struct world_conf *c = &w->conf;
	uint64_t slowest = base_min_ns(c->private_nic.rate_bps, c->global_nic.rate_bps);
	uint64_t window = base_min_ns(c->lane_window, c->end.limits.segments_max);
	window = base_min_ns(window, c->end.limits.window_max);
	window = base_min_ns(window, c->relay.limits.window_max);
	if (c->end.cc == SUCI_CC_FIXED) {
		window = base_min_ns(window, c->end.fixed_window);
		window = base_min_ns(window, c->relay.fixed_window);
	}
	const struct suci_config *of[] = {&c->end, &c->relay};
	for (size_t i = 0; i < 2; i++) {
		window = base_min_ns(window, of[i]->credit ? of[i]->credit : window);
		window = base_min_ns(window, of[i]->credit_total ? of[i]->credit_total : window);
	}
	uint64_t rtt_ns = 2 * c->trunk.delay_ns + 4 * c->private_nic.delay_ns +
			  2 * base_max_ns(c->end.ack_delay_ns, BASE_MS_NS) +
			  2 * base_max_ns(c->relay.ack_delay_ns, BASE_MS_NS);
	uint64_t rounds = w->bytes_total / (1000 * window) + 1;
	rtt_ns += 2 * c->consume_ns;
	return 20 * BASE_S_NS + w->blocks_total * c->consume_ns +
	       w->bytes_total * 20 * 1000 / slowest * BASE_MS_NS + 4 * rounds * rtt_ns;
}

static void
run(enum topology t, uint64_t seed, bool verbose, struct outcome *o)
{
	struct swarm sw = {.prng = base_prng_seed(seed)};
	struct world_conf c;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	draw_topology(&sw.prng, t, &c);
	draw_links(&sw.prng, &c);
	draw_limits(&sw.prng, t, &c);
	draw_credit(seed, &c);
	draw_sealing(seed, &c);
	c.start_ns = PICK(&sw.prng, 0, 1000000, 30000000);
	sw.w = world_new(s, &c);
	sw.heal_ns = s->now_ns + PICK(&sw.prng, 200000000, 1000000000, 2500000000);
	draw_traffic(&sw, t);
	draw_flaps(&sw);
	sim_at(s, sw.heal_ns, heal, &sw, 0);
	sim_at(s, s->now_ns, check_often, &sw, 0);
	world_start(sw.w);
	sim_run(s, sw.heal_ns, NULL, NULL);
	uint64_t bound = time_to_complete(sw.w);
	sim_run(s, sw.heal_ns + bound, world_quiet, sw.w);
	if (!s->failed && !world_quiet(sw.w))
		say_what_hangs(sw.w, bound);
	snprintf(o->note, sizeof o->note, "%u ranks %u relays %u streams %llu KB", sw.w->nend,
		 sw.w->nrelay, sw.w->nstream, (unsigned long long)sw.w->bytes_total / 1024);
	scenario_end(sw.w, o);
}

void
swarm_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run(TOPO_ANY, seed, verbose, o);
}

void
direct_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run(TOPO_DIRECT, seed, verbose, o);
}

void
star_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run(TOPO_STAR, seed, verbose, o);
}

void
relay1_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run(TOPO_RELAY1, seed, verbose, o);
}

void
relay2_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run(TOPO_RELAY2, seed, verbose, o);
}

/* A cluster with more relays than processes. */
void
idle_relay_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run(TOPO_IDLE_RELAY, seed, verbose, o);
}

/* Receivers that hold less than they grant: refusals all the way. */
void
overload_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run(TOPO_OVERLOAD, seed, verbose, o);
}

void
three_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run(TOPO_THREE, seed, verbose, o);
}

/* ---- campaign: the same topologies, limits and traffic, other faults ---- */

static bool
died(void *faults)
{
	const struct faults *f = faults;
	return f->death.happened ? world_all_ended(f->w) : world_quiet(f->w);
}

/* After a death: everybody who has to do with another cluster knows. */
static void
check_told(struct faults *f)
{
	struct world *w = f->w;
	for (uint32_t i = 0; i < w->nend; i++) {
		const struct end *e = &w->end[i];
		bool concerned = false;
		/* Who waits for a relay that never came hears it from control, by TCP. */
		if (f->death.relay && w->nrelay == 1 && !e->met_relay)
			continue;
		for (uint32_t k = 0; k < w->nstream; k++) {
			const struct stream *st = &w->stream[k];
			concerned = concerned || ((st->src == i || st->dst == i) &&
						  !world_same_cluster(w, st->src, st->dst));
		}
		INVARIANT(w->s, TOLD, !e->alive || e->ended || !concerned,
			  "%s %u died, and rank %u does not know",
			  f->death.relay ? "relay" : "rank", f->death.index, i);
		INVARIANT(w->s, REASON, !e->alive || !e->ended || f->death.index == i || e->why[0],
			  "rank %u: the job ended and nobody said why", i);
	}
}

/* What the net as it was built takes, and the wake of what it went through: queues that
 * drain, and probes whose pauses have grown with the outage, the queues and the clocks. */
static uint64_t
campaign_bound(const struct faults *f, uint64_t began_ns)
{
	uint64_t outage = f->heal_ns - began_ns;
	return time_to_complete(f->w) + 4 * (outage + f->queue_ns + f->stepped_ns);
}

static void
campaign(uint64_t seed, bool early, bool verbose, struct outcome *o)
{
	struct swarm sw = {.prng = base_prng_seed(seed)};
	struct faults *f = calloc(1, sizeof *f);
	struct world_conf c;
	struct sim *s = sim_new(seed);
	char text[160];
	BASE_ASSERT(f);
	s->verbose = verbose;
	world_conf_default(&c);
	draw_topology(&sw.prng, TOPO_ANY, &c);
	draw_links(&sw.prng, &c);
	c.private_nic.loss_ppb = c.private_nic.dup_ppb = c.private_nic.reorder_ppb = 0;
	c.trunk.loss_ppb = c.trunk.dup_ppb = c.trunk.reorder_ppb = 0;
	c.private_nic.corrupt_ppb = c.trunk.corrupt_ppb = 0;
	draw_limits(&sw.prng, TOPO_ANY, &c);
	draw_sealing(seed, &c);
	faults_draw(f, seed, &c);
	f->shrinks = draw_parts(seed, &c);
	f->death.early = early;
	faults_text(f, text, sizeof text);
	sim_log(s, "faults: %s", text);
	c.start_ns = PICK(&sw.prng, 0, 1000000, 30000000);
	sw.w = world_new(s, &c);
	uint64_t began_ns = s->now_ns;
	sw.heal_ns = began_ns + PICK(&sw.prng, 200000000, 1000000000, 2500000000);
	draw_traffic(&sw, TOPO_ANY);
	faults_plan(f, sw.w, sw.heal_ns);
	sim_at(s, began_ns, check_often, &sw, 0);
	world_start(sw.w);
	sim_run(s, sw.heal_ns, NULL, NULL);
	uint64_t bound = f->death.happened ? 15 * BASE_S_NS : campaign_bound(f, began_ns);
	sim_run(s, sw.heal_ns + bound, died, f);
	if (!s->failed && f->death.happened)
		check_told(f);
	else if (!s->failed && !world_quiet(sw.w))
		say_what_hangs(sw.w, bound);
	snprintf(o->note, sizeof o->note, "%u+%u nodes %u streams %llu KB, %lld of %llu ms; %s",
		 sw.w->nend, sw.w->nrelay, sw.w->nstream,
		 (unsigned long long)sw.w->bytes_total / 1024,
		 (long long)(s->now_ns - sw.heal_ns) / (long long)BASE_MS_NS,
		 (unsigned long long)(bound / BASE_MS_NS), text);
	scenario_end(sw.w, o);
	free(f);
}

void
campaign_run(uint64_t seed, bool verbose, struct outcome *o)
{
	campaign(seed, false, verbose, o);
}

void
restart_early_run(uint64_t seed, bool verbose, struct outcome *o)
{
	campaign(seed, true, verbose, o);
}
