/* SPDX-License-Identifier: BSD-2-Clause */
/* base/hist.h - log-linear histogram of uint64_t values (latencies in ns,
 * sizes in bytes): 16 buckets per power of two, so a quantile is off by at
 * most 1/16 of its value.  Fixed size, no allocation, one owner; another
 * thread may read a copy. */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

#define BASE_HIST_SUB	  16
#define BASE_HIST_BUCKETS (BASE_HIST_SUB * 61)

struct base_hist {
	uint64_t count;
	uint64_t sum;
	uint64_t min, max; /* valid if count > 0 */
	uint64_t bucket[BASE_HIST_BUCKETS];
};

void base_hist_init(struct base_hist *h);
void base_hist_add(struct base_hist *h, uint64_t v);
void base_hist_merge(struct base_hist *into, const struct base_hist *from);
/* The value below which ppm/10^6 of the values lie (upper edge of its bucket,
 * clamped to [min, max]); 0 if empty. */
uint64_t base_hist_quantile(const struct base_hist *h, uint32_t ppm);

/* The largest value that bucket b counts. */
uint64_t base_hist_upper(uint32_t b);

#endif
