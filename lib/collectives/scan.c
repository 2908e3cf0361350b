/* SPDX-License-Identifier: BSD-2-Clause */
/* Inclusive and exclusive prefix by recursive doubling (Hillis, Steele 1986):
 * in round i send the partial over the last 2^i processes to me + 2^i, and put
 * what comes from me - 2^i in front of both partial and prefix.
 * Cost: ceil(log2 p)(alpha + n beta + 2 n gamma).
 *
 * The exclusive prefix of rank 0 is undefined: nothing is written there. */
#include "builder.h"

static int
build_linear_scan(struct coll_schedule *s, const struct coll_args *a, bool inclusive)
{
	uint32_t p = a->size, me = a->rank;
	uint64_t n = a->bytes, part = coll_tmp(s, n);
	enum coll_buf own = a->in_place ? COLL_RECV : COLL_SEND;
	coll_copy(s, own, 0, COLL_TMP, part, n);
	if (inclusive)
		coll_own_into_recv(s, a);
	bool have = inclusive; /* COLL_RECV holds a prefix already */
	for (uint32_t d = 1; d < p; d <<= 1) {
		if (me + d < p)
			coll_send(s, me + d, COLL_TMP, part, n);
		if (me < d)
			continue;
		uint64_t t = coll_tmp(s, n);
		coll_recv(s, me - d, COLL_TMP, t, n);
		if (have)
			coll_reduce(s, COLL_TMP, t, COLL_RECV, 0, n, true);
		else
			coll_copy(s, COLL_TMP, t, COLL_RECV, 0, n);
		have = true;
		coll_reduce(s, COLL_TMP, t, COLL_TMP, part, n, true);
	}
	return COLL_ERR_OK;
}

static int
scan_linear_scan(struct coll_schedule *s, const struct coll_args *a)
{
	return build_linear_scan(s, a, true);
}

static int
exscan(struct coll_schedule *s, const struct coll_args *a)
{
	return build_linear_scan(s, a, false);
}

const struct coll_recipe coll_alg_scan_doubling = {
	COLL_SCAN, "doubling", "ceil(log2 p)(alpha + n beta + 2 n gamma)", NULL, scan_linear_scan};
const struct coll_recipe coll_alg_exscan_doubling = {
	COLL_EXSCAN, "doubling", "ceil(log2 p)(alpha + n beta + 2 n gamma)", NULL, exscan};
