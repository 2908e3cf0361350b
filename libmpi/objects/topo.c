/* SPDX-License-Identifier: BSD-2-Clause */
/* Topologies on communicators: life, and what all kinds share. */
#include "topo.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "comm.h"

void
lmpi_topology_free(struct lmpi_topology *t)
{
	if (t == NULL)
		return;
	free(t->dims);
	free(t->periods);
	free(t->coords);
	free(t->index);
	free(t->edges);
	free(t->sources);
	free(t->source_weights);
	free(t->destinations);
	free(t->destination_weights);
	free(t);
}

/* A copy of n ints; *ok becomes false when there is no memory. */
static int *
ints(const int *from, int n, bool *ok)
{
	int *to;

	if (from == NULL)
		return NULL;
	to = malloc((size_t)n * sizeof(*to) + 1);
	if (to == NULL)
		*ok = false;
	else
		memcpy(to, from, (size_t)n * sizeof(*to));
	return to;
}

struct lmpi_topology *
lmpi_topology_copy(const struct lmpi_topology *t)
{
	struct lmpi_topology *c = malloc(sizeof(*c));
	bool ok = true;

	if (c == NULL)
		return NULL;
	*c = *t;
	c->dims = ints(t->dims, t->ndims, &ok);
	c->periods = ints(t->periods, t->ndims, &ok);
	c->coords = ints(t->coords, t->ndims, &ok);
	c->index = ints(t->index, t->nnodes, &ok);
	c->edges = ints(t->edges, t->nedges, &ok);
	c->sources = ints(t->sources, t->indegree, &ok);
	c->source_weights = ints(t->source_weights, t->indegree, &ok);
	c->destinations = ints(t->destinations, t->outdegree, &ok);
	c->destination_weights = ints(t->destination_weights, t->outdegree, &ok);
	if (!ok) {
		lmpi_topology_free(c);
		return NULL;
	}
	return c;
}

void
lmpi_neighbors_free(struct lmpi_neighbors *n)
{
	free(n->sources);
	free(n->destinations);
}

int
lmpi_cart_neighbor(const struct lmpi_topology *t, int direction, int disp)
{
	int64_t x = (int64_t)t->coords[direction] + disp, n = t->dims[direction];
	int r = 0;

	if (t->periods[direction])
		x = (x % n + n) % n;
	else if (x < 0 || x >= n)
		return MPI_PROC_NULL;
	for (int d = 0; d < t->ndims; d++)
		r = r * t->dims[d] + (d == direction ? (int)x : t->coords[d]);
	return r;
}

static void
cart_neighbors(const struct lmpi_topology *t, int *out)
{
	for (int d = 0; d < t->ndims; d++) {
		out[2 * d] = lmpi_cart_neighbor(t, d, -1);
		out[2 * d + 1] = lmpi_cart_neighbor(t, d, 1);
	}
}

int
lmpi_topology_neighbors(const struct lmpi_comm *c, struct lmpi_neighbors *n)
{
	const struct lmpi_topology *t = c->topo;
	bool ok = true;
	int first;

	if (t == NULL)
		return lmpi_error(MPI_ERR_TOPOLOGY, "the communicator has no topology");
	*n = (struct lmpi_neighbors){0};
	switch (t->kind) {
	case MPI_CART:
		n->indegree = n->outdegree = 2 * t->ndims;
		n->sources = malloc((size_t)n->indegree * sizeof(int) + 1);
		if (n->sources != NULL)
			cart_neighbors(t, n->sources);
		n->destinations = ints(n->sources, n->outdegree, &ok);
		break;
	case MPI_GRAPH:
		first = c->rank > 0 ? t->index[c->rank - 1] : 0;
		n->indegree = n->outdegree = t->index[c->rank] - first;
		n->sources = ints(t->edges + first, n->indegree, &ok);
		n->destinations = ints(t->edges + first, n->outdegree, &ok);
		break;
	default:
		n->indegree = t->indegree;
		n->outdegree = t->outdegree;
		n->sources = ints(t->sources, n->indegree, &ok);
		n->destinations = ints(t->destinations, n->outdegree, &ok);
	}
	if (n->sources != NULL && n->destinations != NULL)
		return MPI_SUCCESS;
	lmpi_neighbors_free(n);
	return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}
