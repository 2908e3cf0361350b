/* SPDX-License-Identifier: BSD-2-Clause */
/* Bruck et al. 1997: in round i send the first 2^i blocks held to the process
 * 2^i before; blocks are kept rotated in scratch space and put right at the
 * end.  Any p.  Cost: ceil(log2 p) alpha + (p-1) b beta. */
#include "builder.h"

static bool
allgather_bruck_fits(const struct coll_args *a)
{
	return !a->bytes_of;
}

static int
build_allgather_bruck(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, me = a->rank;
	uint64_t b = a->bytes;
	uint64_t t = coll_tmp(s, p * b);
	if (a->in_place)
		coll_copy(s, COLL_RECV, me * b, COLL_TMP, t, b);
	else
		coll_copy(s, COLL_SEND, 0, COLL_TMP, t, b);
	for (uint32_t have = 1; have < p; have <<= 1) {
		uint32_t n = have < p - have ? have : p - have;
		coll_send(s, (me + p - have) % p, COLL_TMP, t, n * b);
		coll_recv(s, (me + have) % p, COLL_TMP, t + have * b, n * b);
	}
	/* scratch block i is rank me + i */
	uint32_t tail = p - me;
	coll_copy(s, COLL_TMP, t, COLL_RECV, me * b, tail * b);
	coll_copy(s, COLL_TMP, t + tail * b, COLL_RECV, 0, me * b);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allgather_bruck = {COLL_ALLGATHER, "bruck",
						     "ceil(log2 p) alpha + (p-1) b beta",
						     allgather_bruck_fits, build_allgather_bruck};
