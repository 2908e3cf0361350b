/* SPDX-License-Identifier: BSD-2-Clause */
/* Private: the fixed graph of "graph" algorithms, and the breadth-first tree around its vertex 0.
 */
#ifndef COLL_GRAPH_H
#define COLL_GRAPH_H

#include "builder.h"

#define COLL_GRAPH_DISTANCES 3
#define COLL_GRAPH_CHILDREN  (2 * COLL_GRAPH_DISTANCES)

struct coll_graph {
	uint32_t p, n;
	uint32_t dist[COLL_GRAPH_DISTANCES]; /* 0 ends */
};

/* Of p >= 2. */
struct coll_graph coll_graph(uint32_t p, uint32_t degree);
uint32_t coll_graph_neighbour(const struct coll_graph *g, uint32_t v, uint32_t i);
/* The first neighbour in the graph's order that is one hop nearer to 0; of 0: 0. */
uint32_t coll_graph_parent(const struct coll_graph *g, uint32_t v);
/* Whose parent v is: how many. */
uint32_t coll_graph_children(const struct coll_graph *g, uint32_t v,
			     uint32_t child[COLL_GRAPH_CHILDREN]);

/* Down the tree to all of COLL_RECV, behind the steps so far. */
void coll_graph_bcast(struct coll_schedule *s, const struct coll_args *a, uint32_t root);
/* Up the tree: COLL_RECV of all combined in that of the root; commutative only. */
void coll_graph_reduce(struct coll_schedule *s, const struct coll_args *a, uint32_t root);

#endif
