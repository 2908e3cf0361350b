/* SPDX-License-Identifier: BSD-2-Clause */
/* Up a breadth-first tree of a fixed graph of a->degree neighbours each (graph.h), the last child
 * of the broadcast first.  Cost: depth hops of alpha + n beta + n rho, times the children one after
 * another; circuits: one gamma. */
#include "graph.h"

void
coll_graph_reduce(struct coll_schedule *s, const struct coll_args *a, uint32_t root)
{
	uint32_t p = a->size, v = (a->rank + p - root) % p, last = UINT32_MAX;
	uint32_t child[COLL_GRAPH_CHILDREN];
	if (p == 1)
		return;
	struct coll_graph g = coll_graph(p, a->degree ? a->degree : 2);
	for (uint32_t n = coll_graph_children(&g, v, child); n-- > 0;) {
		uint64_t t = coll_tmp(s, a->bytes);
		last = coll_recv(s, (child[n] + root) % p, COLL_TMP, t, a->bytes);
		coll_reduce(s, COLL_TMP, t, COLL_RECV, 0, a->bytes, false);
	}
	if (v) {
		coll_send(s, (coll_graph_parent(&g, v) + root) % p, COLL_RECV, 0, a->bytes);
		coll_after(s, last);
	}
}

static int
build_reduce_graph(struct coll_schedule *s, const struct coll_args *a)
{
	coll_own_into_recv(s, a);
	coll_graph_reduce(s, a, a->root);
	return COLL_ERR_OK;
}

static bool
reduce_graph_fits(const struct coll_args *a)
{
	return a->commutative;
}

const struct coll_recipe coll_alg_reduce_graph = {COLL_REDUCE, "graph",
						  "depth (alpha + n beta + n rho), one gamma",
						  reduce_graph_fits, build_reduce_graph};
