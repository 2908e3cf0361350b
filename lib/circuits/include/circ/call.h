/* SPDX-License-Identifier: BSD-2-Clause */
/* circ/call.h - one collective call of p processes, from the schedules that libmpi executes to a
 * plan and a run of it.
 *
 *     circ_call_make(&c, &spec, &space) ; circ_call_plan(&c, &mode, &slots, &plan, &space)
 *     ... plan.run, by the message numbers of c.message
 *
 * Memory   a piece of the caller's (base/carve.h), of which as much is taken as it needs; the
 *          caller gives it back as a whole.
 * Threads  one owner. */
#ifndef CIRC_CALL_H
#define CIRC_CALL_H

#include "base/carve.h"
#include "coll/play.h"
#include "circ/run.h"

struct circ_call_spec {
	struct coll_args args;	 /* rank does not matter */
	const char *algorithm;	 /* NULL: coll_select() */
	const uint32_t *node_of; /* [args.size], or NULL: a node of its own each */
	/* as coll_play_new() */
	void (*local)(void *arg, uint32_t rank, const struct coll_step *step);
	void *arg;
};

struct circ_call {
	uint32_t p, rounds, messages;
	const char *algorithm;
	struct coll_schedule *schedule; /* [p] */
	struct coll_play *play;
	const struct coll_message *message;
	struct circ_demand *demand; /* [messages] by round; nodes, not ranks */
	uint32_t *at;		    /* [messages] place of a message in demand */
};

/* 0, COLL_ERR_NOMEM: the space is too small, or what coll_build() says; INVAL also if the
 * schedules do not fit each other. */
int circ_call_make(struct circ_call *c, const struct circ_call_spec *spec, struct base_space *s);

struct circ_call_mode {
	enum circ_mode mode;
	uint64_t light_from;
	const struct circ_demand *ahead; /* what comes behind the call, rounds from 0 */
	uint32_t aheads;
	uint32_t links; /* circ_slots.links becomes that */
};

/* A plan by message, and a run of it at its beginning. */
struct circ_call_plan {
	struct circ_plan plan;
	struct circ_run run;
};

/* slots become what is lit behind the call.  False, and slots as they were: no space. */
bool circ_call_plan(const struct circ_call *c, const struct circ_call_mode *m,
		    struct circ_slots *slots, struct circ_call_plan *out, struct base_space *s);

#endif
