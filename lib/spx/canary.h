/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/spx, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef SPX_CANARY_H
#define SPX_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define SPX_BUGS(X)                                                                       \
	X(VIEWS, "messages of other views and of the dead are taken")                     \
	X(UNASKED, "what is given again is not asked for before")                         \
	X(OUT_OF_ORDER, "an ordered frame begins though one before it is missing")        \
	X(KEPT_OF_DEAD, "an I/O process keeps the frames of a filter that died")          \
	X(NOT_AGAIN, "what a dead computing process had is not given again")              \
	X(ROOMY, "an I/O process takes one frame more than it has room for")              \
	X(ONE_SHOT, "a frame that is put is not sent again")                              \
	X(HASTY_COMMIT, "a filter says done when it has put, not when that is committed") \
	X(DRAINED, "a chain that drains drops what its I/O processes have")               \
	X(TWO_LEADS, "every process of an ordered chain is given frames, and takes them") \
	X(LAZY_CHAIN, "an I/O process gives over the first of its chains alone")          \
	X(NOT_DROPPED, "what a dead process had is done again, and is to be given up")    \
	X(BLAMED, "a frame that waited at who died is blamed as if it had been begun")    \
	X(POISON, "a frame in which one after another dies is never set aside")           \
	X(SLOW_START, "a process that comes to a running pipeline asks for no row")

enum spx_bug {
	SPX_BUG_NONE,
#define X(id, what) SPX_BUG_##id,
	SPX_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum spx_bug spx_canary;
#define SPX_BUG(id) (spx_canary == SPX_BUG_##id)
#else
#define SPX_BUG(id) false
#endif

#endif
