/* libmpi/api/topo.h - virtual topologies attached to communicators. */
#ifndef LMPI_TOPO_H
#define LMPI_TOPO_H

#include <stdbool.h>

struct lmpi_topology {
	int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
	/* cart: ndims entries each */
	int ndims;
	int *dims, *periods, *coords;
	/* graph: cumulative degrees [nnodes], neighbours */
	int nnodes, nedges;
	int *index, *edges;
	/* dist graph */
	int indegree, outdegree;
	bool weighted;
	int *sources, *source_weights, *destinations, *destination_weights;
};

/* NULL is fine. */
void lmpi_topology_free(struct lmpi_topology *topo);
struct lmpi_topology *lmpi_topology_copy(const struct lmpi_topology *topo);

#endif
