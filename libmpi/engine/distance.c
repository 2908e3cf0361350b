/* SPDX-License-Identifier: BSD-2-Clause */
/* Near or far: see distance.h. */
#include "distance.h"

/* The system call's cycles for a KiB: there near ends. */
#define TIMES 3u
/* So many records more of one opinion than of the other: one that was interrupted is one, and the
 * first time round a ring each finds cold pages. */
#define SURE 12
#define KIB  1024u

void
lmpi_distance_init(struct lmpi_distance *d, uint32_t few, uint64_t few_cycles, uint32_t many,
		   uint64_t many_cycles)
{
	*d = (struct lmpi_distance){.votes = -SURE};
	if (many <= few || many_cycles <= few_cycles)
		return; /* put aside while it measured: near, as where nothing is known */
	uint64_t bound = TIMES * (many_cycles - few_cycles) * KIB / (many - few);
	d->bound = bound > UINT32_MAX ? 0 : (uint32_t)bound;
}

bool
lmpi_distance_copied(struct lmpi_distance *d, uint64_t bytes, uint64_t cycles)
{
	if (d->bound == 0 || bytes < LMPI_DISTANCE_BYTES)
		return false;
	if (cycles / d->bound > bytes / KIB) {
		if (d->votes < SURE)
			d->votes++;
	} else if (d->votes > -SURE) {
		d->votes--;
	}
	if (d->far ? d->votes > -SURE : d->votes < SURE)
		return false;
	d->far = !d->far;
	return true;
}
