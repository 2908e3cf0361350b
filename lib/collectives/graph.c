/* SPDX-License-Identifier: BSD-2-Clause */
/* The fixed graph of degree neighbours each that algorithms named "graph" keep to: circuits that
 * are lit once and stay, messages that hop.  The graph is circulant: v is joined to v + d and v - d
 * for d = 1 and the second distance that makes the tree flattest; with an odd degree and even p
 * also to v + p/2. */
#include "graph.h"

uint32_t
coll_graph_neighbour(const struct coll_graph *g, uint32_t v, uint32_t i)
{
	uint32_t d = g->dist[i / 2];
	return i & 1 ? (v + g->p - d) % g->p : (v + d) % g->p;
}

/* Hops from 0 to v = x d1 + y d2 (+ z p/2), by trying all y of both signs. */
static uint32_t
hops(const struct coll_graph *g, uint32_t v)
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
depth(const struct coll_graph *g)
{
	uint32_t most = 0;
	for (uint32_t v = 1; v <= g->p / 2; v++) {
		uint32_t h = hops(g, v);
		most = h > most ? h : most;
	}
	return most;
}

/* The second distance: around the root of p the tree is flattest. */
struct coll_graph
coll_graph(uint32_t p, uint32_t degree)
{
	struct coll_graph g = {.p = p, .n = 2, .dist = {1}};
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
	g.n = 2 * COLL_GRAPH_DISTANCES;
	return g;
}

/* The first neighbour in the graph's order that is one hop nearer. */
uint32_t
coll_graph_parent(const struct coll_graph *g, uint32_t v)
{
	uint32_t far = hops(g, v);
	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->dist[i / 2])
			continue;
		uint32_t w = coll_graph_neighbour(g, v, i);
		if (hops(g, w) + 1 == far)
			return w;
	}
	return 0;
}

uint32_t
coll_graph_children(const struct coll_graph *g, uint32_t v, uint32_t child[COLL_GRAPH_CHILDREN])
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t w = g->dist[i / 2] ? coll_graph_neighbour(g, v, i) : v;
		/* v + p/2 and v - p/2 are one neighbour, and so is v + 1 = v - 1 with two */
		if (w == v || w == 0 || (n && child[n - 1] == w) || coll_graph_parent(g, w) != v)
			continue;
		child[n++] = w;
	}
	return n;
}
