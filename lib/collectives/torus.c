/* SPDX-License-Identifier: BSD-2-Clause */
#include "torus.h"

static void
add_dim(struct coll_torus *t, uint32_t dim)
{
	if (dim < 2)
		return;
	t->stride[t->n] = t->n ? t->stride[t->n - 1] * t->dim[t->n - 1] : 1;
	t->dim[t->n++] = dim;
}

bool
coll_torus_of(const struct coll_args *a, struct coll_torus *t)
{
	uint32_t side = 1;
	uint64_t product = 1;
	*t = (struct coll_torus){0};
	for (uint64_t d = a->dims; d; d >>= 8) {
		if ((d & 0xff) < 2)
			return false;
		product *= d & 0xff;
		if (product > a->size)
			return false;
		add_dim(t, d & 0xff);
	}
	if (a->dims)
		return product == a->size;
	for (uint32_t d = 2; d * d <= a->size; d++)
		side = a->size % d ? side : d;
	add_dim(t, side);
	add_dim(t, a->size / side);
	return true;
}

bool
coll_torus_fits(const struct coll_args *a)
{
	struct coll_torus t;
	return coll_torus_of(a, &t);
}
