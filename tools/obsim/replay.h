/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/obsim/replay.h - a trace on circuits: call after call through schedules, planner and
 * model, with what stays lit between them. */
#ifndef OBSIM_REPLAY_H
#define OBSIM_REPLAY_H

#include "call.h"
#include "strategy.h"
#include "trace.h"

struct obs_setting {
	enum obs_strategy strategy;
	uint32_t k;
	const uint32_t *ports; /* [ranks], or NULL: k each */
	uint32_t lit_max;      /* circuits lit at once in all; 0: as many as there are ports */
	/* Links of two nodes at once, in collective calls; 0: one.  ideal and batched have as many
	 * as ports allow, what plans by time as many as are best, naive and messages one. */
	uint32_t links;
	struct circ_costs costs;
	bool paper;	/* one gamma more a call: [OC] Table 4 counts it */
	bool foresight; /* the next call is known when one ends: circuits move while all compute */
	bool blocking;	/* non-blocking collectives are waited for where they begin */
	uint64_t eager; /* sends of at most so many bytes do not wait for the receiver */
	const struct coll_rules *rules;
};

struct obs_call_line {
	enum coll_op op;
	char algorithm[32];
	bool reversed, start; /* start: non-blocking */
	bool message;	      /* from, to; not op and algorithm */
	uint32_t from, to;
	uint64_t bytes;
	double start_s, took_s; /* first in to last out, less what the last in waited for */
	struct obs_result r;
};

struct obs_report {
	double total_s, compute_s; /* compute_s: of the rank that computes most */
	uint64_t calls, messages, orders, hits, by_light, packets;
	uint64_t events;	    /* that the replay took: its own work */
	struct obs_call_line *line; /* [calls + messages] */
	char why[160];
};

/* Collective calls take turns, as the controller does one call of a job at a time: one that begins
 * while another is under way begins, at each rank, when that is over there.  A message begins when
 * both its ends have come to it, an eager one when the sender has; a rank sends one at a time and
 * receives one at a time, beside each other, and none within a collective call of its.  False: why.
 */
bool obs_replay(const struct obs_trace *t, const struct obs_setting *s, struct obs_report *r);
void obs_report_free(struct obs_report *r);

#endif
