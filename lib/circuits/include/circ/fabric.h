/* SPDX-License-Identifier: BSD-2-Clause */
/* circ/fabric.h - a run (run.h) on a matrix (matrix.h): the set-ups of a plan become circuits of
 * ports, and what becomes of them comes back.
 *
 * A link between two nodes is two circuits, there and back, or one where one carries
 * light both ways.  What is refused, foreign, dark, lost or not lit within `patience_ns`
 * counts as failed: both circuits go and the messages take packets.  Before a link is wanted
 * whatever of ours lies on its four port ends is given up - both ends of both circuits.
 *
 * With `ends` the two relays of a link have a word in it: what is lit counts only when they have
 * found each other by it, and nothing is taken down before they have let go of it.
 *
 * The caller polls: circ_fabric_step() after everything that may have changed something. */
#ifndef CIRC_FABRIC_H
#define CIRC_FABRIC_H

#include "ocs/matrix.h"
#include "circ/run.h"

struct circ_fabric_ends {
	/* Light passes between ports x and y, both ways: 1 if it can be used, 0 not yet, -1 if it
	 * never will be. */
	int (*up)(void *user, uint32_t x, uint32_t y, uint64_t now_ns);
	/* The circuits of this port are to go: true when nobody sends through them any more. */
	bool (*down)(void *user, uint32_t port, uint64_t now_ns);
};

struct circ_fabric {
	struct ocs_matrix *m;
	struct circ_slots *slots;
	const uint32_t *port_of; /* [nodes * stride] the switch's port of a slot */
	uint64_t owner;		 /* in the matrix; nobody else's circuits are touched */
	bool both_ways;
	uint64_t patience_ns;
	const struct circ_fabric_ends *ends; /* or NULL */
	void *user;
	/* private */
	struct circ_run *run;
	uint32_t *open; /* [setups] links under way or lit */
	uint32_t opens;
	uint64_t *since_ns; /* [setups] when it was ordered */
	bool *lit;
	uint8_t *asked; /* [setups] which directions the matrix has taken */
};

size_t circ_fabric_footprint(const struct circ_plan *p);
/* A call begins; what the plan takes as lit and is on its way is waited for, what is neither fails
 * at once. */
void circ_fabric_start(struct circ_fabric *f, struct circ_run *run, uint64_t now_ns, void *mem);
/* Order what may be ordered, notice what is lit or lost.  Under limits (lit_max, groups) nothing is
 * ordered while as much of this owner's is lit, be it to go.  True: some message's way changed. */
bool circ_fabric_step(struct circ_fabric *f, uint64_t now_ns);
/* The call is over: what the slots do not keep is given up, and slots whose circuits are neither
 * lit nor on their way count as dark.  False: some of it is still in use (ends->down); to be called
 * again, unless another call begins. */
bool circ_fabric_end(struct circ_fabric *f, uint64_t now_ns);
/* The job is over: give up all of it. */
void circ_fabric_clear(struct circ_fabric *f, uint64_t now_ns);
/* Nothing of this owner is left in the matrix. */
bool circ_fabric_empty(const struct circ_fabric *f);

#endif
