/* SPDX-License-Identifier: BSD-2-Clause */
/* Everybody sends its block to everybody: one round where memory is shared.  Takes unequal
 * blocks.  Cost: alpha + (p-1) b beta, p-1 messages in flight. */
#include "builder.h"

static int
build_allgather_linear(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, me = a->rank;
	uint64_t off = coll_block_off(a, me), len = coll_block_len(a, me);
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, COLL_RECV, off, len);
	for (uint32_t d = 1; d < p; d++) {
		uint32_t to = (me + d) % p, from = (me + p - d) % p;
		coll_step_add(s, (struct coll_step){.kind = COLL_STEP_SEND,
						    .peer = to,
						    .from = {a->in_place ? COLL_RECV : COLL_SEND,
							     a->in_place ? off : 0, len}});
		coll_step_add(s, (struct coll_step){.kind = COLL_STEP_RECV,
						    .peer = from,
						    .into = {COLL_RECV, coll_block_off(a, from),
							     coll_block_len(a, from)}});
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allgather_linear = {
	COLL_ALLGATHER, "linear", "alpha + (p-1) b beta", NULL, build_allgather_linear};
