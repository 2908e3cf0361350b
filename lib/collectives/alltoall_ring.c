/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring: blocks travel both ways round, each the shorter one.  In round s a process passes on what
 * has come in the round before and is not for itself: of the process s - 1 before it (behind it)
 * the blocks for the next ones.  No circuit but those to the two neighbours. Cost: p/2 rounds of
 * two messages, 2 (p/2) alpha + p^2/4 b beta; circuits: one gamma. */
#include "builder.h"

static bool
alltoall_ring_fits(const struct coll_args *a)
{
	return !a->bytes_of && !a->send_bytes && !a->displ && !a->send_displ;
}

struct way {
	uint32_t far;	     /* blocks go to so many processes this way */
	bool right;	     /* to the ones after */
	uint64_t now, spare; /* in COLL_TMP: what goes next, where the next comes */
};

static uint32_t
alltoall_ring_at(const struct coll_args *a, const struct way *w, uint32_t distance, bool ahead)
{
	uint32_t p = a->size;
	return (a->rank + (ahead == w->right ? distance : p - distance)) % p;
}

static void
pack_alltoall_ring(struct coll_schedule *s, const struct coll_args *a, struct way *w)
{
	uint64_t b = a->bytes;
	w->now = coll_tmp(s, w->far * b);
	w->spare = coll_tmp(s, w->far * b);
	for (uint32_t d = 1; d <= w->far; d++)
		coll_copy(s, a->in_place ? COLL_RECV : COLL_SEND,
			  alltoall_ring_at(a, w, d, true) * b, COLL_TMP, w->now + (d - 1) * b, b);
}

static void
turn_alltoall_ring(struct coll_schedule *s, const struct coll_args *a, struct way *w, uint32_t n)
{
	uint64_t b = a->bytes, len = (w->far - n + 1) * b, came = w->spare;
	coll_send(s, alltoall_ring_at(a, w, 1, true), COLL_TMP, w->now, len);
	coll_recv(s, alltoall_ring_at(a, w, 1, false), COLL_TMP, came, len);
	coll_copy(s, COLL_TMP, came, COLL_RECV, alltoall_ring_at(a, w, n, false) * b, b);
	w->spare = w->now - (n > 1 ? b : 0);
	w->now = came + b;
}

static int
build_alltoall_ring(struct coll_schedule *s, const struct coll_args *a)
{
	uint32_t p = a->size;
	struct way right = {.far = p / 2, .right = true}, left = {.far = (p - 1) / 2};
	if (!a->in_place)
		coll_copy(s, COLL_SEND, a->rank * a->bytes, COLL_RECV, a->rank * a->bytes,
			  a->bytes);
	pack_alltoall_ring(s, a, &right);
	pack_alltoall_ring(s, a, &left);
	for (uint32_t n = 1; n <= right.far; n++) {
		turn_alltoall_ring(s, a, &right, n);
		if (n <= left.far)
			turn_alltoall_ring(s, a, &left, n);
	}
	return COLL_ERR_OK;
}

const struct coll_recipe coll_alg_alltoall_ring = {COLL_ALLTOALL, "ring",
						   "2 (p/2) alpha + p^2/4 b beta, one gamma",
						   alltoall_ring_fits, build_alltoall_ring};
