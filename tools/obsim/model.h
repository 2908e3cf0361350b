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
#ifndef OCS_MODEL_H
#define OCS_MODEL_H

#include <stdint.h>

enum ocs_algorithm { OCS_LINEAR, OCS_RING, OCS_DOUBLING, OCS_BINOMIAL };
enum ocs_mode { OCS_IDEAL, OCS_NAIVE, OCS_BATCHED };

struct ocs_model {
	uint32_t p, k;
	double alpha_s, beta_s_per_byte, gamma_s;
};

const char *ocs_algorithm_name(enum ocs_algorithm a);
/* Time of one collective; -1 if p or k is 0. */
double ocs_model_s(const struct ocs_model *m, enum ocs_algorithm a, enum ocs_mode mode, double n);
/* Circuits that are set up, counted in gammas (batches of up to k). */
uint32_t ocs_model_gammas(const struct ocs_model *m, enum ocs_algorithm a, enum ocs_mode mode);
/* Equal steps of one process, each with a circuit of its own, k ports re-aimed the moment
 * their step ends: gamma + S c + (ceil(S / k) - 1) max(0, gamma - (k - 1) c). */
double ocs_model_pipelined_s(const struct ocs_model *m, uint32_t steps, double step_s);

#endif
