/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes over two endpoints: blocks exactly once, in order, byte for byte. */
#include "path_internal.h"
#include "suci_lane_kit.h"

#include <sys/mman.h>

static const struct {
	const char *name;
	bool direct;
	uint64_t delay_ns, jitter_ns, loss_ppb, dup_ppb;
	uint32_t blocks;
	uint64_t bytes_max;
	uint64_t within_ns;
} stream_cases[] = {
	{"clean, direct", true, 20000, 0, 0, 0, 300, 20000, BASE_S_NS},
	{"clean, relayed", false, 20000, 0, 0, 0, 300, 20000, BASE_S_NS},
	{"reorder", true, 50000, 100000, 0, 0, 200, 30000, 5 * BASE_S_NS},
	{"duplicates", false, 50000, 0, 0, 100000000, 200, 30000, 5 * BASE_S_NS},
	{"1% loss", true, 1000000, 0, 10000000, 0, 100, 100000, 20 * BASE_S_NS},
	{"10% loss, reorder, dup, relayed", false, 1000000, 500000, 100000000, 50000000, 60, 60000,
	 60 * BASE_S_NS},
	{"30% loss", true, 100000, 50000, 300000000, 0, 40, 40000, 60 * BASE_S_NS},
};

static void
test_streams(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof stream_cases / sizeof *stream_cases; i++) {
		print_message("  %s\n", stream_cases[i].name);
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct world *w = world_new(seed, stream_cases[i].delay_ns);
			w->l.jitter_ns = stream_cases[i].jitter_ns;
			w->l.loss_ppb = stream_cases[i].loss_ppb;
			w->l.dup_ppb = stream_cases[i].dup_ppb;
			w->conf.direct = stream_cases[i].direct;
			world_open(w);
			struct base_prng r = base_prng_seed(seed * 77);
			link_run(&w->l, w->l.now_ns + BASE_S_NS, NULL, NULL);
			assert_true(w->h[1].lane_up);
			for (uint32_t k = 0; k < stream_cases[i].blocks; k++) {
				uint64_t n =
					base_prng_below(&r, 4)
						? base_prng_below(&r, 300)
						: base_prng_below(&r, stream_cases[i].bytes_max);
				size_t head = base_prng_below(&r, SUCI_BLOCK_HEAD_MAX + 1);
				send_block(w, (int)(k & 1), head, n, base_prng_below(&r, 2));
			}
			bool ok = link_run(&w->l, w->l.now_ns + stream_cases[i].within_ns, all_done,
					   w);
			assert_true(ok);
			expect_all(w, 0);
			expect_all(w, 1);
			world_free(w);
		}
	}
}

/* Segment numbers and packet numbers just before they wrap. */
static void
test_wrap(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct world *w = world_up(3, direct, NULL);
		for (int side = 0; side < 2; side++) {
			struct lane *tx = lane_of(w, side), *rx = lane_of(w, !side);
			uint32_t s = UINT32_MAX - 100;
			tx->next_seq = tx->acked_seq = rx->rx_next = rx->next_begin = rx->told = s;
			struct suci_path *p = &w->l.ep[side]->path[w->h[side].path];
			struct suci_path *q = &w->l.ep[!side]->path[w->h[!side].path];
			p->sent.next_pn = UINT32_MAX - 150ull;
			suci_acks_init(&q->ack_tx.acks, UINT32_MAX - 150u);
		}
		w->l.jitter_ns = 30000;
		w->l.loss_ppb = 20000000;
		for (int i = 0; i < 200; i++)
			send_block(w, i & 1, 50, (uint64_t)(i % 40) * 100, true);
		assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		expect_all(w, 1);
		assert_true(lane_of(w, 1)->rx_next < 1000);
		assert_true(w->l.ep[0]->path[w->h[0].path].sent.next_pn > UINT32_MAX);
		world_free(w);
	}
}

static void
test_beyond_4_gib(void **state)
{
	(void)state;
	uint64_t bytes = (1ull << 32) + 123457;
	void *zeros =
		mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(zeros != MAP_FAILED);
	madvise(zeros, bytes, MADV_POPULATE_READ); /* or a page fault for each 4 KiB */
	struct world *w = world_new(1, 20000);
	w->fake = true;
	w->mtu = 65000;
	w->conf.crc = false;
	w->conf.window = 1 << 18;
	world_open(w);
	assert_int_equal(suci_lane_send(w->h[0].ls, w->h[0].lane, zeros, 3, zeros, bytes, true, 0,
					w->l.now_ns),
			 0);
	assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
	assert_true(w->h[1].got == bytes + 3);
	assert_int_equal(w->h[1].ended, 1);
	assert_int_equal(w->h[0].done_ok, 1);
	assert_int_equal(
		suci_lane_send(w->h[0].ls, w->h[0].lane, NULL, 0, zeros, 1ull << 43, true, 0, 0),
		SUCI_ERR_INVAL);
	world_free(w);
	munmap(zeros, bytes);
}

static void
test_zero_bytes_and_limits(void **state)
{
	(void)state;
	struct suci_lane_limits few = {.lanes_max = 1,
				       .blocks_max = 3,
				       .rx_blocks_max = 2,
				       .held_max = 2,
				       .ranges_max = 4,
				       .labels_max = 20};
	struct world *w = world_up(1, true, &few);
	send_block(w, 0, 0, 0, true);
	send_block(w, 0, 8, 0, false);
	send_block(w, 0, 0, 1, false);
	uint8_t x[SUCI_BLOCK_HEAD_MAX + 1] = {0};
	struct suci_lanes *ls = w->h[0].ls;
	assert_int_equal(suci_lane_send(ls, w->h[0].lane, x, 1, NULL, 0, false, 9, 0),
			 SUCI_ERR_NOMEM);
	assert_int_equal(suci_lane_send(ls, w->h[0].lane, x, sizeof x, NULL, 0, false, 9, 0),
			 SUCI_ERR_INVAL);
	assert_int_equal(suci_lane_send(ls, 1, x, 1, NULL, 0, false, 9, 0), SUCI_ERR_DOWN);
	struct suci_lane_conf c = w->conf;
	uint32_t lane;
	c.path = w->h[0].path;
	c.rx_dst_label = 20;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_INVAL);
	c.rx_dst_label = 1;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_NOMEM);
	c.rx_dst_label = 16;
	c.rx_src_label = 17;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_EXISTS);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
	expect_all(w, 0);
	world_free(w);
}

static uint32_t in_flight_max;

static bool
watch_lane(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	struct suci_lane_info in;
	(void)bytes;
	(void)len;
	if (!from && suci_lane_info(w->h[0].ls, w->h[0].lane, &in)) {
		uint32_t out = in.tx_next_seq - in.tx_acked_seq;
		in_flight_max = out > in_flight_max ? out : in_flight_max;
	}
	return false;
}

/* A relayed lane stops at the receiver's window and goes on by its acks. */
/* Labels beyond the array are found by hash, and are their path's. */
static void
test_far_labels(void **state)
{
	(void)state;
	struct suci_lane_limits few = {.lanes_max = 4,
				       .blocks_max = BLOCKS_MAX,
				       .rx_blocks_max = 64,
				       .held_max = 64,
				       .ranges_max = 64,
				       .labels_max = 8,
				       .buckets = 3};
	assert_int_equal(suci_lanes_footprint(&few), 0);
	few.buckets = 2;
	struct world *w = world_up(1, true, &few);
	struct suci_lanes *ls = w->h[0].ls;
	struct suci_lane_conf c = w->conf;
	uint32_t lane, more[3];
	c.path = w->h[0].path;
	c.rx_dst_label = 16;
	c.rx_src_label = 17;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_EXISTS);
	assert_int_equal(lane, w->h[0].lane);
	for (uint32_t i = 0; i < 3; i++) {
		c.rx_src_label = 0xfffffff0 + i;
		assert_int_equal(suci_lane_open(ls, &c, &more[i], 0), 0);
	}
	suci_lane_close(ls, more[1], 0);
	for (uint32_t i = 0; i < 20; i++)
		send_block(w, (int)(i & 1), 8, 3000, i % 3 == 0);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
	expect_all(w, 0);
	expect_all(w, 1);
	c.rx_src_label = 0xfffffff0;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_EXISTS);
	assert_int_equal(lane, more[0]);
	world_free(w);
}

static void
test_lane_credit(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct world *w = world_new(2, 20000);
		w->conf.direct = direct;
		w->conf.window = 64;
		w->l.arg = w;
		w->l.filter = watch_lane;
		in_flight_max = 0;
		world_open(w);
		send_block(w, 0, 0, 2000000, false);
		assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		assert_true(in_flight_max > 32 && in_flight_max <= 64);
		assert_int_equal(suci_lane_counters(w->h[1].ls)->drop_window, 0);
		world_free(w);
	}
}

/* End-to-end acks of a relayed lane: a few in a window under load, at once for a sender that waits,
 * after a millisecond for one that does not. */
static void
test_acks_lazy_and_prompt(void **state)
{
	(void)state;
	const uint64_t delay_ns = 100 * BASE_US_NS, slack_ns = 10 * BASE_US_NS;
	struct world *w = world_new(2, delay_ns);
	w->conf.direct = false;
	w->conf.window = 256;
	world_open(w);
	const struct suci_lane_counters *n = suci_lane_counters(w->h[1].ls);
	struct suci_lane_info in;
	send_block(w, 0, 0, 4000000, true);
	assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
	assert_true(suci_lane_info(w->h[0].ls, w->h[0].lane, &in));
	print_message("  %u segments, %u acks\n", in.tx_next_seq, (unsigned)n->tx_acks);
	assert_in_range(n->tx_acks, in.tx_next_seq / 256, in.tx_next_seq / 32);
	for (int waits = 0; waits < 2; waits++) {
		link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
		uint64_t acks = n->tx_acks, from_ns = w->l.now_ns;
		send_block(w, 0, 0, 100, waits);
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
		uint64_t most_ns = 2 * delay_ns + slack_ns + (waits ? 0 : BASE_MS_NS);
		assert_in_range(w->l.now_ns - from_ns, most_ns - 2 * slack_ns, most_ns);
		assert_int_equal(n->tx_acks, acks + 1);
	}
	expect_all(w, 0);
	world_free(w);
}

/* In the middle of a block its sender needs no word: few, over a single path or a group's, also
 * after the ack of an earlier block has travelled with data. */
static void
test_acks_in_a_block(void **state)
{
	(void)state;
	for (uint32_t legs = 0; legs < 2; legs++) {
		print_message("  %s\n", legs ? "group" : "path");
		struct world *w = world_new(2, 100 * BASE_US_NS);
		w->legs = legs;
		w->conf.direct = false;
		w->conf.window = 8192;
		world_open(w);
		link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
		uint32_t path = legs ? w->h[0].leg_path[0] : w->h[0].path;
		send_block(w, 0, 0, 100, false);
		link_run(&w->l, w->l.now_ns + 500 * BASE_US_NS, NULL, NULL);
		send_block(w, 1, 0, 100, false);
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
		suci_path_set_cc(w->l.ep[0], path, SUCI_CC_FIXED, 2000000, 1024);
		const struct suci_lane_counters *n = suci_lane_counters(w->h[1].ls);
		uint64_t acks = n->tx_acks, from_ns = w->l.now_ns;
		send_block(w, 0, 0, 500000, false);
		assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
		assert_true(w->l.now_ns - from_ns > 200 * BASE_MS_NS);
		print_message("  %u acks\n", (unsigned)(n->tx_acks - acks));
		assert_in_range(n->tx_acks - acks, legs ? 2 : 1, legs ? 5 : 1);
		expect_all(w, 0);
		expect_all(w, 1);
		world_free(w);
	}
}

static bool
break_payload(struct link *l, int from, const uint8_t *bytes, size_t len)
{
	struct world *w = l->arg;
	if (!from && len > 900 && w->h[0].crc_to_break) {
		w->h[0].crc_to_break--;
		((uint8_t *)(uintptr_t)bytes)[len - 1] ^= 4;
	}
	return false;
}

static void
test_crc(void **state)
{
	(void)state;
	/* Broken on the wire now and then: sent again. */
	struct world *w = world_up(1, false, NULL);
	w->l.arg = w;
	w->l.filter = break_payload;
	w->h[0].crc_to_break = 5;
	send_block(w, 0, 100, 50000, true);
	assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
	expect_all(w, 0);
	assert_int_equal(suci_lane_counters(w->h[1].ls)->drop_crc, 5);
	world_free(w);
	/* Always broken: the lane says so and ends. */
	w = world_up(1, false, NULL);
	w->l.arg = w;
	w->l.filter = break_payload;
	w->h[0].crc_to_break = 1000000;
	send_block(w, 0, 100, 50000, true);
	assert_false(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
	assert_true(w->h[1].downed);
	assert_non_null(strstr(w->h[1].text, "CRC"));
	assert_int_equal(w->h[1].begun, 0);
	world_free(w);
	/* The bytes a relay rewrites are not covered; everything else is. */
	uint8_t a[200] = {0}, b[200] = {0};
	memset(b + 8, 0xff, 48);
	struct suci_segment s = {.flags = SUCI_SF_FIRST, .data = a, .data_len = 200};
	uint32_t crc = suci_lane_crc(5, &s, 8, 48);
	s.data = b;
	assert_int_equal(suci_lane_crc(5, &s, 8, 48), crc);
	assert_int_not_equal(suci_lane_crc(6, &s, 8, 48), crc);
	assert_int_not_equal(suci_lane_crc(5, &s, 8, 47), crc);
	for (uint16_t cut = 0; cut <= 200; cut++) { /* in two pieces the same */
		s.head = b;
		s.head_len = cut;
		s.data = b + cut;
		s.data_len = (uint16_t)(200 - cut);
		assert_int_equal(suci_lane_crc(5, &s, 8, 48), crc);
	}
	s.flags = 0;
	uint32_t rest = suci_lane_crc(5, &s, 8, 48);
	s.head_len = 0;
	s.data = a;
	s.data_len = 200;
	assert_int_not_equal(suci_lane_crc(5, &s, 8, 48), rest);
}

static void
test_close_in_flight(void **state)
{
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct world *w = world_up(1, direct, NULL);
		for (int i = 0; i < 5; i++)
			send_block(w, 0, 10, 100000, false);
		link_run(&w->l, w->l.now_ns + 30000, NULL, NULL);
		suci_lane_close(w->h[0].ls, w->h[0].lane, w->l.now_ns); /* frees their memory */
		assert_int_equal(w->h[0].done_bad + w->h[0].done_ok, 5);
		assert_true(w->h[0].done_bad > 0);
		assert_false(w->h[0].downed);
		link_run(&w->l, w->l.now_ns + BASE_S_NS, NULL, NULL);
		assert_int_equal(suci_held(w->l.ep[0]), 0);
		/* The path going down ends the other lane. */
		suci_path_close(w->l.ep[0], w->h[0].path, "over", w->l.now_ns);
		link_run(&w->l, w->l.now_ns + BASE_S_NS, NULL, NULL);
		assert_true(w->h[1].downed);
		assert_string_equal(w->h[1].text, "over");
		world_free(w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_beyond_4_gib),
		cmocka_unit_test(test_zero_bytes_and_limits),
		cmocka_unit_test(test_far_labels),
		cmocka_unit_test(test_lane_credit),
		cmocka_unit_test(test_acks_lazy_and_prompt),
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_close_in_flight),
		cmocka_unit_test(test_acks_in_a_block),
	};
	return cmocka_run_group_tests_name("suci lane", tests, NULL, NULL);
}
