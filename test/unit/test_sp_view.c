/* SPDX-License-Identifier: BSD-2-Clause */
/* Views and changes: what follows from what, and their bytes. */
#include "cmocka_all.h"
#include "sp/view.h"

#include <stdlib.h>
#include <string.h>

static const struct sp_limits limits = {.roles = 4, .slots_max = 8, .units = 3, .facts = 2};
static const uint16_t unit_of[] = {0, 1, 2, 0, 1, 2}; /* slots 4 and 5 are spares */

static struct sp_view *v, *scratch, *other;

static int
make_views(void **state)
{
	(void)state;
	v = sp_view_new(&limits, aligned_alloc(64, sp_view_footprint(&limits)));
	scratch = sp_view_new(&limits, aligned_alloc(64, sp_view_footprint(&limits)));
	other = sp_view_new(&limits, aligned_alloc(64, sp_view_footprint(&limits)));
	sp_view_begin(v, unit_of, 6);
	return 0;
}

static int
free_views(void **state)
{
	(void)state;
	free(v);
	free(scratch);
	free(other);
	return 0;
}

static enum sp_applied
apply_ops(uint64_t base, const struct sp_op *op, uint32_t n)
{
	uint8_t bytes[SP_CHANGE_HEAD + 8 * SP_OP_BYTES];
	struct sp_change c = {.base = base, .term = 3, .proposer = 1, .elapsed_ms = 5, .n = n};

	sp_change_write(&c, op, bytes);
	return sp_view_apply(v, scratch, bytes, sp_change_bytes(n));
}

#define APPLY(base, ...)                                     \
	apply_ops(base, (const struct sp_op[]){__VA_ARGS__}, \
		  sizeof(const struct sp_op[]){__VA_ARGS__} / sizeof(struct sp_op))

static void
a_spare_takes_over(void **state)
{
	const char *what;

	(void)state;
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}, {SP_OP_GIVE, 0, 1, 4}),
			 SP_APPLIED);
	assert_int_equal(v->number, 2);
	assert_int_equal(v->epoch, 1);
	assert_int_equal(v->clock_ms, 5);
	assert_int_equal(v->faults, 1);
	assert_int_equal(v->role[1], 4);
	assert_int_equal(v->slot[4].state, SP_SLOT_ROLE);
	assert_int_equal(v->slot[1].state, SP_SLOT_DEAD);
	assert_int_equal(v->slot[1].role, 1);
	assert_int_equal(v->l.roles, 4);
	assert_true(sp_view_check(v, &what));
}

static void
a_death_alone_is_no_new_epoch(void **state)
{
	(void)state;
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_NODE, 5, 0}), SP_APPLIED);
	assert_int_equal(v->number, 2);
	assert_int_equal(v->epoch, 0);
	assert_int_equal(v->faults, 0);
}

static void
changes_of_other_views_are_stale(void **state)
{
	uint64_t before = sp_view_hash(v);

	(void)state;
	assert_int_equal(APPLY(2, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}), SP_STALE);
	assert_int_equal(APPLY(0, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}), SP_STALE);
	assert_true(sp_view_hash(v) == before);
}

static void
what_does_not_follow_is_refused_whole(void **state)
{
	uint64_t before = sp_view_hash(v);

	(void)state;
	/* a role that is played; who is no spare; a slot, role, unit there is not */
	assert_int_equal(APPLY(1, {SP_OP_GIVE, 0, 1, 4}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}, {SP_OP_GIVE, 0, 1, 2}),
			 SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}, {SP_OP_GIVE, 0, 1, 1}),
			 SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_EXIT, 6, 0}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_NONE, 1, 0}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_COUNT, 1, 0}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_GIVE, 0, 4, 4}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_JOIN, 0, 3, 77}), SP_INVALID);
	/* dead twice; a unit with living slots; a second end; an unknown operation */
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}),
			 SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_DOWN, SP_WHY_NODE, 0, 0}), SP_INVALID);
	assert_int_equal(
		APPLY(1, {SP_OP_END, SP_WHY_OPERATOR, 0, 0}, {SP_OP_END, SP_WHY_OPERATOR, 0, 0}),
		SP_INVALID);
	assert_int_equal(APPLY(1, {13, 0, 0, 0}), SP_INVALID);
	/* who is played is not given up, nor given a pool */
	assert_int_equal(APPLY(1, {SP_OP_GONE, 0, 1, 0}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_GONE, 0, 4, 0}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_ROLES, 1, 1, 1}), SP_INVALID);
	assert_true(sp_view_hash(v) == before);
}

static void
a_role_is_given_up(void **state)
{
	uint8_t bytes[1024];
	const char *what;

	(void)state;
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}, {SP_OP_GONE, 0, 1, 0}),
			 SP_APPLIED);
	assert_true(v->gone[1] && v->role[1] == SP_NONE);
	assert_int_equal(v->epoch, 1);
	assert_true(sp_view_check(v, &what));
	/* for good */
	assert_int_equal(APPLY(2, {SP_OP_GIVE, 0, 1, 4}), SP_INVALID);
	assert_int_equal(APPLY(2, {SP_OP_GONE, 0, 1, 0}), SP_INVALID);
	size_t len = sp_view_write(v, bytes, sizeof bytes);
	assert_true(sp_view_read(other, scratch, bytes, len));
	assert_true(other->gone[1] && !other->gone[0]);
	assert_true(sp_view_hash(other) == sp_view_hash(v));
}

static void
roles_kept_for_later_get_a_pool(void **state)
{
	static const uint8_t pool_of[] = {0, 0, SP_POOL_LATER, SP_POOL_LATER, 0, 0};
	static const struct sp_fact fact[2];

	(void)state;
	sp_view_begin_pools(v, pool_of, UINT64_C(1) << SP_POOL_LATER | 2, fact);
	assert_int_equal(v->role[2], SP_NONE);
	assert_int_equal(APPLY(1, {SP_OP_ROLES, 1, 2, 3}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_ROLES, 1, 1, 2}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_ROLES, SP_POOL_LATER, 2, 1}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_POOL, 0, SP_POOL_LATER, 1}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_ROLES, 1, 2, 2}, {SP_OP_POOL, 0, 1, 1},
			       {SP_OP_JOIN, 1, 0, 77}, {SP_OP_GIVE, 0, 3, 6}),
			 SP_APPLIED);
	assert_int_equal(sp_role_pool(v, 2), 1);
	assert_int_equal(v->role[3], 6);
	assert_int_equal(APPLY(2, {SP_OP_ROLES, 1, 2, 1}), SP_INVALID);
}

/* Slots 0, 2, 4: pool 0; 1, 3, 5: pool 1. */
static void
pools_and_facts(void **state)
{
	static const uint8_t pool_of[] = {0, 1, 0, 1, 0, 1};
	static const struct sp_fact fact[] = {{1, 2}, {0, 0}};
	const char *what;

	(void)state;
	sp_view_begin_pools(v, pool_of, 2, fact);
	assert_true(sp_view_check(v, &what));
	assert_int_equal(v->role[0], 0);
	assert_int_equal(v->role[1], SP_NONE);
	assert_false(sp_slot_lives(v, 5));
	/* of a pool that is off; of another pool; it is off already; of no pool */
	assert_int_equal(APPLY(1, {SP_OP_JOIN, 1, 0, 70}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_GIVE, 0, 1, 4}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_POOL, 0, 1, 0}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_POOL, 0, SP_POOLS_MAX, 0}), SP_INVALID);
	assert_int_equal(APPLY(1, {SP_OP_JOIN, SP_POOLS_MAX, 0, 70}), SP_INVALID);
	assert_int_equal(
		APPLY(1, {SP_OP_POOL, 0, 1, 1}, {SP_OP_JOIN, 1, 0, 70}, {SP_OP_GIVE, 0, 1, 6}),
		SP_APPLIED);
	assert_int_equal(v->role[1], 6);
	/* what lives is dead first */
	assert_int_equal(APPLY(2, {SP_OP_POOL, 0, 1, 0}), SP_INVALID);
	assert_int_equal(APPLY(2, {SP_OP_DEAD, SP_WHY_OPERATOR, 6, 0}, {SP_OP_POOL, 0, 1, 0}),
			 SP_APPLIED);
	/* ready once; facts that are there, that are not */
	assert_int_equal(APPLY(3, {SP_OP_READY, 0, 0, 0}, {SP_OP_READY, 0, 0, 0}), SP_INVALID);
	assert_int_equal(APPLY(3, {SP_OP_READY, 0, 6, 0}), SP_INVALID);
	assert_int_equal(APPLY(3, {SP_OP_FACT, 0, 1, 2}), SP_INVALID);
	assert_int_equal(APPLY(3, {SP_OP_FACT, 2, 1, 2}), SP_INVALID);
	assert_int_equal(APPLY(3, {SP_OP_CLAIM, 0, 3, 4}), SP_INVALID);
	assert_int_equal(APPLY(3, {SP_OP_READY, 0, 0, 0}, {SP_OP_CLAIM, 1, 3, 4}), SP_APPLIED);
	uint8_t bytes[512];
	size_t len = sp_view_write(v, bytes, sizeof bytes);
	assert_true(sp_view_read(other, scratch, bytes, len));
	assert_true(other->slot[0].ready && other->off == 2 && other->fact[1].b == 4);
	assert_true(sp_view_hash(other) == sp_view_hash(v));
}

static void
slots_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(APPLY(1, {SP_OP_JOIN, 0, 0, 70}, {SP_OP_JOIN, 0, 0, 71}), SP_APPLIED);
	assert_int_equal(v->slots, 8);
	assert_int_equal(v->slot[7].token, 71);
	assert_int_equal(APPLY(2, {SP_OP_JOIN, 0, 0, 72}), SP_INVALID);
}

static void
a_node_goes_and_comes(void **state)
{
	(void)state;
	assert_int_equal(APPLY(1, {SP_OP_UP, 0, 2, 5}), SP_APPLIED); /* for the first time */
	assert_int_equal(APPLY(2, {SP_OP_UP, 0, 2, 6}), SP_INVALID); /* its slots live */
	assert_int_equal(APPLY(2, {SP_OP_DEAD, SP_WHY_NODE, 2, 0}, {SP_OP_DEAD, SP_WHY_NODE, 5, 0},
			       {SP_OP_DOWN, SP_WHY_NODE, 2, 0}),
			 SP_APPLIED);
	assert_true(v->unit[2].down);
	assert_int_equal(APPLY(3, {SP_OP_JOIN, 0, 2, 70}), SP_INVALID);
	assert_int_equal(APPLY(3, {SP_OP_UP, 0, 2, 4}), SP_INVALID); /* an older one */
	assert_int_equal(
		APPLY(3, {SP_OP_UP, 0, 2, 6}, {SP_OP_JOIN, 0, 2, 70}, {SP_OP_GIVE, 0, 2, 6}),
		SP_APPLIED);
	assert_int_equal(v->role[2], 6);
}

static void
views_as_bytes(void **state)
{
	uint8_t bytes[1024];

	(void)state;
	assert_int_equal(APPLY(1, {SP_OP_DEAD, SP_WHY_EXIT, 1, 0}, {SP_OP_GIVE, 0, 1, 4}),
			 SP_APPLIED);
	size_t len = sp_view_write(v, NULL, 0);
	assert_int_equal(sp_view_write(v, bytes, sizeof bytes), len);
	assert_true(sp_view_read(other, scratch, bytes, len));
	assert_true(sp_view_hash(other) == sp_view_hash(v));
	assert_int_equal(other->fault_ms[0], v->fault_ms[0]);
	for (size_t n = 0; n < len; n++)
		assert_false(sp_view_read(other, scratch, bytes, n));
	assert_false(sp_view_read(other, scratch, bytes, len + 1));
	/* Two roles for one slot. */
	size_t roles = 44 + 8 * SP_FAULTS_MAX;
	memcpy(bytes + roles, bytes + roles + 4, 4);
	assert_false(sp_view_read(other, scratch, bytes, len));
	assert_true(sp_view_hash(other) == sp_view_hash(v));
}

static void
a_change_as_bytes(void **state)
{
	static const uint8_t golden[] = {0x52, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0,
					 0,    0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 9,
					 1,    1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0};
	struct sp_op op = {SP_OP_DEAD, SP_WHY_EXIT, 5, 0};
	struct sp_change c = {.base = 7, .term = 3, .proposer = 1, .elapsed_ms = 9, .n = 1}, r;
	uint8_t bytes[sizeof golden];

	(void)state;
	assert_int_equal(sp_change_bytes(1), sizeof golden);
	sp_change_write(&c, &op, bytes);
	assert_memory_equal(bytes, golden, sizeof golden);
	assert_true(sp_change_read(&r, golden, sizeof golden));
	assert_int_equal(r.base, 7);
	assert_int_equal(sp_change_op(&r, 0).a, 5);
	for (size_t n = 0; n < sizeof golden; n++)
		assert_false(sp_change_read(&r, golden, n));
	bytes[0] = 0x51;
	assert_false(sp_change_read(&r, bytes, sizeof bytes));
}

static void
each_why_has_a_text(void **state)
{
	(void)state;
	for (unsigned i = 1; i < SP_WHY_COUNT; i++)
		assert_true(strlen(sp_why_text(i)) > 8);
	assert_string_equal(sp_why_text(SP_WHY_COUNT), "?");
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_views, free_views)
	const struct CMUnitTest tests[] = {
		TEST(a_spare_takes_over),
		TEST(a_death_alone_is_no_new_epoch),
		TEST(a_role_is_given_up),
		TEST(roles_kept_for_later_get_a_pool),
		TEST(changes_of_other_views_are_stale),
		TEST(what_does_not_follow_is_refused_whole),
		TEST(pools_and_facts),
		TEST(slots_are_bounded),
		TEST(a_node_goes_and_comes),
		TEST(views_as_bytes),
		TEST(a_change_as_bytes),
		TEST(each_why_has_a_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
