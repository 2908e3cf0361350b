/* SPDX-License-Identifier: BSD-2-Clause */
/* For places of equal size, where sending inside is cheap: inside each place every process
 * combines one part of the vector, all at once; then those with the same part combine across
 * the places; then every process gives its part to all of its place.  With one place that is
 * two rounds, whatever the number of processes; with several each byte leaves a place as
 * often as one process of it alone would have to send it.
 * Cost with k processes in each of n places: 2 alpha + 2 (k-1)/k n beta inside, and the ring's
 * or, for two places, recursive doubling's, with n/k between places, k of them side by side. */
#include "builder.h"

struct grid {
	struct coll_group row;	  /* my place */
	struct coll_group column; /* those with the same part, one of each place */
};

static bool
find_allreduce_places(struct coll_schedule *s, const struct coll_args *a, struct grid *g)
{
	struct coll_domains d;
	*g = (struct grid){.row = {NULL, a->near.each, a->rank, false}, .column = {.n = 1}};
	if (a->near.count == 1)
		return true;
	uint32_t *column = coll_numbers(s, a->near.count);
	if (!column || !coll_domains_find(s, a->near.of, a->size, a->rank, &d))
		return false;
	for (uint32_t i = 0; i < d.count; i++)
		column[i] = d.rank[d.first[i] + d.me];
	g->row = (struct coll_group){d.rank + d.first[d.mine], a->near.each, d.me, false};
	g->column = (struct coll_group){column, d.count, d.mine, false};
	return true;
}

/* What is fetched and combined at a time if a->piece does not say. Of two processes that is 1.1
 * times as fast as all at once, of four and eight no faster.  In several clusters the other may be
 * on another node, and each piece would cost a round trip. */
#define PIECE (64u << 10)

static uint32_t
pieces(const struct coll_args *a, const struct coll_group *g, struct coll_part part)
{
	if (a->cluster_of || g->n > 2)
		return 1;
	return coll_pieces(part.len, a->piece ? a->piece : PIECE);
}

static struct coll_part
allreduce_places_piece(const struct coll_args *a, struct coll_part part, uint32_t n, uint32_t i)
{
	struct coll_part x = coll_part(part.len, a->elem, n, i);
	return (struct coll_part){part.off + x.off, x.len};
}

static void
give_allreduce_places(struct coll_schedule *s, const struct coll_args *a,
		      const struct coll_group *g)
{
	for (uint32_t d = 1; d < g->n; d++) {
		uint32_t to = (g->me + d) % g->n;
		struct coll_part part = coll_part(a->bytes, a->elem, g->n, to);
		uint32_t n = pieces(a, g, part);
		for (uint32_t i = 0; i < n; i++) {
			struct coll_part x = allreduce_places_piece(a, part, n, i);
			coll_send(s, coll_real(g, to), a->in_place ? COLL_RECV : COLL_SEND, x.off,
				  x.len);
		}
	}
}

/* Lower neighbours on the left, the nearest first, then the upper ones on the right: the
 * order of ranks.  If the own vector is not where the result is to be, the first of the
 * others comes right there and the own one is combined with it.  Nothing begins before the
 * step `last` of the piece before; returns that of this one. */
static uint32_t
combine_allreduce_places(struct coll_schedule *s, const struct coll_args *a,
			 const struct coll_group *g, struct coll_part x, uint64_t tmp,
			 uint32_t last)
{
	uint32_t first = a->in_place ? g->me : g->me > 0 ? g->me - 1 : 1;
	for (uint32_t d = 1; d < g->n; d++) {
		uint32_t from = (g->me + g->n - d) % g->n;
		if (from == first)
			coll_recv(s, coll_real(g, from), COLL_RECV, x.off, x.len);
		else
			coll_recv(s, coll_real(g, from), COLL_TMP, tmp + from * x.len, x.len);
		coll_after(s, last);
	}
	if (!a->in_place)
		last = coll_reduce(s, COLL_SEND, x.off, COLL_RECV, x.off, x.len, first > g->me);
	for (uint32_t v = g->me; v-- > 0;)
		if (v != first)
			last = coll_reduce(s, COLL_TMP, tmp + v * x.len, COLL_RECV, x.off, x.len,
					   true);
	for (uint32_t v = g->me + 1; v < g->n; v++)
		if (v != first)
			last = coll_reduce(s, COLL_TMP, tmp + v * x.len, COLL_RECV, x.off, x.len,
					   false);
	return last;
}

static void
combine_all(struct coll_schedule *s, const struct coll_args *a, const struct coll_group *g)
{
	struct coll_part mine = coll_part(a->bytes, a->elem, g->n, g->me);
	uint32_t n = pieces(a, g, mine), last = UINT32_MAX;
	if (g->n == 1) {
		coll_own_into_recv(s, a);
		return;
	}
	uint64_t tmp = coll_tmp(s, g->n * allreduce_places_piece(a, mine, n, 0).len);
	give_allreduce_places(s, a, g);
	for (uint32_t i = 0; i < n; i++)
		last = combine_allreduce_places(s, a, g, allreduce_places_piece(a, mine, n, i), tmp,
						last);
}

static int
build_allreduce_places(struct coll_schedule *s, const struct coll_args *a)
{
	struct grid g;
	if (!find_allreduce_places(s, a, &g))
		return COLL_ERR_NOMEM;
	uint32_t k = g.row.n, me = g.row.me;
	struct coll_part mine = coll_part(a->bytes, a->elem, k, me);
	combine_all(s, a, &g.row);
	if (g.column.n > 2 && mine.len / a->elem >= g.column.n)
		coll_ring_group(s, &g.column, mine.off, mine.len, a->elem);
	else if (g.column.n > 1)
		coll_allreduce_group(s, &g.column, mine.off, mine.len);
	for (uint32_t d = 1; d < k; d++) {
		uint32_t from = (me + k - d) % k, to = (me + d) % k;
		struct coll_part in = coll_part(a->bytes, a->elem, k, from);
		coll_send(s, coll_real(&g.row, to), COLL_RECV, mine.off, mine.len);
		coll_recv(s, coll_real(&g.row, from), COLL_RECV, in.off, in.len);
	}
	return COLL_ERR_OK;
}

static bool
allreduce_places_fits(const struct coll_args *a)
{
	return (a->commutative || a->near.count == 1) && a->near.count * a->near.each == a->size &&
	       a->bytes / a->elem >= a->near.each;
}

const struct coll_recipe coll_alg_allreduce_places = {
	COLL_ALLREDUCE, "places", "2 alpha + 2 (k-1)/k n beta inside, n/k by ring between places",
	allreduce_places_fits, build_allreduce_places};
