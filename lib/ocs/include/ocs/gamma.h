/* SPDX-License-Identifier: BSD-2-Clause */
/* ocs/gamma.h - the set-up time of a switch, learnt per size of batch.
 *
 * Some switches set a whole matching in the time of one circuit, some take twenty times
 * as long.  Kept apart for batches of 1, 2, 3-4, 5-8, ... circuits: a running mean (of
 * the last few), and the 99th percentile of the last OCS_GAMMA_KEEP, on which plans rest.
 * A size that has not been seen answers with the next smaller one that has, then the
 * next larger, then the guess.
 *
 * Units    ns.  Threads one owner. */
#ifndef OCS_GAMMA_H
#define OCS_GAMMA_H

#include <stdint.h>

#define OCS_GAMMA_SIZES 13 /* up to 4096 circuits */
#define OCS_GAMMA_KEEP	128

struct ocs_gamma {
	uint64_t guess_ns;
	struct {
		uint64_t mean_ns, count;
		uint64_t last_ns[OCS_GAMMA_KEEP];
	} of[OCS_GAMMA_SIZES];
};

void ocs_gamma_init(struct ocs_gamma *g, uint64_t guess_ns);
/* A circuit of a batch of that size took so long from order to light. */
void ocs_gamma_add(struct ocs_gamma *g, uint32_t batch, uint64_t took_ns);
uint64_t ocs_gamma_mean_ns(const struct ocs_gamma *g, uint32_t batch);
uint64_t ocs_gamma_p99_ns(const struct ocs_gamma *g, uint32_t batch);

#endif
