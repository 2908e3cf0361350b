/* For places of equal size, where sending inside is cheap: inside each place every process
 * combines one part of the vector, all at once; then those with the same part combine across
 * the places; then every process gives its part to all of its place.  With one place that is
 * two rounds, whatever the number of processes; with several each byte leaves a place as
 * often as one process of it alone would have to send it.
 * Cost with k processes in each of n places: 2 alpha + 2 (k-1)/k n beta inside, and the ring's
 * or, for two places, recursive doubling's, with n/k between places, k of them side by side. */
#include "builder.h"

struct grid {
	uint32_t k, me;
	const uint32_t *local; /* [k] ranks of my place, NULL: rank itself */
	struct coll_group column;
};

static bool
find(struct coll_schedule *s, const struct coll_args *a, struct grid *g)
{
	uint32_t k = a->place_size, row = 0;
	*g = (struct grid){.k = k, .me = a->rank, .column = {.n = 1}};
	if (a->places == 1)
		return true;
	uint32_t *local = coll_numbers(s, k + 2 * a->places);
	if (local == NULL)
		return false;
	uint32_t *column = local + k, *seen = column + a->places;
	for (uint32_t p = 0; p < a->places; p++)
		seen[p] = 0;
	for (uint32_t r = 0; r < a->size; r++) {
		if (r == a->rank)
			g->me = row;
		if (a->place_of[r] == a->place_of[a->rank])
			local[row++] = r;
	}
	for (uint32_t r = 0; r < a->size; r++)
		if (seen[a->place_of[r]]++ == g->me)
			column[a->place_of[r]] = r;
	g->local = local;
	g->column = (struct coll_group){column, a->places, a->place_of[a->rank], false};
	return true;
}

static uint32_t
rank_of(const struct grid *g, uint32_t v)
{
	return g->local ? g->local[v] : v;
}

/* Lower neighbours on the left, the nearest first, then the upper ones on the right: the
 * order of ranks, so that one place takes operations that do not commute. */
static void
combine(struct coll_schedule *s, const struct coll_args *a, const struct grid *g,
	struct coll_part mine)
{
	uint64_t t = coll_tmp(s, g->k * mine.len);
	for (uint32_t d = 1; d < g->k; d++) {
		uint32_t from = (g->me + g->k - d) % g->k, to = (g->me + d) % g->k;
		struct coll_part out = coll_part(a->bytes, a->elem, g->k, to);
		coll_send(s, rank_of(g, to), a->in_place ? COLL_RECV : COLL_SEND, out.off, out.len);
		coll_recv(s, rank_of(g, from), COLL_TMP, t + from * mine.len, mine.len);
	}
	if (!a->in_place)
		coll_copy(s, COLL_SEND, mine.off, COLL_RECV, mine.off, mine.len);
	for (uint32_t v = g->me; v-- > 0;)
		coll_reduce(s, COLL_TMP, t + v * mine.len, COLL_RECV, mine.off, mine.len, true);
	for (uint32_t v = g->me + 1; v < g->k; v++)
		coll_reduce(s, COLL_TMP, t + v * mine.len, COLL_RECV, mine.off, mine.len, false);
}

static int
build(struct coll_schedule *s, const struct coll_args *a)
{
	struct grid g;
	if (!find(s, a, &g))
		return COLL_ERR_NOMEM;
	struct coll_part mine = coll_part(a->bytes, a->elem, g.k, g.me);
	combine(s, a, &g, mine);
	if (g.column.n > 2 && mine.len / a->elem >= g.column.n)
		coll_ring_group(s, &g.column, mine.off, mine.len, a->elem);
	else if (g.column.n > 1)
		coll_allreduce_group(s, &g.column, mine.off, mine.len);
	for (uint32_t d = 1; d < g.k; d++) {
		uint32_t from = (g.me + g.k - d) % g.k, to = (g.me + d) % g.k;
		struct coll_part in = coll_part(a->bytes, a->elem, g.k, from);
		coll_send(s, rank_of(&g, to), COLL_RECV, mine.off, mine.len);
		coll_recv(s, rank_of(&g, from), COLL_RECV, in.off, in.len);
	}
	return COLL_ERR_OK;
}

static bool
fits(const struct coll_args *a)
{
	return (a->commutative || a->places == 1) && a->places * a->place_size == a->size &&
	       a->bytes / a->elem >= a->place_size;
}

const struct coll_algorithm coll_alg_allreduce_places = {
	COLL_ALLREDUCE, "places", "2 alpha + 2 (k-1)/k n beta inside, n/k by ring between places",
	fits, build};
