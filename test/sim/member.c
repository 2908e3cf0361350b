/* SPDX-License-Identifier: BSD-2-Clause */
#include "member.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define CTX_ALL	 7u
#define CTX_SOME 8u

/* What is sent keeps its bytes until it is done. */
struct parcel {
	struct lmpi_req req; /* first */
	uint8_t frame[];
};

/* Handlers of the library's own messages are not told who they are. */
static struct members *running;

static const uint32_t everybody[ENODES_MAX] = {0, 1, 2,	 3,  4,	 5,  6,	 7,
					       8, 9, 10, 11, 12, 13, 14, 15};

struct members *
members_of(const struct enode *n)
{
	return (struct members *)(void *)n->all;
}

struct member *
member_of(const struct enode *n)
{
	return &members_of(n)->member[n->end->rank];
}

static void *
own_memory(void *user, size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	(void)user;
	BASE_ASSERT(p);
	return p;
}

static void
free_own_memory(void *user, void *p)
{
	(void)user;
	free(p);
}

/* ---- what lib/ft asks for ---- */

static void
burn_parcel(struct lmpi_req *req)
{
	free(req);
}

static void
mail_ft_frame(void *user, uint32_t to, const void *frame, size_t len)
{
	struct enode *n = user;
	struct parcel *p = own_memory(NULL, sizeof *p + len);

	p->req = (struct lmpi_req){.on_done = burn_parcel};
	memcpy(p->frame, frame, len);
	lmpi_engine_isend(&n->e, &p->req, p->frame, len, to, (int)n->end->rank, 0, LMPI_CID_SERVICE,
			  LMPI_STANDARD);
}

static void
lose_failed(void *user, uint32_t rank)
{
	struct enode *n = user;

	INVARIANT(n->end->w->s, ALIVE, enode_may_miss(n, rank),
		  "rank %u takes rank %u for dead, which is alive", n->end->rank, rank);
	if (rank == n->end->rank) /* it ends; only who is apart is told that */
		return;
	member_of(n)->knows |= 1u << rank;
	lmpi_engine_lost(&n->e, &n->peer[rank]);
	end_shun(n->end, rank);
}

static void
mark_revoked(void *user, uint64_t ctx)
{
	struct enode *n = user;

	lmpi_engine_revoke(&n->e, ctx);
	member_of(n)->revoked = true;
}

static uint64_t
bit_of(uint32_t rank, uint32_t k)
{
	return UINT64_C(1) << (ENODES_MAX * (k % 4) + rank);
}

static void
check_agreed(const struct enode *n, uint32_t k, const struct agreed *o)
{
	const struct members *v = members_of(n);
	struct sim *s = n->end->w->s;

	for (uint32_t r = 0; r < n->e.size; r++) {
		bool in = !(o->and_of[0] & bit_of(r, k));
		bool apart = v->nodes.apart[n->end->rank] >> r & 1;
		INVARIANT(s, AGREE,
			  apart || v->member[r].ended <= k ||
				  !memcmp(&v->member[r].got[k], o, sizeof *o),
			  "agreement %u ends with two results, one of them at rank %u", k, r);
		INVARIANT(s, AGREE, in || enode_may_miss(n, r),
			  "agreement %u ends without rank %u, which is alive", k, r);
		INVARIANT(s, AGREE, !in || v->began[k] >> r & 1,
			  "agreement %u: rank %u took no part", k, r);
		INVARIANT(s, AGREE, !(o->failed >> r & 1) || enode_may_miss(n, r),
			  "agreement %u: rank %u has not failed", k, r);
	}
	INVARIANT(s, AGREE, v->began[k] >> (o->max_of % ENODES_MAX) & 1,
		  "agreement %u: nobody offered %llu", k, (unsigned long long)o->max_of);
}

static void
note_agreed(void *user, uint64_t ctx, uint32_t seq, const struct ft_result *r)
{
	struct enode *n = user;
	struct members *v = members_of(n);
	struct member *m = member_of(n);

	if (ctx == CTX_SOME) {
		v->met(n);
		return;
	}
	BASE_ASSERT(ctx == CTX_ALL && seq == m->ended && seq < MEMBER_AGREEMENTS);
	struct agreed *o = &m->got[m->ended++];
	*o = (struct agreed){.and_of = {r->and_of[0], r->and_of[1]}, .max_of = r->max_of};
	for (uint32_t i = 0; i < r->n; i++)
		o->failed |= (uint64_t)ft_result_has_failed(r, i) << i;
	check_agreed(n, seq, o);
	v->agreed(n, seq);
}

static const struct ft_ops ft_calls = {mail_ft_frame, lose_failed, mark_revoked,
				       note_agreed,   NULL,	   NULL};

void
member_agree(struct enode *n)
{
	struct members *v = members_of(n);
	struct member *m = member_of(n);
	uint32_t k = m->begun, rank = n->end->rank;
	struct ft_offer o = {.and_of = {~bit_of(rank, k), UINT64_MAX},
			     .max_of = 100 * ENODES_MAX + rank};

	BASE_ASSERT(k < MEMBER_AGREEMENTS);
	v->began[k] |= 1u << rank;
	m->begun++;
	ft_agree(m->f, CTX_ALL, everybody, n->e.size, &o);
}

void
member_meet(struct enode *n, uint32_t first, uint32_t count)
{
	struct ft_offer o = {0};

	ft_agree(member_of(n)->f, CTX_SOME, everybody + first, count, &o);
}

void
member_revoke(struct enode *n, uint64_t ctx)
{
	ft_revoke(member_of(n)->f, ctx, everybody, n->e.size);
}

/* ---- what an engine asks for, and who makes it ---- */

static void
open_frame(uint32_t from, const void *data, uint64_t len)
{
	const struct enode *n = running->nodes.current;

	INVARIANT(n->end->w->s, HONEST, ft_on_frame(member_of(n)->f, from, data, (size_t)len),
		  "rank %u: a malformed frame of rank %u", n->end->rank, from);
}

static void
tell_member(struct enode *n, uint32_t dead)
{
	ft_failed(member_of(n)->f, dead);
}

/* Nothing is acknowledged. */
static bool
is_unacked_here(const struct lmpi_engine *e, uint64_t cid)
{
	(void)e, (void)cid;
	return true;
}

void
member_make(struct members *m, uint32_t rank, const struct lmpi_engine *engine)
{
	static struct lmpi_contexts contexts;
	static const struct ft_memory memory = {own_memory, free_own_memory, NULL};
	struct enode *n = &m->nodes.node[rank];
	struct lmpi_engine e = *engine;

	running = m;
	m->nodes.lost = tell_member;
	contexts = enode_contexts;
	contexts.unacked = is_unacked_here;
	e.tolerant = &contexts;
	e.handler = open_frame;
	enode_make(&m->nodes, rank, &e);
	m->member[rank].f = ft_new(rank, m->nodes.w->nend, &ft_calls, n, &memory);
}

void
member_free(struct members *m, uint32_t rank)
{
	lmpi_engine_drop(&m->nodes.node[rank].e);
	ft_free(m->member[rank].f);
}

void
member_check(const struct enode *n)
{
	const char *what;

	enode_check(n);
	INVARIANT(n->end->w->s, TABLES, ft_check(member_of(n)->f, &what), "rank %u: %s",
		  n->end->rank, what);
}
