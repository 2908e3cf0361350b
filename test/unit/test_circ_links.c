/* SPDX-License-Identifier: BSD-2-Clause */
/* Several links of a pair: plans hold together, extra links are the first to go, nobody waits for
 * them, and the paper's formulas come out for a node that has k / w neighbours of w links each. */
#include "circ_bench.h"

/* A plan of these messages, checked, and a run of it at its beginning. */
static void
plan(struct bench *b, enum circ_mode mode, const struct circ_demand *d, uint32_t n)
{
	struct circ_plan_wish w = {.mode = mode, .demand = d, .demands = n};
	free(b->mem);
	free(b->run_mem);
	b->mem = malloc(circ_plan_footprint(&b->slots, n));
	circ_plan_make(&b->plan, &w, &b->slots, b->mem);
	const char *why = circ_plan_check(&b->plan, &w, &b->slots);
	if (why)
		fail_msg("%s: %s", circ_mode_name(mode), why);
	b->run_mem = malloc(circ_run_bound(b->plan.setups, b->plan.batches, b->slots.nodes));
	circ_run_start(&b->run, &b->plan, b->run_mem);
}

static void
bench_fini(struct bench *b)
{
	free(b->mem);
	free(b->run_mem);
}

/* Two nodes, two ports each: both are lit, and the message is spread over what is. */
static void
test_both_ports(void **state)
{
	(void)state;
	static struct bench b;
	static const struct circ_demand d[] = {{0, 1, 0, 9}, {1, 0, 1, 9}};
	bench_init(&b, 2, 2, 2);
	plan(&b, CIRC_MODE_PIPELINED, d, 2);
	assert_int_equal(b.plan.setups, 2);
	assert_int_equal(b.plan.extras, 1);
	assert_int_equal(b.plan.setup[1].first, 0);
	assert_int_equal(b.plan.setup[1].until, 2);
	assert_int_equal(circ_run_order(&b.run), 0);
	assert_int_equal(circ_run_order(&b.run), 1);
	assert_int_equal(circ_run_way(&b.run, 0), CIRC_WAY_WAIT);
	circ_run_lit(&b.run, 0); /* nobody waits for the other */
	assert_int_equal(circ_run_way(&b.run, 0), CIRC_WAY_LIGHT);
	assert_int_equal(circ_run_links(&b.run, 0), 1);
	circ_run_lit(&b.run, 1);
	assert_int_equal(circ_run_links(&b.run, 1), 2);
	circ_run_failed(&b.run, 0); /* the second one goes on alone */
	assert_int_equal(circ_run_way(&b.run, 1), CIRC_WAY_LIGHT);
	assert_int_equal(circ_run_link(&b.run, 1, 0), 1);
	circ_run_failed(&b.run, 1);
	assert_int_equal(circ_run_way(&b.run, 1), CIRC_WAY_PACKET);
	bench_fini(&b);
}

/* One link where one is allowed, or there is one port at an end, or nobody may have any. */
static void
test_as_many_as_may_be(void **state)
{
	(void)state;
	static struct bench b;
	static const struct circ_demand d[] = {{0, 1, 0, 9}};
	static const struct {
		uint32_t links, ports[2], lit_max, want;
	} rows[] = {{0, {4, 4}, 0, 1}, {1, {4, 4}, 0, 1}, {2, {4, 4}, 0, 2}, {3, {4, 4}, 0, 3},
		    {4, {4, 3}, 0, 3}, {4, {1, 4}, 0, 1}, {4, {4, 4}, 2, 2}, {4, {0, 4}, 0, 0}};
	static const enum circ_mode modes[] = {CIRC_MODE_PIPELINED, CIRC_MODE_CACHED,
					       CIRC_MODE_BATCHED, CIRC_MODE_NAIVE};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (size_t m = 0; m < 4; m++) {
			uint32_t want = rows[i].want;
			if (modes[m] == CIRC_MODE_NAIVE ||
			    (modes[m] == CIRC_MODE_BATCHED && rows[i].lit_max))
				want = want > 1 ? 1 : want;
			bench_init(&b, 2, 0, rows[i].links);
			memcpy(b.ports, rows[i].ports, sizeof rows[i].ports);
			b.slots.lit_max = rows[i].lit_max;
			plan(&b, modes[m], d, 1);
			if (b.plan.setups != want)
				fail_msg("row %zu, %s: %u links, not %u", i,
					 circ_mode_name(modes[m]), b.plan.setups, want);
			bench_fini(&b);
		}
}

/* A third node's message takes the extra link, and waits for what that helps with; the first stays
 * for the message behind it. */
static void
test_extra_goes_first(void **state)
{
	(void)state;
	static struct bench b;
	static const struct circ_demand d[] = {{0, 1, 0, 9}, {0, 2, 1, 9}, {0, 1, 2, 9}};
	bench_init(&b, 3, 2, 2);
	plan(&b, CIRC_MODE_PIPELINED, d, 3);
	assert_int_equal(b.plan.by[1], 2);
	assert_int_equal(b.plan.setup[2].before_a, 1);
	assert_int_equal(b.plan.setup[1].until, 1);
	assert_int_equal(b.plan.by[2], 0);
	while (circ_run_order(&b.run) != CIRC_NONE)
		;
	circ_run_lit(&b.run, 0);
	circ_run_lit(&b.run, 1);
	assert_int_equal(circ_run_links(&b.run, 0), 2);
	assert_int_equal(circ_run_links(&b.run, 2), 1); /* it will be gone */
	assert_int_equal(circ_run_order(&b.run), CIRC_NONE);
	circ_run_over(&b.run, 0);
	assert_int_equal(circ_run_order(&b.run), 2);
	circ_run_lit(&b.run, 2);
	circ_run_over(&b.run, 1);
	circ_run_over(&b.run, 2);
	bench_fini(&b);
}

/* An extra link whose ports are not free before its messages are over is never ordered, and who
 * waits for it goes on. */
static void
test_too_late(void **state)
{
	(void)state;
	static struct bench b;
	static const struct circ_demand d[] = {{0, 2, 0, 9}, {0, 1, 1, 9}, {0, 3, 2, 9}};
	bench_init(&b, 4, 2, 2);
	b.ports[2] = b.ports[3] = 1;
	plan(&b, CIRC_MODE_PIPELINED, d, 3);
	/* 0-2, 0-1, a second 0-1 over the port of 0-2, and 0-3 over that */
	assert_int_equal(b.plan.setups, 4);
	assert_int_equal(b.plan.setup[2].first, 1);
	assert_int_equal(b.plan.setup[2].before_a, 0);
	assert_int_equal(b.plan.setup[3].before_a, 2);
	assert_int_equal(circ_run_order(&b.run), 0);
	assert_int_equal(circ_run_order(&b.run), 1);
	assert_int_equal(circ_run_order(&b.run), CIRC_NONE);
	circ_run_lit(&b.run, 0);
	circ_run_lit(&b.run, 1);
	circ_run_over(&b.run, 1);
	assert_int_equal(circ_run_order(&b.run), CIRC_NONE); /* 0-2 is in use */
	circ_run_over(&b.run, 0);
	assert_int_equal(circ_run_order(&b.run), 3);
	assert_int_equal(circ_run_order(&b.run), CIRC_NONE);
	bench_fini(&b);
}

/* What an earlier call left lit is taken up, all of it; with fewer links the rest is dark. */
static void
test_links_are_kept(void **state)
{
	(void)state;
	static struct bench b;
	static const struct circ_demand d[] = {{0, 1, 0, 9}};
	bench_init(&b, 2, 4, 3);
	for (int i = 0; i < 3; i++) {
		b.slots.links = i < 2 ? 3 : 2;
		plan(&b, CIRC_MODE_CACHED, d, 1);
		assert_int_equal(b.plan.setups, b.slots.links);
		assert_int_equal(b.plan.ordered, i ? 0 : 3);
		assert_int_equal(circ_run_links(&b.run, 0), i ? b.slots.links : 0);
	}
	bench_fini(&b);
}

/* Two that need each other's port in turn do not take it from each other for ever: a ring with
 * three ports a node keeps the circuits it has. */
static void
test_nobody_swaps(void **state)
{
	(void)state;
	static struct bench b;
	struct obs_args a = {.op = COLL_ALLGATHER, .algorithm = "ring", .bytes = 1 << 20, .p = 8};
	struct obs_call c;
	assert_int_equal(obs_call_make(&c, &a, NULL), 0);
	bench_init(&b, 8, 3, 2);
	struct obs_result r = play(&b, &c, CIRC_MODE_PIPELINED, &paper);
	assert_true(r.end_s > 0);
	assert_in_range(r.orders, 8, 16); /* eight first ones, and what fits beside them */
	obs_call_free(&c);
}

/* [OC]'s formulas with k / w ports and a w-th of beta. */
static void
test_the_formulas(void **state)
{
	(void)state;
	static struct bench b;
	static const struct {
		enum coll_op op;
		const char *name;
		enum obs_algorithm a;
		bool whole;
	} rows[] = {{COLL_BCAST, "linear", OBS_LINEAR, true},
		    {COLL_ALLGATHER, "ring", OBS_RING, false},
		    {COLL_ALLGATHER, "recursive_doubling", OBS_DOUBLING, false},
		    {COLL_BCAST, "binomial", OBS_BINOMIAL, true}};
	size_t points = 0;
	for (size_t i = 0; i < 4; i++)
		for (uint32_t p = 2; p <= 32; p++)
			for (uint32_t z = 0; z < 3 * 4; z++) {
				uint32_t w = 1 + z % 4, k = w * (1 + z / 4);
				if (k > K_MAX || points++ % SANITIZED_STRIDE)
					continue;
				struct obs_args a = {.op = rows[i].op,
						     .algorithm = rows[i].name,
						     .bytes = 100000,
						     .p = p};
				struct obs_call c;
				assert_int_equal(obs_call_make(&c, &a, NULL), 0);
				bench_init(&b, p, k, w);
				struct obs_result r = play(&b, &c, CIRC_MODE_BATCHED, &paper);
				struct obs_model m = {p, k / w, paper.alpha_s,
						      paper.beta_s_per_byte / w, paper.gamma_s};
				double n = rows[i].whole ? 1e5 : 1e5 * p;
				double want = obs_model_s(&m, rows[i].a, OBS_BATCHED, n);
				if (fabs(r.end_s - want) > 1e-9)
					fail_msg("%s p=%u k=%u, %u links: %.9f s, formula %.9f",
						 rows[i].name, p, k, w, r.end_s, want);
				if (i == 0) {
					bench_init(&b, p, k, w);
					r = play(&b, &c, CIRC_MODE_PIPELINED, &paper);
					want = obs_model_pipelined_s(
						&m, p - 1, m.alpha_s + n * m.beta_s_per_byte);
					if (fabs(r.end_s - want) > 1e-9)
						fail_msg("pipelined p=%u k=%u, %u links: %.9f s, "
							 "formula %.9f",
							 p, k, w, r.end_s, want);
				}
				obs_call_free(&c);
			}
}

/* Every algorithm, mode, number of links, on unequal ports, with limits and without: plans hold,
 * and calls come to their end, one after the other on what is lit. */
static void
test_every_plan_holds(void **state)
{
	(void)state;
	static const uint32_t procs[] = {2, 3, 5, 8, 13};
	static struct bench b;
	size_t count, cases = 0, extras = 0;
	const struct coll_algorithm *alg = coll_algorithms(&count);
	for (size_t i = 0; i < count; i++)
		for (size_t z = 0; z < 5 * 8; z++) {
			struct obs_args a = {.op = alg[i].op,
					     .algorithm = alg[i].name,
					     .bytes = 640,
					     .p = procs[z % 5],
					     .root = (uint32_t)(z % procs[z % 5]),
					     .degree = 4,
					     .reversed = z & 1};
			struct obs_call c;
			if (alg[i].op == COLL_NEIGHBOR || obs_call_make(&c, &a, NULL) != 0)
				continue;
			bench_init(&b, a.p, 1, 0);
			for (uint32_t n = 0; n < a.p; n++)
				b.ports[n] = (uint32_t)(n * 7 + z / 5) % 7;
			for (uint32_t call = 0; call < 8; call++) {
				b.slots.links = (call + (uint32_t)z) % 5;
				b.slots.lit_max = z % 3 ? 0 : 1 + call % 5;
				enum circ_mode mode = (enum circ_mode)(1 + call % 4);
				struct circ_slot was[P_MAX * K_MAX];
				memcpy(was, b.slot, sizeof was);
				plan(&b, mode, c.demand, c.messages);
				extras += b.plan.extras;
				memcpy(b.slot, was, sizeof was);
				struct obs_result r = play(&b, &c, mode, &paper);
				if (r.end_s < 0 || b.ends != c.messages)
					fail_msg("%s/%s p=%u %s, %u links: stuck",
						 coll_op_name(a.op), alg[i].name, a.p,
						 circ_mode_name(mode), b.slots.links);
				cases++;
			}
			bench_fini(&b);
			obs_call_free(&c);
		}
	assert_true(cases > 5000 && extras > 10000);
}

/* A plan that is broken on purpose is told. */
static void
test_links_are_checked(void **state)
{
	(void)state;
	static struct bench b;
	static const struct circ_demand d[] = {{0, 1, 0, 9}, {2, 3, 0, 9}};
	bench_init(&b, 4, 2, 2);
	plan(&b, CIRC_MODE_PIPELINED, d, 2);
	struct circ_plan_wish w = {.mode = CIRC_MODE_PIPELINED, .demand = d, .demands = 2};
	struct circ_setup *x = &b.plan.setup[1], good = *x;
	assert_int_equal(x->first, 0);
	x->until = 2; /* of one message */
	assert_non_null(circ_plan_check(&b.plan, &w, &b.slots));
	*x = good;
	x->messages = 1;
	assert_non_null(circ_plan_check(&b.plan, &w, &b.slots));
	*x = good;
	x->first = 2; /* another pair's */
	assert_non_null(circ_plan_check(&b.plan, &w, &b.slots));
	*x = good;
	b.slots.links = 1;
	assert_non_null(circ_plan_check(&b.plan, &w, &b.slots));
	bench_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ports),	  cmocka_unit_test(test_as_many_as_may_be),
		cmocka_unit_test(test_extra_goes_first),  cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_links_are_kept),	  cmocka_unit_test(test_nobody_swaps),
		cmocka_unit_test(test_the_formulas),	  cmocka_unit_test(test_every_plan_holds),
		cmocka_unit_test(test_links_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
