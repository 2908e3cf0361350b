/* SPDX-License-Identifier: BSD-2-Clause */
/* pairwise: in round k send the block of me+k to its owner and combine what
 *   comes from me-k; commutative operations.  Cost: (p-1)(alpha + b beta + b gamma).
 * reduce: reduce the whole vector to rank 0 in rank order, then scatter it; any
 *   operation.  Cost: that of both.
 * In place, COLL_RECV holds the whole input vector and its front the result. */
#include "builder.h"

static uint64_t
total(const struct coll_args *a, uint32_t upto)
{
	if (!a->bytes_of)
		return (uint64_t)upto * a->bytes;
	uint64_t n = 0;
	for (uint32_t i = 0; i < upto; i++)
		n += a->bytes_of[i];
	return n;
}

static bool
commutes(const struct coll_args *a)
{
	return a->commutative;
}

static int
collectives_reduce_scatter_pairwise(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, me = a->rank;
	enum coll_buf in = a->in_place ? COLL_RECV : COLL_SEND;
	uint64_t own = coll_block_len(a, me);
	uint64_t acc = coll_tmp(s, own);
	coll_copy(s, in, total(a, me), COLL_TMP, acc, own);
	uint32_t got = UINT32_MAX;
	for (uint32_t k = 1; k < p; k++) {
		uint32_t to = (me + k) % p, from = (me + p - k) % p;
		uint64_t t = coll_tmp(s, own);
		coll_send(s, to, in, total(a, to), coll_block_len(a, to));
		coll_after(s, got);
		got = coll_recv(s, from, COLL_TMP, t, own);
		coll_reduce(s, COLL_TMP, t, COLL_TMP, acc, own, false);
	}
	coll_copy(s, COLL_TMP, acc, COLL_RECV, 0, own);
	return COLL_ERR_OK;
}

/* Binomial, in scratch space: COLL_RECV is too short. */
void
coll_reduce_scratch_group(struct coll_schedule *s, const struct coll_group *g, uint64_t acc,
			  uint64_t bytes)
{
	for (uint32_t mask = 1; mask < g->n; mask <<= 1) {
		if (g->me & mask) {
			coll_send(s, coll_real(g, g->me & ~mask), COLL_TMP, acc, bytes);
			break;
		}
		if (g->me + mask >= g->n)
			continue;
		uint64_t t = coll_tmp(s, bytes);
		coll_recv(s, coll_real(g, g->me + mask), COLL_TMP, t, bytes);
		coll_reduce(s, COLL_TMP, t, COLL_TMP, acc, bytes, false);
	}
}

static int
reduce_then_scatter(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size, v = a->rank;
	uint64_t all = total(a, p), own = coll_block_len(a, v);
	uint64_t acc = coll_tmp(s, all);
	struct coll_group g = coll_flat(a);
	coll_copy(s, a->in_place ? COLL_RECV : COLL_SEND, 0, COLL_TMP, acc, all);
	coll_reduce_scratch_group(s, &g, acc, all);
	if (v != 0) {
		coll_recv(s, 0, COLL_RECV, 0, own);
		return COLL_ERR_OK;
	}
	for (uint32_t i = 1; i < p; i++)
		coll_send(s, i, COLL_TMP, acc + total(a, i), coll_block_len(a, i));
	coll_copy(s, COLL_TMP, acc, COLL_RECV, 0, own);
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_reduce_scatter_pairwise = {
	COLL_REDUCE_SCATTER, "pairwise", "(p-1)(alpha + b beta + b gamma)", commutes,
	collectives_reduce_scatter_pairwise};
const struct coll_recipe coll_alg_reduce_scatter_reduce = {
	COLL_REDUCE_SCATTER, "reduce",
	"ceil(log2 p)(alpha + n beta + n gamma) + (p-1)(alpha + b beta)", NULL,
	reduce_then_scatter};
