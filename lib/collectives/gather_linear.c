/* SPDX-License-Identifier: BSD-2-Clause */
/* Everybody sends to the root; takes unequal blocks.
 * Cost: (p-1)(alpha + b beta). */
#include "builder.h"

static int
build_gather_linear(struct coll_schedule *s, const struct coll_args *a)
{
	uint64_t own = coll_block_len(a, a->rank);
	if (a->rank != a->root) {
		coll_send(s, a->root, COLL_SEND, 0, own);
		return COLL_ERR_OK;
	}
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, COLL_RECV, coll_block_off(a, a->rank), own);
	for (uint32_t d = 1; d < a->size; d++) {
		uint32_t i = (a->root + d) % a->size;
		coll_step_add(s, (struct coll_step){.kind = COLL_STEP_RECV,
						    .peer = i,
						    .into = {COLL_RECV, coll_block_off(a, i),
							     coll_block_len(a, i)}});
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_gather_linear = {COLL_GATHER, "linear", "(p-1)(alpha + b beta)",
						   NULL, build_gather_linear};
