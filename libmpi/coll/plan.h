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
#include "small_exec.h"

#define LMPI_PLANS_MAX	    16
#define LMPI_PLAN_BYTES_MAX ((size_t)16 << 10) /* of one that is kept */

/* What libmpi knows of a step beside the executor. */
struct lmpi_step_wire {
	struct lmpi_wire wire;
	struct light_wait gate; /* gate.gate: it had to ask */
	struct lmpi_step *step;
};

/* Schedule, run and wire of c; an error code.  keep: the communicator may keep
 * and give what depends on the arguments only. */
int lmpi_plan_make(struct lmpi_coll *c, bool keep);
/* c is over. */
void lmpi_plan_release(struct lmpi_coll *c);
/* The communicator goes. */
void lmpi_plans_free(struct lmpi_plans *plans);

#endif
