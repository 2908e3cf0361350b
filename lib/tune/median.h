/* SPDX-License-Identifier: BSD-2-Clause */
/* Medians of a few samples. */
#ifndef TUNE_MEDIAN_H
#define TUNE_MEDIAN_H

#include <stdint.h>

/* Ascending, in place. */
void tune_sort(double *v, uint32_t n);
/* Of n >= 1; sorts. */
double tune_median(double *v, uint32_t n);
/* Rates are never compared beyond that: a turn that saw nothing says little of how much. */
#define TUNE_RATIO_MAX 16.0
double tune_ratio(double a, double b);

#endif
