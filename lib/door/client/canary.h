/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/door/client, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef DOOR_CANARY_H
#define DOOR_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define DOOR_BUGS(X)                                                             \
	X(ANSWERED, "what was dropped before its answer came is not given back") \
	X(UNHEARD, "who has imported a door is not told that it is gone")        \
	X(ONE_RELAY, "a door is never registered at a second relay")             \
	X(LEFT_ONCE, "a door that is closed leaves the first site alone")        \
	X(RENAMED, "a door that is lost gets another address")

enum door_bug {
	DOOR_BUG_NONE,
#define X(id, what) DOOR_BUG_##id,
	DOOR_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum door_bug door_canary;
#define DOOR_BUG(id) (door_canary == DOOR_BUG_##id)
#else
#define DOOR_BUG(id) false
#endif

#endif
