/* SPDX-License-Identifier: BSD-2-Clause */
/* measure.h - some seconds of looking: who talks to whom (lanes), what holds it up (advise).
 *
 * One measurement at a time.  For its time each worker counts segments by pair of
 * processes in a table of control's (rd/lanes.h), and snapshots are taken every tick.
 *
 * Threads  control's. */
#ifndef RD_MEASURE_H
#define RD_MEASURE_H

#include "rd/advise.h"
#include "rd/lanes.h"

#include <stdbool.h>
#include <stdint.h>

#define RD_MEASURE_LANE_BITS 14 /* places of a table: 640 KB a worker, while it lasts */

struct rd_rpc_env;
struct rd_measure;
struct rd_snapshot;

struct rd_measured {
	uint64_t duration_ns;
	struct rd_lanes *lanes; /* sorted */
	uint32_t nlanes;
	const struct rd_snapshot *snapshot; /* the last one */
	/* for advise; the i-th trunk of input is this path */
	struct rd_advise_input input;
	uint32_t path[RD_ADVISE_TRUNKS];
	char peer[RD_ADVISE_TRUNKS][64];
};

/* env outlives it. */
struct rd_measure *rd_measure_new(const struct rd_rpc_env *env);
/* After the workers have ended.  Accepts NULL. */
void rd_measure_free(struct rd_measure *m);
/* done is called once, with NULL if it could not be (no memory).  False: one runs. */
bool rd_measure_start(struct rd_measure *m, uint64_t duration_ns,
		      void (*done)(void *user, const struct rd_measured *r), void *user);
/* Whoever asked has gone: done is not called any more. */
void rd_measure_forget(struct rd_measure *m, const void *user);
void rd_measure_tick(struct rd_measure *m);

#endif
