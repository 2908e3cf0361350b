/* Congestion control in virtual time: what bbr and cubic make of a wide-area link. */
#include "scenario.h"

#include "base/assert.h"

#include <stdio.h>

#define MB    1000000ull
#define GBIT  (125 * MB)
#define DELAY (10 * BASE_MS_NS)

/* Blocks of 1 MB over a direct path of 1 Gb/s and 10 ms one way. */
static uint64_t
mb_after_first(void *arg, uint32_t i)
{
	(void)arg;
	return i ? MB : 8;
}

struct wan {
	enum suci_cc_kind cc;
	uint32_t loss_ppb;
	uint64_t queue_bytes; /* 0: no limit */
	uint32_t mb;
};

/* The first link of the way from rank 0 to rank 1 is its interface: what queues, queues
 * there. */
static struct sim_link *
first_link(struct world *w)
{
	struct sim *s = w->s;
	return &s->link[s->route[w->end[0].port][w->end[1].port][0] - 1];
}

static struct world *
wan_world(uint64_t seed, bool verbose, const struct wan *wan)
{
	struct world_conf c;
	world_conf_default(&c);
	c.private_mtu = 1500 - SIM_IP_UDP;
	c.private_nic = (struct sim_link_conf){.rate_bps = GBIT,
					       .delay_ns = DELAY,
					       .overhead_bytes = SIM_UDP_OVERHEAD,
					       .loss_ppb = wan->loss_ppb};
	c.end.cc = wan->cc;
	c.end.limits.segments_max = 16384;
	c.end.limits.queue_max = c.end.limits.window_max = 8192;
	c.lane_window = 8192;
	c.lanes.ranges_max = c.lanes.held_max = 16384;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	struct world *w = world_new(s, &c);
	first_link(w)->conf.queue_bytes = wan->queue_bytes;
	struct stream *st = world_stream(w, 0, 1, wan->mb + 1, mb_after_first, NULL);
	st->outstanding_max = 16;
	return w;
}

static uint64_t
percent10(uint64_t a, uint64_t b)
{
	return b ? a * 1000 / b : 0;
}

/* All of it, against the wire. */
static void
wan_run(uint64_t seed, bool verbose, struct outcome *o, const struct wan *wan, uint32_t percent)
{
	struct world *w = wan_world(seed, verbose, wan);
	struct sim *s = w->s;
	const struct stream *st = &w->stream[0];
	world_start(w);
	sim_run(s, s->now_ns + 600 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 600 s");
	uint32_t mss = w->conf.private_mtu - SUCI_OVERHEAD;
	uint64_t n = (wan->mb * MB + mss - 1) / mss;
	uint64_t per = w->conf.private_mtu - SUCI_SEAL_TAG - SUCI_FIRST_EXT + SIM_UDP_OVERHEAD;
	uint64_t limit = n * per * BASE_S_NS / GBIT + DELAY;
	uint64_t took = st->block[st->n - 1].placed_ns - st->block[1].sent_ns;
	uint64_t p = percent10(limit, took);
	snprintf(o->note, sizeof o->note, "%u MB in %llu ms, limit %llu ms: %llu.%llu %%", wan->mb,
		 (unsigned long long)(took / BASE_MS_NS), (unsigned long long)(limit / BASE_MS_NS),
		 (unsigned long long)p / 10, (unsigned long long)p % 10);
	SIM_CHECK(s, p >= 10 * percent, "%s; wanted %u %%", o->note, percent);
	scenario_end(w, o);
}

void
speed_bbr(uint64_t seed, bool verbose, struct outcome *o)
{
	wan_run(seed, verbose, o, &(struct wan){SUCI_CC_BBR, 0, 0, 400}, 92);
}

void
speed_bbr_loss(uint64_t seed, bool verbose, struct outcome *o)
{
	wan_run(seed, verbose, o, &(struct wan){SUCI_CC_BBR, 10000000, 0, 400}, 90);
}

void
speed_cubic_loss(uint64_t seed, bool verbose, struct outcome *o)
{
	wan_run(seed, verbose, o, &(struct wan){SUCI_CC_CUBIC, 10000000, 0, 20}, 0);
}
