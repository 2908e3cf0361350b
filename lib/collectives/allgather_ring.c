/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring [OC]: p-1 times, pass on the block that came in last; takes unequal
 * blocks.  Cost: (p-1)(alpha + b beta). */
#include "builder.h"

static int
build_allgather_ring(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, me = a->rank;
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, COLL_RECV, coll_block_off(a, me), coll_block_len(a, me));
	uint32_t right = (me + 1) % p, left = (me + p - 1) % p;
	uint32_t got = UINT32_MAX;
	for (uint32_t k = 0; k + 1 < p; k++) {
		uint32_t out = (me + p - k) % p, in = (me + 2 * p - k - 1) % p;
		coll_send(s, right, COLL_RECV, coll_block_off(a, out), coll_block_len(a, out));
		coll_after(s, got);
		got = coll_recv(s, left, COLL_RECV, coll_block_off(a, in), coll_block_len(a, in));
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allgather_ring = {COLL_ALLGATHER, "ring", "(p-1)(alpha + b beta)",
						    NULL, build_allgather_ring};
