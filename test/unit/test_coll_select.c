/* SPDX-License-Identifier: BSD-2-Clause */
/* Which algorithm is chosen where, that what is chosen keeps to its bounds of traffic and memory,
 * and what is refused. */
#include "coll/schedule.h"
#include "coll_places_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ELEM 16

static void
test_rules(void **state)
{
	(void)state;
	static const struct coll_rule rule[] = {
		{COLL_ALLGATHER, 100, UINT32_MAX, "recursive_doubling"},
		{COLL_ALLTOALL, UINT64_MAX, 8, "recursive_doubling"},
		{COLL_ALLTOALL, UINT64_MAX, 8, "bruck"},
		{COLL_BCAST, UINT64_MAX, 8, "no such"},
		{COLL_BCAST, UINT64_MAX, 8, "inter"},
	};
	static const bool good[] = {true, true, true, false, false};
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(coll_rule_ok(&rule[i]), good[i]);
	struct coll_rules rules = {rule, 3};
	static const struct {
		enum coll_op op;
		uint32_t p;
		uint64_t bytes;
		const char *want;
	} rows[] = {
		{COLL_ALLGATHER, 4, 100, "recursive_doubling"},
		{COLL_ALLGATHER, 4, 101, "bruck"},
		{COLL_ALLTOALL, 8, 1 << 20, "recursive_doubling"},
		{COLL_ALLTOALL, 6, 1 << 20, "bruck"},	 /* the first rule does not take 6 */
		{COLL_ALLTOALL, 9, 1 << 20, "pairwise"}, /* no rule holds */
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct coll_args a = {.op = rows[i].op,
				      .size = rows[i].p,
				      .bytes = rows[i].bytes,
				      .elem = 1,
				      .rules = &rules};
		assert_string_equal(coll_select(&a), rows[i].want);
	}
	assert_int_equal(coll_op_of("alltoall"), COLL_ALLTOALL);
	assert_int_equal(coll_op_of("broadcast"), COLL_OP_COUNT);
}

/* Bytes of sends from each cluster to others, of the whole operation; how many messages. */
static uint32_t
count_crossings(struct coll_args a, const uint32_t *of, uint64_t *out)
{
	uint32_t messages = 0;
	for (uint32_t r = 0; r < a.size; r++) {
		a.rank = r;
		size_t len = coll_arena_hint(&a);
		void *arena = malloc(len);
		struct coll_schedule s;
		assert_int_equal(coll_build(&s, &a, NULL, arena, len), COLL_ERR_OK);
		for (uint32_t k = 0; k < s.steps; k++)
			if (s.step[k].kind == COLL_STEP_SEND && of[s.step[k].peer] != of[r]) {
				out[of[r]] += s.step[k].from.len;
				messages++;
			}
		free(arena);
	}
	return messages;
}

/* coll_arena_hint() is enough for what is chosen, however many share a node. */
static void
test_hint(void **state)
{
	(void)state;
	enum { MOST = 256 };
	static uint32_t of[MOST], number[MOST];
	static const uint64_t sizes[] = {8, 8192, 1 << 20};
	for (uint32_t v = 0; v < 3 * 4 * 2 * 2 * COLL_NEIGHBOR; v++) {
		struct coll_args a = {.op = (enum coll_op)(v / 48), .elem = 8, .commutative = true};
		a.size = (const uint32_t[]){61, 64, 100, MOST}[v % 4];
		a.rank = v / 4 % 2 ? a.size - 1 : 0;
		a.bytes = a.op == COLL_BARRIER ? 0 : sizes[v / 8 % 3];
		for (uint32_t r = 0; r < a.size; r++)
			of[r] = r * 4 / a.size;
		coll_places_set(&a, v / 24 % 2 ? of : NULL, true, number);
		size_t len = coll_arena_hint(&a);
		void *arena = malloc(len);
		struct coll_schedule s;
		if (coll_build(&s, &a, NULL, arena, len))
			fail_msg("%s of %llu bytes, %u processes on %u nodes", coll_op_name(a.op),
				 (unsigned long long)a.bytes, a.size, a.near.count);
		free(arena);
	}
}

/* What leaves each cluster is at most (clusters - 1) times the data, of every size, whether
 * the ranks of a cluster follow each other or not, and likewise between nodes of equal size. */
static void
test_wan_crossings(void **state)
{
	(void)state;
	static const enum coll_op ops[] = {COLL_BCAST, COLL_REDUCE, COLL_ALLREDUCE, COLL_ALLGATHER,
					   COLL_REDUCE_SCATTER};
	static const uint64_t sizes[] = {ELEM, 4096, 64 << 10, 1 << 20};
	for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
		for (uint32_t v = 0; v < 4 * 3 * 4 * 2; v++) {
			uint64_t bytes = sizes[v & 3], out[4] = {0}, sum = 0;
			uint32_t n = 2 + (v >> 2) % 3, kind = (v >> 2) / 3;
			uint32_t p = 12 + (kind & 1), of[COLL_PLACES_MAX], number[COLL_PLACES_MAX];
			bool whole = ops[i] != COLL_ALLGATHER && ops[i] != COLL_REDUCE_SCATTER;
			bool nodes = kind >> 2 && whole;
			for (uint32_t r = 0; r < p; r++)
				of[r] = kind & 2 ? r % n : r * n / p;
			struct coll_args a = {.op = ops[i],
					      .size = p,
					      .root = 5,
					      .bytes = bytes,
					      .elem = ELEM,
					      .commutative = true};
			coll_places_set(&a, of, nodes, number);
			if (nodes && a.near.each == 0)
				continue; /* a ring over all of them: twice the data */
			count_crossings(a, of, out);
			uint64_t data = whole ? bytes : p * bytes;
			for (uint32_t c = 0; c < n; c++) {
				if (out[c] > (n - 1) * data)
					fail_msg("%s of %llu bytes, %u places: %llu bytes leave %u",
						 coll_op_name(ops[i]), (unsigned long long)bytes, n,
						 (unsigned long long)out[c], c);
				sum += out[c];
			}
			assert_true(sum > 0);
		}
}

/* Short vectors: what costs over a WAN is the number of messages.  One each way for two
 * clusters, however many processes they have; Alltoall needs clusters of equal size for that. */
static void
test_wan_messages(void **state)
{
	(void)state;
	static const enum coll_op ops[] = {COLL_BARRIER, COLL_ALLREDUCE, COLL_ALLGATHER,
					   COLL_ALLTOALL, COLL_REDUCE_SCATTER};
	for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
		for (uint32_t n = 2; n <= 4; n++)
			for (uint32_t interleaved = 0; interleaved < 2; interleaved++) {
				uint32_t of[COLL_PLACES_MAX], number[COLL_PLACES_MAX];
				uint32_t p = ops[i] == COLL_ALLTOALL ? 12 : 13;
				uint64_t out[4] = {0};
				for (uint32_t r = 0; r < p; r++)
					of[r] = interleaved ? r % n : r * n / p;
				struct coll_args a = {.op = ops[i],
						      .size = p,
						      .bytes = ELEM,
						      .elem = ELEM,
						      .commutative = true};
				if (ops[i] == COLL_BARRIER)
					a.bytes = 0;
				coll_places_set(&a, of, false, number);
				uint32_t messages = count_crossings(a, of, out);
				if (messages > n * (n - 1))
					fail_msg("%s, %u clusters: %u messages",
						 coll_op_name(ops[i]), n, messages);
			}
}

/* Place, size and number of processes decide: neighbouring rows differ in one of them. */
static void
test_choice(void **state)
{
	(void)state;
	enum { CLUSTERS, NODES, MEMORY, APART };
	static const struct {
		enum coll_op op;
		int where;
		uint64_t bytes;
		const char *want;
	} rows[] = {
		{COLL_ALLTOALL, APART, 512, "linear"},
		{COLL_ALLTOALL, APART, 4096, "pairwise"},
		{COLL_ALLTOALL, CLUSTERS, 64, "hier"},
		{COLL_ALLTOALL, CLUSTERS, 4096, "linear"},
		{COLL_ALLTOALL, CLUSTERS, 128 << 10, "linear"},
		{COLL_ALLTOALL, CLUSTERS, 1 << 20, "linear"},
		{COLL_ALLTOALL, NODES, 64, "hier"},
		{COLL_ALLTOALL, NODES, 512, "linear"},
		{COLL_ALLTOALL, NODES, 1 << 16, "linear"},
		{COLL_ALLTOALL, NODES, 1 << 20, "pairwise"},
		{COLL_ALLTOALL, MEMORY, 1 << 20, "linear"},
		{COLL_REDUCE_SCATTER, CLUSTERS, 64, "hier"},
		{COLL_REDUCE_SCATTER, CLUSTERS, 1 << 20, "hier"},
		{COLL_REDUCE_SCATTER, NODES, 64, "pairwise"},
		{COLL_ALLREDUCE, MEMORY, 64, "linear"},
		{COLL_ALLREDUCE, MEMORY, 4096, "recursive_doubling"},
		{COLL_BARRIER, MEMORY, 0, "linear"},
		{COLL_BARRIER, APART, 0, "dissemination"},
		{COLL_ALLREDUCE, MEMORY, 1 << 20, "places"},
		{COLL_ALLREDUCE, NODES, 64, "hier"},
		{COLL_ALLREDUCE, NODES, 1 << 20, "places"},
		{COLL_ALLREDUCE, CLUSTERS, 4096, "hier"},
		{COLL_ALLREDUCE, CLUSTERS, 1 << 20, "places"},
		{COLL_ALLREDUCE, APART, 1 << 20, "ring"},
		{COLL_BCAST, MEMORY, 64, "linear"},
		{COLL_BCAST, MEMORY, 4096, "binomial"},
		{COLL_BCAST, MEMORY, 1 << 20, "linear"},
		{COLL_BCAST, NODES, 1 << 20, "hier"},
		{COLL_BCAST, APART, 1 << 20, "scatter_ring"},
		{COLL_ALLGATHER, CLUSTERS, 64, "hier"},
		{COLL_ALLGATHER, APART, 64, "bruck"},
		{COLL_ALLGATHER, MEMORY, 1 << 20, "linear"},
	};
	static const uint32_t of[8] = {0, 0, 0, 0, 1, 1, 1, 1};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t number[COLL_PLACES_MAX];
		struct coll_args a = {.op = rows[i].op,
				      .size = 8,
				      .bytes = rows[i].bytes,
				      .elem = 8,
				      .commutative = true};
		if (rows[i].where != APART)
			coll_places_set(&a, rows[i].where == MEMORY ? NULL : of,
					rows[i].where == NODES, number);
		assert_string_equal(coll_select(&a), rows[i].want);
	}
}

static void
test_errors(void **state)
{
	(void)state;
	struct coll_args a = {.op = COLL_BCAST, .size = 4, .rank = 1, .bytes = 64, .elem = 1};
	uint8_t arena[65536];
	struct coll_schedule s;
	assert_int_equal(coll_build(&s, &a, "no such", arena, sizeof arena), COLL_ERR_UNKNOWN);
	assert_int_equal(coll_build(&s, &a, NULL, arena, 300), COLL_ERR_OK);
	a.size = 1000;
	a.rank = 0;
	assert_int_equal(coll_build(&s, &a, "linear", arena, 512), COLL_ERR_NOMEM);
	a.rank = 1000;
	assert_int_equal(coll_build(&s, &a, NULL, arena, sizeof arena), COLL_ERR_INVAL);
	a.rank = 0;
	a.root = 1000;
	assert_int_equal(coll_build(&s, &a, NULL, arena, sizeof arena), COLL_ERR_INVAL);
	a.root = 0;
	a.op = COLL_ALLTOALL;
	a.size = 6;
	assert_int_equal(coll_build(&s, &a, "recursive_doubling", arena, sizeof arena),
			 COLL_ERR_RESTRICT);
}

/* linear over clusters: every process sends to all of the others first, each of a cluster begins
 * with another one, and at no step do two of a cluster send to the same one. */
static void
test_far_first(void **state)
{
	(void)state;
	enum { P = 12 };
	static const uint32_t mixed[P] = {0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1};
	static const uint32_t three[P] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
	static const uint32_t *const of[] = {mixed, three};
	for (uint32_t c = 0; c < 2; c++) {
		bool sent[P][P] = {{false}}; /* at that step, to that process by cluster 0 */
		for (uint32_t me = 0; me < P; me++) {
			static _Alignas(64) uint8_t arena[1 << 16];
			struct coll_args a = {.op = COLL_ALLTOALL,
					      .rank = me,
					      .size = P,
					      .bytes = 4096,
					      .elem = 1,
					      .cluster_of = of[c]};
			struct coll_schedule s;
			assert_int_equal(coll_build(&s, &a, NULL, arena, sizeof arena), 0);
			assert_string_equal(s.algorithm, "linear");
			uint32_t k = 0, far = c ? 8 : 6;
			for (uint32_t i = 0; i < s.steps; i++) {
				if (s.step[i].kind != COLL_STEP_SEND)
					continue;
				uint32_t to = s.step[i].peer;
				assert_int_equal(of[c][to] != of[c][me], k < far);
				if (!of[c][me] && k < far) {
					assert_false(sent[k][to]);
					sent[k][to] = true;
				}
				k++;
			}
			assert_int_equal(k, P - 1);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),	     cmocka_unit_test(test_wan_crossings),
		cmocka_unit_test(test_wan_messages), cmocka_unit_test(test_choice),
		cmocka_unit_test(test_hint),	     cmocka_unit_test(test_errors),
		cmocka_unit_test(test_far_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
