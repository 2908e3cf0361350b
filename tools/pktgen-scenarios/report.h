/* report.h - results as a table for people, JSON, and JUnit XML for a CI.
 * Threads  one. */
#ifndef PKTGEN_REPORT_H
#define PKTGEN_REPORT_H

#include "run.h"

#include <stdio.h>

void pg_report_head(FILE *f);
void pg_report_row(FILE *f, const struct pg_result *r);
/* "N passed, N failed" */
void pg_report_sum(FILE *f, const struct pg_result *r, uint32_t n);
/* 0 or -errno. */
int pg_report_json(const char *path, const struct pg_result *r, uint32_t n);
int pg_report_junit(const char *path, const struct pg_result *r, uint32_t n);

#endif
