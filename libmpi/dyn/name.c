/* SPDX-License-Identifier: BSD-2-Clause */
/* A name for a job of several clusters. */
#include <sys/random.h>

#include "call.h"
#include "coll.h"
#include "dyn.h"
#include "engine.h"
#include "others.h"

uint64_t
lmpi_draw(void)
{
	uint64_t r = 0;

	while (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
		;
	return r;
}

/* A broadcast is half a round trip of the WAN.  Where ranks may die it is not enough: some would
 * have the name, others not. */
int
lmpi_job_name(void)
{
	uint64_t name;
	int rc = MPI_SUCCESS;

	if (lmpi_world.nclients == 1 || lmpi_world.any_foreign) /* it needs none, or connects not */
		return MPI_SUCCESS;
	name = lmpi_draw();
	if (lmpi_survives())
		name = lmpi_meet(name);
	else
		rc = lmpi_coll_bcast_bytes(lmpi_comm_world, &name, sizeof(name), 0);
	if (rc == MPI_SUCCESS)
		lmpi_job_called(name);
	return rc;
}
