/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/meet, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds and for the same reason. */
#ifndef MEET_CANARY_H
#define MEET_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define MEET_BUGS(X)                                                                           \
	X(PRESUMED, "who connects says that all is well before it has heard of the other one") \
	X(ANYBODY, "who knocks at a door need not have the port's token")                      \
	X(SURE, "who accepts takes one that had given up for one who came")                    \
	X(PATIENT, "no step of a conversation has an end")                                     \
	X(ANY_ORDER, "of those who knock at a door any one is taken first")                    \
	X(HOGGED, "who comes to a door and is silent keeps its place")                         \
	X(SLAMMED, "a port that is closed ends the conversations that began there")            \
	X(LINGERS, "who has hung up waits for ever for what is lost")                          \
	X(KEPT_LINE, "who hangs up keeps the door that it called by")                          \
	X(LINE_STAYS, "a conversation ends with its relay, though there is another one")       \
	X(WAY_STAYS, "a lane stays where it was when its way leads by another relay")          \
	X(WAY_ANEW, "a way that breaks gets another lane")                                     \
	X(WAY_ENDLESS, "a way that rests is waited for for ever")                              \
	X(WAY_NAMED, "a name that may be refused ends the rest of a way")

enum meet_bug {
	MEET_BUG_NONE,
#define X(id, what) MEET_BUG_##id,
	MEET_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum meet_bug meet_canary;
#define MEET_BUG(id) (meet_canary == MEET_BUG_##id)
#else
#define MEET_BUG(id) false
#endif

#endif
