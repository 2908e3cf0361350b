/* SPDX-License-Identifier: BSD-2-Clause */
/* Which steps are left, under way and done is a word each: struct lmpi_few. */
#include "small_exec.h"

#include <string.h>

#include "base/assert.h"

#include "engine.h"
#include "plan.h"

bool
lmpi_coll_is_quick(const struct lmpi_coll *c)
{
	return c->schedule.steps <= LMPI_STEPS_SET && c->algorithm == NULL &&
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

static bool
issue_quick(struct lmpi_steps *run, uint32_t i)
{
	struct lmpi_coll *c = lmpi_coll_of_run(run);
	const struct coll_step *s = &c->schedule.step[i];

	if (s->kind == COLL_STEP_SEND || s->kind == COLL_STEP_RECV)
		return done_with(c, s, &run->step[i].e);
	lmpi_coll_compute(c, s);
	return true;
}

/* A message is done, or the call makes no sense any more. */
static bool
news_or_loss(void *arg)
{
	const struct lmpi_few *f = arg;

	return (lmpi_coll_of_run(f->s)->comm->lost > 0 && !f->s->broken) || lmpi_few_news(f);
}

void
lmpi_coll_run_quick(struct lmpi_coll *c)
{
	struct lmpi_few f;

	lmpi_few_start(&f, &c->run);
	while (!lmpi_few_run(&f, issue_quick)) {
		if (!lmpi_few_news(&f))
			lmpi_wait_for(news_or_loss, &f);
		if (c->comm->lost > 0)
			lmpi_steps_error(&c->run, LMPI_ERR_PROC_FAILED);
	}
	BASE_ASSERT(f.left == 0);
}
