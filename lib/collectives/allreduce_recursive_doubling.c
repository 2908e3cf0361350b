/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursive doubling [OC]: partners at distance 2^i exchange and combine, the
 * lower rank's value always on the left, so every process computes the same
 * bits.  When p is not a power of two, the first 2r processes fold in pairs
 * first (r = p - 2^floor(log2 p)) and the odd ones of them work on.
 * Cost: ceil(log2 p)(alpha + n beta + n gamma). */
#include "builder.h"

void
coll_allreduce_group(struct coll_schedule *s, const struct coll_group *g, uint64_t off,
		     uint64_t bytes)
{
	uint32_t me = g->me;
	struct coll_fold f = coll_fold(g->n, me);
	if (f.out) { /* fold into the right neighbour, wait for the result */
		coll_send(s, coll_real(g, me + 1), COLL_RECV, off, bytes);
		coll_recv(s, coll_real(g, me + 1), COLL_RECV, off, bytes);
		return;
	}
	if (f.pair) {
		uint64_t t = coll_tmp(s, bytes);
		coll_recv(s, coll_real(g, me - 1), COLL_TMP, t, bytes);
		coll_reduce(s, COLL_TMP, t, COLL_RECV, off, bytes, true);
	}
	for (uint32_t mask = 1; mask < f.pow2; mask <<= 1) {
		uint32_t w = f.v ^ mask, peer = coll_unfold(&f, w);
		uint64_t t = coll_tmp(s, bytes);
		coll_send(s, coll_real(g, peer), COLL_RECV, off, bytes);
		coll_recv(s, coll_real(g, peer), COLL_TMP, t, bytes);
		coll_reduce(s, COLL_TMP, t, COLL_RECV, off, bytes, w < f.v);
	}
	if (f.pair)
		coll_send(s, coll_real(g, me - 1), COLL_RECV, off, bytes);
}

static int
build_allreduce_recursive_doubling(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_group g = coll_flat(a);
	coll_own_into_recv(s, a);
	coll_allreduce_group(s, &g, 0, a->bytes);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allreduce_recursive_doubling = {
	COLL_ALLREDUCE, "recursive_doubling", "ceil(log2 p) (alpha + n beta + n gamma)", NULL,
	build_allreduce_recursive_doubling};
