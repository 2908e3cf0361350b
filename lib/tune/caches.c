/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/caches.h"

#include "row.h"

/* Where the kernel does not tell. */
static const struct tune_caches common = {.l1 = 32u << 10, .l2 = 1u << 20, .l3 = 16u << 20};

static struct tune_caches
fill_caches(const struct tune_caches *c)
{
	return (struct tune_caches){.l1 = c->l1 ? c->l1 : common.l1,
				    .l2 = c->l2 ? c->l2 : common.l2,
				    .l3 = c->l3 ? c->l3 : common.l3};
}

static uint64_t
clamp_value(enum tune_value i, uint64_t x)
{
	const struct tune_bounds *b = &tune_bounds[i];
	return x < b->least ? b->least : x > b->most ? b->most : x;
}

void
tune_derive(const struct tune_caches *c, struct tune_values *v)
{
	struct tune_caches f = fill_caches(c);

	/* What the program writes ahead, the kernel reads soon after on the same CPU: its own cache
	 * has to hold it.  One block may take a quarter, so that others stay beside it. */
	(void)tune_value_set(v, TUNE_NEAR_QUEUE, clamp_value(TUNE_NEAR_QUEUE, f.l2));
	(void)tune_value_set(v, TUNE_NEAR_COPY, clamp_value(TUNE_NEAR_COPY, f.l2 / 4));
}

bool
tune_believed(const struct tune_caches *c, enum tune_value i, uint64_t *least, uint64_t *most)
{
	struct tune_caches f = fill_caches(c);
	uint64_t near = f.l1 < common.l1 ? f.l1 : common.l1;
	const struct {
		enum tune_value i;
		uint64_t least, most;
	} of[] = {
		/* Shorter ones ask, or go by a system call, though a copy within the nearest cache
		 * takes less than either on any machine: between CPUs that are near.  For those
		 * that are far libmpi sees it while it runs (libmpi/engine/distance.h).  The bounds
		 * are where a guess costs a fifth at most: measured, doc/tuning.md. */
		{TUNE_EAGER_NODE, near / 8 * 3, UINT64_MAX},
		{TUNE_EAGER_WIDE, near, UINT64_MAX},
		{TUNE_EAGER_NET, near / 2 * 3, UINT64_MAX},
		/* From twice the cache of one CPU on, two copy faster than one. */
		{TUNE_SHARE, 0, 2 * (f.l1 > common.l1 ? f.l1 : common.l1)},
		/* Each piece costs a meeting of the two, and has to be in the cache of both. */
		{TUNE_PIECE, near, f.l2},
		/* Each costs a message over the network; the longest are as if there were none. */
		{TUNE_BCAST_PIECE, near, UINT64_MAX},
		{TUNE_ALLTOALL_PIECE, near, UINT64_MAX},
		{TUNE_ACK, 8, 128},
		{TUNE_NEAR_COPY, near, f.l2},
		{TUNE_NEAR_QUEUE, f.l2 / 4, f.l2 > f.l3 ? f.l2 : f.l3},
	};

	for (unsigned k = 0; k < sizeof of / sizeof *of; k++)
		if (of[k].i == i) {
			*least = clamp_value(i, of[k].least);
			*most = clamp_value(i, of[k].most);
			return true;
		}
	return false;
}

bool
tune_unbelievable(const struct tune_caches *c, const struct tune_values *v, enum tune_value *which,
		  uint64_t *least, uint64_t *most)
{
	for (enum tune_value i = 0; i < TUNE_NVALUES; i++)
		if ((v->set >> i & 1) && tune_believed(c, i, least, most) &&
		    (v->v[i] < *least || v->v[i] > *most)) {
			*which = i;
			return true;
		}
	return false;
}
