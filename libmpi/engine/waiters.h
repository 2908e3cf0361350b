/* SPDX-License-Identifier: BSD-2-Clause */
/* waiters.h - threads of a process that wait for messages at the same time (MPI_THREAD_MULTIPLE).
 *
 * One makes progress for all: who has come last, for it talks and the others wait.  They would
 * only take the lock from each other.  They rest:
 *
 *	struct lmpi_waiter w = {.ready = ready, .arg = arg};
 *	lmpi_waiter_push(&w);
 *	until ready(arg):
 *		if (!lmpi_waiter_leads(&w))
 *			lmpi_waiter_rest(&w, spin_ns);
 *		else
 *			make progress, spin or sleep as one that is alone
 *	lmpi_waiter_pop(&w);
 *
 * Whoever has changed something calls lmpi_waiters_tell(), which asks ready() of those that rest:
 * it has to do for any thread that holds the lock, and change nothing.
 *
 * Who leads and has what it waited for leaves without a word, as it mostly comes back for the next
 * message at once; to wake a thread would cost more than that message.  Who rests looks after LEAD
 * (5 us) while it spins, and after 50 us to 1 ms once it sleeps, whether it leads now.
 *
 * Threads  all functions with the lock (lock.h) held; lmpi_waiter_rest() gives it up meanwhile.
 * Times    ns. */
#ifndef LMPI_WAITERS_H
#define LMPI_WAITERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lmpi_waiter {
	bool (*ready)(void *arg);
	void *arg;
	struct lmpi_waiter *below; /* who has come before */
	_Atomic uint32_t word;	   /* enum of waiters.c */
	uint64_t spun_ns, nap_ns;  /* rested without sleep in all; the next sleep */
};

/* Who leads; NULL: nobody waits. */
extern struct lmpi_waiter *_Atomic lmpi_waiters_top;

void lmpi_waiter_push(struct lmpi_waiter *w);
void lmpi_waiter_pop(struct lmpi_waiter *w);
/* Without leading: until it is told, or leads.  Spins for spin_ns in all before it sleeps. */
void lmpi_waiter_rest(struct lmpi_waiter *w, uint64_t spin_ns);
void lmpi_waiters_tell_all(void);

static inline bool
lmpi_waiter_leads(const struct lmpi_waiter *w)
{
	return atomic_load_explicit(&lmpi_waiters_top, memory_order_relaxed) == w;
}

static inline void
lmpi_waiters_tell(void)
{
	struct lmpi_waiter *top = atomic_load_explicit(&lmpi_waiters_top, memory_order_relaxed);
	if (__builtin_expect(top != NULL, 0))
		lmpi_waiters_tell_all();
}

#endif
