/* SPDX-License-Identifier: BSD-2-Clause */
/* Datatypes in packets: what arrives packs and unpacks as what was sent. */
#include "cmocka_all.h"

#include "layout_wire.h"
#include "lmpi_type_model.h"

#include "base/prng.h"

static struct base_prng prng;

static uint32_t
below(uint32_t n)
{
	return (uint32_t)base_prng_below(&prng, n);
}

/* Random types: the same bytes in the same order, within the bounds that are told. */
static void
round_trip(void **state)
{
	static struct model m;
	static char memory[ARENA], one[ARENA], two[ARENA];
	int done = 0;

	(void)state;
	for (int i = 0; i < ARENA; i++)
		memory[i] = (char)(i * 7 + i / 251);
	for (int i = 0; i < 3000; i++) {
		struct lmpi_type got;
		uint64_t words[4096];
		int64_t n, bytes, lo, hi, count = 1 + below(3);

		model_make(&m, below, 4);
		n = lmpi_rma_layout_words(m.t);
		if (m.full || m.t->size == 0 || n > 4096 || m.t->size * count > ARENA ||
		    m.t->true_ub - m.t->true_lb > ARENA / 8 || lmpi_type_extent(m.t) > ARENA / 8 ||
		    lmpi_type_extent(m.t) < -ARENA / 8) {
			lmpi_type_unref(m.t);
			continue;
		}
		lmpi_rma_layout_encode(m.t, words);
		assert_true(
			lmpi_rma_layout_decode(&got, words, (uint64_t)n, count, &bytes, &lo, &hi));
		assert_int_equal(bytes, count * m.t->size);
		int64_t last = (count - 1) * lmpi_type_extent(m.t);
		assert_int_equal(lo, m.t->true_lb + (last < 0 ? last : 0));
		assert_int_equal(hi, m.t->true_ub + (last > 0 ? last : 0));
		char *at = memory + ARENA / 2;
		if (lo >= -ARENA / 2 && hi <= ARENA / 2) {
			lmpi_type_pack(m.t, at, count, one, 0, bytes);
			lmpi_type_pack(&got, at, count, two, 0, bytes);
			assert_memory_equal(one, two, (size_t)bytes);
			done++;
		}
		/* short of a word, or with one too many, it is nonsense */
		lmpi_rma_layout_release(&got);
		assert_false(lmpi_rma_layout_decode(&got, words, (uint64_t)n - 1, count, &bytes,
						    &lo, &hi));
		words[n] = 0;
		assert_false(lmpi_rma_layout_decode(&got, words, (uint64_t)n + 1, count, &bytes,
						    &lo, &hi));
		lmpi_type_unref(m.t);
	}
	assert_true(done > 500);
	assert_int_equal(lmpi_type_pool.live, 0);
}

/* What no sender of ours sends. */
static const struct {
	const char *name;
	uint64_t count, n, words[12];
} nonsense[] = {
	{"nothing", 1, 0, {0}},
	{"no node", 1, 1, {8}},
	{"unknown kind", 1, 6, {8, 9, 0, 1, 8, 8}},
	{"no elements", 0, 6, {8, LMPI_RUN, 0, 1, 8, 8}},
	{"a run of nothing", 1, 6, {8, LMPI_RUN, 0, 0, 8, 8}},
	{"blocks of no length", 1, 6, {8, LMPI_RUN, 0, 1, 0, 8}},
	{"negative length", 1, 6, {8, LMPI_RUN, 0, 1, UINT64_MAX, 8}},
	{"size beyond 63 bits", 1, 6, {8, LMPI_RUN, 0, 1u << 20, INT64_MAX / 2, 8}},
	{"end beyond 63 bits", 1, 6, {8, LMPI_RUN, INT64_MAX, 1, 8, 8}},
	{"elements beyond 63 bits", 1u << 20, 6, {INT64_MAX / 4, LMPI_RUN, 0, 1, 8, 8}},
	{"more blocks than words", 1, 6, {8, LMPI_BLOCKS, 0, 1u << 30, 0, 8}},
	{"more children than words", 1, 4, {8, LMPI_LIST, 0, 1u << 30}},
	{"loop without a body", 1, 5, {8, LMPI_LOOP, 0, 2, 8}},
};

static void
refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		struct lmpi_type got;
		int64_t bytes, lo, hi;

		if (lmpi_rma_layout_decode(&got, nonsense[i].words, nonsense[i].n,
					   (int64_t)nonsense[i].count, &bytes, &lo, &hi))
			fail_msg("%s: taken", nonsense[i].name);
	}
}

static void
depth(void **state)
{
	static uint64_t words[4 * RMA_LAYOUT_DEPTH + 64];
	struct lmpi_type got;
	int64_t bytes, lo, hi;

	(void)state;
	for (int levels = RMA_LAYOUT_DEPTH - 2; levels <= RMA_LAYOUT_DEPTH; levels++) {
		uint64_t n = 0;

		words[n++] = 8;
		for (int i = 0; i < levels; i++) {
			words[n++] = LMPI_LOOP;
			words[n++] = 0;
			words[n++] = 1;
			words[n++] = 8;
		}
		words[n++] = LMPI_RUN;
		words[n++] = 0;
		words[n++] = 1;
		words[n++] = 8;
		words[n++] = 8;
		bool taken = lmpi_rma_layout_decode(&got, words, n, 1, &bytes, &lo, &hi);
		assert_int_equal(taken, levels < RMA_LAYOUT_DEPTH);
		if (taken)
			lmpi_rma_layout_release(&got);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(refused),
		cmocka_unit_test(depth),
	};

	prng = base_prng_seed(11);
	lmpi_types_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
