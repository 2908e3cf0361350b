/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ways over a torus.
 *
 * "torus": reduce-scatter along the rings of one dimension after another, allgather back; each part
 * is computed by one process only.  Cost: 2 sum (dim - 1) alpha + 2 (p-1)/p n beta.
 *
 * "torus_whole", for short vectors: along each ring everybody gets the vectors of all and combines
 * them in the ring's order.  So all have the same bits, and all orders of operands are kept.  With
 * dimensions of 2 it is recursive doubling.  Cost: sum (dim - 1) (alpha + n beta). */
#include "torus.h"

#define WHOLE_MAX (UINT64_C(64) << 20) /* bytes of vectors that wait to be combined */

/* Bytes of the parts of `count` processes. */
static struct coll_part
parts_of(const struct coll_args *a, uint32_t first, uint32_t count)
{
	struct coll_part x = coll_part(a->bytes, a->elem, a->size, first);
	struct coll_part y = coll_part(a->bytes, a->elem, a->size, first + count - 1);
	return (struct coll_part){x.off, y.off + y.len - x.off};
}

static void
scatter_along(struct coll_schedule *s, const struct coll_args *a, const struct coll_torus *t,
	      uint32_t i)
{
	uint32_t me = a->rank, c = coll_torus_coord(t, i, me), dim = t->dim[i];
	uint32_t first = me - me % t->stride[i];
	for (uint32_t k = 1; k < dim; k++) {
		struct coll_part out =
			parts_of(a, coll_torus_at(t, i, first, c + dim - k), t->stride[i]);
		struct coll_part in =
			parts_of(a, coll_torus_at(t, i, first, c + 2 * dim - 1 - k), t->stride[i]);
		uint64_t tmp = coll_tmp(s, in.len);
		coll_send(s, coll_torus_at(t, i, me, c + 1), COLL_RECV, out.off, out.len);
		coll_recv(s, coll_torus_at(t, i, me, c + dim - 1), COLL_TMP, tmp, in.len);
		coll_reduce(s, COLL_TMP, tmp, COLL_RECV, in.off, in.len, true);
	}
}

static void
gather_along(struct coll_schedule *s, const struct coll_args *a, const struct coll_torus *t,
	     uint32_t i)
{
	uint32_t me = a->rank, c = coll_torus_coord(t, i, me), dim = t->dim[i];
	uint32_t first = me - me % t->stride[i];
	for (uint32_t k = 1; k < dim; k++) {
		struct coll_part out =
			parts_of(a, coll_torus_at(t, i, first, c + dim + 1 - k), t->stride[i]);
		struct coll_part in =
			parts_of(a, coll_torus_at(t, i, first, c + dim - k), t->stride[i]);
		coll_send(s, coll_torus_at(t, i, me, c + 1), COLL_RECV, out.off, out.len);
		coll_recv(s, coll_torus_at(t, i, me, c + dim - 1), COLL_RECV, in.off, in.len);
	}
}

static bool
allreduce_torus_fits(const struct coll_args *a)
{
	return a->commutative && a->bytes / a->elem >= a->size && coll_torus_fits(a);
}

static int
build_allreduce_torus(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_torus t;
	coll_torus_of(a, &t);
	coll_own_into_recv(s, a);
	for (uint32_t i = t.n; i-- > 0;)
		scatter_along(s, a, &t, i);
	for (uint32_t i = 0; i < t.n; i++)
		gather_along(s, a, &t, i);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allreduce_torus = {
	COLL_ALLREDUCE, "torus", "2 sum (dim-1) alpha + 2 (p-1)/p n beta + (p-1)/p n gamma",
	allreduce_torus_fits, build_allreduce_torus};

/* ---- whole vectors ---- */

static void
combine_along(struct coll_schedule *s, const struct coll_args *a, const struct coll_torus *t,
	      uint32_t i)
{
	uint32_t me = a->rank, c = coll_torus_coord(t, i, me), dim = t->dim[i];
	uint64_t n = a->bytes, sum = coll_tmp(s, n), came = coll_tmp(s, (dim - 1) * n);
	for (uint32_t k = 1; k < dim; k++) {
		enum coll_buf from = k == 1 ? COLL_RECV : COLL_TMP;
		coll_send(s, coll_torus_at(t, i, me, c + 1), from, k == 1 ? 0 : came + (k - 2) * n,
			  n);
		coll_recv(s, coll_torus_at(t, i, me, c + dim - 1), COLL_TMP, came + (k - 1) * n, n);
	}
	for (uint32_t x = 0; x < dim; x++) { /* that of coordinate x came c - x hops */
		uint32_t hops = (c + dim - x) % dim;
		enum coll_buf from = hops ? COLL_TMP : COLL_RECV;
		uint64_t off = hops ? came + (hops - 1) * n : 0;
		if (x)
			coll_reduce(s, from, off, COLL_TMP, sum, n, false);
		else
			coll_copy(s, from, off, COLL_TMP, sum, n);
	}
	coll_copy(s, COLL_TMP, sum, COLL_RECV, 0, n);
}

static bool
allreduce_torus_whole_fits(const struct coll_args *a)
{
	struct coll_torus t;
	bool fits = coll_torus_of(a, &t);
	for (uint32_t i = 0; fits && i < t.n; i++)
		fits = a->bytes <= WHOLE_MAX / t.dim[i];
	return fits;
}

static int
build_allreduce_torus_whole(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_torus t;
	coll_torus_of(a, &t);
	coll_own_into_recv(s, a);
	for (uint32_t i = 0; i < t.n; i++)
		combine_along(s, a, &t, i);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allreduce_torus_whole = {
	COLL_ALLREDUCE, "torus_whole", "sum (dim-1) (alpha + n beta + n gamma)",
	allreduce_torus_whole_fits, build_allreduce_torus_whole};
