/* SPDX-License-Identifier: BSD-2-Clause */
/* Along the rings of one dimension after another: what has come by the former ones goes round as
 * one message.  Cost: sum (dim - 1) alpha + (p-1) b beta; circuits: two to a ring of more than two
 * processes, one to a pair, and as many gamma as their sum needs ports. */
#include "torus.h"

static bool
allgather_torus_fits(const struct coll_args *a)
{
	return !a->bytes_of && !a->displ && coll_torus_fits(a);
}

static int
build_allgather_torus(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_torus t;
	uint32_t me = a->rank;
	coll_torus_of(a, &t);
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, COLL_RECV, me * a->bytes, a->bytes);
	for (uint32_t i = 0; i < t.n; i++) {
		uint32_t c = coll_torus_coord(&t, i, me), dim = t.dim[i], got = UINT32_MAX;
		uint32_t first = me - me % t.stride[i]; /* of those whose blocks are here */
		uint64_t len = t.stride[i] * a->bytes;
		for (uint32_t k = 1; k < dim; k++) {
			uint32_t out = coll_torus_at(&t, i, first, c + dim + 1 - k);
			uint32_t in = coll_torus_at(&t, i, first, c + dim - k);
			coll_send(s, coll_torus_at(&t, i, me, c + 1), COLL_RECV, out * a->bytes,
				  len);
			coll_after(s, got);
			got = coll_recv(s, coll_torus_at(&t, i, me, c + dim - 1), COLL_RECV,
					in * a->bytes, len);
		}
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allgather_torus = {COLL_ALLGATHER, "torus",
						     "sum (dim-1) alpha + (p-1) b beta",
						     allgather_torus_fits, build_allgather_torus};
