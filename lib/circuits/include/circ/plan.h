/* SPDX-License-Identifier: BSD-2-Clause */
/* circ/plan.h - which circuits a collective call needs, when each is set up, and what it
 * replaces.
 *
 * In goes what is to be sent (the messages of all processes' schedules, by round) and
 * what is lit; out comes a list of set-ups, each with the two port slots it takes and what
 * has to be over before it may be ordered, and for every message the set-up that
 * carries it or the packet network.  The plan is fixed before the call begins and the
 * same at every relay; run.h follows it and copes with what goes wrong.
 *
 *   naive      a circuit for every message, when it is due; nothing is kept
 *   batched    [OC]: rounds are taken together as long as no node needs more circuits than
 *              it has ports; a node sets up all circuits of a batch at once, when it is
 *              through with the batch before.  A round that alone needs more than that goes
 *              in turns, which begin for all nodes together
 *   pipelined  a port is re-aimed the moment the last message that needs its circuit is over
 *   cached     pipelined, and what is lit from earlier calls is used and kept
 *
 * pipelined and cached evict by cost: first an empty slot, then the circuit whose next use
 * lies furthest in the future (Belady), as far as demand says; circuits without a
 * future by when they were last used.  Demand may go on behind the call with what is
 * known to come (lookahead): it decides what is kept, and is planned by the next call.
 * hybrid, and auto, are cached with light_from above 0: messages below it take a circuit that
 * happens to be lit, else packets.  A node without ports is served by packets.
 *
 * Limits on what is lit at once (lit_max, groups that share wavelengths) are ports that all nodes,
 * or those of a group, share: a circuit takes a place under each limit, and what goes to make
 * room is chosen as above.  naive and batched go in turns then.  A node whose group has
 * no wavelength is served by packets.
 *
 * Several links of a pair: where circ_slots.links is above 1 a pair has extra links beside the
 * first, over slots that nobody needs sooner: empty, or of a pair that is not needed any more, or
 * an extra one of a pair that is needed later.  Messages wait for the first link alone; those that
 * find more lit are spread over all.  An extra link is the first to go: when its slot is wanted and
 * the messages that it helps to carry are over; one that is not ordered by then never is.  batched
 * lights all links of a pair at once, for as many pairs less; none under limits.  naive has none.
 *
 * No deadlock: set-ups are made in one order for all nodes, and each waits only for
 * messages of earlier ones.  circ_plan_check() proves it of a plan, and that no slot
 * and no place is in two circuits.
 *
 * Slots    0 .. ports[node]-1; which port of the switch a slot is, is the lease's business.
 * Bounds   no allocation but the memory given; time: linear in messages, times the slots of a
 *          node where something is evicted.
 * Threads  one owner.
 * Source   [OC]; bounds and names of the control digest, sections 8 and 9. */
#ifndef CIRC_PLAN_H
#define CIRC_PLAN_H

#include "circ/mode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CIRC_NONE      UINT32_MAX
#define CIRC_SLOTS_MAX 64
#define CIRC_LINKS_MAX 16 /* of a pair at once */
#define CIRC_POOLS     3  /* limits a circuit counts under: of all, of the groups of its ends */

/* One message; sorted by round. */
struct circ_demand {
	uint32_t from, to, round;
	uint64_t bytes;
};

/* One slot of a node and what is lit there. */
struct circ_slot {
	uint32_t peer; /* CIRC_NONE: nothing */
	uint32_t peer_slot;
	uint64_t used; /* the larger, the later its last use */
};

/* The slots of all nodes, kept from call to call. */
struct circ_slots {
	uint32_t nodes;
	uint32_t stride;       /* slot[node * stride + i] */
	const uint32_t *ports; /* [nodes] the budget of each, <= stride */
	struct circ_slot *slot;
	uint64_t clock; /* counts uses */
	/* What may be lit at once, beside ports: circuits in all; 0: as many as there are ports.
	 * Groups of nodes that share wavelengths: group[nodes], or NULL, and waves[groups], how
	 * many circuits may have an end in it; one between two nodes of a group counts once. */
	uint32_t lit_max, groups;
	const uint32_t *group, *waves;
	uint32_t links; /* of a pair at once, <= CIRC_LINKS_MAX; 0: one */
};
/* All dark. */
void circ_slots_clear(struct circ_slots *s);
/* A circuit is gone, whoever took it away. */
void circ_slots_drop(struct circ_slots *s, uint32_t node, uint32_t slot);
/* What is lit at one slot of a node is at the other then, and the other way round: their ports have
 * changed places. */
void circ_slots_swap(struct circ_slots *s, uint32_t node, uint32_t x, uint32_t y);
/* Limits are pools of places: pool 0 is all of the switch, pool 1 + g group g.  The i-th pool,
 * i < CIRC_POOLS, that a circuit between a and b counts under, or CIRC_NONE. */
uint32_t circ_slots_pool(const struct circ_slots *s, uint32_t a, uint32_t b, uint32_t i);
/* How many circuits may count under it; no more than there are ports, which is no limit. */
uint32_t circ_slots_limit(const struct circ_slots *s, uint32_t pool);

struct circ_setup {
	uint32_t a, b, slot_a, slot_b;
	/* naive, batched: may be ordered when a and b (turn: all nodes) are through with the
	 * messages of earlier batches */
	uint32_t batch;
	bool turn;
	/* pipelined, cached: the set-ups whose circuits it replaces, or CIRC_NONE */
	uint32_t before_a, before_b;
	/* With limits: its place under each of them, from 0 on, or CIRC_NONE, and (pipelined,
	 * cached) the set-up that had it before, or CIRC_NONE. */
	uint32_t place[CIRC_POOLS], before_place[CIRC_POOLS];
	uint32_t messages; /* how many wait for it: an extra link's none */
	uint32_t round;	   /* of the first */
	bool kept;	   /* lit before the call: nothing to order */
	/* Links of a pair: the first has CIRC_NONE here, an extra one has the first, and helps with
	 * its messages from .. until - 1, counted from 0. */
	uint32_t first, from, until;
	uint32_t more; /* the next extra one of the same first, or CIRC_NONE */
};

struct circ_plan {
	enum circ_mode mode;
	struct circ_setup *setup;
	uint32_t setups, setups_max;
	uint32_t ordered; /* set-ups that are not `kept` */
	uint32_t *by;	  /* [demands] the set-up of each message, or CIRC_NONE: packets */
	uint32_t *nth;	  /* [demands] how many messages of that set-up come before it */
	uint32_t *batch;  /* [demands] naive, batched: its batch */
	uint32_t demands, batches;
	uint32_t packets; /* messages by packets */
	uint32_t extras;  /* extra links ordered, of `ordered` */
	uint32_t moved;	  /* of these, those in whose slot there was light */
};

struct circ_plan_wish {
	enum circ_mode mode;
	const struct circ_demand *demand;
	uint32_t demands;    /* of this call */
	uint32_t lookahead;  /* further ones behind them, of calls to come, rounds going on */
	uint64_t light_from; /* bytes; below it no circuit is set up; UINT64_MAX: for none */
};

/* Set-ups of such a plan at most, and bytes for it; of so many messages, lookahead included. */
size_t circ_plan_setups(const struct circ_slots *s, uint32_t demands);
size_t circ_plan_footprint(const struct circ_slots *s, uint32_t demands);
/* Make the plan and change slots to what will be lit behind the call.  Arrays lie in mem. */
void circ_plan_make(struct circ_plan *p, const struct circ_plan_wish *w, struct circ_slots *s,
		    void *mem);
/* NULL, or what is wrong: slots used twice at a time, budgets exceeded, more links of a pair than
 * may be, a circle. */
const char *circ_plan_check(const struct circ_plan *p, const struct circ_plan_wish *w,
			    const struct circ_slots *s);

#endif
