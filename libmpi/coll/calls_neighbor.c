/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbourhood collectives: blocks over the edges of the communicator's topology.
 *
 * Edges between the same two processes match in the order of their lists.  Of a
 * Cartesian dimension the list is (negative, positive) on both sides, so with one or two
 * processes in a periodic dimension, where both neighbours are one process, what left in
 * the negative direction has to come in from the positive one: the receives of a
 * dimension are posted the other way round (MPI 5.0, 8.6). */
#include "call.h"
#include "coll.h"
#include "coll_impl.h"
#include "topo.h"

static uint32_t
edge_rank(int rank)
{
	return rank == MPI_PROC_NULL ? COLL_NO_RANK : (uint32_t)rank;
}

/* The operation with its edges; one_send: all edges take the same block. */
static int
begin_neighbors(struct lmpi_coll **out, MPI_Comm handle, bool one_send)
{
	struct lmpi_comm *comm;
	struct lmpi_neighbors n;
	struct coll_edge *in, *to;
	struct lmpi_coll *c;
	int rc = lmpi_comm_get_intra(handle, &comm);

	if (rc == MPI_SUCCESS)
		rc = lmpi_topology_neighbors(comm, &n);
	if (rc)
		return rc;
	*out = c = lmpi_coll_new(comm, COLL_NEIGHBOR);
	if (c == NULL) {
		lmpi_neighbors_free(&n);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	c->not_impi = true;
	c->args.sources = in = lmpi_coll_alloc(c, n.indegree, sizeof(*in));
	c->args.destinations = to = lmpi_coll_alloc(c, n.outdegree, sizeof(*to));
	if (in == NULL || to == NULL) {
		lmpi_neighbors_free(&n);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	c->args.indegree = (uint32_t)n.indegree;
	c->args.outdegree = (uint32_t)n.outdegree;
	for (uint32_t i = 0; i < c->args.indegree; i++) {
		uint32_t block = comm->topo->kind == MPI_CART ? i ^ 1u : i;

		in[i] = (struct coll_edge){edge_rank(n.sources[block]), block};
	}
	for (uint32_t i = 0; i < c->args.outdegree; i++)
		to[i] = (struct coll_edge){edge_rank(n.destinations[i]), one_send ? 0 : i};
	lmpi_neighbors_free(&n);
	return MPI_SUCCESS;
}

static int
not_in_place(const void *sendbuf)
{
	return sendbuf == MPI_IN_PLACE
		       ? lmpi_error(MPI_ERR_BUFFER,
				    "sendbuf is MPI_IN_PLACE, which neighbourhood collectives "
				    "do not have")
		       : MPI_SUCCESS;
}

/* Where a neighbour is missing its block stays as it is, so a packed copy has to begin
 * with what is there. */
static int
neighbors_receiving(const struct lmpi_coll *c)
{
	for (uint32_t i = 0; i < c->args.indegree; i++)
		if (c->args.sources[i].rank == COLL_NO_RANK)
			return LMPI_SIDE_IN | LMPI_SIDE_OUT;
	return LMPI_SIDE_OUT;
}

/* blocks equal blocks of one side. */
static int
equal_blocks(struct lmpi_coll *c, const void *buf, int64_t blocks, MPI_Count count,
	     MPI_Datatype datatype, int role, char **base, uint64_t *bytes)
{
	struct lmpi_type *t;
	int rc = lmpi_check_count(count);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &t);
	if (rc == MPI_SUCCESS && blocks > 0)
		rc = lmpi_check_buffer(buf, count, t);
	if (rc)
		return rc;
	*bytes = (uint64_t)(count * t->size);
	return lmpi_side_uniform(c, buf, blocks, count, t, role, base);
}

/* The two sides may have blocks of different lengths here, so each has its tables. */
static int
send_table(struct lmpi_coll *c, uint64_t bytes, uint32_t blocks)
{
	uint64_t *t = lmpi_coll_alloc(c, 2 * (int64_t)blocks, sizeof(*t));

	if (t == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	for (uint32_t i = 0; i < blocks; i++) {
		t[i] = bytes;
		t[blocks + i] = i * bytes;
	}
	c->args.send_bytes = t;
	c->args.send_displ = t + blocks;
	return MPI_SUCCESS;
}

static int
send_equal(struct lmpi_coll *c, const void *buf, uint32_t blocks, MPI_Count count,
	   MPI_Datatype datatype)
{
	uint64_t bytes = 0;
	int rc = not_in_place(buf);

	if (rc == MPI_SUCCESS)
		rc = equal_blocks(c, buf, blocks, count, datatype, LMPI_SIDE_IN, &c->send, &bytes);
	return rc ? rc : send_table(c, bytes, blocks);
}

static int
recv_equal(struct lmpi_coll *c, const void *buf, MPI_Count count, MPI_Datatype datatype)
{
	return equal_blocks(c, buf, c->args.indegree, count, datatype, neighbors_receiving(c),
			    &c->recv, &c->args.bytes);
}

static int
counts_ok(struct lmpi_ints counts, struct lmpi_ints displs, int64_t n)
{
	if (n > 0 && (counts.at == NULL || displs.at == NULL))
		return lmpi_error(MPI_ERR_ARG, "counts or displs is a null pointer");
	for (int64_t i = 0; i < n; i++)
		if (ints_at(counts, i) < 0)
			return lmpi_error(MPI_ERR_COUNT, "counts[%lld] is %lld", (long long)i,
					  (long long)ints_at(counts, i));
	return MPI_SUCCESS;
}

static int
recv_vector(struct lmpi_coll *c, const void *buf, struct lmpi_ints counts, struct lmpi_ints displs,
	    MPI_Datatype datatype)
{
	struct lmpi_type *t;
	int rc = counts_ok(counts, displs, c->args.indegree);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &t);
	return rc ? rc
		  : lmpi_side_vector(c, buf, c->args.indegree, counts, displs, t,
				     neighbors_receiving(c), &c->recv, &c->args.bytes_of,
				     &c->args.displ);
}

static int
types_ok(struct lmpi_ints counts, struct lmpi_ints displs, const MPI_Datatype *types, int64_t n)
{
	struct lmpi_type *t;
	int rc = counts_ok(counts, displs, n);

	if (rc == MPI_SUCCESS && n > 0 && types == NULL)
		rc = lmpi_error(MPI_ERR_ARG, "types is a null pointer");
	for (int64_t i = 0; i < n && rc == MPI_SUCCESS; i++)
		if (ints_at(counts, i) != 0)
			rc = lmpi_check_type(types[i], &t);
	return rc;
}

int
lmpi_coll_Neighbor_allgather(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
			     MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
			     MPI_Datatype recvtype, MPI_Comm comm)
{
	int rc = begin_neighbors(c, comm, true);

	if (rc == MPI_SUCCESS)
		rc = send_equal(*c, sendbuf, 1, sendcount, sendtype);
	return rc ? rc : recv_equal(*c, recvbuf, recvcount, recvtype);
}

int
lmpi_coll_Neighbor_allgatherv(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
			      MPI_Datatype sendtype, void *recvbuf, struct lmpi_ints recvcounts,
			      struct lmpi_ints displs, MPI_Datatype recvtype, MPI_Comm comm)
{
	int rc = begin_neighbors(c, comm, true);

	if (rc == MPI_SUCCESS)
		rc = send_equal(*c, sendbuf, 1, sendcount, sendtype);
	return rc ? rc : recv_vector(*c, recvbuf, recvcounts, displs, recvtype);
}

int
lmpi_coll_Neighbor_alltoall(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
			    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
			    MPI_Datatype recvtype, MPI_Comm comm)
{
	int rc = begin_neighbors(c, comm, false);

	if (rc == MPI_SUCCESS)
		rc = send_equal(*c, sendbuf, (*c)->args.outdegree, sendcount, sendtype);
	return rc ? rc : recv_equal(*c, recvbuf, recvcount, recvtype);
}

int
lmpi_coll_Neighbor_alltoallv(struct lmpi_coll **c, const void *sendbuf, struct lmpi_ints sendcounts,
			     struct lmpi_ints sdispls, MPI_Datatype sendtype, void *recvbuf,
			     struct lmpi_ints recvcounts, struct lmpi_ints rdispls,
			     MPI_Datatype recvtype, MPI_Comm comm)
{
	struct lmpi_type *t;
	int rc = begin_neighbors(c, comm, false);

	if (rc == MPI_SUCCESS)
		rc = not_in_place(sendbuf);
	if (rc == MPI_SUCCESS)
		rc = counts_ok(sendcounts, sdispls, (*c)->args.outdegree);
	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(sendtype, &t);
	if (rc == MPI_SUCCESS)
		rc = lmpi_side_vector(*c, sendbuf, (*c)->args.outdegree, sendcounts, sdispls, t,
				      LMPI_SIDE_IN, &(*c)->send, &(*c)->args.send_bytes,
				      &(*c)->args.send_displ);
	return rc ? rc : recv_vector(*c, recvbuf, recvcounts, rdispls, recvtype);
}

int
lmpi_coll_Neighbor_alltoallw(struct lmpi_coll **c, const void *sendbuf, struct lmpi_ints sendcounts,
			     const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
			     void *recvbuf, struct lmpi_ints recvcounts, const MPI_Aint rdispls[],
			     const MPI_Datatype recvtypes[], MPI_Comm comm)
{
	struct lmpi_ints sat = {sdispls, true}, rat = {rdispls, true};
	int rc = begin_neighbors(c, comm, false);

	if (rc == MPI_SUCCESS)
		rc = not_in_place(sendbuf);
	if (rc == MPI_SUCCESS)
		rc = types_ok(sendcounts, sat, sendtypes, (*c)->args.outdegree);
	if (rc == MPI_SUCCESS)
		rc = lmpi_side_types(*c, sendbuf, (*c)->args.outdegree, sendcounts, sat, sendtypes,
				     LMPI_SIDE_IN, &(*c)->send, &(*c)->args.send_bytes,
				     &(*c)->args.send_displ);
	if (rc == MPI_SUCCESS)
		rc = types_ok(recvcounts, rat, recvtypes, (*c)->args.indegree);
	return rc ? rc
		  : lmpi_side_types(*c, recvbuf, (*c)->args.indegree, recvcounts, rat, recvtypes,
				    neighbors_receiving(*c), &(*c)->recv, &(*c)->args.bytes_of,
				    &(*c)->args.displ);
}
