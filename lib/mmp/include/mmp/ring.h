/* SPDX-License-Identifier: BSD-2-Clause */
/* mmp/ring.h - bounded ring of slots of one cache line, one producer and one consumer.
 *
 * Used between program and engine, and between processes that have mapped it.  A slot is there
 * when it has the number of its turn, which is written last with release order; so a short
 * record is one line from core to core, and no other is looked at.  The consumer tells now and
 * then how far it has read; only a producer that finds the ring full looks.
 *
 * Why not the byte ring of libmpi: records there have any length, and a producer must clear the
 * word behind each before it is seen.  Here all have one, batches of names fill a slot, and the
 * line of the next slot is not touched.
 *
 * Threads  one producer, one consumer, each with a handle of its own.
 * Hostile  a consumer copies a slot before it looks at it; what it says is to be checked. */
#ifndef MMP_RING_H
#define MMP_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MMP_SLOT_BYTES 64u
#define MMP_SLOT_DATA  60u

struct mmp_slot {
	_Atomic uint32_t turn;
	uint8_t data[MMP_SLOT_DATA];
};
struct mmp_ring {
	alignas(64) _Atomic uint32_t head; /* consumer: wo, producer: ro */
	alignas(64) struct mmp_slot slot[];
};
_Static_assert(sizeof(struct mmp_slot) == MMP_SLOT_BYTES, "a line");
_Static_assert(sizeof(struct mmp_ring) == 64, "laid out the same in all processes");

struct mmp_ring_end {
	struct mmp_ring *ring;
	uint32_t mask;
	uint32_t at;   /* of the next slot */
	uint32_t seen; /* producer: the consumer's head; consumer: what it told */
};

/* Bytes of a ring of so many slots, a power of two, 8 .. 2^20. */
static inline size_t
mmp_ring_bytes(uint32_t slots)
{
	return sizeof(struct mmp_ring) + (size_t)slots * MMP_SLOT_BYTES;
}

/* Each side; the memory is zeros before the first of them. */
static inline struct mmp_ring_end
mmp_ring_end(void *mem, uint32_t slots)
{
	return (struct mmp_ring_end){.ring = mem, .mask = slots - 1};
}

/* Turns count from 1, so that zeros are a slot that is not there. */
static inline uint32_t
mmp_ring_turn(const struct mmp_ring_end *r)
{
	return r->at / (r->mask + 1) % (UINT32_MAX / 2) + 1;
}

/* The slot to fill, then mmp_ring_push(); NULL: full. */
static inline void *
mmp_ring_room(struct mmp_ring_end *r)
{
	if (r->at - r->seen > r->mask) {
		r->seen = atomic_load_explicit(&r->ring->head, memory_order_acquire);
		/* A head that cannot be is the other process's fault: nothing more is written. */
		if (r->at - r->seen > r->mask)
			return NULL;
	}
	return r->ring->slot[r->at & r->mask].data;
}

static inline void
mmp_ring_push(struct mmp_ring_end *r)
{
	atomic_store_explicit(&r->ring->slot[r->at & r->mask].turn, mmp_ring_turn(r),
			      memory_order_release);
	r->at++;
}

static inline bool
mmp_ring_is_empty(const struct mmp_ring_end *r)
{
	return atomic_load_explicit(&r->ring->slot[r->at & r->mask].turn, memory_order_acquire) !=
	       mmp_ring_turn(r);
}

/* The oldest slot, until mmp_ring_pop(); NULL: none. */
static inline const void *
mmp_ring_peek(const struct mmp_ring_end *r)
{
	return mmp_ring_is_empty(r) ? NULL : r->ring->slot[r->at & r->mask].data;
}

static inline void
mmp_ring_pop(struct mmp_ring_end *r)
{
	r->at++;
	if (r->at - r->seen > r->mask / 4) {
		r->seen = r->at;
		atomic_store_explicit(&r->ring->head, r->at, memory_order_release);
	}
}

#endif
