/* SPDX-License-Identifier: BSD-2-Clause */
/* base/lightpath.h - the life of a lightpath: two optical ports, of two relays, joined by a circuit
 * of a switch.  One list of states for relays, agents, the circuit controller and the wire.
 *
 *            request             ends met            release            let go
 *     DARK ----------> OPENING ----------> OPEN ----------> CLOSING ----------> DRAINED
 *                         |                  |                 |                   |
 *                         +----> FAILED <----+                 +------> DARK <-----+
 *
 * DRAINED: nothing of ours is on its way any more; the other end may not be through yet.
 * FAILED:  the ends did not meet in time, or lost each other.
 * A report of a relay is one of OPEN, FAILED, DRAINED; those have the numbers of the wire
 * (light/frame.h, LINK). */
#ifndef BASE_LIGHTPATH_H
#define BASE_LIGHTPATH_H

#include <stdbool.h>

enum base_lightpath {
	BASE_LIGHTPATH_DARK = 0,
	BASE_LIGHTPATH_OPEN = 1,
	BASE_LIGHTPATH_FAILED = 2,
	BASE_LIGHTPATH_DRAINED = 3,
	BASE_LIGHTPATH_OPENING = 4,
	BASE_LIGHTPATH_CLOSING = 5,
};

/* Nobody has released it yet, and it has not failed. */
static inline bool
base_lightpath_stands(enum base_lightpath s)
{
	return s == BASE_LIGHTPATH_OPENING || s == BASE_LIGHTPATH_OPEN;
}

/* What a relay may report. */
static inline bool
base_lightpath_is_report(unsigned s)
{
	return s >= BASE_LIGHTPATH_OPEN && s <= BASE_LIGHTPATH_DRAINED;
}

#endif
