/* Many senders, one receiver that can hold little: everybody is served evenly and the
 * receiver's link is never idle for long. */
#include "scenario.h"

#include <stdio.h>

struct incast {
	struct world *w;
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
	for (uint32_t i = 0; i < w->nstream; i++)
		if (w->stream[i].placed < w->stream[i].n)
			return false;
	return true;
}

static void
incast(uint32_t senders, uint64_t bytes, uint32_t blocks, uint32_t mtu, uint32_t credit_total,
       uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.cluster[0].ranks = senders + 1;
	c.private_nic.queue_bytes = 1000000;
	c.end.limits = (struct suci_limits){
		.paths_max = 256, .segments_max = 1024, .queue_max = 512, .window_max = 512};
	c.end.credit_total = credit_total;
	c.private_mtu = mtu;
	c.lanes.lanes_max = 256;
	c.lanes.rx_blocks_max = 2 * senders;
	c.lanes.held_max = 32;
	c.lanes.ranges_max = 64;
	struct world *w = world_new(s, &c);
	struct incast x = {.w = w};
	x.in = &s->link[s->route[w->end[1].port][w->end[0].port][1] - 1];
	x.in->aim = watch;
	x.in->aim_who = &x;
	for (uint32_t r = 1; r <= senders; r++)
		world_stream(w, r, 0, blocks, incast_size, &bytes)->outstanding_max = blocks;
	world_start(w);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, all_placed, w);
	SIM_CHECK(s, all_placed(w), "not complete after 60 s");
	uint64_t idle_ns = x.idle_ns;
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not quiet after 60 s");
	if (!s->failed) {
		uint32_t mss = c.private_mtu - SUCI_OVERHEAD;
		uint64_t per = (bytes + mss - 1) / mss *
			       (SUCI_PATH_HDR + SUCI_LANE_HDR + SIM_UDP_OVERHEAD);
		uint64_t ideal = (bytes + per) * blocks * senders * 1000 /
				 (c.private_nic.rate_bps / 1000000);
		uint64_t first = BASE_NEVER_NS, last = 0, sum = 0, least = BASE_NEVER_NS, most = 0;
		for (uint32_t i = 0; i < w->nstream; i++) {
			const struct stream *st = &w->stream[i];
			uint64_t end = st->block[st->n - 1].placed_ns;
			first = base_min_ns(first, st->block[0].sent_ns);
			last = base_max_ns(last, end);
		}
		for (uint32_t i = 0; i < w->nstream; i++) {
			const struct stream *st = &w->stream[i];
			uint64_t took = st->block[st->n - 1].placed_ns - first;
			sum += took;
			least = base_min_ns(least, took);
			most = base_max_ns(most, took);
		}
		uint64_t mean = sum / senders, took = last - first;
		/* Of a full datagram over two links and its ack. */
		uint64_t rtt_ns = 2 * c.private_nic.delay_ns +
				  2 * (mtu + SIM_UDP_OVERHEAD) * BASE_S_NS / c.private_nic.rate_bps;
		snprintf(o->note, sizeof o->note,
			 "%llu us, ideal %llu us; senders %llu..%llu us, mean %llu us; idle at "
			 "most %llu us after %llu us, in all %llu us",
			 (unsigned long long)took / 1000, (unsigned long long)ideal / 1000,
			 (unsigned long long)least / 1000, (unsigned long long)most / 1000,
			 (unsigned long long)mean / 1000, (unsigned long long)idle_ns / 1000,
			 (unsigned long long)x.at_ns / 1000,
			 (unsigned long long)x.idle_sum_ns / 1000);
		SIM_CHECK(s, idle_ns <= 3 * rtt_ns, "%s; wanted at most %llu us idle", o->note,
			  (unsigned long long)(3 * rtt_ns) / 1000);
		SIM_CHECK(s, took * 2 <= ideal * 3, "%s; wanted at most 1.5 times", o->note);
		SIM_CHECK(s, least * 4 >= mean * 3 && most * 4 <= mean * 5,
			  "%s; wanted every sender within a quarter of the mean", o->note);
	}
	scenario_end(w, o);
}

void
incast_small(uint64_t seed, bool verbose, struct outcome *o)
{
	incast(16, 250000, 8, 9000 - SIM_IP_UDP, 64, seed, verbose, o);
}

void
incast_many(uint64_t seed, bool verbose, struct outcome *o)
{
	incast(200, 125000, 4, 1500 - SIM_IP_UDP, 400, seed, verbose, o);
}
