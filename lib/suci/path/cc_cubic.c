/* SPDX-License-Identifier: BSD-2-Clause */
/* CUBIC, RFC 9438, in integers: windows in 2^-16 packets, times in ms.
 *
 *      W(t) = C (t - K)^3 + Wmax      C = 0.4 packets / s^3
 *      K    = cbrt((Wmax - W) / C)    beta = 0.7
 *
 * alongside the Reno estimate of section 4.3.  Slow start ends on loss or when
 * the round trip of a round grows by an eighth (clamped to 4 .. 16 ms), the
 * test of RFC 9406.  Pacing is 1.25 windows per round trip, 2 in slow start.
 *
 * Loss without a queue is told apart, as in TCP Veno (Fu and Liew, 2003): a way that drops for
 * want of room has its queue full, which round trips show; one whose round trip is the shortest
 * there was has room, and its wire drops by chance.  That costs what was lost and no window, up to
 * one packet in 50 (the bound of draft-ietf-ccwg-bbr) and a few in a row: a queue too short to be
 * seen, or a policer, takes more than that from a window that grows. */
#include "cc.h"

#include "base/clock.h"

#define ONE	      (1ull << SUCI_CC_FRAC)
#define BETA_NUM      7
#define BETA_DEN      10
#define SAMPLES_MIN   8
#define OVERSHOT      16 /* one in so many of a window: lost by more than chance */
#define OVERSHOT_MIN  3
#define CHANCE_PART   50	       /* one in so many packets may be lost by chance */
#define CHANCE_SLACK  8		       /* more than that, at once */
#define FAR_NS	      (2 * BASE_MS_NS) /* nearer, a queue is not told from noise */
#define WAITS_MIN_NS  (BASE_MS_NS / 2)
#define WAITS_PART    128 /* of the shortest round trip: a queue */
#define GROWTH_MIN_NS (4 * BASE_MS_NS)
#define GROWTH_MAX_NS (16 * BASE_MS_NS)
#define RATE_MAX_BPS  100000000000ull
#define EPOCH_MAX_MS  1000000ull /* keeps (t - K)^3 within 64 bits */

static uint64_t
cube_root(uint64_t x)
{
	uint64_t y = 0;
	for (int s = 63; s >= 0; s -= 3) {
		y <<= 1;
		uint64_t b = 3 * y * (y + 1) + 1;
		if ((x >> s) >= b) {
			x -= b << s;
			y++;
		}
	}
	return y;
}

static void
publish_cubic(struct suci_cc *cc, uint64_t smoothed_ns)
{
	struct suci_cc_cubic *c = &cc->cubic;
	uint64_t max = (uint64_t)cc->conf.window_max << SUCI_CC_FRAC;
	uint64_t min = base_min_ns(SUCI_CC_MIN_WINDOW * ONE, max);
	c->w = c->w > max ? max : c->w < min ? min : c->w;
	cc->window = (uint32_t)(c->w >> SUCI_CC_FRAC);
	if (cc->window > cc->conf.window_max)
		cc->window = cc->conf.window_max;
	if (!smoothed_ns)
		return;
	__extension__ typedef unsigned __int128 wide;
	wide per_rtt = (wide)c->w * cc->conf.mtu * (c->w < c->ssthresh ? 8 : 5);
	wide rate = per_rtt * BASE_S_NS / ((wide)smoothed_ns * 4) >> SUCI_CC_FRAC;
	cc->rate_bps = rate > RATE_MAX_BPS ? RATE_MAX_BPS : rate ? (uint64_t)rate : 1;
}

static uint64_t
first_window(const struct suci_cc_conf *conf)
{
	return (uint64_t)(conf->initial_window ? conf->initial_window : 10) << SUCI_CC_FRAC;
}

static void
cubic_init(struct suci_cc *cc, const struct suci_cc_conf *conf)
{
	struct suci_cc_cubic *c = &cc->cubic;
	*c = (struct suci_cc_cubic){.ssthresh = UINT64_MAX};
	c->w = first_window(conf);
	c->round_min_ns = c->last_min_ns = BASE_NEVER_NS;
	c->chance = CHANCE_SLACK * CHANCE_PART;
	cc->rate_bps = 0; /* until the first round trip is known */
	publish_cubic(cc, 0);
}

/* True if the round trip has grown enough to stop doubling. */
static bool
delay_grew(struct suci_cc_cubic *c, const struct suci_cc_ack *a)
{
	if (a->sent_ns > c->round_end_ns) {
		c->last_min_ns = c->round_min_ns;
		c->round_min_ns = BASE_NEVER_NS;
		c->round_samples = 0;
		c->round_end_ns = a->now_ns;
	}
	if (!a->rtt_ns)
		return false;
	c->round_min_ns = base_min_ns(c->round_min_ns, a->rtt_ns);
	c->round_samples++;
	if (c->round_samples < SAMPLES_MIN || c->last_min_ns == BASE_NEVER_NS)
		return false;
	uint64_t grow = c->last_min_ns / 8;
	grow = grow < GROWTH_MIN_NS ? GROWTH_MIN_NS : grow > GROWTH_MAX_NS ? GROWTH_MAX_NS : grow;
	return c->round_min_ns >= c->last_min_ns + grow;
}

static void
begin_epoch(struct suci_cc_cubic *c, uint64_t now_ns)
{
	c->epoch_ns = now_ns ? now_ns : 1;
	c->idle_since_ns = 0;
	c->w_est = c->w;
	if (c->w >= c->w_max) {
		c->w_max = c->w;
		c->k_ms = 0;
		return;
	}
	/* K^3 = (Wmax - W) / 0.4 s^3, in ms^3: times 10^9 / 0.4.  The difference
	 * is below 2^32, so the product stays below 2^64. */
	__extension__ typedef unsigned __int128 wide;
	wide k3 = (wide)(c->w_max - c->w) * 2500000000ull >> SUCI_CC_FRAC;
	c->k_ms = cube_root((uint64_t)k3);
}

/* The cubic curve t_ms after the epoch began, 2^-16 packets. */
static uint64_t
curve(const struct suci_cc_cubic *c, uint64_t t_ms)
{
	if (t_ms > EPOCH_MAX_MS)
		t_ms = EPOCH_MAX_MS;
	uint64_t d = t_ms > c->k_ms ? t_ms - c->k_ms : c->k_ms - t_ms;
	__extension__ typedef unsigned __int128 wide;
	wide dw = (((wide)d * d * d) << SUCI_CC_FRAC) / 2500000000ull;
	if (t_ms >= c->k_ms)
		return dw > UINT64_MAX / 2 ? UINT64_MAX / 2 : c->w_max + (uint64_t)dw;
	return dw >= c->w_max ? 0 : c->w_max - (uint64_t)dw;
}

static void
avoid(struct suci_cc_cubic *c, const struct suci_cc_ack *a)
{
	if (!c->epoch_ns)
		begin_epoch(c, a->now_ns);
	uint64_t t_ns = a->now_ns - c->epoch_ns;
	uint64_t target = curve(c, (t_ns + a->smoothed_ns) / BASE_MS_NS);
	if (target < c->w)
		target = c->w;
	if (target > c->w + c->w / 2)
		target = c->w + c->w / 2;
	/* publish_cubic() keeps w at one packet or more. */
	uint64_t packets = c->w >> SUCI_CC_FRAC;
	uint64_t step = (target - c->w) * a->packets / packets; /* NOLINT(*.DivideZero) */
	/* Reno's line: 3 (1 - beta) / (1 + beta) = 9/17 per window until it has
	 * reached the window of the last reduction, then 1. */
	uint64_t alpha = c->w_est < c->prior ? ONE * 9 / 17 : ONE;
	c->w_est += alpha * a->packets / (c->w >> SUCI_CC_FRAC);
	c->w += step;
	if (c->w < c->w_est)
		c->w = c->w_est;
}

/* Has what is lost now been lost by chance?  What acks tell of that. */
static void
look_for_queue(struct suci_cc_cubic *c, const struct suci_cc_ack *a)
{
	/* Ends that sleep and share their processors are late now and then: that varies. */
	uint64_t noise = base_max_ns(a->min_ns / WAITS_PART, WAITS_MIN_NS) + 2 * a->var_ns;
	uint32_t most = (uint32_t)(c->w >> SUCI_CC_FRAC) + CHANCE_SLACK * CHANCE_PART;
	c->far = a->min_ns >= FAR_NS && a->sharers < SUCI_CC_SHARERS;
	c->waits = a->smoothed_ns >= a->min_ns + noise;
	c->chance = c->chance + a->packets < most ? c->chance + a->packets : most;
}

static bool
by_chance(struct suci_cc *cc, uint32_t packets)
{
	struct suci_cc_cubic *c = &cc->cubic;
	if (cc->sure || !c->far || c->waits || packets > c->chance / CHANCE_PART)
		return false;
	c->chance -= packets * CHANCE_PART;
	return true;
}

static void
cubic_acked(struct suci_cc *cc, const struct suci_cc_ack *a)
{
	struct suci_cc_cubic *c = &cc->cubic;
	bool recovering = c->recovery_ns && a->sent_ns <= c->recovery_ns;
	look_for_queue(c, a);
	if (!a->window_limited || recovering) {
		/* An idle application must not let the curve run away: its time does
		 * not count. */
		if (!a->window_limited && !c->idle_since_ns)
			c->idle_since_ns = a->now_ns;
		publish_cubic(cc, a->smoothed_ns);
		return;
	}
	if (c->idle_since_ns && c->epoch_ns)
		c->epoch_ns += a->now_ns - c->idle_since_ns;
	c->idle_since_ns = 0;
	if (c->w < c->ssthresh) {
		c->w += (uint64_t)a->packets << SUCI_CC_FRAC;
		bool grew = delay_grew(c, a);
		if (suci_cc_queued(cc, a) || grew)
			c->ssthresh = c->w;
		if (c->w > c->ssthresh)
			c->w = c->ssthresh;
	} else if (a->sharers >= SUCI_CC_SHARERS) {
		c->w = suci_cc_share(cc, c->w, a);
		c->epoch_ns = 0;
		c->ssthresh = suci_cc_room(cc, a) ? UINT64_MAX : c->w;
	} else {
		avoid(c, a);
	}
	publish_cubic(cc, a->smoothed_ns);
}

/* Slow start doubled the window in the round trip it took to hear of the loss, and half of that
 * did not fit.  What chance takes is less than that: a few packets. */
static void
overshot(struct suci_cc *cc)
{
	struct suci_cc_cubic *c = &cc->cubic;
	uint64_t many = (c->prior >> SUCI_CC_FRAC) / OVERSHOT;
	if (c->prior >= c->undo_ssthresh || c->undo_lost < OVERSHOT_MIN || c->undo_lost <= many ||
	    c->w <= c->prior / 2)
		return;
	c->w = c->ssthresh = c->prior / 2;
	c->epoch_ns = 0;
	publish_cubic(cc, 0);
}

static void
cubic_lost(struct suci_cc *cc, uint32_t packets, uint64_t sent_ns, uint64_t now_ns)
{
	struct suci_cc_cubic *c = &cc->cubic;
	if (c->recovery_ns && sent_ns <= c->recovery_ns) {
		if (c->undo_lost) {
			c->undo_lost += packets;
			overshot(cc);
		}
		return; /* of the same event */
	}
	if (by_chance(cc, packets))
		return;
	if (!cc->holds || !cc->held) {
		c->undo_w = c->w;
		c->undo_w_max = c->w_max;
		c->undo_prior = c->prior;
		c->undo_ssthresh = c->ssthresh;
		c->undo_lost = 0;
	}
	cc->held = cc->holds;
	c->undo_lost += packets;
	c->recovery_ns = now_ns ? now_ns : 1;
	c->prior = c->w;
	/* Fast convergence: give room to a newcomer if we lost below the last
	 * maximum. */
	c->w_max = c->w < c->w_max ? c->w * (BETA_DEN + BETA_NUM) / (2 * BETA_DEN) : c->w;
	c->w = c->w * BETA_NUM / BETA_DEN;
	if (c->w < SUCI_CC_MIN_WINDOW * ONE)
		c->w = SUCI_CC_MIN_WINDOW * ONE;
	c->ssthresh = c->w;
	c->epoch_ns = 0;
	publish_cubic(cc, 0);
	overshot(cc);
}

static void
cubic_collapsed(struct suci_cc *cc, uint64_t now_ns)
{
	struct suci_cc_cubic *c = &cc->cubic;
	/* What was lost has lowered the threshold already: up to there it doubles. */
	c->w = SUCI_CC_MIN_WINDOW * ONE;
	c->recovery_ns = now_ns ? now_ns : 1;
	c->epoch_ns = 0;
	if (!cc->holds)
		c->undo_lost = 0;
	publish_cubic(cc, 0);
}

static void
cubic_spurious(struct suci_cc *cc, uint32_t packets, uint64_t now_ns)
{
	struct suci_cc_cubic *c = &cc->cubic;
	(void)now_ns;
	if (!c->undo_lost)
		return;
	if (c->undo_lost > packets) {
		c->undo_lost -= packets;
		return;
	}
	/* Every packet of the reduction had arrived: it was reordering. */
	c->undo_lost = 0;
	if (c->undo_w > c->w) {
		c->w = c->undo_w;
		c->w_max = c->undo_w_max;
		c->prior = c->undo_prior;
		c->ssthresh = c->undo_ssthresh;
		c->epoch_ns = 0;
	}
	c->recovery_ns = 0;
	publish_cubic(cc, 0);
}

/* As a loss (RFC 9438 section 4.8), but never to be taken back. */
static void
cubic_ce(struct suci_cc *cc, uint32_t packets, uint64_t sent_ns, uint64_t now_ns)
{
	if (cc->cubic.recovery_ns && sent_ns <= cc->cubic.recovery_ns)
		return;
	cc->sure = true;
	cubic_lost(cc, packets, sent_ns, now_ns);
	cc->sure = false;
	cc->cubic.undo_lost = 0;
}

static void
cubic_shrunk(struct suci_cc *cc, uint32_t mtu)
{
	struct suci_cc_cubic *c = &cc->cubic;
	if (cc->held && c->undo_lost)
		cubic_spurious(cc, c->undo_lost, 0);
	uint64_t *w[] = {&c->w, &c->w_max, &c->prior, &c->w_est, &c->ssthresh};
	const uint64_t most = (uint64_t)UINT16_MAX << SUCI_CC_FRAC;
	for (size_t i = 0; i < sizeof w / sizeof *w; i++)
		if (*w[i] != UINT64_MAX)
			*w[i] = base_min_ns(*w[i], most) * mtu / cc->conf.mtu;
	c->epoch_ns = 0;
	publish_cubic(cc, 0);
}

const struct suci_cc_ops suci_cc_cubic = {
	.name = "cubic",
	.init = cubic_init,
	.acked = cubic_acked,
	.lost = cubic_lost,
	.collapsed = cubic_collapsed,
	.spurious = cubic_spurious,
	.ce = cubic_ce,
	.shrunk = cubic_shrunk,
};
