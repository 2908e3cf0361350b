/* SPDX-License-Identifier: BSD-2-Clause */
/* circ/predict.h - how long a collective call takes by a plan: the alpha-beta-gamma model
 * played event by event, not by formula.
 *
 * A message starts when both its ends have come to it, the sender sends and the receiver
 * receives nothing else, and its circuit is lit (or it goes by packets); it takes
 * alpha + n beta, over w links that are lit between its nodes as it starts alpha + n beta / w.  A
 * circuit takes gamma from its order, and can be ordered when both
 * its nodes know of the call.  Everything else takes no time.
 *
 * Units    seconds, bytes.
 * Threads  one owner.  No allocation but the memory given.
 * Source   [OC], whose model it is: its closed formulas (tools/obsim/model.h) come out. */
#ifndef CIRC_PREDICT_H
#define CIRC_PREDICT_H

#include "coll/play.h"
#include "circ/run.h"

struct circ_costs {
	double alpha_s, beta_s_per_byte; /* by light */
	double gamma_s;
	double packet_alpha_s, packet_beta_s_per_byte;
	double local_alpha_s, local_beta_s_per_byte; /* between processes of one node */
};

/* Bytes from which on light beats packets if a circuit has to be set up for the message;
 * UINT64_MAX: never.  For circ_plan_wish.light_from, from measured costs. */
uint64_t circ_switch_point(const struct circ_costs *c);

enum circ_event { CIRC_EVENT_ORDERED, CIRC_EVENT_LIT, CIRC_EVENT_STARTED, CIRC_EVENT_ENDED };

struct circ_prediction {
	struct coll_play *play; /* at its beginning; played to its end */
	struct circ_run *run;	/* started */
	const struct circ_costs *costs;
	uint32_t ranks;
	const uint32_t *node_of;  /* [ranks], or NULL: itself */
	const double *announce_s; /* [nodes] when a node may order */
	const double *start_s;	  /* [ranks] when a rank enters the call */
	double *finish_s;	  /* [ranks] out */
	/* The event log, or NULL: set-up or message `what`. */
	void (*log)(void *arg, double at_s, enum circ_event h, uint32_t what);
	void *arg;
	uint32_t orders; /* out: circuits ordered */
	uint32_t gammas; /* out: moments at which some were */
};

size_t circ_predict_footprint(uint32_t ranks, uint32_t messages, uint32_t setups);
/* When the last rank is through; -1: stuck. */
double circ_predict_s(struct circ_prediction *p, void *mem);

#endif
