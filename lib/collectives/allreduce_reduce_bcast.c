/* Reduce to rank 0, then broadcast from it: what IMPI 0.0 prescribes across
 * clients.  Cost: 2 ceil(log2 p)(alpha + n beta) + ceil(log2 p) n gamma. */
#include "builder.h"

static int
build(struct coll_schedule *s, const struct coll_args *a)
{
	struct coll_group g = coll_flat(a);
	coll_own_into_recv(s, a);
	coll_reduce_group(s, &g, 0, a->bytes, a->commutative);
	coll_bcast_group(s, &g, 0, coll_vector(a->bytes));
	return COLL_ERR_OK;
}

const struct coll_algorithm coll_alg_allreduce_reduce_bcast = {
	COLL_ALLREDUCE, "reduce_bcast", "2 ceil(log2 p)(alpha + n beta) + ceil(log2 p) n gamma",
	NULL, build};
