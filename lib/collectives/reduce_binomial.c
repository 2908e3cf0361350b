/* SPDX-License-Identifier: BSD-2-Clause */
/* Binomial tree in rank order: in round i the process whose bit i is set sends
 * what it has to the one without it.  Commutative operations rotate the ranks
 * so that the root is the tree's root; others reduce to virtual rank 0, which
 * passes the result to the root.  Cost: ceil(log2 p)(alpha + n beta + n rho), rho being
 * the time to combine a byte; circuits: ceil(ceil(log2 p) / k) gamma. */
#include "builder.h"

/* Distances from the largest down to 1: only for operations that commute. */
static void
descending(struct coll_schedule *s, const struct coll_group *g, uint32_t root, uint64_t bytes)
{
	uint32_t v = (g->me + g->n - root) % g->n, last = UINT32_MAX, mask = 1;
	while (mask < g->n)
		mask <<= 1;
	for (mask >>= 1; mask; mask >>= 1) {
		if (v >= mask) {
			coll_send(s, coll_real(g, (v - mask + root) % g->n), COLL_RECV, 0, bytes);
			coll_after(s, last);
			return;
		}
		if (v + mask >= g->n)
			continue;
		uint64_t t = coll_tmp(s, bytes);
		last = coll_recv(s, coll_real(g, (v + mask + root) % g->n), COLL_TMP, t, bytes);
		coll_reduce(s, COLL_TMP, t, COLL_RECV, 0, bytes, false);
	}
}

void
coll_reduce_group(struct coll_schedule *s, const struct coll_group *g, uint32_t root,
		  uint64_t bytes, bool commutative)
{
	uint32_t shift = commutative ? root : 0;
	uint32_t v = (g->me + g->n - shift) % g->n;
	uint32_t last = UINT32_MAX;
	if (g->reversed && commutative) {
		descending(s, g, root, bytes);
		return;
	}
	for (uint32_t mask = 1; mask < g->n; mask <<= 1) {
		if (v & mask) {
			coll_send(s, coll_real(g, ((v & ~mask) + shift) % g->n), COLL_RECV, 0,
				  bytes);
			coll_after(s, last);
			break;
		}
		if (v + mask >= g->n)
			continue;
		uint64_t t = coll_tmp(s, bytes);
		last = coll_recv(s, coll_real(g, (v + mask + shift) % g->n), COLL_TMP, t, bytes);
		coll_reduce(s, COLL_TMP, t, COLL_RECV, 0, bytes, false);
	}
	if (commutative || root == 0)
		return;
	if (g->me == 0)
		coll_send(s, coll_real(g, root), COLL_RECV, 0, bytes);
	else if (g->me == root)
		coll_recv(s, coll_real(g, 0), COLL_RECV, 0, bytes);
}

/* COLL_RECV is only there at the root: the others work in scratch space, which
 * the executor gives them as COLL_RECV. */
static int
build_reduce_binomial(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_group g = coll_flat(a);
	coll_own_into_recv(s, a);
	coll_reduce_group(s, &g, a->root, a->bytes, a->commutative);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_reduce_binomial = {COLL_REDUCE, "binomial",
						     "ceil(log2 p) (alpha + n beta + n gamma)",
						     NULL, build_reduce_binomial};
