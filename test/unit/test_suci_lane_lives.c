/* SPDX-License-Identifier: BSD-2-Clause */
/* Lives of a relayed lane: one end begins anew, and the other one hears it from the segments. */
#include "suci_lane_kit.h"

#define WAIT_NS (5 * BASE_S_NS)

static struct world *
world_with_lives(uint8_t life)
{
	struct world *w = world_new(3, 20000);
	w->conf.direct = false;
	w->conf.life = life;
	w->late = true;
	w->unknown = SUCI_TAKEN;
	world_open(w);
	return w;
}

static void
send_until_done(struct world *w, int side, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		send_block(w, side, 0, 3000, false);
	assert_true(link_run(&w->l, w->l.now_ns + WAIT_NS, all_done, w));
}

static uint8_t
life_at(struct world *w, int side)
{
	struct suci_lane_info l;
	assert_true(suci_lane_info(w->h[side].ls, w->h[side].lane, &l));
	return l.life;
}

/* Opened again with that life. */
static void
begin_in(struct world *w, int side, uint8_t life)
{
	struct host *h = &w->h[side];
	suci_lane_close(h->ls, h->lane, w->l.now_ns);
	w->conf.life = life;
	open_lane(h);
}

static void
next_life_is_followed(void **state)
{
	(void)state;
	struct world *w = world_with_lives(1);
	send_until_done(w, 0, 5);
	send_until_done(w, 1, 5);
	assert_int_equal(life_at(w, 0), 1);
	assert_int_equal(life_at(w, 1), 1);
	begin_in(w, 0, 7);
	send_until_done(w, 0, 5);
	assert_true(w->h[1].downed);
	assert_int_equal(w->h[1].why, SUCI_DOWN_RESTARTED);
	assert_int_equal(life_at(w, 1), 7);
	send_until_done(w, 1, 5);
	expect_all(w, 0);
	expect_all(w, 1);
	world_free(w);
}

/* It says so before it has anything else to say: who is behind has asked, so to speak. */
static void
who_is_behind_hears_it(void **state)
{
	(void)state;
	struct world *w = world_with_lives(SUCI_LIFE_MAX);
	send_until_done(w, 0, 2);
	send_until_done(w, 1, 2);
	begin_in(w, 1, suci_life_next(SUCI_LIFE_MAX));
	assert_int_equal(life_at(w, 1), 1);
	send_block(w, 0, 0, 100, false);
	assert_true(link_run(&w->l, w->l.now_ns + WAIT_NS, all_done, w));
	/* What was said to the lane of before is lost, and its sender knows. */
	assert_int_equal(w->h[0].done_bad, 1);
	assert_true(w->h[0].downed);
	assert_true(suci_lane_counters(w->h[1].ls)->drop_life > 0);
	assert_int_equal(life_at(w, 0), 1);
	world_free(w);
}

/* The middle of a lane that is no more is for no new one. */
static void
middle_begins_nothing(void **state)
{
	(void)state;
	struct world *w = world_with_lives(4);
	send_until_done(w, 0, 3);
	send_until_done(w, 1, 3);
	suci_lane_close(w->h[1].ls, w->h[1].lane, w->l.now_ns);
	send_block(w, 0, 0, 100, false); /* opens it, in the same life */
	assert_true(link_run(&w->l, w->l.now_ns + WAIT_NS, all_done, w));
	assert_int_equal(w->h[0].done_bad, 1);
	assert_int_equal(w->h[1].begun, 3);
	assert_int_equal(life_at(w, 1), 5);
	assert_int_equal(life_at(w, 0), 5);
	world_free(w);
}

/* An older version says no life: then there is no check. */
static void
older_end_is_understood(void **state)
{
	(void)state;
	struct world *w = world_new(4, 20000);
	w->conf.direct = false;
	w->late = true;
	w->unknown = SUCI_TAKEN;
	world_open(w); /* its lane has none */
	w->conf.life = 3;
	send_until_done(w, 0, 5);
	send_until_done(w, 1, 5);
	assert_int_equal(life_at(w, 0), 0);
	assert_int_equal(life_at(w, 1), 3);
	expect_all(w, 0);
	expect_all(w, 1);
	world_free(w);
}

static void
lives_are_compared(void **state)
{
	(void)state;
	assert_true(suci_life_newer(1, 0));
	assert_false(suci_life_newer(0, 1));
	assert_false(suci_life_newer(5, 5));
	for (uint8_t a = 1, b = suci_life_next(1), n = 0; n < 200;
	     n++, a = b, b = suci_life_next(b)) {
		assert_true(b >= 1 && b <= SUCI_LIFE_MAX);
		assert_true(suci_life_newer(b, a));
		assert_false(suci_life_newer(a, b));
	}
	struct suci_lane_conf c = {.life = 1, .direct = true, .window = 64};
	struct world *w = world_with_lives(1);
	uint32_t lane;
	assert_int_equal(suci_lane_open(w->h[0].ls, &c, &lane, 0), SUCI_ERR_INVAL);
	c.direct = false;
	c.life = SUCI_LIFE_MAX + 1;
	assert_int_equal(suci_lane_open(w->h[0].ls, &c, &lane, 0), SUCI_ERR_INVAL);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next_life_is_followed), cmocka_unit_test(who_is_behind_hears_it),
		cmocka_unit_test(middle_begins_nothing), cmocka_unit_test(older_end_is_understood),
		cmocka_unit_test(lives_are_compared),
	};
	return cmocka_run_group_tests_name("lives of lanes", tests, NULL, NULL);
}
