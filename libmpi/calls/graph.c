/* SPDX-License-Identifier: BSD-2-Clause */
/* Graph topologies: every process knows all edges. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "comm.h"
#include "comm_create.h"
#include "impl.h"
#include "topo.h"

static int
get_graph(MPI_Comm handle, struct lmpi_comm **c)
{
	int rc = lmpi_comm_get(handle, c);

	if (rc == MPI_SUCCESS && ((*c)->topo == NULL || (*c)->topo->kind != MPI_GRAPH))
		return lmpi_error(MPI_ERR_TOPOLOGY, "the communicator has no graph topology");
	return rc;
}

static int
graph_ok(const struct lmpi_comm *c, int nnodes, const int *index, const int *edges)
{
	int before = 0;

	if (nnodes < 0 || nnodes > c->size)
		return lmpi_error(MPI_ERR_ARG, "nnodes is %d, the communicator has %d processes",
				  nnodes, c->size);
	if (nnodes > 0 && index == NULL)
		return lmpi_error(MPI_ERR_ARG, "index is a null pointer");
	for (int i = 0; i < nnodes; i++) {
		if (index[i] < before)
			return lmpi_error(MPI_ERR_ARG, "index[%d] is %d after %d; it counts up", i,
					  index[i], before);
		before = index[i];
	}
	if (before > 0 && edges == NULL)
		return lmpi_error(MPI_ERR_ARG, "edges is a null pointer");
	for (int i = 0; i < before; i++)
		if (edges[i] < 0 || edges[i] >= nnodes)
			return lmpi_error(MPI_ERR_ARG, "edges[%d] is %d, there are %d nodes", i,
					  edges[i], nnodes);
	return MPI_SUCCESS;
}

static struct lmpi_topology *
new_graph(int nnodes, const int *index, const int *edges)
{
	struct lmpi_topology view = {.kind = MPI_GRAPH,
				     .nnodes = nnodes,
				     .nedges = index[nnodes - 1],
				     .index = (int *)(uintptr_t)index,
				     .edges = (int *)(uintptr_t)edges};

	return lmpi_topology_copy(&view);
}

int
impl_Graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int reorder,
		  MPI_Comm *comm_graph)
{
	struct lmpi_comm *c, *made = NULL;
	int rc = lmpi_comm_get_intra(comm_old, &c);

	(void)reorder;
	*comm_graph = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS)
		rc = graph_ok(c, nnodes, index, edges);
	if (rc == MPI_SUCCESS)
		rc = lmpi_comm_split(c, c->rank < nnodes ? 0 : MPI_UNDEFINED, c->rank, &made);
	if (rc || made == NULL)
		return rc;
	made->topo = new_graph(nnodes, index, edges);
	if (made->topo == NULL) {
		lmpi_comm_unref(made);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	*comm_graph = made->handle;
	return MPI_SUCCESS;
}

int
impl_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[], int *newrank)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get_intra(comm, &c);

	if (rc == MPI_SUCCESS)
		rc = graph_ok(c, nnodes, index, edges);
	if (rc == MPI_SUCCESS)
		*newrank = c->rank < nnodes ? c->rank : MPI_UNDEFINED;
	return rc;
}

int
impl_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
	struct lmpi_comm *c;
	int rc = get_graph(comm, &c);

	if (rc)
		return rc;
	*nnodes = c->topo->nnodes;
	*nedges = c->topo->nedges;
	return MPI_SUCCESS;
}

static void
copy_up_to(int *to, int room, const int *from, int n)
{
	for (int i = 0; i < n && i < room; i++)
		to[i] = from[i];
}

int
impl_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[])
{
	struct lmpi_comm *c;
	int rc = get_graph(comm, &c);

	if (rc)
		return rc;
	copy_up_to(index, maxindex, c->topo->index, c->topo->nnodes);
	copy_up_to(edges, maxedges, c->topo->edges, c->topo->nedges);
	return MPI_SUCCESS;
}

/* The edges of one node. */
static int
edges_of(MPI_Comm comm, int rank, const int **edges, int *n)
{
	struct lmpi_comm *c;
	int first, rc = get_graph(comm, &c);

	if (rc)
		return rc;
	if (rank < 0 || rank >= c->topo->nnodes)
		return lmpi_error(MPI_ERR_RANK, "rank %d is not one of the communicator", rank);
	first = rank > 0 ? c->topo->index[rank - 1] : 0;
	*edges = c->topo->edges + first;
	*n = c->topo->index[rank] - first;
	return MPI_SUCCESS;
}

int
impl_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
	const int *edges;

	return edges_of(comm, rank, &edges, nneighbors);
}

int
impl_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[])
{
	const int *edges;
	int n, rc = edges_of(comm, rank, &edges, &n);

	if (rc == MPI_SUCCESS)
		copy_up_to(neighbors, maxneighbors, edges, n);
	return rc;
}
