/* SPDX-License-Identifier: BSD-2-Clause */
/* pktgen/search.h - which rate to try next, and what follows from the trials: the no-drop rate
 * (NDR) and the partial-drop rate (PDR) of RFC 2544 by bisection.
 *
 * A trial offers one rate for trial_ms and says which share of the offered segments was missed.
 * Each rate is tried `trials` times and judged by the median, so that one bad moment of a machine
 * decides nothing.  NDR is the highest rate that missed nothing, PDR the highest that missed at
 * most loss_ppm.  The maximum is tried first, then the middle (by ratio) of the highest good and
 * the lowest bad rate, until they are within precision_ppm of each other.
 *
 * Units    rates in segments a second; shares 0 .. 1; ppm of a rate or of segments.
 * Threads  plain data, one owner.  No I/O, no clock. */
#ifndef PKTGEN_SEARCH_H
#define PKTGEN_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#define PG_TRIALS_MAX 15u

enum pg_goal { PG_NDR, PG_PDR, PG_GOALS };

struct pg_search_conf {
	uint64_t min_pps, max_pps;
	uint32_t loss_ppm;	/* PDR may miss so many */
	uint32_t precision_ppm; /* of the rate: 10000 is 1 % */
	uint32_t trials;	/* of each rate, odd; 0: no search */
	uint32_t trial_ms;
};

struct pg_search {
	struct pg_search_conf conf;
	double good[PG_GOALS], bad[PG_GOALS]; /* 0: none yet */
	double at;			      /* the rate that is tried */
	double missed[PG_TRIALS_MAX];
	uint32_t n; /* trials at that rate */
};

/* conf is valid: min_pps <= max_pps, trials odd and at most PG_TRIALS_MAX. */
void pg_search_init(struct pg_search *s, const struct pg_search_conf *conf);
/* The rate of the next trial; false: both rates are found. */
bool pg_search_next(struct pg_search *s, double *pps);
/* What the trial missed of what it offered. */
void pg_search_note(struct pg_search *s, double missed);
/* 0: not even min_pps. */
double pg_search_found(const struct pg_search *s, enum pg_goal g);

#endif
