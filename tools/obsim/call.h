/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/obsim/call.h - one collective call of p processes: the schedules libmpi would
 * execute, played through the planner and the model. */
#ifndef OBSIM_CALL_H
#define OBSIM_CALL_H

#include "circ/call.h"
#include "circ/predict.h"

struct obs_args {
	enum coll_op op;
	const char *algorithm; /* NULL: the library's choice */
	uint64_t bytes;	       /* as coll_args counts them */
	uint32_t p, root, degree;
	bool reversed;
	uint64_t dims, segment;
	const struct coll_rules *rules;
	/* copies and reductions as the call is played, for who has data */
	void (*local)(void *arg, uint32_t rank, const struct coll_step *step);
	void *arg;
};

struct obs_call {
	uint32_t p, rounds, messages;
	const char *algorithm;
	struct coll_schedule *schedule;
	struct coll_play *play;
	const struct coll_message *message;
	struct circ_demand *demand; /* [messages] by round; nodes, not ranks */
	struct circ_call made;
	void *mem;
};

/* n of that size, zeroed; who gets no memory ends with a word. */
void *obs_take(size_t n, size_t size);

/* 0, or an enum coll_err.  node_of: [p] or NULL. */
int obs_call_make(struct obs_call *c, const struct obs_args *a, const uint32_t *node_of);
void obs_call_free(struct obs_call *c);

struct obs_result {
	double end_s; /* -1: stuck */
	uint32_t orders, gammas, hits, packets, by_light;
};

struct obs_when {
	const double *announce_s, *start_s; /* [nodes], [p] */
	double *finish_s;		    /* [p] */
	void (*log)(void *arg, double at_s, enum circ_event h, uint32_t what);
	void *arg;
};

/* A plan of the call, by message, and a run of it at its beginning. */
struct obs_plan {
	struct circ_call_plan of;
	void *mem;
};
void obs_call_plan(const struct obs_call *c, const struct circ_call_mode *m, struct circ_slots *s,
		   struct obs_plan *out);
void obs_plan_free(struct obs_plan *p);

/* Plan and play the call; slots become what is lit behind it. */
struct obs_result obs_call_run(struct obs_call *c, const struct circ_call_mode *m,
			       struct circ_slots *s, const struct circ_costs *costs,
			       const uint32_t *node_of, const struct obs_when *w);

#endif
