/* SPDX-License-Identifier: BSD-2-Clause */
/* Dissemination (Hensgen, Finkel, Manber 1988): in round k every process tells
 * the one 2^k after it and hears from the one 2^k before it.
 * Cost: ceil(log2 p) * alpha. */
#include "builder.h"

void
coll_barrier_group(struct coll_schedule *s, const struct coll_group *g)
{
	uint32_t entry = s->steps; /* what came before must be over before we tell */
	uint32_t heard[32], rounds = 0;
	for (uint32_t d = 1; d < g->n; d <<= 1) {
		coll_send(s, coll_real(g, (g->me + d) % g->n), COLL_TMP, 0, 0);
		for (uint32_t i = 0; i < entry; i++)
			coll_after(s, i);
		for (uint32_t r = 0; r < rounds; r++)
			coll_after(s, heard[r]);
		heard[rounds++] =
			coll_recv(s, coll_real(g, (g->me + g->n - d) % g->n), COLL_TMP, 0, 0);
	}
}

static int
build_barrier_dissemination(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_group g = coll_flat(a);
	coll_barrier_group(s, &g);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_barrier_dissemination = {
	COLL_BARRIER, "dissemination", "ceil(log2 p) * alpha", NULL, build_barrier_dissemination};
