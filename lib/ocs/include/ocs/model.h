/* ocs/model.h - the cost model of collectives on circuits, in closed form.
 *
 * p nodes with k ports each; a message of n bytes takes alpha + n beta once its
 * circuit is lit; lighting and releasing circuits takes gamma, for up to k of
 * them at once.  naive: a circuit per message, on demand.  batched: the
 * pattern is known, k circuits are lit at a time, before they are needed.
 * ideal: gamma = 0.
 *
 * Units    seconds, bytes.
 * Source   [OC], table of algorithms; ring with one port needs two half-steps. */
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

#endif
