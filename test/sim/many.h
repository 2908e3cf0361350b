/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/many.h - many runs side by side, SIM_JOBS processes, or one per processor (two at
 * least). */
#ifndef SIM_MANY_H
#define SIM_MANY_H

#include "scenario.h"

struct job {
	const struct scenario *sc;
	uint64_t seed;
	bool twice; /* run twice and compare */
};

struct many {
	uint64_t from, to; /* jobs from .. to - 1 */
	void (*job)(void *arg, uint64_t i, struct job *j);
	void *arg;
	uint64_t seconds; /* no job is begun after that; 0: no limit */
};

/* Prints each failure with the command that runs it again, figures of the scenarios
 * that have some, and the sum; *next: the first job not begun.  0: all passed. */
int many_run(const struct many *m, uint64_t *next);

#endif
