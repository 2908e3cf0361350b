/* SPDX-License-Identifier: BSD-2-Clause */
/* For short blocks and places of equal size, where sending inside is cheap and a message between
 * places is dear: every process gives its master what is for each other place; the masters give
 * each other all of it, one message a pair; each passes on to all of its place what came, as it
 * came, and everybody takes out its own.  Nobody but the taker moves single blocks.  What stays
 * inside goes straight.
 * Cost with k processes in each of n places: 2 (k-1) (n-1) messages inside, of k and of k^2
 * blocks, and (n-1) (alpha + k^2 b beta) between masters, instead of k^2 messages. */
#include "builder.h"

#define PASSED_ON_MAX 8192 /* bytes everybody gets of every other place */

struct plan {
	uint32_t n, k, place, row;	   /* places, processes in each; mine, I in it */
	const uint32_t *rank;		   /* [n][k], ascending in each place */
	enum coll_buf from;		   /* the blocks I send are there */
	uint64_t base, gathered, came, kb; /* kb: the blocks of one process for one place */
};

static uint32_t
rank_of(const struct plan *p, uint32_t place, uint32_t row)
{
	return p->rank[place * p->k + row];
}

static bool
find_alltoall_hier(struct coll_schedule *s, const struct coll_args *a, struct plan *p)
{
	struct coll_domains d;
	if (!coll_domains_find(s, a->near.of, a->size, a->rank, &d))
		return false;
	*p = (struct plan){.n = d.count,
			   .k = a->near.each,
			   .place = d.mine,
			   .row = d.me,
			   .rank = d.rank,
			   .from = COLL_SEND,
			   .kb = a->near.each * a->bytes};
	p->gathered = coll_tmp(s, p->n * p->k * p->kb);
	p->came = coll_tmp(s, p->n * p->k * p->kb);
	if (a->in_place) {
		p->base = coll_tmp(s, a->size * a->bytes);
		p->from = COLL_TMP;
		coll_copy(s, COLL_RECV, 0, COLL_TMP, p->base, a->size * a->bytes);
	}
	return true;
}

static void
alltoall_hier_inside(struct coll_schedule *s, const struct coll_args *a, const struct plan *p)
{
	uint64_t b = a->bytes;
	if (!a->in_place)
		coll_copy(s, COLL_SEND, a->rank * b, COLL_RECV, a->rank * b, b);
	for (uint32_t d = 1; d < p->k; d++) {
		uint32_t to = rank_of(p, p->place, (p->row + d) % p->k);
		uint32_t from = rank_of(p, p->place, (p->row + p->k - d) % p->k);
		coll_send(s, to, p->from, p->base + to * b, b);
		coll_recv(s, from, COLL_RECV, from * b, b);
	}
}

/* What is for place q, of everybody here, one behind the other at the master. */
static void
gather_alltoall_hier(struct coll_schedule *s, const struct coll_args *a, const struct plan *p,
		     uint32_t q)
{
	uint64_t b = a->bytes, all = p->gathered + q * p->k * p->kb, own = all + p->row * p->kb;
	for (uint32_t v = 0, n; v < p->k; v += n) { /* neighbours in one piece */
		uint32_t first = rank_of(p, q, v);
		for (n = 1; v + n < p->k && rank_of(p, q, v + n) == first + n;)
			n++;
		coll_copy(s, p->from, p->base + first * b, COLL_TMP, own + v * b, n * b);
	}
	if (p->row != 0)
		coll_send(s, rank_of(p, p->place, 0), COLL_TMP, own, p->kb);
	for (uint32_t v = 1; v < p->k && p->row == 0; v++)
		coll_recv(s, rank_of(p, p->place, v), COLL_TMP, all + v * p->kb, p->kb);
}

/* To everybody of the place what came from place q, and my part of it to where it belongs. */
static void
pass_on_alltoall_hier(struct coll_schedule *s, const struct coll_args *a, const struct plan *p,
		      uint32_t q)
{
	uint64_t b = a->bytes, all = p->came + q * p->k * p->kb;
	if (p->row != 0)
		coll_recv(s, rank_of(p, p->place, 0), COLL_TMP, all, p->k * p->kb);
	for (uint32_t v = 1; v < p->k && p->row == 0; v++)
		coll_send(s, rank_of(p, p->place, v), COLL_TMP, all, p->k * p->kb);
	for (uint32_t v = 0; v < p->k; v++)
		coll_copy(s, COLL_TMP, all + v * p->kb + p->row * b, COLL_RECV,
			  rank_of(p, q, v) * b, b);
}

static int
build_alltoall_hier(struct coll_schedule *s, const struct coll_args *a)
{
	struct plan p;
	if (!find_alltoall_hier(s, a, &p))
		return COLL_ERR_NOMEM;
	for (uint32_t d = 1; d < p.n; d++)
		gather_alltoall_hier(s, a, &p, (p.place + d) % p.n);
	alltoall_hier_inside(s, a, &p);
	for (uint32_t d = 1; d < p.n && p.row == 0; d++) {
		uint32_t to = (p.place + d) % p.n, from = (p.place + p.n - d) % p.n;
		uint64_t len = p.k * p.kb;
		coll_send(s, rank_of(&p, to, 0), COLL_TMP, p.gathered + to * len, len);
		coll_recv(s, rank_of(&p, from, 0), COLL_TMP, p.came + from * len, len);
	}
	for (uint32_t d = 1; d < p.n; d++)
		pass_on_alltoall_hier(s, a, &p, (p.place + p.n - d) % p.n);
	return COLL_ERR_OK;
}

static bool
alltoall_hier_fits(const struct coll_args *a)
{
	return a->near.count > 1 && a->near.of && a->near.count * a->near.each == a->size &&
	       !a->bytes_of && !a->displ && !a->send_bytes && !a->send_displ &&
	       a->bytes <= PASSED_ON_MAX / a->near.each / a->near.each;
}

const struct coll_recipe coll_alg_alltoall_hier = {
	COLL_ALLTOALL, "hier", "(n-1)(alpha + k^2 b beta) between n masters, k-1 messages inside",
	alltoall_hier_fits, build_alltoall_hier};
