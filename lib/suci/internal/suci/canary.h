/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose, one for each invariant of the simulator.
 *
 * A build with -DSUCI_CANARY (EXTRAS=canary) has them all, and suci_canary chooses one at
 * run time; in every other build SUCI_BUG() is false and nothing of them is left.  The
 * simulator must catch each of them (test/sim/canary_bugs.c): so its invariants are
 * known to work.  Who changes a line that has one takes it along.
 *
 * They stand in the source, and are no patches that the build applies.  A patch breaks with every
 * change around its lines, not only of them, and is found broken when the canary build is next
 * made; a bug in the source is moved and compiled with them.  The simulator tries all in one
 * program; so patches would have to choose among each other at run time by this very macro, or be
 * a build each. */
#ifndef SUCI_CANARY_H
#define SUCI_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define SUCI_BUGS(X)                                                            \
	X(DUPLICATE, "a segment that comes again is placed again")              \
	X(ORDER, "a block begins when its first segment is here, in any order") \
	X(OFFSET, "a segment is placed eight bytes late")                       \
	X(CRC, "a wrong CRC is taken for a right one")                          \
	X(EARLY_ACK, "a lane ack covers a hole")                                \
	X(WINDOW, "half as much again as the window in flight")                 \
	X(LANE_WINDOW, "a lane sends twice its window")                         \
	X(RECORDS, "a path takes records beyond segments_max")                  \
	X(HELD_TWICE, "a held segment is released twice")                       \
	X(HELD_NEVER, "a held segment is not released")                         \
	X(NO_PROBE, "no probe timeout")                                         \
	X(SPIN, "a timer that is always due")                                   \
	X(GIVE_UP, "a path is given up after three probes, without a word")     \
	X(LEAK, "every 64th record is not given back")                          \
	X(GRANTS, "used grants stay out")                                       \
	X(COUNT, "retransmissions are not counted as datagrams")                \
	X(CUSTODY, "what was refused is acknowledged")                          \
	X(LOST, "what is lost is taken for acknowledged")                       \
	X(SILENT, "silence is never noticed")                                   \
	X(FORGET, "blocks of a lane that ends are not given back")              \
	X(PART_DONE, "a segment is taken for acknowledged with its first part") \
	X(SHORT, "a segment is whole without its last part")                    \
	X(UNREACHABLE, "an ICMP error is believed at once")                     \
	X(LIFE, "a segment of another life of its lane is taken")               \
	X(RESET, "a RESET is believed whoever made it, and at once")            \
	X(MOVED_MUTE, "a lane that moves does not send again what may be lost") \
	X(MOVE, "the old address is not asked before a path moves")

enum suci_bug {
	SUCI_BUG_NONE,
#define X(id, what) SUCI_BUG_##id,
	SUCI_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum suci_bug suci_canary;
#define SUCI_BUG(id) (suci_canary == SUCI_BUG_##id)
#else
#define SUCI_BUG(id) false
#endif

#endif
