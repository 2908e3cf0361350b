/* SPDX-License-Identifier: BSD-2-Clause */
/* Receivers without room, or not ready: refused, kept by the sender, sent again. */
#include "suci_lane_kit.h"

/* Very little room at the receiver, and everything out of order: refused
 * segments come again, nothing is stuck. */
static void
test_tight_receiver(void **state)
{
	(void)state;
	struct suci_lane_limits few = {.lanes_max = 1,
				       .blocks_max = 300,
				       .rx_blocks_max = 2,
				       .held_max = 2,
				       .ranges_max = 3,
				       .labels_max = 20};
	uint64_t refused = 0;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world *w = world_up(seed, seed & 1, &few);
		w->l.jitter_ns = 60000;
		w->l.loss_ppb = 50000000;
		for (int i = 0; i < 120; i++)
			send_block(w, i & 1, 20, (uint64_t)(i * 811 % 6000), true);
		assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		expect_all(w, 1);
		const struct suci_lane_counters *n = suci_lane_counters(w->h[1].ls);
		refused += n->refused_held + n->refused_blocks + n->refused_ranges;
		world_free(w);
	}
	assert_true(refused > 0);
}

/* A receiver that lets one block begin now and then: what is refused comes again, what
 * was taken before its turn waits for suci_lane_resume(), nothing is lost or late. */
static void
test_no_room(void **state)
{
	(void)state;
	for (uint64_t jitter = 0; jitter <= 200000; jitter += 200000) {
		struct world *w = world_new(5, 20000);
		w->conf.direct = false;
		w->conf.window = 64;
		w->l.jitter_ns = jitter;
		world_open(w);
		w->h[1].room = 0;
		for (uint32_t i = 0; i < 40; i++)
			send_block(w, 0, 0, i % 3 * 2000, false);
		link_run(&w->l, w->l.now_ns + 5 * BASE_MS_NS, NULL, NULL);
		assert_int_equal(w->h[1].begun, 0);
		const struct suci_lane_counters *n = suci_lane_counters(w->h[1].ls);
		assert_true(n->refused_room > 0);
		assert_true(n->held > 0);
		uint32_t given = 0;
		while (given < 40) {
			given += w->h[1].room = 1 + given % 3;
			suci_lane_resume(w->h[1].ls, w->h[1].lane, w->l.now_ns);
			link_run(&w->l, w->l.now_ns + 12 * BASE_MS_NS, NULL, NULL);
			assert_int_equal(w->h[1].begun, given < 40 ? given : 40);
		}
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
		expect_all(w, 0);
		world_free(w);
	}
}

/* Segments before their lane: "not yet" loses nothing, the others are a lane opened at
 * once and one that never will be. */
static void
test_lane_not_yet(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct world *w = world_new(11, 20000);
		const struct suci_lane_counters *n;
		w->conf.direct = direct;
		w->late = true;
		w->unknown = SUCI_REFUSED;
		w->l.jitter_ns = 200000;
		w->l.loss_ppb = 50000000;
		world_open(w);
		n = suci_lane_counters(w->h[1].ls);
		for (uint32_t i = 0; i < 20; i++)
			send_block(w, 0, 0, i * 700, true);
		link_run(&w->l, w->l.now_ns + 50 * BASE_MS_NS, NULL, NULL);
		assert_true(n->refused_label > 0);
		assert_int_equal(n->drop_label, 0);
		assert_int_equal(w->h[1].begun, 0);
		w->unknown = SUCI_TAKEN;
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
		expect_all(w, 0);
		world_free(w);
	}
	struct world *w = world_new(12, 20000);
	w->late = true;
	w->unknown = SUCI_DROPPED;
	world_open(w);
	send_block(w, 0, 0, 100, false);
	link_run(&w->l, w->l.now_ns + 50 * BASE_MS_NS, NULL, NULL);
	assert_int_equal(suci_lane_counters(w->h[1].ls)->drop_label, 1);
	assert_int_equal(suci_lane_counters(w->h[1].ls)->refused_label, 0);
	assert_int_equal(suci_held(w->l.ep[0]), 0);
	suci_lane_close(w->h[0].ls, w->h[0].lane, w->l.now_ns);
	world_free(w);
}

/* A relayed receiver that can hold very little: what it throws away comes again, and
 * nothing is refused on the path. */
static void
test_refused_end_to_end(void **state)
{
	(void)state;
	struct suci_lane_limits lim = {.lanes_max = 2,
				       .blocks_max = BLOCKS_MAX,
				       .rx_blocks_max = 4,
				       .held_max = 8,
				       .ranges_max = 8,
				       .labels_max = 32};
	uint64_t thrown = 0;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct world *w = world_up(seed, false, &lim);
		w->l.jitter_ns = 200000;
		w->l.loss_ppb = 50000000;
		for (int i = 0; i < 100; i++)
			send_block(w, 0, 50, (uint64_t)(i % 20) * 1000, true);
		assert_true(link_run(&w->l, w->l.now_ns + 20 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		const struct suci_lane_counters *rx = suci_lane_counters(w->h[1].ls);
		const struct suci_lane_counters *tx = suci_lane_counters(w->h[0].ls);
		uint64_t n = rx->refused_held + rx->refused_blocks + rx->refused_ranges;
		thrown += n;
		assert_int_equal(suci_counters(w->l.ep[1])->drop_refused, 0);
		/* Four ranges are told apart; beyond that some come once too often. */
		assert_true(tx->tx_again <= 3 * n + 8);
		assert_int_equal(lane_of(w, 0)->nagain, 0);
		assert_int_equal(w->h[0].ls->again_more, 0);
		for (int prio = 0; prio < PRIOS; prio++)
			assert_int_equal(w->h[1].ls->askers[prio], 0);
		world_free(w);
	}
	assert_true(thrown > 100);
}

static void
check_again(const struct suci_lanes *ls, const struct lane *l)
{
	uint32_t n = 0;
	for (uint32_t k = l->again.head; k != NONE; k = ls->again[k].link.next, n++) {
		const struct rx_range *g = &ls->again[k];
		assert_true(serial_lt(g->lo, g->end));
		assert_true(serial_ge(g->lo, l->acked_seq));
		assert_true(serial_le(g->end, l->next_seq));
		if (g->link.next != NONE)
			assert_true(serial_lt(g->end, ls->again[g->link.next].lo));
	}
	assert_int_equal(n, l->nagain);
	assert_true(n <= AGAIN_MAX);
}

/* A peer that refuses at random what we sent, placed or not, gets a bounded number of
 * records out of us, and the lane goes on. */
static void
test_flood_of_refusals(void **state)
{
	(void)state;
	struct world *w = world_up(1, false, NULL);
	struct base_prng r = base_prng_seed(9);
	for (int i = 0; i < 20; i++)
		send_block(w, 0, 10, 50000, true);
	for (int turn = 0; turn < 200; turn++) {
		struct lane *l = lane_of(w, 0);
		for (int i = 0; i < 500; i++) {
			uint32_t few = (uint32_t)base_prng_below(&r, 4);
			uint32_t any = (uint32_t)base_prng_next(&r);
			struct suci_segment s = {.dst_label = l->conf.rx_dst_label,
						 .src_label = l->conf.rx_src_label,
						 .flags = SUCI_SF_ACK | SUCI_SF_REFUSED,
						 .ack = l->acked_seq,
						 .window = 1000,
						 .seq = l->acked_seq - 20 +
							(uint32_t)base_prng_below(&r, 400),
						 .block = base_prng_below(&r, 8) ? few : any};
			assert_int_equal(
				suci_lane_segment(w->h[0].ls, w->h[0].path, &s, w->l.now_ns),
				SUCI_TAKEN);
			check_again(w->h[0].ls, l);
		}
		link_run(&w->l, w->l.now_ns + 20000, NULL, NULL);
	}
	assert_true(link_run(&w->l, w->l.now_ns + 20 * BASE_S_NS, all_done, w));
	expect_all(w, 0);
	assert_true(suci_lane_counters(w->h[0].ls)->tx_again > 0);
	world_free(w);
}

/* Word of a refusal may come when another copy of its first segments was placed: the
 * others still come again. */
static void
test_refused_and_placed_since(void **state)
{
	(void)state;
	enum { PLACED = 3, SENT = 9 };
	static const struct {
		uint32_t lo, n, want_lo, want_end;
	} row[] = {
		{0, PLACED, 0, 0},
		{2, 2, PLACED, 4},
		{4, 2, 4, 6},
		{PLACED, SENT - PLACED, PLACED, SENT},
		{1, SENT - 1, PLACED, SENT}, /* more than is outstanding */
		{0, SENT, PLACED, SENT},
		{SENT - 1, 2, 0, 0}, /* never sent */
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct world *w = world_up(1, false, NULL);
		struct lane *l = lane_of(w, 0);
		for (uint32_t k = 0; k < SENT; k++)
			send_block(w, 0, 10, 100, false);
		struct suci_out o;
		while (l->next_seq < SENT)
			assert_true(suci_tx(w->l.ep[0], &o, w->l.now_ns));
		struct suci_segment s = {.dst_label = l->conf.rx_dst_label,
					 .src_label = l->conf.rx_src_label,
					 .flags = SUCI_SF_ACK | SUCI_SF_REFUSED,
					 .ack = PLACED,
					 .window = 1000,
					 .seq = row[i].lo,
					 .block = row[i].n};
		assert_int_equal(suci_lane_segment(w->h[0].ls, w->h[0].path, &s, w->l.now_ns),
				 SUCI_TAKEN);
		assert_int_equal(l->nagain, row[i].want_end != 0);
		if (l->nagain) {
			assert_int_equal(w->h[0].ls->again[l->again.head].lo, row[i].want_lo);
			assert_int_equal(w->h[0].ls->again[l->again.head].end, row[i].want_end);
		}
		world_free(w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tight_receiver),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_lane_not_yet),
		cmocka_unit_test(test_refused_end_to_end),
		cmocka_unit_test(test_flood_of_refusals),
		cmocka_unit_test(test_refused_and_placed_since),
	};
	return cmocka_run_group_tests_name("suci lane room", tests, NULL, NULL);
}
