/* Recursive doubling [OC]: partners at distance 2^i exchange all they hold.
 * p a power of two.  Cost: log2 p alpha + (p-1) b beta. */
#include "builder.h"

static bool
fits(const struct coll_args *a)
{
	return !a->bytes_of && !(a->size & (a->size - 1));
}

static int
build(struct coll_schedule *s, const struct coll_args *a)
{
	uint64_t b = a->bytes;
	if (!a->in_place)
		coll_copy(s, COLL_SEND, 0, COLL_RECV, a->rank * b, b);
	for (uint32_t mask = 1; mask < a->size; mask <<= 1) {
		uint32_t peer = a->rank ^ mask;
		uint32_t mine = a->rank & ~(mask - 1), theirs = peer & ~(mask - 1);
		coll_send(s, peer, COLL_RECV, mine * b, mask * b);
		coll_recv(s, peer, COLL_RECV, theirs * b, mask * b);
	}
	return COLL_ERR_OK;
}

const struct coll_algorithm coll_alg_allgather_recursive_doubling = {
	COLL_ALLGATHER, "recursive_doubling", "log2 p alpha + (p-1) b beta", fits, build};
