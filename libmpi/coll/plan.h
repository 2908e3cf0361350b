/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/coll/plan.h - schedules made ready to run, and those a communicator keeps.
 *
 * Building a schedule costs more than a short collective call itself, and programs make the
 * same calls again and again: a communicator keeps the last LMPI_PLANS_MAX of them.  What is kept
 * depends on nothing but the arguments of the schedule, so buffers and counts of a call may be any
 * that give the same ones; tables of counts (the v forms) are not looked at and not kept.
 *
 * Threads  the lock is held.  A kept plan runs one call at a time; others build their own. */
#ifndef LMPI_PLAN_H
#define LMPI_PLAN_H

#include "coll.h"
#include "engine.h"
#include "impi.h"
#include "light.h"
#include "quick.h"

#define LMPI_PLANS_MAX	    16
#define LMPI_PLAN_BYTES_MAX ((size_t)16 << 10) /* of one that is kept */

struct lmpi_step_state {
	struct lmpi_req e; /* first */
	struct lmpi_coll *coll;
	struct lmpi_wire wire;
	struct light_wait gate; /* gate.gate: it had to ask */
	uint32_t index;
	bool posted;	    /* the engine has its message */
	uint32_t waits;	    /* for this many steps, and for its predecessor's issue */
	uint32_t waits_all; /* the value at the start */
	uint32_t dependents_first, dependents_n;
	uint32_t next_same; /* next step in this direction to this peer */
	/* The same as sets, of the first LMPI_QUICK_STEPS: steps that must be complete, issued. */
	uint32_t needs, after;
};
#define LMPI_NO_STEP UINT32_MAX

/* Schedule, state, dependents and ready of c; an error code.  keep: the communicator may keep
 * and give what depends on the arguments only. */
int lmpi_plan_make(struct lmpi_coll *c, bool keep);
/* c is over. */
void lmpi_plan_release(struct lmpi_coll *c);
/* The communicator goes. */
void lmpi_plans_free(struct lmpi_plans *plans);

#endif
