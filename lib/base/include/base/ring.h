/* SPDX-License-Identifier: BSD-2-Clause */
/* base/ring.h - bounded single-producer single-consumer ring of pointers.
 *
 * The mailbox between two threads (control and worker).  A full ring refuses
 * and the producer decides; nothing waits inside.  NULL means "empty" to the
 * consumer, so it cannot be an element.
 *
 * Threads  one producer calls _push, one consumer calls _pop; _count from
 *          either is a snapshot.
 * Memory   head is written by the consumer with release order after it has
 *          read the slot; tail by the producer after it has written the slot. */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct base_ring {
	alignas(64) _Atomic uint32_t head; /* consumer: wo, producer: ro */
	alignas(64) _Atomic uint32_t tail; /* producer: wo, consumer: ro */
	alignas(64) uint32_t mask;
	void **slot;
};

/* slots is caller memory for size pointers, size a power of two >= 2. */
static inline void
base_ring_init(struct base_ring *r, void **slots, uint32_t size)
{
	atomic_init(&r->head, 0);
	atomic_init(&r->tail, 0);
	r->mask = size - 1;
	r->slot = slots;
}

static inline bool
base_ring_push(struct base_ring *r, void *p)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	if (tail - head > r->mask)
		return false;
	r->slot[tail & r->mask] = p;
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return true;
}

static inline void *
base_ring_pop(struct base_ring *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (head == tail)
		return NULL;
	void *p = r->slot[head & r->mask];
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	return p;
}

static inline uint32_t
base_ring_count(struct base_ring *r)
{
	return atomic_load_explicit(&r->tail, memory_order_acquire) -
	       atomic_load_explicit(&r->head, memory_order_acquire);
}

#endif
