/* Topologies on communicators: life, and what all kinds share. */
#include "topo.h"

#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "impl.h"

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

int
impl_Topo_test(MPI_Comm comm, int *status)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		*status = c->topo ? c->topo->kind : MPI_UNDEFINED;
	return rc;
}
