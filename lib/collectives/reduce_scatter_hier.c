/* SPDX-License-Identifier: BSD-2-Clause */
/* For several clusters: each reduces the whole vector to its master, the masters give each other
 * what is for the other's processes, one message a pair, and deal out what they have combined.
 * So a byte crosses once for every other cluster, where pairwise sends it once for every
 * process of the own one.  Commutative operations.
 * Cost with k processes in each of n clusters: ceil(log2 k)(alpha + v beta + v gamma) and
 * (k-1)(alpha + b beta) inside, (n-1)(alpha + k b beta) between masters; v is the whole vector.
 * In place, COLL_RECV holds the whole input vector and its front the result. */
#include "builder.h"

struct plan {
	struct coll_hier h;
	uint64_t acc, own; /* where the vector is in COLL_TMP, and the blocks of my place */
};

/* The place of a rank is the m-th master's. */
static bool
is_of(const struct coll_hier *h, uint32_t rank, uint32_t m)
{
	return h->of[rank] == h->of[h->masters.rank[m]];
}

static uint64_t
place_bytes(const struct coll_args *a, const struct coll_hier *h, uint32_t m)
{
	uint64_t n = 0;
	for (uint32_t r = 0; r < a->size; r++)
		n += is_of(h, r, m) ? coll_block_len(a, r) : 0;
	return n;
}

/* The blocks of a place one behind the other; neighbours in one piece. */
static uint64_t
pick_reduce_scatter_hier(struct coll_schedule *s, const struct coll_args *a, const struct plan *p,
			 uint32_t m)
{
	uint64_t to = coll_tmp(s, place_bytes(a, &p->h, m)), at = to, off = p->acc, run = 0;
	for (uint32_t r = 0; r <= a->size; r++) {
		bool in = r < a->size && is_of(&p->h, r, m);
		if (!in && run) {
			coll_copy(s, COLL_TMP, off - run, COLL_TMP, at, run);
			at += run;
			run = 0;
		}
		if (r < a->size)
			off += coll_block_len(a, r);
		if (in)
			run += coll_block_len(a, r);
	}
	return to;
}

static void
exchange_reduce_scatter_hier(struct coll_schedule *s, const struct coll_args *a, struct plan *p)
{
	const struct coll_group *g = &p->h.masters;
	uint64_t len = place_bytes(a, &p->h, g->me);
	p->own = pick_reduce_scatter_hier(s, a, p, g->me);
	for (uint32_t d = 1; d < g->n; d++) {
		uint32_t to = (g->me + d) % g->n, from = (g->me + g->n - d) % g->n;
		coll_send(s, coll_real(g, to), COLL_TMP, pick_reduce_scatter_hier(s, a, p, to),
			  place_bytes(a, &p->h, to));
		uint64_t t = coll_tmp(s, len);
		coll_recv(s, coll_real(g, from), COLL_TMP, t, len);
		coll_reduce(s, COLL_TMP, t, COLL_TMP, p->own, len, false);
	}
}

static int
build_reduce_scatter_hier(struct coll_schedule *s, const struct coll_args *a)
{
	struct plan p = {0};
	if (!coll_hier_find(s, a, &p.h))
		return COLL_ERR_NOMEM;
	uint64_t all = 0;
	for (uint32_t r = 0; r < a->size; r++)
		all += coll_block_len(a, r);
	p.acc = coll_tmp(s, all);
	coll_copy(s, a->in_place ? COLL_RECV : COLL_SEND, 0, COLL_TMP, p.acc, all);
	coll_reduce_scratch_group(s, &p.h.local, p.acc, all);
	if (!p.h.is_master) {
		coll_recv(s, p.h.local.rank[p.h.master_local], COLL_RECV, 0,
			  coll_block_len(a, a->rank));
		return COLL_ERR_OK;
	}
	exchange_reduce_scatter_hier(s, a, &p);
	uint64_t at = p.own;
	for (uint32_t v = 0; v < p.h.local.n; v++) {
		uint64_t len = coll_block_len(a, p.h.local.rank[v]);
		if (v == p.h.local.me)
			coll_copy(s, COLL_TMP, at, COLL_RECV, 0, len);
		else
			coll_send(s, p.h.local.rank[v], COLL_TMP, at, len);
		at += len;
	}
	return COLL_ERR_OK;
}

static bool
reduce_scatter_hier_fits(const struct coll_args *a)
{
	return a->commutative && coll_many_places(a);
}

const struct coll_recipe coll_alg_reduce_scatter_hier = {
	COLL_REDUCE_SCATTER, "hier", "reduce inside, (n-1)(alpha + k b beta) between n masters",
	reduce_scatter_hier_fits, build_reduce_scatter_hier};
