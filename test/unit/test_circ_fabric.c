/* SPDX-License-Identifier: BSD-2-Clause */
/* Links on a matrix where less may be lit than there are ports: the two ways of a link go dark one
 * by one on a switch that takes one removal at a time, and one way is as much light as both. */
#include "cmocka_all.h"

#include "circ/fabric.h"

#include <stdlib.h>
#include <string.h>

#define NODES	3 /* port n of the switch is that of node n */
#define MESSAGE 1000

struct bench {
	struct circ_slots slots;
	struct circ_slot slot[NODES];
	struct circ_plan plan;
	struct circ_run run;
	struct circ_fabric fabric;
	struct ocs_matrix *m;
	void *mem[4];
	uint64_t now_ns;
};

static const uint32_t one_port[NODES] = {1, 1, 1}, port_of[NODES] = {0, 1, 2};
static const uint32_t of_one[NODES] = {0, 0, 0}, one_wave[] = {1};
/* Node 0 to the others, one after the other. */
static const struct circ_demand demand[] = {{0, 1, 0, MESSAGE}, {0, 2, 1, MESSAGE}};

static void
bench_begin(struct bench *b, enum circ_mode mode, bool by_group)
{
	struct circ_plan_wish w = {.mode = mode, .demand = demand, .demands = 2};
	memset(b, 0, sizeof *b);
	b->slots = (struct circ_slots){
		.nodes = NODES, .stride = 1, .ports = one_port, .slot = b->slot, .lit_max = 1};
	if (by_group) {
		b->slots.lit_max = 0;
		b->slots.groups = 1;
		b->slots.group = of_one;
		b->slots.waves = one_wave;
	}
	circ_slots_clear(&b->slots);
	b->mem[0] = malloc(ocs_matrix_footprint(NODES));
	b->m = ocs_matrix_new(b->mem[0], NODES, 0);
	b->mem[1] = malloc(circ_plan_footprint(&b->slots, 2));
	circ_plan_make(&b->plan, &w, &b->slots, b->mem[1]);
	assert_int_equal(b->plan.setups, 2);
	b->mem[2] = malloc(circ_run_bound(b->plan.setups, b->plan.batches, b->slots.nodes));
	circ_run_start(&b->run, &b->plan, b->mem[2]);
	b->mem[3] = malloc(circ_fabric_footprint(&b->plan));
	b->fabric = (struct circ_fabric){.m = b->m,
					 .slots = &b->slots,
					 .port_of = port_of,
					 .owner = 1,
					 .patience_ns = UINT64_MAX};
	circ_fabric_start(&b->fabric, &b->run, b->now_ns, b->mem[3]);
}

/* How many links have light one way or both, or may have: what is ordered is not dark. */
static uint32_t
lit_links(const struct bench *b)
{
	uint32_t n = 0;
	for (uint32_t p = 0; p < NODES; p++) {
		struct ocs_circuit c = ocs_at(b->m, p);
		if (c.state == OCS_FREE || c.state == OCS_REQUESTED)
			continue;
		struct ocs_circuit back = ocs_at(b->m, c.out);
		bool both = back.out == p && back.state != OCS_FREE && back.state != OCS_REQUESTED;
		n += !both || p < c.out;
	}
	return n;
}

/* The switch takes a removal and an addition at a time, and is done with the latter first. */
static void
carry_out(struct bench *b)
{
	struct ocs_circuit remove, add;
	struct ocs_batch batch = {.remove = &remove, .add = &add};
	while (ocs_take_batch(b->m, &batch, 1, b->now_ns)) {
		assert_true(lit_links(b) <= 1);
		if (batch.additions) {
			assert_int_equal(ocs_report(b->m, add.in, true, b->now_ns), OCS_ERR_OK);
			assert_int_equal(ocs_light(b->m, add.in, true, b->now_ns), OCS_ERR_OK);
		}
		if (batch.removals)
			assert_int_equal(ocs_report(b->m, remove.in, true, b->now_ns), OCS_ERR_OK);
		circ_fabric_step(&b->fabric, ++b->now_ns);
		assert_true(lit_links(b) <= 1);
	}
}

static void
one_way_is_a_link(void **state)
{
	static const enum circ_mode modes[] = {CIRC_MODE_NAIVE, CIRC_MODE_BATCHED,
					       CIRC_MODE_PIPELINED, CIRC_MODE_CACHED};
	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct bench b;
		bench_begin(&b, modes[i / 2], i & 1);
		for (uint32_t message = 0; message < 2; message++) {
			circ_fabric_step(&b.fabric, b.now_ns);
			carry_out(&b);
			assert_int_equal(circ_run_way(&b.run, message), CIRC_WAY_LIGHT);
			circ_run_over(&b.run, message);
		}
		circ_fabric_clear(&b.fabric, b.now_ns);
		carry_out(&b);
		assert_true(circ_fabric_empty(&b.fabric));
		for (uint32_t k = 0; k < 4; k++)
			free(b.mem[k]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_way_is_a_link)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
