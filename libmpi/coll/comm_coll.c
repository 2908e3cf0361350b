/* SPDX-License-Identifier: BSD-2-Clause */
/* What collective calls know of a communicator: who is near whom, and what calls leave. */
#include <stdlib.h>

#include "coll.h"
#include "coll_light.h"
#include "plan.h"

/* Cluster of each rank, for hierarchical collectives; NULL if all are in one. */
static uint32_t *
clusters_of(const struct lmpi_group *g)
{
	uint32_t *of;
	bool several = false;

	/* Processes of other jobs do not know the clusters of this one. */
	if (lmpi_world.nclients < 2 || lmpi_group_mixed(g))
		return NULL;
	of = malloc((size_t)(g->size + 1) * sizeof(*of));
	for (int i = 0; of != NULL && i < g->size; i++) {
		of[i] = lmpi_world.proc[g->world[i]].client;
		several |= of[i] != of[0];
	}
	if (!several) {
		free(of);
		return NULL;
	}
	return of;
}

/* Clusters if there are several, else nodes; all processes of the group find the same. */
static void
find_near(struct lmpi_comm_coll *k, const struct lmpi_comm *c)
{
	uint32_t n = (uint32_t)c->group->size;
	uint32_t *key = malloc((2 * (size_t)n + 1) * sizeof(*key)), *number;
	/* What not all processes know must not matter. */
	bool known = key != NULL && !(lmpi_world.hides_nodes && lmpi_group_mixed(c->group));

	for (uint32_t i = 0; known && i < n; i++) {
		const struct lmpi_proc *x = &lmpi_world.proc[c->group->world[i]];

		key[i] = k->cluster_of != NULL ? x->client : x->node_first;
		known = key[i] < lmpi_world.slots; /* a launcher may not say */
	}
	number = known ? malloc(((size_t)n + 1) * sizeof(*number)) : NULL;
	if (number != NULL)
		k->near = coll_locality_of(key, n, number, key + n);
	if (k->near.of == NULL)
		free(number);
	free(key);
}

/* How long collectives are cut is what this client has agreed on, in the node or in all of it:
 * others know nothing of it, so with them the calls are as if nothing had been measured. */
static void
find_pieces(struct lmpi_comm_coll *k, const struct lmpi_comm *c)
{
	if (lmpi_comm_mixed(c) || k->cluster_of != NULL)
		return;
	k->piece = lmpi_world.piece;
	k->segment = lmpi_world.segment;
	k->slice = lmpi_world.slice;
}

static void
drop_coll(struct lmpi_attached *a, const struct lmpi_comm *comm)
{
	struct lmpi_comm_coll *k = (struct lmpi_comm_coll *)(void *)a;

	if (k->light_told != 0)
		lmpi_coll_light_forget(comm);
	lmpi_plans_free(k->plans);
	free(k->cluster_of);
	free((void *)(uintptr_t)k->near.of);
	free(k);
}

bool
lmpi_comm_coll_find(struct lmpi_comm *comm)
{
	struct lmpi_comm_coll *k = (struct lmpi_comm_coll *)(void *)lmpi_comm_attach(
		comm, LMPI_COMM_COLL, sizeof(*k), drop_coll);

	if (k == NULL)
		return false;
	k->cluster_of = clusters_of(comm->group);
	find_near(k, comm);
	find_pieces(k, comm);
	return true;
}
