/* Hierarchical forms for several clusters: reduce inside each cluster to its
 * master, combine among the masters, spread inside.  The WAN is crossed once
 * per master pair, whatever the number of processes.  A master is the lowest
 * rank of its cluster; in rooted operations the root is its own cluster's.
 * Cost: flat cost inside + ceil(log2 clusters)(alpha_wan + n beta_wan).
 *
 * Reductions keep rank order only if each cluster's ranks are contiguous (they
 * are, in MPI_COMM_WORLD), so non-commutative operations ask for that. */
#include "builder.h"

static bool
many_clusters(const struct coll_args *a)
{
	if (!a->cluster_of)
		return false;
	for (uint32_t r = 1; r < a->size; r++)
		if (a->cluster_of[r] != a->cluster_of[0])
			return true;
	return false;
}

static bool
fits_reduction(const struct coll_args *a)
{
	return a->commutative && many_clusters(a);
}

static int
barrier(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_hier h;
	if (!coll_hier_find(s, a, &h))
		return COLL_ERR_NOMEM;
	coll_reduce_group(s, &h.local, h.master_local, 0, true);
	if (h.is_master)
		coll_barrier_group(s, &h.masters);
	uint32_t before = s->steps;
	coll_bcast_group(s, &h.local, h.master_local, 0);
	/* zero-byte steps find no dependencies by themselves */
	for (uint32_t i = before; i < s->steps && h.is_master; i++) {
		struct coll_step *st = &s->step[i];
		st->dep_first = s->deps;
		st->dep_count = 0;
		for (uint32_t j = 0; j < before; j++) {
			if (s->deps >= s->deps_max)
				return COLL_ERR_NOMEM;
			s->dep[s->deps++] = j;
			st->dep_count++;
		}
	}
	return COLL_ERR_OK;
}

static int
bcast(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_hier h;
	if (!coll_hier_find(s, a, &h))
		return COLL_ERR_NOMEM;
	uint32_t got = s->steps;
	if (h.is_master)
		coll_bcast_group(s, &h.masters, h.root_master, a->bytes);
	uint32_t before = s->steps;
	coll_bcast_group(s, &h.local, h.master_local, a->bytes);
	if (!a->bytes && h.is_master && before > got && a->rank != a->root)
		for (uint32_t i = before; i < s->steps; i++) {
			/* the receive from the other cluster is step `got` */
			struct coll_step *st = &s->step[i];
			if (s->deps >= s->deps_max)
				return COLL_ERR_NOMEM;
			st->dep_first = s->deps;
			st->dep_count = 1;
			s->dep[s->deps++] = got;
		}
	return COLL_ERR_OK;
}

static int
reduce(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_hier h;
	if (!coll_hier_find(s, a, &h))
		return COLL_ERR_NOMEM;
	coll_own_into_recv(s, a);
	coll_reduce_group(s, &h.local, h.master_local, a->bytes, true);
	if (h.is_master)
		coll_reduce_group(s, &h.masters, h.root_master, a->bytes, true);
	return COLL_ERR_OK;
}

static int
allreduce(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_hier h;
	if (!coll_hier_find(s, a, &h))
		return COLL_ERR_NOMEM;
	coll_own_into_recv(s, a);
	coll_reduce_group(s, &h.local, h.master_local, a->bytes, true);
	if (h.is_master)
		coll_allreduce_group(s, &h.masters, a->bytes);
	coll_bcast_group(s, &h.local, h.master_local, a->bytes);
	return COLL_ERR_OK;
}

#define COST " inside a cluster, then among the masters, then inside again"
const struct coll_algorithm coll_alg_barrier_hier = {COLL_BARRIER, "hier", "binomial" COST,
						     many_clusters, barrier};
const struct coll_algorithm coll_alg_bcast_hier = {COLL_BCAST, "hier", "binomial" COST,
						   many_clusters, bcast};
const struct coll_algorithm coll_alg_reduce_hier = {COLL_REDUCE, "hier", "binomial" COST,
						    fits_reduction, reduce};
const struct coll_algorithm coll_alg_allreduce_hier = {
	COLL_ALLREDUCE, "hier", "binomial / recursive doubling" COST, fits_reduction, allreduce};
