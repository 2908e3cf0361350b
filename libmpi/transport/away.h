/* SPDX-License-Identifier: BSD-2-Clause */
/* away.h - will the program be back soon?
 *
 * When a blocking call returns, lane acks are owed that nobody waits for: those that somebody
 * waits for left at once. By themselves they leave with the lane's next data or after
 * LMPI_AWAY_NS, but only while the program is in the library. Before it computes for long they
 * should leave, so that the other side gets its copies back and does not send again; before the
 * next of many calls they should not, as each is a datagram.
 *
 *	left()   a blocking call returns; acks stay behind, or not
 *	back()   the next look at the network, in whatever call
 *	soon()   the times before say that it will be back within LMPI_AWAY_NS
 *
 * Runs of such times are trusted beyond the longest that ended with acks left behind, so a program
 * that computes after each ten calls is mistaken for one that does not once and not each time.
 *
 * No clock and no thread in here. Times in ns. test/sim/eval_run.c has it, too. */
#ifndef LMPI_AWAY_H
#define LMPI_AWAY_H

#include <stdbool.h>
#include <stdint.h>

#define LMPI_AWAY_NS   1000000ull /* as long as lib/suci holds a lane ack back */
#define LMPI_AWAY_FEW  2	  /* times in a row are trusted if nothing is known */
#define LMPI_AWAY_MANY 1024	  /* are always */

struct lmpi_away {
	uint64_t since_ns; /* 0: it is here */
	uint32_t run;	   /* times in a row that it was back soon */
	uint32_t need;	   /* so many are trusted; 0: LMPI_AWAY_FEW */
	bool kept;	   /* acks stayed behind */
};

static inline bool
lmpi_away_soon(const struct lmpi_away *a)
{
	return a->run >= (a->need ? a->need : LMPI_AWAY_FEW);
}

static inline void
lmpi_away_left(struct lmpi_away *a, uint64_t now_ns, bool kept)
{
	a->since_ns = now_ns;
	a->kept = kept;
}

static inline void
lmpi_away_back(struct lmpi_away *a, uint64_t now_ns)
{
	if (!a->since_ns)
		return;
	if (now_ns < a->since_ns + LMPI_AWAY_NS) {
		a->run += a->run < LMPI_AWAY_MANY;
	} else {
		if (a->kept)
			a->need = a->run < LMPI_AWAY_MANY ? a->run + 1 : LMPI_AWAY_MANY;
		a->run = 0;
	}
	a->since_ns = 0;
}

#endif
