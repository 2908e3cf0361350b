/* SPDX-License-Identifier: BSD-2-Clause */
/* In segments from neighbour to neighbour: a process passes on a segment while the next one comes.
 *
 * "pipeline": down a chain of all.  Cost: (p - 2 + m) (alpha + n/m beta) with m segments.
 *
 * "torus": along the rings of one dimension both ways, from there along those of the next, and so
 * on.  Less far than a chain, but the root sends each segment to up to 2 neighbours in each
 * dimension. */
#include "torus.h"

#define CHILDREN_MAX (2 * COLL_TORUS_DIMS)

struct line {
	uint32_t dim;
	bool chain; /* one way only */
};

/* The coordinate that comes before c, from 0 on; and the one behind it, or 0. */
static uint32_t
before_on_line(const struct line *l, uint32_t c)
{
	return l->chain || c <= l->dim / 2 ? c - 1 : (c + 1) % l->dim;
}

static uint32_t
behind_on_line(const struct line *l, uint32_t c)
{
	if (l->chain || c <= l->dim / 2)
		return c + 1 <= (l->chain ? l->dim - 1 : l->dim / 2) ? c + 1 : 0;
	return c - 1 > l->dim / 2 ? c - 1 : 0;
}

/* Whom v passes on to, and whom it has it from: v itself, if it is the root. */
static uint32_t
family(const struct coll_torus *t, bool chain, uint32_t root, uint32_t v,
       uint32_t child[CHILDREN_MAX], uint32_t *parent)
{
	uint32_t n = 0;
	*parent = v;
	for (uint32_t i = t->n; i-- > 0;) {
		const struct line l = {t->dim[i], chain};
		uint32_t zero = coll_torus_coord(t, i, root);
		uint32_t c = (coll_torus_coord(t, i, v) + l.dim - zero) % l.dim;
		uint32_t next = behind_on_line(&l, c);
		/* The farther way first. */
		if (next)
			child[n++] = coll_torus_at(t, i, v, zero + next);
		if (c == 0 && !chain && l.dim > 2)
			child[n++] = coll_torus_at(t, i, v, zero + l.dim - 1);
		if (c) {
			*parent = coll_torus_at(t, i, v, zero + before_on_line(&l, c));
			break;
		}
	}
	return n;
}

static int
build_segments(struct coll_schedule *s, const struct coll_args *a, const struct coll_torus *t,
	       bool chain)
{
	uint32_t child[CHILDREN_MAX], parent;
	uint32_t n = family(t, chain, a->root, a->rank, child, &parent), m = coll_segments(a);
	for (uint32_t k = 0; k < m; k++) {
		struct coll_part x = coll_part(a->bytes, 1, m, k);
		uint32_t got = UINT32_MAX;
		if (parent != a->rank)
			got = coll_recv(s, parent, COLL_RECV, x.off, x.len);
		for (uint32_t i = n; i-- > 0;) {
			coll_send(s, child[i], COLL_RECV, x.off, x.len);
			coll_after(s, got);
		}
	}
	return COLL_ERR_OK;
}

static int
build_bcast_pipeline(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_torus t = {.n = a->size > 1, .dim = {a->size}, .stride = {1}};
	return build_segments(s, a, &t, true);
}

static int
build_bcast_torus(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_torus t;
	coll_torus_of(a, &t);
	return build_segments(s, a, &t, false);
}

const struct coll_recipe coll_alg_bcast_pipeline = {
	COLL_BCAST, "pipeline", "(p-2+m) (alpha + n/m beta)", NULL, build_bcast_pipeline};
const struct coll_recipe coll_alg_bcast_torus = {COLL_BCAST, "torus",
						 "sum dim/2 (alpha + n beta), one gamma",
						 coll_torus_fits, build_bcast_torus};
