/* spin.h - how long who waits spins before it sleeps, and how often it gives the core away.
 *
 * No clock and no thread in here: progress.c measures and acts.  Not for several threads at once.
 * Times in ns. */
#ifndef LMPI_SPIN_H
#define LMPI_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct lmpi_spin {
	/* Spinning before a sleep: now, at least, at most. Not less than a wake-up costs, else two
	 * ranks that answer each other sleep for ever between their messages. */
	uint64_t budget_ns, min_ns, max_ns;
	/* Idle turns between two yields: as many as an answer from another node takes at best, for
	 * a yield is as long as a turn if nobody else wants the core, and much longer if somebody
	 * does. */
	uint32_t yield_every, yield_most;
};

#define LMPI_SPIN_INIT                                                                     \
	{                                                                                  \
		.budget_ns = 200000, .min_ns = 50000, .max_ns = 200000, .yield_every = 16, \
		.yield_most = 16                                                           \
	}

/* Fewer cores than ranks: whoever spins keeps from the core those it waits for; who yields all the
 * time does not, and what it waits for takes longer here. */
void lmpi_spin_crowd(struct lmpi_spin *s);
static inline bool
lmpi_spin_crowded(const struct lmpi_spin *s)
{
	return s->yield_most == 1;
}

/* Spin at most max_ns; 0: sleep at once. */
void lmpi_spin_limit(struct lmpi_spin *s, uint64_t max_ns);

/* A wait is over: it took waited_ns, and there was a sleep in it or not. Next time longer where
 * spinning paid, or would have; shorter where we slept anyway. */
void lmpi_spin_waited(struct lmpi_spin *s, bool slept, uint64_t waited_ns);

/* A yield is over. Did somebody else have the core meanwhile? Others than the ranks of this node
 * may want it: containers, other jobs. Then they get it at every turn, until they have had enough.
 */
void lmpi_spin_yielded(struct lmpi_spin *s, bool taken);

#endif
