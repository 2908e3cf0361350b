/* SPDX-License-Identifier: BSD-2-Clause */
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
	/* Between two yields: LMPI_SPIN_SHARE times what a yield takes that nobody made use of,
	 * measured whenever there is one; at once again after one that somebody did. */
	uint64_t gap_ns, yield_ns, yielded_at_ns;
	/* The shortest yield of late, of how many. */
	uint64_t shortest_ns;
	uint32_t yields;
	bool crowded;
};

/* What a yield takes before the first was measured. */
#define LMPI_SPIN_YIELD_NS 500u
/* So yields take at most a sixteenth of the waiting. */
#define LMPI_SPIN_SHARE 16u
#define LMPI_SPIN_INIT                                                                          \
	{                                                                                       \
		.budget_ns = 200000, .min_ns = 50000, .max_ns = 200000,                         \
		.gap_ns = LMPI_SPIN_SHARE * LMPI_SPIN_YIELD_NS, .yield_ns = LMPI_SPIN_YIELD_NS, \
		.shortest_ns = LMPI_SPIN_YIELD_NS                                               \
	}

/* Fewer cores than ranks: whoever spins keeps from the core those it waits for; who yields all the
 * time does not, and what it waits for takes longer here. */
void lmpi_spin_crowd(struct lmpi_spin *s);
static inline bool
lmpi_spin_crowded(const struct lmpi_spin *s)
{
	return s->crowded;
}

/* Spin at most max_ns; 0: sleep at once. */
void lmpi_spin_limit(struct lmpi_spin *s, uint64_t max_ns);

/* A wait is over: it took waited_ns, and there was a sleep in it or not. Next time longer where
 * spinning paid, or would have; shorter where we slept anyway. */
void lmpi_spin_waited(struct lmpi_spin *s, bool slept, uint64_t waited_ns);

/* Idle since then: is it time to give the core away? */
static inline bool
lmpi_spin_yields(const struct lmpi_spin *s, uint64_t idle_since_ns, uint64_t now_ns)
{
	uint64_t from = idle_since_ns > s->yielded_at_ns ? idle_since_ns : s->yielded_at_ns;
	return now_ns >= from + s->gap_ns;
}

/* There was a yield between these two moments. If it took much longer than they do, somebody else
 * had the core meanwhile. Others than the ranks of this node may want it: containers, other jobs.
 * Then they get it at every turn, until they have had enough. */
void lmpi_spin_yielded(struct lmpi_spin *s, uint64_t before_ns, uint64_t now_ns);

#endif
