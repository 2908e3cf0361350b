/* SPDX-License-Identifier: BSD-2-Clause */
/* Silence: when it is persistent congestion (RFC 9002 section 7.6) and when not, and how
 * soon a path that has died is noticed. */
#include "test_suci_path.h"

#define DELAY_NS (5 * BASE_MS_NS)
#define RTT_NS	 (2 * DELAY_NS)

static bool
no_acks(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct pair *t = l->arg;
	(void)bytes, (void)len;
	return t->count && from == 1;
}

/* Loses what the other does not, in both directions or one, for so long. */
struct outage {
	const char *name;
	uint64_t ns;
	uint32_t segments; /* in flight when it begins */
	bool acks_only;
	uint32_t persistent;
	bool reduced;
};

static void
test_persistent(void **state)
{
	(void)state;
	/* After ten round trips without jitter PTO is little more than 1 RTT + 1 ms. */
	static const struct outage cases[] = {
		{"a long one", BASE_S_NS / 2, 4000, false, 1, true},
		{"one packet and its probes", BASE_S_NS / 2, 1, false, 1, true},
		{"two packets and their probes", BASE_S_NS / 2, 2, false, 1, true},
		{"a round trip", RTT_NS, 4000, false, 0, true},
		{"two", 2 * RTT_NS, 4000, false, 0, true},
		{"only acks are lost", BASE_S_NS / 2, 4000, true, 0, false},
		{"only acks, one packet", BASE_S_NS / 2, 1, true, 0, false},
		{"nothing on the way", BASE_S_NS / 2, 0, false, 0, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct outage *o = &cases[i];
		struct pair *t = pair_new(1, DELAY_NS);
		print_message("  %s\n", o->name);
		t->l.filter = no_acks;
		pair_start(t);
		t->want = 200;
		for (int k = 0; k < 20; k++) {
			pair_send(t, 0, 10, 1000);
			pair_run(t, RTT_NS);
		}
		assert_int_equal(t->s[0].acked, 200);
		uint32_t cwnd = pair_info(t, 0).cwnd;
		assert_true(cwnd >= 10);
		pair_send(t, 0, o->segments, 1000);
		pair_run(t, BASE_MS_NS);
		t->l.cut = !o->acks_only;
		t->count = o->acks_only;
		if (!o->acks_only) /* what was under way is lost, too */
			link_drop_wire(&t->l);
		pair_run(t, o->ns);
		t->l.cut = false;
		t->count = 0;
		assert_int_equal(pair_count(t, 0)->persistent, 0); /* silence is no proof */
		assert_int_equal(pair_info(t, 0).cwnd, cwnd);
		uint64_t acked = t->s[0].acked;
		uint32_t least = UINT32_MAX;
		t->want += o->segments;
		for (uint64_t until = t->l.now_ns + 2 * BASE_S_NS; t->l.now_ns < until;) {
			pair_run(t, BASE_MS_NS / 10);
			if (t->s[0].acked > acked || !o->segments) {
				uint32_t now = pair_info(t, 0).cwnd;
				least = now < least ? now : least;
			}
		}
		assert_int_equal(t->s[0].acked, t->want);
		assert_int_equal(pair_count(t, 0)->persistent, o->persistent);
		if (o->persistent)
			assert_int_equal(least, 2);
		else if (o->reduced)
			assert_in_range(least, cwnd / 3, cwnd - 1);
		else
			assert_in_range(least, cwnd, UINT32_MAX);
		pair_free(t);
	}
}

/* Before the round trip is known nobody can say how long is long. */
static void
test_persistent_needs_rtt(void **state)
{
	(void)state;
	struct pair *t = pair_new(1, DELAY_NS);
	pair_start(t); /* side 1 did not open: it has no sample */
	t->l.cut = true;
	pair_send(t, 1, 5, 1000);
	pair_run(t, BASE_S_NS);
	t->l.cut = false;
	pair_run(t, 2 * BASE_S_NS);
	assert_int_equal(t->s[1].acked, 5);
	assert_int_equal(pair_count(t, 1)->persistent, 0);
	pair_free(t);
}

/* The handshake says how long the way is, so nothing is sent again before its ack can be
 * there.  If the way has grown since, the first packet is, and that ack is what tells the
 * round trip. */
static void
test_long_way_is_sampled(void **state)
{
	(void)state;
	for (int grown = 0; grown < 2; grown++) {
		struct pair *t = pair_new(1, grown ? BASE_MS_NS : 20 * BASE_MS_NS);
		pair_start(t);
		t->l.delay_ns = 20 * BASE_MS_NS;
		pair_send(t, 1, 1, 1000);
		pair_run(t, BASE_S_NS);
		assert_int_equal(t->s[1].acked, 1);
		assert_in_range(pair_count(t, 1)->tx_probes, grown, 2 * grown);
		assert_in_range(pair_info(t, 1).rtt_ns_min, 40 * BASE_MS_NS, 42 * BASE_MS_NS);
		pair_free(t);
	}
}

static bool
only_cookies_from_1(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	(void)l, (void)len;
	return from == 1 && (bytes[0] & 15) != SUCI_T_COOKIE;
}

/* The way back is cut while the path comes up: who listened has no sample, but what the
 * handshake took, and need not wait as if the way might take a second. */
static void
test_born_mute(void **state)
{
	(void)state;
	const uint64_t live = 200 * BASE_MS_NS;
	for (uint64_t delay = BASE_MS_NS / 10; delay <= 20 * BASE_MS_NS; delay *= 14) {
		struct pair *t = pair_new(3, delay);
		for (int side = 0; side < 2; side++) {
			t->conf[side].liveness_ns = live;
			t->l.ep[side] = link_endpoint(&t->conf[side], t->l.now_ns);
		}
		t->l.filter = only_cookies_from_1;
		uint32_t path;
		assert_int_equal(
			suci_path_open(t->l.ep[0], &t->l.addr[1], NULL, 0, &path, t->l.now_ns), 0);
		for (int k = 0; k < 1000 && !t->s[1].up; k++)
			pair_run(t, BASE_MS_NS / 10);
		assert_true(t->s[1].up);
		uint64_t up_ns = t->l.now_ns;
		pair_send(t, 1, 1, 1000);
		pair_run(t, BASE_S_NS);
		assert_true(t->s[1].downs > 0);
		assert_int_equal(t->s[1].why, SUCI_DOWN_SILENT);
		assert_in_range(t->s[1].down_ns - up_ns, live - BASE_MS_NS, live + 25 * BASE_MS_NS);
		pair_free(t);
	}
}

static void
test_random_loss_is_not(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct pair *t = pair_new(seed, DELAY_NS);
		t->l.jitter_ns = DELAY_NS / 4;
		pair_start(t);
		t->l.loss_ppb = 50000000;
		t->want = 3000;
		pair_send(t, 0, t->want, 1000);
		assert_true(link_run(&t->l, t->l.now_ns + 60 * BASE_S_NS, pair_all_acked, t));
		assert_int_equal(pair_count(t, 0)->persistent, 0);
		pair_free(t);
	}
}

/* The stated bound: within liveness_ns, or three probe timeouts if that is longer, of when
 * something is due; an idle path has nothing due before its next keepalive. */
static void
test_liveness(void **state)
{
	(void)state;
	static const struct {
		uint64_t delay_ns, liveness_ns, keepalive_ns;
		bool busy;
		bool by_path; /* set for the path, not for the endpoint */
	} cases[] = {
		{10000, 5 * BASE_MS_NS, BASE_MS_NS, false, false},
		{10000, 5 * BASE_MS_NS, BASE_MS_NS, true, false},
		{10000, 5 * BASE_MS_NS, 0, true, true},
		{5 * BASE_MS_NS, 100 * BASE_MS_NS, 50 * BASE_MS_NS, false, false},
		{5 * BASE_MS_NS, 100 * BASE_MS_NS, 50 * BASE_MS_NS, true, true},
		{50 * BASE_MS_NS, BASE_S_NS, BASE_S_NS, false, true},
		{50 * BASE_MS_NS, BASE_S_NS, BASE_S_NS, true, false},
		{5 * BASE_MS_NS, 30 * BASE_S_NS, 5 * BASE_S_NS, false, false},
		{5 * BASE_MS_NS, 30 * BASE_S_NS, 5 * BASE_S_NS, true, false},
		/* Shorter than a round trip: nobody could live with that. */
		{50 * BASE_MS_NS, 20 * BASE_MS_NS, 200 * BASE_MS_NS, true, false},
		{50 * BASE_MS_NS, 20 * BASE_MS_NS, 200 * BASE_MS_NS, false, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pair *t = pair_new(i + 1, cases[i].delay_ns);
		uint64_t rtt = 2 * cases[i].delay_ns;
		uint64_t live = cases[i].liveness_ns, keep = cases[i].keepalive_ns;
		t->conf[0].cc = SUCI_CC_FIXED;
		t->conf[0].fixed_window = 16;
		t->conf[0].liveness_ns = cases[i].by_path ? 0 : live;
		t->conf[0].keepalive_ns = cases[i].by_path ? 0 : keep;
		pair_start(t);
		if (cases[i].by_path)
			assert_int_equal(
				suci_path_set_liveness(t->l.ep[0], t->s[0].path, live, keep), 0);
		if (cases[i].busy)
			pair_send(t, 0, PAIR_SEGS - 1, 1000);
		pair_run(t, 20 * rtt + keep);
		assert_true(t->s[0].up); /* however long it takes, an answer is an answer */
		t->l.cut = true;
		link_drop_wire(&t->l);
		uint64_t cut_ns = t->l.now_ns;
		uint64_t pto = rtt + rtt / 4 + 3 * BASE_MS_NS;
		uint64_t bound = base_max_ns(live, 3 * pto) + (cases[i].busy ? 0 : keep);
		pair_run(t, bound + rtt + BASE_S_NS);
		assert_false(t->s[0].up);
		assert_int_equal(t->s[0].why, SUCI_DOWN_SILENT);
		uint64_t took = t->s[0].down_ns - cut_ns;
		print_message("  RTT %u us, liveness %u us, keepalive %u us, %s: %u us\n",
			      (unsigned)(rtt / 1000), (unsigned)(live / 1000),
			      (unsigned)(keep / 1000), cases[i].busy ? "busy" : "idle",
			      (unsigned)(took / 1000));
		assert_true(took <= bound + BASE_MS_NS / 100);
		assert_true(took + rtt >= live);
		pair_free(t);
	}
}

/* A slow but living path is never given up. */
static void
test_living_stays(void **state)
{
	(void)state;
	struct pair *t = pair_new(9, 100 * BASE_MS_NS);
	t->conf[0].liveness_ns = t->conf[1].liveness_ns = 50 * BASE_MS_NS;
	t->conf[0].keepalive_ns = t->conf[1].keepalive_ns = 30 * BASE_MS_NS;
	t->l.jitter_ns = 50 * BASE_MS_NS;
	pair_start(t);
	assert_true(t->l.now_ns - BASE_S_NS < BASE_S_NS);
	for (int k = 0; k < 100; k++) {
		pair_send(t, k & 1, 3, 1000);
		pair_run(t, 300 * BASE_MS_NS);
	}
	assert_int_equal(t->s[0].downs + t->s[1].downs, 0);
	pair_free(t);
}

/* Nobody called for longer than the path may be silent, and segments wait: suci_tx() finds it dead,
 * and they are given back.  No datagram may be made of what was given back. */
static void
test_dead_sends_nothing(void **state)
{
	(void)state;
	struct pair *t = pair_new(1, DELAY_NS);
	struct suci_out o;
	t->conf[0].liveness_ns = 100 * BASE_MS_NS;
	pair_start(t);
	t->l.cut = true;
	for (uint32_t i = 0; i < 5; i++) {
		struct suci_segment seg = {
			.seq = i, .cookie = i, .data = t->payload, .data_len = 1000};
		assert_int_equal(suci_path_send(t->l.ep[0], t->s[0].path, &seg, t->l.now_ns), 0);
		if (i == 0)
			pair_run(t, BASE_MS_NS);
	}
	t->l.now_ns += BASE_S_NS;
	while (suci_tx(t->l.ep[0], &o, t->l.now_ns))
		assert_false(o.has_segment && t->s[0].released[o.cookie]);
	assert_int_equal(t->s[0].downs, 1);
	assert_int_equal(t->s[0].why, SUCI_DOWN_SILENT);
	assert_int_equal(t->s[0].abandoned, 5);
	pair_free(t);
}

static bool
from_0(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	const struct pair *t = l->arg;
	(void)bytes, (void)len;
	return from == 0 && t->count;
}

/* One way is cut, and the other side goes on talking: who hears nothing says so, and who is
 * heard by nobody finds out by himself if the other does not look. */
static void
test_one_way(void **state)
{
	(void)state;
	const uint64_t live = 200 * BASE_MS_NS;
	for (int looks = 0; looks < 2; looks++) {
		struct pair *t = pair_new(7, 5 * BASE_MS_NS);
		t->l.filter = from_0;
		t->conf[0].liveness_ns = live;
		t->conf[1].liveness_ns = looks ? live : 0;
		t->conf[0].keepalive_ns = t->conf[1].keepalive_ns = live / 4;
		pair_start(t);
		for (int k = 0; k < 10; k++) {
			pair_send(t, k & 1, 3, 1000);
			pair_run(t, 20 * BASE_MS_NS);
		}
		t->count = 1;
		uint64_t cut_ns = t->l.now_ns;
		pair_send(t, 0, 3, 1000);
		for (int k = 0; k < 60 && t->s[0].up; k++) {
			if (!t->s[1].downs)
				pair_send(t, 1, 1, 100);
			pair_run(t, 10 * BASE_MS_NS);
		}
		assert_false(t->s[0].up);
		assert_int_equal(t->s[0].why, SUCI_DOWN_SILENT);
		assert_int_equal(t->s[1].downs, looks);
		uint64_t took = t->s[0].down_ns - cut_ns;
		print_message("  %s: %u ms\n", looks ? t->s[0].text : "by itself",
			      (unsigned)(took / BASE_MS_NS));
		if (looks) {
			assert_int_equal(t->s[1].why, SUCI_DOWN_SILENT);
			assert_string_equal(t->s[0].text, "it hears nothing from here");
			assert_in_range(took, live - 20 * BASE_MS_NS, live + 10 * BASE_MS_NS);
		} else {
			assert_in_range(took, 2 * live - 20 * BASE_MS_NS,
					2 * live + 10 * BASE_MS_NS);
		}
		pair_free(t);
	}
}

/* Probe timeouts are a few round trips, also where ack_delay is fifty: the last datagram
 * of a burst is dropped, with traffic in one direction only or in both. */
static bool
drop_nth(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct pair *t = l->arg;
	(void)bytes;
	return from == 0 && len > 500 && t->count && !--t->count;
}

static void
test_tail_in_round_trips(void **state)
{
	(void)state;
	static const uint64_t delays_ns[] = {10000, 50000, 200000, 5 * BASE_MS_NS};
	for (size_t i = 0; i < 2 * sizeof delays_ns / sizeof *delays_ns; i++) {
		uint64_t delay = delays_ns[i / 2], rtt = 2 * delay;
		bool both = i & 1;
		struct pair *t = pair_new(i + 1, delay);
		t->l.filter = drop_nth;
		pair_start(t);
		for (int k = 0; k < 20; k++) {
			pair_send(t, 0, 3, 1000);
			if (both)
				pair_send(t, 1, 3, 1000);
			pair_run(t, 10 * BASE_MS_NS);
		}
		/* Acks that were waited for too long have cost a probe now and then only. */
		assert_true(pair_count(t, 0)->tx_spurious <= 1);
		uint32_t before = t->s[1].segments;
		t->count = 3;
		pair_send(t, 0, 3, 1000);
		uint64_t from = t->l.now_ns;
		pair_run(t, 100 * BASE_MS_NS);
		assert_int_equal(t->s[1].segments, before + 3);
		uint64_t took = t->s[1].last_seen_ns - from;
		print_message("  RTT %u us, %s: %u us\n", (unsigned)(rtt / 1000),
			      both ? "both ways" : "one way", (unsigned)(took / 1000));
		assert_true(took <= 6 * rtt + 300 * BASE_US_NS);
		pair_free(t);
	}
}

/* A round trip longer than the first four tries together. */
static void
test_far_away(void **state)
{
	(void)state;
	struct pair *t = pair_new(9, 700 * BASE_MS_NS);
	pair_start(t);
	assert_int_equal(pair_count(t, 0)->paths_opened, 1);
	assert_int_equal(pair_count(t, 1)->paths_opened, 1);
	assert_true(t->l.now_ns <= BASE_S_NS + 6 * 700 * BASE_MS_NS);
	t->want = 100;
	pair_send(t, 0, t->want, 1000);
	assert_true(link_run(&t->l, t->l.now_ns + 20 * BASE_S_NS, pair_all_acked, t));
	pair_free(t);
}

/* Lone packets wait for their ack; on a path that is about to end they do not. */
static void
test_acks_at_the_end(void **state)
{
	(void)state;
	const uint64_t delay = 10 * BASE_US_NS;
	struct pair *t = pair_new(1, delay);
	pair_start(t);
	pair_run(t, 20 * BASE_MS_NS);
	for (uint32_t i = 0; i < 6; i++) {
		bool at_once = i >= 3;
		pair_send(t, 0, 1, 1000);
		pair_run(t, 3 * delay);
		assert_int_equal(t->s[0].acked, i + at_once);
		if (i == 2) /* what has come, too */
			suci_path_ack(t->l.ep[1], t->s[1].path, t->l.now_ns);
		pair_run(t, i == 2 ? 3 * delay : 20 * BASE_MS_NS);
		assert_int_equal(t->s[0].acked, i + 1);
	}
	pair_free(t);
}

/* What is overtaken is taken for lost at first.  Each packet sent again for that is known to be
 * spurious once its original is acknowledged after all; cubic takes its step back, and the
 * thresholds grow until nobody is deceived any more.  A path remembers sixteen at a time. */
static void
test_spurious(void **state)
{
	(void)state;
	for (int cc = SUCI_CC_CUBIC; cc <= SUCI_CC_BBR; cc++) {
		struct pair *t = pair_new(1, DELAY_NS);
		t->conf[0].cc = t->conf[1].cc = (enum suci_cc_kind)cc;
		pair_start(t);
		t->want = 640;
		for (int k = 0; k < 20; k++) {
			pair_send(t, 0, 16, 1000);
			pair_run(t, 3 * RTT_NS);
		}
		const struct suci_counters *n = pair_count(t, 0);
		assert_int_equal(t->s[0].acked, 320);
		assert_int_equal(n->tx_retransmits, 0);
		uint32_t cwnd = pair_info(t, 0).cwnd;
		t->l.jitter_ns = RTT_NS / 2; /* and nothing is lost */
		uint64_t first = 0;
		for (int k = 0; k < 20; k++) {
			pair_send(t, 0, 16, 1000);
			pair_run(t, 3 * RTT_NS);
			if (k == 9)
				first = n->tx_retransmits;
		}
		uint64_t then = n->tx_retransmits - first;
		print_message(
			"  %s: %u, then %u sent again, %u known to be spurious, window %u, %u\n",
			cc == SUCI_CC_BBR ? "bbr" : "cubic", (unsigned)first, (unsigned)then,
			(unsigned)n->tx_spurious, cwnd, pair_info(t, 0).cwnd);
		assert_int_equal(t->s[0].acked, t->want);
		assert_true(first > 0);
		assert_true(then * 10 <= first);
		assert_int_equal(n->tx_spurious, n->tx_retransmits);
		/* bbr's window follows what it measures. */
		assert_true(cc == SUCI_CC_BBR || pair_info(t, 0).cwnd >= cwnd);
		pair_free(t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_persistent),
		cmocka_unit_test(test_persistent_needs_rtt),
		cmocka_unit_test(test_long_way_is_sampled),
		cmocka_unit_test(test_born_mute),
		cmocka_unit_test(test_random_loss_is_not),
		cmocka_unit_test(test_liveness),
		cmocka_unit_test(test_living_stays),
		cmocka_unit_test(test_dead_sends_nothing),
		cmocka_unit_test(test_one_way),
		cmocka_unit_test(test_far_away),
		cmocka_unit_test(test_tail_in_round_trips),
		cmocka_unit_test(test_acks_at_the_end),
		cmocka_unit_test(test_spurious),
	};
	return cmocka_run_group_tests_name("suci outage", tests, NULL, NULL);
}
