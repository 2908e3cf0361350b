/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes that outlive their path. */
#include "suci_lane_kit.h"

#define LONG 40000u

static struct world *
moving_world(uint64_t seed)
{
	struct world *w = world_new(seed, 20000);
	w->conf.direct = false;
	w->conf.moves = true;
	world_open(w);
	link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
	assert_true(w->h[1].lane_up);
	w->late = true; /* it has its lane */
	w->unknown = SUCI_REFUSED;
	return w;
}

static bool
rests(struct world *w, int side)
{
	struct suci_lane_info info;
	assert_true(suci_lane_info(w->h[side].ls, w->h[side].lane, &info));
	return info.path == NONE;
}

static void
expect_sound(struct world *w)
{
	const char *what;
	for (int side = 0; side < 2; side++)
		if (!suci_lanes_check(w->h[side].ls, &what))
			fail_msg("side %d: %s", side, what);
}

static int
move_to(struct world *w, int side, uint32_t path)
{
	struct host *h = &w->h[side];
	return suci_lane_move(h->ls, h->lane, path, 16u + !side, 16u + !side, w->l.now_ns);
}

/* The path goes, and another one comes. */
static void
break_path(struct world *w)
{
	suci_path_close(w->l.ep[0], w->h[0].path, "broken", w->l.now_ns);
	link_run(&w->l, w->l.now_ns + BASE_MS_NS, NULL, NULL);
	assert_true(rests(w, 0) && rests(w, 1));
	assert_false(w->h[0].downed || w->h[1].downed);
	expect_sound(w);
}

static void
mend_path(struct world *w, uint8_t leg)
{
	struct suci_addr to = w->l.addr[1];
	uint32_t path;
	to.leg = leg;
	assert_int_equal(suci_path_open(w->l.ep[0], &to, NULL, 0, &path, w->l.now_ns), 0);
	link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	assert_true(w->h[0].up && w->h[1].up);
}

static void
send_both(struct world *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (int side = 0; side < 2; side++)
			send_block(w, side, 8, i % 5 ? i * 37 % 3000 : LONG, i % 3 == 0);
}

static void
test_once_and_in_order(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct world *w = moving_world(seed);
		for (uint32_t turn = 0; turn < 3; turn++) {
			send_both(w, 12);
			link_run(&w->l, w->l.now_ns + seed * 13000, NULL, NULL);
			break_path(w);
			send_both(w, 3); /* it waits */
			mend_path(w, 0);
			/* One end may go on before the other one. */
			assert_int_equal(move_to(w, seed % 2, w->h[seed % 2].path), 0);
			link_run(&w->l, w->l.now_ns + 3 * BASE_MS_NS, NULL, NULL);
			assert_int_equal(move_to(w, !(seed % 2), w->h[!(seed % 2)].path), 0);
			expect_sound(w);
		}
		assert_true(link_run(&w->l, w->l.now_ns + 5 * BASE_S_NS, all_done, w));
		expect_all(w, 0);
		expect_all(w, 1);
		assert_int_equal(suci_lane_counters(w->h[0].ls)->moved, 3);
		world_free(w);
	}
}

/* What is acknowledged by the path and lost behind it, as with a relay, is sent again though nobody
 * says so; and at once with suci_lane_move(), also to where it is. */
static void
test_rest_and_move_back(void **state)
{
	(void)state;
	struct world *w = moving_world(1);
	send_both(w, 6);
	link_run(&w->l, w->l.now_ns + 60000, NULL, NULL);
	for (int side = 0; side < 2; side++)
		suci_lane_rest(w->h[side].ls, w->h[side].lane, w->l.now_ns);
	assert_true(rests(w, 0) && rests(w, 1));
	expect_sound(w);
	/* What is on its way is for nobody. */
	w->unknown = SUCI_DROPPED;
	link_run(&w->l, w->l.now_ns + 10 * BASE_MS_NS, NULL, NULL);
	assert_int_not_equal(w->h[1].ended, w->h[0].sent);
	for (int side = 0; side < 2; side++)
		assert_int_equal(move_to(w, side, w->h[side].path), 0);
	assert_true(link_run(&w->l, w->l.now_ns + BASE_S_NS / 2, all_done, w));
	expect_all(w, 0);
	expect_all(w, 1);
	world_free(w);
}

static void
moves_are_refused(void **state)
{
	(void)state;
	struct world *w = world_new(3, 20000);
	struct suci_lane_info info;
	uint32_t other;
	w->conf.direct = false;
	w->conf.moves = true;
	w->leg_mtu[1] = 1200;
	world_open(w);
	link_run(&w->l, w->l.now_ns + 100 * BASE_MS_NS, NULL, NULL);
	w->late = true;
	struct host *h = &w->h[0];
	assert_int_equal(suci_lane_move(h->ls, 3, h->path, 1, 1, w->l.now_ns), SUCI_ERR_INVAL);
	struct suci_lane_conf c = w->conf;
	c.path = h->path;
	c.tx_dst_label = c.rx_src_label = 5;
	c.tx_src_label = c.rx_dst_label = 16;
	c.moves = false;
	assert_int_equal(suci_lane_open(h->ls, &c, &other, w->l.now_ns), 0);
	assert_int_equal(suci_lane_move(h->ls, other, h->path, 6, 6, w->l.now_ns), SUCI_ERR_INVAL);
	suci_lane_rest(h->ls, other, w->l.now_ns);
	assert_true(suci_lane_info(h->ls, other, &info) && info.path == h->path);
	/* The labels are another lane's: it rests, and goes on elsewhere. */
	assert_int_equal(suci_lane_move(h->ls, h->lane, h->path, 5, 5, w->l.now_ns),
			 SUCI_ERR_EXISTS);
	assert_true(rests(w, 0));
	assert_int_equal(move_to(w, 0, h->path), 0);
	c.tx_dst_label = c.rx_src_label = 7;
	c.moves = c.direct = true;
	assert_int_equal(suci_lane_open(h->ls, &c, &other, w->l.now_ns), SUCI_ERR_INVAL);
	/* A path of smaller segments than those that it has begun to send. */
	suci_lane_close(h->ls, 1, w->l.now_ns);
	send_block(w, 0, 8, LONG, true);
	link_run(&w->l, w->l.now_ns + 10000, NULL, NULL);
	uint32_t gone = h->path;
	break_path(w);
	assert_int_equal(move_to(w, 0, gone), SUCI_ERR_DOWN);
	mend_path(w, 1);
	assert_int_equal(move_to(w, 0, h->path), SUCI_ERR_TOOBIG);
	/* A lane that rests gives back its blocks when it is closed. */
	suci_lane_close(h->ls, h->lane, w->l.now_ns);
	assert_int_equal(h->done_bad, 1);
	expect_sound(w);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_and_in_order),
		cmocka_unit_test(test_rest_and_move_back),
		cmocka_unit_test(moves_are_refused),
	};
	return cmocka_run_group_tests_name("lanes that move", tests, NULL, NULL);
}
