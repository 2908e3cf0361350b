/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/faults.h - swarm testing: each seed enables a few kinds of fault and draws how hard
 * each of them hits - not at all, rarely, often, beyond reason.  At heal_ns all of it
 * ends, and the net is as it was built.
 *
 *     loss       by direction          rate      a link gets slower for a while
 *     burst      loss in bursts        bloat     slow links with queues of seconds
 *     reorder    late datagrams        mtu       a link passes only short ones for a while
 *     dup        twice                 delay     the way gets longer, or shorter again
 *     corrupt    the checksum sees     step      a node's clock jumps ahead
 *     garble     it does not           drift     clocks run fast or slow, to the end
 *     flap       links go down         pause     a node does nothing for a while
 *     partition  a node hears nobody, or nobody hears it, or both
 *     shrink     links pass less until the net heals, some of them ever after; only where
 *                paths probe and cut (drawn here, not by weight)
 *     death      a process or relay loses its memory; it may come back
 *
 * What was garbled the ends must find, so lanes have their CRC then.  It covers the
 * payload; headers of unsealed datagrams rest on the UDP checksum, so they are left
 * alone (with sealing on, nothing is). */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include "world.h"

#define FAULT_KINDS(X)          \
	X(LOSS, loss)           \
	X(BURST, burst)         \
	X(REORDER, reorder)     \
	X(DUP, dup)             \
	X(CORRUPT, corrupt)     \
	X(GARBLE, garble)       \
	X(FLAP, flap)           \
	X(PARTITION, partition) \
	X(RATE, rate)           \
	X(BLOAT, bloat)         \
	X(MTU, mtu) X(DELAY, delay) X(STEP, step) X(DRIFT, drift) X(PAUSE, pause) X(DEATH, death)

enum fault_kind {
#define X(id, name) FAULT_##id,
	FAULT_KINDS(X)
#undef X
		FAULT_COUNT
};

enum fault_weight { WEIGHT_OFF, WEIGHT_RARE, WEIGHT_OFTEN, WEIGHT_EXTREME };

struct faults {
	struct world *w;
	struct base_prng prng;
	enum fault_weight weight[FAULT_COUNT];
	uint64_t heal_ns;
	struct sim_link_conf before[SIM_LINKS_MAX];
	bool shrinks;
	/* What takes part in the bound on completion. */
	uint64_t slowest_bps; /* of a bloated link; 0: none */
	uint64_t queue_ns;    /* what its queue may hold when the net heals */
	uint64_t stepped_ns;  /* largest sum of steps of one clock */
	struct {
		bool relay, returns, happened;
		bool early; /* also while relays still connect to each other */
		uint32_t index;
		uint64_t at_ns, back_after_ns;
	} death;
};

/* Weights by the seed; what the world must be made with. */
void faults_draw(struct faults *f, uint64_t seed, struct world_conf *c);
/* Everything is scheduled, the end at heal_ns included.  The world is not started. */
void faults_plan(struct faults *f, struct world *w, uint64_t heal_ns);
/* "loss:often flap:rare" */
void faults_text(const struct faults *f, char *out, size_t len);

#endif
