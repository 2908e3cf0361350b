/* SPDX-License-Identifier: BSD-2-Clause */
/* Along the rings of one dimension after another.  A block's place among the p in COLL_RECV is told
 * by coordinates: those of its source in the dimensions that are done, of its target in the others.
 *
 * Along a ring bundles of blocks travel both ways, each the shorter one.  In round s a process
 * passes on what has come in the round before and is not for itself: of the process s - 1 before it
 * (behind it) the bundles for the next ones.
 *
 * "ring" is that with one dimension.  Cost: for each dimension d 2 (d/2) alpha + d/4 p b beta; a
 * ring of all p: 2 (p/2) alpha + p^2/4 b beta, and one gamma. */
#include "torus.h"

static bool
alltoall_ring_fits(const struct coll_args *a)
{
	return !a->bytes_of && !a->send_bytes && !a->displ && !a->send_displ;
}

static bool
alltoall_torus_fits(const struct coll_args *a)
{
	return alltoall_ring_fits(a) && coll_torus_fits(a);
}

/* A dimension as one of its processes sees it. */
struct lane {
	const struct coll_torus *t;
	uint32_t i, c, me;
	uint32_t runs;	      /* neighbours in rank of one coordinate; so many in a bundle */
	uint64_t run, bundle; /* bytes */
};

struct way {
	uint32_t far;	     /* bundles go to so many processes this way */
	bool right;	     /* to the ones after */
	uint64_t now, spare; /* in COLL_TMP: what goes next, where the next comes */
};

static uint32_t
coord_along(const struct lane *l, const struct way *w, uint32_t distance, bool ahead)
{
	uint32_t dim = l->t->dim[l->i];
	return (l->c + (ahead == w->right ? distance : dim - distance)) % dim;
}

/* The bundle of a coordinate between COLL_RECV and one piece of COLL_TMP. */
static void
move_bundle(struct coll_schedule *s, const struct lane *l, uint32_t coord, uint64_t tmp, bool out)
{
	uint64_t each = l->t->dim[l->i] * l->run;
	for (uint32_t k = 0; k < l->runs; k++) {
		uint64_t off = k * each + coord * l->run, at = tmp + k * l->run;
		if (out)
			coll_copy(s, COLL_RECV, off, COLL_TMP, at, l->run);
		else
			coll_copy(s, COLL_TMP, at, COLL_RECV, off, l->run);
	}
}

static void
pack_way(struct coll_schedule *s, const struct lane *l, struct way *w)
{
	w->now = coll_tmp(s, w->far * l->bundle);
	w->spare = coll_tmp(s, w->far * l->bundle);
	for (uint32_t d = 1; d <= w->far; d++)
		move_bundle(s, l, coord_along(l, w, d, true), w->now + (d - 1) * l->bundle, true);
}

static void
turn_way(struct coll_schedule *s, const struct lane *l, struct way *w, uint32_t n)
{
	uint64_t len = (w->far - n + 1) * l->bundle, came = w->spare;
	uint32_t to = coll_torus_at(l->t, l->i, l->me, coord_along(l, w, 1, true));
	uint32_t from = coll_torus_at(l->t, l->i, l->me, coord_along(l, w, 1, false));
	coll_send(s, to, COLL_TMP, w->now, len);
	coll_recv(s, from, COLL_TMP, came, len);
	move_bundle(s, l, coord_along(l, w, n, false), came, false);
	w->spare = w->now - (n > 1 ? l->bundle : 0);
	w->now = came + l->bundle;
}

static int
build_along(struct coll_schedule *s, const struct coll_args *a, const struct coll_torus *t)
{
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, COLL_RECV, 0, a->size * a->bytes);
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t dim = t->dim[i];
		struct lane l = {t,
				 i,
				 coll_torus_coord(t, i, a->rank),
				 a->rank,
				 a->size / dim / t->stride[i],
				 t->stride[i] * a->bytes,
				 a->size / dim * a->bytes};
		struct way right = {.far = dim / 2, .right = true}, left = {.far = (dim - 1) / 2};
		pack_way(s, &l, &right);
		pack_way(s, &l, &left);
		for (uint32_t n = 1; n <= right.far; n++) {
			turn_way(s, &l, &right, n);
			if (n <= left.far)
				turn_way(s, &l, &left, n);
		}
	}
	return COLL_ERR_OK;
}

static int
build_alltoall_ring(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_torus t = {.n = a->size > 1, .dim = {a->size}, .stride = {1}};
	return build_along(s, a, &t);
}

static int
build_alltoall_torus(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_torus t;
	coll_torus_of(a, &t);
	return build_along(s, a, &t);
}

const struct coll_recipe coll_alg_alltoall_ring = {COLL_ALLTOALL, "ring",
						   "2 (p/2) alpha + p^2/4 b beta, one gamma",
						   alltoall_ring_fits, build_alltoall_ring};
const struct coll_recipe coll_alg_alltoall_torus = {COLL_ALLTOALL, "torus",
						    "sum dim alpha + sum dim/4 p b beta",
						    alltoall_torus_fits, build_alltoall_torus};
