/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/sp, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef SP_CANARY_H
#define SP_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define SP_BUGS(X)                                                                    \
	X(SOLO, "a master makes its view before the voters agree")                    \
	X(DOUBLED, "a role is given to who plays one already")                        \
	X(SKIPPED, "a unit applies changes that were made for another view")          \
	X(UNFENCED, "a unit goes on when its lease has run out")                      \
	X(GENEROUS, "a master grants leases without a majority behind it")            \
	X(OLD_VIEW, "a unit with an old view takes a lease for a new one")            \
	X(HURRIED, "a master takes its own sleep for the silence of others")          \
	X(UNBOUNDED, "slots are made beyond the table's bound")                       \
	X(NO_BEAT, "a unit without a master sets no timer")                           \
	X(MUTE, "who becomes master does not tell those who are behind")              \
	X(DESERTED, "a role is given up while a spare is left")                       \
	X(UNFILLED, "a spare that was used is not made up for")                       \
	X(REASSIGNED, "roles that have a pool are given another one")                 \
	X(IMPATIENT, "a new master counts silence of before its election")            \
	X(EAGER, "frames leave before what they promise is on the disk")              \
	X(LOST_DEATH, "a unit reports a death once only")                             \
	X(OWN_CLOCK, "a master finds others dead by its own clock alone")             \
	X(LONELY, "a master finds who is silent for long dead, whatever others show") \
	X(INFALLIBLE, "a master never takes its own clock for the wrong one")         \
	X(RESTLESS, "a program that fails at once is started again at once")

enum sp_bug {
	SP_BUG_NONE,
#define X(id, what) SP_BUG_##id,
	SP_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum sp_bug sp_canary;
#define SP_BUG(id) (sp_canary == SP_BUG_##id)
#else
#define SP_BUG(id) false
#endif

#endif
