/* Everybody sends to the root, which combines in rank order from the highest
 * down: d0 op (d1 op (... op dn-1)), the order IMPI prescribes for
 * non-commutative operations.  Cost: (p-1)(alpha + n beta + n gamma). */
#include "builder.h"

static int
build(struct coll_schedule *s, const struct coll_args *a)
{
	if (a->rank != a->root) {
		coll_send(s, a->root, a->in_place ? COLL_RECV : COLL_SEND, 0, a->bytes);
		return COLL_ERR_OK;
	}
	/* own contribution into scratch, everyone else's beside it */
	uint64_t own = coll_tmp(s, a->bytes);
	coll_copy(s, a->in_place ? COLL_RECV : COLL_SEND, 0, COLL_TMP, own, a->bytes);
	for (uint32_t i = a->size; i-- > 0;) {
		uint64_t at = own;
		if (i != a->root) {
			at = coll_tmp(s, a->bytes);
			coll_recv(s, i, COLL_TMP, at, a->bytes);
		}
		if (i + 1 == a->size)
			coll_copy(s, COLL_TMP, at, COLL_RECV, 0, a->bytes);
		else
			coll_reduce(s, COLL_TMP, at, COLL_RECV, 0, a->bytes, true);
	}
	return COLL_ERR_OK;
}

const struct coll_algorithm coll_alg_reduce_linear = {
	COLL_REDUCE, "linear", "(p-1)(alpha + n beta + n gamma)", NULL, build};
