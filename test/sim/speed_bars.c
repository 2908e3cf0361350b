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
 * transmission of a segment is lost depends on seed, segment and n alone.  A relay has a
 * segment before it passes it on, so two of them may add two serializations; and the WAN
 * carries what the direct wire does not: with data go acks of the end-to-end acks, which
 * may take a microsecond in all.  With loss the runs differ in which acks are lost, and
 * the last loss is seen an ack (8 segments) sooner or later. */
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
	struct base_prng prng; /* for what is no data */
	uint8_t sent[SEQS];    /* transmissions of a segment so far */
};

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

static bool throw(void *who, const struct sim_buf *b)
{
	struct dice *d = who;
	uint32_t seq;
	if (!data_seq(b, &seq) || seq >= SEQS)
		return base_prng_chance(&d->prng, d->loss_ppb);
	uint64_t x = d->seed ^ (uint64_t)seq << 32 ^ d->sent[seq]++;
	return base_prng_splitmix(&x) % BASE_S_NS < d->loss_ppb;
}

static void
load(struct sim *s, struct sim_link *l, uint32_t loss_ppb)
{
	struct dice *d = calloc(1, sizeof *d);
	BASE_ASSERT(d);
	*d = (struct dice){
		.seed = s->seed, .loss_ppb = loss_ppb, .prng = base_prng_seed(s->seed + 1)};
	l->aim = throw;
	l->aim_who = d;
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
	c.lane_window = 16384;
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

struct took {
	uint64_t ns;	/* 0: failed */
	uint64_t bytes; /* on the far wire */
};

static struct took
giant(struct world *w, uint32_t from, uint32_t to, uint32_t loss_ppb)
{
	struct sim *s = w->s;
	struct stream *st = world_stream(w, 0, 1, 2, giant_second, NULL);
	st->manual = true;
	stream_allow(st, 1);
	world_start(w);
	sim_run(s, s->now_ns + 10 * BASE_S_NS, first_done, st);
	struct sim_link *there = far_link(s, from, to), *back = far_link(s, to, from);
	const struct sim_link *wire = &s->link[s->route[from][to][0] - 1];
	uint64_t before = wire->n.bytes;
	load(s, there, loss_ppb);
	load(s, back, loss_ppb);
	stream_allow(st, 2);
	end_drive(&w->end[0]);
	struct took t = {0};
	sim_run(s, s->now_ns + 60 * BASE_S_NS, second_placed, st);
	t.bytes = wire->n.bytes - before;
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 60 s");
	free(there->aim_who);
	free(back->aim_who);
	there->aim = back->aim = NULL;
	if (!s->failed)
		t.ns = st->block[1].placed_ns - st->block[1].sent_ns;
	return t;
}

static void
lane(uint64_t seed, bool verbose, struct outcome *o, uint32_t loss_ppb, uint32_t percent)
{
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	struct world *w = bar_world(s, 0, false);
	uint64_t took = giant(w, w->end[0].port, w->end[1].port, loss_ppb).ns, limit = limit_ns();
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
	struct took direct = giant(w, w->end[0].port, w->end[1].port, loss_ppb);
	scenario_end(w, o);
	if (!o->ok)
		return;
	s = sim_new(seed);
	s->verbose = verbose;
	w = bar_world(s, 1, true);
	struct took took = giant(w, w->relay[0].port[RELAY_LEG_GLOBAL],
				 w->relay[1].port[RELAY_LEG_GLOBAL], loss_ppb);
	if (took.ns) {
		uint64_t p = direct.ns * 10000 / took.ns;
		int64_t more = (int64_t)(took.ns - direct.ns), segs = 2 * (int64_t)full_ns();
		uint64_t acks = took.bytes > direct.bytes ? took.bytes - direct.bytes : 0;
		int64_t ack_ns = (int64_t)((acks * BASE_S_NS + RATE - 1) / RATE);
		snprintf(o->note, sizeof o->note,
			 "1 GB in %llu.%03llu us, direct %llu.%03llu us: %llu.%02llu %%, %+lld ns; "
			 "two segments %lld ns, acks of acks %llu bytes",
			 (unsigned long long)took.ns / 1000, (unsigned long long)took.ns % 1000,
			 (unsigned long long)direct.ns / 1000, (unsigned long long)direct.ns % 1000,
			 (unsigned long long)(p / 100), (unsigned long long)(p % 100),
			 (long long)more, (long long)segs, (unsigned long long)acks);
		SIM_CHECK(s, p >= 9900, "%s; wanted 99 %%", o->note);
		SIM_CHECK(s, loss_ppb || ack_ns <= (int64_t)BASE_US_NS,
			  "%s; acks of acks take more than 1 us", o->note);
		SIM_CHECK(s, more <= (loss_ppb ? 5 * segs : segs + ack_ns), "%s; wanted less more",
			  o->note);
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
