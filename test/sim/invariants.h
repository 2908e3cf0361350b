/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/invariants.h - what must hold in every run, whatever the faults: one list.
 *
 * "Each event" is checked as a datagram leaves, a callback is made, or a node has been
 * driven; "often" every 7 ms of virtual time and at the end (world_check_now()); the tables
 * are walked for one node at a time then.  That each of them can fail is tested: canary.c plants a
 * bug for each and wants it caught. */
#ifndef SIM_INVARIANTS_H
#define SIM_INVARIANTS_H

#include "sim.h"

/* X(id, name, what) */
#define INVARIANTS(X)                                                                              \
	/* each event */                                                                           \
	X(ONCE, "exactly-once",                                                                    \
	  "each byte of a block is placed once; a block begins, ends and comes back once")         \
	X(ORDER, "lane-order", "blocks begin in the order in which they were sent")                \
	X(BYTES, "byte-identical", "what is placed is what was sent, at its offset")               \
	X(PLACED, "done-is-placed", "nothing is reported done that the receiver lacks")            \
	X(WINDOW, "window",                                                                        \
	  "no new segment beyond min(cwnd, window_max) in flight, sums of credit hold")            \
	X(MEMORY, "memory",                                                                        \
	  "buffers held <= held_max, blocks begun <= rx_blocks_max, segments <= their limit")      \
	X(OWNER, "ownership", "a buffer is released as often as it was held")                      \
	X(TIMER, "timer", "a node that holds segments has a timer set")                            \
	X(SPIN, "no-spin", "the timers of a node end: wake-ups per millisecond are bounded")       \
	X(REASON, "reason", "a job ends for a fault that was made, and says why")                  \
	X(STANDS, "stands", "nobody without the key ends, moves or makes a path of honest nodes")  \
	X(MATCH, "matching",                                                                       \
	  "engines: a receive gets what was sent to it, once, in MPI's order; what is taken "      \
	  "back is not received")                                                                  \
	X(RESULT, "result",                                                                        \
	  "a collective call gives every process what the operation is to give, once all that "    \
	  "have to have begun it; windows hold what was done to them, in MPI's order")             \
	X(AGREE, "agreement",                                                                      \
	  "who ends an agreement ends it with the same result, made of what members offered, "     \
	  "all the living among them")                                                             \
	X(ALIVE, "alive",                                                                          \
	  "nobody is taken or told for dead who lives, has not left, and can be reached")          \
	X(REACH, "right-door",                                                                     \
	  "an address reaches its door or nobody, and only doors of one realm meet")               \
	X(PROOF, "proof", "nothing is granted, and no path comes up, for what does not prove")     \
	X(SLOT, "one-slot",                                                                        \
	  "one slot for each role and view, one role for each slot; ranks and sizes never change") \
	X(VIEWS, "one-sequence", "views are one sequence, and everybody has a beginning of it")    \
	X(LEASE, "lease",                                                                          \
	  "one master grants leases; nobody acts for a role that another plays, or in an epoch "   \
	  "that is over for longer than a lease")                                                  \
	X(PROMPT, "prompt", "first byte of a door, a new stage, a site's death: in their time")    \
	X(EPOCH, "epoch", "nothing is taken from another view, or from who is dead in one's own")  \
	X(DARK, "dark",                                                                            \
	  "no more links are lit than there are wavelengths, and none over a withdrawn port")      \
	X(LIT, "by-light",                                                                         \
	  "what is for a cluster goes over relays that have light to it, while there are such")    \
	X(TOGETHER, "together",                                                                    \
	  "two roots that met are connected at both sides or at none, by one accept, once")        \
	X(TURN, "in-turn", "who came to a port first is taken first")                              \
	X(LEAD, "one-lead", "where order is kept, one process is in frames of an origin")          \
	/* often */                                                                                \
	X(TABLES, "tables", "lists, counts and limits of endpoint, lanes and relay agree")         \
	X(ACCOUNT, "accounting", "rx = tx + held + named drops, at every node and link")           \
	X(HONEST, "honest", "between honest nodes no drop is counted that only a forger earns")    \
	/* after healing */                                                                        \
	X(COMPLETE, "completion", "everything is placed, acknowledged and given back in time")     \
	X(TOLD, "everybody-told", "when somebody died, all processes of the job know in time")     \
	X(EMPTY, "nothing-left", "when all is closed, every buffer and block has come back")

enum invariant {
	INV_NONE,
#define X(id, name, what) INV_##id,
	INVARIANTS(X)
#undef X
		INV_COUNT
};

const char *invariant_name(enum invariant i);
const char *invariant_what(enum invariant i);
/* The first broken invariant ends the run. */
void invariant_broken(struct sim *s, enum invariant i, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define INVARIANT(s, id, cond, ...)                                 \
	do {                                                        \
		if (__builtin_expect(!(cond), 0))                   \
			invariant_broken(s, INV_##id, __VA_ARGS__); \
	} while (0)

#endif
