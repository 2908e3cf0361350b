/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/topo.h - virtual topologies attached to communicators. */
#ifndef LMPI_TOPO_H
#define LMPI_TOPO_H

#include <stdbool.h>

#include "mpi.h"

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

/* Whom a process exchanges blocks with, in the order of the neighbourhood collectives;
 * MPI_PROC_NULL over the edge of a grid.  The arrays are the caller's to free. */
struct lmpi_neighbors {
	int indegree, outdegree;
	int *sources, *destinations;
};
struct lmpi_comm;
/* An error code: MPI_ERR_TOPOLOGY without a topology. */
int lmpi_topology_neighbors(const struct lmpi_comm *comm, struct lmpi_neighbors *out);
void lmpi_neighbors_free(struct lmpi_neighbors *n);

/* cart.c: the neighbour `disp` further along, MPI_PROC_NULL over the edge. */
int lmpi_cart_neighbor(const struct lmpi_topology *t, int direction, int disp);

#endif
