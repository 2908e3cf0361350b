/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of the delivery rate, and bbr over a model of a link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/prng.h"
#include "cc.h"

#define SIZE 1000u

/* ---- samples ------------------------------------------------------------- */

static void
test_rate_of_steady_packets(void **state)
{
	(void)state;
	struct suci_rate r;
	struct suci_snap snap[64];
	struct suci_rate_sample out = {0};
	uint64_t t0 = BASE_S_NS, rtt = 10 * BASE_MS_NS;
	suci_rate_init(&r, 1, t0);
	/* One packet of 1000 bytes per millisecond, each acknowledged 10 ms later. */
	for (uint32_t ms = 0; ms < 50; ms++) {
		uint64_t now = t0 + ms * BASE_MS_NS;
		if (ms >= 10) {
			uint32_t i = ms - 10;
			suci_rate_acked(&r, &snap[i], 1 + i, t0 + i * BASE_MS_NS, SIZE, rtt, now,
					&out);
			if (i >= 11)
				assert_in_range(out.rate_bps, 999000, 1001000);
			assert_false(out.idle);
		}
		suci_rate_sent(&r, &snap[ms], ms < 10 ? ms : 9, now);
	}
	assert_int_equal(r.delivered, 40 * SIZE);
	assert_int_equal(out.in_flight, 10);
}

static void
test_rate_is_not_fooled_by_acks_together(void **state)
{
	(void)state;
	struct suci_rate r;
	struct suci_snap snap[20];
	struct suci_rate_sample out;
	uint64_t t0 = BASE_S_NS;
	suci_rate_init(&r, 1, t0);
	for (uint32_t i = 0; i < 20; i++)
		suci_rate_sent(&r, &snap[i], i, t0 + i * BASE_MS_NS);
	/* All acks come in one: sent over 19 ms, so not faster than that. */
	suci_rate_acked(&r, &snap[19], 20, t0 + 19 * BASE_MS_NS, 20 * SIZE, BASE_MS_NS,
			t0 + 30 * BASE_MS_NS, &out);
	assert_int_equal(out.bytes, 20 * SIZE);
	assert_int_equal(out.rate_bps, 20 * SIZE * 1000 / 30); /* the acks' time is longer */
	/* The next ones are sent over 100 ms and acknowledged within one. */
	struct suci_snap late[2];
	suci_rate_sent(&r, &late[0], 1, t0 + 40 * BASE_MS_NS);
	suci_rate_sent(&r, &late[1], 1, t0 + 140 * BASE_MS_NS);
	suci_rate_acked(&r, &late[1], 22, t0 + 140 * BASE_MS_NS, 2 * SIZE, BASE_MS_NS,
			t0 + 141 * BASE_MS_NS, &out);
	assert_true(out.rate_bps <= 2 * SIZE * 1000 / 100);
}

static void
test_rate_leaves_out(void **state)
{
	(void)state;
	struct suci_rate r;
	struct suci_snap s;
	struct suci_rate_sample out;
	uint64_t t0 = BASE_S_NS;
	suci_rate_init(&r, 5, t0);
	/* Faster than the shortest round trip: acks were compressed. */
	suci_rate_sent(&r, &s, 3, t0);
	suci_rate_acked(&r, &s, 5, t0, SIZE, 10 * BASE_MS_NS, t0 + BASE_MS_NS, &out);
	assert_int_equal(out.rate_bps, 0);
	assert_int_equal(out.bytes, SIZE);
	/* Sent before samples were taken: its note is garbage. */
	suci_rate_acked(&r, &s, 4, t0, SIZE, 0, t0 + 2 * BASE_MS_NS, &out);
	assert_int_equal(out.rate_bps, 0);
	assert_int_equal(out.bytes, 0);
	assert_int_equal(r.delivered, 2 * SIZE);
	/* Losses in between are told. */
	suci_rate_sent(&r, &s, 3, t0 + 3 * BASE_MS_NS);
	r.lost += 7;
	suci_rate_acked(&r, &s, 6, t0 + 3 * BASE_MS_NS, SIZE, 0, t0 + 13 * BASE_MS_NS, &out);
	assert_int_equal(out.lost, 7);
	assert_int_equal(out.in_flight, 4);
}

static void
test_rate_marks_pauses(void **state)
{
	(void)state;
	struct suci_rate r;
	struct suci_snap s[3];
	struct suci_rate_sample out;
	uint64_t t = BASE_S_NS;
	suci_rate_init(&r, 1, t);
	suci_rate_sent(&r, &s[0], 0, t);
	suci_rate_idle(&r, 2);
	suci_rate_sent(&r, &s[1], 1, t + BASE_MS_NS);
	suci_rate_acked(&r, &s[0], 1, t, SIZE, 0, t + 10 * BASE_MS_NS, &out);
	assert_false(out.idle);
	suci_rate_acked(&r, &s[1], 2, t + BASE_MS_NS, SIZE, 0, t + 11 * BASE_MS_NS, &out);
	assert_true(out.idle);
	/* What came after the pause is acknowledged: it is over. */
	suci_rate_sent(&r, &s[2], 1, t + 12 * BASE_MS_NS);
	suci_rate_acked(&r, &s[2], 3, t + 12 * BASE_MS_NS, SIZE, 0, t + 22 * BASE_MS_NS, &out);
	assert_false(out.idle);
}

/* ---- a link -------------------------------------------------------------- */

#define FLIGHT 65536u

/* A wire of rate with delay there and back, an endless queue, losses at random; every
 * packet is acknowledged by itself, a lost one is known as lost when the next ack comes. */
struct path {
	struct suci_cc cc;
	struct suci_rate rate;
	uint64_t now, free_at, next_send;
	uint64_t bps, rtt_ns, queue_ns;
	uint32_t loss_ppm;
	struct base_prng prng;
	uint32_t head, tail, in_flight; /* of pkt[] */
	struct {
		struct suci_snap snap;
		uint64_t sent, ack_at; /* 0: lost */
	} pkt[FLIGHT];
	uint64_t queue_max_ns, min_rtt;
	uint64_t delivered; /* packets */
};

static void
path_init(struct path *p, uint64_t bps, uint64_t rtt_ns, const struct suci_cc_conf *conf)
{
	*p = (struct path){.now = BASE_S_NS,
			   .bps = bps,
			   .rtt_ns = rtt_ns,
			   .queue_ns = UINT64_MAX,
			   .min_rtt = UINT64_MAX,
			   .prng = base_prng_seed(7)};
	suci_cc_init(&p->cc, SUCI_CC_BBR, conf);
	suci_rate_init(&p->rate, 1, p->now);
}

static void
path_send(struct path *p)
{
	uint32_t i = p->tail++ % FLIGHT;
	suci_rate_sent(&p->rate, &p->pkt[i].snap, p->in_flight++, p->now);
	p->pkt[i].sent = p->now;
	uint64_t wait = p->free_at > p->now ? p->free_at - p->now : 0;
	bool lost = base_prng_below(&p->prng, 1000000) < p->loss_ppm || wait > p->queue_ns;
	p->pkt[i].ack_at = 0;
	if (lost)
		return;
	p->free_at = base_max_ns(p->free_at, p->now) + SIZE * BASE_S_NS / p->bps;
	p->pkt[i].ack_at = p->free_at + p->rtt_ns;
	p->queue_max_ns = base_max_ns(p->queue_max_ns, wait);
}

static void
path_ack(struct path *p, uint32_t seq)
{
	uint32_t i = seq % FLIGHT;
	uint64_t rtt = p->now - p->pkt[i].sent;
	p->min_rtt = base_min_ns(p->min_rtt, rtt);
	struct suci_cc_ack a = {.packets = 1,
				.in_flight = p->in_flight,
				.window_limited = true,
				.rtt_ns = rtt,
				.smoothed_ns = rtt,
				.sent_ns = p->pkt[i].sent,
				.now_ns = p->now,
				.bytes = SIZE};
	suci_rate_acked(&p->rate, &p->pkt[i].snap, seq + 1, p->pkt[i].sent, SIZE, p->min_rtt,
			p->now, &a.sample);
	a.delivered = p->rate.delivered;
	p->in_flight--;
	p->delivered++;
	p->cc.ops->acked(&p->cc, &a);
}

static void
path_run(struct path *p, uint64_t ns)
{
	uint64_t end = p->now + ns;
	while (p->now < end) {
		uint32_t first = p->head;
		while (first != p->tail && !p->pkt[first % FLIGHT].ack_at)
			first++;
		uint64_t ack = first == p->tail ? UINT64_MAX : p->pkt[first % FLIGHT].ack_at;
		/* A window lost altogether: as after a probe. */
		bool may = p->in_flight < p->cc.window || ack == UINT64_MAX;
		uint64_t send = may ? base_max_ns(p->now, p->next_send) : UINT64_MAX;
		p->now = base_min_ns(send, ack);
		if (ack <= send) {
			for (; p->head != first; p->head++) {
				p->in_flight--;
				p->rate.lost++;
				p->cc.ops->lost(&p->cc, 1, p->pkt[p->head % FLIGHT].sent, p->now);
			}
			p->head++;
			path_ack(p, first);
			continue;
		}
		path_send(p);
		if (p->cc.rate_bps)
			p->next_send = p->now + SIZE * BASE_S_NS / p->cc.rate_bps;
	}
}

static const struct suci_cc_conf conf = {.window_max = 20000, .initial_window = 10, .mtu = SIZE};

static void
test_bbr_finds_rate_and_delay(void **state)
{
	(void)state;
	static const struct {
		uint64_t bps, rtt_ns;
		uint32_t loss_ppm, percent;
	} row[] = {
		{1250000, 40 * BASE_MS_NS, 0, 95},	{12500000, 20 * BASE_MS_NS, 0, 95},
		{125000000, 20 * BASE_MS_NS, 0, 95},	{125000000, 200 * BASE_US_NS, 0, 95},
		{125000000, 20 * BASE_US_NS, 0, 90},	{12500000, 20 * BASE_MS_NS, 1000, 95},
		{12500000, 20 * BASE_MS_NS, 10000, 92},
	};
	static struct path p;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		path_init(&p, row[i].bps, row[i].rtt_ns, &conf);
		p.loss_ppm = row[i].loss_ppm;
		path_run(&p, 60 * row[i].rtt_ns);
		assert_true(p.cc.bbr.full);
		assert_in_range(p.cc.bbr.bw[0] > p.cc.bbr.bw[1] ? p.cc.bbr.bw[0] : p.cc.bbr.bw[1],
				row[i].bps * 95 / 100, row[i].bps * 102 / 100);
		uint64_t before = p.delivered, t = p.now;
		path_run(&p, 200 * row[i].rtt_ns);
		uint64_t could = (p.now - t) / 1000 * row[i].bps / 1000000 / SIZE;
		assert_in_range((p.delivered - before) * 100 / could, row[i].percent, 101);
		/* Window: 2.25 products and what may wait for its ack. */
		uint64_t bdp = row[i].bps / 1000 * (row[i].rtt_ns / 1000) / 1000 / SIZE;
		assert_true(p.cc.window <= bdp * 9 / 4 + 20);
	}
}

static void
test_bbr_keeps_queue_short(void **state)
{
	(void)state;
	static struct path p;
	uint64_t rtt = 20 * BASE_MS_NS;
	path_init(&p, 12500000, rtt, &conf);
	path_run(&p, 40 * rtt);
	assert_true(p.queue_max_ns <= 2 * rtt); /* startup */
	p.queue_max_ns = 0;
	path_run(&p, 400 * rtt);
	assert_true(p.queue_max_ns <= rtt / 2);
}

static void
test_bbr_follows_a_change_of_rate(void **state)
{
	(void)state;
	static struct path p;
	uint64_t rtt = 20 * BASE_MS_NS;
	path_init(&p, 12500000, rtt, &conf);
	path_run(&p, 100 * rtt);
	p.bps /= 4;
	path_run(&p, 400 * rtt);
	assert_in_range(p.cc.bbr.bw[1], p.bps * 9 / 10, p.bps * 12 / 10);
	p.queue_max_ns = 0;
	path_run(&p, 100 * rtt);
	assert_true(p.queue_max_ns <= rtt);
	p.bps *= 8;
	path_run(&p, 300 * rtt);
	uint64_t before = p.delivered, t = p.now;
	path_run(&p, 100 * rtt);
	assert_true((p.delivered - before) * SIZE >= (p.now - t) / 1000 * p.bps / 1000000 * 9 / 10);
}

static void
test_bbr_bounds_itself_by_losses(void **state)
{
	(void)state;
	static struct path p;
	uint64_t rtt = 20 * BASE_MS_NS;
	/* A queue of a tenth of the product: startup overruns it, UP finds its edge. */
	path_init(&p, 12500000, rtt, &conf);
	p.queue_ns = rtt / 10;
	path_run(&p, 500 * rtt);
	assert_true(p.cc.bbr.inflight_hi != UINT32_MAX);
	assert_in_range(p.cc.bbr.inflight_hi, 200, 400); /* product 250 */
	uint32_t lost = p.rate.lost;
	uint64_t before = p.delivered;
	path_run(&p, 500 * rtt);
	assert_true((p.rate.lost - lost) * 50 <= p.delivered - before);
	assert_true((p.delivered - before) * SIZE >= 10 * 12500000ull * 85 / 100);
	/* A fifth of all lost, at random: it gives way, but goes on. */
	p.loss_ppm = 200000;
	path_run(&p, 50 * rtt);
	assert_true(p.cc.bbr.inflight_lo != UINT32_MAX || p.cc.bbr.bw_lo != UINT64_MAX ||
		    p.cc.bbr.inflight_hi < 250);
	assert_true(p.cc.window >= 4);
}

static void
test_bbr_obeys_marks(void **state)
{
	(void)state;
	static struct path p;
	uint64_t rtt = 20 * BASE_MS_NS;
	path_init(&p, 12500000, rtt, &conf);
	path_run(&p, 3 * rtt);
	assert_int_equal(p.cc.bbr.state, SUCI_BBR_STARTUP);
	p.cc.ops->ce(&p.cc, 1, p.now, p.now);
	path_run(&p, rtt);
	assert_true(p.cc.bbr.full);
	assert_true(p.cc.bbr.inflight_hi != UINT32_MAX);
	path_init(&p, 12500000, rtt, &conf);
	path_run(&p, 40 * rtt);
	while (p.cc.bbr.state != SUCI_BBR_CRUISE)
		path_run(&p, BASE_MS_NS);
	assert_int_equal(p.cc.bbr.inflight_lo, UINT32_MAX);
	uint32_t before = p.cc.window; /* two products of 250 */
	p.cc.ops->ce(&p.cc, 1, p.now, p.now);
	path_run(&p, 2 * rtt);
	assert_in_range(p.cc.bbr.inflight_lo, before * 6 / 10, before * 8 / 10);
	/* Marks in every round: down to what is delivered in one. */
	for (int i = 0; i < 4; i++) {
		p.cc.ops->ce(&p.cc, 1, p.now, p.now);
		path_run(&p, 2 * rtt);
	}
	assert_in_range(p.cc.bbr.inflight_lo, 200, 260);
}

/* Acks so close together that they measure no rate, and marks or losses that end the
 * beginning all the same: what is not known must not become the slowest rate there is. */
static void
test_bbr_without_any_measured_rate(void **state)
{
	(void)state;
	static const struct {
		bool ce;
		uint32_t lost;
	} row[] = {{true, 0}, {false, 10}, {true, 10}};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct suci_cc cc;
		suci_cc_init(&cc, SUCI_CC_BBR, &conf);
		struct suci_cc_ack a = {
			.packets = 1,
			.in_flight = 10,
			.rtt_ns = BASE_MS_NS,
			.smoothed_ns = BASE_MS_NS,
			.now_ns = BASE_S_NS,
			.bytes = SIZE,
			.sample = {.bytes = SIZE, .in_flight = 10, .lost = row[i].lost},
		};
		for (int k = 0; k < 1000; k++) {
			a.sent_ns = a.now_ns;
			a.now_ns += 10 * BASE_MS_NS;
			a.sample.prior_delivered = a.delivered;
			a.delivered += SIZE;
			if (row[i].ce)
				cc.ops->ce(&cc, 1, a.sent_ns, a.now_ns);
			cc.ops->acked(&cc, &a);
			assert_true(cc.bbr.full);
			assert_true(cc.bbr.bw_lo);
			assert_true(cc.rate_bps >= SIZE * BASE_S_NS / BASE_MS_NS);
		}
		/* Once there is one it counts. */
		a.sample.rate_bps = 5000000;
		a.sample.lost = 0;
		a.in_flight = a.sample.in_flight = 1;
		for (int k = 0; k < 1000; k++) {
			a.now_ns += 10 * BASE_MS_NS;
			a.sample.prior_delivered = a.delivered;
			a.delivered += SIZE;
			cc.ops->acked(&cc, &a);
		}
		assert_in_range(cc.rate_bps, 4000000, 7000000);
	}
}

static void
test_bbr_takes_back_what_was_spurious(void **state)
{
	(void)state;
	static struct path p;
	uint64_t rtt = 20 * BASE_MS_NS;
	path_init(&p, 12500000, rtt, &conf);
	path_run(&p, 40 * rtt);
	while (p.cc.bbr.state != SUCI_BBR_CRUISE)
		path_run(&p, BASE_MS_NS);
	p.rate.lost += 100;
	path_run(&p, 3 * rtt / 2);
	assert_true(p.cc.bbr.inflight_lo != UINT32_MAX);
	uint32_t lost = p.cc.bbr.undo_lost;
	assert_true(lost > 0 && lost <= 100);
	p.cc.ops->spurious(&p.cc, lost - 1, p.now);
	assert_true(p.cc.bbr.inflight_lo != UINT32_MAX);
	p.cc.ops->spurious(&p.cc, 1, p.now);
	assert_int_equal(p.cc.bbr.inflight_lo, UINT32_MAX);
	assert_true(p.cc.bbr.bw_lo == UINT64_MAX);
}

static void
test_bbr_looks_for_the_shortest_round_trip(void **state)
{
	(void)state;
	static struct path p;
	uint64_t rtt = 20 * BASE_MS_NS;
	path_init(&p, 12500000, rtt, &conf);
	path_run(&p, 40 * rtt);
	/* The way is longer now; within 5 s it looks again, and finds that out. */
	p.rtt_ns = 2 * rtt;
	bool seen = false;
	for (int ms = 0; ms < 7000; ms += 10) {
		path_run(&p, 10 * BASE_MS_NS);
		seen = seen || p.cc.bbr.state == SUCI_BBR_PROBE_RTT;
	}
	assert_true(seen);
	assert_in_range(p.cc.bbr.min_rtt_ns, 2 * rtt, 2 * rtt + rtt / 4);
	assert_true(p.cc.bbr.state != SUCI_BBR_PROBE_RTT);
}

static void
test_bbr_small_beginnings(void **state)
{
	(void)state;
	static struct path p;
	uint64_t rtt = 20 * BASE_MS_NS;
	path_init(&p, 12500000, rtt, &conf);
	/* One packet, then nothing: its rate is no measure of the path. */
	path_send(&p);
	p.now = p.pkt[0].ack_at;
	suci_rate_idle(&p.rate, 2);
	path_ack(&p, 0);
	p.head = 1;
	assert_true(p.cc.rate_bps >= 10 * SIZE * BASE_S_NS / rtt);
	assert_true(p.cc.window >= 10);
	p.cc.ops->collapsed(&p.cc, p.now);
	assert_int_equal(p.cc.window, 4);
	path_run(&p, 60 * rtt);
	assert_true(p.cc.window >= 250);
	struct suci_cc_conf c = conf;
	c.window_max = 1;
	path_init(&p, 12500000, rtt, &c);
	assert_int_equal(p.cc.window, 1);
	path_run(&p, 20 * rtt);
	assert_int_equal(p.cc.window, 1);
	p.cc.ops->collapsed(&p.cc, p.now);
	assert_int_equal(p.cc.window, 1);
}

/* For so long nothing arrives; then two probes do, and the ack of the first tells that all
 * before them is lost, and that it was persistent congestion, as loss.c has it. */
static void
outage(struct path *p, uint64_t ns)
{
	uint32_t lost = p->tail - p->head;
	p->now += ns;
	p->head = p->tail;
	path_send(p);
	path_send(p);
	p->now = p->pkt[p->head % FLIGHT].ack_at;
	path_ack(p, p->head++);
	p->rate.lost += lost;
	p->in_flight -= lost;
	p->cc.ops->lost(&p->cc, lost, p->now - ns, p->now);
	p->cc.ops->collapsed(&p->cc, p->now);
}

/* It collapses, and comes back: what was lost says something of the window that it had then, and
 * nothing of the few packets after it.  Whatever it was about, and however often. */
static void
test_bbr_comes_back_after_an_outage(void **state)
{
	(void)state;
	static const struct {
		enum suci_bbr_state when;
		uint32_t percent[2]; /* of the rate, after one and after two */
	} row[] = {
		{SUCI_BBR_STARTUP, {95, 65}}, {SUCI_BBR_DOWN, {65, 45}},
		{SUCI_BBR_CRUISE, {65, 45}},  {SUCI_BBR_REFILL, {65, 45}},
		{SUCI_BBR_UP, {65, 45}},
	};
	static struct path p;
	const uint64_t rtt = 20 * BASE_MS_NS, product = 250;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		path_init(&p, 12500000, rtt, &conf);
		path_run(&p, (row[i].when == SUCI_BBR_STARTUP ? 4 : 40) * rtt);
		while (p.cc.bbr.state != row[i].when)
			path_run(&p, BASE_MS_NS);
		for (size_t k = 0; k < 2; k++) {
			outage(&p, 5 * rtt);
			assert_int_equal(p.cc.window, 4);
			path_run(&p, 10 * rtt);
			uint64_t before = p.delivered;
			path_run(&p, 10 * rtt);
			assert_in_range(p.delivered - before, row[i].percent[k] * product / 10,
					10 * product);
		}
	}
}

/* 64 in flight over a wire that drops one in a hundred: five lost once in two thousand times.
 * That ends no beginning; what a full queue drops does. */
static void
test_bbr_begins_through_chance_losses(void **state)
{
	(void)state;
	static const struct suci_cc_conf begins = {
		.initial_window = 32, .window_max = 4096, .mtu = SIZE};
	struct suci_cc cc;
	suci_cc_init(&cc, SUCI_CC_BBR, &begins);
	uint64_t now = BASE_S_NS, rtt = 10 * BASE_MS_NS, delivered = 0;
	for (int i = 0; i < 2; i++) {
		delivered += 64 * SIZE;
		struct suci_cc_ack a = {.packets = 8,
					.bytes = 8 * SIZE,
					.in_flight = 64,
					.rtt_ns = rtt,
					.smoothed_ns = rtt,
					.window_limited = true,
					.sent_ns = now - rtt,
					.now_ns = now,
					.delivered = delivered,
					.sample = {.rate_bps = 64 * SIZE * 100ull,
						   .bytes = 64 * SIZE,
						   .prior_delivered = delivered - 64 * SIZE,
						   .in_flight = 64,
						   .lost = i ? 8 : 5}};
		cc.ops->acked(&cc, &a);
		assert_int_equal(cc.bbr.state != SUCI_BBR_STARTUP, i);
		now += rtt;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_of_steady_packets),
		cmocka_unit_test(test_rate_is_not_fooled_by_acks_together),
		cmocka_unit_test(test_rate_leaves_out),
		cmocka_unit_test(test_rate_marks_pauses),
		cmocka_unit_test(test_bbr_finds_rate_and_delay),
		cmocka_unit_test(test_bbr_keeps_queue_short),
		cmocka_unit_test(test_bbr_follows_a_change_of_rate),
		cmocka_unit_test(test_bbr_bounds_itself_by_losses),
		cmocka_unit_test(test_bbr_obeys_marks),
		cmocka_unit_test(test_bbr_without_any_measured_rate),
		cmocka_unit_test(test_bbr_takes_back_what_was_spurious),
		cmocka_unit_test(test_bbr_looks_for_the_shortest_round_trip),
		cmocka_unit_test(test_bbr_small_beginnings),
		cmocka_unit_test(test_bbr_comes_back_after_an_outage),
		cmocka_unit_test(test_bbr_begins_through_chance_losses),
	};
	return cmocka_run_group_tests_name("suci bbr", tests, NULL, NULL);
}
