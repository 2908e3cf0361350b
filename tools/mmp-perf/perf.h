/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.h - what the files of mmp-perf share: main.c reads the words, runs.c measures. */
#ifndef MMP_PERF_H
#define MMP_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SIZES_MAX 64

struct perf {
	const char *mode;
	uint64_t size[SIZES_MAX];
	unsigned sizes;
	double seconds; /* of a row, about */
	FILE *json;
	bool quiet, first;
};

/* A row as text for people and as JSON: pairs of a name and a number. */
struct cell {
	const char *name;
	double value;
	int digits;
};
void perf_row(struct perf *p, const struct cell *cell, unsigned n);
_Noreturn void perf_die(void);

/* Ranks 0 and 1 measure, others wait in the barrier. */
void run_pingpong(struct perf *p);
void run_burst(struct perf *p);
void run_sweep(struct perf *p);
void run_overlap(struct perf *p);
void run_bare(struct perf *p);
void run_busy(struct perf *p);
void run_tune(struct perf *p);

#endif
