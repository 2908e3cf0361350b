/* SPDX-License-Identifier: BSD-2-Clause */
/* The collectives that move data.  lmpi_coll_X() checks the arguments of MPI_X and
 * describes the operation; the generated entry points of MPI_X, MPI_IX and
 * MPI_X_init (and their _c forms) run it. */
#include "call.h"
#include "coll.h"
#include "coll_impl.h"

static int
begin_coll(struct lmpi_coll **c, enum coll_op op, MPI_Comm handle)
{
	struct lmpi_comm *comm;
	int rc = lmpi_comm_get(handle, &comm);

	if (rc)
		return rc;
	*c = lmpi_coll_new(comm, op);
	return *c ? MPI_SUCCESS : lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}

int
lmpi_coll_set_root(struct lmpi_coll *c, int root)
{
	if (c->comm->remote == NULL) {
		c->at_root = root == c->comm->rank;
		c->is_leaf = true;
	} else if (root == MPI_ROOT || root == MPI_PROC_NULL) {
		c->at_root = root == MPI_ROOT;
		c->args.role = root == MPI_ROOT ? COLL_ROOT : COLL_IDLE;
		return MPI_SUCCESS;
	} else {
		c->is_leaf = true;
	}
	if (root < 0 || root >= lmpi_coll_width(c))
		return lmpi_error(MPI_ERR_ROOT,
				  "root %d is not a rank of the %s, which "
				  "has %d processes",
				  root, c->comm->remote ? "remote group" : "communicator",
				  lmpi_coll_width(c));
	c->args.root = (uint32_t)root;
	return MPI_SUCCESS;
}

/* MPI_IN_PLACE exists only inside one group. */
static int
in_place_between(const struct lmpi_coll *c, bool in_place)
{
	return in_place && c->comm->remote != NULL
		       ? lmpi_error(MPI_ERR_BUFFER, "MPI_IN_PLACE in an inter-communicator")
		       : MPI_SUCCESS;
}

/* Count, datatype and buffer of one side. */
static int
check_coll(const void *buf, MPI_Count count, MPI_Datatype datatype, struct lmpi_type **type)
{
	int rc = lmpi_check_count(count);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, type);
	if (rc == MPI_SUCCESS)
		rc = lmpi_check_buffer(buf, count, *type);
	return rc;
}

static int
check_coll_counts(struct lmpi_ints counts, int n, const char *what)
{
	if (counts.at == NULL)
		return lmpi_error(MPI_ERR_ARG, "%s is a null pointer", what);
	for (int i = 0; i < n; i++)
		if (ints_at(counts, i) < 0)
			return lmpi_error(MPI_ERR_COUNT, "%s[%d] is %lld", what, i,
					  (long long)ints_at(counts, i));
	return MPI_SUCCESS;
}

static int
check_vector(struct lmpi_ints counts, struct lmpi_ints displs, int n, MPI_Datatype datatype,
	     struct lmpi_type **type)
{
	int rc = check_coll_counts(counts, n, "counts");

	if (rc == MPI_SUCCESS && displs.at == NULL && n > 0)
		rc = lmpi_error(MPI_ERR_ARG, "displs is a null pointer");
	return rc ? rc : lmpi_check_type(datatype, type);
}

/* Both sides of a block have to be of one length here. */
static int
in_place_elsewhere(const char *what)
{
	return lmpi_error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE where it may not be", what);
}

/* Everybody gives and gets. */
static int
begin_of_all(struct lmpi_coll **c, enum coll_op op, MPI_Comm comm, bool in_place)
{
	int rc = begin_coll(c, op, comm);

	if (rc == MPI_SUCCESS)
		rc = in_place_between(*c, in_place);
	if (rc == MPI_SUCCESS)
		(*c)->args.in_place = in_place;
	return rc;
}

/* The root may have its own block in place; what: the buffer of that block. */
static int
begin_rooted(struct lmpi_coll **c, enum coll_op op, MPI_Comm comm, int root, bool in_place,
	     const char *what)
{
	int rc = begin_coll(c, op, comm);

	if (rc == MPI_SUCCESS)
		rc = lmpi_coll_set_root(*c, root);
	if (rc == MPI_SUCCESS)
		rc = in_place_between(*c, in_place && (*c)->args.role != COLL_IDLE);
	if (rc)
		return rc;
	if (in_place && (*c)->is_leaf && !(*c)->at_root)
		return in_place_elsewhere(what);
	(*c)->args.in_place = in_place;
	return MPI_SUCCESS;
}

int
lmpi_coll_Barrier(struct lmpi_coll **c, MPI_Comm comm)
{
	return begin_coll(c, COLL_BARRIER, comm);
}

int
lmpi_coll_Bcast(struct lmpi_coll **c, void *buffer, MPI_Count count, MPI_Datatype datatype,
		int root, MPI_Comm comm)
{
	struct lmpi_type *t;
	int rc = begin_coll(c, COLL_BCAST, comm);

	if (rc == MPI_SUCCESS)
		rc = lmpi_coll_set_root(*c, root);
	if (rc || (*c)->args.role == COLL_IDLE)
		return rc;
	rc = check_coll(buffer, count, datatype, &t);
	if (rc)
		return rc;
	if (buffer == MPI_IN_PLACE)
		return in_place_elsewhere("buffer");
	(*c)->args.bytes = (uint64_t)(count * t->size);
	return lmpi_side_uniform(*c, buffer, 1, count, t,
				 (*c)->at_root ? LMPI_SIDE_IN : LMPI_SIDE_OUT, &(*c)->recv);
}

/* The side of the one process, root of a gather or receiver of a scatter etc. */
static int
one_block(struct lmpi_coll *c, const void *buf, MPI_Count count, MPI_Datatype datatype, int role,
	  char **base)
{
	struct lmpi_type *t;
	int rc = check_coll(buf, count, datatype, &t);

	if (rc)
		return rc;
	c->args.bytes = c->args.own_bytes = (uint64_t)(count * t->size);
	return lmpi_side_uniform(c, buf, 1, count, t, role, base);
}

/* One equal block for every process. */
static int
all_blocks(struct lmpi_coll *c, const void *buf, MPI_Count count, MPI_Datatype datatype, int role,
	   char **base)
{
	struct lmpi_type *t;
	int rc = check_coll(buf, count, datatype, &t);

	if (rc)
		return rc;
	c->args.bytes = (uint64_t)(count * t->size);
	return lmpi_side_uniform(c, buf, lmpi_coll_width(c), count, t, role, base);
}

/* A block for every process, each of its own length. */
static int
vector_blocks(struct lmpi_coll *c, const void *buf, struct lmpi_ints counts,
	      struct lmpi_ints displs, MPI_Datatype datatype, int role, char **base,
	      const uint64_t **bytes, const uint64_t **at)
{
	struct lmpi_type *t;
	int n = lmpi_coll_width(c), rc = check_vector(counts, displs, n, datatype, &t);

	return rc ? rc : lmpi_side_vector(c, buf, n, counts, displs, t, role, base, bytes, at);
}

/* With the own contribution in place the receive side has content to begin with. */
static int
coll_receiving(bool in_place)
{
	return in_place ? LMPI_SIDE_IN | LMPI_SIDE_OUT : LMPI_SIDE_OUT;
}

int
lmpi_coll_Gather(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
		 MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
		 int root, MPI_Comm comm)
{
	bool in_place = sendbuf == MPI_IN_PLACE;
	int rc = begin_rooted(c, COLL_GATHER, comm, root, in_place, "sendbuf");

	if (rc)
		return rc;
	if (!in_place && (*c)->is_leaf)
		rc = one_block(*c, sendbuf, sendcount, sendtype, LMPI_SIDE_IN, &(*c)->send);
	if (rc == MPI_SUCCESS && (*c)->at_root)
		rc = all_blocks(*c, recvbuf, recvcount, recvtype, coll_receiving(in_place),
				&(*c)->recv);
	return rc;
}

int
lmpi_coll_Gatherv(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
		  MPI_Datatype sendtype, void *recvbuf, struct lmpi_ints recvcounts,
		  struct lmpi_ints displs, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	bool in_place = sendbuf == MPI_IN_PLACE;
	int rc = begin_rooted(c, COLL_GATHER, comm, root, in_place, "sendbuf");

	if (rc)
		return rc;
	(*c)->algorithm = "linear"; /* only the root knows the lengths */
	(*c)->args.vector = true;
	if (!in_place && (*c)->is_leaf)
		rc = one_block(*c, sendbuf, sendcount, sendtype, LMPI_SIDE_IN, &(*c)->send);
	if (rc || !(*c)->at_root)
		return rc;
	return vector_blocks(*c, recvbuf, recvcounts, displs, recvtype, coll_receiving(in_place),
			     &(*c)->recv, &(*c)->args.bytes_of, &(*c)->args.displ);
}

int
lmpi_coll_Scatter(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
		  MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
		  int root, MPI_Comm comm)
{
	bool in_place = recvbuf == MPI_IN_PLACE;
	int rc = begin_rooted(c, COLL_SCATTER, comm, root, in_place, "recvbuf");

	if (rc)
		return rc;
	if (!in_place && (*c)->is_leaf)
		rc = one_block(*c, recvbuf, recvcount, recvtype, LMPI_SIDE_OUT, &(*c)->recv);
	if (rc == MPI_SUCCESS && (*c)->at_root)
		rc = all_blocks(*c, sendbuf, sendcount, sendtype, LMPI_SIDE_IN, &(*c)->send);
	return rc;
}

int
lmpi_coll_Scatterv(struct lmpi_coll **c, const void *sendbuf, struct lmpi_ints sendcounts,
		   struct lmpi_ints displs, MPI_Datatype sendtype, void *recvbuf,
		   MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	bool in_place = recvbuf == MPI_IN_PLACE;
	int rc = begin_rooted(c, COLL_SCATTER, comm, root, in_place, "recvbuf");

	if (rc)
		return rc;
	(*c)->algorithm = "linear";
	(*c)->args.vector = true;
	if (!in_place && (*c)->is_leaf)
		rc = one_block(*c, recvbuf, recvcount, recvtype, LMPI_SIDE_OUT, &(*c)->recv);
	if (rc || !(*c)->at_root)
		return rc;
	return vector_blocks(*c, sendbuf, sendcounts, displs, sendtype, LMPI_SIDE_IN, &(*c)->send,
			     &(*c)->args.bytes_of, &(*c)->args.displ);
}

int
lmpi_coll_Allgather(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
		    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
		    MPI_Datatype recvtype, MPI_Comm comm)
{
	bool in_place = sendbuf == MPI_IN_PLACE;
	int rc = begin_of_all(c, COLL_ALLGATHER, comm, in_place);

	if (rc)
		return rc;
	if (!in_place)
		rc = one_block(*c, sendbuf, sendcount, sendtype, LMPI_SIDE_IN, &(*c)->send);
	return rc ? rc
		  : all_blocks(*c, recvbuf, recvcount, recvtype, coll_receiving(in_place),
			       &(*c)->recv);
}

int
lmpi_coll_Allgatherv(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
		     MPI_Datatype sendtype, void *recvbuf, struct lmpi_ints recvcounts,
		     struct lmpi_ints displs, MPI_Datatype recvtype, MPI_Comm comm)
{
	bool in_place = sendbuf == MPI_IN_PLACE;
	int rc = begin_of_all(c, COLL_ALLGATHER, comm, in_place);

	if (rc)
		return rc;
	(*c)->algorithm = "ring";
	(*c)->args.vector = true;
	if (!in_place)
		rc = one_block(*c, sendbuf, sendcount, sendtype, LMPI_SIDE_IN, &(*c)->send);
	return rc ? rc
		  : vector_blocks(*c, recvbuf, recvcounts, displs, recvtype,
				  coll_receiving(in_place), &(*c)->recv, &(*c)->args.bytes_of,
				  &(*c)->args.displ);
}

int
lmpi_coll_Alltoall(struct lmpi_coll **c, const void *sendbuf, MPI_Count sendcount,
		   MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
		   MPI_Comm comm)
{
	bool in_place = sendbuf == MPI_IN_PLACE;
	int rc = begin_of_all(c, COLL_ALLTOALL, comm, in_place);

	if (rc)
		return rc;
	if (!in_place)
		rc = all_blocks(*c, sendbuf, sendcount, sendtype, LMPI_SIDE_IN, &(*c)->send);
	(*c)->args.own_bytes = (*c)->args.bytes;
	return rc ? rc
		  : all_blocks(*c, recvbuf, recvcount, recvtype, coll_receiving(in_place),
			       &(*c)->recv);
}

int
lmpi_coll_Alltoallv(struct lmpi_coll **c, const void *sendbuf, struct lmpi_ints sendcounts,
		    struct lmpi_ints sdispls, MPI_Datatype sendtype, void *recvbuf,
		    struct lmpi_ints recvcounts, struct lmpi_ints rdispls, MPI_Datatype recvtype,
		    MPI_Comm comm)
{
	bool in_place = sendbuf == MPI_IN_PLACE;
	int rc = begin_of_all(c, COLL_ALLTOALL, comm, in_place);

	if (rc)
		return rc;
	(*c)->algorithm = "pairwise";
	(*c)->args.vector = true;
	if (!in_place)
		rc = vector_blocks(*c, sendbuf, sendcounts, sdispls, sendtype, LMPI_SIDE_IN,
				   &(*c)->send, &(*c)->args.send_bytes, &(*c)->args.send_displ);
	return rc ? rc
		  : vector_blocks(*c, recvbuf, recvcounts, rdispls, recvtype,
				  coll_receiving(in_place), &(*c)->recv, &(*c)->args.bytes_of,
				  &(*c)->args.displ);
}

static int
check_types(struct lmpi_ints counts, struct lmpi_ints displs, const MPI_Datatype *types, int n)
{
	struct lmpi_type *t;
	int rc = check_coll_counts(counts, n, "counts");

	if (rc == MPI_SUCCESS && (displs.at == NULL || types == NULL))
		rc = lmpi_error(MPI_ERR_ARG, "displs or types is a null pointer");
	for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
		if (ints_at(counts, i) != 0)
			rc = lmpi_check_type(types[i], &t);
	return rc;
}

int
lmpi_coll_Alltoallw(struct lmpi_coll **c, const void *sendbuf, struct lmpi_ints sendcounts,
		    struct lmpi_ints sdispls, const MPI_Datatype sendtypes[], void *recvbuf,
		    struct lmpi_ints recvcounts, struct lmpi_ints rdispls,
		    const MPI_Datatype recvtypes[], MPI_Comm comm)
{
	bool in_place = sendbuf == MPI_IN_PLACE;
	int rc = begin_of_all(c, COLL_ALLTOALL, comm, in_place), size;

	if (rc)
		return rc;
	size = lmpi_coll_width(*c);
	(*c)->algorithm = "pairwise";
	(*c)->not_impi = true;
	if (!in_place) {
		rc = check_types(sendcounts, sdispls, sendtypes, size);
		if (rc == MPI_SUCCESS)
			rc = lmpi_side_types(*c, sendbuf, size, sendcounts, sdispls, sendtypes,
					     LMPI_SIDE_IN, &(*c)->send, &(*c)->args.send_bytes,
					     &(*c)->args.send_displ);
	}
	if (rc == MPI_SUCCESS)
		rc = check_types(recvcounts, rdispls, recvtypes, size);
	return rc ? rc
		  : lmpi_side_types(*c, recvbuf, size, recvcounts, rdispls, recvtypes,
				    coll_receiving(in_place), &(*c)->recv, &(*c)->args.bytes_of,
				    &(*c)->args.displ);
}
