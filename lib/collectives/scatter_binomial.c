/* SPDX-License-Identifier: BSD-2-Clause */
/* The gather tree run backwards.  Cost: ceil(log2 p) alpha + (p-1) b beta. */
#include "builder.h"

static bool
scatter_binomial_fits(const struct coll_args *a)
{
	return !a->bytes_of;
}

static int
build_scatter_binomial(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, v = (a->rank + p - a->root) % p;
	uint64_t b = a->bytes;
	uint32_t mask = 1;
	while (mask < p && !(v & mask))
		mask <<= 1;
	uint32_t span = v + mask > p ? p - v : mask;
	uint64_t t = coll_tmp(s, span * b);
	if (v == 0) {
		uint32_t tail = p - a->root;
		coll_copy(s, COLL_SEND, a->root * b, COLL_TMP, t, tail * b);
		coll_copy(s, COLL_SEND, 0, COLL_TMP, t + tail * b, a->root * b);
	} else {
		coll_recv(s, ((v & ~mask) + a->root) % p, COLL_TMP, t, span * b);
	}
	for (mask >>= 1; mask; mask >>= 1) {
		if (v + mask >= p)
			continue;
		uint32_t n = v + 2 * mask > p ? p - v - mask : mask;
		coll_send(s, (v + mask + a->root) % p, COLL_TMP, t + mask * b, n * b);
	}
	if (!(a->rank == a->root && a->in_place))
		coll_copy(s, COLL_TMP, t, COLL_RECV, 0, b);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_scatter_binomial = {
	COLL_SCATTER, "binomial", "ceil(log2 p) alpha + (p-1) b beta", scatter_binomial_fits,
	build_scatter_binomial};
