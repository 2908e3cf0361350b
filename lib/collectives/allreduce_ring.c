/* Ring: reduce-scatter round the ring, then allgather round the ring; each
 * part is computed by one process only, so all get the same bits.
 * Cost: 2 (p-1) alpha + 2 (p-1)/p n beta + (p-1)/p n gamma. */
#include "builder.h"

static int
build(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, me = a->rank;
	uint32_t right = (me + 1) % p, left = (me + p - 1) % p;
	coll_own_into_recv(s, a);
	for (uint32_t k = 0; k + 1 < p; k++) {
		struct coll_part out = coll_part(a->bytes, a->elem, p, (me + p - k) % p);
		struct coll_part in = coll_part(a->bytes, a->elem, p, (me + 2 * p - k - 1) % p);
		uint64_t t = coll_tmp(s, in.len);
		coll_send(s, right, COLL_RECV, out.off, out.len);
		coll_recv(s, left, COLL_TMP, t, in.len);
		coll_reduce(s, COLL_TMP, t, COLL_RECV, in.off, in.len, true);
	}
	for (uint32_t k = 0; k + 1 < p; k++) {
		struct coll_part out = coll_part(a->bytes, a->elem, p, (me + 1 + p - k) % p);
		struct coll_part in = coll_part(a->bytes, a->elem, p, (me + p - k) % p);
		coll_send(s, right, COLL_RECV, out.off, out.len);
		coll_recv(s, left, COLL_RECV, in.off, in.len);
	}
	return COLL_ERR_OK;
}

static bool
fits(const struct coll_args *a)
{
	return a->commutative && a->bytes / a->elem >= a->size;
}

const struct coll_algorithm coll_alg_allreduce_ring = {
	COLL_ALLREDUCE, "ring", "2 (p-1) alpha + 2 (p-1)/p n beta + (p-1)/p n gamma", fits, build};
