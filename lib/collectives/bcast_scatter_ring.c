/* SPDX-License-Identifier: BSD-2-Clause */
/* van de Geijn: scatter p parts of the vector down a binomial tree, then pass
 * them round a ring.  Cost: (log2 p + p - 1) alpha + 2 (p-1)/p n beta. */
#include "builder.h"

/* Bytes of parts [first, first + count) of the vector, count cut at p. */
static struct coll_part
bcast_scatter_ring_parts(uint64_t bytes, uint32_t p, uint32_t first, uint32_t count)
{
	uint32_t end = first + count > p ? p : first + count;
	struct coll_part a = coll_part(bytes, 1, p, first);
	struct coll_part b = coll_part(bytes, 1, p, end - 1);
	return (struct coll_part){a.off, b.off + b.len - a.off};
}

void
coll_scatter_ring_group(struct coll_schedule *s, const struct coll_group *g, uint32_t root,
			uint64_t bytes)
{
	uint32_t p = g->n, v = (g->me + p - root) % p;
	uint32_t mask = 1;
	while (mask < p && !(v & mask))
		mask <<= 1;
	if (v) {
		struct coll_part r = bcast_scatter_ring_parts(bytes, p, v, mask);
		coll_recv(s, coll_real(g, ((v & ~mask) + root) % p), COLL_RECV, r.off, r.len);
	}
	for (mask >>= 1; mask; mask >>= 1) {
		if (v + mask >= p)
			continue;
		struct coll_part r = bcast_scatter_ring_parts(bytes, p, v + mask, mask);
		coll_send(s, coll_real(g, (v + mask + root) % p), COLL_RECV, r.off, r.len);
	}
	uint32_t right = (v + 1) % p, left = (v + p - 1) % p;
	for (uint32_t k = 0; k + 1 < p; k++) {
		/* A part a neighbour's subtree already holds is sent again: the
		 * ring stays regular, and nobody is idle anyway. */
		struct coll_part out = coll_part(bytes, 1, p, (v + p - k) % p);
		struct coll_part in = coll_part(bytes, 1, p, (left + p - k) % p);
		coll_send(s, coll_real(g, (right + root) % p), COLL_RECV, out.off, out.len);
		coll_recv(s, coll_real(g, (left + root) % p), COLL_RECV, in.off, in.len);
	}
}

static int
build_bcast_scatter_ring(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_group g = coll_flat(a);
	coll_scatter_ring_group(s, &g, a->root, a->bytes);
	return COLL_ERR_OK;
}

static bool
bcast_scatter_ring_fits(const struct coll_args *a)
{
	return a->bytes >= a->size;
}

const struct coll_recipe coll_alg_bcast_scatter_ring = {
	COLL_BCAST, "scatter_ring", "(log2 p + p-1) alpha + 2 (p-1)/p n beta",
	bcast_scatter_ring_fits, build_bcast_scatter_ring};
