/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/relay, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef RELAY_CANARY_H
#define RELAY_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define RELAY_BUGS(X)                                                               \
	X(OWN_TABLE, "a table of its own job that comes back is installed again")   \
	X(WIDOW, "who was a job's primary in an earlier life passes for it")        \
	X(EARLY, "cores forget a job while the gateways of others finish")          \
	X(NOT_GIVEN, "what was not ours to give is not given when it is")           \
	X(DOOR_ANY, "a trunk's label that leads nowhere is taken for a door's own") \
	X(DOOR_REALM, "doors of two realms may meet")                               \
	X(DOOR_TOKEN, "a door's token is not compared")                             \
	X(DOOR_BOUND, "one relay may import any number of doors")                   \
	X(DOOR_UNTOLD, "who has imported a door that is gone is not told")          \
	X(DOOR_KEPT, "who has a door is not told that its import is dropped")       \
	X(DOOR_LATE, "imports are asked for at every third tenth of a second")      \
	X(DOOR_NAMELESS, "who imports hears no label before the answer")            \
	X(DOOR_GREEDY, "questions about doors take all room that is free")          \
	X(DOOR_HOGGED, "who asks a relay that does not answer keeps all room")      \
	X(DOOR_EARLY, "a door's label is another's while something is on its way")  \
	X(DOOR_SAME_TURN, "who goes by another relay is not told to begin anew")    \
	X(DOOR_LATE_HOLD, "who says HOLD while his caller moves is not told")       \
	X(DOOR_NAMESAKE, "a door's label of another relay may be another's, too")   \
	X(DOOR_GUESSES, "who guesses tokens of doors goes on at once")              \
	X(SIBLING, "what one process of a job says passes for another, too")        \
	X(GUESSES, "wrong tokens are looked at without end")                        \
	X(DEATH_UNTOLD, "processes are not told who has failed")                    \
	X(DEATH_WITHIN, "relays of other clusters are not told who has failed")     \
	X(DEATH_ANY, "a process may say of any other that it has failed")           \
	X(DEATH_STAYS, "a cluster that is out of reach for good has not failed")    \
	X(DEATH_KEPT, "a job of which all have failed or left is kept")

enum relay_bug {
	RELAY_BUG_NONE,
#define X(id, what) RELAY_BUG_##id,
	RELAY_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum relay_bug relay_canary;
#define RELAY_BUG(id) (relay_canary == RELAY_BUG_##id)
#else
#define RELAY_BUG(id) false
#endif

#endif
