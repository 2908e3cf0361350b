/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans: schedules with the lists the executor (mpi/steps.h) works on. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "rules.h"

/* What a schedule depends on, of calls whose plans are kept. */
struct key {
	uint64_t bytes, elem, own_bytes;
	enum coll_op op;
	uint32_t root;
	bool commutative, in_place, reversed;
};

struct lmpi_plan {
	struct key key;
	struct coll_schedule schedule;
	struct lmpi_step *step;
	struct lmpi_step_wire *wire;
	uint32_t *dependents, *ready;
	bool busy;
	_Alignas(64) char data[];
};

struct lmpi_plans {
	struct lmpi_plan *plan[LMPI_PLANS_MAX];
	uint32_t last, next; /* used last; to be replaced next */
};

static int
plan_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for a collective operation");
}

/* ---- making one */

static int
link_steps(struct lmpi_coll *c)
{
	const struct coll_schedule *s = &c->schedule;
	uint32_t *last;

	c->run.step = lmpi_coll_alloc(c, s->steps, sizeof(*c->run.step));
	c->wire = lmpi_coll_alloc(c, s->steps, sizeof(*c->wire));
	c->run.ready = lmpi_coll_alloc(c, s->steps, sizeof(*c->run.ready));
	c->run.dependents = lmpi_coll_alloc(c, s->deps, sizeof(*c->run.dependents));
	last = malloc(2 * (size_t)s->size * sizeof(*last) + 1);
	if (!c->run.step || !c->wire || !c->run.ready || !c->run.dependents || !last) {
		free(last);
		return plan_no_memory();
	}
	memset(c->wire, 0, s->steps * sizeof(*c->wire));
	lmpi_steps_link(s, c->run.step, c->run.dependents, last);
	free(last);
	for (uint32_t i = 0; i < s->steps; i++) {
		c->run.step[i].run = &c->run;
		c->wire[i].step = &c->run.step[i];
	}
	return MPI_SUCCESS;
}

static int
build_plan(struct lmpi_coll *c)
{
	size_t hint = coll_arena_hint(&c->args);
	void *arena = lmpi_coll_alloc(c, (int64_t)hint, 1);
	int rc;

	if (arena == NULL)
		return plan_no_memory();
	rc = coll_build(&c->schedule, &c->args, c->algorithm, arena, hint);
	if (rc != COLL_ERR_OK)
		return lmpi_error(MPI_ERR_INTERN, "no schedule for %s: %s",
				  coll_op_name(c->args.op), coll_strerror(rc));
	return link_steps(c);
}

/* ---- keeping */

static bool
may_keep(const struct lmpi_coll *c)
{
	const struct coll_args *a = &c->args;

	return c->algorithm == NULL && a->remote == 0 && a->op != COLL_NEIGHBOR && !a->bytes_of &&
	       !a->displ && !a->send_bytes && !a->send_displ;
}

static struct key
plan_key_of(const struct coll_args *a)
{
	return (struct key){a->bytes, a->elem,	      a->own_bytes, a->op,
			    a->root,  a->commutative, a->in_place,  a->reversed};
}

static bool
plan_same(const struct key *a, const struct key *b)
{
	return a->bytes == b->bytes && a->root == b->root && a->op == b->op && a->elem == b->elem &&
	       a->own_bytes == b->own_bytes && a->commutative == b->commutative &&
	       a->in_place == b->in_place && a->reversed == b->reversed;
}

/* Most calls are like the one before. */
static struct lmpi_plan *
find_plan(struct lmpi_plans *p, const struct key *key)
{
	for (uint32_t k = 0; k < LMPI_PLANS_MAX; k++) {
		uint32_t i = (p->last + k) % LMPI_PLANS_MAX;

		if (p->plan[i] != NULL && plan_same(&p->plan[i]->key, key)) {
			p->last = i;
			return p->plan[i];
		}
	}
	return NULL;
}

static void
use_plan(struct lmpi_coll *c, struct lmpi_plan *plan)
{
	plan->busy = true;
	c->plan = plan;
	c->schedule = plan->schedule;
	c->run.step = plan->step;
	c->wire = plan->wire;
	c->run.dependents = plan->dependents;
	c->run.ready = plan->ready;
	for (uint32_t i = 0; i < c->schedule.steps; i++)
		c->run.step[i].run = &c->run;
}

/* n things of that size moved to *at, which goes on behind them. */
static void *
moved(char **at, const void *from, size_t n, size_t size)
{
	char *to = *at;

	if (n)
		memcpy(to, from, n * size);
	*at += (n * size + 15) / 16 * 16;
	return to;
}

/* A copy of c's own in memory as small as it can be; without any c does as well. */
static void
keep_plan(struct lmpi_plans *p, struct lmpi_coll *c, const struct key *key)
{
	const struct coll_schedule *s = &c->schedule;
	size_t bytes = s->steps * (sizeof(*s->step) + sizeof(*c->run.step) + sizeof(*c->wire) +
				   sizeof(*c->run.ready)) +
		       2 * s->deps * sizeof(*s->dep) + (size_t)6 * 16;
	uint32_t i = p->next;
	struct lmpi_plan *plan;
	char *at;

	if (bytes > LMPI_PLAN_BYTES_MAX || (p->plan[i] != NULL && p->plan[i]->busy))
		return;
	plan = aligned_alloc(64, (sizeof(*plan) + bytes + 63) / 64 * 64);
	if (plan == NULL)
		return;
	at = plan->data;
	plan->key = *key;
	plan->schedule = *s;
	plan->schedule.step = moved(&at, s->step, s->steps, sizeof(*s->step));
	plan->schedule.dep = moved(&at, s->dep, s->deps, sizeof(*s->dep));
	plan->step = moved(&at, c->run.step, s->steps, sizeof(*c->run.step));
	plan->wire = moved(&at, c->wire, s->steps, sizeof(*c->wire));
	for (uint32_t k = 0; k < s->steps; k++)
		plan->wire[k].step = &plan->step[k];
	plan->dependents = moved(&at, c->run.dependents, s->deps, sizeof(*c->run.dependents));
	plan->ready = moved(&at, c->run.ready, 0, 0);
	free(p->plan[i]);
	p->plan[i] = plan;
	p->last = i;
	p->next = (i + 1) % LMPI_PLANS_MAX;
	use_plan(c, plan);
}

int
lmpi_plan_make(struct lmpi_coll *c, bool may)
{
	struct lmpi_plans **p = &lmpi_comm_coll(c->comm)->plans;
	struct lmpi_plan *known = NULL;
	struct key key;
	int rc;

	c->args.rules = lmpi_rules();
	may &= may_keep(c);
	if (may && *p == NULL)
		*p = calloc(1, sizeof(**p));
	may &= *p != NULL;
	if (may) {
		key = plan_key_of(&c->args);
		known = find_plan(*p, &key);
	}
	if (known != NULL && !known->busy) {
		use_plan(c, known);
		return MPI_SUCCESS;
	}
	rc = build_plan(c);
	if (rc == MPI_SUCCESS && may && known == NULL)
		keep_plan(*p, c, &key);
	return rc;
}

void
lmpi_plan_release(struct lmpi_coll *c)
{
	if (c->plan != NULL)
		c->plan->busy = false;
}

void
lmpi_plans_free(struct lmpi_plans *plans)
{
	for (uint32_t i = 0; plans != NULL && i < LMPI_PLANS_MAX; i++)
		free(plans->plan[i]);
	free(plans);
}
