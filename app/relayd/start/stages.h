/* SPDX-License-Identifier: BSD-2-Clause */
/* stages.h - relayd from a checked configuration to a running relay and back.
 *
 * Each stage has an undo; a failure undoes what was done, in reverse.  The order
 * matters on the way down: workers, then ports, then the pools, then EAL. */
#ifndef RD_STAGES_H
#define RD_STAGES_H

#include "rd/conf.h"

/* Memory the configuration needs: packet buffers and tables. */
struct rd_plan {
	uint32_t buffers_first, buffers; /* of worker 0, of each other one */
	uint32_t buffer_bytes;
	uint64_t pool_bytes, table_bytes;
	uint64_t gateway_bytes; /* besides eal.memory_mb; touched as it is needed */
	uint32_t mem_mb;	/* what eal.memory_mb must be at least */
};
/* False: the limits contradict each other (no footprint). */
bool rd_plan_memory(const struct rd_conf *conf, struct rd_plan *plan);
/* Packet buffers of all workers. */
uint32_t rd_plan_buffers(const struct rd_conf *conf, const struct rd_plan *plan);

/* Run the relay until it is told to stop.  path: of the file that conf was read from, to be read
 * again at a reload, which writes to conf.  Returns the exit status. */
int rd_run(const char *path, struct rd_conf *conf, const struct rd_plan *plan);

#endif
