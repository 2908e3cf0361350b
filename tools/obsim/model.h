/* SPDX-License-Identifier: BSD-2-Clause */
/* model.h - the cost model of collectives on circuits, in closed form.
 *
 * p nodes with k ports each; a message of n bytes takes alpha + n beta once its
 * circuit is lit; lighting and releasing circuits takes gamma, for up to k of
 * them at once.  naive: a circuit per message, on demand.  batched: the
 * pattern is known, k circuits are lit at a time, before they are needed.
 * ideal: gamma = 0.
 *
 * Units    seconds, bytes.
 * Source   [OC], table of algorithms; ring with one port needs two half-steps.  The paper
 *          has p a power of two; beyond that: a ring of odd p needs three turns a step with one
 * port, a ring of two one; doubling folds what is beyond the largest power of two (two steps more,
 * the first block and all of them). */
#ifndef OBS_MODEL_H
#define OBS_MODEL_H

#include "strategy.h"

#include <stdint.h>

enum obs_algorithm { OBS_LINEAR, OBS_RING, OBS_DOUBLING, OBS_BINOMIAL };

struct obs_model {
	uint32_t p, k;
	double alpha_s, beta_s_per_byte, gamma_s;
};

const char *obs_algorithm_name(enum obs_algorithm a);
/* Time of one collective, ideal, naive or batched; -1 if p or k is 0. */
double obs_model_s(const struct obs_model *m, enum obs_algorithm a, enum obs_strategy mode,
		   double n);
/* Circuits that are set up, counted in gammas (batches of up to k). */
uint32_t obs_model_gammas(const struct obs_model *m, enum obs_algorithm a, enum obs_strategy mode);
/* Equal steps of one process, each with a circuit of its own, k ports re-aimed the moment
 * their step ends: gamma + S c + (ceil(S / k) - 1) max(0, gamma - (k - 1) c). */
double obs_model_pipelined_s(const struct obs_model *m, uint32_t steps, double step_s);

#endif
