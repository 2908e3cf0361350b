/* SPDX-License-Identifier: BSD-2-Clause */
#include "coll_light.h"

#include <string.h>

#include "engine.h"

/* Sequence numbers of the starts of one persistent operation: far apart. */
#define STARTS 0x9e3779b1u

static bool
reduces(enum coll_op op)
{
	return op == COLL_REDUCE || op == COLL_ALLREDUCE || op == COLL_REDUCE_SCATTER ||
	       op == COLL_SCAN || op == COLL_EXSCAN;
}

/* No message of the call is longer. */
static uint64_t
longest(const struct coll_args *a)
{
	switch (a->op) {
	case COLL_GATHER:
	case COLL_ALLGATHER:
	case COLL_SCATTER:
	case COLL_ALLTOALL:
	case COLL_REDUCE_SCATTER:
		return a->bytes * a->size;
	default:
		return a->bytes;
	}
}

/* The same answer at all processes of the communicator, whatever they have been offered. */
static bool
regular(const struct lmpi_coll *c)
{
	const struct coll_args *a = &c->args;
	const struct lmpi_comm *comm = c->comm;

	const struct lmpi_comm_coll *k = lmpi_comm_coll(comm);

	return k != NULL && k->cluster_of != NULL && comm->remote == NULL && comm->foreign < 0 &&
	       a->wire_bytes == 0 && a->op != COLL_NEIGHBOR && !a->vector && a->bytes_of == NULL &&
	       a->displ == NULL && a->send_bytes == NULL && a->send_displ == NULL &&
	       a->elem <= UINT32_MAX;
}

static bool
announces(const struct lmpi_coll *c)
{
	return regular(c) && light_client_wants(lmpi_light, longest(&c->args));
}

/* What is lit is what the last call of the kind ended with.  Counted are calls, which come in the
 * same order everywhere, not offers of light, which do not.  A reduction keeps its order: the same
 * operands give the same bits. */
bool
lmpi_coll_light_reverses(struct lmpi_coll *c)
{
	uint32_t bit = 1u << c->args.op, *turned = &lmpi_comm_coll(c->comm)->light_turned;

	if (!lmpi_light_cached() || !regular(c) || longest(&c->args) == 0 || reduces(c->args.op))
		return false;
	*turned ^= bit;
	return !(*turned & bit);
}

/* The lowest rank of each cluster speaks for it. */
static bool
light_speaks(const struct lmpi_comm *comm)
{
	const uint32_t *of = lmpi_comm_coll(comm)->cluster_of;
	int r = 0;

	while (of[r] != of[comm->rank])
		r++;
	return r == comm->rank;
}

static struct light_call
describe_light(const struct lmpi_coll *c)
{
	const struct coll_args *a = &c->args;
	const struct coll_algorithm *alg = coll_algorithm_of(a->op, c->schedule.algorithm);

	return (struct light_call){
		.comm = (uint32_t)(c->comm->cid + 1),
		.leader = c->comm->group->world[0],
		.seq = (uint32_t)(c->tag - LMPI_COLL_TAG_FIRST) ^ c->starts * STARTS,
		.op = (uint8_t)a->op,
		.algorithm = alg->id,
		.algorithm_version = alg->version,
		.flags = (uint8_t)((a->reversed ? LIGHT_CALL_REVERSED : 0) |
				   (reduces(a->op) && !a->commutative ? LIGHT_CALL_ORDERED : 0)),
		.degree = (uint8_t)a->degree,
		.root = a->root,
		.elem = (uint32_t)a->elem,
		.bytes = a->bytes};
}

/* Its memory goes with the operation.  NULL: there is none, and nothing is announced. */
static struct lmpi_coll_light *
light_new(struct lmpi_coll *c)
{
	struct lmpi_coll_light *l = lmpi_coll_alloc(c, 1, sizeof(*l));
	uint32_t p = c->args.size, *numbers = lmpi_coll_alloc(c, 3 * (int64_t)p, sizeof(*numbers));

	if (l == NULL || numbers == NULL)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->gate.rank = c->args.rank;
	l->gate.p = p;
	l->gate.world = c->comm->group->world;
	l->gate.told = &lmpi_comm_coll(c->comm)->light_told;
	l->gate.speaks = light_speaks(c->comm);
	l->gate.go = numbers;
	l->gate.arrived = numbers + p;
	l->sent = numbers + 2 * (size_t)p;
	return l;
}

void
lmpi_coll_light_start(struct lmpi_coll *c)
{
	c->light = NULL;
	if (!announces(c))
		return;
	if (c->light_kept == NULL)
		c->light_kept = light_new(c);
	if (c->light_kept == NULL)
		return;
	c->light = c->light_kept;
	memset(c->light->gate.go, 0, 3 * (size_t)c->args.size * sizeof(uint32_t));
	c->light->gate.call = describe_light(c);
	light_client_begin(lmpi_light, &c->light->gate);
	lmpi_light_flush();
}

void
lmpi_coll_light_forecast(struct lmpi_coll *c)
{
	if (!announces(c) || (c->light_kept = light_new(c)) == NULL)
		return;
	c->light_kept->gate.call = describe_light(c);
	c->light_kept->gate.call.flags |= LIGHT_CALL_FORECAST;
	(void)light_client_forecast(lmpi_light, &c->light_kept->gate);
	lmpi_light_flush();
}

/* Is that rank in another cluster? */
static bool
is_far(const struct lmpi_coll *c, uint32_t peer)
{
	const uint32_t *of = lmpi_comm_coll(c->comm)->cluster_of;

	return of[peer] != of[c->comm->rank];
}

bool
lmpi_coll_light_holds(struct lmpi_coll *c, uint32_t step, struct light_wait *w)
{
	const struct coll_step *s = &c->schedule.step[step];

	w->gate = NULL;
	if (!is_far(c, s->peer))
		return false;
	w->count = ++c->light->sent[s->peer];
	if (s->from.len == 0)
		return false;
	w->gate = &c->light->gate;
	w->to = s->peer;
	w->step = step;
	w->bytes = s->from.len;
	lmpi_light_wait(w);
	return true;
}

void
lmpi_coll_light_arrived(struct lmpi_coll *c, const struct coll_step *s)
{
	if (is_far(c, s->peer))
		light_client_over(lmpi_light, &c->light->gate, s->peer);
}

void
lmpi_coll_light_end(struct lmpi_coll *c)
{
	light_client_end(lmpi_light, &c->light->gate);
	c->light = NULL;
	lmpi_light_flush(); /* the program may compute now */
}

void
lmpi_coll_light_forget(const struct lmpi_comm *comm)
{
	if (lmpi_light != NULL)
		light_client_free(lmpi_light, (uint32_t)(comm->cid + 1), comm->group->world[0]);
}
