/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/deal.h - things dealt to takers in contiguous blocks: processes to relays, to shards, and
 * those of another cluster to whoever answers for them.
 *
 *     n = 7 things, k = 3 takers:   0 1 2 | 3 4 | 5 6
 *
 * The first n mod k takers have one more.  Every relay of a cluster, and the simulator, deals by
 * it.
 *
 * Limits   k > 0; things i < n, takers m < k.
 * Threads  pure functions. */
#ifndef RELAY_DEAL_H
#define RELAY_DEAL_H

#include <stdint.h>

/* Takers that have any: the first so many of k.  Others know only relays and shards that own one of
 * their cluster's processes: no other can have a trunk for the job, so no other may carry theirs.
 */
static inline uint32_t
relay_deal_takers(uint32_t n, uint32_t k)
{
	return n < k ? n : k;
}

/* How many taker m has. */
static inline uint32_t
relay_deal_count(uint32_t n, uint32_t k, uint32_t m)
{
	return n / k + (m < n % k);
}

/* The first thing of taker m. */
static inline uint32_t
relay_deal_first(uint32_t n, uint32_t k, uint32_t m)
{
	uint32_t more = n % k;
	return m * (n / k) + (m < more ? m : more);
}

/* Whose thing i is. */
static inline uint32_t
relay_deal_owner(uint32_t n, uint32_t k, uint32_t i)
{
	uint32_t q = n / k, more = n % k;
	if (i < more * (q + 1))
		return i / (q + 1);
	return more + (i - more * (q + 1)) / q;
}

#endif
