/* SPDX-License-Identifier: BSD-2-Clause */
/* Up the tree of a fixed graph to process 0 and down again (graph.h).
 * Cost: those of Reduce and Bcast by "graph"; circuits: one gamma for both. */
#include "graph.h"

static int
build_allreduce_graph(struct coll_schedule *s, const struct coll_args *a)
{
	coll_own_into_recv(s, a);
	coll_graph_reduce(s, a, 0);
	coll_graph_bcast(s, a, 0);
	return COLL_ERR_OK;
}

static bool
allreduce_graph_fits(const struct coll_args *a)
{
	return a->commutative;
}

const struct coll_recipe coll_alg_allreduce_graph = {
	COLL_ALLREDUCE, "graph", "2 depth (alpha + n beta) + depth n rho, one gamma",
	allreduce_graph_fits, build_allreduce_graph};
