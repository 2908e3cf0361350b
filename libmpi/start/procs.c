/* SPDX-License-Identifier: BSD-2-Clause */
/* What all jobs call a process, and the order that comes of it: see others.h of engine. */
#include "others.h"

#include "internal.h"

#include <string.h>

void
lmpi_job_called(uint64_t name)
{
	for (uint32_t r = 0; r < lmpi_world.size; r++)
		((struct lmpi_proc *)(uintptr_t)&lmpi_world.proc[r])->job = name;
}

uint32_t
lmpi_proc_find(uint64_t job, uint32_t number)
{
	uint32_t first = job == lmpi_world.proc[0].job ? 0 : lmpi_world.size;

	for (uint32_t r = first; r < lmpi_world.slots; r++)
		if (lmpi_world.proc[r].job == job && lmpi_world.proc[r].number == number)
			return r;
	return UINT32_MAX;
}

bool
lmpi_proc_before(uint32_t a, uint32_t b)
{
	const struct lmpi_proc *x = &lmpi_world.proc[a], *y = &lmpi_world.proc[b];

	return x->job != y->job ? x->job < y->job : x->number < y->number;
}

int
lmpi_proc_order(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return lmpi_proc_before(x, y) ? -1 : lmpi_proc_before(y, x);
}
