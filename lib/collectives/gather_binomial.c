/* SPDX-License-Identifier: BSD-2-Clause */
/* Binomial tree: a process collects its subtree in scratch space, in virtual
 * rank order, and passes it on in one message.
 * Cost: ceil(log2 p) alpha + (p-1) b beta. */
#include "builder.h"

static bool
gather_binomial_fits(const struct coll_args *a)
{
	return !a->bytes_of;
}

static int
build_gather_binomial(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, v = (a->rank + p - a->root) % p;
	uint64_t b = a->bytes;
	uint32_t span = 1; /* blocks of my subtree */
	while (span < p && !(v & span))
		span <<= 1;
	if (v + span > p)
		span = p - v;
	uint64_t t = coll_tmp(s, span * b);
	if (a->rank == a->root && a->in_place)
		coll_copy(s, COLL_RECV, a->rank * b, COLL_TMP, t, b);
	else
		coll_copy(s, COLL_SEND, 0, COLL_TMP, t, b);
	for (uint32_t mask = 1; mask < p; mask <<= 1) {
		if (v & mask) {
			coll_send(s, ((v & ~mask) + a->root) % p, COLL_TMP, t, span * b);
			break;
		}
		if (v + mask >= p)
			continue;
		uint32_t n = v + 2 * mask > p ? p - v - mask : mask;
		coll_recv(s, (v + mask + a->root) % p, COLL_TMP, t + mask * b, n * b);
	}
	if (v == 0) { /* virtual order back to rank order: two runs */
		uint32_t tail = p - a->root;
		coll_copy(s, COLL_TMP, t, COLL_RECV, a->root * b, tail * b);
		coll_copy(s, COLL_TMP, t + tail * b, COLL_RECV, 0, a->root * b);
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_gather_binomial = {COLL_GATHER, "binomial",
						     "ceil(log2 p) alpha + (p-1) b beta",
						     gather_binomial_fits, build_gather_binomial};
