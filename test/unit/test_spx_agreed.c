/* SPDX-License-Identifier: BSD-2-Clause */
/* What daemons agree on, as a view of lib/spx: chains as facts, who is who, who is complete. */
#include "cmocka_all.h"
#include "spx/agreed.h"

#include <stdlib.h>
#include <string.h>

/* input (roles 0) -> filter (1, 2) over I/O (3, 4); roles 5 is nobody's. */
enum { ROLES = 6, SLOTS = 12, FIRST = 2 };
static const struct spx_role role[ROLES] = {{SPX_PART_RANK, 0, 0},   {SPX_PART_RANK, 1, 0},
					    {SPX_PART_RANK, 1, 1},   {SPX_PART_CHAIN, 0, 0},
					    {SPX_PART_BEFORE, 1, 0}, {SPX_PART_NONE, 0, 0}};
static const struct spx_cluster named[] = {{.name = "input", .compute = 1},
					   {.name = "filter", .compute = 2}};
static uint16_t played[ROLES];
static const struct spx_agreed agreed = {role, named, 2, FIRST, played};
static struct sp_view *v;
static struct spx_proc procs[SLOTS];
static struct spx_cluster clusters[SPX_CLUSTERS_MAX];
static struct spx_chain chains[SPX_CHAINS_MAX];
static struct spx_view x = {.proc = procs, .cluster = clusters, .chain = chains};

static int
set_up_agreed(void **state)
{
	static const struct sp_limits l = {ROLES, SLOTS, 1, SPX_FACT_FREE};
	static const uint16_t unit_of[ROLES];
	static const uint8_t later[ROLES] = {SP_POOL_LATER, SP_POOL_LATER, SP_POOL_LATER,
					     SP_POOL_LATER, SP_POOL_LATER, SP_POOL_LATER};
	static const struct spx_chain chain = {.from = 0,
					       .to = 1,
					       .state = SPX_CHAIN_ACTIVE,
					       .ordered = true,
					       .window = 256,
					       .policy = SPX_USER,
					       .on_lost = SPX_RESTART};
	struct sp_fact fact[SPX_FACT_FREE] = {{0, 0}};

	(void)state;
	v = sp_view_new(&l, malloc(sp_view_footprint(&l)));
	spx_agreed_facts(&chain, 1, fact);
	sp_view_begin(v, unit_of, ROLES);
	sp_view_begin_pools(v, later, UINT64_MAX, fact);
	return 0;
}

static int
free_agreed(void **state)
{
	(void)state;
	free(v);
	return 0;
}

/* A slot more that plays a role, or is a spare. */
static uint32_t
add_slot(uint32_t of, enum sp_slot_state how)
{
	v->slot[v->slots] = (struct sp_slot){.role = of, .state = (uint8_t)how, .ready = true};
	if (how == SP_SLOT_ROLE)
		v->role[of] = v->slots;
	return v->slots++;
}

static void
chains_are_facts(void **state)
{
	(void)state;
	spx_agreed_view(&agreed, v, 0, &x);
	assert_int_equal(x.nchain, 1);
	assert_int_equal(x.nproc, 0);
	assert_int_equal(x.ncluster, 2);
	assert_string_equal(x.cluster[1].name, "filter");
	const struct spx_chain *c = &x.chain[0];
	assert_true(c->from == 0 && c->to == 1 && c->ordered && c->window == 256);
	assert_true(c->state == SPX_CHAIN_ACTIVE && c->policy == SPX_USER &&
		    c->on_lost == SPX_RESTART);
}

static void
roles_are_processes(void **state)
{
	char text[SPX_TEXT_MAX];

	(void)state;
	v->slots = FIRST;
	add_slot(2, SP_SLOT_DEAD);
	uint32_t s = add_slot(2, SP_SLOT_ROLE);
	add_slot(SP_NONE, SP_SLOT_SPARE);
	add_slot(3, SP_SLOT_ROLE);
	add_slot(4, SP_SLOT_ROLE);
	spx_agreed_view(&agreed, v, 0, &x);
	assert_true(spx_view_check(&x, text));
	assert_int_equal(x.nproc, 4);
	assert_int_equal(x.proc[0].id, 1);
	assert_int_equal(x.proc[0].state, SPX_DEAD);
	assert_int_equal(x.proc[1].id, spx_id_of_slot(&agreed, s));
	assert_int_equal(spx_slot_of_id(&agreed, x.proc[1].id), s);
	assert_true(x.proc[1].cluster == 1 && x.proc[1].rank == 1 && x.proc[1].takeovers == 1);
	assert_true(x.proc[2].kind == SPX_IO && x.proc[2].chains == 1);
	assert_true(x.proc[3].kind == SPX_IO && x.proc[3].chains == 1);
	spx_agreed_name(&agreed, 2, text);
	assert_string_equal(text, "rank 1 of filter");
	spx_agreed_name(&agreed, 4, text);
	assert_string_equal(text, "I/O process 0 before filter");
	spx_agreed_name(&agreed, 5, text);
	assert_string_equal(text, "role 5");
}

static void
all_come_all_are_done(void **state)
{
	bool left[SLOTS] = {false};

	(void)state;
	v->slots = FIRST;
	uint32_t first = add_slot(0, SP_SLOT_ROLE);
	for (uint32_t r = 1; r < 4; r++) {
		spx_agreed_view(&agreed, v, 3, &x);
		assert_int_equal(spx_agreed_complete(&x), 0);
		add_slot(r, SP_SLOT_ROLE);
	}
	spx_agreed_view(&agreed, v, 3, &x);
	assert_int_equal(spx_agreed_complete(&x), 3);
	assert_false(x.cluster[0].lost); /* it was never complete */
	v->fact[SPX_FACT_STARTED] = (struct sp_fact){0, 3};
	spx_agreed_view(&agreed, v, 2, &x);
	assert_int_equal(spx_agreed_complete(&x), 0);
	assert_true(!x.cluster[0].lost && x.cluster[1].lost);
	assert_false(spx_agreed_done(&agreed, v, &x, left));
	left[first] = true;
	assert_true(spx_agreed_done(&agreed, v, &x, left));
	v->role[0] = SP_NONE;
	assert_false(spx_agreed_done(&agreed, v, &x, left));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_agreed, free_agreed)
	const struct CMUnitTest tests[] = {
		TEST(chains_are_facts),
		TEST(roles_are_processes),
		TEST(all_come_all_are_done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
