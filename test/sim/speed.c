/* SPDX-License-Identifier: BSD-2-Clause */
/* Speed in virtual time: exact on any machine.  The bounds say what the protocol must
 * reach; the note says what it does reach. */
#include "scenario.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdio.h>

#define MB 1000000ull

static uint64_t
same_size(void *arg, uint32_t i)
{
	(void)i;
	return *(const uint64_t *)arg;
}

static struct world *
begin(uint64_t seed, bool verbose, const struct world_conf *c)
{
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	return world_new(s, c);
}

/* The wire's time for bytes of payload in full datagrams of mtu, headers included. */
static uint64_t
wire_ns(uint64_t bytes, uint32_t mtu, uint64_t rate_bps)
{
	uint32_t mss = mtu - SUCI_OVERHEAD;
	uint64_t n = (bytes + mss - 1) / mss;
	uint64_t per = mtu - SUCI_SEAL_TAG - SUCI_FIRST_EXT + SIM_UDP_OVERHEAD;
	return n * per * 1000 / (rate_bps / MB);
}

/* Second block handed over to last one placed; the first opens path and lane. */
static uint64_t
span_ns(const struct stream *st)
{
	return st->block[st->n - 1].placed_ns - st->block[1].sent_ns;
}

static bool
finish(struct world *w)
{
	sim_run(w->s, w->s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(w->s, world_quiet(w), "not complete after 60 s");
	return !w->s->failed;
}

static bool
quiet_so_far(void *who)
{
	const struct stream *st = who;
	return st->done == 1 && !suci_held(st->w->end[st->src].ep);
}

/* Block 0 alone until it is done, then all others. */
static bool
warm_up_and_finish(struct stream *st)
{
	struct world *w = st->w;
	st->manual = true;
	stream_allow(st, 1);
	world_start(w);
	sim_run(w->s, w->s->now_ns + 10 * BASE_S_NS, quiet_so_far, st);
	stream_allow(st, st->n);
	end_drive(&w->end[st->src]);
	return finish(w);
}

static uint64_t
small_then_mb(void *arg, uint32_t i)
{
	(void)arg;
	return i ? MB : 8;
}

/* One direct lane over a light path of 1 Gb/s and 5 ms, 20 MB as blocks of 1 MB. */
static void
lane(uint64_t seed, bool verbose, struct outcome *o, uint32_t loss_ppb, uint32_t percent)
{
	struct world_conf c;
	world_conf_default(&c);
	c.private_mtu = 1500 - SIM_IP_UDP;
	c.private_nic = (struct sim_link_conf){.rate_bps = 125 * MB,
					       .delay_ns = 5 * BASE_MS_NS,
					       .overhead_bytes = SIM_UDP_OVERHEAD,
					       .loss_ppb = loss_ppb};
	c.end.cc = SUCI_CC_FIXED;
	c.end.fixed_window = 4000;
	c.end.fixed_rate_bps = 125 * MB * c.private_mtu / (c.private_mtu + SIM_UDP_OVERHEAD);
	c.end.limits.segments_max = 16384;
	c.start_ns = 100 * BASE_MS_NS;
	struct world *w = begin(seed, verbose, &c);
	struct stream *st = world_stream(w, 0, 1, 21, small_then_mb, NULL);
	st->outstanding_max = 16;
	if (warm_up_and_finish(st)) {
		uint64_t limit = wire_ns(20 * MB, c.private_mtu, 125 * MB) + 5 * BASE_MS_NS;
		uint64_t took = span_ns(st);
		snprintf(o->note, sizeof o->note,
			 "20 MB in %llu us, limit of the wire %llu us: %llu.%llu %%",
			 (unsigned long long)took / 1000, (unsigned long long)limit / 1000,
			 (unsigned long long)(limit * 100 / took),
			 (unsigned long long)(limit * 1000 / took % 10));
		SIM_CHECK(w->s, limit * 100 >= took * percent, "%s; wanted %u %%", o->note,
			  percent);
	}
	scenario_end(w, o);
}

void
speed_lane(uint64_t seed, bool verbose, struct outcome *o)
{
	lane(seed, verbose, o, 0, 95);
}

void
speed_lane_loss(uint64_t seed, bool verbose, struct outcome *o)
{
	lane(seed, verbose, o, 1000000, 90);
}

static void
two_clusters(struct world_conf *c)
{
	world_conf_default(c);
	c->nclusters = 2;
	c->cluster[0] = c->cluster[1] = (struct cluster_conf){1, 1};
	c->start_ns = 100 * BASE_MS_NS; /* trunks are up when the clock starts */
}

/* 20 MB over two relays, WAN 1 Gb/s and 5 ms, against the wire's limit of that WAN. */
void
speed_relays(uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	two_clusters(&c);
	c.end.cc = c.relay.cc = SUCI_CC_FIXED;
	c.end.fixed_window = 1000;
	c.relay.fixed_window = 4000;
	c.relay.fixed_rate_bps = 125 * MB * c.global_mtu / (c.global_mtu + SIM_UDP_OVERHEAD);
	c.end.limits.segments_max = 16384;
	struct world *w = begin(seed, verbose, &c);
	struct stream *st = world_stream(w, 0, 1, 21, small_then_mb, NULL);
	st->outstanding_max = 16;
	if (warm_up_and_finish(st)) {
		uint64_t limit = wire_ns(20 * MB, c.global_mtu, 125 * MB) + 5 * BASE_MS_NS;
		uint64_t took = span_ns(st);
		snprintf(o->note, sizeof o->note,
			 "20 MB in %llu us, limit of the wire %llu us: %llu %%",
			 (unsigned long long)took / 1000, (unsigned long long)limit / 1000,
			 (unsigned long long)(limit * 100 / took));
		SIM_CHECK(w->s, limit * 100 >= took * 92, "%s; wanted 92 %%", o->note);
	}
	scenario_end(w, o);
}

/* ---- ping-pong ------------------------------------------------------------ */

struct pingpong {
	struct stream *there, *back;
	uint64_t begun_ns, sum_ns;
	uint32_t n;
};

static void
drive_later(struct sim *s, void *who, uint64_t arg)
{
	struct end *e = who;
	(void)s;
	(void)arg;
	end_drive(e);
}

static void
bounce(struct stream *st, uint32_t i)
{
	struct world *w = st->w;
	struct pingpong *pp = w->scenario;
	struct stream *next = st == pp->there ? pp->back : pp->there;
	if (st == pp->back) {
		/* The first rounds open paths and lanes. */
		if (i >= 4) {
			pp->sum_ns += w->s->now_ns - pp->begun_ns;
			pp->n++;
		}
		pp->begun_ns = w->s->now_ns;
	}
	stream_allow(next, next->allowed + 1);
	sim_at(w->s, w->s->now_ns, drive_later, &w->end[next->src], 0);
}

/* Half round trip of one segment of `bytes` over the links it passes: the sum of their
 * delays and of the serialization of the datagrams, and nothing else.  An answer carries the
 * 16 bytes of ack of what it answers: ack_ns on all wires.  To send them behind it would
 * spare that, for twice as many datagrams. */
static void
pingpong(struct world_conf *c, uint64_t bytes, uint64_t links_ns, uint64_t ack_ns, uint64_t seed,
	 bool verbose, struct outcome *o)
{
	struct world *w = begin(seed, verbose, c);
	struct pingpong pp = {.there = world_stream(w, 0, 1, 200, same_size, &bytes)};
	world_stream(w, 1, 0, 200, same_size, &bytes);
	pp.there = &w->stream[0];
	pp.back = &w->stream[1];
	pp.there->manual = pp.back->manual = true;
	stream_allow(pp.there, 1);
	w->scenario = &pp;
	w->on_placed = bounce;
	world_start(w);
	if (finish(w)) {
		uint64_t half = pp.n ? pp.sum_ns / pp.n / 2 : 0;
		snprintf(o->note, sizeof o->note,
			 "half round trip %llu ns, links alone %llu ns, with ack blocks %llu ns",
			 (unsigned long long)half, (unsigned long long)links_ns,
			 (unsigned long long)(links_ns + ack_ns));
		SIM_CHECK(w->s, half <= links_ns + ack_ns, "%s; no more wanted", o->note);
		SIM_CHECK(w->s, half >= links_ns, "%s: faster than light", o->note);
	}
	scenario_end(w, o);
}

/* Serialization of one segment of bytes at a rate, as sim.c rounds it. */
static uint64_t
ser_ns(uint64_t bytes, uint64_t rate_bps)
{
	uint64_t len = SUCI_PATH_HDR + SUCI_LANE_HDR + SUCI_FIRST_EXT + bytes + SIM_UDP_OVERHEAD;
	return (len * BASE_S_NS + rate_bps - 1) / rate_bps;
}

static uint64_t
ack_ns(uint64_t bytes, uint64_t rate_bps)
{
	return ser_ns(bytes + SUCI_ACK_HDR, rate_bps) - ser_ns(bytes, rate_bps);
}

void
speed_pingpong0(uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	world_conf_default(&c);
	uint64_t in = c.private_nic.rate_bps;
	pingpong(&c, 8, 5 * BASE_US_NS + 2 * ser_ns(8, in), 2 * ack_ns(8, in), seed, verbose, o);
}

void
speed_pingpong1(uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	two_clusters(&c);
	c.cluster[1].relays = 0;
	uint64_t n = HEAD_BYTES + 8, in = c.private_nic.rate_bps, out = c.global_nic.rate_bps;
	uint64_t links = 5 * BASE_US_NS + 2 * ser_ns(n, in) + 5 * BASE_MS_NS + 2 * ser_ns(n, out);
	pingpong(&c, n, links, 2 * ack_ns(n, in) + 2 * ack_ns(n, out), seed, verbose, o);
}

void
speed_pingpong2(uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	two_clusters(&c);
	uint64_t n = HEAD_BYTES + 8, in = c.private_nic.rate_bps, out = c.global_nic.rate_bps;
	uint64_t links =
		2 * (5 * BASE_US_NS + 2 * ser_ns(n, in)) + 5 * BASE_MS_NS + 2 * ser_ns(n, out);
	pingpong(&c, n, links, 4 * ack_ns(n, in) + 2 * ack_ns(n, out), seed, verbose, o);
}

/* ---- a lost tail ---------------------------------------------------------- */

struct tail {
	struct world *w;
	uint32_t last_seen;  /* LAST segments that passed the link */
	uint32_t aim;	     /* drop this one */
	uint64_t dropped_ns; /* 0: not yet */
};

/* Does this datagram carry a segment with the LAST flag? */
static bool
has_last(const struct sim_buf *b)
{
	if (b->len < SUCI_PATH_HDR + SUCI_LANE_HDR || (b->data[0] & 0x0f) != SUCI_T_DATA)
		return false;
	size_t lane = SUCI_PATH_HDR + (size_t)be16_load(b->data + 2);
	if (b->len < lane + SUCI_LANE_HDR)
		return false;
	uint16_t flags = be16_load(b->data + lane + 22);
	return (flags & SUCI_SF_LAST) && !(flags & (SUCI_SF_ACK | SUCI_SF_NOTE));
}

static bool
drop_tail(void *who, const struct sim_buf *b)
{
	struct tail *t = who;
	if (!has_last(b) || ++t->last_seen != t->aim)
		return false;
	t->dropped_ns = t->w->s->now_ns;
	return true;
}

/* The link into the middle of the way from one port to another. */
static struct sim_link *
link_between(struct sim *s, uint32_t from, uint32_t to)
{
	return &s->link[s->route[from][to][1] - 1];
}

static void
tail(struct world *w, struct sim_link *l, uint64_t rtt_ns, struct outcome *o)
{
	uint64_t size = 100000;
	struct stream *st = world_stream(w, 0, 1, 20, same_size, &size);
	static struct tail t;
	t = (struct tail){.w = w, .aim = st->n};
	l->aim = drop_tail;
	l->aim_who = &t;
	world_start(w);
	if (finish(w)) {
		SIM_CHECK(w->s, t.dropped_ns, "the last segment was never seen");
		uint64_t took = st->block[st->n - 1].placed_ns - t.dropped_ns;
		uint64_t bound = 2 * rtt_ns + 10 * BASE_MS_NS;
		snprintf(o->note, sizeof o->note, "lost tail is there after %llu us, RTT %llu us",
			 (unsigned long long)took / 1000, (unsigned long long)rtt_ns / 1000);
		SIM_CHECK(w->s, took <= bound, "%s; wanted at most %llu us", o->note,
			  (unsigned long long)bound / 1000);
	}
	scenario_end(w, o);
}

void
speed_tail(uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	world_conf_default(&c);
	c.private_nic.delay_ns = 5 * BASE_MS_NS;
	struct world *w = begin(seed, verbose, &c);
	tail(w, link_between(w->s, w->end[0].port, w->end[1].port), 10 * BASE_MS_NS, o);
}

void
speed_tail_relays(uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	two_clusters(&c);
	struct world *w = begin(seed, verbose, &c);
	uint32_t from = w->relay[0].port[RELAY_LEG_GLOBAL], to = w->relay[1].port[RELAY_LEG_GLOBAL];
	tail(w, link_between(w->s, from, to), 10 * BASE_MS_NS, o);
}

/* Sixteen senders, one receiver, a shallow queue: within a quarter of the link's time. */
void
speed_incast(uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	world_conf_default(&c);
	c.cluster[0].ranks = 17;
	c.private_nic.queue_bytes = 1000000;
	c.lanes.ranges_max = 16384;
	struct world *w = begin(seed, verbose, &c);
	uint64_t size = 250000;
	for (uint32_t r = 1; r < 17; r++)
		world_stream(w, r, 0, 8, same_size, &size)->outstanding_max = 8;
	world_start(w);
	if (finish(w)) {
		uint64_t limit = wire_ns(16 * 8 * size, c.private_mtu, c.private_nic.rate_bps);
		uint64_t first = BASE_NEVER_NS, last = 0;
		for (uint32_t i = 0; i < w->nstream; i++) {
			first = base_min_ns(first, w->stream[i].block[0].sent_ns);
			last = base_max_ns(last, w->stream[i].block[w->stream[i].n - 1].placed_ns);
		}
		snprintf(o->note, sizeof o->note, "32 MB in %llu us, the link alone %llu us",
			 (unsigned long long)(last - first) / 1000,
			 (unsigned long long)limit / 1000);
		SIM_CHECK(w->s, (last - first) * 2 <= limit * 5, "%s; wanted at most 2.5 times",
			  o->note);
	}
	scenario_end(w, o);
}
