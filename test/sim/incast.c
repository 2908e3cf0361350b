/* SPDX-License-Identifier: BSD-2-Clause */
/* Many senders, one receiver that can hold little: everybody is served evenly and the
 * receiver's link is never idle for long. */
#include "scenario.h"

#include <stdio.h>

struct incast_conf {
	uint32_t senders, blocks;
	uint64_t bytes; /* of a block */
	uint32_t mtu;	/* of the link */
	uint32_t queue_bytes, credit_total;
	/* What is wanted: percent of the ideal time, every sender's distance from the mean
	 * in percent, longest time without a datagram on the link in round trips. */
	uint32_t time_pc, spread_pc, idle_rtt;
};

struct incast {
	struct world *w;
	const struct incast_conf *conf;
	struct sim_link *in; /* the last link to the receiver */
	uint64_t from_ns;    /* it has carried data since; 0: not yet */
	uint64_t idle_ns;    /* longest time it carried nothing since */
	uint64_t idle_sum_ns, at_ns;
};

static uint64_t
incast_size(void *arg, uint32_t i)
{
	(void)i;
	return *(const uint64_t *)arg;
}

/* Sees each datagram that is offered to the link; drops none. */
static bool
watch(void *who, const struct sim_buf *b)
{
	struct incast *x = who;
	uint64_t now = x->w->s->now_ns;
	if (!x->from_ns)
		x->from_ns = b->len > 1000 ? now : 0;
	else if (now > x->in->free_at_ns) {
		uint64_t idle = now - x->in->free_at_ns;
		if (idle > x->idle_ns) {
			x->idle_ns = idle;
			x->at_ns = now - x->from_ns;
		}
		x->idle_sum_ns += idle;
	}
	return false;
}

static bool
all_placed(void *who)
{
	const struct world *w = who;
	return w->seen.placed == w->blocks_total;
}

/* The receiver is made as configured, a sender knows nobody else. */
static void
small_senders(uint32_t rank, struct suci_config *c, struct suci_lane_limits *l)
{
	if (!rank)
		return;
	c->limits = (struct suci_limits){
		.paths_max = 2, .segments_max = 128, .queue_max = 64, .window_max = 64};
	l->lanes_max = 2;
	l->blocks_max = l->rx_blocks_max = 8;
	l->held_max = 8;
	l->ranges_max = 16;
}

static void
judge(const struct incast *x, struct outcome *o)
{
	struct world *w = x->w;
	struct sim *s = w->s;
	const struct incast_conf *c = x->conf;
	const struct sim_link_conf *nic = &w->conf.private_nic;
	uint32_t mss = w->conf.private_mtu - SUCI_OVERHEAD;
	uint64_t segs = (c->bytes + SUCI_FIRST_EXT + mss - 1) / mss;
	uint64_t wire = c->bytes + SUCI_FIRST_EXT +
			segs * (SUCI_PATH_HDR + SUCI_LANE_HDR + SIM_UDP_OVERHEAD);
	uint64_t ideal = wire * c->blocks * c->senders * 1000 / (nic->rate_bps / 1000000);
	uint64_t first = BASE_NEVER_NS, last = 0, sum = 0, least = BASE_NEVER_NS, most = 0;
	for (uint32_t i = 0; i < w->nstream; i++) {
		const struct stream *st = &w->stream[i];
		first = base_min_ns(first, st->block[0].sent_ns);
		last = base_max_ns(last, st->block[st->n - 1].placed_ns);
	}
	for (uint32_t i = 0; i < w->nstream; i++) {
		const struct stream *st = &w->stream[i];
		uint64_t took = st->block[st->n - 1].placed_ns - first;
		sum += took;
		least = base_min_ns(least, took);
		most = base_max_ns(most, took);
	}
	uint64_t mean = sum / c->senders, took = last - first;
	/* Of a full datagram over two links and its ack. */
	uint64_t rtt_ns = 2 * nic->delay_ns + 2 * (c->mtu + 38ull) * BASE_S_NS / nic->rate_bps;
	snprintf(o->note, sizeof o->note,
		 "%llu us, %llu.%02llu x ideal; senders %llu..%llu us, mean %llu us; %llu of %llu "
		 "lost; idle at most %llu us after %llu us, in all %llu us",
		 (unsigned long long)took / 1000, (unsigned long long)(took / ideal),
		 (unsigned long long)(took * 100 / ideal % 100), (unsigned long long)least / 1000,
		 (unsigned long long)most / 1000, (unsigned long long)mean / 1000,
		 (unsigned long long)x->in->n.drop_queue, (unsigned long long)x->in->n.offered,
		 (unsigned long long)x->idle_ns / 1000, (unsigned long long)x->at_ns / 1000,
		 (unsigned long long)x->idle_sum_ns / 1000);
	SIM_CHECK(s, took * 100 <= ideal * c->time_pc, "%s; wanted %u %% of ideal", o->note,
		  c->time_pc);
	SIM_CHECK(s, x->idle_ns <= c->idle_rtt * rtt_ns, "%s; wanted at most %llu us idle", o->note,
		  (unsigned long long)(c->idle_rtt * rtt_ns) / 1000);
	SIM_CHECK(s,
		  least * 100 >= mean * (100 - c->spread_pc) &&
			  most * 100 <= mean * (100 + c->spread_pc),
		  "%s; wanted every sender within %u %% of the mean", o->note, c->spread_pc);
}

static void
incast(const struct incast_conf *x, uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.cluster[0].ranks = x->senders + 1;
	c.private_nic.queue_bytes = x->queue_bytes;
	c.end.limits = (struct suci_limits){.paths_max = x->senders + 16,
					    .segments_max = 2 * x->senders + 64,
					    .queue_max = 512,
					    .window_max = 512};
	if (c.end.limits.queue_max > c.end.limits.segments_max)
		c.end.limits.queue_max = c.end.limits.segments_max;
	c.end.credit_total = x->credit_total;
	c.private_mtu = x->mtu - SIM_IP_UDP;
	c.lanes.lanes_max = x->senders + 16;
	c.lanes.rx_blocks_max = 2 * x->senders;
	c.lanes.held_max = 32;
	c.lanes.ranges_max = 64;
	c.tune = small_senders;
	struct world *w = world_new(s, &c);
	struct incast in = {.w = w, .conf = x};
	in.in = &s->link[s->route[w->end[1].port][w->end[0].port][1] - 1];
	in.in->aim = watch;
	in.in->aim_who = &in;
	uint64_t bytes = x->bytes;
	for (uint32_t r = 1; r <= x->senders; r++)
		world_stream(w, r, 0, x->blocks, incast_size, &bytes)->outstanding_max = x->blocks;
	world_start(w);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, all_placed, w);
	SIM_CHECK(s, all_placed(w), "not complete after 60 s");
	struct incast then = in; /* what follows is acks */
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not quiet after 60 s");
	if (!s->failed)
		judge(&then, o);
	scenario_end(w, o);
}

void
incast_small(uint64_t seed, bool verbose, struct outcome *o)
{
	const struct incast_conf x = {.senders = 16,
				      .blocks = 8,
				      .bytes = 250000,
				      .mtu = 9000,
				      .queue_bytes = 1000000,
				      .credit_total = 64,
				      .time_pc = 110,
				      .spread_pc = 20,
				      .idle_rtt = 2};
	incast(&x, seed, verbose, o);
}

void
incast_many(uint64_t seed, bool verbose, struct outcome *o)
{
	const struct incast_conf x = {.senders = 200,
				      .blocks = 4,
				      .bytes = 125000,
				      .mtu = 1500,
				      .queue_bytes = 1000000,
				      .credit_total = 400,
				      .time_pc = 110,
				      .spread_pc = 20,
				      .idle_rtt = 2};
	incast(&x, seed, verbose, o);
}

/* A thousand at once into a switch queue of 256 KB, which is a packet for one in six of
 * them at MTU 1500 and for one in 35 at 9000. */
static const struct incast_conf thousand = {.senders = 1000,
					    .blocks = 1,
					    .bytes = 65536,
					    .queue_bytes = 262144,
					    .time_pc = 110,
					    .spread_pc = 20,
					    .idle_rtt = 2};

void
incast_thousand(uint64_t seed, bool verbose, struct outcome *o)
{
	struct incast_conf x = thousand;
	x.mtu = 1500;
	x.credit_total = 96;
	incast(&x, seed, verbose, o);
}

void
incast_thousand_jumbo(uint64_t seed, bool verbose, struct outcome *o)
{
	struct incast_conf x = thousand;
	x.mtu = 9000;
	x.credit_total = 16;
	incast(&x, seed, verbose, o);
}
