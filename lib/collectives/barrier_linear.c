/* SPDX-License-Identifier: BSD-2-Clause */
/* Everybody tells everybody: one round, so that processes that share cores are switched to
 * once each.  Cost: alpha, p-1 messages in flight. */
#include "builder.h"

static int
build_barrier_linear(struct coll_schedule *s, const struct coll_args *a)
{
	for (uint32_t d = 1; d < a->size; d++)
		coll_send(s, (a->rank + d) % a->size, COLL_TMP, 0, 0);
	for (uint32_t d = 1; d < a->size; d++)
		coll_recv(s, (a->rank + a->size - d) % a->size, COLL_TMP, 0, 0);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_barrier_linear = {COLL_BARRIER, "linear", "alpha", NULL,
						    build_barrier_linear};
