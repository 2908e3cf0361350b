/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributed arrays, and the datatypes of Fortran's selected kinds. */
#include "check.h"

#define DIMS	  3
#define CELLS_MAX 4096

struct spread {
	int gsize[DIMS], distrib[DIMS], darg[DIMS], psize[DIMS];
	int ndims, order;
};

static int
procs(const struct spread *s)
{
	int n = 1;

	for (int d = 0; d < s->ndims; d++)
		n *= s->psize[d];
	return n;
}

/* Whose is index i of dimension d? */
static int
owner(const struct spread *s, int d, int i)
{
	int len = s->darg[d];

	switch (s->distrib[d]) {
	case MPI_DISTRIBUTE_BLOCK:
		if (len == MPI_DISTRIBUTE_DFLT_DARG)
			len = (s->gsize[d] + s->psize[d] - 1) / s->psize[d];
		return i / len;
	case MPI_DISTRIBUTE_CYCLIC:
		if (len == MPI_DISTRIBUTE_DFLT_DARG)
			len = 1;
		return i / len % s->psize[d];
	}
	return 0;
}

/* Cells of the array in memory order that belong to a process. */
static int
cells_of(const struct spread *s, int rank, int *cells)
{
	int total = 1, n = 0;

	for (int d = 0; d < s->ndims; d++)
		total *= s->gsize[d];
	for (int at = 0; at < total; at++) {
		int rest = at, index[DIMS], who = 0;

		for (int k = 0; k < s->ndims; k++) {
			int d = s->order == MPI_ORDER_FORTRAN ? k : s->ndims - 1 - k;

			index[d] = rest % s->gsize[d];
			rest /= s->gsize[d];
		}
		for (int d = 0; d < s->ndims; d++)
			who = who * s->psize[d] + owner(s, d, index[d]);
		if (who == rank)
			cells[n++] = at;
	}
	return n;
}

static void
one_spread(const struct spread *s)
{
	static int all[CELLS_MAX], cells[CELLS_MAX], packed[CELLS_MAX];
	MPI_Aint lb, extent;
	int total = 1, size, n, position;

	for (int d = 0; d < s->ndims; d++)
		total *= s->gsize[d];
	for (int i = 0; i < total; i++)
		all[i] = i;
	for (int rank = 0; rank < procs(s); rank++) {
		MPI_Datatype t;

		MPI_Type_create_darray(procs(s), rank, s->ndims, s->gsize, s->distrib, s->darg,
				       s->psize, s->order, MPI_INT, &t);
		MPI_Type_commit(&t);
		n = cells_of(s, rank, cells);
		MPI_Type_size(t, &size);
		CHECKF(size == n * (int)sizeof(int), "rank %d: %d bytes, not %d cells", rank, size,
		       n);
		MPI_Type_get_extent(t, &lb, &extent);
		CHECK(lb == 0 && extent == total * (MPI_Aint)sizeof(int));
		MPI_Type_get_true_extent(t, &lb, &extent);
		CHECK(n == 0 || (lb == cells[0] * (MPI_Aint)sizeof(int) &&
				 lb + extent == (cells[n - 1] + 1) * (MPI_Aint)sizeof(int)));
		position = 0;
		MPI_Pack(all, 1, t, packed, sizeof(packed), &position, MPI_COMM_SELF);
		CHECK(position == size && memcmp(packed, cells, (size_t)size) == 0);
		MPI_Type_free(&t);
	}
}

static void
darrays(void)
{
	enum { N = MPI_DISTRIBUTE_NONE, B = MPI_DISTRIBUTE_BLOCK, C = MPI_DISTRIBUTE_CYCLIC };
	enum { D = MPI_DISTRIBUTE_DFLT_DARG };
	static struct spread cases[] = {
		{{10}, {B}, {D}, {3}, 1, 0},
		{{10}, {B}, {D}, {7}, 1, 0}, /* the last ones have nothing */
		{{10}, {B}, {5}, {3}, 1, 0},
		{{11}, {C}, {D}, {3}, 1, 0},
		{{11}, {C}, {2}, {3}, 1, 0},
		{{5}, {C}, {4}, {3}, 1, 0},
		{{6, 7}, {B, C}, {D, 2}, {2, 3}, 2, 0},
		{{6, 7}, {C, N}, {D, D}, {4, 1}, 2, 0},
		{{4, 5, 6}, {C, B, N}, {2, D, D}, {2, 2, 1}, 3, 0},
		{{4, 5, 6}, {B, C, C}, {D, 1, 2}, {3, 2, 2}, 3, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int fortran = 0; fortran < 2; fortran++) {
			cases[i].order = fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
			one_spread(&cases[i]);
		}
}

static void
darray_contents(void)
{
	int gsize[] = {6, 7}, distrib[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
	int darg[] = {MPI_DISTRIBUTE_DFLT_DARG, 3}, psize[] = {2, 1}, ni, na, nt, combiner;
	int ints[16];
	MPI_Aint none;
	MPI_Datatype t, of;

	MPI_Type_create_darray(2, 1, 2, gsize, distrib, darg, psize, MPI_ORDER_C, MPI_DOUBLE, &t);
	MPI_Type_get_envelope(t, &ni, &na, &nt, &combiner);
	CHECK(ni == 12 && na == 0 && nt == 1 && combiner == MPI_COMBINER_DARRAY);
	MPI_Type_get_contents(t, 16, 0, 1, ints, &none, &of);
	CHECK(ints[0] == 2 && ints[1] == 1 && ints[2] == 2 && ints[3] == 6 && ints[4] == 7);
	CHECK(ints[5] == MPI_DISTRIBUTE_BLOCK && ints[8] == 3 && ints[9] == 2);
	CHECK(ints[11] == MPI_ORDER_C && of == MPI_DOUBLE);
	MPI_Type_free(&t);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	CHECK(MPI_Type_create_darray(3, 1, 2, gsize, distrib, darg, psize, MPI_ORDER_C, MPI_INT,
				     &t) == MPI_ERR_ARG);
	darg[0] = 2;
	CHECK(MPI_Type_create_darray(2, 1, 2, gsize, distrib, darg, psize, MPI_ORDER_C, MPI_INT,
				     &t) == MPI_ERR_ARG);
}

static void
kinds(void)
{
	MPI_Datatype a, b;
	int size, ni, na, nt, combiner, ints[2];
	double x = 0.1 + check_rank, sum;
	MPI_Aint none, extent;

	MPI_Type_create_f90_real(15, MPI_UNDEFINED, &a);
	MPI_Type_create_f90_real(15, MPI_UNDEFINED, &b);
	CHECK(a == b);
	MPI_Type_size(a, &size);
	CHECK(size == 8);
	MPI_Type_get_envelope(a, &ni, &na, &nt, &combiner);
	CHECK(ni == 2 && na == 0 && nt == 0 && combiner == MPI_COMBINER_F90_REAL);
	MPI_Type_get_contents(a, 2, 0, 0, ints, &none, &b);
	CHECK(ints[0] == 15 && ints[1] == MPI_UNDEFINED);
	if (check_rank == 0) {
		sum = x;
		for (int i = 1; i < check_size; i++) {
			MPI_Recv(&x, 1, a, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			sum += x;
		}
		CHECK(sum > check_size * (check_size - 1) / 2.0);
	} else {
		MPI_Send(&x, 1, a, 0, 1, MPI_COMM_WORLD);
	}
	MPI_Allreduce(&x, &sum, 1, a, MPI_MAX, MPI_COMM_WORLD);
	CHECK(sum >= 0.1);
	MPI_Type_create_f90_integer(9, &a);
	MPI_Type_size(a, &size);
	CHECK(size == 4);
	MPI_Type_create_f90_integer(10, &a);
	MPI_Type_size(a, &size);
	CHECK(size == 8);
	MPI_Type_create_f90_complex(6, 37, &a);
	MPI_Type_size(a, &size);
	CHECK(size == 8);
	CHECK(MPI_Type_create_f90_real(40, 10, &a) == MPI_ERR_ARG);
	CHECK(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &a) == MPI_ERR_ARG);
	MPI_Type_create_f90_integer(4, &a);
	CHECK(MPI_Type_free(&a) == MPI_ERR_TYPE);
	/* in a struct they have no bounds that hide the others' */
	MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 2, 4},
			       (MPI_Datatype[]){MPI_BYTE, a, MPI_BYTE}, &b);
	MPI_Type_get_extent(b, &none, &extent);
	CHECKF(none == 0 && extent == 6, "%ld to %ld", (long)none, (long)extent);
	MPI_Type_free(&b);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	darrays();
	darray_contents();
	kinds();
	return finish();
}
