/* SPDX-License-Identifier: BSD-2-Clause */
/* tune/caches.h - what follows from the caches of a machine: defaults, and what cannot be.
 *
 *   Derive      numbers that say how much is copied ahead of a use: what was copied shall still be
 *               in the cache of the CPU that uses it.
 *   Believe     a value of the store that lies outside of what a machine with these caches can have
 *               as its best was not measured here, whatever its key says.  What lies inside costs
 *               little if it is wrong (doc/tuning.md has the figures).
 *
 * Units    bytes; 0 where a level is not known or not there, for which a common size is taken.
 * Threads  none: functions of their arguments. */
#ifndef TUNE_CACHES_H
#define TUNE_CACHES_H

#include "tune/store.h"

/* Of one CPU; l1 is that of data. */
struct tune_caches {
	uint64_t l1, l2, l3;
};

/* NEAR_COPY and NEAR_QUEUE, within their bounds. */
void tune_derive(const struct tune_caches *c, struct tune_values *v);
/* The first value of v that such a machine cannot have, and what it can; false: all can be. */
bool tune_unbelievable(const struct tune_caches *c, const struct tune_values *v,
		       enum tune_value *which, uint64_t *least, uint64_t *most);
/* Those bounds; true: this value has such bounds. */
bool tune_believed(const struct tune_caches *c, enum tune_value i, uint64_t *least, uint64_t *most);

#endif
