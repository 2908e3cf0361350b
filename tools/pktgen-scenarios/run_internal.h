/* SPDX-License-Identifier: BSD-2-Clause */
/* run_internal.h - between run.c and search_run.c: a run, and how it waits.
 * Threads  one. */
#ifndef PKTGEN_RUN_INTERNAL_H
#define PKTGEN_RUN_INTERNAL_H

#include "run.h"

struct pg_run {
	struct pg_ctx *ctx;
	const struct pg_load *load;
	struct pg_world *world;
	struct pg_result *out;
	uint64_t start_ns; /* sending began */
	uint64_t first_event_ns;
	uint32_t next_event;
	uint64_t cut_end_ns[4]; /* private, global, mute, deafen; 0: not cut */
	uint64_t room_end_ns, wrong_end_ns, replay_end_ns[PG_SIDES];
	uint32_t answers, breaks; /* since jobs were given; before */
	bool disrupted;		  /* what is lost is no fault */
	uint64_t measure_ns;	  /* measuring began */
	uint64_t counted;	  /* segments that slots have */
};

/* The loop turns until done, or for ms.  False: not in that time, or stopped. */
bool pg_run_wait(struct pg_run *r, bool (*done)(const struct pg_run *r), uint32_t ms);
/* For so long, whatever comes. */
void pg_run_wait_ms(struct pg_run *r, uint32_t ms);
/* All that was sent has come, or is written off, and is acknowledged. */
bool pg_run_drained(const struct pg_run *r);

#endif
