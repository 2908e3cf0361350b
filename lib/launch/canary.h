/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/launch, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds and for the same reason. */
#ifndef LAUNCH_CANARY_H
#define LAUNCH_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define LAUNCH_BUGS(X)                                                                     \
	X(NO_WORD, "who asked for a job is not told that nothing of it is left")           \
	X(SPARED, "a job is given up, and the others of it are not ended")                 \
	X(ORPHANED, "who asked for a job dies, and the job goes on alone")                 \
	X(UNHEEDED, "a job that says late that it has met its asker is ended")             \
	X(CROWDED, "more are started than there may be at once")                           \
	X(TOO_EARLY, "what is told of a job before its name is known is forgotten")        \
	X(IN_A_ROW, "the error codes of a call are not those of each command's processes") \
	X(INSISTS, "who may have fewer processes asks for as many again")

enum launch_bug {
	LAUNCH_BUG_NONE,
#define X(id, what) LAUNCH_BUG_##id,
	LAUNCH_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum launch_bug launch_canary;
#define LAUNCH_BUG(id) (launch_canary == LAUNCH_BUG_##id)
#else
#define LAUNCH_BUG(id) false
#endif

#endif
