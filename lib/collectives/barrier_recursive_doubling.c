/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursive doubling [OC]: partners at distance 2^i tell each other; processes beyond
 * the largest power of two report to their neighbour first and are told by it in the end.
 * Cost: log2 p alpha (two more if p is no power of two); circuits: as many / k gamma. */
#include "builder.h"

static uint32_t
tell_barrier_recursive_doubling(struct coll_schedule *s, uint32_t peer, uint32_t heard)
{
	uint32_t at = coll_send(s, peer, COLL_TMP, 0, 0);
	coll_after(s, heard);
	return at;
}

static int
build_barrier_recursive_doubling(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_fold f = coll_fold(a->size, a->rank);
	uint32_t heard = UINT32_MAX;
	if (f.out) {
		coll_send(s, a->rank + 1, COLL_TMP, 0, 0);
		coll_recv(s, a->rank + 1, COLL_TMP, 0, 0);
		return COLL_ERR_OK;
	}
	if (f.pair)
		heard = coll_recv(s, a->rank - 1, COLL_TMP, 0, 0);
	uint32_t rounds = 0;
	while ((1u << rounds) < f.pow2)
		rounds++;
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t mask = 1u << (a->reversed ? rounds - 1 - i : i);
		uint32_t peer = coll_unfold(&f, f.v ^ mask), before = heard;
		tell_barrier_recursive_doubling(s, peer, before);
		heard = coll_recv(s, peer, COLL_TMP, 0, 0);
		coll_after(s, before);
	}
	if (f.pair)
		tell_barrier_recursive_doubling(s, a->rank - 1, heard);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_barrier_recursive_doubling = {
	COLL_BARRIER, "recursive_doubling", "log2 p alpha", NULL, build_barrier_recursive_doubling};
