/* SPDX-License-Identifier: BSD-2-Clause */
#include "eval.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

void
eval_phase_collective(struct eval_phase *f, const struct coll_args *args, const char *algorithm)
{
	size_t len = coll_arena_hint(args);

	f->arena = malloc(len);
	BASE_ASSERT(f->arena);
	int err = coll_build(&f->s, args, algorithm, f->arena, len);
	BASE_ASSERT(!err);
}

static void
build_alltoall(struct eval_app *a, uint32_t me, const char *algorithm, bool vector,
	       uint64_t bytes[EVAL_RANKS][EVAL_RANKS], const uint32_t *cluster_of)
{
	struct eval_app_rank *r = &a->rank[me];
	uint64_t in[EVAL_RANKS], in_at[EVAL_RANKS], out[EVAL_RANKS], out_at[EVAL_RANKS];
	uint64_t in_sum = 0, out_sum = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		in[i] = bytes[i][me];
		out[i] = bytes[me][i];
		in_at[i] = in_sum;
		out_at[i] = out_sum;
		in_sum += in[i];
		out_sum += out[i];
	}
	/* As libmpi asks: unequal blocks are judged by the whole vector's share. */
	struct coll_args args = {.op = COLL_ALLTOALL,
				 .rank = me,
				 .size = a->n,
				 .bytes = vector ? out_sum / a->n : bytes[0][1],
				 .elem = 1,
				 .vector = vector,
				 .bytes_of = in,
				 .displ = in_at,
				 .send_bytes = out,
				 .send_displ = out_at,
				 .cluster_of = cluster_of};
	r->phase = calloc(1, sizeof *r->phase);
	BASE_ASSERT(r->phase);
	r->phases = 1;
	eval_phase_collective(r->phase, &args, algorithm);
}

void
eval_app_alltoall(struct eval_app *a, const char *algorithm, bool vector,
		  uint64_t bytes[EVAL_RANKS][EVAL_RANKS], const uint32_t *cluster_of)
{
	for (uint32_t i = 0; i < a->n; i++)
		build_alltoall(a, i, algorithm, vector, bytes, cluster_of);
	eval_app_ready(a);
}

static void
add_message(struct eval_pair *p, uint64_t bytes)
{
	if (!(p->n & (p->n - 1))) { /* full, or empty */
		p->bytes = realloc(p->bytes, (p->n ? 2 * p->n : 1) * sizeof *p->bytes);
		BASE_ASSERT(p->bytes);
	}
	p->bytes[p->n++] = bytes;
}

void
eval_app_ready(struct eval_app *a)
{
	for (uint32_t me = 0; me < a->n; me++) {
		struct eval_app_rank *r = &a->rank[me];
		uint32_t most = 1;
		for (uint32_t f = 0; f < r->phases; f++) {
			const struct coll_schedule *s = &r->phase[f].s;
			most = s->steps > most ? s->steps : most;
			for (uint32_t i = 0; i < s->steps; i++)
				if (s->step[i].kind == COLL_STEP_SEND)
					add_message(&a->pair[me][s->step[i].peer],
						    s->step[i].from.len);
		}
		r->started = calloc(most, sizeof *r->started);
		r->complete = calloc(most, sizeof *r->complete);
		r->lent = calloc(most, sizeof *r->lent);
		r->want = calloc(most, sizeof *r->want);
		BASE_ASSERT(r->started && r->complete && r->lent && r->want);
	}
}

void
eval_app_free(struct eval_app *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		for (uint32_t f = 0; f < a->rank[i].phases; f++)
			free(a->rank[i].phase[f].arena);
		free(a->rank[i].phase);
		free(a->rank[i].started);
		free(a->rank[i].complete);
		free(a->rank[i].lent);
		free(a->rank[i].want);
		for (uint32_t k = 0; k < a->n; k++)
			free(a->pair[i][k].bytes);
	}
}

static const struct coll_schedule *
schedule_of(const struct eval_app_rank *r)
{
	return &r->phase[r->at].s;
}

static bool
may_start(const struct eval_app_rank *r, const struct coll_step *st)
{
	for (uint32_t i = 0; i < st->dep_count; i++)
		if (!r->complete[schedule_of(r)->dep[st->dep_first + i]])
			return false;
	return true;
}

static bool
is_complete(const struct eval_app *a, uint32_t me, uint32_t i)
{
	const struct eval_app_rank *r = &a->rank[me];
	const struct coll_step *st = &schedule_of(r)->step[i];
	switch (st->kind) {
	case COLL_STEP_SEND:
		return !r->lent[i] || a->done[me][st->peer] >= r->want[i];
	case COLL_STEP_RECV:
		return a->placed[st->peer][me] >= r->want[i];
	case COLL_STEP_COPY:
	case COLL_STEP_REDUCE:
		return true;
	}
	return false;
}

static void
start_send(struct eval_app *a, uint32_t me, uint32_t i)
{
	struct eval_app_rank *r = &a->rank[me];
	const struct coll_step *st = &schedule_of(r)->step[i];
	uint64_t *pending = &a->pending[me][st->peer];

	r->want[i] = ++r->sent[st->peer];
	*pending += st->from.len;
	r->lent[i] = st->from.len > a->eager(a->user, me, st->peer) || *pending > a->copies_max;
	a->send(a->user, me, st->peer, st->from.len);
}

void
eval_app_acked(struct eval_app *a, uint32_t src, uint32_t dst)
{
	const struct eval_pair *p = &a->pair[src][dst];

	a->pending[src][dst] -= p->bytes[a->done[src][dst]++ % p->n];
	eval_app_progress(a, src);
}

static bool
step_on(struct eval_app *a, uint32_t me, uint32_t i)
{
	struct eval_app_rank *r = &a->rank[me];
	const struct coll_step *st = &schedule_of(r)->step[i];
	if (!r->started[i]) {
		if (!may_start(r, st))
			return false;
		r->started[i] = true;
		if (st->kind == COLL_STEP_RECV)
			r->want[i] = ++r->expected[st->peer];
		if (st->kind == COLL_STEP_SEND)
			start_send(a, me, i);
	}
	if (r->complete[i] || !is_complete(a, me, i))
		return false;
	r->complete[i] = true;
	r->left--;
	return true;
}

static void
begin_schedule(struct eval_app_rank *r)
{
	uint32_t steps = schedule_of(r)->steps;

	memset(r->started, 0, steps * sizeof *r->started);
	memset(r->complete, 0, steps * sizeof *r->complete);
	r->left = steps;
	r->running = true;
}

/* Computes, or runs the schedule at once. */
static void
begin_phase(struct eval_app *a, uint32_t me)
{
	struct eval_app_rank *r = &a->rank[me];

	r->running = false;
	if (r->phase[r->at].compute_ns)
		a->compute(a->user, me, r->phase[r->at].compute_ns);
	else
		begin_schedule(r);
}

void
eval_app_begin(struct eval_app *a, uint32_t me)
{
	a->rank[me].at = 0;
	begin_phase(a, me);
	eval_app_progress(a, me);
}

void
eval_app_computed(struct eval_app *a, uint32_t me)
{
	begin_schedule(&a->rank[me]);
	eval_app_progress(a, me);
}

static bool
run_schedule(struct eval_app *a, uint32_t me)
{
	struct eval_app_rank *r = &a->rank[me];
	bool any = true;

	while (any && r->left) {
		any = false;
		for (uint32_t i = 0; i < schedule_of(r)->steps; i++)
			any |= step_on(a, me, i);
	}
	return !r->left;
}

void
eval_app_progress(struct eval_app *a, uint32_t me)
{
	struct eval_app_rank *r = &a->rank[me];

	while (r->running && run_schedule(a, me)) {
		if (++r->at < r->phases) {
			begin_phase(a, me);
			continue;
		}
		uint32_t it = r->iteration++;
		r->running = false;
		a->ended(a->user, me, it, ++a->ended_by[it] == a->n);
		return;
	}
}
