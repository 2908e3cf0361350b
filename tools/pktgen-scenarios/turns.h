/* SPDX-License-Identifier: BSD-2-Clause */
/* turns.h - measuring in turns that somebody else deals: between them the generator rests, in a
 * read of standard input, and what it measures can be stopped.  So several stand side by side,
 * each with its generator, and are measured a hundredth of a second apart
 * (test/bench/relay-turns.py).
 *
 *     turns.py                     generator
 *                   <-- "ready"    paths are up, nothing is under way
 *     "15"          -->            sends for PG_TURN_LEAD_MS, then measures for 15 ms, then
 *                                  waits until all has arrived and is acknowledged
 *                   <-- {...}      what it measured
 *     end of file   -->            ends as ever
 *
 * Threads  one. */
#ifndef PKTGEN_TURNS_H
#define PKTGEN_TURNS_H

#include "base/hist.h"

#include <stdbool.h>
#include <stdint.h>

#define PG_TURN_LEAD_MS	 3u   /* caches are another's */
#define PG_TURN_DRAIN_MS 100u /* at most */
#define PG_TURN_QUIET_MS 1u   /* for the last acknowledgement */

struct pg_turn {
	double ns;
	uint64_t segments, bytes; /* received */
	const struct base_hist *latency;
};

void pg_turn_ready(void);
/* How long the next one is; false: there is none. */
bool pg_turn_next(uint32_t *ms);
/* What is measured begins now; a latency. */
void pg_turn_begin(void);
void pg_turn_sample(uint64_t ns);
/* The median is exact if there are at most PG_TURN_SAMPLES: what a hop adds is less than what a
 * histogram's quantile may be off. */
#define PG_TURN_SAMPLES 4096u
void pg_turn_print(const struct pg_turn *t);

#endif
