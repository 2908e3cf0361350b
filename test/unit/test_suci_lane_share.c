/* SPDX-License-Identifier: BSD-2-Clause */
/* What lanes share: a path by bytes, memory, the credit of a receiver; and what a hundred
 * thousand of them cost. */
#include "suci_lane_kit.h"

#include "relay/core.h"

#include <sys/mman.h>
#include <unistd.h>

/* ---- deficit round robin ---- */

#define LANES 5

static const struct {
	const char *name;
	uint32_t lanes;
	uint64_t bytes[LANES]; /* of its blocks; 0: long ones */
	uint8_t prio[LANES];
	uint8_t percent[LANES]; /* of what leaves */
} share_cases[] = {
	{"two long", 2, {0, 0}, {0, 0}, {50, 50}},
	{"9000 beside 64", 2, {9000, 64}, {0, 0}, {50, 50}},
	{"long beside 8 beside 3000", 3, {0, 8, 3000}, {1, 1, 1}, {33, 33, 33}},
	{"five sizes", 5, {8, 64, 512, 4096, 0}, {2, 2, 2, 2, 2}, {20, 20, 20, 20, 20}},
	{"strict between classes", 3, {64, 0, 0}, {2, 1, 0}, {100, 0, 0}},
	{"two of the higher class", 4, {64, 0, 64, 0}, {0, 3, 3, 0}, {0, 50, 50, 0}},
};

static void
test_share_by_bytes(void **state)
{
	(void)state;
	static uint8_t bytes[1 << 20];
	for (size_t i = 0; i < sizeof share_cases / sizeof *share_cases; i++) {
		print_message("  %s\n", share_cases[i].name);
		struct world *w = world_new(1, 20000);
		w->limits.lanes_max = 8;
		w->conf.direct = false;
		w->conf.window = 1 << 20;
		w->mtu = 9000;
		world_open(w);
		link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
		struct suci_lanes *ls = w->h[0].ls;
		uint32_t path = w->h[0].path, lane[LANES];
		uint64_t sent[LANES] = {0}, sum = 0;
		for (uint32_t k = 0; k < share_cases[i].lanes; k++) {
			struct suci_lane_conf c = w->conf;
			c.path = path;
			c.rx_src_label = k; /* 16, 17 are the kit's */
			c.tx_dst_label = k;
			c.rx_dst_label = 1;
			c.prio = share_cases[i].prio[k];
			c.crc = false;
			assert_int_equal(suci_lane_open(ls, &c, &lane[k], w->l.now_ns), 0);
		}
		/* By hand, as a path that can always send would. */
		while (sum < 20000000) {
			struct suci_segment seg;
			for (uint32_t k = 0; k < share_cases[i].lanes; k++) {
				struct suci_lane_info in;
				uint64_t n = share_cases[i].bytes[k];
				assert_true(suci_lane_info(ls, lane[k], &in));
				if (in.tx_blocks_queued < 2)
					assert_int_equal(suci_lane_send(ls, lane[k], NULL, 0, bytes,
									n ? n : sizeof bytes, false,
									0, w->l.now_ns),
							 0);
			}
			assert_true(suci_lane_pull(ls, path, &seg, w->l.now_ns));
			uint32_t n = seg.data_len + SUCI_OVERHEAD;
			sent[seg.dst_label] += n;
			sum += n;
			/* Taken, and acknowledged end to end. */
			struct lane *l = &ls->lane[lane[seg.dst_label]];
			w->fake = true;
			suci_lane_released(ls, path, seg.cookie, SUCI_FATE_ACKED, w->l.now_ns);
			struct suci_segment ack = {.ack = seg.seq + 1};
			suci_lane_heard(ls, l, &ack, w->l.now_ns);
		}
		for (uint32_t k = 0; k < share_cases[i].lanes; k++) {
			int64_t off = (int64_t)(sent[k] * 100 / sum) - share_cases[i].percent[k];
			assert_true(off >= -1 && off <= 1);
			suci_lane_close(ls, lane[k], w->l.now_ns);
		}
		world_free(w);
	}
}

/* ---- memory ---- */

static void
test_footprints(void **state)
{
	(void)state;
	struct suci_lane_limits l = {.lanes_max = 100000,
				     .blocks_max = 1,
				     .rx_blocks_max = 1,
				     .held_max = 1,
				     .ranges_max = 1,
				     .labels_max = 1};
	size_t some = suci_lanes_footprint(&l);
	l.lanes_max = 200000;
	l.labels_max = 100001; /* a process and a label for each of them */
	assert_true(suci_lanes_footprint(&l) - some <= 256 * 100000 + 128);

	struct suci_limits p = {
		.paths_max = 1000, .segments_max = 65536, .queue_max = 16, .window_max = 16};
	some = suci_footprint(&p);
	p.paths_max = 2000;
	assert_true(suci_footprint(&p) - some <= 4096 * 1000 + 128);

	/* A relay knows processes, not lanes: each of n processes of this side has a lane
	 * to each of n of the other. */
	struct relay_core_limits r = {.jobs_max = 1,
				      .procs_max = 256,
				      .hosts_max = 16,
				      .trunks_max = 16,
				      .paths_max = 256,
				      .primaries_max = 1};
	some = relay_core_footprint(&r);
	r.procs_max += 256;
	r.paths_max += 256;
	assert_true(some > 0 && relay_core_footprint(&r) - some <= 32 * 128 * 128);
}

/* ---- a hundred thousand lanes ---- */

#define MANY   100000u
#define ACTIVE 1000u

/* The idle ones are in memory that nobody may touch while the others send and receive:
 * whoever looks through all lanes ends with SIGSEGV. */
static void
test_many_lanes(void **state)
{
	(void)state;
	struct world *w = world_new(1, 20000);
	uint32_t lane[2] = {0, 0};
	w->limits = (struct suci_lane_limits){.lanes_max = MANY,
					      .blocks_max = BLOCKS_MAX,
					      .rx_blocks_max = 2048,
					      .held_max = 512,
					      .ranges_max = 1024,
					      .labels_max = MANY + 32};
	w->conf.direct = false;
	w->conf.crc = false;
	w->conf.window = 64;
	w->late = true;
	w->fake = true;
	world_open(w);
	link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	for (int side = 0; side < 2; side++)
		for (uint32_t k = side == 0; k < MANY; k++) { /* the kit has opened one */
			struct suci_lane_conf c = w->conf;
			c.path = w->h[side].path;
			c.tx_dst_label = c.rx_dst_label = 1;
			c.tx_src_label = c.rx_src_label = 32 + k;
			assert_int_equal(suci_lane_open(w->h[side].ls, &c, &lane[side], 0), 0);
		}
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *idle[2];
	size_t len[2];
	for (int side = 0; side < 2; side++) {
		struct lane *l = w->h[side].ls->lane;
		uintptr_t from = ((uintptr_t)&l[ACTIVE] + page - 1) / page * page;
		uintptr_t to = (uintptr_t)&l[MANY] / page * page;
		idle[side] = (void *)from;
		len[side] = to - from;
		assert_true(len[side] > (MANY - ACTIVE) * sizeof *l * 9 / 10);
		assert_int_equal(mprotect(idle[side], len[side], PROT_NONE), 0);
	}
	static uint8_t bytes[20000];
	for (int turn = 0; turn < 5; turn++) {
		for (uint32_t k = 1; k < ACTIVE; k++)
			assert_int_equal(suci_lane_send(w->h[0].ls, k, NULL, 0, bytes, sizeof bytes,
							true, 0, w->l.now_ns),
					 0);
		assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
	}
	assert_int_equal(w->h[0].done_ok, 5 * (ACTIVE - 1));
	assert_int_equal(w->h[1].got, 5ull * (ACTIVE - 1) * sizeof bytes);
	for (int side = 0; side < 2; side++)
		assert_int_equal(mprotect(idle[side], len[side], PROT_READ | PROT_WRITE), 0);
	world_free(w);
}

/* ---- credit ---- */

struct tune_case {
	const char *name;
	bool direct;
	uint32_t window_max, room;
	uint32_t least, most; /* of the window in the end */
};

static const struct tune_case tune_cases[] = {
	{"fixed", false, 0, 8192, 64, 64},
	{"relayed", false, 4096, 8192, 512, 4096},
	{"direct", true, 4096, 8192, 512, 4096},
	{"a limit of its own", false, 200, 8192, 200, 200},
	{"the receiver has little room", false, 4096, 100, 65, 164},
};

static void
test_window_grows(void **state)
{
	(void)state;
	static uint8_t bytes[4000000];
	for (size_t i = 0; i < sizeof tune_cases / sizeof *tune_cases; i++) {
		const struct tune_case *tc = &tune_cases[i];
		print_message("  %s\n", tc->name);
		struct world *w = world_new(1, 5 * BASE_MS_NS);
		w->fake = true;
		w->conf.direct = tc->direct;
		w->conf.window = 64;
		w->conf.window_max = tc->window_max;
		w->limits.held_max = w->limits.ranges_max = tc->room;
		world_open(w);
		link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
		struct suci_lanes *tx = w->h[0].ls, *rx = w->h[1].ls;
		uint32_t most = 0;
		for (int k = 0; k < 10; k++) {
			suci_lane_send(tx, w->h[0].lane, NULL, 0, bytes, sizeof bytes, true, 0,
				       w->l.now_ns);
			link_run(&w->l, w->l.now_ns + 3 * BASE_S_NS / 10, NULL, NULL);
			uint32_t now = lane_of(w, 1)->window;
			most = now > most ? now : most;
			assert_true(now <= tc->most);
			assert_int_equal(rx->credit_left + now - 64, tc->room);
		}
		assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
		assert_int_equal(w->h[1].got, 10 * sizeof bytes);
		assert_true(most >= tc->least);
		assert_int_equal(suci_lane_counters(rx)->drop_window, 0);
		/* Nothing comes: it is given back, and no timer is left. */
		link_run(&w->l, w->l.now_ns + 3 * BASE_S_NS, NULL, NULL);
		assert_int_equal(lane_of(w, 1)->window, 64);
		assert_int_equal(rx->credit_left, tc->room);
		assert_int_equal(rx->look_at_ns, BASE_NEVER_NS);
		assert_int_equal(suci_expiry_ns(w->l.ep[1]), BASE_NEVER_NS);
		/* And the sender begins with the first window again. */
		suci_lane_send(tx, w->h[0].lane, NULL, 0, bytes, sizeof bytes, true, 0,
			       w->l.now_ns);
		assert_int_equal(lane_of(w, 0)->tx_window, 64);
		assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
		assert_int_equal(suci_lane_counters(rx)->drop_window, 0);
		world_free(w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share_by_bytes),
		cmocka_unit_test(test_footprints),
		cmocka_unit_test(test_many_lanes),
		cmocka_unit_test(test_window_grows),
	};
	return cmocka_run_group_tests_name("suci lane share", tests, NULL, NULL);
}
