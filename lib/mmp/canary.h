/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/mmp, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef MMP_CANARY_H
#define MMP_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define MMP_BUGS(X)                                                        \
	X(NEWEST, "a receive takes the newest message that fits")          \
	X(MISPLACED, "a fragment of a matched message begins its buffer")  \
	X(UNASKED, "what was announced and matched is not asked for")      \
	X(BEYOND, "a sender takes twice its share of the area")            \
	X(PIECES, "every 16th piece of the area is not given back")        \
	X(LENT, "every 16th fragment of a peer in the node is kept")       \
	X(UNTOLD, "receives from a peer that has gone go on waiting")      \
	X(TWICE, "what comes again over a new lane is taken again")        \
	X(FORGOTTEN, "the oldest block is not sent again over a new lane") \
	X(STALE, "a broken lane does not take back what had begun on it")

enum mmp_bug {
	MMP_BUG_NONE,
#define X(id, what) MMP_BUG_##id,
	MMP_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum mmp_bug mmp_canary;
#define MMP_BUG(id) (mmp_canary == MMP_BUG_##id)
#else
#define MMP_BUG(id) false
#endif

#endif
