/* SPDX-License-Identifier: BSD-2-Clause */
#include "rd/lanes.h"

#include <stdlib.h>
#include <string.h>

size_t
rd_lanes_footprint(uint32_t bits)
{
	return sizeof(struct rd_lanes) + sizeof(struct rd_lane) * ((size_t)1 << bits);
}

struct rd_lanes *
rd_lanes_new(void *mem, uint32_t bits)
{
	struct rd_lanes *t = mem;
	memset(t, 0, rd_lanes_footprint(bits));
	t->mask = (1u << bits) - 1;
	return t;
}

static uint32_t
hash_lane(uint32_t job, uint32_t src, uint32_t dst)
{
	uint64_t h = job * 0x9e3779b97f4a7c15ull + src;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull + dst;
	h = (h ^ h >> 32) * 0x94d049bb133111ebull;
	return (uint32_t)(h >> 32);
}

/* Its place, or a free one made its; NULL: none in reach. */
static struct rd_lane *
place_lane(struct rd_lanes *t, uint32_t job, uint32_t src, uint32_t dst)
{
	uint32_t at = hash_lane(job, src, dst);
	for (uint32_t i = 0; i < RD_LANES_PROBES; i++) {
		struct rd_lane *l = &t->lane[(at + i) & t->mask];
		if (l->job == job && l->src == src && l->dst == dst)
			return l;
		if (!l->job) {
			*l = (struct rd_lane){.job = job, .src = src, .dst = dst};
			t->used++;
			return l;
		}
	}
	return NULL;
}

static void
add(struct rd_lanes *t, const struct rd_lane *n)
{
	struct rd_lane *l = place_lane(t, n->job, n->src, n->dst);
	if (!l) {
		t->other_segments += n->segments;
		t->other_bytes += n->bytes;
		return;
	}
	l->in_path = n->in_path;
	l->segments += n->segments;
	l->bytes += n->bytes;
}

void
rd_lanes_count(struct rd_lanes *t, uint32_t job, uint32_t src, uint32_t dst, uint32_t in_path,
	       uint32_t bytes)
{
	add(t, &(struct rd_lane){.job = job,
				 .src = src,
				 .dst = dst,
				 .in_path = in_path,
				 .segments = 1,
				 .bytes = bytes});
}

void
rd_lanes_merge(struct rd_lanes *t, const struct rd_lanes *from)
{
	for (uint32_t i = 0; i <= from->mask; i++)
		if (from->lane[i].job)
			add(t, &from->lane[i]);
	t->other_segments += from->other_segments;
	t->other_bytes += from->other_bytes;
}

static int
by_bytes(const void *pa, const void *pb)
{
	const struct rd_lane *a = pa, *b = pb;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	return a->dst < b->dst ? -1 : a->dst > b->dst;
}

uint32_t
rd_lanes_sort(struct rd_lanes *t)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i <= t->mask; i++)
		if (t->lane[i].job)
			t->lane[n++] = t->lane[i];
	qsort(t->lane, n, sizeof t->lane[0], by_bytes);
	return n;
}
