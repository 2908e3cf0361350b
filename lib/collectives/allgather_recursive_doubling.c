/* SPDX-License-Identifier: BSD-2-Clause */
/* Recursive doubling [OC]: partners at distance 2^i exchange all they hold.  Processes
 * beyond the largest power of two give their block to a neighbour first and get all of
 * them from it in the end.  Equal blocks.  Cost: log2 p alpha + (p-1) b beta if p is a
 * power of two, else 2 alpha + about 2 p b beta more; circuits: ceil(log2 p / k) gamma. */
#include "builder.h"

static bool
allgather_recursive_doubling_fits(const struct coll_args *a)
{
	return !a->bytes_of;
}

/* First rank whose block those numbered v and above hold. */
static uint32_t
allgather_recursive_doubling_first(const struct coll_fold *f, uint32_t v)
{
	return v < f->extra ? 2 * v : v + f->extra;
}

static int
build_allgather_recursive_doubling(struct coll_schedule *s, const struct coll_args *a)
{
	uint64_t b = a->bytes;
	uint32_t me = a->rank;
	struct coll_fold f = coll_fold(a->size, me);
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, COLL_RECV, me * b, b);
	if (f.out) { /* the own block comes back with all others: one message */
		coll_send(s, me + 1, COLL_RECV, me * b, b);
		coll_recv(s, me + 1, COLL_RECV, 0, a->size * b);
		return COLL_ERR_OK;
	}
	uint32_t got = UINT32_MAX; /* matters when b is 0 */
	if (f.pair)
		got = coll_recv(s, me - 1, COLL_RECV, (me - 1) * b, b);
	for (uint32_t mask = 1; mask < f.pow2; mask <<= 1) {
		uint32_t mine = f.v & ~(mask - 1), theirs = mine ^ mask;
		uint32_t peer = coll_unfold(&f, f.v ^ mask);
		uint32_t at = allgather_recursive_doubling_first(&f, mine),
			 end = allgather_recursive_doubling_first(&f, mine + mask);
		coll_send(s, peer, COLL_RECV, at * b, (end - at) * b);
		coll_after(s, got);
		at = allgather_recursive_doubling_first(&f, theirs);
		end = allgather_recursive_doubling_first(&f, theirs + mask);
		uint32_t before = got;
		got = coll_recv(s, peer, COLL_RECV, at * b, (end - at) * b);
		coll_after(s, before);
	}
	if (f.pair) {
		coll_send(s, me - 1, COLL_RECV, 0, a->size * b);
		coll_after(s, got);
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_allgather_recursive_doubling = {
	COLL_ALLGATHER, "recursive_doubling", "log2 p alpha + (p-1) b beta",
	allgather_recursive_doubling_fits, build_allgather_recursive_doubling};
