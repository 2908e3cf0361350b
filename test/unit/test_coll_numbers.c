/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers, versions and messages of the algorithms, which go over the wire. */
#include "base/crc32c.h"
#include "cmocka_all.h"
#include "coll/schedule.h"
#include "coll_places_kit.h"

#include <stdlib.h>
#include <string.h>

#define P_MAX COLL_PLACES_MAX
#define ELEM  16

/* Relays build the schedules of processes from numbers.  Where this fails: an algorithm whose
 * messages have changed gets a new version (builder.h), and its new sum stands here. */
static const struct {
	uint16_t id;
	uint8_t version;
	enum coll_op op;
	const char *name;
	uint32_t sum;
} known[] = {
	/* clang-format off */
	{1, 1, COLL_BARRIER, "dissemination", 0x91d13fb9},
	{2, 1, COLL_BARRIER, "hier", 0x2bb878d8},
	{3, 1, COLL_BARRIER, "linear", 0x55d17a73},
	{4, 1, COLL_BCAST, "binomial", 0x885910c2},
	{5, 1, COLL_BCAST, "linear", 0x28877a70},
	{6, 1, COLL_ALLREDUCE, "linear", 0xbffb8482},
	{7, 1, COLL_BCAST, "scatter_ring", 0xc747ded0},
	{8, 1, COLL_BCAST, "hier", 0x5782b454},
	{9, 1, COLL_REDUCE, "binomial", 0x30cfeb30},
	{10, 1, COLL_REDUCE, "hier", 0xb73f6318},
	{11, 1, COLL_ALLREDUCE, "recursive_doubling", 0x0e1f3f59},
	{12, 1, COLL_ALLREDUCE, "ring", 0xbca5f6f4},
	{13, 1, COLL_ALLREDUCE, "hier", 0x9de00fac},
	{14, 1, COLL_ALLREDUCE, "places", 0xb1d05e21},
	{15, 1, COLL_ALLGATHER, "hier", 0x3e363c3b},
	{16, 1, COLL_ALLGATHER, "linear", 0x08fb8d4d},
	{17, 1, COLL_GATHER, "binomial", 0xa880052e},
	{18, 1, COLL_GATHER, "linear", 0xf7b16b11},
	{19, 1, COLL_SCATTER, "binomial", 0x21c6fa0f},
	{20, 1, COLL_SCATTER, "linear", 0xc6324028},
	{21, 1, COLL_ALLGATHER, "ring", 0x712a9709},
	{22, 1, COLL_ALLGATHER, "bruck", 0x5cbf546c},
	{23, 1, COLL_ALLGATHER, "recursive_doubling", 0xf84e0e2e},
	{24, 1, COLL_ALLTOALL, "pairwise", 0xe588b0fc},
	{25, 1, COLL_ALLTOALL, "pairs", 0xdab92686},
	{26, 1, COLL_ALLTOALL, "bruck", 0x03e9c662},
	{27, 1, COLL_ALLTOALL, "recursive_doubling", 0x1c4df913},
	{28, 1, COLL_BARRIER, "recursive_doubling", 0x57b89ed8},
	{29, 1, COLL_ALLREDUCE, "rabenseifner", 0x2ad8ed6d},
	{30, 1, COLL_BCAST, "graph", 0x0119b90d},
	{31, 1, COLL_ALLTOALL, "linear", 0x9ff39e0b},
	{32, 1, COLL_ALLTOALL, "hier", 0xbc0814b8},
	{33, 1, COLL_REDUCE_SCATTER, "pairwise", 0x08fb8d4d},
	{34, 1, COLL_REDUCE_SCATTER, "reduce", 0x5d86175f},
	{35, 1, COLL_REDUCE_SCATTER, "hier", 0x8eecaff7},
	{36, 1, COLL_SCAN, "doubling", 0x51e4f465},
	{37, 1, COLL_EXSCAN, "doubling", 0x51e4f465},
	{38, 1, COLL_BARRIER, "impi-0.0", 0xda7a2d1d},
	{39, 1, COLL_BCAST, "impi-0.0", 0xd5cc478f},
	{40, 1, COLL_REDUCE, "impi-0.0", 0x01cca8f3},
	{41, 1, COLL_ALLREDUCE, "impi-0.0", 0xedb6b757},
	{42, 1, COLL_GATHER, "impi-0.0", 0x84b49d04},
	{43, 1, COLL_SCATTER, "impi-0.0", 0x9f0f194a},
	{44, 1, COLL_ALLGATHER, "impi-0.0", 0x851b3c6b},
	{45, 1, COLL_ALLTOALL, "impi-0.0", 0xecdd965e},
	{46, 1, COLL_REDUCE_SCATTER, "impi-0.0", 0x206b6486},
	{47, 1, COLL_SCAN, "impi-0.0", 0xc30c837c},
	{48, 1, COLL_NEIGHBOR, "linear", 0x8bf061a7},
	{49, 1, COLL_BARRIER, "inter", 0xfe05eaa0},
	{50, 1, COLL_BCAST, "inter", 0x02bd8588},
	{51, 1, COLL_REDUCE, "inter", 0x00f8c2dd},
	{52, 1, COLL_ALLREDUCE, "inter", 0xafaeea4e},
	{53, 1, COLL_GATHER, "inter", 0xbf392b26},
	{54, 1, COLL_SCATTER, "inter", 0x7a4ea308},
	{55, 1, COLL_ALLGATHER, "inter", 0xb9e71dd3},
	{56, 1, COLL_ALLTOALL, "inter", 0xb9e71dd3},
	{57, 1, COLL_REDUCE_SCATTER, "inter", 0x17870fb4},
	{58, 1, COLL_REDUCE, "graph", 0xf5d59acd},
	{59, 1, COLL_ALLREDUCE, "graph", 0x45688975},
	{60, 1, COLL_ALLTOALL, "ring", 0xc19966da},
	{61, 1, COLL_ALLTOALL, "torus", 0x341fd172},
	{62, 1, COLL_ALLGATHER, "torus", 0xcea72ee1},
	{63, 1, COLL_ALLREDUCE, "torus", 0xb1a86e9f},
	{64, 1, COLL_ALLREDUCE, "torus_whole", 0x774837ec},
	{65, 1, COLL_BCAST, "pipeline", 0x0cda6308},
	{66, 1, COLL_BCAST, "torus", 0x2b2792ae},
	/* clang-format on */
};

/* A group of three faces ours; of our ranks one is the root every other time, else it is theirs. */
static void
set_remote(struct coll_args *a, uint32_t variant)
{
	bool ours = variant % 2;
	a->remote = 3;
	a->own_bytes = a->bytes;
	a->both = variant / 2 % 2;
	a->root = ours ? a->size - 1 : 2;
	a->role = !ours ? COLL_LEAF : a->rank == a->root ? COLL_ROOT : COLL_IDLE;
}

/* Each to the next two in a ring. */
static void
set_edges(struct coll_args *a, struct coll_edge edge[4])
{
	for (uint32_t i = 0; i < 2; i++) {
		edge[i] = (struct coll_edge){.rank = (a->rank + 1 + i) % a->size, .block = i};
		edge[2 + i] = (struct coll_edge){.rank = (a->rank + a->size - 1 - i) % a->size,
						 .block = i};
	}
	a->destinations = edge;
	a->sources = edge + 2;
	a->outdegree = a->indegree = 2;
}

/* What all ranks send each other, of arguments that reach every branch: the sum of an algorithm is
 * that of its number and version. */
static uint32_t
sum_of(const struct coll_algorithm *alg)
{
	static const uint64_t bytes[] = {0, 3 * ELEM, 4096, 1 << 18};
	static uint32_t of[P_MAX], number[P_MAX];
	uint32_t sum = 0;
	for (uint32_t v = 0; v < 192; v++) {
		struct coll_args a = {.op = alg->op,
				      .size = (const uint32_t[]){2, 5, 8, 12}[v % 4],
				      .bytes = bytes[v / 4 % 4],
				      .elem = ELEM,
				      .commutative = true,
				      .reversed = v / 16 % 2,
				      .degree = 3};
		a.root = a.size - 1;
		for (uint32_t r = 0; r < a.size; r++)
			of[r] = v / 32 % 3 ? r % 2 : 3 * r / a.size;
		coll_places_set(&a, v / 32 > 4 ? NULL : of, v / 32 > 2, number);
		struct coll_edge edge[4];
		bool remote = strcmp(alg->name, COLL_INTER) == 0;
		if (alg->op == COLL_NEIGHBOR)
			set_edges(&a, edge);
		if (remote)
			set_remote(&a, v / 16);
		size_t len = coll_arena_hint(&a);
		void *arena = malloc(len);
		for (a.rank = 0; a.rank < a.size; a.rank++) {
			struct coll_schedule t;
			if (alg->op == COLL_NEIGHBOR)
				set_edges(&a, edge);
			if (remote)
				set_remote(&a, v / 16);
			if (coll_build(&t, &a, alg->name, arena, len) != COLL_ERR_OK)
				continue;
			for (uint32_t i = 0; i < t.steps; i++) {
				const struct coll_step *k = &t.step[i];
				const uint32_t word[] = {a.rank, k->kind, k->peer, k->tag,
							 (uint32_t)(k->kind == COLL_STEP_SEND
									    ? k->from.len
									    : k->into.len)};
				if (k->kind == COLL_STEP_SEND || k->kind == COLL_STEP_RECV)
					sum = base_crc32c(sum, word, sizeof word);
			}
		}
		free(arena);
	}
	return sum;
}

static void
test_numbers_stay(void **state)
{
	size_t n;
	const struct coll_algorithm *alg = coll_algorithms(&n);
	(void)state;
	assert_int_equal(n, sizeof known / sizeof known[0]);
	for (size_t i = 0; i < n; i++) {
		bool found = false;
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(alg[k].id, alg[i].id);
		assert_ptr_equal(coll_algorithm_by_id(alg[i].id), &alg[i]);
		assert_ptr_equal(coll_algorithm_of(alg[i].op, alg[i].name), &alg[i]);
		for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
			if (known[k].id != alg[i].id)
				continue;
			found = true;
			assert_int_equal(known[k].version, alg[i].version);
			assert_int_equal(known[k].op, alg[i].op);
			assert_string_equal(known[k].name, alg[i].name);
			if (sum_of(&alg[i]) == 0 || sum_of(&alg[i]) != known[k].sum)
				fail_msg(
					"%s/%s, number %u, version %u: other messages than before, "
					"sum 0x%08x",
					coll_op_name(alg[i].op), alg[i].name, alg[i].id,
					alg[i].version, sum_of(&alg[i]));
		}
		if (!found)
			fail_msg("{%u, %u, COLL_%s, \"%s\", 0x%08x} is not known here", alg[i].id,
				 alg[i].version, coll_op_name(alg[i].op), alg[i].name,
				 sum_of(&alg[i]));
	}
	assert_null(coll_algorithm_by_id(0));
	assert_null(coll_algorithm_by_id(60000));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_stay)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
