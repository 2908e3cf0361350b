/* SPDX-License-Identifier: BSD-2-Clause */
/* Datatypes of Fortran's SELECTED_REAL_KIND and SELECTED_INT_KIND (MPI 5.0, 19.1.9):
 * predefined ones that are made when first asked for, live to the end and know the
 * arguments they were asked for with.
 *
 * The kinds are those of gfortran on x86-64: REAL(4), (8), (16); the 80-bit REAL(10) has
 * no MPI datatype, so what needs it gets REAL(16), which holds it. */
#include <stdlib.h>

#include "call.h"
#include "impl.h"
#include "type.h"

struct kind {
	int digits, range; /* the most it has */
	MPI_Datatype type;
};

static const struct kind real_kinds[] = {
	{6, 37, MPI_REAL4}, {15, 307, MPI_REAL8}, {33, 4931, MPI_REAL16}};
static const struct kind complex_kinds[] = {
	{6, 37, MPI_COMPLEX8}, {15, 307, MPI_COMPLEX16}, {33, 4931, MPI_COMPLEX32}};
static const struct kind integer_kinds[] = {{0, 2, MPI_INTEGER1},
					    {0, 4, MPI_INTEGER2},
					    {0, 9, MPI_INTEGER4},
					    {0, 18, MPI_INTEGER8},
					    {0, 38, MPI_INTEGER16}};

/* Given out so far; the lock is held. */
static struct made {
	struct made *next;
	int combiner, p, r;
	struct lmpi_type *type;
} * all;

static int
make_f90(int combiner, int p, int r, MPI_Datatype of, MPI_Datatype *newtype)
{
	struct lmpi_type *old = lmpi_type_find(of), *t;
	bool one = combiner == MPI_COMBINER_F90_INTEGER;
	struct made *m = malloc(sizeof(*m));

	t = m ? lmpi_type_resized(old, 0, lmpi_type_extent(old)) : NULL;
	if (t == NULL || !lmpi_type_set_contents(t, combiner, one ? 1 : 2, 0, 0, 0, NULL)) {
		if (t != NULL)
			lmpi_type_unref(t);
		free(m);
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for a datatype");
	}
	t->contents.ints[0] = one ? r : p;
	if (!one)
		t->contents.ints[1] = r;
	/* As good as the predefined one in reductions and in external32. */
	t->basic = old->basic;
	t->part[0] = old->part[0];
	t->part[1] = old->part[1];
	t->sticky = 0; /* its bounds are not those a program set */
	t->committed = true;
	*m = (struct made){all, combiner, p, r, t};
	all = m;
	*newtype = t->handle;
	return MPI_SUCCESS;
}

static int
find_f90(int combiner, const struct kind *kind, size_t kinds, int p, int r, MPI_Datatype *newtype)
{
	for (const struct made *m = all; m != NULL; m = m->next)
		if (m->combiner == combiner && m->p == p && m->r == r) {
			*newtype = m->type->handle;
			return MPI_SUCCESS;
		}
	for (size_t i = 0; i < kinds; i++)
		if ((p == MPI_UNDEFINED || p <= kind[i].digits) &&
		    (r == MPI_UNDEFINED || r <= kind[i].range))
			return make_f90(combiner, p, r, kind[i].type, newtype);
	return lmpi_error(MPI_ERR_ARG, "no kind has precision %d and range %d", p, r);
}

static int
wanted(int p, int r)
{
	if (p == MPI_UNDEFINED && r == MPI_UNDEFINED)
		return lmpi_error(MPI_ERR_ARG, "both p and r are MPI_UNDEFINED");
	if ((p < 0 && p != MPI_UNDEFINED) || (r < 0 && r != MPI_UNDEFINED))
		return lmpi_error(MPI_ERR_ARG, "p is %d, r is %d", p, r);
	return MPI_SUCCESS;
}

int
impl_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
	int rc = wanted(p, r);

	return rc ? rc : find_f90(MPI_COMBINER_F90_REAL, real_kinds, 3, p, r, newtype);
}

int
impl_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
	int rc = wanted(p, r);

	return rc ? rc : find_f90(MPI_COMBINER_F90_COMPLEX, complex_kinds, 3, p, r, newtype);
}

int
impl_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
	int rc = wanted(MPI_UNDEFINED, r);

	return rc ? rc
		  : find_f90(MPI_COMBINER_F90_INTEGER, integer_kinds, 5, MPI_UNDEFINED, r, newtype);
}
