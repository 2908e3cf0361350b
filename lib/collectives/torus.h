/* SPDX-License-Identifier: BSD-2-Clause */
/* Private: the torus of "torus" algorithms.  Process v has coordinate v / stride[i] % dim[i] in
 * dimension i, so those that differ in the first i coordinates only are neighbours in rank.  Along
 * each dimension there are closed rings; messages go to neighbours only. */
#ifndef COLL_TORUS_H
#define COLL_TORUS_H

#include "builder.h"

#define COLL_TORUS_DIMS 8

struct coll_torus {
	uint32_t n; /* dimensions; 0: one process */
	uint32_t dim[COLL_TORUS_DIMS], stride[COLL_TORUS_DIMS];
};

/* That of a->dims, or, if it is 0, the squarest of two dimensions (a ring, if size is prime).
 * False: the product of a->dims is not size. */
bool coll_torus_of(const struct coll_args *a, struct coll_torus *t);
/* For `fits`. */
bool coll_torus_fits(const struct coll_args *a);

static inline uint32_t
coll_torus_coord(const struct coll_torus *t, uint32_t i, uint32_t v)
{
	return v / t->stride[i] % t->dim[i];
}

/* v, moved to that coordinate, which is below twice the dimension. */
static inline uint32_t
coll_torus_at(const struct coll_torus *t, uint32_t i, uint32_t v, uint32_t coord)
{
	return v - coll_torus_coord(t, i, v) * t->stride[i] + coord % t->dim[i] * t->stride[i];
}

#endif
