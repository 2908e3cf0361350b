/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring: reduce-scatter round the ring, then allgather round the ring; each
 * part is computed by one process only, so all get the same bits.
 * Cost: 2 (p-1) alpha + 2 (p-1)/p n beta + (p-1)/p n gamma. */
#include "builder.h"

void
coll_ring_group(struct coll_schedule *s, const struct coll_group *g, uint64_t off, uint64_t bytes,
		uint64_t elem)
{
	uint32_t p = g->n, me = g->me;
	uint32_t right = coll_real(g, (me + 1) % p), left = coll_real(g, (me + p - 1) % p);
	for (uint32_t k = 0; k + 1 < p; k++) {
		struct coll_part out = coll_part(bytes, elem, p, (me + p - k) % p);
		struct coll_part in = coll_part(bytes, elem, p, (me + 2 * p - k - 1) % p);
		uint64_t t = coll_tmp(s, in.len);
		coll_send(s, right, COLL_RECV, off + out.off, out.len);
		coll_recv(s, left, COLL_TMP, t, in.len);
		coll_reduce(s, COLL_TMP, t, COLL_RECV, off + in.off, in.len, true);
	}
	for (uint32_t k = 0; k + 1 < p; k++) {
		struct coll_part out = coll_part(bytes, elem, p, (me + 1 + p - k) % p);
		struct coll_part in = coll_part(bytes, elem, p, (me + p - k) % p);
		coll_send(s, right, COLL_RECV, off + out.off, out.len);
		coll_recv(s, left, COLL_RECV, off + in.off, in.len);
	}
}

static int
build_allreduce_ring(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_group g = coll_flat(a);
	coll_own_into_recv(s, a);
	coll_ring_group(s, &g, 0, a->bytes, a->elem);
	return COLL_ERR_OK;
}

static bool
allreduce_ring_fits(const struct coll_args *a)
{
	return a->commutative && a->bytes / a->elem >= a->size;
}

const struct coll_recipe coll_alg_allreduce_ring = {
	COLL_ALLREDUCE, "ring", "2 (p-1) alpha + 2 (p-1)/p n beta + (p-1)/p n gamma",
	allreduce_ring_fits, build_allreduce_ring};
