/* SPDX-License-Identifier: BSD-2-Clause */
/* The planner: its plans hold together, and the event log of the schedules played by
 * them is what the closed formulas of [OC] say. */
#include "circ_bench.h"

static const struct {
	enum obs_algorithm a;
	enum coll_op op;
	const char *name;
	bool whole; /* the call's bytes are n, not n / p */
} algorithms[] = {
	{OBS_LINEAR, COLL_BCAST, "linear", true},
	{OBS_RING, COLL_ALLGATHER, "ring", false},
	{OBS_DOUBLING, COLL_ALLGATHER, "recursive_doubling", false},
	{OBS_BINOMIAL, COLL_BCAST, "binomial", true},
};

static uint32_t compared;

static void
same_as_formula(size_t i, uint32_t p, uint64_t n)
{
	struct obs_args a = {.op = algorithms[i].op,
			     .algorithm = algorithms[i].name,
			     .bytes = algorithms[i].whole ? n : n / p,
			     .p = p};
	struct obs_call c;
	static struct bench b;
	assert_int_equal(obs_call_make(&c, &a, NULL), 0);
	for (uint32_t k = 1; k <= K_MAX; k++)
		for (int mode = OBS_IDEAL; mode <= OBS_BATCHED; mode++) {
			struct obs_model m = {p, k, paper.alpha_s, paper.beta_s_per_byte,
					      paper.gamma_s};
			struct circ_costs costs = paper;
			costs.gamma_s = mode == OBS_IDEAL ? 0 : paper.gamma_s;
			double want = obs_model_s(&m, algorithms[i].a, (enum obs_strategy)mode,
						  (double)(algorithms[i].whole ? n : n / p * p));
			if (mode == OBS_IDEAL && i == 1 && k == 1)
				continue; /* a ring on one port is not ideal at any gamma */
			bench_init(&b, p, k, 0);
			struct obs_result r = play(
				&b, &c, mode == OBS_NAIVE ? CIRC_MODE_NAIVE : CIRC_MODE_BATCHED,
				&costs);
			if (fabs(b.last_s - want) > 1e-9 || fabs(r.end_s - want) > 1e-9)
				fail_msg("%s p=%u k=%u n=%llu mode %d: log %.10f s, formula %.10f",
					 algorithms[i].name, p, k, (unsigned long long)n, mode,
					 b.last_s, want);
			/* elsewhere nodes order at moments of their own */
			if (mode != OBS_IDEAL && (i < 2 || (i == 2 && !(p & (p - 1)))))
				assert_int_equal(r.gammas,
						 obs_model_gammas(&m, algorithms[i].a,
								  (enum obs_strategy)mode));
			assert_int_equal(b.ends, c.messages);
			compared++;
		}
	obs_call_free(&c);
}

static void
test_event_log_is_the_formula(void **state)
{
	(void)state;
	static const uint64_t n[] = {0, 1, 1000, 65536, 1 << 20};
	uint32_t rows = 0;
	for (uint32_t p = 2; p <= P_MAX; p++)
		for (size_t i = 0; i < 4; i++)
			for (size_t z = 0; z < sizeof n / sizeof n[0]; z++)
				if (rows++ % SANITIZED_STRIDE == 0)
					same_as_formula(i, p, n[z]);
	assert_true(compared > 25000 / SANITIZED_STRIDE);
	print_message("%u times compared\n", compared);
}

/* Linear: equal steps of one process, so the closed form of pipelining holds. */
static void
test_pipelined_is_the_closed_form(void **state)
{
	(void)state;
	static struct bench b;
	uint32_t rows = 0;
	for (uint32_t p = 2; p <= P_MAX; p += 3)
		for (uint32_t k = 1; k <= K_MAX; k++)
			for (uint64_t n = 1; n <= 1 << 22; n *= 16) {
				struct obs_args a = {.op = COLL_BCAST,
						     .algorithm = "linear",
						     .bytes = n,
						     .p = p};
				struct obs_call c;
				if (rows++ % SANITIZED_STRIDE)
					continue;
				assert_int_equal(obs_call_make(&c, &a, NULL), 0);
				bench_init(&b, p, k, 0);
				play(&b, &c, CIRC_MODE_PIPELINED, &paper);
				struct obs_model m = {p, k, paper.alpha_s, paper.beta_s_per_byte,
						      paper.gamma_s};
				double step = paper.alpha_s + (double)n * paper.beta_s_per_byte;
				double want = obs_model_pipelined_s(&m, p - 1, step);
				if (fabs(b.last_s - want) > 1e-9)
					fail_msg("p=%u k=%u n=%llu: %.9f s, closed form %.9f", p, k,
						 (unsigned long long)n, b.last_s, want);
				obs_call_free(&c);
			}
}

/* With as many ports as dimensions nothing is ever re-aimed, whatever the call. */
static void
test_cache_keeps(void **state)
{
	(void)state;
	static struct bench b;
	static const struct obs_args calls[] = {
		{.op = COLL_ALLTOALL, .algorithm = "recursive_doubling", .bytes = 100, .p = 16},
		{.op = COLL_BCAST, .algorithm = "binomial", .bytes = 100, .p = 16},
		{.op = COLL_REDUCE, .algorithm = "binomial", .bytes = 100, .p = 16},
		{.op = COLL_BARRIER, .algorithm = "recursive_doubling", .p = 16},
	};
	bench_init(&b, 16, 4, 0);
	for (int i = 0; i < 8; i++) {
		struct obs_call c;
		assert_int_equal(obs_call_make(&c, &calls[i % 4], NULL), 0);
		struct obs_result r = play(&b, &c, CIRC_MODE_CACHED, &paper);
		assert_int_equal(r.orders, i == 0 ? 32 : 0);
		obs_call_free(&c);
	}
	/* The budget of a node shrinks: what lay there is dark, and the rest goes on. */
	struct obs_call c;
	b.ports[3] = 1;
	assert_int_equal(obs_call_make(&c, &calls[0], NULL), 0);
	struct obs_result r = play(&b, &c, CIRC_MODE_CACHED, &paper);
	assert_true(r.end_s > 0 && r.orders >= 3);
	obs_call_free(&c);
}

/* Belady: of two circuits the one that is needed again later goes; messages below the
 * switch point do not move circuits but use those that lie there. */
static void
test_eviction_and_switch_point(void **state)
{
	(void)state;
	static struct bench b;
	static const struct circ_demand d[] = {{0, 1, 0, 9}, {0, 2, 1, 9}, {0, 3, 2, 9},
					       {0, 2, 3, 9}, {0, 1, 4, 9}, {0, 4, 5, 1}};
	bench_init(&b, 5, 2, 0);
	struct circ_plan_wish w = {
		.mode = CIRC_MODE_CACHED, .demand = d, .demands = 6, .light_from = 5};
	struct circ_plan p;
	void *mem = malloc(circ_plan_footprint(&b.slots, 6));
	circ_plan_make(&p, &w, &b.slots, mem);
	assert_null(circ_plan_check(&p, &w, &b.slots));
	assert_int_equal(p.by[2], 2);
	assert_int_equal(p.setup[2].before_a, 0); /* 0-1 is needed after 0-2 */
	assert_int_equal(p.by[3], 1);		  /* 0-2 is lit still */
	assert_int_equal(p.by[5], CIRC_NONE);
	assert_int_equal(p.ordered, 4);
	assert_int_equal(p.packets, 1);
	free(mem);
}

/* Where light begins to pay: the break-even of 1 Gbit/s packets and 10 Gbit/s light is the
 * digest's 1.39 MB; with equal rates it never comes. */
static void
test_switch_point(void **state)
{
	(void)state;
	static const struct {
		struct circ_costs c;
		uint64_t want;
	} rows[] = {
		{{1e-4, 8e-10, 0.01, 1e-4, 8e-9, 0, 0}, 1388888},
		{{1e-4, 8e-9, 0.01, 1e-4, 8e-9, 0, 0}, UINT64_MAX},
		{{1e-4, 8e-9, 0, 2e-4, 8e-9, 0, 0}, 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(circ_switch_point(&rows[i].c), rows[i].want);
}

/* Two processes a node: what stays inside a node needs no circuit, and processes of the same
 * two nodes share one. */
static void
test_several_a_node(void **state)
{
	(void)state;
	static struct bench b;
	static const uint32_t node_of[8] = {0, 0, 1, 1, 2, 2, 3, 3};
	struct obs_args a = {
		.op = COLL_ALLTOALL, .algorithm = "recursive_doubling", .bytes = 100, .p = 8};
	struct obs_call c;
	assert_int_equal(obs_call_make(&c, &a, node_of), 0);
	bench_init(&b, 4, 2, 0);
	struct circ_call_mode m = {.mode = CIRC_MODE_CACHED};
	struct obs_when w = {b.zero, b.zero, b.finish, bench_event, &b};
	struct obs_result r = obs_call_run(&c, &m, &b.slots, &paper, node_of, &w);
	assert_true(r.end_s > 0);
	assert_int_equal(b.ends, 24);
	assert_int_equal(r.orders, 4); /* a square of nodes */
	assert_int_equal(r.by_light, 16);
	assert_int_equal(r.packets, 0); /* the other 8 never left their node */
	/* distance 1 costs nothing; 2 and 4 wait for light once, and each process sends
	 * one after the other */
	double step = paper.alpha_s + 400 * paper.beta_s_per_byte;
	assert_true(fabs(r.end_s - (paper.gamma_s + 2 * step)) < 1e-9);
	obs_call_free(&c);
}

/* ---- limits on what is lit at once */

static const uint32_t group_of[P_MAX] = {0, 0, 1, 1, 2, 0, 1, 2, 2, 0, 1, 2, 0};

static void
limit_slots(struct circ_slots *s, uint32_t lit_max, const uint32_t waves[3])
{
	s->lit_max = lit_max;
	if (!waves)
		return;
	s->group = group_of;
	s->groups = 3;
	s->waves = waves;
}

/* Circuits that are ordered and still have messages to carry. */
static void
lit_within(const struct circ_run *r, const bool *ordered, const struct circ_slots *s)
{
	uint32_t all = 0, in[3] = {0};
	for (uint32_t j = 0; j < r->plan->setups; j++) {
		const struct circ_setup *u = &r->plan->setup[j];
		if (!ordered[j] || !r->left[j])
			continue;
		all++;
		in[group_of[u->a]]++;
		in[group_of[u->b]] += group_of[u->a] != group_of[u->b];
	}
	assert_true(!s->lit_max || all <= s->lit_max);
	for (uint32_t g = 0; s->group && g < 3; g++)
		assert_true(in[g] <= s->waves[g]);
}

/* A run in any order of its messages, some set-ups refused: all of it comes to its end. */
static void
run_within(const struct circ_plan *p, const struct circ_slots *s, uint32_t seed)
{
	struct circ_run r;
	void *mem = malloc(circ_run_bound(p->setups, p->batches, s->nodes));
	bool *ordered = calloc(p->setups + 1, 1), *over = calloc(p->demands + 1, 1);
	uint32_t left = p->demands, state = seed * 2 + 1;
	circ_run_start(&r, p, mem);
	while (left) {
		uint32_t was = left;
		for (uint32_t j; (j = circ_run_order(&r)) != CIRC_NONE;) {
			state = state * 1664525 + 1013904223;
			ordered[j] = state >> 29 != 0;
			if (ordered[j])
				circ_run_lit(&r, j);
			else
				circ_run_failed(&r, j);
		}
		lit_within(&r, ordered, s);
		uint32_t at = (state >> 8) % p->demands;
		for (uint32_t i = 0; i < p->demands && left == was; i++) {
			uint32_t m = (at + i) % p->demands;
			if (over[m] || circ_run_way(&r, m) == CIRC_WAY_WAIT)
				continue;
			over[m] = true;
			left--;
			circ_run_over(&r, m);
		}
		if (left == was)
			fail_msg("%u messages wait for ever", left);
	}
	free(ordered);
	free(over);
	free(mem);
}

/* Every algorithm under limits: plans hold, no more is lit than may be, nothing stalls; twice, so
 * that the second call finds what the first has left, and one with fewer wavelengths. */
static void
test_limits(void **state)
{
	(void)state;
	static const uint32_t waves[][3] = {{2, 1, 3}, {1, 1, 1}, {2, 0, 2}};
	static struct bench b;
	size_t count, cases = 0, by_light = 0;
	const struct coll_algorithm *alg = coll_algorithms(&count);
	for (size_t i = 0; i < count; i++)
		for (uint32_t z = 0; z < 3 * 4 * 4; z++) {
			struct obs_args a = {.op = alg[i].op,
					     .algorithm = alg[i].name,
					     .bytes = 640,
					     .p = (uint32_t[]){4, 8, 13}[z % 3],
					     .degree = 4};
			struct obs_call c;
			if (alg[i].op == COLL_NEIGHBOR || obs_call_make(&c, &a, NULL) != 0)
				continue;
			bench_init(&b, a.p, 1 + z % 4, 0);
			for (int call = 0; call < 8; call++) {
				limit_slots(&b.slots, z / 3 % 4,
					    z / 12 ? waves[(z / 12 + (uint32_t)call) % 3] : NULL);
				struct circ_plan_wish w = {.mode = (enum circ_mode)(1 + call / 2),
							   .demand = c.demand,
							   .demands = c.messages};
				void *mem = malloc(circ_plan_footprint(&b.slots, c.messages));
				struct circ_plan plan;
				circ_plan_make(&plan, &w, &b.slots, mem);
				const char *why = circ_plan_check(&plan, &w, &b.slots);
				if (why)
					fail_msg("%s/%s p=%u %s, limits %u: %s", coll_op_name(a.op),
						 alg[i].name, a.p, circ_mode_name(w.mode), z, why);
				run_within(&plan, &b.slots, z + (uint32_t)call);
				by_light += c.messages - plan.packets;
				cases++;
				free(mem);
			}
			obs_call_free(&c);
		}
	assert_true(cases > 5000 && by_light > 10000);
}

/* A broken plan is told: one place too many, one circuit twice in it, a wait left out. */
static void
test_limits_are_checked(void **state)
{
	(void)state;
	static struct bench b;
	static const struct circ_demand d[] = {{0, 1, 0, 9}, {2, 3, 0, 9}, {4, 5, 0, 9}};
	bench_init(&b, 6, 1, 0);
	limit_slots(&b.slots, 2, NULL);
	struct circ_plan_wish w = {.mode = CIRC_MODE_PIPELINED, .demand = d, .demands = 3};
	struct circ_plan p;
	void *mem = malloc(circ_plan_footprint(&b.slots, 3));
	circ_plan_make(&p, &w, &b.slots, mem);
	assert_null(circ_plan_check(&p, &w, &b.slots));
	assert_int_equal(p.setup[2].before_place[0], 0); /* not a port's: the place of 0-1 */
	p.setup[2].before_place[0] = CIRC_NONE;
	assert_non_null(circ_plan_check(&p, &w, &b.slots));
	p.setup[2].before_place[0] = 0;
	p.setup[1].place[0] = 0;
	assert_non_null(circ_plan_check(&p, &w, &b.slots));
	p.setup[1].place[0] = 2;
	assert_non_null(circ_plan_check(&p, &w, &b.slots));
	free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_log_is_the_formula),
		cmocka_unit_test(test_pipelined_is_the_closed_form),
		cmocka_unit_test(test_cache_keeps),
		cmocka_unit_test(test_eviction_and_switch_point),
		cmocka_unit_test(test_switch_point),
		cmocka_unit_test(test_several_a_node),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
