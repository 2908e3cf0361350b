/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that make datatypes. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "impl.h"
#include "request.h"
#include "type.h"

/* Was the large-count form called?  Contents are kept in its terms then. */
static bool
large(void)
{
	const char *fn = lmpi_call_top ? lmpi_call_top->fn : "";
	size_t n = strlen(fn);

	return n > 2 && strcmp(fn + n - 2, "_c") == 0;
}

static int
old_type(MPI_Datatype handle, struct lmpi_type **t)
{
	*t = lmpi_type_find(handle);
	if (*t == NULL)
		return lmpi_error(MPI_ERR_TYPE, "%s",
				  handle == MPI_DATATYPE_NULL ? "oldtype is MPI_DATATYPE_NULL"
							      : "oldtype is not a valid datatype");
	return MPI_SUCCESS;
}

static int
not_negative(const char *what, int64_t v)
{
	return v < 0 ? lmpi_error(MPI_ERR_ARG, "%s is %lld", what, (long long)v) : MPI_SUCCESS;
}

static int
type_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for a datatype");
}

/* Notes constructor arguments one after another, ints or large counts. */
struct notes {
	struct lmpi_type *t;
	bool large;
	int64_t ints, addrs, counts;
};

static bool
notes_open(struct notes *n, struct lmpi_type *t, int combiner, int64_t ints, int64_t addrs,
	   int64_t counts, int64_t ntypes, struct lmpi_type *const *types)
{
	*n = (struct notes){.t = t, .large = large()};
	/* `counts` of the arguments become large counts in the _c form, ints
	 * otherwise; addresses become large counts as well */
	if (n->large)
		return lmpi_type_set_contents(t, combiner, ints, 0, counts + addrs, ntypes, types);
	return lmpi_type_set_contents(t, combiner, ints + counts, addrs, 0, ntypes, types);
}

static void
note_int(struct notes *n, int v)
{
	n->t->contents.ints[n->ints++] = v;
}

static void
note_count(struct notes *n, int64_t v)
{
	if (n->large)
		n->t->contents.counts[n->counts++] = v;
	else
		n->t->contents.ints[n->ints++] = (int)v;
}

static void
note_addr(struct notes *n, int64_t v)
{
	if (n->large)
		n->t->contents.counts[n->counts++] = v;
	else
		n->t->contents.addrs[n->addrs++] = v;
}

/* A displacement, in bytes or in elements. */
static void
note_place(struct notes *n, int64_t v, bool bytes)
{
	if (bytes)
		note_addr(n, v);
	else
		note_count(n, v);
}

static int
hand_out_type(struct lmpi_type *t, bool noted, MPI_Datatype *newtype)
{
	if (t == NULL || !noted) {
		if (t != NULL)
			lmpi_type_unref(t);
		return type_no_memory();
	}
	*newtype = t->handle;
	return MPI_SUCCESS;
}

int
impl_Type_contiguous(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct lmpi_type *old, *t;
	struct notes n;
	bool ok = false;
	int rc = old_type(oldtype, &old);

	if (rc == MPI_SUCCESS)
		rc = not_negative("count", count);
	if (rc)
		return rc;
	t = lmpi_type_contiguous(count, old);
	if (t != NULL && notes_open(&n, t, MPI_COMBINER_CONTIGUOUS, 0, 0, 1, 1, &old)) {
		note_count(&n, count);
		ok = true;
	}
	return hand_out_type(t, ok, newtype);
}

static int
vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, bool bytes, MPI_Datatype oldtype,
       MPI_Datatype *newtype)
{
	struct lmpi_type *old, *t;
	struct notes n;
	bool ok = false;
	int rc = old_type(oldtype, &old);

	if (rc == MPI_SUCCESS)
		rc = not_negative("count", count);
	if (rc == MPI_SUCCESS)
		rc = not_negative("blocklength", blocklength);
	if (rc)
		return rc;
	t = lmpi_type_hvector(count, blocklength, bytes ? stride : stride * lmpi_type_extent(old),
			      old);
	if (t != NULL && notes_open(&n, t, bytes ? MPI_COMBINER_HVECTOR : MPI_COMBINER_VECTOR, 0,
				    bytes, bytes ? 2 : 3, 1, &old)) {
		note_count(&n, count);
		note_count(&n, blocklength);
		note_place(&n, stride, bytes);
		ok = true;
	}
	return hand_out_type(t, ok, newtype);
}

int
impl_Type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
		 MPI_Datatype *newtype)
{
	return vector(count, blocklength, stride, false, oldtype, newtype);
}

int
impl_Type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
			 MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	return vector(count, blocklength, stride, true, oldtype, newtype);
}

static int
check_blocks(MPI_Count count, struct lmpi_ints lens, bool same, struct lmpi_ints displs)
{
	int rc = not_negative("count", count);

	if (rc || count == 0)
		return rc;
	if ((lens.at == NULL && !same) || displs.at == NULL)
		return lmpi_error(MPI_ERR_ARG, "the array of %s is a null pointer",
				  displs.at == NULL ? "displacements" : "block lengths");
	for (int64_t i = 0; i < count && !same; i++)
		if (ints_at(lens, i) < 0)
			return lmpi_error(MPI_ERR_ARG, "array_of_blocklengths[%lld] is %lld",
					  (long long)i, (long long)ints_at(lens, i));
	return MPI_SUCCESS;
}

static int
indexed(MPI_Count count, struct lmpi_ints lens, struct lmpi_ints displs, bool bytes,
	MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct lmpi_type *old, *t;
	struct notes n;
	bool ok = false;
	int rc = old_type(oldtype, &old);

	if (rc == MPI_SUCCESS)
		rc = check_blocks(count, lens, false, displs);
	if (rc)
		return rc;
	t = lmpi_type_hindexed(count, lens, 0, displs, bytes ? 1 : lmpi_type_extent(old), old);
	if (t != NULL &&
	    notes_open(&n, t, bytes ? MPI_COMBINER_HINDEXED : MPI_COMBINER_INDEXED, 0,
		       bytes ? count : 0, bytes ? count + 1 : 2 * count + 1, 1, &old)) {
		note_count(&n, count);
		for (int64_t i = 0; i < count; i++)
			note_count(&n, ints_at(lens, i));
		for (int64_t i = 0; i < count; i++)
			note_place(&n, ints_at(displs, i), bytes);
		ok = true;
	}
	return hand_out_type(t, ok, newtype);
}

int
impl_Type_indexed(MPI_Count count, struct lmpi_ints array_of_blocklengths,
		  struct lmpi_ints array_of_displacements, MPI_Datatype oldtype,
		  MPI_Datatype *newtype)
{
	return indexed(count, array_of_blocklengths, array_of_displacements, false, oldtype,
		       newtype);
}

int
impl_Type_create_hindexed(MPI_Count count, struct lmpi_ints array_of_blocklengths,
			  struct lmpi_ints array_of_displacements, MPI_Datatype oldtype,
			  MPI_Datatype *newtype)
{
	return indexed(count, array_of_blocklengths, array_of_displacements, true, oldtype,
		       newtype);
}

static int
indexed_block(MPI_Count count, MPI_Count blocklength, struct lmpi_ints displs, bool bytes,
	      MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct lmpi_type *old, *t;
	struct notes n;
	bool ok = false;
	int combiner = bytes ? MPI_COMBINER_HINDEXED_BLOCK : MPI_COMBINER_INDEXED_BLOCK;
	int rc = old_type(oldtype, &old);

	if (rc == MPI_SUCCESS)
		rc = not_negative("blocklength", blocklength);
	if (rc == MPI_SUCCESS)
		rc = check_blocks(count, (struct lmpi_ints){0}, true, displs);
	if (rc)
		return rc;
	t = lmpi_type_hindexed(count, (struct lmpi_ints){0}, blocklength, displs,
			       bytes ? 1 : lmpi_type_extent(old), old);
	if (t != NULL &&
	    notes_open(&n, t, combiner, 0, bytes ? count : 0, bytes ? 2 : count + 2, 1, &old)) {
		note_count(&n, count);
		note_count(&n, blocklength);
		for (int64_t i = 0; i < count; i++)
			note_place(&n, ints_at(displs, i), bytes);
		ok = true;
	}
	return hand_out_type(t, ok, newtype);
}

int
impl_Type_create_indexed_block(MPI_Count count, MPI_Count blocklength,
			       struct lmpi_ints array_of_displacements, MPI_Datatype oldtype,
			       MPI_Datatype *newtype)
{
	return indexed_block(count, blocklength, array_of_displacements, false, oldtype, newtype);
}

int
impl_Type_create_hindexed_block(MPI_Count count, MPI_Count blocklength,
				struct lmpi_ints array_of_displacements, MPI_Datatype oldtype,
				MPI_Datatype *newtype)
{
	return indexed_block(count, blocklength, array_of_displacements, true, oldtype, newtype);
}

int
impl_Type_create_struct(MPI_Count count, struct lmpi_ints array_of_blocklengths,
			struct lmpi_ints array_of_displacements,
			const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
	struct lmpi_type **old, *t;
	struct notes n;
	bool ok = false;
	int rc = check_blocks(count, array_of_blocklengths, false, array_of_displacements);

	if (rc)
		return rc;
	old = calloc((size_t)count + 1, sizeof(*old));
	if (old == NULL)
		return type_no_memory();
	for (int64_t i = 0; i < count && rc == MPI_SUCCESS; i++)
		rc = old_type(array_of_types[i], &old[i]);
	if (rc) {
		free(old);
		return rc;
	}
	t = lmpi_type_struct(count, array_of_blocklengths, array_of_displacements, old);
	if (t != NULL && notes_open(&n, t, MPI_COMBINER_STRUCT, 0, count, count + 1, count, old)) {
		note_count(&n, count);
		for (int64_t i = 0; i < count; i++)
			note_count(&n, ints_at(array_of_blocklengths, i));
		for (int64_t i = 0; i < count; i++)
			note_addr(&n, ints_at(array_of_displacements, i));
		ok = true;
	}
	free(old);
	return hand_out_type(t, ok, newtype);
}

int
impl_Type_create_resized(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
			 MPI_Datatype *newtype)
{
	struct lmpi_type *old, *t;
	struct notes n;
	bool ok = false;
	int rc = old_type(oldtype, &old);

	if (rc)
		return rc;
	t = lmpi_type_resized(old, lb, extent);
	if (t != NULL && notes_open(&n, t, MPI_COMBINER_RESIZED, 0, 2, 0, 1, &old)) {
		note_addr(&n, lb);
		note_addr(&n, extent);
		ok = true;
	}
	return hand_out_type(t, ok, newtype);
}

int
impl_Type_create_subarray(int ndims, struct lmpi_ints array_of_sizes,
			  struct lmpi_ints array_of_subsizes, struct lmpi_ints array_of_starts,
			  int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct lmpi_type *old, *t;
	struct notes n;
	bool ok = false;
	int rc = old_type(oldtype, &old);

	if (rc)
		return rc;
	if (ndims < 1)
		return lmpi_error(MPI_ERR_ARG, "ndims is %d", ndims);
	if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
		return lmpi_error(MPI_ERR_ARG, "order is %d", order);
	for (int d = 0; d < ndims; d++) {
		int64_t size = ints_at(array_of_sizes, d), sub = ints_at(array_of_subsizes, d);
		int64_t start = ints_at(array_of_starts, d);

		if (size < 1 || sub < 1 || sub > size || start < 0 || start > size - sub)
			return lmpi_error(MPI_ERR_ARG,
					  "in dimension %d, subsize %lld at start %lld "
					  "does not lie in size %lld",
					  d, (long long)sub, (long long)start, (long long)size);
	}
	t = lmpi_type_subarray(ndims, array_of_sizes, array_of_subsizes, array_of_starts,
			       order == MPI_ORDER_FORTRAN, old);
	if (t != NULL && notes_open(&n, t, MPI_COMBINER_SUBARRAY, 2, 0, 3 * ndims, 1, &old)) {
		note_int(&n, ndims);
		for (int d = 0; d < ndims; d++)
			note_count(&n, ints_at(array_of_sizes, d));
		for (int d = 0; d < ndims; d++)
			note_count(&n, ints_at(array_of_subsizes, d));
		for (int d = 0; d < ndims; d++)
			note_count(&n, ints_at(array_of_starts, d));
		note_int(&n, order);
		ok = true;
	}
	return hand_out_type(t, ok, newtype);
}

/* One dimension of MPI_Type_create_darray as the caller gave it. */
static int
darray_dim(int d, int64_t gsize, int distribution, int arg, int procs, struct lmpi_darray_dim *out)
{
	*out = (struct lmpi_darray_dim){gsize, distribution, arg, procs, 0};
	if (gsize < 1 || procs < 1)
		return lmpi_error(MPI_ERR_ARG, "dimension %d has gsize %lld and psize %d", d,
				  (long long)gsize, procs);
	if (arg == MPI_DISTRIBUTE_DFLT_DARG)
		out->arg = 0;
	else if (distribution != MPI_DISTRIBUTE_NONE && arg < 1)
		return lmpi_error(MPI_ERR_ARG, "array_of_dargs[%d] is %d", d, arg);
	switch (distribution) {
	case MPI_DISTRIBUTE_NONE:
		if (procs != 1)
			return lmpi_error(MPI_ERR_ARG,
					  "dimension %d is not distributed and has %d processes", d,
					  procs);
		return MPI_SUCCESS;
	case MPI_DISTRIBUTE_BLOCK:
		if (out->arg != 0 && out->arg * procs < gsize)
			return lmpi_error(MPI_ERR_ARG,
					  "in dimension %d, %d blocks of %lld do not hold %lld", d,
					  procs, (long long)out->arg, (long long)gsize);
		return MPI_SUCCESS;
	case MPI_DISTRIBUTE_CYCLIC:
		return MPI_SUCCESS;
	}
	return lmpi_error(MPI_ERR_ARG, "array_of_distribs[%d] is %d", d, distribution);
}

/* The dimensions with this process's place in the grid, whose last dimension varies
 * fastest whatever the order of the array is. */
static int
darray_dims(int size, int rank, int ndims, struct lmpi_ints gsizes, const int *distribs,
	    const int *dargs, const int *psizes, struct lmpi_darray_dim *dim)
{
	int64_t procs = 1;
	int rc = MPI_SUCCESS;

	for (int d = 0; d < ndims && rc == MPI_SUCCESS; d++) {
		rc = darray_dim(d, ints_at(gsizes, d), distribs[d], dargs[d], psizes[d], &dim[d]);
		if (rc == MPI_SUCCESS && (procs *= psizes[d]) > size)
			break;
	}
	if (rc == MPI_SUCCESS && procs != size)
		rc = lmpi_error(MPI_ERR_ARG, "array_of_psizes does not make %d processes", size);
	for (int d = ndims - 1; d >= 0 && rc == MPI_SUCCESS; d--) {
		dim[d].coord = rank % psizes[d];
		rank /= psizes[d];
	}
	return rc;
}

int
impl_Type_create_darray(int size, int rank, int ndims, struct lmpi_ints array_of_gsizes,
			const int array_of_distribs[], const int array_of_dargs[],
			const int array_of_psizes[], int order, MPI_Datatype oldtype,
			MPI_Datatype *newtype)
{
	struct lmpi_darray_dim *dim;
	struct lmpi_type *old, *t;
	struct notes n;
	bool ok = false;
	int rc = old_type(oldtype, &old);

	if (rc)
		return rc;
	if (ndims < 1 || size < 1 || rank < 0 || rank >= size)
		return lmpi_error(MPI_ERR_ARG, "rank is %d, size %d, ndims %d", rank, size, ndims);
	if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
		return lmpi_error(MPI_ERR_ARG, "order is %d", order);
	dim = calloc((size_t)ndims, sizeof(*dim));
	if (dim == NULL)
		return type_no_memory();
	rc = darray_dims(size, rank, ndims, array_of_gsizes, array_of_distribs, array_of_dargs,
			 array_of_psizes, dim);
	if (rc) {
		free(dim);
		return rc;
	}
	t = lmpi_type_darray(ndims, dim, order == MPI_ORDER_FORTRAN, old);
	free(dim);
	if (t != NULL && notes_open(&n, t, MPI_COMBINER_DARRAY, 4 + 3 * ndims, 0, ndims, 1, &old)) {
		const int *array[] = {array_of_distribs, array_of_dargs, array_of_psizes};

		note_int(&n, size);
		note_int(&n, rank);
		note_int(&n, ndims);
		for (int d = 0; d < ndims; d++)
			note_count(&n, ints_at(array_of_gsizes, d));
		for (int a = 0; a < 3; a++)
			for (int d = 0; d < ndims; d++)
				note_int(&n, array[a][d]);
		note_int(&n, order);
		ok = true;
	}
	return hand_out_type(t, ok, newtype);
}

int
impl_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
	struct lmpi_type *old, *t;
	int rc = old_type(oldtype, &old);

	if (rc)
		return rc;
	t = lmpi_type_resized(old, old->lb, lmpi_type_extent(old));
	if (t == NULL || !lmpi_type_set_contents(t, MPI_COMBINER_DUP, 0, 0, 0, 1, &old)) {
		if (t != NULL)
			lmpi_type_unref(t);
		return type_no_memory();
	}
	t->sticky = old->sticky;
	t->committed = old->committed;
	rc = lmpi_attr_copy_all(LMPI_ATTR_TYPE, old->handle, old->attrs, &t->attrs);
	if (rc) {
		(void)lmpi_attr_delete_all(LMPI_ATTR_TYPE, t->handle, &t->attrs);
		lmpi_type_unref(t);
		return rc;
	}
	*newtype = t->handle;
	return MPI_SUCCESS;
}

int
impl_Type_commit(MPI_Datatype *datatype)
{
	struct lmpi_type *t;
	int rc = old_type(*datatype, &t);

	if (rc == MPI_SUCCESS)
		t->committed = true;
	return rc;
}

int
impl_Type_free(MPI_Datatype *datatype)
{
	struct lmpi_type *t;
	int rc = old_type(*datatype, &t);

	if (rc)
		return rc;
	if (t->basic != LMPI_BASIC_NONE)
		return lmpi_error(MPI_ERR_TYPE, "%s is predefined and cannot be freed", t->name);
	rc = lmpi_attr_delete_all(LMPI_ATTR_TYPE, t->handle, &t->attrs);
	if (rc)
		return rc;
	lmpi_type_unref(t);
	*datatype = MPI_DATATYPE_NULL;
	return MPI_SUCCESS;
}
