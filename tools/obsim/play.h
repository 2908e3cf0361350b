/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/obsim/play.h - between the two halves of a replay: play.c, which rank does what when, and
 * replay.c, what a call or a message costs and leaves lit. */
#ifndef OBSIM_PLAY_H
#define OBSIM_PLAY_H

#include "replay.h"

struct replayer {
	const struct obs_trace *t;
	const struct obs_setting *s;
	struct circ_slots slots;
	uint32_t *ports;
	struct circ_slot *spare; /* slots as a candidate leaves them */
	struct circ_slot *best;
	double *left_s, *computed_s;	  /* [ranks] when the last collective was over; computed */
	double *announce_s;		  /* [ranks] when the call is known */
	double *begin_s, *try_s, *best_s; /* [those that make it] its begin; its end */
	struct obs_report *r;
};

/* Who makes the call: the ranks, by its own; NULL: all, as they are. */
const uint32_t *obs_callers(const struct replayer *p, const struct obs_trace_call *c);
uint32_t obs_size(const struct replayer *p, const struct obs_trace_call *c);
/* at_s: when each has come to it, and then when it is over there.  False: why, in the report. */
bool obs_collective(struct replayer *p, const struct obs_trace_call *c, double at_s[]);
/* One that begins at at_s; light: its ends have ports for it.  end_s -1: it cannot go now. */
struct obs_result obs_message(struct replayer *p, const struct obs_trace_call *c, double at_s,
			      bool light);
bool obs_has_packets(const struct replayer *p);
/* What each call takes beyond the model. */
double obs_extra_s(const struct replayer *p);

/* All ranks, from their first step to their last. */
bool obs_play(struct replayer *p);

#endif
