/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/steps.h - running a schedule of a collective operation (coll/schedule.h), step by step.
 *
 * A step is ready when all that it depends on are done and, if it is a message, when the one before
 * it in the same direction to the same peer has been issued.  Whoever owns the run issues ready
 * steps: it posts messages to its engine, computes the rest.
 *
 *     lmpi_steps_start() --> ops->issue(i) --+--> lmpi_step_done(i)             computed, or gone
 *                                            +--> lmpi_step_posted(i) .. lmpi_step_arrived(i)
 *                                            +--> nothing yet: it has to wait for something else;
 *                                                 then one of the two, and lmpi_steps_drain()
 *     ops->over()    once, when all are done; or, after an error that breaks the operation, when
 *		      the engine has none of its messages any more.  It may free the run.
 *
 * Few	    steps of a call that blocks need no lists: struct lmpi_few.  The messages are the same,
 *	    so each process may take either way.
 * Death    LMPI_ERR_PROC_FAILED and LMPI_ERR_REVOKED break it: others may never do their steps.  No
 *	    step starts any more, and ops->take_back() is called for each message that is posted.
 * Depth    messages that are done at once only add to the stack of ready steps.
 *
 * Memory   the caller's: lmpi_steps_link() says how much.
 * Threads  one at a time for one run.
 * Errors   the first one that is noted is the result. */
#ifndef MPI_STEPS_H
#define MPI_STEPS_H

#include "coll/schedule.h"
#include "mpi/request.h"

struct lmpi_steps;

struct lmpi_step {
	struct lmpi_req e; /* first: its message */
	struct lmpi_steps *run;
	uint32_t index;
	bool posted;	    /* the engine has its message */
	uint32_t waits;	    /* for this many steps, and for its predecessor's issue */
	uint32_t waits_all; /* the value at the start */
	uint32_t dependents_first, dependents_n;
	uint32_t next_same; /* next step in this direction to this peer */
	/* The same as sets, of the first LMPI_STEPS_SET: steps that must be done, issued. */
	uint32_t needs, after;
};
#define LMPI_NO_STEP   UINT32_MAX
#define LMPI_STEPS_SET 32 /* bits of a word */

struct lmpi_steps_ops {
	void (*issue)(struct lmpi_steps *s, uint32_t i);
	void (*take_back)(struct lmpi_steps *s, uint32_t i);
	void (*over)(struct lmpi_steps *s);
};

/* All but the first part is the run's own. */
struct lmpi_steps {
	const struct lmpi_steps_ops *ops;
	const struct coll_schedule *schedule;
	struct lmpi_step *step; /* [steps] */
	uint32_t *dependents;	/* [deps] who waits for step i: CSR */
	uint32_t *ready;	/* [steps] stack of steps that can start */

	uint32_t ready_n, left;
	bool draining;
	bool broken;
	uint32_t under_way; /* messages that the engine has */
	int error;
};

/* An error after which the steps that are left make no sense. */
static inline bool
lmpi_steps_break(int error)
{
	return error == LMPI_ERR_PROC_FAILED || error == LMPI_ERR_REVOKED;
}

/* Who waits for whom, turned round: fills in step and dependents of a schedule.
 * last: [2 * schedule->size], scratch. */
void lmpi_steps_link(const struct coll_schedule *schedule, struct lmpi_step *step,
		     uint32_t *dependents, uint32_t *last);
/* Any number of times, one after another.  error: LMPI_OK, or what is known before. */
void lmpi_steps_start(struct lmpi_steps *s, int error);
/* Start whatever can start; lmpi_steps_start() and lmpi_step_arrived() do. */
void lmpi_steps_drain(struct lmpi_steps *s);
/* An error from elsewhere, while it runs. */
void lmpi_steps_fail(struct lmpi_steps *s, int error);

/* ---- what has become of an issued step */
/* Its message is the engine's. */
static inline void
lmpi_step_posted(struct lmpi_steps *s, uint32_t i)
{
	s->step[i].posted = true;
	s->under_way++;
}
/* The next one in its direction may be issued. */
void lmpi_step_issued(struct lmpi_steps *s, uint32_t i);
/* Without a message of the engine's. */
void lmpi_step_done(struct lmpi_steps *s, uint32_t i);
/* Its message is done: first of all; and when its owner has done with what came. */
static inline void
lmpi_step_returned(struct lmpi_steps *s, uint32_t i)
{
	s->step[i].posted = false;
	s->under_way--;
}
void lmpi_step_arrived(struct lmpi_steps *s, uint32_t i);
static inline void
lmpi_steps_error(struct lmpi_steps *s, int error)
{
	if (error && !s->error)
		s->error = error;
}

/* ---- few steps, whose owner stays until the end: sets in words, no lists or counts */

struct lmpi_few {
	struct lmpi_steps *s; /* of at most LMPI_STEPS_SET steps, linked */
	uint32_t left, under_way, done;
};

static inline void
lmpi_few_start(struct lmpi_few *f, struct lmpi_steps *s)
{
	uint32_t n = s->schedule->steps;

	s->error = LMPI_OK;
	s->broken = false;
	*f = (struct lmpi_few){s, n ? UINT32_MAX >> (LMPI_STEPS_SET - n) : 0, 0, 0};
}

/* A message is done, so there is something to run. */
static inline bool
lmpi_few_news(const struct lmpi_few *f)
{
	for (uint32_t set = f->under_way; set != 0; set &= set - 1)
		if (f->s->step[__builtin_ctz(set)].e.done)
			return true;
	return false;
}

static inline void
lmpi_few_collect(struct lmpi_few *f)
{
	for (uint32_t set = f->under_way; set != 0; set &= set - 1) {
		const struct lmpi_req *e = &f->s->step[__builtin_ctz(set)].e;

		if (!e->done)
			continue;
		lmpi_steps_error(f->s, e->error);
		f->under_way &= ~(set & -set);
		f->done |= set & -set;
	}
}

/* Steps that may begin: all that are not receives, or the first that is one; true if there was
 * such a receive.  Steps wait for earlier ones only. */
static inline bool
lmpi_few_issue(struct lmpi_few *f, bool receives, bool (*issue)(struct lmpi_steps *s, uint32_t i))
{
	for (uint32_t set = f->left; set != 0; set &= set - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(set);
		const struct lmpi_step *st = &f->s->step[i];

		if ((st->needs & ~f->done) || (st->after & f->left) ||
		    (f->s->schedule->step[i].kind == COLL_STEP_RECV) != receives)
			continue;
		f->left &= ~(1u << i);
		*(issue(f->s, i) ? &f->done : &f->under_way) |= 1u << i;
		if (receives)
			return true;
	}
	return false;
}

/* No step starts any more; messages are taken back. */
void lmpi_few_break(struct lmpi_few *f);

/* As far as it goes; true: it is over.  issue() says whether the step is done at once; if not, the
 * engine has its message, which has no on_done. */
static inline bool
lmpi_few_run(struct lmpi_few *f, bool (*issue)(struct lmpi_steps *s, uint32_t i))
{
	lmpi_few_collect(f);
	if (__builtin_expect(lmpi_steps_break(f->s->error), 0) && !f->s->broken)
		lmpi_few_break(f);
	/* A receive may wait a little, so what others wait for goes first. */
	do
		lmpi_few_issue(f, false, issue);
	while (lmpi_few_issue(f, true, issue));
	return f->under_way == 0;
}

#endif
