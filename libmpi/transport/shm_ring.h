/* SPDX-License-Identifier: BSD-2-Clause */
/* shm_ring.h - bounded byte ring between one producer and one consumer process.
 *
 * Records of any length up to a quarter of the ring, each contiguous.  The ring
 * itself lies in memory both have mapped; each side keeps a private handle with
 * its own position and the last seen position of the other.
 *
 * Memory   a record is there when its first word is not 0; that word is written last, with
 *          release order, after the word where the next record will begin has become 0.  So
 *          a short message is one cache line from core to core, and no other is looked at.
 *          head is written by the consumer after it has read what is before it.
 * Sleeping a producer that finds the ring full sets want before it looks again;
 *          a consumer that made room and finds want set clears it and wakes the
 *          producer (lmpi_ring_give returns true then). */
#ifndef LMPI_SHM_RING_H
#define LMPI_SHM_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lmpi_ring {
	alignas(64) _Atomic uint64_t head; /* consumer: wo, producer: ro */
	_Atomic uint32_t want;		   /* producer sets, consumer clears */
	alignas(64) uint8_t data[];	   /* zeros in the beginning */
};
_Static_assert(sizeof(struct lmpi_ring) == 64, "laid out the same in all processes");

/* The first word of a record: its kind above, its payload bytes below. */
#define LMPI_RING_FILLER 1u /* up to the end of the ring */
#define LMPI_RING_FULL	 2u /* begins with a struct lmpi_hdr */
#define LMPI_RING_BRIEF	 3u /* begins with a struct lmpi_brief (shm.c) */
#define LMPI_RING_ALIGN	 32u
#define LMPI_RING_WORD	 sizeof(uint64_t)

struct lmpi_ring_tx {
	struct lmpi_ring *ring;
	uint64_t size; /* power of two */
	uint64_t tail, head_seen;
	uint64_t word, need; /* of the record reserved */
};
struct lmpi_ring_rx {
	struct lmpi_ring *ring;
	uint64_t size;
	uint64_t head;
	uint64_t next;	/* head after the record that was peeked at */
	uint64_t given; /* head as the producer may see it */
};

static inline _Atomic uint64_t *
lmpi_ring_word(struct lmpi_ring *r, uint64_t size, uint64_t at)
{
	return (_Atomic uint64_t *)(void *)(r->data + (at & (size - 1)));
}

static inline uint64_t
lmpi_ring_record_bytes(size_t len)
{
	return (LMPI_RING_WORD + len + LMPI_RING_ALIGN - 1) & ~(uint64_t)(LMPI_RING_ALIGN - 1);
}

/* Longest payload of a record in a ring of that size. */
static inline size_t
lmpi_ring_payload_max(uint64_t size)
{
	return (size_t)(size / 4) - LMPI_RING_ALIGN - LMPI_RING_WORD;
}

/* Is there room for a record of len now, and the word after it?  *pad: filler needed before
 * it. */
static inline bool
lmpi_ring_has_room(struct lmpi_ring_tx *t, uint64_t need, uint64_t *pad)
{
	uint64_t at = t->tail & (t->size - 1), end;
	*pad = at + need > t->size ? t->size - at : 0;
	end = t->tail + *pad + need + LMPI_RING_ALIGN;
	if (end - t->head_seen <= t->size)
		return true;
	t->head_seen = atomic_load_explicit(&t->ring->head, memory_order_acquire);
	return end - t->head_seen <= t->size;
}

/* Room for a record of that kind of len bytes, to be filled and then published with
 * lmpi_ring_commit(); NULL if the ring is full (the producer will be woken). */
static inline uint8_t *
lmpi_ring_reserve(struct lmpi_ring_tx *t, unsigned kind, size_t len)
{
	uint64_t need = lmpi_ring_record_bytes(len), pad;

	if (!lmpi_ring_has_room(t, need, &pad)) {
		atomic_store(&t->ring->want, 1);
		if (!lmpi_ring_has_room(t, need, &pad)) {
			/* has_room read head with acquire only: order it after want */
			t->head_seen = atomic_load(&t->ring->head);
			if (!lmpi_ring_has_room(t, need, &pad))
				return NULL;
		}
	}
	if (pad) {
		uint64_t filler = (uint64_t)LMPI_RING_FILLER << 32 | (pad - LMPI_RING_WORD);
		atomic_store_explicit(lmpi_ring_word(t->ring, t->size, 0), 0, memory_order_relaxed);
		atomic_store_explicit(lmpi_ring_word(t->ring, t->size, t->tail), filler,
				      memory_order_release);
		t->tail += pad;
	}
	t->need = need;
	t->word = (uint64_t)kind << 32 | len;
	return t->ring->data + (t->tail & (t->size - 1)) + LMPI_RING_WORD;
}

static inline void
lmpi_ring_commit(struct lmpi_ring_tx *t)
{
	uint64_t next = t->tail + t->need;

	atomic_store_explicit(lmpi_ring_word(t->ring, t->size, next), 0, memory_order_relaxed);
	atomic_store_explicit(lmpi_ring_word(t->ring, t->size, t->tail), t->word,
			      memory_order_release);
	t->tail = next;
	/* The line of the next record but one: the 0 there is not to hold up the next. */
	__builtin_prefetch(t->ring->data + ((next + 64) & (t->size - 1)), 1);
}

static inline bool
lmpi_ring_is_empty(const struct lmpi_ring_rx *r)
{
	return atomic_load_explicit(lmpi_ring_word(r->ring, r->size, r->head),
				    memory_order_acquire) == 0;
}

/* The oldest record, or NULL.  *broken is set if the ring's content makes no
 * sense (the other process has overwritten it). */
static inline const uint8_t *
lmpi_ring_peek(struct lmpi_ring_rx *r, unsigned *kind, size_t *len, bool *broken)
{
	for (;;) {
		uint64_t word = atomic_load_explicit(lmpi_ring_word(r->ring, r->size, r->head),
						     memory_order_acquire);
		uint64_t at = r->head & (r->size - 1);

		if (word == 0)
			return NULL;
		*len = (uint32_t)word;
		*kind = (unsigned)(word >> 32);
		r->next = r->head + lmpi_ring_record_bytes(*len);
		if (*kind >= LMPI_RING_FULL && *kind <= LMPI_RING_BRIEF &&
		    r->next - r->head <= r->size - at)
			return r->ring->data + at + LMPI_RING_WORD;
		if (*kind != LMPI_RING_FILLER || at == 0 || r->next - r->head != r->size - at) {
			*broken = true;
			return NULL;
		}
		r->head = r->next;
	}
}

/* Done with the peeked record.  The producer does not know yet: that costs a cache line
 * between two cores each time, so it is told of several at once, or when it asks.  Of an
 * eighth of an empty ring it need not know: any record fits into the rest. */
static inline void
lmpi_ring_skip(struct lmpi_ring_rx *r)
{
	r->head = r->next;
}

/* Is there room that the producer does not know of, and waits for? */
static inline bool
lmpi_ring_is_wanted(const struct lmpi_ring_rx *r)
{
	return r->head != r->given &&
	       atomic_load_explicit(&r->ring->want, memory_order_relaxed) != 0;
}

/* So much room that it is time to tell? */
static inline bool
lmpi_ring_owes(const struct lmpi_ring_rx *r)
{
	return r->head - r->given >= r->size / 8;
}

/* Give the room of what was skipped back.  True: the producer waits for room. */
static inline bool
lmpi_ring_give(struct lmpi_ring_rx *r)
{
	r->given = r->head;
	atomic_store(&r->ring->head, r->head);
	if (atomic_load(&r->ring->want) == 0)
		return false;
	return atomic_exchange(&r->ring->want, 0) == 1;
}

#endif
