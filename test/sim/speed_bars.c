/* SPDX-License-Identifier: BSD-2-Clause */
/* One lane at 10 Gb/s, 10 ms one way, datagrams of 9000: 1 GB, with random loss, over two
 * relays.  Virtual time: exact on any machine.
 *
 * Every hop is one wire: a datagram is serialized once per hop.  The limit is the time
 * that wire needs for the datagrams of 1 GB once, headers included, plus the delay.  The
 * clock runs from when the block is handed over, path and lane being open, until its last
 * byte is placed; loss is on from then on, on data and acks.
 *
 * Over relays the same block passes three wires.  The direct case it is compared with
 * has one wire whose delay is the sum of theirs, and the same losses: whether the n-th
 * transmission of a segment is lost depends on seed, segment and n alone, and the n-th ack
 * up to a packet on seed, packet and n.  A relay has a
 * segment before it passes it on, so two of them may add two serializations, and nothing
 * may be added beyond that: not even a byte on a wire that is never idle.  So there is no
 * end-to-end ack within the block: the lane's window is several blocks. */
#include "scenario.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>

#define MB    1000000ull
#define RATE  (1250 * MB)
#define DELAY (10 * BASE_MS_NS)
#define NEAR  (5 * BASE_US_NS) /* a private hop */
#define MTU   (9000 - SIM_IP_UDP)
#define BYTES (1000 * MB)
#define PPM   1000u /* of 10^9 */
#define SEQS  (1u << 17)

static uint64_t
giant_second(void *arg, uint32_t i)
{
	(void)arg;
	return i ? BYTES : HEAD_BYTES;
}

/* Serialization of a segment with bytes of payload, as sim.c rounds it. */
static uint64_t
seg_ns(uint64_t bytes)
{
	uint64_t len = SUCI_PATH_HDR + SUCI_LANE_HDR + bytes + SIM_UDP_OVERHEAD;
	return (len * BASE_S_NS + RATE - 1) / RATE;
}

static uint64_t
full_ns(void)
{
	return seg_ns(MTU - SUCI_OVERHEAD);
}

static uint64_t
limit_ns(void)
{
	uint64_t mss = MTU - SUCI_OVERHEAD;
	return BYTES / mss * full_ns() + (BYTES % mss ? seg_ns(BYTES % mss) : 0) + DELAY;
}

/* ---- losses -------------------------------------------------------------- */

struct dice {
	uint64_t seed;
	uint32_t loss_ppb;
	struct base_prng prng; /* for what is neither data nor their ack */
	uint8_t sent[SEQS];    /* transmissions of a segment, or acks up to a packet, so far */
	bool begun;
	uint32_t first_pn;	 /* of the data */
	const struct dice *data; /* on the way back: the dice of what is acknowledged */
	/* The last few of the data, and whether one was lost and not followed at once
	 * by three others, whose acks tell that it is lost: then a time tells, or stray
	 * retransmissions do. */
	const struct sim *s;
	struct {
		uint64_t ns;
		bool lost;
	} late[4];
	uint32_t n;
	bool sparse;
};

static bool
note(struct dice *d, bool lost)
{
	if (d->n >= 3 && d->late[(d->n - 3) % 4].lost &&
	    d->s->now_ns - d->late[(d->n - 3) % 4].ns > 100 * BASE_US_NS)
		d->sparse = true;
	d->late[d->n % 4].ns = d->s->now_ns;
	d->late[d->n++ % 4].lost = lost;
	return lost;
}

static bool
sparse(const struct dice *d)
{
	for (uint32_t i = 1; i <= 3; i++)
		if (d->late[(d->n - i) % 4].lost)
			return true;
	return d->sparse;
}

/* Is it data?  Its number in the lane. */
static bool
data_seq(const struct sim_buf *b, uint32_t *seq)
{
	if (b->len < SUCI_PATH_HDR + SUCI_LANE_HDR || (b->data[0] & 0x0f) != SUCI_T_DATA)
		return false;
	size_t lane = SUCI_PATH_HDR + (size_t)be16_load(b->data + 2);
	if (b->len <= lane + SUCI_LANE_HDR)
		return false;
	*seq = be32_load(b->data + lane + 8);
	return !(be16_load(b->data + lane + 22) & (SUCI_SF_ACK | SUCI_SF_NOTE));
}

/* An ack and nothing else?  The last packet it names, counted from the first of the data. */
static bool
ack_of(const struct dice *d, const struct sim_buf *b, uint32_t *last)
{
	uint32_t ack = be16_load(b->data + 2);
	if (!d->data || !d->data->begun || (b->data[0] & 0x0f) != SUCI_T_DATA ||
	    b->len != SUCI_PATH_HDR + ack || ack < SUCI_ACK_HDR)
		return false;
	*last = be32_load(b->data + SUCI_PATH_HDR) - d->data->first_pn;
	return true;
}

static bool throw(void *who, const struct sim_buf *b)
{
	struct dice *d = who;
	uint32_t seq;
	bool data = data_seq(b, &seq);
	if (data && !d->begun) {
		d->begun = true;
		d->first_pn = be32_load(b->data + 8);
	}
	if ((!data && !ack_of(d, b, &seq)) || seq >= SEQS)
		return base_prng_chance(&d->prng, d->loss_ppb);
	uint64_t x = d->seed ^ (uint64_t)seq << 32 ^ d->sent[seq]++;
	bool lost = base_prng_splitmix(&x) % BASE_S_NS < d->loss_ppb;
	return data ? note(d, lost) : lost;
}

static struct dice *
load(struct sim *s, struct sim_link *l, const struct dice *data, uint32_t loss_ppb)
{
	struct dice *d = calloc(1, sizeof *d);
	BASE_ASSERT(d);
	*d = (struct dice){.seed = s->seed + (data != NULL),
			   .loss_ppb = loss_ppb,
			   .prng = base_prng_seed(s->seed + 1),
			   .data = data,
			   .s = s};
	l->aim = throw;
	l->aim_who = d;
	return d;
}

/* ---- worlds -------------------------------------------------------------- */

static void
fixed(struct suci_config *c)
{
	c->cc = SUCI_CC_FIXED;
	c->fixed_window = 8000;
	c->fixed_rate_bps = RATE * MTU / (MTU + SIM_UDP_OVERHEAD);
	c->limits.segments_max = 65536;
	c->limits.queue_max = c->limits.window_max = 16384;
}

/* relays: on each side; 0 is the direct case, of the same delay if near is set. */
static struct world *
bar_world(struct sim *s, uint32_t relays, bool near)
{
	struct world_conf c;
	world_conf_default(&c);
	c.private_mtu = c.global_mtu = MTU;
	c.private_nic.rate_bps = c.global_nic.rate_bps = RATE;
	c.private_nic.delay_ns = relays ? NEAR : near ? DELAY + 2 * NEAR : DELAY;
	c.trunk.delay_ns = DELAY;
	if (relays) {
		c.nclusters = 2;
		c.cluster[0] = c.cluster[1] = (struct cluster_conf){1, relays};
	}
	fixed(&c.end);
	fixed(&c.relay);
	c.lane_window = 1u << 20;
	c.lanes.ranges_max = c.lanes.held_max = 32768;
	c.start_ns = 100 * BASE_MS_NS; /* trunks are up when the clock starts */
	struct world *w = world_new(s, &c);
	/* The last link of each way has no wire of its own. */
	for (uint32_t a = 0; a < s->nport; a++)
		for (uint32_t b = 0; b < s->nport; b++) {
			const uint16_t *hop = s->route[a][b];
			int last = 0;
			while (last + 1 < SIM_HOPS_MAX && hop[last + 1])
				last++;
			if (hop[0])
				s->link[hop[last] - 1].conf.rate_bps = 0;
		}
	return w;
}

static bool
first_done(void *who)
{
	return world_quiet(((struct stream *)who)->w) || ((struct stream *)who)->done == 1;
}

static bool
second_placed(void *who)
{
	return ((struct stream *)who)->placed == 2;
}

/* The link with the delay of the wide area between two ports, one way. */
static struct sim_link *
far_link(struct sim *s, uint32_t from, uint32_t to)
{
	for (int hop = 0; hop < SIM_HOPS_MAX && s->route[from][to][hop]; hop++) {
		struct sim_link *l = &s->link[s->route[from][to][hop] - 1];
		if (l->conf.delay_ns >= DELAY)
			return l;
	}
	return NULL;
}

/* 0: failed.  *tail: something was lost that is told late. */
static uint64_t
giant(struct world *w, uint32_t from, uint32_t to, uint32_t loss_ppb, bool *tail)
{
	struct sim *s = w->s;
	struct stream *st = world_stream(w, 0, 1, 2, giant_second, NULL);
	st->manual = true;
	stream_allow(st, 1);
	world_start(w);
	sim_run(s, s->now_ns + 10 * BASE_S_NS, first_done, st);
	sim_run(s, s->now_ns + 50 * BASE_MS_NS, NULL, NULL); /* acks of the first block are over */
	struct sim_link *there = far_link(s, from, to), *back = far_link(s, to, from);
	load(s, back, load(s, there, NULL, loss_ppb), loss_ppb);
	stream_allow(st, 2);
	end_drive(&w->end[0]);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, second_placed, st);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 60 s");
	*tail = sparse(there->aim_who);
	free(there->aim_who);
	free(back->aim_who);
	there->aim = back->aim = NULL;
	return s->failed ? 0 : st->block[1].placed_ns - st->block[1].sent_ns;
}

static void
lane(uint64_t seed, bool verbose, struct outcome *o, uint32_t loss_ppb, uint32_t percent)
{
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	struct world *w = bar_world(s, 0, false);
	bool tail;
	uint64_t took = giant(w, w->end[0].port, w->end[1].port, loss_ppb, &tail),
		 limit = limit_ns();
	if (took) {
		uint64_t p = limit * 10000 / took;
		snprintf(o->note, sizeof o->note,
			 "1 GB in %llu us, limit of the wire %llu us: %llu.%02llu %%",
			 (unsigned long long)took / 1000, (unsigned long long)limit / 1000,
			 (unsigned long long)(p / 100), (unsigned long long)(p % 100));
		SIM_CHECK(s, p >= 100ull * percent, "%s; wanted %u %%", o->note, percent);
		SIM_CHECK(s, took >= limit, "%s: faster than light", o->note);
	}
	scenario_end(w, o);
}

/* Direct first, then over a relay on each side. */
static void
relayed(uint64_t seed, bool verbose, struct outcome *o, uint32_t loss_ppb)
{
	struct sim *s = sim_new(seed);
	struct world *w = bar_world(s, 0, true);
	bool tail[2];
	uint64_t direct = giant(w, w->end[0].port, w->end[1].port, loss_ppb, &tail[0]);
	scenario_end(w, o);
	if (!o->ok)
		return;
	s = sim_new(seed);
	s->verbose = verbose;
	w = bar_world(s, 1, true);
	uint64_t took = giant(w, w->relay[0].port[RELAY_LEG_GLOBAL],
			      w->relay[1].port[RELAY_LEG_GLOBAL], loss_ppb, &tail[1]);
	if (took) {
		uint64_t p = direct * 10000 / took;
		int64_t more = (int64_t)(took - direct), segs = 2 * (int64_t)full_ns();
		snprintf(o->note, sizeof o->note,
			 "1 GB in %llu.%03llu us, direct %llu.%03llu us: %llu.%02llu %%, %+lld ns; "
			 "two segments %lld ns",
			 (unsigned long long)took / 1000, (unsigned long long)took % 1000,
			 (unsigned long long)direct / 1000, (unsigned long long)direct % 1000,
			 (unsigned long long)(p / 100), (unsigned long long)(p % 100),
			 (long long)more, (long long)segs);
		SIM_CHECK(s, p >= 9900, "%s; wanted 99 %%", o->note);
		/* Where the last loss is told late, it may be told later by as much. */
		int64_t late = tail[0] || tail[1] ? DELAY / 4 : 0;
		SIM_CHECK(s, more <= segs + late, "%s; wanted less more", o->note);
	}
	scenario_end(w, o);
}

void
speed_giant(uint64_t seed, bool verbose, struct outcome *o)
{
	lane(seed, verbose, o, 0, 97);
}

void
speed_giant_loss1(uint64_t seed, bool verbose, struct outcome *o)
{
	lane(seed, verbose, o, 100 * PPM, 97);
}

void
speed_giant_loss2(uint64_t seed, bool verbose, struct outcome *o)
{
	lane(seed, verbose, o, 1000 * PPM, 95);
}

void
speed_giant_loss3(uint64_t seed, bool verbose, struct outcome *o)
{
	lane(seed, verbose, o, 10000 * PPM, 90);
}

void
speed_giant_relays(uint64_t seed, bool verbose, struct outcome *o)
{
	relayed(seed, verbose, o, 0);
}

void
speed_giant_relays_loss1(uint64_t seed, bool verbose, struct outcome *o)
{
	relayed(seed, verbose, o, 100 * PPM);
}

void
speed_giant_relays_loss2(uint64_t seed, bool verbose, struct outcome *o)
{
	relayed(seed, verbose, o, 1000 * PPM);
}

void
speed_giant_relays_loss3(uint64_t seed, bool verbose, struct outcome *o)
{
	relayed(seed, verbose, o, 10000 * PPM);
}
