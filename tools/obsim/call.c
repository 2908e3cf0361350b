#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *
take(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p) {
		fputs("obsim: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static int
build(struct obs_call *c, const struct obs_args *a)
{
	struct coll_args args = {.op = a->op,
				 .size = a->p,
				 .root = a->root,
				 .bytes = a->bytes,
				 .elem = 1,
				 .commutative = true,
				 .reversed = a->reversed,
				 .degree = a->degree,
				 .rules = a->rules};
	size_t each = (coll_arena_hint(&args) + 15) & ~(size_t)15;
	c->schedule = take(a->p, sizeof *c->schedule);
	c->arena = take(a->p, each);
	for (uint32_t r = 0; r < a->p; r++) {
		args.rank = r;
		int rc = coll_build(&c->schedule[r], &args, a->algorithm,
				    (char *)c->arena + r * each, each);
		if (rc != COLL_ERR_OK)
			return rc;
	}
	return COLL_ERR_OK;
}

/* Counting sort of the messages by round. */
static void
by_round(struct obs_call *c, const uint32_t *node_of)
{
	uint32_t *first = take(c->rounds + 1, sizeof *first);
	for (uint32_t m = 0; m < c->messages; m++)
		first[c->message[m].round + 1]++;
	for (uint32_t r = 0; r < c->rounds; r++)
		first[r + 1] += first[r];
	for (uint32_t m = 0; m < c->messages; m++) {
		const struct coll_message *g = &c->message[m];
		uint32_t at = c->at[m] = first[g->round]++;
		c->demand[at] =
			(struct ocs_demand){node_of ? node_of[g->from] : g->from,
					    node_of ? node_of[g->to] : g->to, g->round, g->bytes};
	}
	free(first);
}

int
obs_call_make(struct obs_call *c, const struct obs_args *a, const uint32_t *node_of)
{
	*c = (struct obs_call){.p = a->p};
	int rc = build(c, a);
	if (rc != COLL_ERR_OK) {
		obs_call_free(c);
		return rc;
	}
	c->algorithm = c->schedule[0].algorithm;
	c->play_mem = take(1, coll_play_footprint(c->schedule, c->p));
	c->play = coll_play_new(c->play_mem, c->schedule, c->p, a->local, a->arg);
	if (!c->play) {
		obs_call_free(c);
		return COLL_ERR_INVAL;
	}
	c->rounds = coll_play_rounds(c->play);
	c->message = coll_play_messages(c->play, &c->messages);
	c->demand = take(c->messages, sizeof *c->demand);
	c->at = take(c->messages, sizeof *c->at);
	if (c->messages)
		by_round(c, node_of);
	return COLL_ERR_OK;
}

void
obs_call_free(struct obs_call *c)
{
	free(c->schedule);
	free(c->arena);
	free(c->play_mem);
	free(c->demand);
	free(c->at);
	*c = (struct obs_call){0};
}

static void
count(const struct obs_call *c, const struct ocs_plan *plan, struct obs_result *r)
{
	r->packets = plan->packets;
	r->orders = plan->ordered;
	for (uint32_t m = 0; m < c->messages; m++)
		r->by_light += plan->by[m] != OCS_NONE;
	/* a hit: lit before the call, or by an earlier message of it */
	r->hits = r->by_light - (plan->ordered < r->by_light ? plan->ordered : r->by_light);
}

void
obs_call_plan(const struct obs_call *c, const struct obs_mode *m, struct ocs_slots *s,
	      struct obs_plan *out)
{
	uint32_t all = c->messages + m->aheads;
	struct ocs_demand *demand = c->demand, *joined = NULL;
	if (m->aheads) {
		joined = demand = take(all, sizeof *joined);
		memcpy(joined, c->demand, c->messages * sizeof *joined);
		memcpy(joined + c->messages, m->ahead, m->aheads * sizeof *joined);
		for (uint32_t i = c->messages; i < all; i++)
			joined[i].round += c->rounds;
	}
	struct ocs_plan_wish wish = {.mode = m->mode,
				     .demand = demand,
				     .demands = c->messages,
				     .lookahead = m->aheads,
				     .light_from = m->light_from};
	struct ocs_plan plan;
	out->mem = take(1, ocs_plan_footprint(s, all));
	ocs_plan_make(&plan, &wish, s, out->mem);
	free(joined);
	out->plan = plan;
	out->plan.by = take(c->messages, 4);
	out->plan.batch = take(c->messages, 4);
	for (uint32_t i = 0; i < c->messages; i++) {
		out->plan.by[i] = plan.by[c->at[i]];
		out->plan.batch[i] = plan.batch[c->at[i]];
	}
	out->run_mem = take(1, ocs_run_footprint(&out->plan));
	ocs_run_start(&out->run, &out->plan, out->run_mem);
}

void
obs_plan_free(struct obs_plan *p)
{
	free(p->mem);
	free(p->plan.by);
	free(p->plan.batch);
	free(p->run_mem);
	*p = (struct obs_plan){0};
}

struct obs_result
obs_call_run(struct obs_call *c, const struct obs_mode *m, struct ocs_slots *s,
	     const struct ocs_costs *costs, const uint32_t *node_of, const struct obs_when *w)
{
	struct obs_result r = {0};
	struct obs_plan p;
	obs_call_plan(c, m, s, &p);
	coll_play_rewind(c->play);
	struct ocs_prediction q = {.play = c->play,
				   .run = &p.run,
				   .costs = costs,
				   .ranks = c->p,
				   .node_of = node_of,
				   .announce_s = w->announce_s,
				   .start_s = w->start_s,
				   .finish_s = w->finish_s,
				   .log = w->log,
				   .arg = w->arg};
	void *mem = take(1, ocs_predict_footprint(c->p, c->messages, p.plan.setups));
	r.end_s = ocs_predict_s(&q, mem);
	count(c, &p.plan, &r);
	r.gammas = q.gammas;
	free(mem);
	obs_plan_free(&p);
	return r;
}
