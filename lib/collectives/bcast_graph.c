/* SPDX-License-Identifier: BSD-2-Clause */
/* Down a breadth-first tree of a fixed graph of a->degree neighbours each (graph.h).
 * Cost: depth hops of alpha + n beta, times the children one after another if a process
 * sends one message at a time; circuits: one gamma. */
#include "graph.h"

void
coll_graph_bcast(struct coll_schedule *s, const struct coll_args *a, uint32_t root)
{
	uint32_t p = a->size, v = (a->rank + p - root) % p, got = UINT32_MAX;
	uint32_t child[COLL_GRAPH_CHILDREN];
	if (p == 1)
		return;
	struct coll_graph g = coll_graph(p, a->degree ? a->degree : 2);
	if (v)
		got = coll_recv(s, (coll_graph_parent(&g, v) + root) % p, COLL_RECV, 0, a->bytes);
	uint32_t n = coll_graph_children(&g, v, child);
	for (uint32_t i = 0; i < n; i++) {
		coll_send(s, (child[i] + root) % p, COLL_RECV, 0, a->bytes);
		coll_after(s, got);
	}
}

static int
build_bcast_graph(struct coll_schedule *s, const struct coll_args *a)
{
	coll_graph_bcast(s, a, a->root);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_bcast_graph = {
	COLL_BCAST, "graph", "depth (alpha + n beta), one gamma", NULL, build_bcast_graph};
