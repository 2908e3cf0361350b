/* SPDX-License-Identifier: BSD-2-Clause */
#include "call.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

#define TRIES 12

void *
obs_take(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p) {
		fputs("obsim: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

int
obs_call_make(struct obs_call *c, const struct obs_args *a, const uint32_t *node_of)
{
	struct circ_call_spec spec = {.args = {.op = a->op,
					       .size = a->p,
					       .root = a->root,
					       .bytes = a->bytes,
					       .elem = 1,
					       .commutative = true,
					       .reversed = a->reversed,
					       .degree = a->degree,
					       .dims = a->dims,
					       .segment = a->segment,
					       .rules = a->rules},
				      .algorithm = a->algorithm,
				      .node_of = node_of,
				      .local = a->local,
				      .arg = a->arg};
	int rc = COLL_ERR_NOMEM;
	*c = (struct obs_call){.p = a->p};
	/* Twice what the schedules take is mostly enough. */
	size_t bytes = 2 * (a->p + 1) * (coll_arena_hint(&spec.args) + 64);
	for (int i = 0; i < TRIES && rc == COLL_ERR_NOMEM; i++, bytes *= 2) {
		obs_call_free(c);
		c->mem = obs_take(1, bytes);
		struct base_space s = base_space(c->mem, bytes);
		rc = circ_call_make(&c->made, &spec, &s);
	}
	if (rc != COLL_ERR_OK) {
		obs_call_free(c);
		return rc;
	}
	c->p = c->made.p;
	c->rounds = c->made.rounds;
	c->messages = c->made.messages;
	c->algorithm = c->made.algorithm;
	c->schedule = c->made.schedule;
	c->play = c->made.play;
	c->message = c->made.message;
	c->demand = c->made.demand;
	return COLL_ERR_OK;
}

void
obs_call_free(struct obs_call *c)
{
	free(c->mem);
	*c = (struct obs_call){0};
}

static void
count_call(const struct obs_call *c, const struct circ_plan *plan, struct obs_result *r)
{
	r->packets = plan->packets;
	r->orders = plan->ordered;
	for (uint32_t m = 0; m < c->messages; m++)
		r->by_light += plan->by[m] != CIRC_NONE;
	/* a hit: lit before the call, or by an earlier message of it */
	uint32_t firsts = plan->ordered - plan->extras;
	r->hits = r->by_light - (firsts < r->by_light ? firsts : r->by_light);
}

void
obs_call_plan(const struct obs_call *c, const struct circ_call_mode *m, struct circ_slots *s,
	      struct obs_plan *out)
{
	uint32_t all = c->messages + m->aheads;
	s->links = m->links;
	size_t bytes = circ_plan_footprint(s, all) +
		       circ_run_bound((uint32_t)circ_plan_setups(s, all), all, s->nodes) +
		       all * (sizeof(struct circ_demand) + 12) + 320;
	out->mem = obs_take(1, bytes);
	struct base_space space = base_space(out->mem, bytes);
	bool made = circ_call_plan(&c->made, m, s, &out->of, &space);
	BASE_ASSERT(made);
}

void
obs_plan_free(struct obs_plan *p)
{
	free(p->mem);
	*p = (struct obs_plan){0};
}

struct obs_result
obs_call_run(struct obs_call *c, const struct circ_call_mode *m, struct circ_slots *s,
	     const struct circ_costs *costs, const uint32_t *node_of, const struct obs_when *w)
{
	struct obs_result r = {0};
	struct obs_plan p;
	obs_call_plan(c, m, s, &p);
	coll_play_rewind(c->play);
	struct circ_prediction q = {.play = c->play,
				    .run = &p.of.run,
				    .costs = costs,
				    .ranks = c->p,
				    .node_of = node_of,
				    .announce_s = w->announce_s,
				    .start_s = w->start_s,
				    .finish_s = w->finish_s,
				    .log = w->log,
				    .arg = w->arg};
	void *mem = obs_take(1, circ_predict_footprint(c->p, c->messages, p.of.plan.setups));
	r.end_s = circ_predict_s(&q, mem);
	count_call(c, &p.of.plan, &r);
	r.gammas = q.gammas;
	free(mem);
	obs_plan_free(&p);
	return r;
}
