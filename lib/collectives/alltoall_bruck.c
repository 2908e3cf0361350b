/* SPDX-License-Identifier: BSD-2-Clause */
/* Bruck et al. 1997: every block goes by the binary digits of its way, all that have
 * digit i set together in round i: to the process 2^i after, from the one 2^i before.
 * Any p, equal blocks.  Cost: ceil(log2 p) alpha + about p/2 log2 p b beta; circuits:
 * two peers a round, ceil(2 ceil(log2 p) / k) gamma. */
#include "builder.h"

/* Blocks whose bit is set, between the work area and one contiguous message. */
static void
gather_alltoall_bruck(struct coll_schedule *s, uint32_t p, uint32_t bit, uint64_t b, uint64_t work,
		      uint64_t msg, bool into_msg)
{
	uint64_t at = msg;
	for (uint32_t j = bit; j < p; j += 2 * bit) {
		uint64_t len = (j + bit < p ? bit : p - j) * b;
		if (into_msg)
			coll_copy(s, COLL_TMP, work + j * b, COLL_TMP, at, len);
		else
			coll_copy(s, COLL_TMP, at, COLL_TMP, work + j * b, len);
		at += len;
	}
}

static uint64_t
with_bit(uint32_t p, uint32_t bit)
{
	uint64_t n = 0;
	for (uint32_t j = bit; j < p; j += 2 * bit)
		n += j + bit < p ? bit : p - j;
	return n;
}

static void
one_round(struct coll_schedule *s, const struct coll_args *a, bool xor, uint32_t bit,
	  const uint64_t area[3])
{
	uint32_t p = a->size, me = a->rank;
	uint64_t b = a->bytes, len = with_bit(p, bit) * b;
	uint32_t to = xor? me ^ bit : (me + bit) % p, from = xor? to : (me + p - bit) % p;
	gather_alltoall_bruck(s, p, bit, b, area[0], area[1], true);
	coll_send(s, to, COLL_TMP, area[1], len);
	coll_recv(s, from, COLL_TMP, area[2], len);
	gather_alltoall_bruck(s, p, bit, b, area[0], area[2], false);
}

int
coll_alltoall_rounds(struct coll_schedule *s, const struct coll_args *a, bool xor)
{
	uint32_t p = a->size, me = a->rank, top = 1;
	uint64_t b = a->bytes;
	uint64_t area[3] = {coll_tmp(s, p * b), coll_tmp(s, p * b), coll_tmp(s, p * b)};
	/* work area: block j is on its way to me + j, later comes from me - j */
	for (uint32_t j = 0; j < p; j++)
		coll_copy(s, a->in_place ? COLL_RECV : COLL_SEND, (xor? me ^ j : (me + j) % p) * b,
			  COLL_TMP, area[0] + j * b, b);
	while (top < p)
		top <<= 1;
	if (a->reversed)
		for (uint32_t bit = top >> 1; bit; bit >>= 1)
			one_round(s, a, xor, bit, area);
	else
		for (uint32_t bit = 1; bit < p; bit <<= 1)
			one_round(s, a, xor, bit, area);
	for (uint32_t j = 0; j < p; j++)
		coll_copy(s, COLL_TMP, area[0] + j * b, COLL_RECV,
			  (xor? me ^ j : (me + p - j) % p) * b, b);
	return COLL_ERR_OK;
}

static bool
alltoall_bruck_fits(const struct coll_args *a)
{
	return !a->bytes_of && !a->send_bytes;
}

static int
build_alltoall_bruck(struct coll_schedule *s, const struct coll_args *a)
{
	return coll_alltoall_rounds(s, a, false);
}

const struct coll_recipe coll_alg_alltoall_bruck = {COLL_ALLTOALL, "bruck",
						    "ceil(log2 p) alpha + p/2 log2 p b beta",
						    alltoall_bruck_fits, build_alltoall_bruck};
