/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes over several relays, and what lanes promise about windows, classes and size. */
#include "mesh.h"

#include <stdio.h>

#define MB 1000000ull

static uint64_t
same(void *arg, uint32_t i)
{
	(void)i;
	return *(const uint64_t *)arg;
}

static uint32_t
mss(const struct mesh *m)
{
	return m->conf.mtu - SUCI_OVERHEAD;
}

/* Payload bytes that a link carries in ns: full segments with all their headers. */
static uint64_t
carries(const struct mesh *m, uint64_t rate_bps, uint64_t ns)
{
	uint64_t wire = m->conf.mtu - SUCI_SEAL_TAG - SUCI_FIRST_EXT + SIM_UDP_OVERHEAD;
	return rate_bps / MB * ns / 1000 * mss(m) / wire;
}

/* Placed between two times after the beginning. */
static uint64_t
placed_between(struct mesh *m, uint64_t from_ns, uint64_t to_ns)
{
	sim_run(m->s, m->begin_ns + from_ns, NULL, NULL);
	uint64_t before = m->placed;
	sim_run(m->s, m->begin_ns + to_ns, NULL, NULL);
	return m->placed - before;
}

static void
wide(struct mesh_conf *c, uint32_t hops)
{
	mesh_conf_default(c);
	c->hops = hops;
	c->fake = true;
	c->nic.rate_bps = 312500000; /* 2.5 Gb/s each */
	c->inside_rate_bps = 5 * c->nic.rate_bps;
	c->trunk.delay_ns = 5 * BASE_MS_NS;
	c->end.cc = c->hop.cc = SUCI_CC_FIXED;
	c->end.fixed_window = 2000;
	c->hop.fixed_window = 1000;
	c->hop.fixed_rate_bps = c->nic.rate_bps * c->mtu / (c->mtu + SIM_UDP_OVERHEAD);
}

static uint64_t
rate_over(uint32_t hops, uint64_t seed, bool verbose, struct outcome *o, uint32_t *percent)
{
	struct mesh_conf c;
	uint64_t bytes = 20 * MB;
	wide(&c, hops);
	struct mesh *m = mesh_new(seed, verbose, &c, 1);
	mesh_add(m, 0, 1, 100, same, &bytes);
	mesh_start(m);
	uint64_t got = placed_between(m, 400 * BASE_MS_NS, 700 * BASE_MS_NS);
	*percent = (uint32_t)(got * 100 / (hops * carries(m, c.nic.rate_bps, 300 * BASE_MS_NS)));
	mesh_end(m, o);
	return got;
}

/* One pair of processes over four relays against one. */
void
spray_sum(uint64_t seed, bool verbose, struct outcome *o)
{
	uint32_t percent[2];
	uint64_t one = rate_over(1, seed, verbose, o, &percent[0]);
	if (!o->ok)
		return;
	uint64_t four = rate_over(4, seed, verbose, o, &percent[1]);
	snprintf(o->note, sizeof o->note,
		 "1 path %u %% of its wire, 4 paths %u %%: %llu.%02llu times", percent[0],
		 percent[1], (unsigned long long)(four / one),
		 (unsigned long long)(four * 100 / one % 100));
	if (o->ok && (four * 10 < one * 38 || percent[0] < 97)) {
		o->ok = false;
		snprintf(o->why, sizeof o->why, "%s; wanted 97 %% and 3.8 times", o->note);
	}
}

/* Nothing configured but limits: the window of one lane grows to what 10 Gb/s and 10 ms
 * need, and back when it is idle. */
void
lane_grows(uint64_t seed, bool verbose, struct outcome *o)
{
	struct mesh_conf c;
	uint64_t bytes = 20 * MB;
	wide(&c, 1);
	c.nic.rate_bps = 1250 * MB;
	c.inside_rate_bps = 0;
	c.trunk.delay_ns = 10 * BASE_MS_NS;
	c.end.fixed_window = 8192;
	c.hop.fixed_window = 6000;
	c.hop.fixed_rate_bps = c.nic.rate_bps * c.mtu / (c.mtu + SIM_UDP_OVERHEAD);
	struct mesh *m = mesh_new(seed, verbose, &c, 1);
	struct mesh_stream *st = mesh_add(m, 0, 1, 60, same, &bytes);
	mesh_start(m);
	uint64_t got = placed_between(m, 300 * BASE_MS_NS, 800 * BASE_MS_NS);
	uint64_t limit = carries(m, c.nic.rate_bps, 500 * BASE_MS_NS);
	struct suci_lane_info busy = {0}, idle = {0};
	suci_lane_info(m->node[1].lanes, st->lane[1], &busy);
	sim_run(m->s, m->begin_ns + 20 * BASE_S_NS, mesh_complete, m);
	SIM_CHECK(m->s, mesh_complete(m), "not complete after 20 s");
	sim_run(m->s, m->s->now_ns + 3 * BASE_S_NS, NULL, NULL);
	suci_lane_info(m->node[1].lanes, st->lane[1], &idle);
	uint64_t need = c.nic.rate_bps / 50 / c.mtu; /* 20 ms there and back */
	snprintf(o->note, sizeof o->note,
		 "%llu.%llu %% of the wire with a window of %u (round trip %llu), idle %u",
		 (unsigned long long)(got * 100 / limit),
		 (unsigned long long)(got * 1000 / limit % 10), busy.rx_window,
		 (unsigned long long)need, idle.rx_window);
	SIM_CHECK(m->s, got * 100 >= limit * 97, "%s; wanted 97 %%", o->note);
	SIM_CHECK(m->s, busy.rx_window >= need && busy.rx_window <= 4 * need,
		  "%s; wanted 1 to 4 times the round trip", o->note);
	SIM_CHECK(m->s, idle.rx_window == c.window, "%s; wanted %u", o->note, c.window);
	mesh_end(m, o);
}

struct idle_lanes {
	struct mesh *m;
	uint32_t most, next;
};

/* One lane after the other becomes busy; what all have beyond the first window. */
static void
next_lane(struct sim *s, void *who, uint64_t arg)
{
	struct idle_lanes *x = who;
	uint32_t sum = 0;
	for (uint32_t i = 0; i < x->m->nstream; i++) {
		struct suci_lane_info in = {0};
		suci_lane_info(x->m->node[1].lanes, x->m->stream[i].lane[1], &in);
		sum += in.rx_window - x->m->conf.window;
	}
	x->most = sum > x->most ? sum : x->most;
	if (x->next == x->m->nstream)
		return;
	x->m->stream[x->next++].start_ns = s->now_ns;
	mesh_drive(&x->m->node[0]);
	sim_at(s, s->now_ns + 20 * BASE_MS_NS, next_lane, x, arg);
}

/* 1000 lanes are busy one after the other, so each gets a window that fits.  What those
 * that are idle hold is bounded all the time, and nothing in the end. */
void
lanes_idle(uint64_t seed, bool verbose, struct outcome *o)
{
	struct mesh_conf c;
	uint64_t bytes = MB;
	wide(&c, 1);
	c.lanes.held_max = c.lanes.ranges_max = 8192;
	struct mesh *m = mesh_new(seed, verbose, &c, 1000);
	struct idle_lanes x = {.m = m};
	for (uint32_t i = 0; i < 1000; i++)
		mesh_add(m, 0, 1, 1, same, &bytes)->start_ns = BASE_NEVER_NS;
	mesh_start(m);
	sim_at(m->s, m->begin_ns + BASE_MS_NS, next_lane, &x, 0);
	sim_run(m->s, m->begin_ns + 60 * BASE_S_NS, mesh_complete, m);
	SIM_CHECK(m->s, mesh_complete(m), "not complete after 60 s");
	const struct suci_lane_counters *n = suci_lane_counters(m->node[1].lanes);
	uint64_t gave = n->window_idle;
	sim_run(m->s, m->s->now_ns + 3 * BASE_S_NS, NULL, NULL);
	uint32_t most = x.most;
	x.most = 0;
	next_lane(m->s, &x, 0);
	snprintf(o->note, sizeof o->note,
		 "credit beyond the first windows: at most %u; %llu of 1000 had given back when "
		 "the last was done, %llu in the end, which leaves %u",
		 most, (unsigned long long)gave, (unsigned long long)n->window_idle, x.most);
	SIM_CHECK(m->s, most > 1000 && most <= c.lanes.held_max && !x.most && gave > 700,
		  "%s; wanted at most %u and then none", o->note, c.lanes.held_max);
	mesh_end(m, o);
}

/* The higher class has the relays' trunk to itself while it has something to send. */
void
prio_hops(uint64_t seed, bool verbose, struct outcome *o)
{
	struct mesh_conf c;
	uint64_t bytes = 4 * MB;
	wide(&c, 1);
	c.ends = 3;
	struct mesh *m = mesh_new(seed, verbose, &c, 3);
	for (uint32_t i = 0; i < 3; i++)
		mesh_add(m, i, 3 + i, 200, same, &bytes)->prio = i == 1 ? 2 : 0;
	mesh_start(m);
	sim_run(m->s, m->begin_ns + 400 * BASE_MS_NS, NULL, NULL);
	uint64_t before = m->stream[1].bytes;
	uint64_t all = placed_between(m, 400 * BASE_MS_NS, 700 * BASE_MS_NS);
	uint64_t high = m->stream[1].bytes - before;
	uint64_t limit = carries(m, c.nic.rate_bps, 300 * BASE_MS_NS);
	snprintf(o->note, sizeof o->note,
		 "higher class %llu %% of the trunk beside two of the lower one, all %llu %%",
		 (unsigned long long)(high * 100 / limit), (unsigned long long)(all * 100 / limit));
	SIM_CHECK(m->s, high * 100 >= limit * 95, "%s; wanted 95 %%", o->note);
	mesh_end(m, o);
}

/* More than 4 GiB in one block, over two relays. */
void
big_hops(uint64_t seed, bool verbose, struct outcome *o)
{
	struct mesh_conf c;
	uint64_t bytes = (1ull << 32) + 123457;
	wide(&c, 2);
	c.mtu = 65000;
	c.nic.rate_bps = 1250 * MB;
	c.trunk.delay_ns = BASE_MS_NS;
	c.hop.fixed_rate_bps = c.nic.rate_bps * c.mtu / (c.mtu + SIM_UDP_OVERHEAD);
	struct mesh *m = mesh_new(seed, verbose, &c, 1);
	mesh_add(m, 0, 1, 1, same, &bytes);
	mesh_start(m);
	sim_run(m->s, m->begin_ns + 60 * BASE_S_NS, mesh_complete, m);
	SIM_CHECK(m->s, mesh_complete(m) && m->placed == bytes, "%llu of %llu bytes placed",
		  (unsigned long long)m->placed, (unsigned long long)bytes);
	snprintf(o->note, sizeof o->note, "%llu bytes in one block over two paths: %llu ms",
		 (unsigned long long)bytes,
		 (unsigned long long)((m->stream[0].last_ns - m->begin_ns) / BASE_MS_NS));
	mesh_end(m, o);
}

/* ---- many lanes ---- */

static uint64_t
time_with(uint32_t lanes, uint32_t active, uint64_t bytes, uint64_t seed, bool verbose,
	  struct outcome *o)
{
	struct mesh_conf c;
	wide(&c, 0);
	uint64_t share = bytes / active;
	c.nic.rate_bps = 1250 * MB;
	c.trunk.delay_ns = 50 * BASE_US_NS;
	c.lanes.rx_blocks_max = 4096;
	c.end.fixed_window = 400;
	c.end.fixed_rate_bps = c.nic.rate_bps * c.mtu / (c.mtu + SIM_UDP_OVERHEAD);
	struct mesh *m = mesh_new(seed, verbose, &c, lanes);
	for (uint32_t i = 0; i < lanes; i++)
		mesh_add(m, 0, 1, i < active ? 4 : 0, same, &(uint64_t){share / 4});
	mesh_start(m);
	sim_run(m->s, m->begin_ns + 30 * BASE_S_NS, mesh_complete, m);
	SIM_CHECK(m->s, mesh_complete(m), "not complete after 30 s");
	uint64_t took = m->s->now_ns - m->begin_ns;
	mesh_end(m, o);
	return took;
}

/* 100 000 lanes open at both ends, 1000 of them busy, against one. */
void
lanes_many(uint64_t seed, bool verbose, struct outcome *o)
{
	uint64_t one = time_with(1, 1, 400 * MB, seed, verbose, o);
	if (!o->ok)
		return;
	uint64_t many = time_with(100000, 1000, 400 * MB, seed, verbose, o);
	snprintf(o->note, sizeof o->note,
		 "400 MB over 1 lane %llu us, over 1000 of 100 000 %llu us: %llu.%llu %%",
		 (unsigned long long)one / 1000, (unsigned long long)many / 1000,
		 (unsigned long long)(one * 100 / many),
		 (unsigned long long)(one * 1000 / many % 10));
	if (o->ok && one * 100 < many * 90) {
		o->ok = false;
		snprintf(o->why, sizeof o->why, "%s; wanted 90 %%", o->note);
	}
}

/* ---- relays that die ---- */

static uint64_t
any_size(void *arg, uint32_t i)
{
	struct base_prng *p = arg;
	(void)i;
	switch (base_prng_below(p, 4)) {
	case 0:
		return base_prng_below(p, 100);
	case 1:
		return base_prng_below(p, 20000);
	case 2:
		return base_prng_below(p, 200000);
	default:
		return base_prng_below(p, 1000000);
	}
}

struct deaths {
	struct mesh *m;
	uint32_t kills;
	uint64_t lost;
};

static void
revive(struct sim *s, void *who, uint64_t arg)
{
	(void)s;
	(void)arg;
	mesh_restart(who);
}

static void
death(struct sim *s, void *who, uint64_t arg)
{
	struct deaths *d = who;
	struct mesh_node *n = &d->m->node[arg & 0xff];
	if (!n->alive || mesh_complete(d->m))
		return;
	uint32_t held = suci_held(n->ep);
	d->kills++;
	d->lost += held;
	mesh_kill(n);
	sim_at(s, s->now_ns + (arg >> 8), revive, n, 0);
}

static uint32_t
one_of(struct base_prng *p, const uint32_t *of, uint32_t n)
{
	return of[base_prng_below(p, n)];
}

/* Two relays of each cluster die and come back again and again; what they had in custody
 * is lost.  Everything arrives once. */
void
repoint_run(uint64_t seed, bool verbose, struct outcome *o)
{
	static const uint32_t loss[] = {0, 0, 100000, 10000000};
	static const uint32_t delay_us[] = {50, 1000, 10000};
	static const uint32_t rate_mb[] = {12, 125, 1250};
	struct base_prng p = base_prng_seed(seed ^ 0x3e90);
	struct mesh_conf c;
	mesh_conf_default(&c);
	c.ends = 1 + (uint32_t)base_prng_below(&p, 3);
	c.hops = 2;
	c.nic.rate_bps = one_of(&p, rate_mb, 3) * MB;
	c.trunk.delay_ns = one_of(&p, delay_us, 3) * BASE_US_NS;
	c.trunk.loss_ppb = one_of(&p, loss, 4);
	c.trunk.dup_ppb = one_of(&p, loss, 4);
	c.trunk.reorder_ppb = one_of(&p, loss, 4) * 10;
	c.trunk.reorder_ns = 2 * BASE_MS_NS;
	c.mtu = base_prng_below(&p, 2) ? 1472 : 8972;
	c.weight[1] = (uint32_t)base_prng_below(&p, 3); /* 0: standby */
	c.window_max = base_prng_below(&p, 3) ? 8192 : 0;
	c.end.liveness_ns = c.hop.liveness_ns = 60 * BASE_MS_NS;
	c.end.limits.segments_max = c.hop.limits.segments_max = 8192;
	c.end.keepalive_ns = c.hop.keepalive_ns = 20 * BASE_MS_NS;
	struct mesh *m = mesh_new(seed, verbose, &c, 2 * c.ends * c.ends);
	for (uint32_t a = 0; a < c.ends; a++)
		for (uint32_t b = 0; b < c.ends; b++) {
			uint32_t n = 10 + (uint32_t)base_prng_below(&p, 40);
			struct mesh_stream *there = mesh_add(m, a, c.ends + b, n, any_size, &p);
			struct mesh_stream *back = mesh_add(m, c.ends + b, a, n, any_size, &p);
			there->prio = (uint8_t)base_prng_below(&p, 4);
			back->prio = (uint8_t)base_prng_below(&p, 4);
		}
	struct deaths d = {.m = m};
	mesh_start(m);
	uint64_t at = m->begin_ns;
	uint32_t n = 1 + (uint32_t)base_prng_below(&p, 8);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t who = 2 * c.ends + (uint32_t)base_prng_below(&p, 2 * c.hops);
		uint64_t away = (1 + base_prng_below(&p, 1000)) * BASE_MS_NS;
		at += base_prng_below(&p, k % 2 ? 400 * BASE_MS_NS : 20 * BASE_MS_NS);
		sim_at(m->s, at, death, &d, (uint64_t)who | away << 8);
	}
	sim_run(m->s, at + 120 * BASE_S_NS, mesh_complete, m);
	for (uint32_t i = 0; i < m->nstream && !m->s->failed; i++)
		SIM_CHECK(m->s, m->stream[i].done == m->stream[i].n,
			  "stream %u: %u of %u blocks placed, %u done", i, m->stream[i].placed,
			  m->stream[i].n, m->stream[i].done);
	uint64_t again = 0, twice = 0;
	for (uint32_t i = 0; i < 2 * c.ends; i++) {
		again += suci_lane_counters(m->node[i].lanes)->tx_again;
		twice += suci_lane_counters(m->node[i].lanes)->drop_duplicate;
	}
	snprintf(o->note, sizeof o->note,
		 "%u lanes, %llu KB, %u relays died, %llu segments with them; %llu sent again, "
		 "%llu came twice",
		 m->nstream, (unsigned long long)m->placed / 1024, d.kills,
		 (unsigned long long)d.lost, (unsigned long long)again, (unsigned long long)twice);
	mesh_end(m, o);
}
