/* SPDX-License-Identifier: BSD-2-Clause */
/* patience.h - how long who waits for a message of its node looks at one ring only.
 *
 * lmpi_recv_whole() looks for the message itself; what it does not see in time goes the long
 * way: a request, turns of the loop, yields, a sleep.  The long way costs as much as two or
 * three hand-overs of a cache line, so whoever gives up just before an answer pays it each time.
 * How long an answer takes is the machine's: 0.1 us where both CPUs share a cache, a microsecond
 * and more between sockets.  So the bound is a time, and follows the answers that come; a rank
 * that is moved to another CPU shows in the next few of them.
 *
 * No clock and no memory in here: recv.c measures.  Times are in cycles of the clock that it
 * reads (cycles.h).  Not for several threads at once. */
#ifndef LMPI_PATIENCE_H
#define LMPI_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Looks between two readings of the clock: a reading is as long as one look or two. */
#define LMPI_PATIENCE_LOOKS 8u

struct lmpi_patience {
	uint32_t bound;	      /* look so long */
	uint32_t answer;      /* what answers took lately */
	uint32_t least, most; /* of the bound */
	/* Who receives one message after the other this way keeps the loop from its turns: there
	 * is one after so many calls, and these are as many as pass in a given time. */
	uint32_t every, left;
	uint32_t turn; /* that time */
};

void lmpi_patience_init(struct lmpi_patience *p, uint32_t cycles_per_us);

/* A message came so long after the clock was first read, here or on the long way. */
void lmpi_patience_waited(struct lmpi_patience *p, uint64_t cycles);

/* Is it time for a turn of the loop? */
static inline bool
lmpi_patience_turn_due(struct lmpi_patience *p)
{
	return --p->left == 0;
}

/* There was one, so long after the one before; due: because of the above. */
void lmpi_patience_turned(struct lmpi_patience *p, bool due, uint64_t cycles);

#endif
