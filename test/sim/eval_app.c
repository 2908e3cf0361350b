#include "eval.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

static void
build(struct eval_app *a, uint32_t me, const char *algorithm, bool vector,
      const uint32_t *cluster_of)
{
	struct eval_app_rank *r = &a->rank[me];
	uint64_t in[EVAL_RANKS], in_at[EVAL_RANKS], out[EVAL_RANKS], out_at[EVAL_RANKS];
	uint64_t in_sum = 0, out_sum = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		in[i] = a->bytes[i][me];
		out[i] = a->bytes[me][i];
		in_at[i] = in_sum;
		out_at[i] = out_sum;
		in_sum += in[i];
		out_sum += out[i];
	}
	/* As libmpi asks: unequal blocks are judged by the whole vector's share. */
	struct coll_args args = {.op = COLL_ALLTOALL,
				 .rank = me,
				 .size = a->n,
				 .bytes = vector ? out_sum / a->n : a->bytes[0][1],
				 .elem = 1,
				 .vector = vector,
				 .bytes_of = in,
				 .displ = in_at,
				 .send_bytes = out,
				 .send_displ = out_at,
				 .cluster_of = cluster_of};
	size_t len = coll_arena_hint(&args);
	r->arena = malloc(len);
	BASE_ASSERT(r->arena);
	int err = coll_build(&r->s, &args, algorithm, r->arena, len);
	BASE_ASSERT(!err);
	r->started = calloc(r->s.steps, sizeof *r->started);
	r->complete = calloc(r->s.steps, sizeof *r->complete);
	r->want = calloc(r->s.steps, sizeof *r->want);
	BASE_ASSERT(r->started && r->complete && r->want);
}

void
eval_app_new(struct eval_app *a, const char *algorithm, bool vector, const uint32_t *cluster_of)
{
	for (uint32_t i = 0; i < a->n; i++)
		build(a, i, algorithm, vector, cluster_of);
}

void
eval_app_free(struct eval_app *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		free(a->rank[i].arena);
		free(a->rank[i].started);
		free(a->rank[i].complete);
		free(a->rank[i].want);
	}
}

static bool
may_start(const struct eval_app_rank *r, const struct coll_step *st)
{
	for (uint32_t i = 0; i < st->dep_count; i++)
		if (!r->complete[r->s.dep[st->dep_first + i]])
			return false;
	return true;
}

static bool
is_complete(const struct eval_app *a, uint32_t me, uint32_t i)
{
	const struct eval_app_rank *r = &a->rank[me];
	const struct coll_step *st = &r->s.step[i];
	switch (st->kind) {
	case COLL_STEP_SEND:
		return st->from.len < a->lent_min || a->done[me][st->peer] >= r->want[i];
	case COLL_STEP_RECV:
		return a->placed[st->peer][me] >= r->want[i];
	case COLL_STEP_COPY:
	case COLL_STEP_REDUCE:
		return true;
	}
	return false;
}

static bool
step_on(struct eval_app *a, uint32_t me, uint32_t i)
{
	struct eval_app_rank *r = &a->rank[me];
	const struct coll_step *st = &r->s.step[i];
	if (!r->started[i]) {
		if (!may_start(r, st))
			return false;
		r->started[i] = true;
		if (st->kind == COLL_STEP_RECV)
			r->want[i] = ++r->expected[st->peer];
		if (st->kind == COLL_STEP_SEND) {
			r->want[i] = ++r->sent[st->peer];
			a->send(a->user, me, st->peer);
		}
	}
	if (r->complete[i] || !is_complete(a, me, i))
		return false;
	r->complete[i] = true;
	r->left--;
	return true;
}

void
eval_app_begin(struct eval_app *a, uint32_t me)
{
	struct eval_app_rank *r = &a->rank[me];
	memset(r->started, 0, r->s.steps * sizeof *r->started);
	memset(r->complete, 0, r->s.steps * sizeof *r->complete);
	r->left = r->s.steps;
	r->running = true;
	eval_app_progress(a, me);
}

void
eval_app_progress(struct eval_app *a, uint32_t me)
{
	struct eval_app_rank *r = &a->rank[me];
	bool any = true;
	while (any && r->running && r->left) {
		any = false;
		for (uint32_t i = 0; i < r->s.steps; i++)
			any |= step_on(a, me, i);
	}
	if (!r->running || r->left)
		return;
	uint32_t it = r->iteration++;
	r->running = false;
	a->ended(a->user, me, it, ++a->ended_by[it] == a->n);
}
