/* SPDX-License-Identifier: BSD-2-Clause */
/* cubic against RFC 9438, fixed against its configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cc.h"

static const struct suci_cc_conf conf = {
	.window_max = 60000,
	.initial_window = 10,
	.fixed_window = 77,
	.fixed_rate_bps = 5000,
	.mtu = 1000,
};

/* One round trip: a window of packets acknowledged in steps of 8. */
static void
round_trip(struct suci_cc *cc, uint64_t *now_ns, uint64_t rtt_ns, bool limited)
{
	uint64_t sent = *now_ns;
	*now_ns += rtt_ns;
	for (uint32_t left = cc->window; left;) {
		uint32_t n = left < 8 ? left : 8;
		struct suci_cc_ack a = {.packets = n,
					.in_flight = left,
					.rtt_ns = rtt_ns,
					.window_limited = limited,
					.smoothed_ns = rtt_ns,
					.sent_ns = sent,
					.now_ns = *now_ns};
		cc->ops->acked(cc, &a);
		left -= n;
	}
}

static void
test_slow_start_then_cubic(void **state)
{
	(void)state;
	struct suci_cc cc;
	uint64_t now = BASE_S_NS, rtt = 50 * BASE_MS_NS;
	suci_cc_init(&cc, SUCI_CC_CUBIC, &conf);
	assert_int_equal(cc.window, 10);
	assert_int_equal(cc.rate_bps, 0);
	for (uint32_t want = 20; want <= 1280; want *= 2) {
		round_trip(&cc, &now, rtt, true);
		assert_int_equal(cc.window, want);
		assert_int_equal(cc.rate_bps, want * 1000ull * 2 * 20); /* 2 windows per rtt */
	}
	/* Three tenths for what may be chance; when it is one in 16, all that was doubled since
	 * what is lost left; and no more for that event. */
	cc.ops->lost(&cc, 3, now, now);
	assert_int_equal(cc.window, 896);
	cc.ops->lost(&cc, 77, now - 1, now);
	assert_int_equal(cc.window, 896);
	cc.ops->lost(&cc, 1, now - 1, now);
	assert_int_equal(cc.window, 640);
	cc.ops->lost(&cc, 300, now - 1, now);
	assert_int_equal(cc.window, 640);
	while (cc.window < 1280)
		round_trip(&cc, &now, rtt, true);
	uint32_t peak = cc.window;
	cc.ops->lost(&cc, 3, now, now);
	assert_int_equal(cc.window, peak * 7 / 10);
	/* K = cbrt(384 / 0.4) = 9.865 s until Wmax is reached again. */
	uint64_t t0 = now;
	while (cc.window < 1270)
		round_trip(&cc, &now, rtt, true);
	uint64_t took = now - t0;
	assert_true(took > 6 * BASE_S_NS && took < 10 * BASE_S_NS);
	/* Around K it is flat, afterwards convex. */
	uint32_t before = cc.window;
	while (now - t0 < 10 * BASE_S_NS)
		round_trip(&cc, &now, rtt, true);
	assert_true(cc.window - before < 30);
	while (now - t0 < 15 * BASE_S_NS)
		round_trip(&cc, &now, rtt, true);
	/* W(15) = 0.4 * 5.135^3 + 1280 = 1334 (and Reno's line below it) */
	assert_true(cc.window > 1310 && cc.window < 1400);
}

/* Full windows over a way of 20 ms at which each packet waits for so long. */
static void
far_round(struct suci_cc *cc, uint64_t *now_ns, uint64_t wait_ns, uint64_t var_ns)
{
	uint64_t sent = *now_ns, rtt = 20 * BASE_MS_NS + wait_ns;
	*now_ns += rtt;
	struct suci_cc_ack a = {.packets = cc->window,
				.in_flight = cc->window,
				.rtt_ns = rtt,
				.window_limited = true,
				.smoothed_ns = rtt,
				.var_ns = var_ns,
				.min_ns = 20 * BASE_MS_NS,
				.sent_ns = sent,
				.sharers = 1,
				.now_ns = *now_ns};
	cc->ops->acked(cc, &a);
}

/* What is lost without a queue takes nothing off the window, up to one in 50; with one, told by
 * the peer, by marks, or more of it: as ever. */
static void
test_chance_is_told_apart(void **state)
{
	(void)state;
	static const struct {
		uint64_t wait_ns, var_ns;
		uint32_t lost_of_window; /* one in so many */
		bool sure, mark, keeps;
	} row[] = {
		{0, 0, 100, false, false, true},
		{BASE_MS_NS, 0, 100, false, false, false},
		{BASE_MS_NS, BASE_MS_NS, 100, false, false, true}, /* noise */
		{0, 0, 10, false, false, false},
		{0, 0, 100, true, false, false},
		{0, 0, 100, false, true, false},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct suci_cc cc;
		uint64_t now = BASE_S_NS;
		suci_cc_init(&cc, SUCI_CC_CUBIC, &conf);
		while (cc.window < 1000)
			far_round(&cc, &now, 0, 0);
		uint32_t before = cc.window;
		for (int k = 0; k < 10; k++) {
			far_round(&cc, &now, row[i].wait_ns, row[i].var_ns);
			before = k ? before : cc.window;
			cc.sure = row[i].sure;
			if (row[i].mark)
				cc.ops->ce(&cc, 1, now, now);
			else
				cc.ops->lost(&cc, before / row[i].lost_of_window, now, now);
		}
		assert_int_equal(cc.window >= before, row[i].keeps);
	}
	/* Near, a queue is not told from noise. */
	struct suci_cc cc;
	uint64_t now = BASE_S_NS;
	suci_cc_init(&cc, SUCI_CC_CUBIC, &conf);
	while (cc.window < 1000)
		round_trip(&cc, &now, BASE_MS_NS, true);
	uint32_t before = cc.window;
	cc.ops->lost(&cc, 1, now, now);
	assert_int_equal(cc.window, before * 7 / 10);
}

static void
test_idle_application_does_not_grow(void **state)
{
	(void)state;
	struct suci_cc cc;
	uint64_t now = BASE_S_NS;
	suci_cc_init(&cc, SUCI_CC_CUBIC, &conf);
	for (int i = 0; i < 100; i++)
		round_trip(&cc, &now, 10 * BASE_MS_NS, false);
	assert_int_equal(cc.window, 10);
}

static void
test_delay_ends_slow_start(void **state)
{
	(void)state;
	struct suci_cc cc;
	uint64_t now = BASE_S_NS, rtt = 40 * BASE_MS_NS;
	suci_cc_init(&cc, SUCI_CC_CUBIC, &conf);
	for (int i = 0; i < 4; i++)
		round_trip(&cc, &now, rtt, true);
	uint32_t w = cc.window;
	for (int i = 0; i < 4; i++)
		round_trip(&cc, &now, rtt + 20 * BASE_MS_NS, true);
	assert_true(cc.window < w * 4);
	assert_true(cc.cubic.ssthresh != UINT64_MAX);
}

static void
test_spurious_is_taken_back(void **state)
{
	(void)state;
	struct suci_cc cc;
	uint64_t now = BASE_S_NS;
	suci_cc_init(&cc, SUCI_CC_CUBIC, &conf);
	for (int i = 0; i < 4; i++)
		round_trip(&cc, &now, BASE_MS_NS, true);
	uint32_t w = cc.window;
	cc.ops->lost(&cc, 2, now, now);
	assert_true(cc.window < w);
	cc.ops->spurious(&cc, 1, now);
	assert_true(cc.window < w);
	cc.ops->spurious(&cc, 1, now);
	assert_int_equal(cc.window, w);
}

/* After persistent congestion (RFC 9002 section 7.6) it doubles up to where the losses had put
 * the threshold, no lower. */
static void
test_collapse_lowers_no_threshold(void **state)
{
	(void)state;
	struct suci_cc cc;
	uint64_t now = BASE_S_NS, rtt = 10 * BASE_MS_NS;
	suci_cc_init(&cc, SUCI_CC_CUBIC, &conf);
	for (int i = 0; i < 7; i++)
		round_trip(&cc, &now, rtt, true);
	assert_int_equal(cc.window, 1280);
	cc.ops->lost(&cc, 2, now, now);
	assert_int_equal(cc.window, 896);
	cc.ops->collapsed(&cc, now);
	for (uint32_t want = SUCI_CC_MIN_WINDOW; want < 896; want *= 2) {
		assert_int_equal(cc.window, want);
		now++; /* what is sent from now on */
		round_trip(&cc, &now, rtt, true);
	}
	assert_in_range(cc.window, 896, 900);
}

/* Losses of packets that were too large, with a real one long before: the window is what it was
 * before the first of them, in bytes, whatever they did to it. */
static void
test_too_large(void **state)
{
	(void)state;
	for (uint32_t collapse = 0; collapse < 2; collapse++) {
		struct suci_cc cc;
		uint64_t now = BASE_S_NS;
		suci_cc_init(&cc, SUCI_CC_CUBIC, &conf);
		for (int i = 0; i < 4; i++)
			round_trip(&cc, &now, BASE_MS_NS, true);
		cc.ops->lost(&cc, 1, now, now);
		for (int i = 0; i < 20; i++)
			round_trip(&cc, &now, BASE_MS_NS, true);
		uint32_t w = cc.window, mtu = cc.conf.mtu;
		for (uint32_t i = 1; i <= 6; i++) {
			cc.holds = true;
			cc.ops->lost(&cc, 3, now + i * BASE_MS_NS, now + i * BASE_MS_NS);
		}
		if (collapse)
			cc.ops->collapsed(&cc, now);
		assert_true(cc.window < w / 2);
		cc.conf.mtu = mtu / 2;
		cc.ops->shrunk(&cc, mtu);
		assert_in_range(cc.window, 2 * w - 2, 2 * w + 2);
	}
}

static void
test_bounds(void **state)
{
	(void)state;
	struct suci_cc cc;
	uint64_t now = BASE_S_NS;
	struct suci_cc_conf c = conf;
	c.window_max = 100;
	suci_cc_init(&cc, SUCI_CC_CUBIC, &c);
	for (int i = 0; i < 200; i++)
		round_trip(&cc, &now, BASE_MS_NS, true);
	assert_int_equal(cc.window, 100);
	for (int i = 0; i < 200; i++, now++)
		cc.ops->lost(&cc, 1, now + 1, now + 1);
	assert_int_equal(cc.window, SUCI_CC_MIN_WINDOW);
	cc.ops->collapsed(&cc, now);
	assert_int_equal(cc.window, SUCI_CC_MIN_WINDOW);
	c.window_max = 1;
	suci_cc_init(&cc, SUCI_CC_CUBIC, &c);
	assert_int_equal(cc.window, 1);
	cc.ops->lost(&cc, 1, now + 1, now + 1);
	round_trip(&cc, &now, BASE_MS_NS, true);
	assert_int_equal(cc.window, 1);
}

static void
test_fixed(void **state)
{
	(void)state;
	struct suci_cc cc;
	uint64_t now = BASE_S_NS;
	suci_cc_init(&cc, SUCI_CC_FIXED, &conf);
	round_trip(&cc, &now, BASE_MS_NS, true);
	cc.ops->lost(&cc, 5, now, now);
	cc.ops->collapsed(&cc, now);
	cc.ops->spurious(&cc, 5, now);
	assert_int_equal(cc.window, 77);
	assert_int_equal(cc.rate_bps, 5000);
}

/* Acks one by one, with a round trip that grows within the round as it does when the first
 * windows of a crowd fill a queue; was it the end of slow start? */
static bool
ends_slow_start(enum suci_cc_kind kind, uint32_t sharers, uint64_t growth_ns)
{
	struct suci_cc cc;
	const uint64_t rtt = 10 * BASE_MS_NS;
	suci_cc_init(&cc, kind, &conf);
	for (uint32_t i = 0; i < 10; i++) {
		struct suci_cc_ack a = {.packets = 1,
					.in_flight = cc.window,
					.rtt_ns = rtt + i * growth_ns,
					.min_ns = rtt,
					.sharers = sharers,
					.window_limited = true,
					.smoothed_ns = rtt,
					.sent_ns = BASE_S_NS + i,
					.now_ns = BASE_S_NS + rtt + i * growth_ns,
					.bytes = conf.mtu,
					.delivered = (i + 1) * conf.mtu};
		cc.ops->acked(&cc, &a);
	}
	return kind == SUCI_CC_BBR ? cc.bbr.full : cc.cubic.ssthresh != UINT64_MAX;
}

static void
test_crowd_ends_slow_start(void **state)
{
	(void)state;
	static const enum suci_cc_kind kinds[] = {SUCI_CC_CUBIC, SUCI_CC_BBR};
	for (size_t k = 0; k < 2; k++) {
		assert_false(ends_slow_start(kinds[k], 1, 400 * BASE_US_NS));
		assert_false(ends_slow_start(kinds[k], SUCI_CC_SHARERS - 1, 400 * BASE_US_NS));
		assert_true(ends_slow_start(kinds[k], SUCI_CC_SHARERS, 400 * BASE_US_NS));
		/* An eighth of the round trip is not reached. */
		assert_false(ends_slow_start(kinds[k], 31, 100 * BASE_US_NS));
	}
}

#define CROWD 20u
#define FITS  400u /* packets on the way without a queue */

static void
crowd_round(struct suci_cc *cc, uint64_t rtt_ns, uint64_t now_ns)
{
	struct suci_cc_ack a = {.packets = cc->window,
				.in_flight = cc->window,
				.rtt_ns = rtt_ns,
				.min_ns = 10 * BASE_MS_NS,
				.sharers = CROWD,
				.window_limited = true,
				.smoothed_ns = rtt_ns,
				.sent_ns = now_ns - rtt_ns,
				.now_ns = now_ns};
	cc->ops->acked(cc, &a);
}

/* Windows that began apart meet, with eight packets of each in the queue; when the others
 * have finished, what is left doubles. */
static void
test_crowd_shares(void **state)
{
	(void)state;
	struct suci_cc cc[CROWD];
	uint64_t now = BASE_S_NS;
	for (uint32_t i = 0; i < CROWD; i++) {
		struct suci_cc_conf c = conf;
		c.initial_window = i % 2 ? 60 : 6;
		suci_cc_init(&cc[i], SUCI_CC_CUBIC, &c);
		cc[i].cubic.ssthresh = cc[i].cubic.w;
	}
	for (uint32_t round = 0; round < 60; round++) {
		uint64_t all = 0;
		for (uint32_t i = 0; i < CROWD; i++)
			all += cc[i].window;
		uint64_t rtt = 10 * BASE_MS_NS * (all > FITS ? all : FITS) / FITS;
		now += rtt;
		for (uint32_t i = 0; i < CROWD; i++)
			crowd_round(&cc[i], rtt, now);
	}
	for (uint32_t i = 0; i < CROWD; i++)
		assert_in_range(cc[i].window, FITS / CROWD + 7, FITS / CROWD + 9);
	uint32_t before = cc[0].window;
	for (uint32_t round = 0; round < 3; round++)
		crowd_round(&cc[0], 10 * BASE_MS_NS, now += 10 * BASE_MS_NS);
	assert_in_range(cc[0].window, 4 * before, 6 * before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_start_then_cubic),
		cmocka_unit_test(test_chance_is_told_apart),
		cmocka_unit_test(test_idle_application_does_not_grow),
		cmocka_unit_test(test_delay_ends_slow_start),
		cmocka_unit_test(test_spurious_is_taken_back),
		cmocka_unit_test(test_collapse_lowers_no_threshold),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_crowd_ends_slow_start),
		cmocka_unit_test(test_crowd_shares),
	};
	return cmocka_run_group_tests_name("suci cc", tests, NULL, NULL);
}
