/* SPDX-License-Identifier: BSD-2-Clause */
/* The members of a communicator meet, those that live. */
#include "meet.h"

#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "comm.h"
#include "engine.h"
#include "others.h"

uint32_t *
lmpi_comm_members(const struct lmpi_comm *c, uint32_t *n)
{
	uint32_t own = (uint32_t)c->group->size, other = c->remote ? (uint32_t)c->remote->size : 0;
	uint32_t *all = malloc((own + other) * sizeof(*all));

	if (all == NULL)
		return NULL;
	memcpy(all, c->group->world, own * sizeof(*all));
	if (other)
		memcpy(all + own, c->remote->world, other * sizeof(*all));
	qsort(all, own + other, sizeof(*all), lmpi_proc_order);
	*n = own + other;
	return all;
}

int
lmpi_comm_meet_living(struct lmpi_comm *c)
{
	uint32_t n = 0, *member = lmpi_comm_members(c, &n);
	bool failed;

	if (member == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	failed = lmpi_meet_members(c->cid, member, n);
	free(member);
	return failed ? lmpi_error(LMPI_ERR_PROC_FAILED, "a process of the group has failed")
		      : MPI_SUCCESS;
}

int
lmpi_comm_meet(struct lmpi_comm *c)
{
	/* Of several jobs one may survive deaths, another one not. */
	return lmpi_survives() || lmpi_comm_mixed(c) ? lmpi_comm_meet_living(c)
						     : lmpi_coll_barrier(c);
}
