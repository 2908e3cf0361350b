/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.h - one line on standard error that says what a run does: on a terminal it is written
 * over, elsewhere a line a second if it was asked for.
 * Threads  one. */
#ifndef PKTGEN_PROGRESS_H
#define PKTGEN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct pg_world;

struct pg_progress {
	bool on, terminal;
	const char *scenario, *phase;
	double pps; /* a search tries it; 0: no search */
	uint64_t begin_ns, next_ns, last_ns, last_received;
};

/* always: also where standard error is no terminal. */
void pg_progress_init(struct pg_progress *p, bool always);
void pg_progress_begin(struct pg_progress *p, const char *scenario);
/* A verb: what the run does from here on. */
void pg_progress_phase(struct pg_progress *p, const char *phase);
void pg_progress_rate(struct pg_progress *p, double pps);
/* Now and then; w may be NULL. */
void pg_progress_turn(struct pg_progress *p, uint64_t now_ns, const struct pg_world *w);
/* The line goes. */
void pg_progress_end(struct pg_progress *p);

#endif
