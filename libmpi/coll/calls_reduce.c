/* SPDX-License-Identifier: BSD-2-Clause */
/* The collectives that compute.  Vectors are combined in packed form. */
#include "call.h"
#include "coll.h"
#include "coll_impl.h"

static int
begin_reduction(struct lmpi_coll **c, enum coll_op kind, MPI_Datatype datatype, MPI_Op op,
		MPI_Comm handle)
{
	struct lmpi_comm *comm;
	struct lmpi_op_use use;
	struct lmpi_type *type;
	bool inside = kind == COLL_SCAN || kind == COLL_EXSCAN;
	int rc = inside ? lmpi_comm_get_intra(handle, &comm) : lmpi_comm_get(handle, &comm);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &type);
	if (rc == MPI_SUCCESS)
		rc = lmpi_op_check(op, type, &use);
	if (rc)
		return rc;
	*c = lmpi_coll_new(comm, kind);
	if (*c == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	(*c)->type = type;
	lmpi_type_ref(type);
	(*c)->op = use;
	if (use.user != NULL)
		use.user->obj.refs++;
	(*c)->args.commutative = use.commute;
	(*c)->args.elem = type->size > 0 ? (uint64_t)type->size : 1;
	return MPI_SUCCESS;
}

/* Vectors of `count` elements on both sides, as far as this process has them. */
static int
vectors(struct lmpi_coll *c, const void *sendbuf, void *recvbuf, MPI_Count count, bool sends,
	bool receives)
{
	bool in_place = sends && sendbuf == MPI_IN_PLACE;
	int rc = lmpi_check_count(count);

	if (rc)
		return rc;
	if (in_place && c->comm->remote != NULL)
		return lmpi_error(MPI_ERR_BUFFER, "MPI_IN_PLACE in an inter-communicator");
	if (recvbuf == MPI_IN_PLACE || (in_place && !receives))
		return lmpi_error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE where it may not be",
				  in_place ? "sendbuf" : "recvbuf");
	if (sends && receives && sendbuf == recvbuf && count > 0 && sendbuf != MPI_BOTTOM)
		return lmpi_error(MPI_ERR_BUFFER, "sendbuf and recvbuf are the same memory; use "
						  "MPI_IN_PLACE");
	if (sends && !in_place)
		rc = lmpi_check_buffer(sendbuf, count, c->type);
	if (rc == MPI_SUCCESS && receives)
		rc = lmpi_check_buffer(recvbuf, count, c->type);
	c->args.in_place = in_place;
	c->args.bytes = (uint64_t)(count * c->type->size);
	if (rc == MPI_SUCCESS && sends && !in_place)
		rc = lmpi_side_uniform(c, sendbuf, 1, count, c->type, LMPI_SIDE_IN, &c->send);
	if (rc == MPI_SUCCESS && receives)
		rc = lmpi_side_uniform(c, recvbuf, 1, count, c->type,
				       in_place ? LMPI_SIDE_IN | LMPI_SIDE_OUT : LMPI_SIDE_OUT,
				       &c->recv);
	return rc;
}

int
lmpi_coll_Reduce(struct lmpi_coll **c, const void *sendbuf, void *recvbuf, MPI_Count count,
		 MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
	/* Who has no part in it says nothing by its other arguments. */
	bool idle = root == MPI_PROC_NULL;
	int rc = begin_reduction(c, COLL_REDUCE, idle ? MPI_INT : datatype, idle ? MPI_SUM : op,
				 comm);

	if (rc == MPI_SUCCESS)
		rc = lmpi_coll_set_root(*c, root);
	if (rc || (*c)->args.role == COLL_IDLE)
		return rc;
	rc = vectors(*c, sendbuf, recvbuf, count, (*c)->is_leaf, (*c)->at_root);
	if (rc || (*c)->at_root)
		return rc;
	(*c)->recv = lmpi_coll_alloc(*c, (int64_t)(*c)->args.bytes, 1); /* partial results */
	return (*c)->recv ? MPI_SUCCESS : lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}

int
lmpi_coll_Allreduce(struct lmpi_coll **c, const void *sendbuf, void *recvbuf, MPI_Count count,
		    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	int rc = begin_reduction(c, COLL_ALLREDUCE, datatype, op, comm);

	return rc ? rc : vectors(*c, sendbuf, recvbuf, count, true, true);
}

int
lmpi_coll_Scan(struct lmpi_coll **c, const void *sendbuf, void *recvbuf, MPI_Count count,
	       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	int rc = begin_reduction(c, COLL_SCAN, datatype, op, comm);

	return rc ? rc : vectors(*c, sendbuf, recvbuf, count, true, true);
}

int
lmpi_coll_Exscan(struct lmpi_coll **c, const void *sendbuf, void *recvbuf, MPI_Count count,
		 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	int rc = begin_reduction(c, COLL_EXSCAN, datatype, op, comm);

	if (rc)
		return rc;
	rc = vectors(*c, sendbuf, recvbuf, count, true, true);
	/* the receive buffer of rank 0 stays as it is */
	if (rc == MPI_SUCCESS && (*c)->comm->rank == 0 && (*c)->has_out && (*c)->ins < 2 &&
	    !(*c)->args.in_place) {
		(*c)->in[(*c)->ins++] = (*c)->out;
		lmpi_type_ref((*c)->out.type);
	}
	return rc;
}

/* The vector is cut into a block per process. */
static int
scattered(struct lmpi_coll *c, const void *sendbuf, void *recvbuf, struct lmpi_ints counts,
	  MPI_Count own, MPI_Count total)
{
	bool in_place = sendbuf == MPI_IN_PLACE;
	const uint64_t *displ;
	char *unused;
	int rc;

	c->args.in_place = in_place;
	if (in_place && c->comm->remote != NULL)
		return lmpi_error(MPI_ERR_BUFFER, "MPI_IN_PLACE in an inter-communicator");
	rc = lmpi_check_buffer(recvbuf, own, c->type);
	if (rc == MPI_SUCCESS && !in_place)
		rc = lmpi_check_buffer(sendbuf, total, c->type);
	if (rc == MPI_SUCCESS && counts.at != NULL) { /* only the table of lengths is wanted */
		struct lmpi_type *bytes = lmpi_type_find(MPI_BYTE);
		uint64_t *of;

		rc = lmpi_side_vector(c, NULL, c->comm->size, counts, (struct lmpi_ints){0}, bytes,
				      0, &unused, &c->args.bytes_of, &displ);
		of = (uint64_t *)(uintptr_t)c->args.bytes_of;
		for (int i = 0; rc == MPI_SUCCESS && i < c->comm->size; i++)
			of[i] *= (uint64_t)c->type->size;
	}
	if (rc)
		return rc;
	if (in_place) /* the whole vector is the input, its front the result */
		return lmpi_side_uniform(c, recvbuf, 1, total, c->type,
					 LMPI_SIDE_IN | LMPI_SIDE_OUT, &c->recv);
	rc = lmpi_side_uniform(c, sendbuf, 1, total, c->type, LMPI_SIDE_IN, &c->send);
	return rc ? rc : lmpi_side_uniform(c, recvbuf, 1, own, c->type, LMPI_SIDE_OUT, &c->recv);
}

int
lmpi_coll_Reduce_scatter(struct lmpi_coll **c, const void *sendbuf, void *recvbuf,
			 struct lmpi_ints recvcounts, MPI_Datatype datatype, MPI_Op op,
			 MPI_Comm comm)
{
	int rc = begin_reduction(c, COLL_REDUCE_SCATTER, datatype, op, comm);
	MPI_Count total = 0;

	if (rc)
		return rc;
	if (recvcounts.at == NULL)
		return lmpi_error(MPI_ERR_ARG, "recvcounts is a null pointer");
	for (int i = 0; i < (*c)->comm->size; i++) {
		if (ints_at(recvcounts, i) < 0)
			return lmpi_error(MPI_ERR_COUNT, "recvcounts[%d] is %lld", i,
					  (long long)ints_at(recvcounts, i));
		total += ints_at(recvcounts, i);
	}
	return scattered(*c, sendbuf, recvbuf, recvcounts, ints_at(recvcounts, (*c)->comm->rank),
			 total);
}

int
lmpi_coll_Reduce_scatter_block(struct lmpi_coll **c, const void *sendbuf, void *recvbuf,
			       MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	int rc = begin_reduction(c, COLL_REDUCE_SCATTER, datatype, op, comm);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_count(recvcount);
	if (rc)
		return rc;
	(*c)->not_impi = true;
	(*c)->args.bytes = (uint64_t)(recvcount * (*c)->type->size);
	return scattered(*c, sendbuf, recvbuf, (struct lmpi_ints){0}, recvcount,
			 recvcount * (*c)->comm->size);
}
