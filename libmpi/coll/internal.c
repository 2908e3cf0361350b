/* SPDX-License-Identifier: BSD-2-Clause */
/* Collectives the library makes for itself: context ids, splits, topologies. */
#include <string.h>

#include "call.h"
#include "coll.h"
#include "coll_impl.h"

static int
run_internal(struct lmpi_coll *c, int rc)
{
	return lmpi_coll_go(c, rc, LMPI_COLL_BLOCKING, NULL);
}

int
lmpi_coll_max_u64(struct lmpi_comm *comm, uint64_t *value)
{
	struct lmpi_coll *c = NULL;
	uint64_t mine = *value;
	int rc = lmpi_coll_Allreduce(&c, &mine, value, 1, MPI_UINT64_T, MPI_MAX, comm->handle);

	if (rc == MPI_SUCCESS)
		c->strict = c->args.both = true;
	return run_internal(c, rc);
}

int
lmpi_coll_allgather_ints(struct lmpi_comm *comm, const int *mine, int *all, int count)
{
	struct lmpi_coll *c = NULL;
	int rc = lmpi_coll_Allgather(&c, mine, count, MPI_INT, all, count, MPI_INT, comm->handle);

	return run_internal(c, rc);
}

int
lmpi_coll_bcast_bytes(struct lmpi_comm *comm, void *data, int64_t bytes, int root)
{
	struct lmpi_coll *c = NULL;
	int rc = lmpi_coll_Bcast(&c, data, bytes, MPI_BYTE, root, comm->handle);

	return run_internal(c, rc);
}

int
lmpi_coll_barrier(struct lmpi_comm *comm)
{
	struct lmpi_coll *c = NULL;
	int rc = lmpi_coll_Barrier(&c, comm->handle);

	return run_internal(c, rc);
}
