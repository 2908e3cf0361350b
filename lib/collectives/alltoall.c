/* SPDX-License-Identifier: BSD-2-Clause */
/* Three forms of the same exchange; all take unequal blocks.
 *
 * linear: everything at once, for small blocks, and over several clusters those
 *   of other clusters first.  Cost: alpha-bound, p-1 messages in flight.
 * pairwise: p-1 rounds, in round k send to me+k and receive from me-k; a round
 *   starts when the last has ended, or each piece of it when that of the last one has (slice),
 *   so that at most one block a process is on the wire and no receiver is flooded.
 *   Cost: (p-1)(alpha + b beta).
 * pairs: the rounds of a tournament, each a perfect matching: p-1 rounds, p of them if p is odd.
 *   One port a process is enough for both directions, where pairwise needs two.
 *   Cost as pairwise; circuits: ceil(rounds / k) gamma.
 *
 * In place, COLL_RECV is also what is sent, so it is copied to scratch first. */
#include "builder.h"

/* Where what goes to each peer lies. */
static enum coll_buf
outgoing(struct coll_schedule *s, const struct coll_args *a, uint64_t *base, uint32_t *copied)
{
	*base = 0;
	*copied = UINT32_MAX;
	if (!a->in_place)
		return COLL_SEND;
	uint64_t end = 0;
	for (uint32_t i = 0; i < a->size; i++) {
		uint64_t e = coll_block_off(a, i) + coll_block_len(a, i);
		end = e > end ? e : end;
	}
	*base = coll_tmp(s, end);
	*copied = coll_copy(s, COLL_RECV, 0, COLL_TMP, *base, end);
	return COLL_TMP;
}

/* Of a round: its receives, which are steps one after another. */
struct round {
	uint32_t first, n; /* n 0: there is none */
};

/* Piece i of a round waits for piece i of the round before, or for the last one that it has. */
static void
wait_exchange(struct coll_schedule *s, uint32_t copied, const struct round *before, uint32_t i)
{
	coll_after(s, copied);
	if (before->n)
		coll_after(s, before->first + (i < before->n ? i : before->n - 1));
}

/* A block to one, a block from one, in pieces of at least `slice` bytes; 0: whole.  The wire goes
 * from round to round without a pause, and still no more than a block is under way. */
static struct round
exchange_alltoall(struct coll_schedule *s, const struct coll_args *a, const struct coll_range *out,
		  uint32_t copied, uint32_t to, uint32_t from, const struct round *before,
		  uint64_t slice)
{
	uint64_t at = coll_block_off(a, from), len = coll_block_len(a, from);
	struct round in = {s->steps, coll_pieces(len, slice)};
	for (uint32_t i = 0; i < in.n; i++) {
		struct coll_part x = coll_part(len, 1, in.n, i);
		coll_step_add(s, (struct coll_step){.kind = COLL_STEP_RECV,
						    .peer = from,
						    .into = {COLL_RECV, at + x.off, x.len}});
		wait_exchange(s, copied, before, i);
	}
	uint32_t n = coll_pieces(out->len, slice);
	for (uint32_t i = 0; i < n; i++) {
		struct coll_part x = coll_part(out->len, 1, n, i);
		coll_step_add(s, (struct coll_step){.kind = COLL_STEP_SEND,
						    .peer = to,
						    .from = {out->buf, out->off + x.off, x.len}});
		wait_exchange(s, copied, before, i);
	}
	return in;
}

/* What goes to that one. */
static struct coll_range
alltoall_block(const struct coll_args *a, enum coll_buf buf, uint64_t base, uint32_t to)
{
	if (a->in_place)
		return (struct coll_range){buf, base + coll_block_off(a, to),
					   coll_block_len(a, to)};
	return (struct coll_range){buf, coll_send_off(a, to), coll_send_len(a, to)};
}

/* Circle method: whom v meets in round k of the tournament of p; itself: nobody. */
static uint32_t
opponent(uint32_t p, uint32_t v, uint32_t k)
{
	uint32_t n = p - !(p & 1); /* who stands still meets who would meet itself */
	if (v >= n)
		return k * (n / 2 + 1) % n; /* 2w = k (mod n), n odd */
	uint32_t w = (k + n - v) % n;
	return w != v || n == p ? w : n;
}

/* Whom to send to, those of other clusters first: what they get has the longest way and few
 * wires, which should be busy from the beginning to the end.  Each process of a cluster begins
 * with another one of them, so that all relays have something to do at once. */
static uint32_t *
far_first(struct coll_schedule *s, const struct coll_args *a)
{
	const uint32_t *of = a->cluster_of;
	uint32_t p = a->size, me = a->rank, near = 0, before = 0, n = 0;
	uint32_t *order = coll_numbers(s, p);
	if (!order)
		return NULL;
	for (uint32_t r = 0; r < p; r++) {
		near += of[r] == of[me];
		before += of[r] == of[me] && r < me;
	}
	uint32_t far = p - near;
	uint32_t at = far - (uint32_t)((uint64_t)before * far / near);
	for (uint32_t r = 0; r < p; r++)
		if (of[r] != of[me])
			order[at++ % far] = r;
	for (uint32_t k = 1; k < p; k++)
		if (of[(me + k) % p] == of[me])
			order[far + n++] = (me + k) % p;
	return order;
}

enum form { LINEAR, PAIRWISE, PAIRS };

static int
build_alltoall(struct coll_schedule *s, const struct coll_args *a, enum form form)
{
	uint64_t base;
	uint32_t copied;
	struct round last = {0};
	enum coll_buf buf = outgoing(s, a, &base, &copied);
	if (!a->in_place)
		coll_copy(s, COLL_SEND, coll_send_off(a, a->rank), COLL_RECV,
			  coll_block_off(a, a->rank), coll_block_len(a, a->rank));
	uint32_t p = a->size, me = a->rank;
	bool far = form == LINEAR && a->cluster_of && coll_many_places(a);
	const uint32_t *order = far ? far_first(s, a) : NULL;
	for (uint32_t k = 1; k < p + (form == PAIRS && (p & 1)); k++) {
		uint32_t to = form == PAIRS ? opponent(p, me, k) : (me + k) % p;
		uint32_t from = form == PAIRS ? to : (me + p - k) % p;
		if (order)
			to = from = order[k - 1];
		if (to == me)
			continue;
		struct coll_range out = alltoall_block(a, buf, base, to);
		struct round in = exchange_alltoall(s, a, &out, copied, to, from, &last,
						    form == LINEAR ? 0 : a->slice);
		if (form != LINEAR)
			last = in;
	}
	return COLL_ERR_OK;
}

static int
collectives_alltoall_pairwise(struct coll_schedule *s, const struct coll_args *a)
{
	return build_alltoall(s, a, PAIRWISE);
}

static int
collectives_alltoall_linear(struct coll_schedule *s, const struct coll_args *a)
{
	return build_alltoall(s, a, LINEAR);
}

static int
pairs(struct coll_schedule *s, const struct coll_args *a)
{
	return build_alltoall(s, a, PAIRS);
}

const struct coll_recipe coll_alg_alltoall_pairs = {COLL_ALLTOALL, "pairs", "(p-1)(alpha + b beta)",
						    NULL, pairs};
const struct coll_recipe coll_alg_alltoall_pairwise = {
	COLL_ALLTOALL, "pairwise", "(p-1)(alpha + b beta)", NULL, collectives_alltoall_pairwise};
const struct coll_recipe coll_alg_alltoall_linear = {
	COLL_ALLTOALL, "linear", "alpha + (p-1) b beta", NULL, collectives_alltoall_linear};
