/* The members of a communicator meet, those that live. */
#include "meet.h"

#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "comm.h"
#include "engine.h"

static int
compare_members(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

int
lmpi_comm_meet(struct lmpi_comm *c)
{
	uint32_t n = (uint32_t)c->group->size, *member;
	bool failed;

	if (!lmpi_survives())
		return lmpi_coll_barrier(c);
	member = malloc(n * sizeof(*member));
	if (member == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	memcpy(member, c->group->world, n * sizeof(*member));
	qsort(member, n, sizeof(*member), compare_members);
	failed = lmpi_meet_members(c->cid, member, n);
	free(member);
	return failed ? lmpi_error(LMPI_ERR_PROC_FAILED, "a process of the group has failed")
		      : MPI_SUCCESS;
}
