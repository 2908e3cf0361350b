/* SPDX-License-Identifier: BSD-2-Clause */
/* The executor of schedules: which steps can start. */
#include "mpi/steps.h"

#include "canary.h"

#include <string.h>

/* ---- linking */

static uint32_t
bit_of_step(uint32_t step)
{
	return step < LMPI_STEPS_SET ? 1u << step : 0;
}

/* So many of its dependencies are waited for. */
static uint32_t
count_needs(const struct coll_step *step)
{
	return step->dep_count - (LMPI_BUG(STEPS_EARLY) && step->dep_count > 0);
}

static void
link_step(const struct coll_schedule *s, struct lmpi_step *step, uint32_t *last, uint32_t i)
{
	const struct coll_step *now = &s->step[i];

	step[i].index = i;
	step[i].next_same = LMPI_NO_STEP;
	step[i].waits_all = count_needs(now);
	for (uint32_t d = 0; d < count_needs(now); d++) {
		step[s->dep[now->dep_first + d]].dependents_n++;
		step[i].needs |= bit_of_step(s->dep[now->dep_first + d]);
	}
	if (now->kind != COLL_STEP_SEND && now->kind != COLL_STEP_RECV)
		return;
	uint32_t *l = &last[2 * now->peer + (now->kind == COLL_STEP_RECV)];
	if (*l != LMPI_NO_STEP && !LMPI_BUG(STEPS_MIXED)) {
		step[*l].next_same = i;
		step[i].waits_all++;
		step[i].after = bit_of_step(*l);
	}
	*l = i;
}

void
lmpi_steps_link(const struct coll_schedule *s, struct lmpi_step *step, uint32_t *dependents,
		uint32_t *last)
{
	uint32_t at = 0;

	memset(step, 0, s->steps * sizeof(*step));
	memset(last, 0xff, 2 * (size_t)s->size * sizeof(*last));
	for (uint32_t i = 0; i < s->steps; i++)
		link_step(s, step, last, i);
	for (uint32_t i = 0; i < s->steps; i++) {
		step[i].dependents_first = at;
		at += step[i].dependents_n;
		step[i].dependents_n = 0;
	}
	for (uint32_t i = 0; i < s->steps; i++)
		for (uint32_t d = 0; d < count_needs(&s->step[i]); d++) {
			struct lmpi_step *on = &step[s->dep[s->step[i].dep_first + d]];

			dependents[on->dependents_first + on->dependents_n++] = i;
		}
}

/* ---- running */

static void
make_step_ready(struct lmpi_steps *s, uint32_t i)
{
	if (--s->step[i].waits == 0)
		s->ready[s->ready_n++] = i;
}

void
lmpi_step_issued(struct lmpi_steps *s, uint32_t i)
{
	if (s->step[i].next_same != LMPI_NO_STEP)
		make_step_ready(s, s->step[i].next_same);
}

void
lmpi_step_done(struct lmpi_steps *s, uint32_t i)
{
	const struct lmpi_step *st = &s->step[i];

	for (uint32_t k = 0; k < st->dependents_n; k++)
		make_step_ready(s, s->dependents[st->dependents_first + k]);
	s->left--;
}

void
lmpi_step_arrived(struct lmpi_steps *s, uint32_t i)
{
	lmpi_step_done(s, i);
	if (!s->draining)
		lmpi_steps_drain(s);
}

/* What the engine has is taken back, or ends when its peer answers. */
static void
break_steps(struct lmpi_steps *s)
{
	s->broken = true;
	for (uint32_t i = 0; i < s->schedule->steps && !LMPI_BUG(STEPS_STAY); i++)
		if (s->step[i].posted)
			s->ops->take_back(s, i);
}

void
lmpi_few_break(struct lmpi_few *f)
{
	f->s->broken = true;
	f->left = 0;
	for (uint32_t set = f->under_way; set != 0 && !LMPI_BUG(STEPS_STAY); set &= set - 1)
		f->s->ops->take_back(f->s, (uint32_t)__builtin_ctz(set));
}

void
lmpi_steps_drain(struct lmpi_steps *s)
{
	s->draining = true;
	while (s->ready_n > 0 && !s->broken)
		s->ops->issue(s, s->ready[--s->ready_n]);
	if (lmpi_steps_break(s->error) && !s->broken)
		break_steps(s);
	s->draining = false;
	if (s->broken ? s->under_way == 0 : s->left == 0)
		s->ops->over(s);
}

void
lmpi_steps_fail(struct lmpi_steps *s, int error)
{
	lmpi_steps_error(s, error);
	if (!s->draining)
		lmpi_steps_drain(s);
}

void
lmpi_steps_start(struct lmpi_steps *s, int error)
{
	uint32_t steps = s->schedule->steps;

	s->error = error;
	s->broken = false;
	s->under_way = 0;
	s->left = steps;
	s->ready_n = 0;
	for (uint32_t i = 0; i < steps; i++)
		s->step[i].waits = s->step[i].waits_all;
	/* a stack: the first steps on top */
	for (uint32_t i = steps; i-- > 0;)
		if (s->step[i].waits == 0)
			s->ready[s->ready_n++] = i;
	lmpi_steps_drain(s);
}
