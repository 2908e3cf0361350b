/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/relayset, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds and for the same reason. */
#ifndef RELAYSET_CANARY_H
#define RELAYSET_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define RELAYSET_BUGS(X)                                                  \
	X(NO_WAY, "a relay without a way to the client keeps its weight") \
	X(DEAF, "the silence of a relay is never noticed")                \
	X(ALONE, "the first relay that goes is taken for the last one")   \
	X(HUSHED, "a relay is not told that the job survives deaths")     \
	X(UNLIT, "a relay that has light is taken as any other")

enum relayset_bug {
	RELAYSET_BUG_NONE,
#define X(id, what) RELAYSET_BUG_##id,
	RELAYSET_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum relayset_bug relayset_canary;
#define RELAYSET_BUG(id) (relayset_canary == RELAYSET_BUG_##id)
#else
#define RELAYSET_BUG(id) false
#endif

#endif
