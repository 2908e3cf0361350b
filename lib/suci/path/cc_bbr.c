/* SPDX-License-Identifier: BSD-2-Clause */
/* BBR in integers, after draft-ietf-ccwg-bbr: a model of the path - the highest
 * delivery rate of the last two probing cycles, the shortest round trip - sets
 * pace and window; losses set bounds to it and are not its signal.
 *
 *   STARTUP   2.77 times the rate until it grows no more, then DRAIN the queue
 *   DOWN      0.9 until the queue is empty
 *   CRUISE    1.0 until it is time to probe
 *   REFILL    1.0 for a round, bounds of the short term forgotten
 *   UP        1.25 until losses are too high or, not held back by inflight_hi (which
 *             grows), a quarter of a window waits in the queue or three rounds
 *             brought nothing; then DOWN
 *   PROBE_RTT half a window for a few round trips, when no shortest round trip was
 *             seen for 5 s
 *
 * Losses are too high when of the packets that were in flight together more than a
 * fiftieth and three (in STARTUP six) were lost.  In UP that sets inflight_hi, the window that the
 * path bears, otherwise inflight_lo and bw_lo until the next probe.  Here this
 * departs from the draft, which lowers the latter for any loss in a round and so
 * loses half of its rate between two probes over a wire that drops one in a hundred.
 * A mark CE is taken like losses that are too high.
 *
 * The rate is counted in bytes, the window in packets; between them stands the usual
 * size of the packets acknowledged last. */
#include "cc.h"

#include "base/clock.h"

#define UNIT		 256 /* gains */
#define GAIN_STARTUP	 710
#define GAIN_DRAIN	 92
#define GAIN_DOWN	 230
#define GAIN_UP		 320
#define WINDOW_GAIN	 (2 * UNIT)
#define WINDOW_GAIN_UP	 576
#define WINDOW_GAIN_RTT	 (UNIT / 2)
#define WINDOW_MIN	 4u
#define WINDOW_SLACK	 8u /* packets that wait for their ack at the peer */
#define NO_BOUND	 UINT32_MAX
#define LOSS_PART	 50
#define LOSS_SLACK	 3
#define LOSS_SLACK_BEGIN 6
#define FULL_ROUNDS	 3
#define MIN_RTT_NS	 (5 * BASE_S_NS)
#define PROBE_RTT_NS	 (200 * BASE_MS_NS)
#define PROBE_RTT_ROUNDS 10
#define PROBE_WAIT_NS	 (2 * BASE_S_NS)
#define PROBE_ROUNDS_MAX 63 /* as often as Reno of that window would lose one, at most */
#define SIZE_SHIFT	 4
#define RATE_MAX_BPS	 100000000000ull

__extension__ typedef unsigned __int128 wide;

static uint32_t
low(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t
high(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint64_t
max_bw(const struct suci_cc_bbr *b)
{
	return base_max_ns(b->bw[0], b->bw[1]);
}

static uint64_t
bandwidth(const struct suci_cc_bbr *b)
{
	return base_min_ns(max_bw(b), b->bw_lo);
}

static uint32_t
in_packets(const struct suci_cc_bbr *b, uint64_t bytes)
{
	uint64_t n = (bytes << SIZE_SHIFT) / (b->packet_bytes ? b->packet_bytes : 1);
	return n > UINT16_MAX ? UINT16_MAX : (uint32_t)n;
}

/* gain bandwidth-delay products in packets; 0 while they are not known. */
static uint32_t
bdp(const struct suci_cc_bbr *b, uint64_t bw, uint32_t gain)
{
	if (!bw || b->min_rtt_ns == BASE_NEVER_NS)
		return 0;
	wide bytes = (wide)bw * b->min_rtt_ns / BASE_S_NS * gain / UNIT;
	return in_packets(b, bytes > UINT32_MAX ? UINT32_MAX : (uint64_t)bytes);
}

static void
bbr_init(struct suci_cc *cc, const struct suci_cc_conf *conf)
{
	cc->bbr = (struct suci_cc_bbr){
		.packet_bytes = conf->mtu << SIZE_SHIFT,
		.min_rtt_ns = BASE_NEVER_NS,
		.inflight_hi = NO_BOUND,
		.inflight_lo = NO_BOUND,
		.bw_lo = UINT64_MAX,
		.dice = conf->mtu,
	};
	cc->window = low(high(conf->initial_window ? conf->initial_window : 10, WINDOW_MIN),
			 conf->window_max);
	cc->rate_bps = 0; /* until the first round trip is known */
}

/* ---- states -------------------------------------------------------------- */

static void
enter_bbr(struct suci_cc_bbr *b, enum suci_bbr_state state, uint64_t now_ns)
{
	b->state = (uint8_t)state;
	b->state_ns = now_ns;
	b->rounds = 0;
}

static void
enter_down(struct suci_cc_bbr *b, const struct suci_cc_ack *a)
{
	/* Flows that began together should not probe together. */
	b->dice = b->dice * 1664525u + 1013904223u + (uint32_t)a->now_ns;
	b->probe_wait_ns = PROBE_WAIT_NS + (uint64_t)(b->dice >> 8) % BASE_S_NS;
	b->probe_at_ns = a->now_ns;
	b->probe_rounds = (b->dice >> 4) & 1;
	b->round_end = a->delivered;
	enter_bbr(b, SUCI_BBR_DOWN, a->now_ns);
}

/* A cycle is over: forget the rates of the one before, unless this one measured none. */
static void
end_cycle(struct suci_cc_bbr *b, const struct suci_cc_ack *a)
{
	if (b->bw[0]) {
		b->bw[1] = b->bw[0];
		b->bw[0] = 0;
	}
	enter_down(b, a);
}

static void
forget_low(struct suci_cc_bbr *b)
{
	b->inflight_lo = NO_BOUND;
	b->bw_lo = UINT64_MAX;
}

static void
enter_refill(struct suci_cc_bbr *b, const struct suci_cc_ack *a)
{
	forget_low(b);
	b->undo_lost = 0;
	b->round_end = a->delivered;
	enter_bbr(b, SUCI_BBR_REFILL, a->now_ns);
}

/* Packets per packet of growth of inflight_hi: 1, 2, 4 ... more packets a round. */
static void
steeper(struct suci_cc_bbr *b, uint32_t window)
{
	uint32_t growth = 1u << low(b->rounds, 15);
	b->up_step = high(window / growth, 1);
	b->up_acked = 0;
}

static void
enter_up(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_bbr *b = &cc->bbr;
	b->full_bw = max_bw(b);
	b->full_rounds = 0;
	b->round_end = a->delivered;
	enter_bbr(b, SUCI_BBR_UP, a->now_ns);
	steeper(b, cc->window);
}

/* ---- what an ack tells --------------------------------------------------- */

/* A beginning that ends too early has seen a part of the rate, and the next probe may be 63
 * rounds away: a few chance losses in its small windows are not enough. */
static bool
too_high(const struct suci_cc_bbr *b, const struct suci_rate_sample *s)
{
	uint32_t slack = b->state == SUCI_BBR_STARTUP ? LOSS_SLACK_BEGIN : LOSS_SLACK;
	return s->lost > s->in_flight / LOSS_PART + slack;
}

static void
remember(struct suci_cc *cc, uint32_t lost)
{
	struct suci_cc_bbr *b = &cc->bbr;
	if (cc->holds && cc->held) {
		b->undo_lost += lost;
		return;
	}
	cc->held = cc->holds;
	b->undo_hi = b->inflight_hi;
	b->undo_lo = b->inflight_lo;
	b->undo_bw_lo = b->bw_lo;
	b->undo_lost = lost;
}

/* What was lost before the window collapsed, or was made small to see the shortest round trip,
 * was lost of the one before. */
static uint32_t
usual_window(const struct suci_cc *cc)
{
	const struct suci_cc_bbr *b = &cc->bbr;
	uint32_t before = b->state == SUCI_BBR_PROBE_RTT ? b->prior_window : 0;
	return high(cc->window, high(b->fallen_from, before));
}

/* Losses at the upper edge: it is where they began. */
static void
set_edge(struct suci_cc *cc, const struct suci_cc_ack *a, uint32_t in_flight)
{
	struct suci_cc_bbr *b = &cc->bbr;
	uint32_t least = low(usual_window(cc), bdp(b, bandwidth(b), UNIT)) * 7 / 10;
	remember(cc, a->sample.lost);
	b->inflight_hi = high(high(in_flight, least), WINDOW_MIN);
}

/* Nothing got through for a while: that is less than the way bears, but not where its edge is,
 * and a beginning goes on. */
static void
judge_outage(struct suci_cc_bbr *b, const struct suci_cc_ack *a)
{
	if (b->state == SUCI_BBR_STARTUP)
		return;
	if (b->state == SUCI_BBR_REFILL || b->state == SUCI_BBR_UP)
		end_cycle(b, a);
	b->too_high = true;
}

static void
judge_losses(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_bbr *b = &cc->bbr;
	bool congested = too_high(b, &a->sample) || b->ce;
	b->ce = false;
	if (!congested)
		return;
	if (b->fallen_from) {
		judge_outage(b, a);
		return;
	}
	switch ((enum suci_bbr_state)b->state) {
	case SUCI_BBR_STARTUP:
		b->full = true;
		set_edge(cc, a, high(bdp(b, max_bw(b), UNIT), in_packets(b, a->sample.bytes)));
		enter_bbr(b, SUCI_BBR_DRAIN, a->now_ns);
		break;
	case SUCI_BBR_REFILL:
	case SUCI_BBR_UP:
		set_edge(cc, a, a->sample.in_flight - low(a->sample.lost, a->sample.in_flight));
		end_cycle(b, a);
		break;
	case SUCI_BBR_DRAIN:
	case SUCI_BBR_DOWN:
	case SUCI_BBR_CRUISE:
	case SUCI_BBR_PROBE_RTT:
		b->too_high = true;
		break;
	}
}

/* Once a round: what got through, but not less than 0.7 of before. */
static void
lower(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_bbr *b = &cc->bbr;
	remember(cc, a->sample.lost);
	uint64_t bw = bandwidth(b);
	uint32_t lo = low(b->inflight_lo, usual_window(cc));
	if (bw) /* else none was measured yet, and nothing bounds the first that is */
		b->bw_lo = base_max_ns(b->bw_round, bw - bw * 3 / 10);
	b->inflight_lo = high(high(b->inflight_round, lo * 7 / 10), WINDOW_MIN);
}

/* True at the first ack of a round. */
static bool
new_round(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_bbr *b = &cc->bbr;
	if (!a->sample.bytes || a->sample.prior_delivered < b->round_end)
		return false;
	b->round_end = a->delivered;
	b->rounds++;
	b->probe_rounds++;
	if (b->too_high)
		lower(cc, a);
	b->too_high = false;
	b->fallen_from = 0;
	b->bw_round = 0;
	b->inflight_round = 0;
	return true;
}

static void
learn_bw(struct suci_cc_bbr *b, const struct suci_cc_ack *a)
{
	uint32_t size = (uint32_t)((a->bytes << SIZE_SHIFT) / a->packets);
	b->packet_bytes = high((7 * b->packet_bytes + size) / 8, 1);
	b->bw_round = base_max_ns(b->bw_round, a->sample.rate_bps);
	b->inflight_round = high(b->inflight_round, in_packets(b, a->sample.bytes));
	if (a->sample.rate_bps && (!a->sample.idle || a->sample.rate_bps >= max_bw(b)))
		b->bw[0] = base_max_ns(b->bw[0], a->sample.rate_bps);
}

static void
learn_rtt(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_bbr *b = &cc->bbr;
	bool stale = b->min_rtt_ns != BASE_NEVER_NS && a->now_ns > b->min_rtt_at_ns + MIN_RTT_NS;
	if (a->rtt_ns && (a->rtt_ns <= b->min_rtt_ns || stale)) {
		b->min_rtt_ns = a->rtt_ns;
		b->min_rtt_at_ns = a->now_ns;
	}
	if (stale && b->state != SUCI_BBR_PROBE_RTT) {
		b->prior_window = cc->window;
		b->probe_rtt_end_ns = 0;
		enter_bbr(b, SUCI_BBR_PROBE_RTT, a->now_ns);
	}
}

/* What few acks of a first window say of the rate is too low: with a queue it is a window
 * in a round trip. */
static void
bound_by_sharers(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_bbr *b = &cc->bbr;
	wide bytes = (wide)cc->window * b->packet_bytes >> SIZE_SHIFT;
	b->bw[0] = base_max_ns(b->bw[0], (uint64_t)(bytes * BASE_S_NS / a->smoothed_ns));
	b->full = true;
	enter_down(b, a);
}

/* Three rounds in which the rate did not grow by an eighth (a quarter in startup). */
static bool
full_pipe(struct suci_cc_bbr *b, const struct suci_cc_ack *a, uint32_t part)
{
	uint64_t bw = max_bw(b);
	if (bw >= b->full_bw + b->full_bw / part) {
		b->full_bw = bw;
		b->full_rounds = 0;
		return false;
	}
	if (part == 4 && a->sample.idle)
		return false;
	return ++b->full_rounds >= FULL_ROUNDS;
}

static bool
time_to_probe(const struct suci_cc_bbr *b, const struct suci_cc_ack *a)
{
	return a->now_ns >= b->probe_at_ns + b->probe_wait_ns ||
	       b->probe_rounds >= low(bdp(b, max_bw(b), UNIT), PROBE_ROUNDS_MAX);
}

static void
bbr_up(struct suci_cc *cc, const struct suci_cc_ack *a, bool round)
{
	struct suci_cc_bbr *b = &cc->bbr;
	if (round)
		steeper(b, cc->window);
	if (b->inflight_hi != NO_BOUND && cc->window >= b->inflight_hi && a->window_limited) {
		b->up_acked += a->packets;
		b->inflight_hi += b->up_acked / b->up_step;
		b->up_acked %= b->up_step;
		/* The bound is what holds the rate down: on until packets are lost. */
		b->full_bw = a->sample.rate_bps;
		b->full_rounds = 0;
		return;
	}
	bool queue = a->now_ns > b->state_ns + b->min_rtt_ns &&
		     a->in_flight >= bdp(b, max_bw(b), GAIN_UP);
	if (queue || (round && full_pipe(b, a, 8)))
		end_cycle(b, a);
}

static uint32_t
probe_rtt_window(const struct suci_cc_bbr *b)
{
	return high(bdp(b, bandwidth(b), WINDOW_GAIN_RTT), WINDOW_MIN);
}

static void
probe_rtt(struct suci_cc *cc, const struct suci_cc_ack *a, uint32_t in_flight)
{
	struct suci_cc_bbr *b = &cc->bbr;
	if (!b->probe_rtt_end_ns) {
		if (in_flight <= probe_rtt_window(b))
			b->probe_rtt_end_ns =
				a->now_ns +
				base_min_ns(PROBE_RTT_NS, PROBE_RTT_ROUNDS * b->min_rtt_ns);
		return;
	}
	if (a->now_ns < b->probe_rtt_end_ns)
		return;
	b->min_rtt_at_ns = a->now_ns;
	cc->window = high(cc->window, b->prior_window);
	if (b->full)
		enter_down(b, a);
	else
		enter_bbr(b, SUCI_BBR_STARTUP, a->now_ns);
}

static void
advance_bbr(struct suci_cc *cc, const struct suci_cc_ack *a, bool round)
{
	struct suci_cc_bbr *b = &cc->bbr;
	uint32_t in_flight = a->in_flight > a->packets ? a->in_flight - a->packets : 0;
	uint32_t drained = bdp(b, bandwidth(b), UNIT);
	switch ((enum suci_bbr_state)b->state) {
	case SUCI_BBR_STARTUP:
		if (suci_cc_queued(cc, a)) {
			bound_by_sharers(cc, a);
		} else if (round && full_pipe(b, a, 4)) {
			b->full = true;
			enter_bbr(b, SUCI_BBR_DRAIN, a->now_ns);
		}
		break;
	case SUCI_BBR_DRAIN:
		if (in_flight <= drained)
			enter_down(b, a);
		break;
	case SUCI_BBR_DOWN:
		if (b->inflight_hi != NO_BOUND)
			drained = low(drained, high(b->inflight_hi / 20 * 17, WINDOW_MIN));
		if (time_to_probe(b, a))
			enter_refill(b, a);
		else if (in_flight <= drained)
			enter_bbr(b, SUCI_BBR_CRUISE, a->now_ns);
		break;
	case SUCI_BBR_CRUISE:
		if (time_to_probe(b, a))
			enter_refill(b, a);
		break;
	case SUCI_BBR_REFILL:
		if (round)
			enter_up(cc, a);
		break;
	case SUCI_BBR_UP:
		bbr_up(cc, a, round);
		break;
	case SUCI_BBR_PROBE_RTT:
		probe_rtt(cc, a, in_flight);
		break;
	}
}

/* ---- what follows from it ------------------------------------------------ */

/* The queue that each sharer of a link allows itself adds up. */
static uint32_t
share_bbr(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_bbr *b = &cc->bbr;
	if (b->shared >> SUCI_CC_FRAC != cc->window)
		b->shared = (uint64_t)cc->window << SUCI_CC_FRAC;
	b->shared = suci_cc_share(cc, b->shared, a);
	if (suci_cc_room(cc, a) && a->window_limited) {
		b->full = false;
		b->full_bw = 0;
		b->full_rounds = 0;
		enter_bbr(b, SUCI_BBR_STARTUP, a->now_ns);
	}
	return (uint32_t)(b->shared >> SUCI_CC_FRAC);
}

static void
set_window(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_bbr *b = &cc->bbr;
	uint32_t gain = b->state == SUCI_BBR_UP ? WINDOW_GAIN_UP : WINDOW_GAIN;
	uint32_t acked = a->packets;
	uint32_t target = bdp(b, bandwidth(b), gain) + WINDOW_SLACK;
	uint32_t w = cc->window;
	if (b->full && a->sharers >= SUCI_CC_SHARERS)
		w = share_bbr(cc, a);
	else if (b->full)
		w = low(w + acked, target);
	else if (w < target || b->min_rtt_ns == BASE_NEVER_NS || a->sharers >= SUCI_CC_SHARERS)
		w += acked;
	uint32_t hi = b->inflight_hi;
	/* Room for others, and for what the next probe finds. */
	if (hi != NO_BOUND && b->state == SUCI_BBR_CRUISE)
		hi = hi / 20 * 17;
	w = low(w, low(hi, b->inflight_lo));
	if (b->state == SUCI_BBR_PROBE_RTT)
		w = low(w, probe_rtt_window(b));
	cc->window = low(high(w, WINDOW_MIN), cc->conf.window_max);
}

static void
set_rate(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	static const uint16_t gain[] = {
		[SUCI_BBR_STARTUP] = GAIN_STARTUP, [SUCI_BBR_DRAIN] = GAIN_DRAIN,
		[SUCI_BBR_DOWN] = GAIN_DOWN,	   [SUCI_BBR_CRUISE] = UNIT,
		[SUCI_BBR_REFILL] = UNIT,	   [SUCI_BBR_UP] = GAIN_UP,
		[SUCI_BBR_PROBE_RTT] = UNIT,
	};
	const struct suci_cc_bbr *b = &cc->bbr;
	/* One in a hundred below the estimate: a queue that was built by chance drains. */
	uint32_t g = gain[b->state];
	if (a->sharers >= SUCI_CC_SHARERS && g < GAIN_UP)
		g = GAIN_UP; /* the window holds it back */
	wide rate = (wide)bandwidth(b) * g * 99 / (100 * UNIT);
	/* What few packets said must not slow down the beginning; and where marks or losses
	 * ended it before any rate was measured, there is none to be held to. */
	if (!b->full || !bandwidth(b)) {
		uint32_t first = cc->conf.initial_window ? cc->conf.initial_window : 10;
		if (!a->smoothed_ns)
			return;
		wide least = (wide)first * cc->conf.mtu * BASE_S_NS / a->smoothed_ns *
			     GAIN_STARTUP / UNIT;
		rate = rate > least ? rate : least;
	}
	cc->rate_bps = rate > RATE_MAX_BPS ? RATE_MAX_BPS : rate ? (uint64_t)rate : 1;
}

static void
bbr_acked(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	learn_bw(&cc->bbr, a);
	judge_losses(cc, a);
	bool round = new_round(cc, a);
	learn_rtt(cc, a);
	advance_bbr(cc, a, round);
	set_window(cc, a);
	set_rate(cc, a);
}

/* Taken like losses that are too high, with the ack that follows.  A probe is not
 * blamed for what was marked before it. */
static void
bbr_ce(struct suci_cc *cc, uint32_t packets, uint64_t sent_ns, uint64_t now_ns)
{
	struct suci_cc_bbr *b = &cc->bbr;
	bool probing = b->state == SUCI_BBR_REFILL || b->state == SUCI_BBR_UP;
	(void)packets;
	(void)now_ns;
	b->ce = !probing || sent_ns >= b->state_ns;
}

/* The next sample says how many of a window were lost. */
static void
bbr_lost(struct suci_cc *cc, uint32_t packets, uint64_t sent_ns, uint64_t now_ns)
{
	(void)cc;
	(void)packets;
	(void)sent_ns;
	(void)now_ns;
}

static void
bbr_collapsed(struct suci_cc *cc, uint64_t now_ns)
{
	struct suci_cc_bbr *b = &cc->bbr;
	(void)now_ns;
	if (!cc->holds)
		b->undo_lost = 0;
	/* The model stays, unless it was only beginning; the window comes back with the acks,
	 * doubling per round trip. */
	b->fallen_from = usual_window(cc);
	cc->window = low(WINDOW_MIN, cc->conf.window_max);
	if (b->state != SUCI_BBR_STARTUP)
		return;
	b->bw[0] = b->bw[1] = b->full_bw = 0;
	b->full_rounds = 0;
}

static void
bbr_spurious(struct suci_cc *cc, uint32_t packets, uint64_t now_ns)
{
	struct suci_cc_bbr *b = &cc->bbr;
	(void)now_ns;
	if (!b->undo_lost)
		return;
	if (b->undo_lost > packets) {
		b->undo_lost -= packets;
		return;
	}
	b->undo_lost = 0;
	b->inflight_hi = high(b->inflight_hi, b->undo_hi);
	b->inflight_lo = high(b->inflight_lo, b->undo_lo);
	b->bw_lo = base_max_ns(b->bw_lo, b->undo_bw_lo);
}

static void
bbr_shrunk(struct suci_cc *cc, uint32_t mtu)
{
	struct suci_cc_bbr *b = &cc->bbr;
	uint32_t now = cc->conf.mtu;
	if (cc->held && b->undo_lost)
		bbr_spurious(cc, b->undo_lost, 0);
	forget_low(b);
	b->too_high = false;
	b->packet_bytes = high((uint32_t)((uint64_t)b->packet_bytes * now / mtu), 1);
	if (b->inflight_hi != NO_BOUND)
		b->inflight_hi = low((uint32_t)((uint64_t)b->inflight_hi * mtu / now), UINT16_MAX);
	cc->window = low(high(cc->window, bdp(b, max_bw(b), WINDOW_GAIN)), cc->conf.window_max);
}

const struct suci_cc_ops suci_cc_bbr = {
	.name = "bbr",
	.rated = true,
	.init = bbr_init,
	.acked = bbr_acked,
	.lost = bbr_lost,
	.collapsed = bbr_collapsed,
	.spurious = bbr_spurious,
	.ce = bbr_ce,
	.shrunk = bbr_shrunk,
};
