/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ranks are near each other: domains (clusters, nodes) numbered by their lowest ranks. */
#include "builder.h"

#include <string.h>

uint32_t
coll_domains_number(const uint32_t *key, uint32_t n, uint32_t *number, uint32_t *lowest)
{
	uint32_t count = 0, last = 0;
	for (uint32_t r = 0; r < n; r++) {
		/* Ranks lie in blocks or in turns: the last one's domain, or the next. */
		uint32_t d = last, tried = 0;
		while (tried < count && key[lowest[d]] != key[r]) {
			d = d + 1 < count ? d + 1 : 0;
			tried++;
		}
		if (tried == count) {
			d = count++;
			lowest[d] = r;
		}
		number[r] = last = d;
	}
	return count;
}

struct coll_locality
coll_locality_of(const uint32_t *key, uint32_t n, uint32_t *number, uint32_t *scratch)
{
	struct coll_locality l = {.count = coll_domains_number(key, n, number, scratch)};
	memset(scratch, 0, n * sizeof *scratch);
	for (uint32_t r = 0; r < n; r++)
		scratch[number[r]]++;
	l.each = scratch[0];
	for (uint32_t d = 1; d < l.count; d++)
		l.each = scratch[d] == l.each ? l.each : 0;
	if (l.count == n && n > 1)
		l.count = 0;
	if (l.count > 1)
		l.of = number;
	return l;
}

bool
coll_domains_find(struct coll_schedule *s, const uint32_t *key, uint32_t n, uint32_t rank,
		  struct coll_domains *d)
{
	uint32_t *number = coll_numbers(s, 3 * n + 1);
	if (!number)
		return false;
	uint32_t *first = number + n, *ranks = first + n + 1;
	d->count = coll_domains_number(key, n, number, ranks);
	memset(first, 0, (n + 1) * sizeof *first);
	for (uint32_t r = 0; r < n; r++)
		first[number[r] + 1]++;
	for (uint32_t i = 0; i < d->count; i++)
		first[i + 1] += first[i];
	for (uint32_t r = 0; r < n; r++) {
		if (r == rank)
			d->me = first[number[r]];
		ranks[first[number[r]]++] = r;
	}
	for (uint32_t i = d->count; i > 0; i--) /* each is at the end of its own now */
		first[i] = first[i - 1];
	first[0] = 0;
	d->mine = number[rank];
	d->me -= first[d->mine];
	d->number = number;
	d->first = first;
	d->rank = ranks;
	return true;
}
