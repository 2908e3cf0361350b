/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/light, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef LIGHT_CANARY_H
#define LIGHT_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define LIGHT_BUGS(X)                                                        \
	X(STILL_LIT, "what is lit over a port that is withdrawn stays so")   \
	X(UNSHARED, "each job takes all wavelengths there are")              \
	X(ONE_RELAY, "a relay takes the place of the others of its cluster") \
	X(SECOND_WAITED, "a message waits for all links of its pair, not for the first")

enum light_bug {
	LIGHT_BUG_NONE,
#define X(id, what) LIGHT_BUG_##id,
	LIGHT_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum light_bug light_canary;
#define LIGHT_BUG(id) (light_canary == LIGHT_BUG_##id)
#else
#define LIGHT_BUG(id) false
#endif

#endif
