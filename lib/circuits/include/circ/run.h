/* SPDX-License-Identifier: BSD-2-Clause */
/* circ/run.h - follows a plan: what to order now, how a message goes now.
 *
 * The same for obsim's model time and for a switch: the caller orders what
 * circ_run_order() names, says when it is lit or refused, asks circ_run_way() how a message
 * goes and says when it is over.  A set-up that is refused, dark or lost is done without:
 * its messages go by packets, and whoever waits for its ports goes on.  A message goes by light as
 * soon as one link of its pair is lit.
 *
 * Threads  one owner.
 * Bounds   no allocation but the memory given. */
#ifndef CIRC_RUN_H
#define CIRC_RUN_H

#include "circ/plan.h"

enum circ_way { CIRC_WAY_WAIT, CIRC_WAY_LIGHT, CIRC_WAY_PACKET };

struct circ_run {
	const struct circ_plan *plan;
	/* private */
	uint8_t *state;	 /* [setups] */
	uint32_t *left;	 /* [setups] messages to come, or to help with */
	uint8_t *waits;	 /* [setups] what must end before it: circuits, or stays in batches */
	uint32_t *next;	 /* [(2 + CIRC_POOLS) * setups] who waits for its end, a port or a place */
	uint32_t *queue; /* [setups] may be ordered */
	uint32_t head, tail;
	/* naive, batched: the stay of a node in a batch */
	uint32_t *stay;	     /* [2 * setups] of the ends of a set-up */
	uint32_t *stay_left; /* [2 * setups] messages to come, 1 more until the stay before ends */
	uint32_t *stay_next; /* [2 * setups] the node's next */
	uint32_t *stay_first, *stay_more; /* [2 * setups] ends of set-ups that wait for its end */
	uint32_t *batch_left;		  /* [batches] messages to come */
	uint32_t batch, batch_setup; /* open for turns; its first set-up that is not looked at */
};

/* Bytes of any plan with at most so many set-ups, batches and nodes. */
size_t circ_run_bound(uint32_t setups, uint32_t batches, uint32_t nodes);
void circ_run_start(struct circ_run *r, const struct circ_plan *p, void *mem);
/* A set-up that may be ordered now, each once; CIRC_NONE: none more. */
uint32_t circ_run_order(struct circ_run *r);
/* One that the plan takes as lit is on its way yet; before any message has gone. */
void circ_run_comes(struct circ_run *r, uint32_t setup);
/* It is lit; or it was refused, is dark or went dark. */
void circ_run_lit(struct circ_run *r, uint32_t setup);
void circ_run_failed(struct circ_run *r, uint32_t setup);
enum circ_way circ_run_way(const struct circ_run *r, uint32_t message);
/* Over how many links of its pair it would be spread now; the i-th of them, or CIRC_NONE. */
uint32_t circ_run_links(const struct circ_run *r, uint32_t message);
uint32_t circ_run_link(const struct circ_run *r, uint32_t message, uint32_t i);
void circ_run_over(struct circ_run *r, uint32_t message);

#endif
