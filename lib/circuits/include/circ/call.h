/* circ/call.h - one collective call of p processes, from the schedules that libmpi executes to a
 * plan and a run of it.
 *
 *     ocs_call_make(&c, &spec, &space) ; ocs_call_plan(&c, &mode, &slots, &plan, &space)
 *     ... plan.run, by the message numbers of c.message
 *
 * Memory   a piece of the caller's (base/carve.h), of which as much is taken as it needs; the
 *          caller gives it back as a whole.
 * Threads  one owner. */
#ifndef OCS_CALL_H
#define OCS_CALL_H

#include "base/carve.h"
#include "coll/play.h"
#include "circ/run.h"

struct ocs_call_spec {
	struct coll_args args;	 /* rank does not matter */
	const char *algorithm;	 /* NULL: coll_select() */
	const uint32_t *node_of; /* [args.size], or NULL: a node of its own each */
	/* as coll_play_new() */
	void (*local)(void *arg, uint32_t rank, const struct coll_step *step);
	void *arg;
};

struct ocs_call {
	uint32_t p, rounds, messages;
	const char *algorithm;
	struct coll_schedule *schedule; /* [p] */
	struct coll_play *play;
	const struct coll_message *message;
	struct ocs_demand *demand; /* [messages] by round; nodes, not ranks */
	uint32_t *at;		   /* [messages] place of a message in demand */
};

/* 0, COLL_ERR_NOMEM: the space is too small, or what coll_build() says; INVAL also if the
 * schedules do not fit each other. */
int ocs_call_make(struct ocs_call *c, const struct ocs_call_spec *spec, struct base_space *s);

struct ocs_call_mode {
	enum ocs_plan_mode mode;
	uint64_t light_from;
	const struct ocs_demand *ahead; /* what comes behind the call, rounds from 0 */
	uint32_t aheads;
};

/* A plan by message, and a run of it at its beginning. */
struct ocs_call_plan {
	struct ocs_plan plan;
	struct ocs_run run;
};

/* slots become what is lit behind the call.  False, and slots as they were: no space. */
bool ocs_call_plan(const struct ocs_call *c, const struct ocs_call_mode *m, struct ocs_slots *slots,
		   struct ocs_call_plan *out, struct base_space *s);

#endif
