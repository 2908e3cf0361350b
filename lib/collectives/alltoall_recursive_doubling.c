/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursive doubling [OC]: as Bruck's, but partners at distance 2^i exchange what has
 * that digit set, so that one port serves both directions and every round is a perfect
 * matching.  p a power of two, equal blocks.  Cost: log2 p (alpha + p/2 b beta);
 * circuits: ceil(log2 p / k) gamma. */
#include "builder.h"

static bool
alltoall_recursive_doubling_fits(const struct coll_args *a)
{
	return !a->bytes_of && !a->send_bytes && !(a->size & (a->size - 1));
}

static int
build_alltoall_recursive_doubling(struct coll_schedule *s, const struct coll_args *a)
{
	return coll_alltoall_rounds(s, a, true);
}

const struct coll_recipe coll_alg_alltoall_recursive_doubling = {
	COLL_ALLTOALL, "recursive_doubling", "log2 p (alpha + p/2 b beta)",
	alltoall_recursive_doubling_fits, build_alltoall_recursive_doubling};
