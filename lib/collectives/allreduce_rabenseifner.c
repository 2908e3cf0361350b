/* SPDX-License-Identifier: BSD-2-Clause */
/* Rabenseifner 2004: reduce-scatter by halving the vector, allgather by doubling it, both
 * between partners at distance 2^i; neighbours first, so that every partial result is of
 * consecutive ranks and non-commutative operations come out right.  Processes beyond the
 * largest power of two fold into a neighbour.  Cost: 2 log2 p alpha + 2 (p-1)/p n beta +
 * (p-1)/p n rho; circuits: the second half uses those of the first again. */
#include "builder.h"

static struct coll_part
allreduce_rabenseifner_parts(const struct coll_args *a, uint32_t pow2, uint32_t lo, uint32_t hi)
{
	struct coll_part x = coll_part(a->bytes, a->elem, pow2, lo);
	struct coll_part y = coll_part(a->bytes, a->elem, pow2, hi - 1);
	return (struct coll_part){x.off, y.off + y.len - x.off};
}

/* The parts the process numbered v works on after the rounds below mask. */
static void
halve(uint32_t pow2, uint32_t v, uint32_t mask, uint32_t *lo, uint32_t *hi)
{
	*lo = 0;
	*hi = pow2;
	for (uint32_t m = 1; m < mask; m <<= 1) {
		uint32_t mid = (*lo + *hi) / 2;
		*(v & m ? lo : hi) = mid;
	}
}

static void
exchange_allreduce_rabenseifner(struct coll_schedule *s, const struct coll_args *a,
				const struct coll_fold *f, uint32_t mask, bool gather)
{
	uint32_t lo, hi, peer = coll_unfold(f, f->v ^ mask);
	halve(f->pow2, f->v, mask, &lo, &hi);
	uint32_t mid = (lo + hi) / 2;
	bool upper = (f->v & mask) != 0;
	struct coll_part keep =
		allreduce_rabenseifner_parts(a, f->pow2, upper ? mid : lo, upper ? hi : mid);
	struct coll_part give =
		allreduce_rabenseifner_parts(a, f->pow2, upper ? lo : mid, upper ? mid : hi);
	if (gather) {
		coll_send(s, peer, COLL_RECV, keep.off, keep.len);
		coll_recv(s, peer, COLL_RECV, give.off, give.len);
		return;
	}
	uint64_t t = coll_tmp(s, keep.len);
	coll_send(s, peer, COLL_RECV, give.off, give.len);
	coll_recv(s, peer, COLL_TMP, t, keep.len);
	coll_reduce(s, COLL_TMP, t, COLL_RECV, keep.off, keep.len, upper);
}

static int
build_allreduce_rabenseifner(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t me = a->rank;
	struct coll_fold f = coll_fold(a->size, me);
	coll_own_into_recv(s, a);
	if (f.out) {
		coll_send(s, me + 1, COLL_RECV, 0, a->bytes);
		coll_recv(s, me + 1, COLL_RECV, 0, a->bytes);
		return COLL_ERR_OK;
	}
	if (f.pair) {
		uint64_t t = coll_tmp(s, a->bytes);
		coll_recv(s, me - 1, COLL_TMP, t, a->bytes);
		coll_reduce(s, COLL_TMP, t, COLL_RECV, 0, a->bytes, true);
	}
	for (uint32_t mask = 1; mask < f.pow2; mask <<= 1)
		exchange_allreduce_rabenseifner(s, a, &f, mask, false);
	for (uint32_t mask = f.pow2 >> 1; mask; mask >>= 1)
		exchange_allreduce_rabenseifner(s, a, &f, mask, true);
	if (f.pair)
		coll_send(s, me - 1, COLL_RECV, 0, a->bytes);
	return COLL_ERR_OK;
}

static bool
allreduce_rabenseifner_fits(const struct coll_args *a)
{
	return a->bytes / a->elem >= a->size;
}

const struct coll_recipe coll_alg_allreduce_rabenseifner = {
	COLL_ALLREDUCE, "rabenseifner", "2 log2 p alpha + 2 (p-1)/p n beta + (p-1)/p n rho",
	allreduce_rabenseifner_fits, build_allreduce_rabenseifner};
