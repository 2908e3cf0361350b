/* SPDX-License-Identifier: BSD-2-Clause */
/* Linear [OC]: the root sends to everyone in turn.
 * Cost: (p - 1)(alpha + n beta); circuits: ceil((p - 1) / k) gamma. */
#include "builder.h"

static int
build_bcast_linear(struct coll_schedule *s, const struct coll_args *a)
{
	if (a->rank != a->root) {
		coll_recv(s, a->root, COLL_RECV, 0, a->bytes);
		return COLL_ERR_OK;
	}
	for (uint32_t d = 1; d < a->size; d++)
		coll_send(s, (a->root + (a->reversed ? a->size - d : d)) % a->size, COLL_RECV, 0,
			  a->bytes);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_bcast_linear = {COLL_BCAST, "linear", "(p-1)(alpha + n beta)",
						  NULL, build_bcast_linear};
