/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control in virtual time: what bbr and cubic make of a wide-area link. */
#include "reno.h"
#include "scenario.h"

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
	wan_run(seed, verbose, o, &(struct wan){SUCI_CC_CUBIC, 10000000, 0, 400}, 60);
}

/* ---- several on one link ------------------------------------------------- */

#define SHARE_MTU (1500 - SIM_IP_UDP)
#define FLOWS_MAX 3

/* nsuci paths (rank i to rank nsuci + i) and perhaps one Reno flow through one link. */
struct share {
	enum suci_cc_kind cc;
	uint32_t nsuci;
	bool reno;
	uint64_t rate_bps, delay_ns; /* of the link; the ways back delay as much */
	uint64_t bdps;		     /* its queue, bandwidth-delay products */
	uint32_t from_s, until_s;    /* what counts */
	uint32_t mb;		     /* each Suci path sends so much: more than its share */
};

struct sharing {
	struct world *w;
	struct reno *reno;
	uint32_t link; /* the bottleneck */
	uint64_t at_ns;
	uint64_t bytes[FLOWS_MAX]; /* UDP payload that arrived so far */
};

static void
wire_through(struct sim *s, uint32_t from, uint32_t to, uint32_t bottleneck,
	     const struct sim_link_conf *back)
{
	struct sim_link_conf nic = {.rate_bps = 8 * GBIT, .overhead_bytes = SIM_UDP_OVERHEAD};
	uint32_t hops[2] = {sim_add_link(s, &nic), bottleneck};
	uint32_t way_back[1] = {sim_add_link(s, back)};
	sim_set_route(s, from, to, hops, 2);
	sim_set_route(s, to, from, way_back, 1);
}

static struct world *
share_world(uint64_t seed, bool verbose, const struct share *c, struct sharing *x)
{
	struct world_conf wc;
	world_conf_default(&wc);
	wc.cluster[0].ranks = 2 * c->nsuci;
	wc.private_mtu = SHARE_MTU;
	wc.private_nic =
		(struct sim_link_conf){.rate_bps = 8 * GBIT, .overhead_bytes = SIM_UDP_OVERHEAD};
	wc.end.cc = c->cc;
	wc.lanes.ranges_max = wc.lanes.held_max = 16384;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	s->events_max = 400000000;
	struct world *w = world_new(s, &wc);
	uint64_t bdp = c->rate_bps * 2 * c->delay_ns / BASE_S_NS;
	uint32_t link = sim_add_link(s, &(struct sim_link_conf){.rate_bps = c->rate_bps,
								.delay_ns = c->delay_ns,
								.overhead_bytes = SIM_UDP_OVERHEAD,
								.queue_bytes = c->bdps * bdp});
	struct sim_link_conf back = {.rate_bps = 8 * GBIT, .delay_ns = c->delay_ns};
	*x = (struct sharing){.w = w, .link = link};
	for (uint32_t i = 0; i < c->nsuci; i++) {
		wire_through(s, w->end[i].port, w->end[c->nsuci + i].port, link, &back);
		struct stream *st = world_stream(w, i, c->nsuci + i, c->mb, mb_after_first, NULL);
		st->outstanding_max = 8;
	}
	if (c->reno) {
		x->reno =
			reno_new(s, 0, 0x0a000100, SHARE_MTU, SHARE_MTU * BASE_S_NS / c->rate_bps);
		wire_through(s, x->reno->port, x->reno->sink, link, &back);
	}
	return w;
}

static void
count_bytes(const struct share *c, const struct sharing *x, uint64_t *bytes)
{
	for (uint32_t i = 0; i < c->nsuci; i++)
		bytes[i] = suci_counters(x->w->end[c->nsuci + i].ep)->rx_bytes;
	if (c->reno)
		bytes[c->nsuci] = x->reno->received * SHARE_MTU;
}

/* Shares in tenths of a percent of an equal one; how much of the link was used. */
static void
share_run(uint64_t seed, bool verbose, struct outcome *o, const struct share *c, uint32_t percent)
{
	struct sharing x;
	struct world *w = share_world(seed, verbose, c, &x);
	struct sim *s = w->s;
	uint64_t begun = s->now_ns, before[FLOWS_MAX], after[FLOWS_MAX], sum = 0;
	uint32_t n = c->nsuci + c->reno;
	world_start(w);
	if (c->reno)
		reno_start(x.reno);
	sim_run(s, begun + c->from_s * BASE_S_NS, NULL, NULL);
	count_bytes(c, &x, before);
	sim_run(s, begun + c->until_s * BASE_S_NS, NULL, NULL);
	count_bytes(c, &x, after);
	for (uint32_t i = 0; i < n; i++)
		sum += after[i] - before[i];
	SIM_CHECK(s, !world_complete(w), "the paths had not enough to send");
	if (c->reno)
		reno_stop(x.reno);
	sim_run(s, s->now_ns + 600 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 600 s");
	int at = 0;
	bool fair = true;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t part = percent10((after[i] - before[i]) * n, sum);
		at += snprintf(o->note + at, sizeof o->note - (size_t)at, "%s %llu.%llu %%, ",
			       i < c->nsuci ? "path" : "Reno", (unsigned long long)part / 10,
			       (unsigned long long)part % 10);
		fair = fair && part >= 1000 - 10 * percent && part <= 1000 + 10 * percent;
	}
	uint64_t wire = (c->until_s - c->from_s) * c->rate_bps;
	uint64_t use = percent10(sum / SHARE_MTU * (SHARE_MTU + SIM_UDP_OVERHEAD), wire);
	snprintf(o->note + at, sizeof o->note - (size_t)at,
		 "100 %% is an equal share; link %llu.%llu %% used", (unsigned long long)use / 10,
		 (unsigned long long)use % 10);
	SIM_CHECK(s, fair, "%s; wanted within %u %% of equal", o->note, percent);
	scenario_end(w, o);
	if (c->reno)
		reno_free(x.reno);
}

void
fair_cubic(uint64_t seed, bool verbose, struct outcome *o)
{
	share_run(seed, verbose, o,
		  &(struct share){.cc = SUCI_CC_CUBIC,
				  .nsuci = 2,
				  .reno = true,
				  .rate_bps = GBIT / 10,
				  .delay_ns = DELAY,
				  .bdps = 1,
				  .from_s = 20,
				  .until_s = 140,
				  .mb = 800},
		  25);
}

void
fair_bbr(uint64_t seed, bool verbose, struct outcome *o)
{
	share_run(seed, verbose, o,
		  &(struct share){.cc = SUCI_CC_BBR,
				  .nsuci = 2,
				  .reno = true,
				  .rate_bps = GBIT / 10,
				  .delay_ns = DELAY,
				  .bdps = 1,
				  .from_s = 10,
				  .until_s = 70,
				  .mb = 420},
		  50);
}

void
fair_bbr_pair(uint64_t seed, bool verbose, struct outcome *o)
{
	share_run(seed, verbose, o,
		  &(struct share){.cc = SUCI_CC_BBR,
				  .nsuci = 2,
				  .rate_bps = GBIT / 10,
				  .delay_ns = DELAY,
				  .bdps = 1,
				  .from_s = 30,
				  .until_s = 70,
				  .mb = 600},
		  25);
}

/* ---- a queue that holds a second ----------------------------------------- */

struct queue {
	struct sim *s;
	const struct sim_link *link;
	uint64_t max_ns, sum_ns, n, from_ns, startup_ns;
};

static void
look(struct sim *s, void *who, uint64_t arg)
{
	struct queue *q = who;
	(void)arg;
	uint64_t waits = q->link->free_at_ns > s->now_ns ? q->link->free_at_ns - s->now_ns : 0;
	if (s->now_ns < q->from_ns) {
		q->startup_ns = base_max_ns(q->startup_ns, waits);
	} else {
		q->max_ns = base_max_ns(q->max_ns, waits);
		q->sum_ns += waits;
		q->n++;
	}
	sim_at(s, s->now_ns + BASE_MS_NS, look, q, 0);
}

/* One path for 20 s, then until it is done; what waits is seen every millisecond. */
static struct queue
queue_run(uint64_t seed, bool verbose, struct outcome *o, enum suci_cc_kind cc, uint64_t *took_ns)
{
	struct share c = {.cc = cc,
			  .nsuci = 1,
			  .rate_bps = GBIT / 10,
			  .delay_ns = DELAY,
			  .bdps = 50,
			  .mb = 300};
	struct sharing x;
	struct world *w = share_world(seed, verbose, &c, &x);
	struct sim *s = w->s;
	struct queue q = {.s = s, .link = &s->link[x.link], .from_ns = s->now_ns + 2 * BASE_S_NS};
	uint64_t begun = s->now_ns;
	world_start(w);
	sim_at(s, s->now_ns, look, &q, 0);
	sim_run(s, s->now_ns + 600 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 600 s");
	*took_ns = s->now_ns - begun;
	scenario_end(w, o);
	return q;
}

void
queue_bbr(uint64_t seed, bool verbose, struct outcome *o)
{
	uint64_t cubic_ns, bbr_ns;
	struct queue cubic = queue_run(seed, false, o, SUCI_CC_CUBIC, &cubic_ns);
	if (!o->ok)
		return;
	struct queue bbr = queue_run(seed, verbose, o, SUCI_CC_BBR, &bbr_ns);
	if (!o->ok)
		return;
	uint64_t rtt_ns = 2 * DELAY, mean = bbr.sum_ns / bbr.n;
	snprintf(o->note, sizeof o->note,
		 "bbr: %llu us at most, %llu us on average (startup %llu us), done after %llu ms; "
		 "cubic: %llu us at most, %llu us, %llu ms; round trip %llu us",
		 (unsigned long long)bbr.max_ns / 1000, (unsigned long long)mean / 1000,
		 (unsigned long long)bbr.startup_ns / 1000,
		 (unsigned long long)(bbr_ns / BASE_MS_NS), (unsigned long long)cubic.max_ns / 1000,
		 (unsigned long long)(cubic.sum_ns / cubic.n / 1000),
		 (unsigned long long)(cubic_ns / BASE_MS_NS), (unsigned long long)rtt_ns / 1000);
	o->ok = bbr.startup_ns <= 2 * rtt_ns && bbr.max_ns <= rtt_ns && mean <= rtt_ns / 8;
	if (!o->ok)
		snprintf(o->why, sizeof o->why, "%s; wanted 2, 1 and 1/8 round trips", o->note);
}
