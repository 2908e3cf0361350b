/* SPDX-License-Identifier: BSD-2-Clause */
/* The root sends each block to its process; takes unequal blocks.
 * Cost: (p-1)(alpha + b beta). */
#include "builder.h"

static int
build_scatter_linear(struct coll_schedule *s, const struct coll_args *a)
{
	uint64_t own = coll_block_len(a, a->rank);
	if (a->rank != a->root) {
		coll_recv(s, a->root, COLL_RECV, 0, own);
		return COLL_ERR_OK;
	}
	for (uint32_t d = 1; d < a->size; d++) {
		uint32_t i = (a->root + d) % a->size;
		coll_send(s, i, COLL_SEND, coll_block_off(a, i), coll_block_len(a, i));
	}
	if (!a->in_place)
		coll_copy(s, COLL_SEND, coll_block_off(a, a->rank), COLL_RECV, 0, own);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_scatter_linear = {COLL_SCATTER, "linear", "(p-1)(alpha + b beta)",
						    NULL, build_scatter_linear};
