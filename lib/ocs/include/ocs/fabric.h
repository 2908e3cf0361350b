/* ocs/fabric.h - a run (run.h) on a matrix (matrix.h): the set-ups of a plan become circuits of
 * ports, and what becomes of them comes back.
 *
 * A link between two nodes is two circuits, there and back, or one where one carries
 * light both ways.  What is refused, foreign, dark, lost or not lit within `patience_ns`
 * counts as failed: both circuits go and the messages take packets.  Before a link is wanted
 * whatever of ours lies on its four port ends is given up - both ends of both circuits.
 *
 * The caller polls: ocs_fabric_step() after everything that may have changed something. */
#ifndef OCS_FABRIC_H
#define OCS_FABRIC_H

#include "ocs/matrix.h"
#include "ocs/run.h"

struct ocs_fabric {
	struct ocs_matrix *m;
	struct ocs_slots *slots;
	const uint32_t *port_of; /* [nodes * stride] the switch's port of a slot */
	uint64_t owner;		 /* in the matrix; nobody else's circuits are touched */
	bool both_ways;
	uint64_t patience_ns;
	/* private */
	struct ocs_run *run;
	uint32_t *open; /* [setups] links under way or lit */
	uint32_t opens;
	uint64_t *since_ns; /* [setups] when it was ordered */
	bool *lit;
	uint8_t *asked; /* [setups] which directions the matrix has taken */
};

size_t ocs_fabric_footprint(const struct ocs_plan *p);
/* A call begins; of what the plan takes as lit, what is not fails at once. */
void ocs_fabric_start(struct ocs_fabric *f, struct ocs_run *run, uint64_t now_ns, void *mem);
/* Order what may be ordered, notice what is lit or lost.  True: some message's way changed. */
bool ocs_fabric_step(struct ocs_fabric *f, uint64_t now_ns);
/* The call is over: what the slots do not keep is given up, and slots whose circuits are not lit
 * count as dark. */
void ocs_fabric_end(struct ocs_fabric *f, uint64_t now_ns);
/* The job is over: give up all of it. */
void ocs_fabric_clear(struct ocs_fabric *f, uint64_t now_ns);
/* Nothing of this owner is left in the matrix. */
bool ocs_fabric_empty(const struct ocs_fabric *f);

#endif
