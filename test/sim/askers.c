/* SPDX-License-Identifier: BSD-2-Clause */
/* What a lane does that had to throw something away: its sender gets the window back in round
 * trips that are few, whatever its receiver can hold. */
#include "draw.h"
#include "mesh.h"
#include "scenario.h"

#include <stdio.h>

#define BLOCK_BYTES 1000u /* one segment each, so what is early has to be held */
#define BLOCKS	    8000u
#define RTT_NS	    (10 * BASE_MS_NS)
#define WAN_BPS	    125000000ull
#define LOSSES_MAX  3u

struct loss {
	uint32_t seen, n, aim[LOSSES_MAX];
};

static uint64_t
small(void *arg, uint32_t i)
{
	(void)arg;
	(void)i;
	return BLOCK_BYTES;
}

/* Some datagrams, once each. */
static bool
drop_some(void *who, const struct sim_buf *b)
{
	struct loss *x = who;
	if (b->len <= BLOCK_BYTES)
		return false;
	x->seen++;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->seen == x->aim[i])
			return true;
	return false;
}

static uint32_t
log2_of(uint32_t n)
{
	uint32_t k = 0;
	while (n >>= 1)
		k++;
	return k;
}

/* What the wire needs for all blocks, one round trip after the other if the window is smaller. */
static uint64_t
wire_ns(uint32_t window)
{
	uint64_t each = BLOCK_BYTES + SUCI_PATH_HDR + SUCI_LANE_HDR + SUCI_FIRST_EXT +
			SUCI_ACK_HDR + SIM_UDP_OVERHEAD;
	return base_max_ns(BLOCKS * each * BASE_S_NS / WAN_BPS,
			   (BLOCKS / window + 1) * (RTT_NS + BASE_MS_NS));
}

/* Two relays, 1 Gb/s and 10 ms there and back.  A few datagrams are lost while the lane has its
 * whole window under way, and its receiver can hold little of that.  Each costs its own round
 * trip and as many as the window doubles in. */
void
asker_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct world_conf c;
	world_conf_default(&c);
	c.nclusters = 2;
	c.cluster[0] = c.cluster[1] = (struct cluster_conf){1, 1};
	c.start_ns = 100 * BASE_MS_NS;
	c.end.cc = c.relay.cc = SUCI_CC_FIXED;
	c.end.fixed_window = c.relay.fixed_window = 4096;
	c.relay.fixed_rate_bps = WAN_BPS * c.global_mtu / (c.global_mtu + SIM_UDP_OVERHEAD);
	c.end.limits.segments_max = 16384;
	c.lane_window = (uint32_t)PICK(&p, 256, 2048, 2048, 8192);
	c.lanes.blocks_max = BLOCKS;
	c.lanes.held_max = (uint32_t)PICK(&p, 4, 64, 64, 200);
	c.lanes.ranges_max = (uint32_t)PICK(&p, 64, 4096);
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	struct world *w = world_new(s, &c);
	struct stream *st = world_stream(w, 0, 1, BLOCKS, small, NULL);
	st->outstanding_max = BLOCKS;
	struct loss x = {.n = 1 + (uint32_t)base_prng_below(&p, LOSSES_MAX)};
	for (uint32_t i = 0; i < x.n; i++)
		x.aim[i] = 100 + (uint32_t)base_prng_below(&p, BLOCKS / 2);
	uint32_t from = w->relay[0].port[RELAY_LEG_GLOBAL], to = w->relay[1].port[RELAY_LEG_GLOBAL];
	struct sim_link *l = &s->link[s->route[from][to][1] - 1];
	l->aim = drop_some;
	l->aim_who = &x;
	world_start(w);
	sim_run(s, s->now_ns + 120 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 120 s");
	uint64_t took = st->block[BLOCKS - 1].placed_ns - st->block[0].sent_ns;
	uint64_t round_ns = RTT_NS + BASE_MS_NS; /* and what is queued; as in wire_ns() */
	uint64_t most = wire_ns(c.lane_window) + x.n * (2 + log2_of(c.lane_window)) * round_ns;
	const struct suci_lane_counters *n = suci_lane_counters(w->end[0].lanes);
	snprintf(o->note, sizeof o->note,
		 "window %u, %u held, %u ranges, %u lost: %u blocks in %llu ms (wire %llu), %llu "
		 "segments again",
		 c.lane_window, c.lanes.held_max, c.lanes.ranges_max, x.n, BLOCKS,
		 (unsigned long long)(took / BASE_MS_NS),
		 (unsigned long long)(wire_ns(c.lane_window) / BASE_MS_NS),
		 (unsigned long long)n->tx_again);
	SIM_CHECK(s, took <= most, "%s; wanted %llu ms", o->note,
		  (unsigned long long)(most / BASE_MS_NS));
	scenario_end(w, o);
}

/* Two relays on each side, one way 1 ms longer than the other: half of what comes is early, more
 * than the receiver can hold, all the time. */
void
asker_spray(uint64_t seed, bool verbose, struct outcome *o)
{
	struct mesh_conf c;
	mesh_conf_default(&c);
	c.hops = 2;
	c.mtu = 1500 - SIM_IP_UDP;
	c.nic.rate_bps = WAN_BPS;
	c.inside_rate_bps = 10 * WAN_BPS;
	c.trunk.delay_ns = 5 * BASE_MS_NS;
	c.end.cc = c.hop.cc = SUCI_CC_FIXED;
	c.end.fixed_window = c.hop.fixed_window = 4096;
	c.hop.fixed_rate_bps = WAN_BPS * c.mtu / (c.mtu + SIM_UDP_OVERHEAD);
	c.window = c.window_max = 2048;
	c.lanes.blocks_max = BLOCKS;
	c.lanes.held_max = 64;
	c.lanes.ranges_max = 2048;
	struct mesh *m = mesh_new(seed, verbose, &c, 1);
	struct mesh_stream *st = mesh_add(m, 0, 1, BLOCKS, small, NULL);
	st->ahead = BLOCKS;
	uint32_t from = mesh_hop(m, 0, 1)->port[1], to = mesh_hop(m, 1, 1)->port[1];
	m->s->link[m->s->route[from][to][1] - 1].conf.delay_ns += BASE_MS_NS;
	mesh_start(m);
	sim_run(m->s, m->begin_ns + 120 * BASE_S_NS, mesh_complete, m);
	SIM_CHECK(m->s, mesh_complete(m), "not complete after 120 s");
	const struct suci_lane_counters *n = suci_lane_counters(m->node[0].lanes);
	snprintf(o->note, sizeof o->note, "%u blocks in %llu ms, %llu segments again", BLOCKS,
		 (unsigned long long)((st->last_ns - m->begin_ns) / BASE_MS_NS),
		 (unsigned long long)n->tx_again);
	/* As many in a round trip as can be held. */
	uint64_t most = BLOCKS / c.lanes.held_max * (RTT_NS + 2 * BASE_MS_NS);
	SIM_CHECK(m->s, n->tx_again, "%s: nothing was refused", o->note);
	SIM_CHECK(m->s, st->last_ns - m->begin_ns <= most, "%s; wanted %llu ms", o->note,
		  (unsigned long long)(most / BASE_MS_NS));
	mesh_end(m, o);
}
