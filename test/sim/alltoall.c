/* SPDX-License-Identifier: BSD-2-Clause */
/* All-to-all of 32 processes (others in the grid) over one shared 10 Gb/s link of 5 ms: each sends
 * the same amount to each other at the same time.  With TCP the relay paper saw a dip between 4 and
 * 32 KB: thousands of retransmission timeouts.
 *
 *     rank -- 10 Gb/s --\                          /-- 10 Gb/s -- rank
 *     rank -- 10 Gb/s ---+== 10 Gb/s, 5 ms, queue ==+-- 10 Gb/s -- rank
 *
 * The limit of a size is the time of all its bytes with headers on the shared link, plus
 * one way.  Paths and lanes are open when the clock starts (each has carried 8 bytes).
 * Beyond 64 KB a message is given as blocks of 64 KB. */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#define PIECE 65536u
#define SIZES 11u /* 1 KB .. 1 MB */

struct alltoall_conf {
	enum suci_cc_kind cc;
	uint32_t ranks;
	uint64_t delay_ns;
	uint32_t outstanding_max; /* blocks */
	uint64_t bytes_max;
	uint64_t fixed_rate_bps; /* of each path */
	uint32_t initial_window, burst_bytes;
	uint64_t queue_bytes;
	uint32_t percent, dip; /* permille below both neighbours */
};

#define RANKS 32u
#define USUAL .ranks = RANKS, .delay_ns = 5 * BASE_MS_NS, .outstanding_max = 4, .bytes_max = 1 << 20

static uint64_t
pieces(void *arg, uint32_t i)
{
	uint64_t bytes = *(const uint64_t *)arg;
	return !i ? 8 : bytes < PIECE ? bytes : PIECE;
}

static void
share_link(struct world *w, const struct sim_link_conf *conf, uint32_t *shared)
{
	struct sim *s = w->s;
	*shared = sim_add_link(s, conf);
	for (uint32_t a = 0; a < w->nend; a++)
		for (uint32_t b = 0; b < w->nend; b++) {
			uint32_t from = w->end[a].port, to = w->end[b].port;
			if (a == b)
				continue;
			uint32_t hops[3] = {s->route[from][to][0] - 1u, *shared,
					    s->route[from][to][1] - 1u};
			sim_set_route(s, from, to, hops, 3);
		}
}

static struct world *
make(const struct alltoall_conf *x, uint64_t bytes, uint64_t seed, bool verbose, uint32_t *shared)
{
	struct world_conf c;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.cluster[0].ranks = x->ranks;
	c.private_mtu = 1500 - SIM_IP_UDP;
	c.private_nic.delay_ns = BASE_US_NS;
	c.end.limits = (struct suci_limits){
		.paths_max = 64, .segments_max = 8192, .queue_max = 1024, .window_max = 1024};
	c.end.cc = x->cc;
	c.end.initial_window = x->initial_window;
	c.end.fixed_rate_bps = x->fixed_rate_bps;
	c.end.fixed_window = 1024;
	c.end.burst_bytes = x->burst_bytes;
	c.lanes.lanes_max = 64;
	c.lanes.blocks_max = 512;
	c.lanes.rx_blocks_max = 512;
	struct world *w = world_new(s, &c);
	struct sim_link_conf l = {.rate_bps = 1250000000,
				  .delay_ns = x->delay_ns,
				  .queue_bytes = x->queue_bytes,
				  .overhead_bytes = SIM_UDP_OVERHEAD,
				  .mtu = c.private_mtu};
	share_link(w, &l, shared);
	uint32_t n = 1 + (uint32_t)((bytes + PIECE - 1) / PIECE);
	for (uint32_t a = 0; a < x->ranks; a++)
		for (uint32_t b = 0; b < x->ranks; b++) {
			if (a == b)
				continue;
			struct stream *st = world_stream(w, a, b, n, pieces, &bytes);
			st->outstanding_max = x->outstanding_max;
			st->manual = true;
			stream_allow(st, 1);
		}
	return w;
}

static bool
warm(void *who)
{
	const struct world *w = who;
	return w->seen.done == w->nstream;
}

/* Time of all bytes and headers on the shared link, and one way to the last rank. */
static uint64_t
limit_of(const struct alltoall_conf *x, const struct world *w, uint64_t bytes)
{
	const struct sim_link_conf *nic = &w->conf.private_nic;
	uint64_t mss = w->conf.private_mtu - SUCI_OVERHEAD, wire = 0;
	for (uint64_t left = bytes; left; left -= left < PIECE ? left : PIECE) {
		uint64_t len = left < PIECE ? left : PIECE;
		uint64_t segs = (len + SUCI_FIRST_EXT + mss - 1) / mss;
		wire += len + SUCI_FIRST_EXT +
			segs * (SUCI_PATH_HDR + SUCI_LANE_HDR + SIM_UDP_OVERHEAD);
	}
	return wire * w->nstream * 1000 / 1250 + x->delay_ns + nic->delay_ns;
}

/* Permille of the limit that one size reaches. */
static uint64_t
one_size(const struct alltoall_conf *x, uint64_t bytes, uint64_t seed, bool verbose,
	 struct outcome *o)
{
	uint32_t shared;
	struct world *w = make(x, bytes, seed, verbose, &shared);
	struct sim *s = w->s;
	uint64_t reached = 0, last = 0;
	world_start(w);
	sim_run(s, s->now_ns + 10 * BASE_S_NS, warm, w);
	sim_run(s, s->now_ns + 100 * BASE_MS_NS, NULL, NULL);
	SIM_CHECK(s, warm(w), "paths are not open after 10 s");
	uint64_t from = s->now_ns, before = s->link[shared].n.drop_queue;
	for (uint32_t i = 0; i < w->nstream; i++)
		stream_allow(&w->stream[i], w->stream[i].n);
	for (uint32_t r = 0; r < x->ranks; r++)
		end_drive(&w->end[r]);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "%llu bytes each: not complete after 60 s",
		  (unsigned long long)bytes);
	for (uint32_t i = 0; i < w->nstream; i++)
		last = base_max_ns(last, w->stream[i].block[w->stream[i].n - 1].placed_ns);
	if (!s->failed) {
		reached = limit_of(x, w, bytes) * 1000 / (last - from);
		sim_log(s, "%llu KB: %llu us, limit %llu us, %llu lost",
			(unsigned long long)bytes / 1024, (unsigned long long)(last - from) / 1000,
			(unsigned long long)limit_of(x, w, bytes) / 1000,
			(unsigned long long)(s->link[shared].n.drop_queue - before));
	}
	struct outcome one = {0};
	scenario_end(w, &one);
	o->ok = o->ok && one.ok;
	o->hash = o->hash * 31 + one.hash;
	o->events += one.events;
	o->virtual_ns += one.virtual_ns;
	if (!one.ok)
		snprintf(o->why, sizeof o->why, "%s", one.why);
	return reached;
}

static void
alltoall(const struct alltoall_conf *x, uint64_t seed, bool verbose, struct outcome *o)
{
	uint64_t reached[SIZES];
	uint32_t nsizes = 0;
	while (nsizes < SIZES && 1024ull << nsizes <= x->bytes_max)
		nsizes++;
	int at = snprintf(o->note, sizeof o->note, "1 KB .. 1 MB, %% of the limit:");
	o->ok = true;
	for (uint32_t k = 0; k < nsizes && o->ok; k++) {
		reached[k] = one_size(x, 1024ull << k, seed + k, verbose, o);
		at += snprintf(o->note + at, sizeof o->note - (size_t)at, " %llu.%llu",
			       (unsigned long long)reached[k] / 10,
			       (unsigned long long)reached[k] % 10);
	}
	for (uint32_t k = 0; k < nsizes && o->ok; k++) {
		bool low = reached[k] < 10ull * x->percent;
		bool dip = k && k + 1 < nsizes && reached[k] + x->dip <= reached[k - 1] &&
			   reached[k] + x->dip <= reached[k + 1];
		if (!low && !dip)
			continue;
		o->ok = false;
		snprintf(o->why, sizeof o->why, "%s; wanted %u at each, and no dip", o->note,
			 x->percent);
	}
}

/* A light path: each pair its share of it. */
void
alltoall_fixed(uint64_t seed, bool verbose, struct outcome *o)
{
	const uint64_t mtu = 1500 - SIM_IP_UDP;
	const struct alltoall_conf x = {.cc = SUCI_CC_FIXED,
					USUAL,
					.fixed_rate_bps = 1250000000 / (RANKS * (RANKS - 1)) * mtu /
							  (mtu + SIM_UDP_OVERHEAD),
					.burst_bytes = 2 * 1500,
					.queue_bytes = 12500000,
					.percent = 95,
					.dip = 2};
	alltoall(&x, seed, verbose, o);
}

/* A shared link, a queue of one bandwidth-delay product. */
void
alltoall_cubic(uint64_t seed, bool verbose, struct outcome *o)
{
	const struct alltoall_conf x = {
		.cc = SUCI_CC_CUBIC, USUAL, .queue_bytes = 12500000, .percent = 95, .dip = 4};
	alltoall(&x, seed, verbose, o);
}

void
alltoall_bbr(uint64_t seed, bool verbose, struct outcome *o)
{
	const struct alltoall_conf x = {
		.cc = SUCI_CC_BBR, USUAL, .queue_bytes = 12500000, .percent = 95, .dip = 4};
	alltoall(&x, seed, verbose, o);
}
