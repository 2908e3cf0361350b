/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of collectives with the locality that libmpi would find. */
#ifndef COLL_PLACES_KIT_H
#define COLL_PLACES_KIT_H

#include "base/assert.h"
#include "coll/schedule.h"

#define COLL_PLACES_MAX	  64
#define COLL_PLACES_RANKS 256 /* at most, of a */

/* The domains of a are what of says, clusters or nodes of one; of NULL: all on one node.
 * number has room for all ranks and lasts as long as a. */
static inline void
coll_places_set(struct coll_args *a, const uint32_t *of, bool nodes, uint32_t *number)
{
	uint32_t scratch[COLL_PLACES_RANKS];
	BASE_ASSERT(a->size <= COLL_PLACES_RANKS);
	a->cluster_of = nodes ? NULL : of;
	a->near = of ? coll_locality_of(of, a->size, number, scratch)
		     : (struct coll_locality){.count = 1, .each = a->size};
}

#endif
