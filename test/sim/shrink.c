/* SPDX-License-Identifier: BSD-2-Clause */
/* Links that come to pass less than the segments in custody need: everything arrives all the same,
 * in parts, at the speed of what is left. */
#include "draw.h"
#include "scenario.h"

#include <stdio.h>

#define MB	1000000ull
#define WAN_BPS (125 * MB)
#define BYTES	(60 * MB)

struct shrink {
	struct world *w;
	uint32_t to;
	uint64_t at_ns, noticed_ns;
	uint64_t placed; /* when it shrank */
};

static uint64_t
one_mb(void *arg, uint32_t i)
{
	(void)arg;
	(void)i;
	return MB;
}

static uint64_t
placed(const struct world *w)
{
	uint64_t n = 0;
	for (uint32_t k = 0; k < w->nstream; k++)
		for (uint32_t i = 0; i < w->stream[k].n; i++)
			n += w->stream[k].block[i].got;
	return n;
}

/* Until the sending relay knows. */
static void
watch(struct sim *s, void *who, uint64_t arg)
{
	struct shrink *x = who;
	struct suci_path_info i;
	const struct rnode *r = x->w->relay;
	(void)arg;
	for (uint32_t p = 0; p < x->w->conf.relay.limits.paths_max; p++)
		if (suci_path_info(r->ep, p, &i) && i.peer.leg == RELAY_LEG_GLOBAL &&
		    i.mtu <= x->to) {
			x->noticed_ns = s->now_ns;
			return;
		}
	sim_at(s, s->now_ns + BASE_MS_NS, watch, x, 0);
}

static void
narrow(struct sim *s, void *who, uint64_t arg)
{
	struct shrink *x = who;
	(void)arg;
	for (uint32_t i = x->w->trunk_links_first; i < x->w->trunk_links_end; i++)
		s->link[i].conf.mtu = x->to;
	x->at_ns = s->now_ns;
	x->placed = placed(x->w);
	sim_log(s, "the WAN passes %u", x->to);
	sim_at(s, s->now_ns, watch, x, 0);
}

/* What the wire has to carry for so many bytes in segments of mss, each cut into parts for that
 * datagram. */
static uint64_t
parts_ns(uint64_t bytes, uint32_t mss, uint32_t mtu)
{
	uint64_t segments = (bytes + mss - 1) / mss, image = mss + SUCI_LANE_HDR;
	uint64_t room = mtu - SUCI_PATH_HDR - SUCI_PART_HDR - SUCI_SEAL_TAG - SUCI_FIRST_EXT;
	uint64_t n = (image + room - 1) / room;
	uint64_t wire = image + n * (SUCI_PATH_HDR + SUCI_PART_HDR + SIM_UDP_OVERHEAD);
	return segments * wire * 1000 / (WAN_BPS / MB);
}

/* Two relays, 1 Gb/s and 5 ms between them, 60 MB on their way; after 150 ms the WAN passes less,
 * for good.  From the seed: what it carried and carries, the loss, congestion control, sealing.
 * Bounded are the time until the relay knows, and from then on the speed. */
void
shrink_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct world_conf c;
	world_conf_default(&c);
	c.nclusters = 2;
	c.cluster[0] = c.cluster[1] = (struct cluster_conf){1, 1};
	c.start_ns = 100 * BASE_MS_NS;
	c.private_mtu = 9000 - SIM_IP_UDP;
	c.global_mtu = (uint32_t)PICK(&p, 1472, 8972, 8972);
	c.trunk.delay_ns = 5 * BASE_MS_NS;
	c.trunk.loss_ppb = (uint32_t)PICK(&p, 0, 1000000, 10000000);
	c.seal_global = base_prng_below(&p, 2);
	c.seal_identities = c.seal_global && seed % 2;
	c.end.cc = SUCI_CC_FIXED;
	c.end.fixed_window = 1000;
	c.relay.cc = base_prng_below(&p, 2) ? SUCI_CC_BBR : SUCI_CC_FIXED;
	/* What it takes in datagrams of 1400; halves of 1472 fill theirs by half. */
	c.relay.fixed_window = c.global_mtu == 1472 ? 2200 : 1100;
	c.relay.mtu_min = 1472;
	c.end.limits.segments_max = 16384;
	c.lane_window = 2048;
	c.lanes.held_max = c.lanes.ranges_max = 4 * c.lane_window;
	c.relay.limits.parts_max = 8192;
	c.relay.limits.wholes_max = 256;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	struct shrink x = {.to = (uint32_t)PICK(&p, SUCI_MTU_SAFE, 1300, 1400)};
	c.relay.fixed_rate_bps = WAN_BPS * x.to / (x.to + SIM_UDP_OVERHEAD);
	struct world *w = x.w = world_new(s, &c);
	for (uint32_t i = w->global_links_first; i < w->global_links_end; i++)
		s->link[i].conf.rate_bps = WAN_BPS;
	struct stream *st = world_stream(w, 0, 1, (uint32_t)(BYTES / MB), one_mb, NULL);
	st->outstanding_max = 32;
	world_start(w);
	sim_at(s, s->now_ns + c.start_ns + 150 * BASE_MS_NS, narrow, &x, 0);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 60 s");
	if (!s->failed) {
		const struct suci_counters *n = suci_counters(w->relay[0].ep);
		uint64_t limit = parts_ns(BYTES - x.placed, c.global_mtu - SUCI_OVERHEAD, x.to);
		uint64_t took = st->block[st->n - 1].placed_ns - x.at_ns;
		snprintf(o->note, sizeof o->note,
			 "%u to %u, %u ppm lost, %s, %s: %llu MB in %llu ms, the wire %llu ms; "
			 "known after %llu ms; %llu segments cut",
			 c.global_mtu, x.to, c.trunk.loss_ppb / 1000,
			 c.relay.cc == SUCI_CC_BBR ? "bbr" : "fixed",
			 c.seal_global ? "sealed" : "open",
			 (unsigned long long)((BYTES - x.placed) / MB),
			 (unsigned long long)(took / BASE_MS_NS),
			 (unsigned long long)(limit / BASE_MS_NS),
			 (unsigned long long)(x.noticed_ns - x.at_ns) / BASE_MS_NS,
			 (unsigned long long)n->tx_cut);
		SIM_CHECK(s, n->tx_cut > 0, "%s; nothing was cut", o->note);
		/* A probe timeout and four round trips, and again where one of the small ones that
		 * tell was lost.  Of the halves of 1472 twice as many are. */
		bool lossy = c.trunk.loss_ppb > 1000000;
		uint64_t percent = lossy && c.global_mtu == 1472 ? 70 : 88;
		uint64_t most_ms = lossy ? 400 : 250;
		SIM_CHECK(s, x.noticed_ns <= x.at_ns + most_ms * BASE_MS_NS, "%s; wanted %llu ms",
			  o->note, (unsigned long long)most_ms);
		SIM_CHECK(s, (took - (x.noticed_ns - x.at_ns)) * percent / 100 <= limit,
			  "%s; wanted %u %%", o->note, (unsigned)percent);
	}
	scenario_end(w, o);
}
