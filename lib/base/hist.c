/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hist.h"

#include <string.h>

void
base_hist_init(struct base_hist *h)
{
	memset(h, 0, sizeof *h);
	h->min = UINT64_MAX;
}

/* Values below 16 have a bucket each; above, 16 buckets per power of two. */
static uint32_t
hist_bucket_of(uint64_t v)
{
	if (v < BASE_HIST_SUB)
		return (uint32_t)v;
	uint32_t top = 63u - (uint32_t)__builtin_clzll(v); /* >= 4 */
	uint32_t sub = (uint32_t)(v >> (top - 4)) & (BASE_HIST_SUB - 1);
	return (top - 3) * BASE_HIST_SUB + sub;
}

uint64_t
base_hist_upper(uint32_t b)
{
	if (b < BASE_HIST_SUB)
		return b;
	uint32_t shift = b / BASE_HIST_SUB - 1;
	uint64_t low = (uint64_t)(BASE_HIST_SUB + b % BASE_HIST_SUB) << shift;
	return low + (((uint64_t)1 << shift) - 1);
}

void
base_hist_add(struct base_hist *h, uint64_t v)
{
	h->count++;
	h->sum += v;
	if (v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->bucket[hist_bucket_of(v)]++;
}

void
base_hist_merge(struct base_hist *into, const struct base_hist *from)
{
	if (!from->count)
		return;
	into->count += from->count;
	into->sum += from->sum;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	for (uint32_t i = 0; i < BASE_HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint64_t
base_hist_quantile(const struct base_hist *h, uint32_t ppm)
{
	if (!h->count)
		return 0;
	/* count * ppm / 10^6, rounded up; in two steps because the product may not fit. */
	uint64_t want = h->count / 1000000 * ppm + (h->count % 1000000 * ppm + 999999) / 1000000;
	if (!want)
		want = 1;
	uint64_t seen = 0;
	for (uint32_t i = 0; i < BASE_HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= want) {
			uint64_t v = base_hist_upper(i);
			return v < h->min ? h->min : v > h->max ? h->max : v;
		}
	}
	return h->max;
}
