/* SPDX-License-Identifier: BSD-2-Clause */
/* The datatype engine against a naive model, and the layouts it should find. */
#include "cmocka_all.h"

#include "layout.h"
#include "lmpi_type_model.h"

static uint64_t state;

static uint32_t
random_below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return n == 0 ? 0 : (uint32_t)(state >> 33) % n;
}

static void
agrees_with_the_model(void **unused)
{
	struct model *m = calloc(1, sizeof(*m));

	(void)unused;
	assert_non_null(m);
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		state = seed;
		model_make(m, random_below, 4);
		model_compare_shape(m);
		model_compare_bytes(m, random_below);
		lmpi_type_unref(m->t);
	}
	free(m);
	assert_int_equal(lmpi_type_pool.live, 0);
}

/* Constructors and the simplest layout that describes them. */
static void
finds_simple_layouts(void **unused)
{
	struct lmpi_type *i = lmpi_type_find(MPI_INT), *t, *u, *types[2];
	int len[3] = {1, 1, 1}, regular[3] = {0, 10, 20}, adjacent[3] = {4, 5, 6};

	(void)unused;
	t = lmpi_type_contiguous(10, i);
	assert_true(t->layout->kind == LMPI_RUN && t->layout->n == 1 && t->layout->len == 40);
	u = lmpi_type_hvector(5, 1, 64, t);
	assert_true(u->layout->kind == LMPI_RUN && u->layout->n == 5 && u->layout->len == 40 &&
		    u->layout->stride == 64);
	lmpi_type_unref(u);
	u = lmpi_type_hvector(5, 2, 80, t);
	assert_true(u->layout->kind == LMPI_RUN && u->layout->n == 1 && u->layout->len == 400);
	lmpi_type_unref(u);
	u = lmpi_type_hindexed(3, (struct lmpi_ints){len, false}, 0,
			       (struct lmpi_ints){regular, false}, 4, i);
	assert_true(u->layout->kind == LMPI_RUN && u->layout->n == 3 && u->layout->stride == 40);
	lmpi_type_unref(u);
	u = lmpi_type_hindexed(3, (struct lmpi_ints){len, false}, 0,
			       (struct lmpi_ints){adjacent, false}, 4, i);
	assert_true(u->layout->kind == LMPI_RUN && u->layout->n == 1 && u->layout->off == 16 &&
		    u->layout->len == 12);
	lmpi_type_unref(u);
	types[0] = types[1] = i;
	adjacent[0] = 0;
	adjacent[1] = 4;
	u = lmpi_type_struct(2, (struct lmpi_ints){len, false}, (struct lmpi_ints){adjacent, false},
			     types);
	assert_true(u->layout->kind == LMPI_RUN && u->layout->n == 1 && u->layout->len == 8);
	lmpi_type_unref(u);
	lmpi_type_unref(t);
	assert_int_equal(lmpi_type_pool.live, 0);
}

/* Counts beyond 32 bits cost no memory and no time. */
static void
takes_large_counts(void **unused)
{
	struct lmpi_type *b = lmpi_type_find(MPI_DOUBLE), *t, *u;
	int64_t left;

	(void)unused;
	t = lmpi_type_hvector((int64_t)1 << 33, 1, 24, b);
	assert_int_equal(t->size, (int64_t)1 << 36);
	assert_int_equal(t->ub, (((int64_t)1 << 33) - 1) * 24 + 8);
	assert_int_equal(lmpi_type_elements_in(t, LMPI_REP_NATIVE, t->size * 3 + 8, &left),
			 ((int64_t)3 << 33) + 1);
	assert_int_equal(left, 0);
	u = lmpi_type_contiguous((int64_t)1 << 20, t);
	assert_int_equal(u->size, (int64_t)1 << 56);
	assert_int_equal(u->elements, (int64_t)1 << 53);
	lmpi_type_unref(u);
	lmpi_type_unref(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_model),
		cmocka_unit_test(finds_simple_layouts),
		cmocka_unit_test(takes_large_counts),
	};

	lmpi_types_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
