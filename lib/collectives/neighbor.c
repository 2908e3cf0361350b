/* SPDX-License-Identifier: BSD-2-Clause */
/* Exchange over the edges of a process topology: everything at once, as an application's
 * halo is small in number and every block has a place of its own.
 *
 * linear: all receives, then all sends.  Cost: alpha + max(indegree, outdegree) b beta. */
#include "builder.h"

static int
collectives_neighbor_linear(struct coll_schedule *s, const struct coll_args *a)
{
	for (uint32_t i = 0; i < a->indegree; i++) {
		const struct coll_edge *e = &a->sources[i];
		if (e->rank != COLL_NO_RANK)
			coll_step_add(s, (struct coll_step){.kind = COLL_STEP_RECV,
							    .peer = e->rank,
							    .into = {COLL_RECV,
								     coll_block_off(a, e->block),
								     coll_block_len(a, e->block)}});
	}
	for (uint32_t i = 0; i < a->outdegree; i++) {
		const struct coll_edge *e = &a->destinations[i];
		if (e->rank != COLL_NO_RANK)
			coll_step_add(s, (struct coll_step){.kind = COLL_STEP_SEND,
							    .peer = e->rank,
							    .from = {COLL_SEND,
								     coll_send_off(a, e->block),
								     coll_send_len(a, e->block)}});
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_neighbor_linear = {COLL_NEIGHBOR, "linear",
						     "alpha + max(indegree, outdegree) b beta",
						     NULL, collectives_neighbor_linear};
