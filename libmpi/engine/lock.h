/* SPDX-License-Identifier: BSD-2-Clause */
/* lock.h - the one lock of libmpi.
 *
 * Every MPI call that touches shared state holds it from entry to return, so
 * the whole library below runs one thread at a time.  It is recursive: user
 * callbacks (operators, attribute functions) run with it held and may call MPI.
 * Below MPI_THREAD_MULTIPLE all of this costs one predictable branch.
 *
 * The engine gives it up only inside lmpi_wait()/lmpi_wait_for():
 *
 *	for (;;) {
 *		progress; if done return;
 *		depth = lmpi_lock_drop();     other threads enter here
 *		spin, yield or sleep;
 *		lmpi_lock_retake(depth);
 *	}
 *
 * Who comes in, or comes back after a rest, goes before those that retake it: else
 * they would have it again before it could be woken.
 *
 * A thread that sleeps there is not woken by another thread's progress, so its
 * sleep has to be bounded (or be ended by the engine in some other way) when
 * lmpi_lock_shared is true. */
#ifndef LMPI_LOCK_H
#define LMPI_LOCK_H

#include <stdbool.h>

/* True at MPI_THREAD_MULTIPLE: other threads may be inside MPI.  Set once by
 * MPI_Init_thread, constant afterwards. */
extern bool lmpi_lock_shared;

void lmpi_lock_slow(void);
void lmpi_unlock_slow(void);

static inline void
lmpi_lock(void)
{
	if (__builtin_expect(lmpi_lock_shared, 0))
		lmpi_lock_slow();
}

static inline void
lmpi_unlock(void)
{
	if (__builtin_expect(lmpi_lock_shared, 0))
		lmpi_unlock_slow();
}

/* Give the lock up altogether, whatever the depth of recursion; returns the
 * depth for lmpi_lock_retake().  0 and no effect when it is not shared. */
unsigned lmpi_lock_drop(void);
void lmpi_lock_retake(unsigned depth);
/* The same for who has rested: those that spin between drop and retake let it pass. */
void lmpi_lock_enter(unsigned depth);

#endif
