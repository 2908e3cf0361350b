/* shm_ring.h - bounded byte ring between one producer and one consumer process.
 *
 * Records of any length up to a quarter of the ring, each contiguous.  The ring
 * itself lies in memory both have mapped; each side keeps a private handle with
 * its own position and the last seen position of the other.
 *
 * Memory   tail is written by the producer with release order after the record,
 *          head by the consumer after it has read it.
 * Sleeping a producer that finds the ring full sets want before it looks again;
 *          a consumer that made room and finds want set clears it and wakes the
 *          producer (lmpi_ring_pop returns true then). */
#ifndef LMPI_SHM_RING_H
#define LMPI_SHM_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lmpi_ring {
	alignas(64) _Atomic uint64_t tail; /* producer: wo, consumer: ro */
	alignas(64) _Atomic uint64_t head; /* consumer: wo, producer: ro */
	_Atomic uint32_t want;		   /* producer sets, consumer clears */
	alignas(64) uint8_t data[];
};
_Static_assert(sizeof(struct lmpi_ring) == 128, "laid out the same in all processes");

struct lmpi_ring_record {
	uint32_t len;  /* payload bytes */
	uint32_t kind; /* 0: filler up to the end of the ring */
};
#define LMPI_RING_ALIGN 16u

struct lmpi_ring_tx {
	struct lmpi_ring *ring;
	uint64_t size; /* power of two */
	uint64_t tail, head_seen;
};
struct lmpi_ring_rx {
	struct lmpi_ring *ring;
	uint64_t size;
	uint64_t head;
	uint64_t next; /* head after the record that was peeked at */
};

static inline uint64_t
lmpi_ring_record_bytes(size_t len)
{
	return (sizeof(struct lmpi_ring_record) + len + LMPI_RING_ALIGN - 1) &
	       ~(uint64_t)(LMPI_RING_ALIGN - 1);
}

/* Longest payload of a record in a ring of that size. */
static inline size_t
lmpi_ring_payload_max(uint64_t size)
{
	return (size_t)(size / 4) - sizeof(struct lmpi_ring_record);
}

/* Is there room for a record of len now?  *pad: filler needed before it. */
static inline bool
lmpi_ring_has_room(struct lmpi_ring_tx *t, uint64_t need, uint64_t *pad)
{
	uint64_t at = t->tail & (t->size - 1);
	*pad = at + need > t->size ? t->size - at : 0;
	if (t->tail + *pad + need - t->head_seen <= t->size)
		return true;
	t->head_seen = atomic_load_explicit(&t->ring->head, memory_order_acquire);
	return t->tail + *pad + need - t->head_seen <= t->size;
}

/* Room for a record of len bytes, to be filled and then published with
 * lmpi_ring_commit(); NULL if the ring is full (the producer will be woken). */
static inline uint8_t *
lmpi_ring_reserve(struct lmpi_ring_tx *t, size_t len)
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
		struct lmpi_ring_record filler = {.len = (uint32_t)(pad - sizeof filler),
						  .kind = 0};
		memcpy(t->ring->data + (t->tail & (t->size - 1)), &filler, sizeof filler);
		t->tail += pad;
	}
	struct lmpi_ring_record r = {.len = (uint32_t)len, .kind = 1};
	uint8_t *p = t->ring->data + (t->tail & (t->size - 1));
	memcpy(p, &r, sizeof r);
	t->tail += need;
	return p + sizeof r;
}

static inline void
lmpi_ring_commit(struct lmpi_ring_tx *t)
{
	atomic_store_explicit(&t->ring->tail, t->tail, memory_order_release);
}

static inline bool
lmpi_ring_is_empty(const struct lmpi_ring_rx *r)
{
	return atomic_load_explicit(&r->ring->tail, memory_order_acquire) == r->head;
}

/* The oldest record, or NULL.  *broken is set if the ring's content makes no
 * sense (the other process has overwritten it). */
static inline const uint8_t *
lmpi_ring_peek(struct lmpi_ring_rx *r, size_t *len, bool *broken)
{
	for (;;) {
		uint64_t tail = atomic_load_explicit(&r->ring->tail, memory_order_acquire);
		uint64_t at = r->head & (r->size - 1);
		struct lmpi_ring_record rec;

		if (tail == r->head)
			return NULL;
		memcpy(&rec, r->ring->data + at, sizeof rec);
		uint64_t need = lmpi_ring_record_bytes(rec.len);
		if (tail - r->head > r->size || need > tail - r->head || need > r->size - at ||
		    rec.kind > 1) {
			*broken = true;
			return NULL;
		}
		if (rec.kind == 0) {
			r->head += need;
			continue;
		}
		r->next = r->head + need;
		*len = rec.len;
		return r->ring->data + at + sizeof rec;
	}
}

/* Done with the peeked record.  The producer does not know yet: that costs a cache line
 * between two cores each time, so it is told of several at once. */
static inline void
lmpi_ring_skip(struct lmpi_ring_rx *r)
{
	r->head = r->next;
}

/* So much room that it is time to tell? */
static inline bool
lmpi_ring_owes(const struct lmpi_ring_rx *r)
{
	return r->head - atomic_load_explicit(&r->ring->head, memory_order_relaxed) >= r->size / 8;
}

/* Give the room of what was skipped back.  True: the producer waits for room. */
static inline bool
lmpi_ring_give(struct lmpi_ring_rx *r)
{
	atomic_store(&r->ring->head, r->head);
	if (atomic_load(&r->ring->want) == 0)
		return false;
	return atomic_exchange(&r->ring->want, 0) == 1;
}

/* Both, for the peeked record. */
static inline bool
lmpi_ring_pop(struct lmpi_ring_rx *r)
{
	lmpi_ring_skip(r);
	return lmpi_ring_give(r);
}

#endif
