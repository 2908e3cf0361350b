/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes over groups of paths: shares by weight, paths that come and go. */
#include "suci_lane_kit.h"

static struct world *
group_world(uint64_t seed, uint32_t legs)
{
	struct world *w = world_new(seed, 20000);
	w->legs = legs;
	w->conf.direct = false;
	return w;
}

static struct suci_group_info
group_info(struct world *w, int side)
{
	struct suci_group_info in;
	assert_true(suci_group_info(w->h[side].ls, w->h[side].group, &in));
	return in;
}

/* On which leg of the link is a path of side 0? */
static uint32_t
leg_of(const struct world *w, uint32_t path)
{
	for (uint32_t leg = 0; leg < w->legs; leg++)
		if (w->h[0].leg_path[leg] == path)
			return leg;
	fail_msg("path %u is on no leg", path);
	return 0;
}

/* ---- shares ---- */

static const struct {
	const char *name;
	uint32_t legs, weight[LINK_LEGS];
	uint64_t bytes;
} share_cases[] = {
	{"equal", 4, {1, 1, 1, 1}, 4000}, {"1:2:5", 3, {1, 2, 5}, 4000},
	{"1:1000", 2, {1, 1000}, 4000},	  {"small blocks", 4, {7, 1, 1, 3}, 60},
	{"mixed sizes", 3, {3, 4, 5}, 0},
};

static void
test_shares(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof share_cases / sizeof *share_cases; i++) {
		print_message("  %s\n", share_cases[i].name);
		struct world *w = group_world(1, share_cases[i].legs);
		memcpy(w->weight, share_cases[i].weight, sizeof w->weight);
		world_open(w);
		link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
		/* So little at once that every path can always send. */
		for (int k = 0; k < 3000; k++) {
			uint64_t n = share_cases[i].bytes ? share_cases[i].bytes
							  : (uint64_t)(k * 977 % 5000);
			send_block(w, 0, 8, n, false);
			if (k % 4 == 3)
				assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS, all_done, w));
		}
		expect_all(w, 0);
		struct suci_group_info in = group_info(w, 0);
		uint64_t sum = 0, weights = 0;
		for (uint32_t k = 0; k < in.npaths; k++) {
			sum += in.path[k].bytes;
			weights += in.path[k].weight;
		}
		assert_int_equal(in.npaths, w->legs);
		for (uint32_t k = 0; k < in.npaths; k++) {
			assert_int_equal(in.path[k].weight, w->weight[leg_of(w, in.path[k].path)]);
			uint64_t want = sum * in.path[k].weight / weights, got = in.path[k].bytes;
			/* Within 2 % of the whole, and of its share if that is many segments. */
			uint64_t off = want > got ? want - got : got - want;
			assert_true(off <= sum / 50);
			assert_true(off <= want / 50 + 3000);
		}
		world_free(w);
	}
}

/* A path that can send little is passed over: the others carry the rest. */
static void
test_slow_path(void **state)
{
	(void)state;
	struct world *w = group_world(2, 2);
	w->l.leg_delay_ns[1] = 20 * BASE_MS_NS;
	world_open(w);
	link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
	suci_path_set_cc(w->l.ep[0], w->h[0].leg_path[1], SUCI_CC_FIXED, 0, 4);
	suci_path_set_cc(w->l.ep[0], w->h[0].leg_path[0], SUCI_CC_FIXED, 20000000, 1024);
	for (int k = 0; k < 200; k++)
		send_block(w, 0, 8, 20000, false);
	uint64_t from = w->l.now_ns;
	assert_true(link_run(&w->l, w->l.now_ns + 10 * BASE_S_NS, all_done, w));
	expect_all(w, 0);
	/* 4 MB at 20 MB/s; by weight alone the slow path would take 400 round trips. */
	assert_true(w->l.now_ns - from < 300 * BASE_MS_NS);
	struct suci_group_info in = group_info(w, 0);
	uint32_t slow = leg_of(w, in.path[0].path) == 1 ? 0 : 1;
	assert_true(in.path[slow].segments >= 8);
	assert_true(in.path[!slow].segments > 10 * in.path[slow].segments);
	world_free(w);
}

/* ---- any order ---- */

static void
test_streams(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct world *w = group_world(seed, 2 + seed % 4);
		w->l.jitter_ns = 300000;
		w->l.loss_ppb = seed % 3 * 20000000;
		w->l.dup_ppb = seed % 2 * 50000000;
		for (uint32_t leg = 0; leg < w->legs; leg++) {
			w->weight[leg] = 1 + (uint32_t)(seed * leg % 5);
			w->l.leg_delay_ns[leg] = leg * 700000;
		}
		world_open(w);
		for (int k = 0; k < 200; k++)
			send_block(w, k & 1, (size_t)k % 100, (uint64_t)(k * 811 % 30000), k & 2);
		assert_true(link_run(&w->l, w->l.now_ns + 30 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		expect_all(w, 1);
		world_free(w);
	}
}

/* ---- paths that go ---- */

static void
finish(struct world *w)
{
	assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
	expect_all(w, 0);
	expect_all(w, 1);
	assert_false(w->h[0].downed || w->h[1].downed);
}

/* Paths are cut one after the other, in the middle of everything. */
static void
test_paths_die(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct base_prng r = base_prng_seed(seed);
		struct world *w = group_world(seed, 4);
		w->liveness_ns = 30 * BASE_MS_NS;
		w->l.jitter_ns = seed % 2 * 200000;
		world_open(w);
		link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
		for (int k = 0; k < 300; k++)
			send_block(w, k & 1, 20, base_prng_below(&r, 40000), k & 4);
		for (uint32_t leg = 0; leg < 3; leg++) {
			link_run(&w->l, w->l.now_ns + base_prng_below(&r, 3000000), NULL, NULL);
			w->l.leg_cut[leg] = true;
			if (seed % 3 == 0)
				link_run(&w->l, w->l.now_ns + 40 * BASE_MS_NS, NULL, NULL);
		}
		finish(w);
		world_free(w);
	}
}

/* One side closes a path; its last segments may have been taken already. */
static void
test_path_closed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct base_prng r = base_prng_seed(seed);
		struct world *w = group_world(seed, 3);
		world_open(w);
		link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
		for (int k = 0; k < 100; k++)
			send_block(w, k & 1, 20, base_prng_below(&r, 40000), k & 4);
		for (uint32_t leg = 0; leg < 2; leg++) {
			link_run(&w->l, w->l.now_ns + base_prng_below(&r, 1000000), NULL, NULL);
			struct host *h = &w->h[(seed + leg) & 1];
			suci_path_close(w->l.ep[(seed + leg) & 1], h->leg_path[leg], "bye",
					w->l.now_ns);
		}
		finish(w);
		world_free(w);
	}
}

/* Taken out of the group while it lives: nothing of the group's stays there. */
static void
test_remove(void **state)
{
	(void)state;
	struct world *w = group_world(3, 3);
	world_open(w);
	link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	for (int k = 0; k < 100; k++)
		send_block(w, 0, 20, 30000, false);
	link_run(&w->l, w->l.now_ns + 30000, NULL, NULL);
	uint32_t path = w->h[0].leg_path[1];
	struct suci_path_info in;
	suci_path_info(w->l.ep[0], path, &in);
	assert_true(in.in_flight > 0);
	uint64_t sent = in.tx_segments;
	assert_int_equal(suci_group_remove(w->h[0].ls, w->h[0].group, path, w->l.now_ns), 0);
	assert_int_equal(suci_group_remove(w->h[0].ls, w->h[0].group, path, w->l.now_ns),
			 SUCI_ERR_INVAL);
	finish(w);
	suci_path_info(w->l.ep[0], path, &in);
	assert_int_equal(in.tx_segments, sent);
	assert_true(in.up);
	assert_true(suci_lane_counters(w->h[0].ls)->tx_resent > 0);
	/* And back again. */
	assert_int_equal(suci_group_add(w->h[0].ls, w->h[0].group, path, 1, w->l.now_ns), 0);
	for (int k = 0; k < 100; k++)
		send_block(w, 0, 20, 30000, false);
	finish(w);
	suci_path_info(w->l.ep[0], path, &in);
	assert_true(in.tx_segments > sent);
	world_free(w);
}

/* A world of two whose peer has thrown away ten blocks after it acknowledged their segments: it
 * does not know the lane. */
static struct world *
thrown_away(void)
{
	struct world *w = group_world(4, 2);
	w->unknown = SUCI_DROPPED;
	world_open(w);
	suci_lane_close(w->h[1].ls, w->h[1].lane, w->l.now_ns);
	link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	for (int k = 0; k < 10; k++)
		send_block(w, 0, 20, 5000, false);
	link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
	return w;
}

/* What a relay had taken is lost with it, and no path here goes down: here the peer
 * acknowledges segments of a lane that it does not know yet. */
static void
test_lost_further_on(void **state)
{
	(void)state;
	for (int told = 0; told < 2; told++) {
		struct world *w = thrown_away();
		assert_int_equal(suci_held(w->l.ep[0]), 0);
		assert_true(suci_lane_counters(w->h[1].ls)->drop_label > 0);
		open_lane(&w->h[1]);
		uint64_t from = w->l.now_ns;
		if (told)
			suci_group_resend(w->h[0].ls, w->h[0].group, w->l.now_ns);
		assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		assert_true(w->l.now_ns - from < (told ? 5 * BASE_MS_NS : 2 * BASE_S_NS));
		assert_int_equal(suci_lane_counters(w->h[0].ls)->tx_resent, 1);
		world_free(w);
	}
}

/* A death is told by many: the first makes everything go again, the others together what has
 * got no ack a while later. */
static void
test_told_often(void **state)
{
	(void)state;
	struct world *w = thrown_away();
	const struct suci_lane_counters *n = suci_lane_counters(w->h[0].ls);
	for (int k = 0; k < 8; k++) {
		suci_group_resend(w->h[0].ls, w->h[0].group, w->l.now_ns);
		link_run(&w->l, w->l.now_ns + BASE_MS_NS, NULL, NULL);
	}
	assert_int_equal(n->tx_resent, 1); /* and was thrown away again */
	uint64_t again = n->tx_again;
	assert_true(again > 0);
	open_lane(&w->h[1]);
	uint64_t from = w->l.now_ns;
	assert_true(link_run(&w->l, w->l.now_ns + 60 * BASE_S_NS, all_done, w));
	expect_all(w, 0);
	assert_true(w->l.now_ns - from < 100 * BASE_MS_NS);
	assert_int_equal(n->tx_resent, 2);
	assert_int_equal(n->tx_again, 2 * again);
	world_free(w);
}

/* ---- none left ---- */

static void
test_grace(void **state)
{
	(void)state;
	enum { NO_GRACE, COMES_BACK, TOO_LATE, NCASES };
	for (int what = 0; what < NCASES; what++) {
		struct world *w = group_world(5, 2);
		w->grace_ns = what == NO_GRACE ? 0 : 2 * BASE_S_NS;
		w->liveness_ns = 30 * BASE_MS_NS;
		world_open(w);
		link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
		for (int k = 0; k < 100; k++)
			send_block(w, 0, 20, 30000, false);
		link_run(&w->l, w->l.now_ns + 100000, NULL, NULL);
		w->l.leg_cut[0] = w->l.leg_cut[1] = true;
		link_run(&w->l, w->l.now_ns + BASE_S_NS, NULL, NULL);
		assert_int_equal(group_info(w, 0).npaths, 0);
		assert_int_equal(w->h[0].downed, what == NO_GRACE);
		uint32_t done = w->h[0].done_ok;
		assert_true(done < 100);
		if (what == COMES_BACK) {
			w->l.leg_cut[1] = false;
			open_leg(w, 1);
			finish(w);
		} else if (what == TOO_LATE) {
			assert_int_equal(w->h[0].done_bad, 0);
			link_run(&w->l, w->l.now_ns + 2 * BASE_S_NS, NULL, NULL);
			assert_true(w->h[0].downed);
			assert_int_equal(w->h[0].why, SUCI_DOWN_TIMEOUT);
			assert_non_null(strstr(w->h[0].text, "no other came"));
		}
		if (what != COMES_BACK) {
			assert_int_equal(w->h[0].done_bad + done, 100);
			assert_int_equal(group_info(w, 0).lanes, 0);
		}
		world_free(w);
	}
}

/* Weight 0 is for when there is nothing else. */
static void
test_standby(void **state)
{
	(void)state;
	struct world *w = group_world(6, 2);
	w->weight[1] = 0;
	w->liveness_ns = 30 * BASE_MS_NS;
	world_open(w);
	link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	uint32_t standby = w->h[0].leg_path[1];
	for (int k = 0; k < 50; k++)
		send_block(w, 0, 20, 30000, false);
	finish(w);
	struct suci_group_info in = group_info(w, 0);
	for (uint32_t k = 0; k < in.npaths; k++)
		assert_int_equal(in.path[k].segments == 0, in.path[k].path == standby);
	for (int k = 0; k < 50; k++)
		send_block(w, 0, 20, 30000, false);
	link_run(&w->l, w->l.now_ns + 50000, NULL, NULL);
	w->l.leg_cut[0] = true;
	finish(w);
	in = group_info(w, 0);
	assert_int_equal(in.npaths, 1);
	assert_int_equal(in.path[0].path, standby);
	assert_true(in.path[0].segments > 0);
	world_free(w);
}

/* A path that drains has neither segments nor acks of their own, unless there is no other. */
static void
test_drains(void **state)
{
	(void)state;
	struct world *w = group_world(8, 2);
	struct suci_path_info before[2], after[2];
	world_open(w);
	link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	for (int side = 0; side < 2; side++) {
		struct host *h = &w->h[side];
		assert_int_equal(
			suci_group_set_weight(h->ls, h->group, h->leg_path[1], SUCI_WEIGHT_DRAINS),
			0);
		assert_true(suci_path_info(w->l.ep[side], h->leg_path[1], &before[side]));
	}
	for (int k = 0; k < 50; k++)
		send_block(w, 0, 20, 30000, false);
	finish(w);
	for (int side = 0; side < 2; side++) {
		assert_true(suci_path_info(w->l.ep[side], w->h[side].leg_path[1], &after[side]));
		assert_int_equal(after[side].tx_segments, before[side].tx_segments);
		assert_int_equal(suci_group_remove(w->h[side].ls, w->h[side].group,
						   w->h[side].leg_path[0], w->l.now_ns),
				 0);
	}
	for (int k = 0; k < 50; k++)
		send_block(w, 0, 20, 30000, false);
	finish(w);
	for (int side = 0; side < 2; side++) {
		assert_true(suci_path_info(w->l.ep[side], w->h[side].leg_path[1], &after[side]));
		assert_true(after[side].tx_segments > before[side].tx_segments);
	}
	struct suci_group_info in = group_info(w, 0);
	assert_int_equal(in.npaths, 1);
	assert_true(in.path[0].weight == SUCI_WEIGHT_DRAINS);
	world_free(w);
}

/* ---- arguments ---- */

static void
test_arguments(void **state)
{
	(void)state;
	struct world *w = group_world(7, 2);
	w->leg_mtu[1] = 1280;
	world_open(w);
	struct suci_lanes *ls = w->h[0].ls;
	uint32_t g = w->h[0].group, other, third;
	struct suci_group_info in;
	assert_int_equal(suci_group_add(ls, g, 0, 1, w->l.now_ns), SUCI_ERR_DOWN); /* not up */
	link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	uint32_t small = w->h[0].leg_path[1], large = w->h[0].leg_path[0];
	assert_int_equal(suci_group_add(ls, g, small, 1, w->l.now_ns), SUCI_ERR_EXISTS);
	assert_int_equal(suci_group_add(ls, g, small, SUCI_WEIGHT_MAX + 1, 0), SUCI_ERR_INVAL);
	assert_int_equal(suci_group_add(ls, 0, small, 1, w->l.now_ns), SUCI_ERR_INVAL);
	assert_int_equal(suci_group_add(ls, 3, small, 1, w->l.now_ns), SUCI_ERR_INVAL);
	assert_int_equal(suci_group_add(ls, g, 7, 1, w->l.now_ns), SUCI_ERR_DOWN);
	assert_int_equal(suci_group_set_weight(ls, g, 7, 1), SUCI_ERR_INVAL);
	assert_int_equal(suci_group_set_weight(ls, g, small, SUCI_WEIGHT_MAX), 0);
	assert_int_equal(suci_group_new(ls, 0, &other), 0);
	assert_int_equal(suci_group_new(ls, 0, &third), SUCI_ERR_NOMEM);
	assert_false(suci_group_info(ls, 3, &in));
	struct suci_lane_conf c = w->conf;
	uint32_t lane;
	c.rx_dst_label = 3;
	c.group = other;
	c.direct = true;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_INVAL);
	c.direct = false;
	c.group = 3;
	assert_int_equal(suci_lane_open(ls, &c, &lane, 0), SUCI_ERR_INVAL);
	/* One path in two groups; the smallest MTU of a group counts, and one that came
	 * later and is smaller still is refused once it matters. */
	assert_int_equal(suci_group_add(ls, other, small, 1, w->l.now_ns), 0);
	send_block(w, 0, 20, 30000, false);
	finish(w);
	assert_int_equal(ls->group[g - 1].mss_used, 1280 - SUCI_OVERHEAD);
	assert_int_equal(suci_group_remove(ls, g, small, w->l.now_ns), 0);
	send_block(w, 0, 20, 30000, false);
	finish(w);
	assert_int_equal(ls->group[g - 1].mss_used, 1432 - SUCI_OVERHEAD);
	assert_int_equal(suci_group_add(ls, g, small, 1, w->l.now_ns), SUCI_ERR_TOOBIG);
	/* A path in two groups goes down: it leaves both. */
	assert_int_equal(suci_group_add(ls, other, large, 1, w->l.now_ns), 0);
	suci_path_close(w->l.ep[0], large, "", w->l.now_ns);
	assert_true(suci_group_info(ls, other, &in) && in.npaths == 1);
	assert_true(suci_group_info(ls, g, &in) && in.npaths == 0);
	assert_int_equal(suci_group_remove(ls, other, small, w->l.now_ns), 0);
	assert_int_equal(lane_hop(ls, small)->groups, NONE);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),		cmocka_unit_test(test_slow_path),
		cmocka_unit_test(test_streams),		cmocka_unit_test(test_paths_die),
		cmocka_unit_test(test_path_closed),	cmocka_unit_test(test_remove),
		cmocka_unit_test(test_lost_further_on), cmocka_unit_test(test_told_often),
		cmocka_unit_test(test_grace),		cmocka_unit_test(test_standby),
		cmocka_unit_test(test_drains),		cmocka_unit_test(test_arguments),
	};
	return cmocka_run_group_tests_name("suci group", tests, NULL, NULL);
}
