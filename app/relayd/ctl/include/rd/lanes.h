/* SPDX-License-Identifier: BSD-2-Clause */
/* rd/lanes.h - who talks to whom: a table of lanes that a worker fills while somebody measures.
 *
 * Bounded: what does not fit is counted together.  A segment costs one look-up of at most
 * RD_LANES_PROBES places, no allocation.
 *
 * Threads  one owner at a time: the worker while it counts, then whoever reads. */
#ifndef RD_LANES_H
#define RD_LANES_H

#include <stddef.h>
#include <stdint.h>

#define RD_LANES_PROBES 16

struct rd_lane {
	uint32_t job; /* label base; 0: free */
	uint32_t src, dst;
	uint32_t in_path;
	uint64_t segments, bytes;
};
struct rd_lanes {
	uint32_t mask, used;
	uint64_t other_segments, other_bytes; /* of lanes that found no place */
	struct rd_lane lane[];
};

/* Memory of a table with 2^bits places. */
size_t rd_lanes_footprint(uint32_t bits);
struct rd_lanes *rd_lanes_new(void *mem, uint32_t bits);
/* A segment of that lane.  job is not 0. */
void rd_lanes_count(struct rd_lanes *t, uint32_t job, uint32_t src, uint32_t dst, uint32_t in_path,
		    uint32_t bytes);
/* Add what is in from. */
void rd_lanes_merge(struct rd_lanes *t, const struct rd_lanes *from);
/* Pack the lanes to the front, those with most bytes first; returns how many.  No more
 * counting after that. */
uint32_t rd_lanes_sort(struct rd_lanes *t);

#endif
