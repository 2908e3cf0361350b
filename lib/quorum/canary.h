/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/quorum, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef QUORUM_CANARY_H
#define QUORUM_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define QUORUM_BUGS(X)                                                      \
	X(AMNESIA, "entries are acknowledged that the journal has not got") \
	X(PROMISE, "a voter forgets what it has promised its leader")       \
	X(VACANT, "who leads says that nobody could for longer than is so") \
	X(TURNS, "voters draw when they ask for votes, and do not keep turns")

enum quorum_bug {
	QUORUM_BUG_NONE,
#define X(id, what) QUORUM_BUG_##id,
	QUORUM_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum quorum_bug quorum_canary;
#define QUORUM_BUG(id) (quorum_canary == QUORUM_BUG_##id)
#else
#define QUORUM_BUG(id) false
#endif

#endif
