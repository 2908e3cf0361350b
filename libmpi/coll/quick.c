/* SPDX-License-Identifier: BSD-2-Clause */
/* Which steps are left, under way and done is a word each. */
#include "quick.h"

#include <string.h>

#include "base/assert.h"

#include "engine.h"
#include "plan.h"

struct run {
	struct lmpi_coll *c;
	uint32_t left, under_way, done; /* sets of steps; messages are under way */
};

bool
lmpi_coll_is_quick(const struct lmpi_coll *c)
{
	return c->schedule.steps <= LMPI_QUICK_STEPS && c->algorithm == NULL &&
	       c->comm->foreign < 0 && c->comm->remote == NULL && lmpi_light == NULL;
}

static bool
done_with(struct lmpi_coll *c, const struct coll_step *s, struct lmpi_req *e)
{
	uint64_t cid = c->comm->cid + 1;

	if (s->kind == COLL_STEP_SEND) {
		void *at = lmpi_coll_address(c, &s->from);
		uint32_t world = c->comm->group->world[s->peer];

		if (lmpi_send_whole(at, s->from.len, world, c->comm->rank, c->tag, cid))
			return true;
		memset(e, 0, sizeof(*e));
		lmpi_isend(e, at, s->from.len, world, c->comm->rank, c->tag, cid, LMPI_STANDARD);
	} else {
		struct lmpi_probed got;

		if (lmpi_recv_whole(lmpi_coll_address(c, &s->into), s->into.len,
				    c->comm->group->world[s->peer], (int)s->peer, c->tag, cid, true,
				    &got))
			return true;
		e->on_done = NULL;
		lmpi_irecv(e, lmpi_coll_address(c, &s->into), s->into.len, (int)s->peer, c->tag,
			   cid);
	}
	return false;
}

static void
issue_quick(struct run *r, uint32_t i)
{
	struct lmpi_coll *c = r->c;
	const struct coll_step *s = &c->schedule.step[i];
	bool message = s->kind == COLL_STEP_SEND || s->kind == COLL_STEP_RECV;

	r->left &= ~(1u << i);
	if (message && !done_with(c, s, &c->state[i].e)) {
		r->under_way |= 1u << i;
		return;
	}
	if (!message)
		lmpi_coll_compute(c, s);
	r->done |= 1u << i;
}

static bool
news(void *arg)
{
	const struct run *r = arg;

	for (uint32_t set = r->under_way; set != 0; set &= set - 1)
		if (r->c->state[__builtin_ctz(set)].e.done)
			return true;
	return false;
}

/* Or the call makes no sense any more. */
static bool
news_or_loss(void *arg)
{
	const struct run *r = arg;

	return r->c->comm->lost > 0 || news(arg);
}

static void
collect(struct run *r)
{
	for (uint32_t set = r->under_way; set != 0; set &= set - 1) {
		const struct lmpi_req *e = &r->c->state[__builtin_ctz(set)].e;

		if (!e->done)
			continue;
		if (e->error != MPI_SUCCESS && r->c->error == MPI_SUCCESS)
			r->c->error = e->error;
		r->under_way &= ~(set & -set);
		r->done |= set & -set;
	}
}

/* Steps that may begin: all that are not receives, or the first that is one; true if there was
 * such a receive.  Steps wait for earlier ones only. */
static bool
issue_ready(struct run *r, bool receives)
{
	for (uint32_t set = r->left; set != 0; set &= set - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(set);
		const struct lmpi_step_state *st = &r->c->state[i];

		if ((st->needs & ~r->done) || (st->after & r->left) ||
		    (r->c->schedule.step[i].kind == COLL_STEP_RECV) != receives)
			continue;
		issue_quick(r, i);
		if (receives)
			return true;
	}
	return false;
}

/* What the engine has is taken back, or ends when its peer answers. */
static void
give_up_run(struct run *r)
{
	for (uint32_t set = r->under_way; set != 0; set &= set - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(set);
		if (r->c->schedule.step[i].kind == COLL_STEP_RECV)
			(void)lmpi_cancel_recv(&r->c->state[i].e);
		else
			lmpi_cancel_send(&r->c->state[i].e);
	}
	while (r->under_way != 0) {
		if (!news(r))
			lmpi_wait_for(news, r);
		collect(r);
	}
	r->left = 0;
}

void
lmpi_coll_run_quick(struct lmpi_coll *c)
{
	uint32_t steps = c->schedule.steps;
	struct run r = {.c = c, .left = steps ? UINT32_MAX >> (32 - steps) : 0};

	for (;;) {
		/* A receive may wait a little, so what others wait for goes first. */
		issue_ready(&r, false);
		if (issue_ready(&r, true))
			continue;
		if (r.under_way == 0)
			break;
		if (!news(&r))
			lmpi_wait_for(news_or_loss, &r);
		collect(&r);
		if (c->comm->lost > 0 && c->error == MPI_SUCCESS)
			c->error = LMPI_ERR_PROC_FAILED;
		if (__builtin_expect(lmpi_coll_breaks(c->error), 0))
			give_up_run(&r);
	}
	BASE_ASSERT(r.left == 0);
}
