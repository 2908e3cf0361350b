/* SPDX-License-Identifier: BSD-2-Clause */
/* Hierarchical forms for several places, clusters or nodes: reduce inside each to its
 * master, combine among the masters, spread inside.  The WAN is crossed once
 * per master pair, whatever the number of processes.  A master is the lowest
 * rank of its place; in rooted operations the root is its own place's.
 * Cost: flat cost inside + ceil(log2 clusters)(alpha_wan + n beta_wan).
 *
 * Reductions keep rank order only if each place's ranks are contiguous (they
 * are, in MPI_COMM_WORLD), so non-commutative operations ask for that. */
#include "builder.h"

static bool
fits_reduction(const struct coll_args *a)
{
	return a->commutative && coll_many_places(a);
}

/* That range from the master to its place.  Where memory is shared, everybody reads long data from
 * the master at the same time; who passed it on would have to have read it before. */
#define LONG_BYTES  8192
#define READERS_MAX 32
static void
spread_hier(struct coll_schedule *s, const struct coll_args *a, const struct coll_hier *h,
	    struct coll_range x)
{
	uint32_t master = h->master_local;
	if (a->cluster_of || a->bytes < LONG_BYTES || h->local.n > READERS_MAX) {
		coll_bcast_group(s, &h->local, master, x);
	} else if (h->local.me != master) {
		coll_recv(s, h->local.rank[master], x.buf, x.off, x.len);
	} else {
		for (uint32_t v = 0; v < h->local.n; v++)
			if (v != master)
				coll_send(s, h->local.rank[v], x.buf, x.off, x.len);
	}
}

static int
hier_barrier(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_hier h;
	if (!coll_hier_find(s, a, &h))
		return COLL_ERR_NOMEM;
	coll_reduce_group(s, &h.local, h.master_local, 0, true);
	if (h.is_master)
		coll_barrier_group(s, &h.masters);
	uint32_t before = s->steps;
	coll_bcast_group(s, &h.local, h.master_local, coll_vector(0));
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

/* Among many nodes the ring sends a vector twice, the tree log2 of them times. */
#define RING_BYTES (128 * 1024)

/* While a piece goes to a place, the next one comes. */
static void
bcast_hier_pieces(struct coll_schedule *s, const struct coll_args *a, const struct coll_hier *h,
		  uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct coll_part part = coll_part(a->bytes, 1, n, i);
		struct coll_range x = {COLL_RECV, part.off, part.len};
		if (h->is_master)
			coll_bcast_group(s, &h->masters, h->root_master, x);
		spread_hier(s, a, h, x);
	}
}

static int
hier_bcast(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_hier h;
	if (!coll_hier_find(s, a, &h))
		return COLL_ERR_NOMEM;
	uint32_t got = s->steps;
	bool ring = !a->cluster_of && h.masters.n > 3 && a->bytes >= RING_BYTES;
	uint32_t pieces = a->cluster_of || ring ? 1 : coll_pieces(a->bytes, a->segment);
	if (pieces > 1) {
		bcast_hier_pieces(s, a, &h, pieces);
		return COLL_ERR_OK;
	}
	if (h.is_master && ring)
		coll_scatter_ring_group(s, &h.masters, h.root_master, a->bytes);
	else if (h.is_master)
		coll_bcast_group(s, &h.masters, h.root_master, coll_vector(a->bytes));
	uint32_t before = s->steps;
	spread_hier(s, a, &h, coll_vector(a->bytes));
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
reduce_collectives_hier(struct coll_schedule *s, const struct coll_args *a)
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
hier_allreduce(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_hier h;
	if (!coll_hier_find(s, a, &h))
		return COLL_ERR_NOMEM;
	coll_own_into_recv(s, a);
	coll_reduce_group(s, &h.local, h.master_local, a->bytes, true);
	if (h.is_master)
		coll_allreduce_group(s, &h.masters, 0, a->bytes);
	spread_hier(s, a, &h, coll_vector(a->bytes));
	return COLL_ERR_OK;
}

#define COST " inside a cluster, then among the masters, then inside again"
const struct coll_recipe coll_alg_barrier_hier = {COLL_BARRIER, "hier", "binomial" COST,
						  coll_many_places, hier_barrier};
const struct coll_recipe coll_alg_bcast_hier = {COLL_BCAST, "hier", "binomial" COST,
						coll_many_places, hier_bcast};
const struct coll_recipe coll_alg_reduce_hier = {COLL_REDUCE, "hier", "binomial" COST,
						 fits_reduction, reduce_collectives_hier};
const struct coll_recipe coll_alg_allreduce_hier = {COLL_ALLREDUCE, "hier",
						    "binomial / recursive doubling" COST,
						    fits_reduction, hier_allreduce};
