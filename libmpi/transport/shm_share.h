/* SPDX-License-Identifier: BSD-2-Clause */
/* shm_share.h - a long message copied by both of its processes.
 *
 * The receiver copies it out of the sender's memory piece by piece, from the front.  A sender
 * that waits for the end has a core with nothing to do: told of it, it copies pieces into the
 * receiver's memory meanwhile, from the back, so that what is sent again and again is mostly in the
 * same cache again.  One word both have mapped says what is left; a sender that computes takes
 * nothing and is not waited for.
 *
 *	receiver: begin(), tells the sender the number, loop {take(), copy}, end(), wait until
 *		  left() is 0
 *	sender, told of the number: loop {take(), copy, took()}
 *
 * Memory   the word holds the number of the message and the range of pieces nobody has taken, so
 *          whoever comes with the number of an older message gets nothing.  What a sender
 *          wrote is there when it says took() (release) and left() has seen that (acquire). */
#ifndef LMPI_SHM_SHARE_H
#define LMPI_SHM_SHARE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LMPI_SHARE_PIECE (16u << 10)
#define LMPI_SHARE_MOST	 (128u << 10)
#define LMPI_SHARE_LONGEST                                                    \
	((uint64_t)LMPI_SHARE_MOST * UINT16_MAX) /* its pieces can be counted \
						  */

/* One for each pair and direction, zeros in the beginning. */
struct lmpi_share {
	alignas(64) _Atomic uint64_t rest; /* number << 32 | first piece << 16 | behind the last */
	_Atomic uint32_t took;		   /* pieces the sender is done with */
	_Atomic uint32_t failed;	   /* one of these could not be copied */
};
_Static_assert(sizeof(struct lmpi_share) == 64, "laid out the same in all processes");

/* Bytes of a piece of a message of n: an eighth, in whole pages. */
static inline uint64_t
lmpi_share_piece(uint64_t n)
{
	uint64_t piece = n / 8 & ~UINT64_C(4095);

	return piece < LMPI_SHARE_PIECE	 ? LMPI_SHARE_PIECE
	       : piece > LMPI_SHARE_MOST ? LMPI_SHARE_MOST
					 : piece;
}

/* How many pieces that is. */
static inline uint32_t
lmpi_share_pieces(uint64_t n)
{
	uint64_t piece = lmpi_share_piece(n);

	return (uint32_t)((n + piece - 1) / piece);
}

/* The number of the next message, which has n pieces. */
static inline uint32_t
lmpi_share_begin(struct lmpi_share *s, uint32_t n)
{
	uint64_t number = (atomic_load_explicit(&s->rest, memory_order_relaxed) >> 32) + 1;

	atomic_store_explicit(&s->took, 0, memory_order_relaxed);
	atomic_store_explicit(&s->failed, 0, memory_order_relaxed);
	atomic_store_explicit(&s->rest, number << 32 | n, memory_order_release);
	return (uint32_t)number;
}

/* Take a piece of that message: false if none is left. */
static inline bool
lmpi_share_take(struct lmpi_share *s, uint32_t number, bool front, uint32_t *piece)
{
	uint64_t at = atomic_load_explicit(&s->rest, memory_order_acquire), next;

	do {
		uint32_t first = (uint32_t)at >> 16, end = (uint32_t)at & UINT16_MAX;

		if (at >> 32 != number || first >= end)
			return false;
		*piece = front ? first : end - 1;
		next = front ? at + (1u << 16) : at - 1;
	} while (!atomic_compare_exchange_weak_explicit(&s->rest, &at, next, memory_order_acq_rel,
							memory_order_acquire));
	return true;
}

static inline void
lmpi_share_took(struct lmpi_share *s, bool ok)
{
	if (!ok)
		atomic_store_explicit(&s->failed, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->took, 1, memory_order_release);
}

/* Nobody takes any more of this message of n pieces.  Returns how many the sender took. */
static inline uint32_t
lmpi_share_end(struct lmpi_share *s, uint32_t n)
{
	uint64_t at =
		atomic_fetch_and_explicit(&s->rest, ~(uint64_t)UINT32_MAX, memory_order_acq_rel);

	return n - ((uint32_t)at & UINT16_MAX);
}

/* How many of them it is still copying. */
static inline uint32_t
lmpi_share_left(struct lmpi_share *s, uint32_t theirs)
{
	return theirs - atomic_load_explicit(&s->took, memory_order_acquire);
}

#endif
