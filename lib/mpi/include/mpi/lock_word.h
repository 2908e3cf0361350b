/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/lock_word.h - the lock of one process's part of a window, in one word.
 *
 *	bit 31     held exclusively
 *	bit 30     somebody waits in the queue of the process whose part it is: nobody else
 *		   may take the lock, and who gives it up tells that process (RMA_KICK)
 *	bits 0-29  shared holders
 *
 * Threads  any process that has it mapped. */
#ifndef MPI_LOCK_WORD_H
#define MPI_LOCK_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_WORD_EXCLUSIVE (UINT32_C(1) << 31)
#define LOCK_WORD_WAITED    (UINT32_C(1) << 30)

/* first: on behalf of the first in the queue. */
static inline bool
lock_word_try(_Atomic uint32_t *word, bool exclusive, bool first)
{
	uint32_t v = atomic_load_explicit(word, memory_order_relaxed);

	for (;;) {
		uint32_t holders = v & ~LOCK_WORD_WAITED;

		if (!first && (v & LOCK_WORD_WAITED))
			return false;
		if (exclusive ? holders != 0 : (v & LOCK_WORD_EXCLUSIVE) != 0)
			return false;
		if (atomic_compare_exchange_weak(word, &v,
						 exclusive ? v | LOCK_WORD_EXCLUSIVE : v + 1))
			return true;
	}
}

/* True: the queue is to be looked at. */
static inline bool
lock_word_drop(_Atomic uint32_t *word, bool exclusive)
{
	uint32_t before = exclusive ? atomic_fetch_and(word, ~LOCK_WORD_EXCLUSIVE)
				    : atomic_fetch_sub(word, 1);

	return (before & LOCK_WORD_WAITED) != 0;
}

static inline void
lock_word_wait(_Atomic uint32_t *word)
{
	atomic_fetch_or(word, LOCK_WORD_WAITED);
}

static inline void
lock_word_nobody_waits(_Atomic uint32_t *word)
{
	atomic_fetch_and(word, ~LOCK_WORD_WAITED);
}

#endif
