/* SPDX-License-Identifier: BSD-2-Clause */
/* search_run.h - the trials of a search (pktgen/search.h) over a world that is up.
 *
 * A trial offers one rate for trial_ms, then waits until nothing comes any more.  Missed is what
 * the senders could not send because relayd held them back, what was lost, and what a sender's
 * endpoint had to send again.
 *
 * Threads  one. */
#ifndef PKTGEN_SEARCH_RUN_H
#define PKTGEN_SEARCH_RUN_H

#include "run_internal.h"

#define PG_TRIALS_KEPT 512u

/* Latencies in ns. */
struct pg_trial {
	double pps; /* offered */
	uint64_t offered, sent, received, resent;
	double missed; /* share of offered */
	uint64_t p50_ns, p99_ns, max_ns;
};

struct pg_trials {
	struct pg_search_conf conf;
	struct pg_trial trial[PG_TRIALS_KEPT];
	uint32_t n;
};

/* From here on all senders together offer that rate. */
void pg_search_offer(struct pg_run *r, double pps);
/* All trials into *t; the rates, 0: none. */
void pg_search_run(struct pg_run *r, struct pg_trials *t, double found[PG_GOALS]);

#endif
