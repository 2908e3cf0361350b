/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations: handles, checks, application. */
#include "op.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "request.h"

struct lmpi_pool lmpi_op_pool = {.what = "op",
				 .magic = 0x4f504552,
				 .size = sizeof(struct lmpi_op),
				 .offset = offsetof(struct lmpi_op, obj)};

static const struct {
	MPI_Op handle;
	const char *name;
} predefined[] = {
	{MPI_SUM, "MPI_SUM"},	      {MPI_MIN, "MPI_MIN"},	  {MPI_MAX, "MPI_MAX"},
	{MPI_PROD, "MPI_PROD"},	      {MPI_BAND, "MPI_BAND"},	  {MPI_BOR, "MPI_BOR"},
	{MPI_BXOR, "MPI_BXOR"},	      {MPI_LAND, "MPI_LAND"},	  {MPI_LOR, "MPI_LOR"},
	{MPI_LXOR, "MPI_LXOR"},	      {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"},
	{MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"},
};

const char *
lmpi_op_name(MPI_Op handle)
{
	for (size_t i = 0; i < sizeof(predefined) / sizeof(predefined[0]); i++)
		if (predefined[i].handle == handle)
			return predefined[i].name;
	return NULL;
}

static bool
is_loc(MPI_Op op)
{
	return op == MPI_MINLOC || op == MPI_MAXLOC;
}

/* Of a pair: bytes of the value, which is where the index lies when packed. */
static int64_t
packed_index(enum lmpi_basic basic)
{
	switch (basic) {
	case LMPI_BASIC_I16_INT:
		return 2;
	case LMPI_BASIC_F64_INT:
	case LMPI_BASIC_I64_INT:
	case LMPI_BASIC_F64_F64:
		return 8;
	case LMPI_BASIC_F80_INT:
		return 16;
	default:
		return 4;
	}
}

int
lmpi_op_check(MPI_Op handle, const struct lmpi_type *type, struct lmpi_op_use *use)
{
	*use = (struct lmpi_op_use){handle, NULL, true};
	if (lmpi_object_valid(&lmpi_op_pool, handle)) {
		use->user = (struct lmpi_op *)(void *)handle;
		use->commute = use->user->commute;
		return MPI_SUCCESS;
	}
	if (lmpi_op_name(handle) == NULL)
		return lmpi_error(MPI_ERR_OP, "%s",
				  handle == MPI_OP_NULL ? "the operation is MPI_OP_NULL"
							: "the operation is not a valid one");
	if (is_loc(handle) ? type->basic >= LMPI_BASIC_F32_INT
			   : lmpi_kernel_for(handle, type->basic) != NULL)
		return MPI_SUCCESS;
	return lmpi_error(MPI_ERR_OP, "%s does not work on %s", lmpi_op_name(handle),
			  type->name[0] ? type->name : "a derived datatype");
}

/* Call the user's function, in pieces if its count is an int. */
static void
call_operator_user(const struct lmpi_op *op, struct lmpi_type *type, void *in, void *inout,
		   int64_t n)
{
	MPI_Datatype handle = type->handle;
	int64_t extent = lmpi_type_extent(type);

	if (op->fn_c != NULL) {
		MPI_Count count = n;

		op->fn_c(in, inout, &count, &handle);
		return;
	}
	while (n > 0) {
		int count = n > INT_MAX ? INT_MAX : (int)n;

		op->fn(in, inout, &count, &handle);
		in = (char *)in + count * extent;
		inout = (char *)inout + count * extent;
		n -= count;
	}
}

/* A buffer for n elements as the type lays them out: *base is what the user's
 * function sees, *memory what to free. */
static bool
scratch(const struct lmpi_type *type, int64_t n, void **memory, void **base)
{
	int64_t extent = lmpi_type_extent(type);
	int64_t lo = type->true_lb, hi = type->true_ub;

	if (n > 1 && extent >= 0)
		hi += (n - 1) * extent;
	else if (n > 1)
		lo += (n - 1) * extent;
	*memory = calloc(1, (size_t)(hi - lo) + 64);
	*base = (void *)((uintptr_t)*memory - (uintptr_t)lo);
	return *memory != NULL;
}

/* What the user's function writes is its second argument = first op second. */
static int
apply_user(const struct lmpi_op_use *use, struct lmpi_type *type, const void *in, void *inout,
	   int64_t n, bool left)
{
	void *memory, *copy;
	int64_t len = n * type->size;
	char *wire;

	if (n == 0)
		return MPI_SUCCESS;
	if (left || use->commute) {
		call_operator_user(use->user, type, (void *)(uintptr_t)in, inout, n);
		return MPI_SUCCESS;
	}
	wire = malloc((size_t)len + 1);
	if (wire == NULL || !scratch(type, n, &memory, &copy)) {
		free(wire);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	lmpi_type_pack(type, in, n, wire, 0, len);
	lmpi_type_unpack(type, copy, n, wire, 0, len);
	call_operator_user(use->user, type, inout, copy, n);
	lmpi_type_pack(type, copy, n, wire, 0, len);
	lmpi_type_unpack(type, inout, n, wire, 0, len);
	free(memory);
	free(wire);
	return MPI_SUCCESS;
}

int
lmpi_op_apply(const struct lmpi_op_use *use, struct lmpi_type *type, const void *in, void *inout,
	      int64_t n, bool left)
{
	if (use->user != NULL)
		return apply_user(use, type, in, inout, n, left);
	if (is_loc(use->handle)) {
		int64_t index = type->basic == LMPI_BASIC_I16_INT ? 4 : packed_index(type->basic);

		lmpi_loc_apply(use->handle, type->basic, in, inout, n, left, lmpi_type_extent(type),
			       index);
	} else {
		lmpi_kernel_for(use->handle, type->basic)(in, inout, n, left);
	}
	return MPI_SUCCESS;
}

/* User function on packed elements: lay them out, combine, pack again. */
static int
user_packed(const struct lmpi_op_use *use, struct lmpi_type *type, const void *in, void *inout,
	    int64_t n, bool left)
{
	void *mem_a = NULL, *mem_b = NULL, *a, *b;
	int64_t len = n * type->size;
	int rc;

	if (!scratch(type, n, &mem_a, &a) || !scratch(type, n, &mem_b, &b)) {
		free(mem_a);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	lmpi_type_unpack(type, a, n, in, 0, len);
	lmpi_type_unpack(type, b, n, inout, 0, len);
	rc = apply_user(use, type, a, b, n, left);
	lmpi_type_pack(type, b, n, inout, 0, len);
	free(mem_a);
	free(mem_b);
	return rc;
}

int
lmpi_op_apply_packed(const struct lmpi_op_use *use, struct lmpi_type *type, const void *in,
		     void *inout, int64_t n, bool left)
{
	if (n == 0 || type->size == 0)
		return MPI_SUCCESS;
	if (use->user == NULL && is_loc(use->handle)) {
		lmpi_loc_apply(use->handle, type->basic, in, inout, n, left, type->size,
			       packed_index(type->basic));
		return MPI_SUCCESS;
	}
	if (use->user != NULL && (lmpi_type_span(type, inout, n) == NULL || type->lb != 0 ||
				  type->true_lb != 0 || lmpi_type_extent(type) != type->size))
		return user_packed(use, type, in, inout, n, left);
	return lmpi_op_apply(use, type, in, inout, n, left);
}
