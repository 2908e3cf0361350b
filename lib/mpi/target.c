/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations on the parts of others in windows. */
#include "mpi/target.h"

#include "canary.h"

/* ---- operations */

#define RESULT_TAG UINT32_C(0x20000000)

uint32_t
lmpi_acting_tag(struct lmpi_acting *all)
{
	all->last_tag = all->last_tag % (RESULT_TAG - 1) + 1;
	return all->last_tag;
}

void
lmpi_act_begin(struct lmpi_acting *all, struct lmpi_act *act, struct lmpi_target *t,
	       enum rma_kind kind)
{
	act->all = all;
	act->target = t;
	act->left = 1;
	t->pending++;
	t->wrote = kind != RMA_GET || (t->dirty && t->wrote);
	t->dirty = true;
}

void
lmpi_act_event(struct lmpi_act *act)
{
	if (--act->left > 0)
		return;
	act->target->pending--;
	if (act->error && !act->owned)
		act->target->error = act->error;
	act->all->ops->ended(act);
}

/* error, or all of the result is here: data if it comes from a REPLY. */
static void
end_result(struct lmpi_act *act, int error, uint64_t bytes, const void *data)
{
	if (error == LMPI_OK && bytes != act->expected)
		error = LMPI_ERR_RMA_RANGE;
	act->all->results--;
	act->error = error;
	if (error == LMPI_OK)
		act->all->ops->result(act, data);
	lmpi_act_event(act);
}

static void
end_bulk_result(struct lmpi_req *req)
{
	struct lmpi_act *act = (struct lmpi_act *)(void *)req;

	end_result(act,
		   req->error == LMPI_OK || req->error == LMPI_ERR_PROC_FAILED ? req->error
									       : LMPI_ERR_RMA_RANGE,
		   req->bytes, NULL);
}

static void
end_named(struct lmpi_act *act, int error, uint64_t bytes, const void *data)
{
	lmpi_id_drop(&act->all->names, act->id);
	act->id = 0;
	end_result(act, error, bytes, data);
}

bool
lmpi_act_want(struct lmpi_act *act, struct rma_packet *p, uint64_t bytes)
{
	struct lmpi_acting *all = act->all;

	/* A receive from a process that is lost ends at once. */
	act->expected = bytes;
	act->left++;
	all->results++;
	if (bytes <= RMA_INLINE_MAX) {
		p->id = act->id = lmpi_id_new(&all->names, &all->memory, act);
		return true;
	}
	p->reply_tag = lmpi_acting_tag(all) | RESULT_TAG;
	act->recv.on_done = end_bulk_result;
	if (all->ops->receive(act, p->reply_tag))
		return true;
	all->results--;
	act->target->pending--;
	return false;
}

/* ---- targets */

static bool
hear_reply(struct lmpi_acting *all, const struct lmpi_target *t, const struct lmpi_job *j)
{
	struct lmpi_act *act = lmpi_id_find(&all->names, j->p.id);

	if (act == NULL || act->target != t)
		return false; /* nothing of this window was asked there */
	end_named(act, (int)j->p.error, j->bytes, j->data);
	return true;
}

bool
lmpi_target_hear(struct lmpi_acting *all, struct lmpi_target *t, const struct lmpi_job *j)
{
	/* No other error may come out of a call of the program's. */
	if (j->p.error != LMPI_OK && j->p.error != LMPI_ERR_RMA_RANGE)
		return false;
	switch (j->p.kind) {
	case RMA_REPLY:
		return hear_reply(all, t, j);
	case RMA_ACK:
		if (t->acks == 0)
			return false;
		t->acks--;
		lmpi_target_lighten(t);
		if (j->p.error)
			t->error = (int)j->p.error;
		return true;
	case RMA_GRANT:
		if (t->held != LMPI_LOCK_ASKED)
			return false;
		t->held = LMPI_LOCK_HELD;
		return true;
	case RMA_POST:
		t->posted += !LMPI_BUG(TARGET_POST);
		return true;
	default:
		return false;
	}
}

void
lmpi_target_lost(struct lmpi_acting *all, struct lmpi_target *t)
{
	if (!LMPI_BUG(TARGET_ACKS))
		t->acks = 0;
	if (t->held == LMPI_LOCK_ASKED && !LMPI_BUG(TARGET_LOCK))
		t->held = LMPI_LOCK_NOCHECK;
	for (uint32_t i = 0; i < all->names.size && !LMPI_BUG(TARGET_REPLY); i++) {
		struct lmpi_act *act = all->names.slot[i].object;

		if (act != NULL && act->target == t)
			end_named(act, LMPI_ERR_PROC_FAILED, 0, NULL);
	}
}

void
lmpi_target_leave(struct lmpi_target *t)
{
	if (!LMPI_BUG(TARGET_LOOSE))
		t->dirty |= t->loose;
}

bool
lmpi_target_fills(const struct lmpi_acting *all, const struct lmpi_target *t)
{
	return ((t->held == LMPI_LOCK_ASKED && t->early > all->room.early) ||
		t->early + t->beside > all->room.behind) &&
	       !LMPI_BUG(TARGET_FULL);
}

bool
lmpi_target_flush(struct lmpi_target *t, bool failed)
{
	if (t->acks == 0)
		t->early = t->beside = 0;
	if (!t->dirty && !t->heavy)
		return false;
	t->dirty = t->heavy = false;
	if (failed && !LMPI_BUG(TARGET_DEAD))
		return false;
	t->acks++;
	return true;
}
