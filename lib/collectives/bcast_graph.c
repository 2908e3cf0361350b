/* Down a breadth-first tree of a fixed graph of a->degree neighbours each: circuits that
 * are lit once and stay, messages that hop.  The graph is circulant: v is joined to v + d
 * and v - d for d = 1 and the second distance that makes the tree flattest; with an odd
 * degree and even p also to v + p/2.
 * Cost: depth hops of alpha + n beta, times the children one after another if a process
 * sends one message at a time; circuits: one gamma. */
#include "builder.h"

#define DISTANCES 3

struct graph {
	uint32_t p, n;
	uint32_t dist[DISTANCES]; /* 0 ends */
};

static uint32_t
neighbour(const struct graph *g, uint32_t v, uint32_t i)
{
	uint32_t d = g->dist[i / 2];
	return i & 1 ? (v + g->p - d) % g->p : (v + d) % g->p;
}

/* Hops from 0 to v = x d1 + y d2 (+ z p/2), by trying all y of both signs. */
static uint32_t
hops(const struct graph *g, uint32_t v)
{
	uint32_t best = UINT32_MAX, p = g->p;
	for (uint32_t z = 0; z < (g->dist[2] ? 2u : 1u); z++)
		for (uint32_t y = 0; y < (g->dist[1] ? p : 1); y++) {
			uint64_t step = g->dist[1];
			uint64_t got = (y * step + (uint64_t)z * g->dist[2]) % p;
			uint32_t rest = (uint32_t)((v + p - got) % p);
			uint32_t x = rest < p - rest ? rest : p - rest;
			uint32_t yy = y < p - y ? y : p - y;
			if (x + yy + z < best)
				best = x + yy + z;
		}
	return best;
}

static uint32_t
depth(const struct graph *g)
{
	uint32_t most = 0;
	for (uint32_t v = 1; v <= g->p / 2; v++) {
		uint32_t h = hops(g, v);
		most = h > most ? h : most;
	}
	return most;
}

/* The second distance: around the root of p the tree is flattest. */
static struct graph
graph(uint32_t p, uint32_t degree)
{
	struct graph g = {.p = p, .n = 2, .dist = {1}};
	if (p <= 3)
		return g;
	if ((degree & 1) && degree > 1 && p % 2 == 0)
		g.dist[2] = p / 2;
	uint32_t best = UINT32_MAX, at = 0, root = 1;
	while (root * root < p)
		root++;
	for (uint32_t d = root > 4 ? root - 2 : 2; degree >= 4 && d <= root + 2 && d < p / 2; d++) {
		g.dist[1] = d;
		uint32_t now = depth(&g);
		if (now < best) {
			best = now;
			at = d;
		}
	}
	g.dist[1] = at;
	g.n = 2 * DISTANCES;
	return g;
}

/* The first neighbour in the graph's order that is one hop nearer. */
static uint32_t
parent(const struct graph *g, uint32_t v)
{
	uint32_t far = hops(g, v);
	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->dist[i / 2])
			continue;
		uint32_t w = neighbour(g, v, i);
		if (hops(g, w) + 1 == far)
			return w;
	}
	return 0;
}

static int
build(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, v = (a->rank + p - a->root) % p, got = UINT32_MAX, last = v;
	if (p == 1)
		return COLL_ERR_OK;
	struct graph g = graph(p, a->degree ? a->degree : 2);
	if (v)
		got = coll_recv(s, (parent(&g, v) + a->root) % p, COLL_RECV, 0, a->bytes);
	for (uint32_t i = 0; i < g.n; i++) {
		uint32_t w = g.dist[i / 2] ? neighbour(&g, v, i) : v;
		/* v + p/2 and v - p/2 are one neighbour, and so is v + 1 = v - 1 with two */
		if (w == v || w == last || w == 0 || parent(&g, w) != v)
			continue;
		last = w;
		coll_send(s, (w + a->root) % p, COLL_RECV, 0, a->bytes);
		coll_after(s, got);
	}
	return COLL_ERR_OK;
}

const struct coll_algorithm coll_alg_bcast_graph = {
	COLL_BCAST, "graph", "depth (alpha + n beta), one gamma", NULL, build};
