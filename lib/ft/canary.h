/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/ft, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef FT_CANARY_H
#define FT_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define FT_BUGS(X)                                                               \
	X(HASTY, "a leader decides before all have adopted what it proposes")    \
	X(FORGETFUL, "a new leader forgets what was proposed before it")         \
	X(WIDOWED, "who waits for a leader that dies does not turn to the next") \
	X(INVENTED, "what a member offers is not what the leader makes of it")   \
	X(PASSED, "a revocation is not passed on when the next of the ring dies")

enum ft_bug {
	FT_BUG_NONE,
#define X(id, what) FT_BUG_##id,
	FT_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum ft_bug ft_canary;
#define FT_BUG(id) (ft_canary == FT_BUG_##id)
#else
#define FT_BUG(id) false
#endif

#endif
