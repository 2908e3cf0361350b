/* SPDX-License-Identifier: BSD-2-Clause */
/* Data representations: their names, and converting between memory and stream.
 *
 * The stream of an access holds its basic elements in type map order, one after another,
 * each as large as the representation says. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "impl.h"
#include "io.h"
#include "rep.h"

static struct lmpi_datarep builtin[] = {
	{.form = LMPI_IO_NATIVE, .name = "native", .next = &builtin[1]},
	{.form = LMPI_IO_NATIVE, .name = "internal", .next = &builtin[2]},
	{.form = LMPI_IO_EXTERNAL32, .name = "external32"},
};
static struct lmpi_datarep *known = builtin;

const struct lmpi_datarep *
lmpi_datarep_find(const char *name)
{
	const struct lmpi_datarep *r;

	for (r = known; r != NULL && strcmp(r->name, name) != 0; r = r->next)
		;
	return r;
}

static int
add_datarep(const char *name, bool wide, void (*read)(void), void (*write)(void),
	    MPI_Datarep_extent_function *extent, void *extra)
{
	struct lmpi_datarep *r;

	if (name == NULL || name[0] == '\0' || strlen(name) >= MPI_MAX_DATAREP_STRING)
		return lmpi_error(MPI_ERR_ARG, "the name of the data representation is %s",
				  name == NULL || name[0] == '\0' ? "empty" : "too long");
	if (extent == NULL)
		return lmpi_error(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer");
	if (lmpi_datarep_find(name) != NULL)
		return lmpi_error(MPI_ERR_DUP_DATAREP,
				  "there is a data representation \"%s\" already", name);
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	r->form = LMPI_IO_USER;
	memcpy(r->name, name, strlen(name) + 1);
	r->wide = wide;
	r->read = read;
	r->write = write;
	r->extent = extent;
	r->extra = extra;
	r->next = known;
	known = r;
	return MPI_SUCCESS;
}

int
impl_Register_datarep(const char *datarep, MPI_Datarep_conversion_function *read_conversion_fn,
		      MPI_Datarep_conversion_function *write_conversion_fn,
		      MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
	return add_datarep(datarep, false, (void (*)(void))read_conversion_fn,
			   (void (*)(void))write_conversion_fn, dtype_file_extent_fn, extra_state);
}

int
impl_Register_datarep_c(const char *datarep, MPI_Datarep_conversion_function_c *read_conversion_fn,
			MPI_Datarep_conversion_function_c *write_conversion_fn,
			MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
	return add_datarep(datarep, true, (void (*)(void))read_conversion_fn,
			   (void (*)(void))write_conversion_fn, dtype_file_extent_fn, extra_state);
}

/* ---- how large things are in files */

/* A predefined type. */
static int
basic_size(const struct lmpi_datarep *rep, const struct lmpi_type *t, int64_t *size)
{
	MPI_Aint extent = 0;
	int rc;

	if (rep->form == LMPI_IO_EXTERNAL32) {
		*size = t->rep[LMPI_REP_EXTERNAL32].size;
		return MPI_SUCCESS;
	}
	rc = rep->extent(t->handle, &extent, rep->extra);
	if (rc)
		return lmpi_error(rc, "the extent callback of data representation \"%s\" says %d",
				  rep->name, rc);
	if (extent < 0)
		return lmpi_error(MPI_ERR_CONVERSION,
				  "data representation \"%s\" gives %s the extent %td", rep->name,
				  t->name, extent);
	*size = extent;
	return MPI_SUCCESS;
}

int
lmpi_datarep_size(const struct lmpi_datarep *rep, const struct lmpi_type *t, int64_t *size)
{
	*size = 0;
	if (rep->form == LMPI_IO_NATIVE) {
		*size = t->size;
		return MPI_SUCCESS;
	}
	if (rep->form == LMPI_IO_EXTERNAL32) {
		*size = t->rep[LMPI_REP_EXTERNAL32].size;
		return MPI_SUCCESS;
	}
	if (t->contents.combiner == MPI_COMBINER_NAMED)
		return basic_size(rep, t, size);
	for (int64_t i = 0; i < t->sigs; i++) {
		int64_t one;
		int rc = lmpi_datarep_size(rep, t->sig[i].child, &one);

		if (rc)
			return rc;
		*size += t->sig[i].n * one;
	}
	return MPI_SUCCESS;
}

/* ---- what is converted, and how */

static bool
converts(const struct lmpi_io_op *op)
{
	const struct lmpi_datarep *rep = op->file->view.rep;

	switch (rep->form) {
	case LMPI_IO_NATIVE:
		return false;
	case LMPI_IO_EXTERNAL32:
		return !lmpi_external32_as_is(op->type, LMPI_REP_EXTERNAL32);
	case LMPI_IO_USER:
		return (op->write ? rep->write : rep->read) != NULL;
	}
	return false;
}

static int
call_user(const struct lmpi_datarep *rep, void (*fn)(void), void *buf, const struct lmpi_type *t,
	  int64_t count, void *stream)
{
	int rc;

	if (rep->wide)
		rc = ((MPI_Datarep_conversion_function_c *)fn)(buf, t->handle, count, stream, 0,
							       rep->extra);
	else if (count > INT_MAX)
		return lmpi_error(MPI_ERR_COUNT,
				  "%lld elements in one access: register data representation "
				  "\"%s\" with MPI_Register_datarep_c",
				  (long long)count, rep->name);
	else
		rc = ((MPI_Datarep_conversion_function *)fn)(buf, t->handle, (int)count, stream, 0,
							     rep->extra);
	if (rc)
		return lmpi_error(MPI_ERR_CONVERSION,
				  "a conversion callback of data representation \"%s\" says %d",
				  rep->name, rc);
	return MPI_SUCCESS;
}

int
lmpi_io_op_prepare(struct lmpi_io_op *op)
{
	const struct lmpi_datarep *rep = op->file->view.rep;

	op->mem = (struct lmpi_io_mem){
		.type = op->type, .buf = op->buf, .count = op->count, .flat = NULL};
	if (!converts(op)) {
		op->mem.flat = lmpi_type_span(op->type, op->buf, op->count);
		return MPI_SUCCESS;
	}
	op->copy = op->mem.flat = malloc(op->len ? (size_t)op->len : 1);
	if (op->copy == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory to convert %lld bytes",
				  (long long)op->len);
	if (!op->write)
		return MPI_SUCCESS;
	if (rep->form == LMPI_IO_EXTERNAL32)
		return lmpi_rep_pack(op->type, op->buf, op->count, LMPI_REP_EXTERNAL32, op->copy);
	return call_user(rep, rep->write, op->buf, op->type, op->count, op->copy);
}

/* Complete elements of a type in the first bytes of its form in a user's representation,
 * as bytes in memory. */
static int64_t
memory_part(const struct lmpi_datarep *rep, const struct lmpi_type *t, int64_t bytes)
{
	int64_t whole = 0;

	if (t->contents.combiner == MPI_COMBINER_NAMED)
		return 0;
	for (int64_t i = 0; i < t->sigs; i++) {
		const struct lmpi_sig *s = &t->sig[i];
		int64_t one, n;

		if (lmpi_datarep_size(rep, s->child, &one) || one == 0)
			return whole;
		n = bytes / one < s->n ? bytes / one : s->n;
		whole += n * s->child->size;
		bytes -= n * one;
		if (n < s->n)
			return whole + memory_part(rep, s->child, bytes);
	}
	return whole;
}

/* An element of which only a part was read is converted aside. */
static int64_t
user_tail(struct lmpi_io_op *op, int64_t at, int64_t one, int64_t bytes)
{
	const struct lmpi_datarep *rep = op->file->view.rep;
	struct lmpi_type *t = op->type;
	int64_t part = memory_part(rep, t, bytes);
	int64_t span = t->true_ub - t->true_lb;
	char *stream = calloc(1, (size_t)one), *row = calloc(1, (size_t)(span + t->size) + 1);
	void *user = (char *)op->buf + at * lmpi_type_extent(t);

	if (part == 0 || stream == NULL || row == NULL) {
		free(stream);
		free(row);
		return 0;
	}
	memcpy(stream, op->copy + at * one, (size_t)bytes);
	if (call_user(rep, rep->read, row - t->true_lb, t, 1, stream) == MPI_SUCCESS) {
		char *packed = row + span;

		lmpi_type_pack(t, row - t->true_lb, 1, packed, 0, part);
		lmpi_type_unpack(t, user, 1, packed, 0, part);
	} else {
		part = 0;
	}
	free(stream);
	free(row);
	return part;
}

static int64_t
finish_user(struct lmpi_io_op *op)
{
	const struct lmpi_datarep *rep = op->file->view.rep;
	int64_t one = op->count ? op->len / op->count : 0, whole, tail;
	int rc = MPI_SUCCESS;

	if (one == 0)
		return 0;
	whole = op->moved / one;
	tail = op->moved % one;
	if (op->write)
		return whole * op->type->size + memory_part(rep, op->type, tail);
	if (whole > 0)
		rc = call_user(rep, rep->read, op->buf, op->type, whole, op->copy);
	if (rc) {
		if (op->error == MPI_SUCCESS)
			op->error = rc;
		return 0;
	}
	return whole * op->type->size + (tail ? user_tail(op, whole, one, tail) : 0);
}

int64_t
lmpi_io_op_finish(struct lmpi_io_op *op)
{
	int64_t bytes = op->moved, left;

	if (op->copy == NULL)
		return bytes;
	if (op->file->view.rep->form == LMPI_IO_EXTERNAL32) {
		if (!op->write)
			lmpi_external32_unpack(op->type, op->buf, op->count, LMPI_REP_EXTERNAL32,
					       op->copy, op->moved);
		bytes = lmpi_type_bytes_of(
			op->type,
			lmpi_type_elements_in(op->type, LMPI_REP_EXTERNAL32, op->moved, &left));
	} else {
		bytes = finish_user(op);
	}
	free(op->copy);
	op->copy = NULL;
	return bytes;
}

/* ---- memory as a stream */

void
lmpi_io_mem_get(const struct lmpi_io_mem *m, int64_t skip, int64_t len, void *out)
{
	if (m->flat != NULL)
		memcpy(out, m->flat + skip, (size_t)len);
	else
		lmpi_type_pack(m->type, m->buf, m->count, out, skip, len);
}

void
lmpi_io_mem_put(const struct lmpi_io_mem *m, int64_t skip, int64_t len, const void *in)
{
	if (m->flat != NULL)
		memcpy(m->flat + skip, in, (size_t)len);
	else
		lmpi_type_unpack(m->type, m->buf, m->count, in, skip, len);
}

/* ---- types as files have them */

static int file_form(const struct lmpi_datarep *rep, struct lmpi_type *t, struct lmpi_type **form);

static int
hand_out_datarep(struct lmpi_type *made, struct lmpi_type **form)
{
	*form = made;
	return made ? MPI_SUCCESS : lmpi_error(MPI_ERR_NO_MEM, "no memory for a datatype");
}

static int
basic_form(const struct lmpi_datarep *rep, struct lmpi_type *t, struct lmpi_type **form)
{
	int64_t bytes;
	int rc = basic_size(rep, t, &bytes);

	return rc ? rc
		  : hand_out_datarep(lmpi_type_contiguous(bytes, lmpi_type_find(MPI_BYTE)), form);
}

/* Integers of the constructor's arguments: MPI_Count where it was a _c form. */
static struct lmpi_ints
ints_of(const struct lmpi_contents *c, int64_t first)
{
	if (c->ncounts != 0)
		return (struct lmpi_ints){c->counts + first, true};
	return (struct lmpi_ints){c->ints + first, false};
}

static struct lmpi_type *
array_form(const struct lmpi_contents *c, struct lmpi_type *old)
{
	int n = c->ints[c->combiner == MPI_COMBINER_DARRAY ? 2 : 0];

	if (c->combiner == MPI_COMBINER_SUBARRAY) {
		struct lmpi_ints sizes = ints_of(c, c->ncounts ? 0 : 1);
		struct lmpi_ints sub = ints_of(c, (c->ncounts ? 0 : 1) + n);
		struct lmpi_ints starts = ints_of(c, (c->ncounts ? 0 : 1) + 2 * n);
		int order = c->ints[c->nints - 1];

		return lmpi_type_subarray(n, sizes, sub, starts, order == MPI_ORDER_FORTRAN, old);
	}
	struct lmpi_darray_dim *dim = calloc((size_t)n + 1, sizeof(*dim));
	struct lmpi_type *made = NULL;
	bool large = c->ncounts != 0;
	const int *i = c->ints + 3 + (large ? 0 : n); /* distribs, dargs, psizes, order */
	int rank = c->ints[1];

	for (int d = 0; dim != NULL && d < n; d++)
		dim[d] = (struct lmpi_darray_dim){
			.gsize = large ? c->counts[d] : c->ints[3 + d],
			.distribution = i[d],
			.arg = i[n + d] == MPI_DISTRIBUTE_DFLT_DARG ? 0 : i[n + d],
			.procs = i[2 * n + d]};
	for (int d = n; dim != NULL && d-- > 0;) {
		dim[d].coord = rank % dim[d].procs;
		rank /= dim[d].procs;
	}
	if (dim != NULL)
		made = lmpi_type_darray(n, dim, c->ints[c->nints - 1] == MPI_ORDER_FORTRAN, old);
	free(dim);
	return made;
}

/* The constructor again, over a component as the file has it.  Displacements and strides
 * that were given in bytes stay: MPI says that such types are not portable. */
static struct lmpi_type *
datarep_again(const struct lmpi_type *t, struct lmpi_type *old)
{
	const struct lmpi_contents *c = &t->contents;
	bool large = c->ncounts != 0;
	struct lmpi_ints v = ints_of(c, 0);
	int64_t extent = lmpi_type_extent(old), n = c->ncounts || c->nints ? ints_at(v, 0) : 0;
	struct lmpi_ints bytes = large ? ints_of(c, 0) : (struct lmpi_ints){c->addrs, true};

	switch (c->combiner) {
	case MPI_COMBINER_DUP:
		return lmpi_type_contiguous(1, old);
	case MPI_COMBINER_CONTIGUOUS:
		return lmpi_type_contiguous(n, old);
	case MPI_COMBINER_VECTOR:
		return lmpi_type_hvector(n, ints_at(v, 1), ints_at(v, 2) * extent, old);
	case MPI_COMBINER_HVECTOR:
		return lmpi_type_hvector(n, ints_at(v, 1),
					 large ? c->counts[2] : (int64_t)c->addrs[0], old);
	case MPI_COMBINER_INDEXED:
		return lmpi_type_hindexed(n, ints_of(c, 1), 0, ints_of(c, 1 + n), extent, old);
	case MPI_COMBINER_HINDEXED:
		return lmpi_type_hindexed(n, ints_of(c, 1), 0, large ? ints_of(c, 1 + n) : bytes, 1,
					  old);
	case MPI_COMBINER_INDEXED_BLOCK:
		return lmpi_type_hindexed(n, (struct lmpi_ints){0}, ints_at(v, 1), ints_of(c, 2),
					  extent, old);
	case MPI_COMBINER_HINDEXED_BLOCK:
		return lmpi_type_hindexed(n, (struct lmpi_ints){0}, ints_at(v, 1),
					  large ? ints_of(c, 2) : bytes, 1, old);
	case MPI_COMBINER_RESIZED:
		return large ? lmpi_type_resized(old, c->counts[0], c->counts[1])
			     : lmpi_type_resized(old, c->addrs[0], c->addrs[1]);
	case MPI_COMBINER_SUBARRAY:
	case MPI_COMBINER_DARRAY:
		return array_form(c, old);
	default:
		return NULL;
	}
}

static int
struct_form(const struct lmpi_datarep *rep, const struct lmpi_contents *c, struct lmpi_type **form)
{
	bool large = c->ncounts != 0;
	struct lmpi_type **types = calloc((size_t)c->ntypes + 1, sizeof(*types));
	int rc = types ? MPI_SUCCESS : lmpi_error(MPI_ERR_NO_MEM, "no memory for a datatype");
	struct lmpi_ints displs =
		large ? ints_of(c, 1 + c->ntypes) : (struct lmpi_ints){c->addrs, true};

	for (int64_t i = 0; rc == MPI_SUCCESS && i < c->ntypes; i++)
		rc = file_form(rep, c->types[i], &types[i]);
	if (rc == MPI_SUCCESS)
		rc = hand_out_datarep(lmpi_type_struct(c->ntypes, ints_of(c, 1), displs, types),
				      form);
	for (int64_t i = 0; types != NULL && i < c->ntypes && types[i] != NULL; i++)
		lmpi_type_unref(types[i]);
	free(types);
	return rc;
}

static int
file_form(const struct lmpi_datarep *rep, struct lmpi_type *t, struct lmpi_type **form)
{
	struct lmpi_type *old;
	int rc;

	*form = NULL;
	if (t->contents.combiner == MPI_COMBINER_STRUCT)
		return struct_form(rep, &t->contents, form);
	/* predefined, or one of those of Fortran's selected kinds, which are made of one */
	if (t->contents.ntypes == 0)
		return basic_form(rep, t, form);
	rc = file_form(rep, t->contents.types[0], &old);
	if (rc)
		return rc;
	rc = hand_out_datarep(datarep_again(t, old), form);
	lmpi_type_unref(old);
	return rc;
}

int
lmpi_datarep_form(const struct lmpi_datarep *rep, struct lmpi_type *t, struct lmpi_type **form)
{
	if (rep->form == LMPI_IO_NATIVE ||
	    (rep->form == LMPI_IO_EXTERNAL32 && lmpi_external32_in_place(t, LMPI_REP_EXTERNAL32))) {
		lmpi_type_ref(t);
		*form = t;
		return MPI_SUCCESS;
	}
	return file_form(rep, t, form);
}
