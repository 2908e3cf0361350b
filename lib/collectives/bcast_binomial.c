/* SPDX-License-Identifier: BSD-2-Clause */
/* Binomial tree [OC]: in every round the processes that have the data send it on,
 * half of the processes further first, neighbours last (reversed: the other way round).
 * Cost: ceil(log2 p) * (alpha + n beta); circuits: ceil(ceil(log2 p) / k) gamma. */
#include "builder.h"

/* Distances 1, 2, 4, ...: who has been reached goes on with all distances above its own. */
static void
ascending(struct coll_schedule *s, const struct coll_group *g, uint32_t root, struct coll_range x)
{
	uint32_t v = (g->me + g->n - root) % g->n, got = UINT32_MAX, mask = 1;
	for (; mask <= v; mask <<= 1)
		;
	if (v)
		got = coll_recv(s, coll_real(g, (v - mask / 2 + root) % g->n), x.buf, x.off, x.len);
	for (; v + mask < g->n && mask < g->n; mask <<= 1) {
		coll_send(s, coll_real(g, (v + mask + root) % g->n), x.buf, x.off, x.len);
		coll_after(s, got);
	}
}

void
coll_bcast_group(struct coll_schedule *s, const struct coll_group *g, uint32_t root,
		 struct coll_range x)
{
	uint32_t v = (g->me + g->n - root) % g->n;
	uint32_t got = UINT32_MAX;
	uint32_t mask = 1;
	if (g->reversed) {
		ascending(s, g, root, x);
		return;
	}
	while (mask < g->n && !(v & mask))
		mask <<= 1;
	if (v) {
		uint32_t parent = ((v & ~mask) + root) % g->n;
		got = coll_recv(s, coll_real(g, parent), x.buf, x.off, x.len);
	}
	for (mask >>= 1; mask; mask >>= 1) {
		if (v + mask >= g->n)
			continue;
		coll_send(s, coll_real(g, (v + mask + root) % g->n), x.buf, x.off, x.len);
		coll_after(s, got); /* matters when there are no bytes */
	}
}

static int
build_bcast_binomial(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_group g = coll_flat(a);
	coll_bcast_group(s, &g, a->root, coll_vector(a->bytes));
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_bcast_binomial = {
	COLL_BCAST, "binomial", "ceil(log2 p) * (alpha + n beta)", NULL, build_bcast_binomial};
