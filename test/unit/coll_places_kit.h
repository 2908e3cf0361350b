/* Arguments of collectives with the places that libmpi would find. */
#ifndef COLL_PLACES_KIT_H
#define COLL_PLACES_KIT_H

#include "coll/schedule.h"

#define COLL_PLACES_MAX 64

/* The places of a are what of says, clusters or nodes of one; of NULL: all on one node.
 * number has room for all ranks and lasts as long as a. */
static inline void
coll_places_set(struct coll_args *a, const uint32_t *of, bool nodes, uint32_t *number)
{
	uint32_t ranks[COLL_PLACES_MAX] = {0}, first[COLL_PLACES_MAX];
	a->cluster_of = nodes ? NULL : of;
	a->places = of ? 0 : 1;
	a->place_size = of ? 0 : a->size;
	for (uint32_t r = 0; of && r < a->size; r++) {
		uint32_t p = 0;
		while (p < a->places && of[first[p]] != of[r])
			p++;
		if (p == a->places)
			first[a->places++] = r;
		number[r] = p;
		ranks[p]++;
	}
	if (!of)
		return;
	a->place_size = ranks[0];
	for (uint32_t p = 1; p < a->places; p++)
		if (ranks[p] != ranks[0])
			a->place_size = 0;
	a->place_of = number;
	if (a->places == 1 || a->places == a->size)
		a->place_of = NULL;
	if (a->places == a->size && a->size > 1)
		a->places = 0;
}

#endif
