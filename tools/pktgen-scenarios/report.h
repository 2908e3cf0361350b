/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h - results as a table for people, JSON, JUnit XML for a CI, and a page with plots.
 * report_html.c writes a page that needs nothing else.
 * Threads  one. */
#ifndef PKTGEN_REPORT_H
#define PKTGEN_REPORT_H

#include "run.h"

#include <stdio.h>

void pg_report_head(FILE *f);
void pg_report_row(FILE *f, const struct pg_result *r);
/* "N passed, N failed" */
void pg_report_sum(FILE *f, const struct pg_result *r, uint32_t n);
/* What is told of a latency, in this order. */
#define PG_PERCENTILES 8u
struct pg_percentile {
	const char *name; /* "p50_us" */
	uint32_t ppm;
};
extern const struct pg_percentile pg_percentiles[PG_PERCENTILES];

/* Text in XML or HTML. */
void pg_report_text(FILE *f, const char *s);

/* 0 or -errno. */
int pg_report_json(const char *path, const struct pg_result *r, uint32_t n);
int pg_report_html(const char *path, const struct pg_result *r, uint32_t n);
int pg_report_junit(const char *path, const struct pg_result *r, uint32_t n);

#endif
