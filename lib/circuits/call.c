/* SPDX-License-Identifier: BSD-2-Clause */
#include "circ/call.h"

#include <string.h>

static int
build_call(struct circ_call *c, const struct circ_call_spec *spec, struct base_space *s)
{
	struct coll_args args = spec->args;
	size_t each = base_carved(coll_arena_hint(&args));
	c->schedule = base_take(s, c->p * sizeof *c->schedule);
	if (!c->schedule)
		return COLL_ERR_NOMEM;
	for (uint32_t r = 0; r < c->p; r++) {
		void *arena = base_take(s, each);
		if (!arena)
			return COLL_ERR_NOMEM;
		args.rank = r;
		int rc = coll_build(&c->schedule[r], &args, spec->algorithm, arena, each);
		if (rc != COLL_ERR_OK)
			return rc;
	}
	return COLL_ERR_OK;
}

/* Counting sort of the messages by round. */
static bool
by_round(struct circ_call *c, const uint32_t *node_of, struct base_space *s)
{
	uint32_t *first = base_take(s, (c->rounds + 1) * sizeof *first);
	c->demand = base_take(s, c->messages * sizeof *c->demand);
	c->at = base_take(s, c->messages * sizeof *c->at);
	if (!first || !c->demand || !c->at)
		return false;
	memset(first, 0, (c->rounds + 1) * sizeof *first);
	for (uint32_t m = 0; m < c->messages; m++)
		first[c->message[m].round + 1]++;
	for (uint32_t r = 0; r < c->rounds; r++)
		first[r + 1] += first[r];
	for (uint32_t m = 0; m < c->messages; m++) {
		const struct coll_message *g = &c->message[m];
		uint32_t at = c->at[m] = first[g->round]++;
		c->demand[at] =
			(struct circ_demand){node_of ? node_of[g->from] : g->from,
					     node_of ? node_of[g->to] : g->to, g->round, g->bytes};
	}
	return true;
}

int
circ_call_make(struct circ_call *c, const struct circ_call_spec *spec, struct base_space *s)
{
	*c = (struct circ_call){.p = spec->args.size};
	int rc = build_call(c, spec, s);
	if (rc != COLL_ERR_OK)
		return rc;
	c->algorithm = c->schedule[0].algorithm;
	void *mem = base_take(s, coll_play_footprint(c->schedule, c->p));
	if (!mem)
		return COLL_ERR_NOMEM;
	c->play = coll_play_new(mem, c->schedule, c->p, spec->local, spec->arg);
	if (!c->play)
		return COLL_ERR_INVAL;
	c->rounds = coll_play_rounds(c->play);
	c->message = coll_play_messages(c->play, &c->messages);
	return by_round(c, spec->node_of, s) ? COLL_ERR_OK : COLL_ERR_NOMEM;
}

static struct circ_demand *
call_joined(const struct circ_call *c, const struct circ_call_mode *m, struct base_space *s)
{
	uint32_t all = c->messages + m->aheads;
	if (!m->aheads)
		return c->demand;
	struct circ_demand *d = base_take(s, all * sizeof *d);
	if (!d)
		return NULL;
	if (c->messages)
		memcpy(d, c->demand, c->messages * sizeof *d);
	memcpy(d + c->messages, m->ahead, m->aheads * sizeof *d);
	for (uint32_t i = c->messages; i < all; i++)
		d[i].round += c->rounds;
	return d;
}

bool
circ_call_plan(const struct circ_call *c, const struct circ_call_mode *m, struct circ_slots *slots,
	       struct circ_call_plan *out, struct base_space *s)
{
	uint32_t all = c->messages + m->aheads;
	slots->links = m->links;
	struct circ_demand *demand = call_joined(c, m, s);
	void *mem = base_take(s, circ_plan_footprint(slots, all));
	uint32_t *by = base_take(s, c->messages * sizeof *by);
	uint32_t *nth = base_take(s, c->messages * sizeof *nth);
	uint32_t *batch = base_take(s, c->messages * sizeof *batch);
	uint32_t setups = (uint32_t)circ_plan_setups(slots, all);
	void *run = base_take(s, circ_run_bound(setups, all, slots->nodes));
	if (!demand || !mem || !by || !nth || !batch || !run)
		return false;
	struct circ_plan_wish wish = {.mode = m->mode,
				      .demand = demand,
				      .demands = c->messages,
				      .lookahead = m->aheads,
				      .light_from = m->light_from};
	circ_plan_make(&out->plan, &wish, slots, mem);
	for (uint32_t i = 0; i < c->messages; i++) {
		by[i] = out->plan.by[c->at[i]];
		nth[i] = out->plan.nth[c->at[i]];
		batch[i] = out->plan.batch[c->at[i]];
	}
	out->plan.by = by;
	out->plan.nth = nth;
	out->plan.batch = batch;
	circ_run_start(&out->run, &out->plan, run);
	return true;
}
