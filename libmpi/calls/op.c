/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls on operators, and MPI_Reduce_local. */
#include "call.h"
#include "impl.h"
#include "op.h"
#include "request.h"

/* ---- calls */

static int
create_operator(MPI_User_function *fn, MPI_User_function_c *fn_c, int commute, MPI_Op *op)
{
	struct lmpi_op *o;

	if (fn == NULL && fn_c == NULL)
		return lmpi_error(MPI_ERR_ARG, "the function is a null pointer");
	o = lmpi_object_new(&lmpi_op_pool);
	if (o == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	o->fn = fn;
	o->fn_c = fn_c;
	o->commute = commute != 0;
	*op = (MPI_Op)o;
	return MPI_SUCCESS;
}

int
impl_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
	return create_operator(user_fn, NULL, commute, op);
}

int
impl_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op)
{
	return create_operator(NULL, user_fn, commute, op);
}

int
impl_Op_free(MPI_Op *op)
{
	struct lmpi_op *o;

	if (!lmpi_object_valid(&lmpi_op_pool, *op))
		return lmpi_error(MPI_ERR_OP, "%s cannot be freed",
				  lmpi_op_name(*op) ? lmpi_op_name(*op) : "an invalid operation");
	o = (struct lmpi_op *)(void *)*op;
	if (--o->obj.refs == 0)
		lmpi_object_delete(&lmpi_op_pool, o);
	*op = MPI_OP_NULL;
	return MPI_SUCCESS;
}

int
impl_Op_commutative(MPI_Op op, int *commute)
{
	if (lmpi_object_valid(&lmpi_op_pool, op))
		*commute = ((struct lmpi_op *)(void *)op)->commute;
	else if (lmpi_op_name(op) != NULL)
		*commute = op != MPI_REPLACE && op != MPI_NO_OP;
	else
		return lmpi_error(MPI_ERR_OP, "the operation is not a valid one");
	return MPI_SUCCESS;
}

int
impl_Reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype,
		  MPI_Op op)
{
	struct lmpi_op_use use;
	struct lmpi_type *t;
	int rc = lmpi_check_count(count);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &t);
	if (rc == MPI_SUCCESS)
		rc = lmpi_op_check(op, t, &use);
	if (rc || count == 0)
		return rc;
	if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE)
		return lmpi_error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE where it may not be",
				  inbuf == MPI_IN_PLACE ? "inbuf" : "inoutbuf");
	if (inbuf == inoutbuf && inbuf != MPI_BOTTOM)
		return lmpi_error(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same memory");
	rc = lmpi_check_buffer(inbuf, count, t);
	if (rc == MPI_SUCCESS)
		rc = lmpi_check_buffer(inoutbuf, count, t);
	return rc ? rc : lmpi_op_apply(&use, t, inbuf, inoutbuf, count, true);
}
