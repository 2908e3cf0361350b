/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/op.h - reduction operations.
 *
 * Predefined ones are loops per machine kind of datatype; user ones are called
 * with the layout the user's datatype describes. */
#ifndef LMPI_OP_H
#define LMPI_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "object.h"
#include "type.h"

struct lmpi_op {
	struct lmpi_obj obj;
	bool commute;
	MPI_User_function *fn;	   /* either this */
	MPI_User_function_c *fn_c; /* or that */
};

/* An operation as a call uses it. */
struct lmpi_op_use {
	MPI_Op handle;
	struct lmpi_op *user; /* NULL: predefined */
	bool commute;
};

/* "MPI_SUM"; NULL: no predefined one. */
const char *lmpi_op_name(MPI_Op handle);
/* An error code, naming op and datatype, if they do not go together. */
int lmpi_op_check(MPI_Op handle, const struct lmpi_type *type, struct lmpi_op_use *use);

/* inout = in op inout (left), or inout op in (not left), for n elements that lie
 * as the datatype says; MPI_ERR_NO_MEM or MPI_SUCCESS. */
int lmpi_op_apply(const struct lmpi_op_use *use, struct lmpi_type *type, const void *in,
		  void *inout, int64_t n, bool left);
/* The same on packed elements, as messages carry them. */
int lmpi_op_apply_packed(const struct lmpi_op_use *use, struct lmpi_type *type, const void *in,
			 void *inout, int64_t n, bool left);

/* A predefined operation on n elements of one machine kind, one every stride
 * bytes (of pairs, the index lies `index` bytes in). */
typedef void lmpi_kernel(const void *in, void *inout, int64_t n, bool left);
lmpi_kernel *lmpi_kernel_for(MPI_Op op, enum lmpi_basic basic);
/* MPI_MINLOC and MPI_MAXLOC; false: not a pair kind. */
bool lmpi_loc_apply(MPI_Op op, enum lmpi_basic basic, const void *in, void *inout, int64_t n,
		    bool left, int64_t stride, int64_t index);

#endif
