/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributed graph topologies: every process knows its own edges. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "coll_impl.h"
#include "comm.h"
#include "comm_create.h"
#include "impl.h"
#include "info.h"
#include "topo.h"

static int
no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}

static int
nodes_ok(const struct lmpi_comm *c, const int *nodes, int n, const char *what)
{
	if (n < 0)
		return lmpi_error(MPI_ERR_ARG, "the number of %s is %d", what, n);
	if (n > 0 && nodes == NULL)
		return lmpi_error(MPI_ERR_ARG, "%s is a null pointer", what);
	for (int i = 0; i < n; i++)
		if (nodes[i] < 0 || nodes[i] >= c->size)
			return lmpi_error(MPI_ERR_ARG,
					  "%s[%d] is %d, the communicator has %d processes", what,
					  i, nodes[i], c->size);
	return MPI_SUCCESS;
}

/* Weights are MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY (no edge here), or one per edge. */
static int
weights_ok(const int *weights, int n, const char *what)
{
	if (weights == MPI_UNWEIGHTED || n == 0)
		return MPI_SUCCESS;
	if (weights == NULL || weights == MPI_WEIGHTS_EMPTY)
		return lmpi_error(MPI_ERR_ARG, "%s is %s, there are %d edges", what,
				  weights ? "MPI_WEIGHTS_EMPTY" : "a null pointer", n);
	for (int i = 0; i < n; i++)
		if (weights[i] < 0)
			return lmpi_error(MPI_ERR_ARG, "%s[%d] is %d", what, i, weights[i]);
	return MPI_SUCCESS;
}

/* A communicator of the same processes with this topology, copied. */
static int
make_graph(struct lmpi_comm *c, MPI_Info info, const struct lmpi_topology *view, MPI_Comm *handle)
{
	struct lmpi_info *hints;
	struct lmpi_comm *made;
	int rc = lmpi_info_arg(info, &hints);

	if (rc)
		return rc;
	rc = lmpi_comm_split(c, 0, c->rank, &made);
	if (rc)
		return rc;
	made->topo = lmpi_topology_copy(view);
	if (made->topo != NULL && hints != NULL)
		made->info = lmpi_info_copy(hints);
	if (made->topo == NULL || (hints != NULL && made->info == NULL)) {
		lmpi_comm_unref(made);
		return no_memory();
	}
	*handle = made->handle;
	return MPI_SUCCESS;
}

static int *
weights_of(const int *weights, int n)
{
	return weights == MPI_UNWEIGHTED || n == 0 ? NULL : (int *)(uintptr_t)weights;
}

int
impl_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
				const int sourceweights[], int outdegree, const int destinations[],
				const int destweights[], MPI_Info info, int reorder,
				MPI_Comm *comm_dist_graph)
{
	struct lmpi_comm *c;
	struct lmpi_topology view = {.kind = MPI_DIST_GRAPH,
				     .indegree = indegree,
				     .outdegree = outdegree,
				     .weighted = sourceweights != MPI_UNWEIGHTED ||
						 destweights != MPI_UNWEIGHTED,
				     .sources = (int *)(uintptr_t)sources,
				     .destinations = (int *)(uintptr_t)destinations};
	int rc = lmpi_comm_get_intra(comm_old, &c);

	(void)reorder;
	*comm_dist_graph = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS && view.weighted &&
	    (sourceweights == MPI_UNWEIGHTED || destweights == MPI_UNWEIGHTED))
		rc = lmpi_error(MPI_ERR_ARG, "only one of the two lists of weights is "
					     "MPI_UNWEIGHTED");
	if (rc == MPI_SUCCESS)
		rc = nodes_ok(c, sources, indegree, "sources");
	if (rc == MPI_SUCCESS)
		rc = nodes_ok(c, destinations, outdegree, "destinations");
	if (rc == MPI_SUCCESS)
		rc = weights_ok(sourceweights, indegree, "sourceweights");
	if (rc == MPI_SUCCESS)
		rc = weights_ok(destweights, outdegree, "destweights");
	if (rc)
		return rc;
	view.source_weights = weights_of(sourceweights, indegree);
	view.destination_weights = weights_of(destweights, outdegree);
	return make_graph(c, info, &view, comm_dist_graph);
}

/* ---- MPI_Dist_graph_create: any process may name any edge */

/* An edge on its way to one of its two ends: the other end, which end this is, weight. */
enum { OTHER, IS_SOURCE, WEIGHT, FIELDS };

struct mail {
	int size;
	int *counts, *displs;	    /* [size] ints to each process */
	int *in_counts, *in_displs; /* from each */
	int *out, *in;
	int ins; /* edges that came */
};

static void
mail_free(struct mail *m)
{
	free(m->counts);
	free(m->out);
	free(m->in);
}

static void
drop_in(struct mail *m, int to, int other, int is_source, int weight)
{
	int *at = m->out + m->displs[to] + m->counts[to];

	at[OTHER] = other;
	at[IS_SOURCE] = is_source;
	at[WEIGHT] = weight;
	m->counts[to] += FIELDS;
}

/* Both ends of every edge named here are told, in the order of the arguments. */
static int
mail_write(struct mail *m, int n, const int *sources, const int *degrees, const int *destinations,
	   const int *weights)
{
	int edges = 0, at = 0;

	for (int i = 0; i < n; i++)
		edges += degrees[i];
	m->counts = calloc((size_t)m->size, 4 * sizeof(int));
	m->out = malloc((size_t)edges * 2 * FIELDS * sizeof(int) + 1);
	if (m->counts == NULL || m->out == NULL)
		return no_memory();
	m->displs = m->counts + m->size;
	m->in_counts = m->displs + m->size;
	m->in_displs = m->in_counts + m->size;
	for (int i = 0, e = 0; i < n; i++)
		for (int k = 0; k < degrees[i]; k++, e++) {
			m->counts[sources[i]] += FIELDS;
			m->counts[destinations[e]] += FIELDS;
		}
	for (int r = 0; r < m->size; r++) {
		m->displs[r] = at;
		at += m->counts[r];
		m->counts[r] = 0;
	}
	for (int i = 0, e = 0; i < n; i++)
		for (int k = 0; k < degrees[i]; k++, e++) {
			int w = weights ? weights[e] : 1;

			drop_in(m, sources[i], destinations[e], 0, w);
			drop_in(m, destinations[e], sources[i], 1, w);
		}
	return MPI_SUCCESS;
}

static struct lmpi_ints
plain(const int *at)
{
	return (struct lmpi_ints){at, false};
}

static int
mail_send(struct mail *m, struct lmpi_comm *c)
{
	struct lmpi_coll *op = NULL;
	int at = 0, rc;

	rc = lmpi_coll_Alltoall(&op, m->counts, 1, MPI_INT, m->in_counts, 1, MPI_INT, c->handle);
	rc = lmpi_coll_go(op, rc, LMPI_COLL_BLOCKING, NULL);
	if (rc)
		return rc;
	for (int r = 0; r < m->size; r++) {
		m->in_displs[r] = at;
		at += m->in_counts[r];
	}
	m->ins = at / FIELDS;
	m->in = malloc((size_t)at * sizeof(int) + 1);
	if (m->in == NULL)
		return no_memory();
	op = NULL;
	rc = lmpi_coll_Alltoallv(&op, m->out, plain(m->counts), plain(m->displs), MPI_INT, m->in,
				 plain(m->in_counts), plain(m->in_displs), MPI_INT, c->handle);
	return lmpi_coll_go(op, rc, LMPI_COLL_BLOCKING, NULL);
}

/* What came, as the topology of this process. */
static int
mail_read(const struct mail *m, bool weighted, struct lmpi_topology *t)
{
	size_t bytes = (size_t)m->ins * sizeof(int) + 1;

	t->kind = MPI_DIST_GRAPH;
	t->weighted = weighted;
	t->sources = malloc(bytes);
	t->destinations = malloc(bytes);
	if (weighted) {
		t->source_weights = malloc(bytes);
		t->destination_weights = malloc(bytes);
	}
	if (!t->sources || !t->destinations ||
	    (weighted && (!t->source_weights || !t->destination_weights)))
		return no_memory();
	for (int i = 0; i < m->ins; i++) {
		const int *e = m->in + (size_t)i * FIELDS;
		int *n = e[IS_SOURCE] ? &t->indegree : &t->outdegree;

		(e[IS_SOURCE] ? t->sources : t->destinations)[*n] = e[OTHER];
		if (weighted)
			(e[IS_SOURCE] ? t->source_weights : t->destination_weights)[*n] = e[WEIGHT];
		++*n;
	}
	return MPI_SUCCESS;
}

static int
edges_ok(const struct lmpi_comm *c, int n, const int *sources, const int *degrees,
	 const int *destinations, const int *weights)
{
	int edges = 0, rc = nodes_ok(c, sources, n, "sources");

	if (rc == MPI_SUCCESS && n > 0 && degrees == NULL)
		rc = lmpi_error(MPI_ERR_ARG, "degrees is a null pointer");
	for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
		if (degrees[i] < 0 || __builtin_add_overflow(edges, degrees[i], &edges))
			rc = lmpi_error(MPI_ERR_ARG, "degrees[%d] is %d", i, degrees[i]);
	if (rc == MPI_SUCCESS)
		rc = nodes_ok(c, destinations, edges, "destinations");
	return rc ? rc : weights_ok(weights, edges, "weights");
}

int
impl_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
		       const int destinations[], const int weights[], MPI_Info info, int reorder,
		       MPI_Comm *comm_dist_graph)
{
	bool weighted = weights != MPI_UNWEIGHTED;
	struct lmpi_topology *t = NULL;
	struct lmpi_comm *c;
	struct mail m = {0};
	int rc = lmpi_comm_get_intra(comm_old, &c);

	(void)reorder;
	*comm_dist_graph = MPI_COMM_NULL;
	if (rc == MPI_SUCCESS)
		rc = edges_ok(c, n, sources, degrees, destinations, weights);
	if (rc)
		return rc;
	m.size = c->size;
	t = calloc(1, sizeof(*t));
	rc = t ? MPI_SUCCESS : no_memory();
	if (rc == MPI_SUCCESS)
		rc = mail_write(&m, n, sources, degrees, destinations, weighted ? weights : NULL);
	if (rc == MPI_SUCCESS)
		rc = mail_send(&m, c);
	if (rc == MPI_SUCCESS)
		rc = mail_read(&m, weighted, t);
	if (rc == MPI_SUCCESS)
		rc = make_graph(c, info, t, comm_dist_graph);
	mail_free(&m);
	lmpi_topology_free(t);
	return rc;
}

/* ---- questions */

static int
get_dist_graph(MPI_Comm handle, struct lmpi_comm **c)
{
	int rc = lmpi_comm_get(handle, c);

	if (rc == MPI_SUCCESS && ((*c)->topo == NULL || (*c)->topo->kind != MPI_DIST_GRAPH))
		return lmpi_error(MPI_ERR_TOPOLOGY,
				  "the communicator has no distributed graph topology");
	return rc;
}

int
impl_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree, int *weighted)
{
	struct lmpi_comm *c;
	int rc = get_dist_graph(comm, &c);

	if (rc)
		return rc;
	*indegree = c->topo->indegree;
	*outdegree = c->topo->outdegree;
	*weighted = c->topo->weighted;
	return MPI_SUCCESS;
}

/* At most max of the n neighbours of one direction and their weights. */
static void
give_graph(int max, int n, const int *nodes, const int *weights, int *out, int *out_weights)
{
	bool want = out_weights != MPI_UNWEIGHTED && out_weights != MPI_WEIGHTS_EMPTY &&
		    out_weights != NULL;

	for (int i = 0; i < n && i < max; i++) {
		out[i] = nodes[i];
		if (want && weights != NULL)
			out_weights[i] = weights[i];
	}
}

int
impl_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[],
			  int maxoutdegree, int destinations[], int destweights[])
{
	struct lmpi_comm *c;
	int rc = get_dist_graph(comm, &c);

	if (rc)
		return rc;
	give_graph(maxindegree, c->topo->indegree, c->topo->sources, c->topo->source_weights,
		   sources, sourceweights);
	give_graph(maxoutdegree, c->topo->outdegree, c->topo->destinations,
		   c->topo->destination_weights, destinations, destweights);
	return MPI_SUCCESS;
}
