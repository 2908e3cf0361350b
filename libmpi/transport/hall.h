/* SPDX-License-Identifier: BSD-2-Clause */
/* hall.h - the memory in which processes of other jobs of this machine leave their messages.
 *
 * Each process that meets other jobs has a hall: anonymous memory like its segment for the own job
 * (shm.c), with a seat for each process that may come.  Its card says where the hall is.  Who
 * adopts the card enters: finds the hall through /proc, looks whether it is one, and takes a seat.
 * A seat comes with a ring and a share (shm_ring.h, shm_share.h) for what its taker sends.
 *
 * Two processes use their halls if each has a seat in the other's.  Both see both seats, and when
 * the two sides of a connect have said that all have adopted (comms/introduce.h) nothing changes
 * any more.  So both come to the same answer without another word.  Else they talk by UDP.
 *
 *	owner:	lmpi_hall_lay(), ..., lmpi_hall_find() of who is known now, lmpi_hall_clear() of a
 *		seat whose taker is dead
 *	guest:	lmpi_hall_is_one(), lmpi_hall_take()
 *
 * Memory   a seat is taken by a compare and swap of its pid; who it is for is there when ready is
 *	    seen (acquire).  Only the owner clears seats.
 * Limits   LMPI_HALL_SEATS.  Untouched rings take no memory.
 * Threads  the lock of each process; several processes at once.
 * Hostile  who may open a hall has the owner's user id, and could do as much with ptrace.  What it
 *	    writes is checked as bytes of the own job are. */
#ifndef LMPI_HALL_H
#define LMPI_HALL_H

#include "shm_ring.h"
#include "shm_share.h"

#include "base/version.h"

#define LMPI_HALL_SEATS	  256u
#define LMPI_HALL_RING	  (64u << 10)
#define LMPI_HALL_CHANNEL ((uint64_t)LMPI_HALL_RING + 4096)
#define LMPI_HALL_MAGIC	  0x4c4d4831u /* "LMH1" */

/* What each segment of a process begins with. */
struct lmpi_shm_head {
	_Atomic uint32_t dozing; /* owner sets; who clears it rings the bell */
	uint32_t magic;
	uint32_t nrings;
	uint32_t barrier; /* owner makes the barriers of all when it dozes */
	uint64_t ring_bytes;
	uint32_t eager_node, eager_wide, share, piece; /* struct lmpi_tuned of its owner */
	uint8_t fill[24];
};
_Static_assert(sizeof(struct lmpi_shm_head) == 64, "laid out the same in all processes");

struct lmpi_seat {
	_Atomic int32_t pid; /* of who has taken it; 0: nobody */
	_Atomic uint32_t ready;
	uint64_t job; /* its name and number (engine/others.h) */
	uint32_t number;
	uint32_t fill;
};

struct lmpi_hall {
	struct lmpi_shm_head head;
	char version[16];   /* what goes through rings is the code's of one version */
	uint64_t key;	    /* drawn; the owner's card says the same */
	uint64_t key_at;    /* address of a copy of it in the owner's memory */
	int32_t bell_fd;    /* the owner's doorbell (bell.c) */
	uint32_t bell_node; /* its inode */
	struct lmpi_seat seat[LMPI_HALL_SEATS];
};
#define LMPI_HALL_HEAD	UINT64_C(8192)
#define LMPI_HALL_BYTES (LMPI_HALL_HEAD + LMPI_HALL_SEATS * LMPI_HALL_CHANNEL)
_Static_assert(sizeof(struct lmpi_hall) <= LMPI_HALL_HEAD, "rings are behind it");
_Static_assert(sizeof BASE_VERSION <= 16, "its end, too");

static inline struct lmpi_share *
lmpi_hall_share(struct lmpi_hall *h, uint32_t seat)
{
	uint8_t *p = (uint8_t *)h + LMPI_HALL_HEAD + seat * LMPI_HALL_CHANNEL;
	return (struct lmpi_share *)(void *)p;
}

static inline struct lmpi_ring *
lmpi_hall_ring(struct lmpi_hall *h, uint32_t seat)
{
	return (struct lmpi_ring *)(void *)(lmpi_hall_share(h, seat) + 1);
}

/* Zeros become a hall. */
static inline void
lmpi_hall_lay(struct lmpi_hall *h, uint64_t key, uint64_t key_at)
{
	h->head.magic = LMPI_HALL_MAGIC;
	h->head.nrings = LMPI_HALL_SEATS;
	h->head.ring_bytes = LMPI_HALL_RING;
	memcpy(h->version, BASE_VERSION, sizeof BASE_VERSION);
	h->key = key;
	h->key_at = key_at;
}

/* LMPI_HALL_BYTES are there; are they the hall with that key, of this version? */
static inline bool
lmpi_hall_is_one(const struct lmpi_hall *h, uint64_t key)
{
	return h->head.magic == LMPI_HALL_MAGIC && h->head.nrings == LMPI_HALL_SEATS &&
	       h->head.ring_bytes == LMPI_HALL_RING && h->key == key &&
	       memcmp(h->version, BASE_VERSION, sizeof BASE_VERSION) == 0;
}

/* LMPI_HALL_SEATS: none is free. */
static inline uint32_t
lmpi_hall_take(struct lmpi_hall *h, int32_t pid, uint64_t job, uint32_t number)
{
	for (uint32_t i = 0; i < LMPI_HALL_SEATS; i++) {
		struct lmpi_seat *s = &h->seat[i];
		int32_t nobody = 0;

		if (!atomic_compare_exchange_strong(&s->pid, &nobody, pid))
			continue;
		s->job = job;
		s->number = number;
		atomic_store_explicit(&s->ready, 1, memory_order_release);
		return i;
	}
	return LMPI_HALL_SEATS;
}

/* Which one that process has; LMPI_HALL_SEATS: none. */
static inline uint32_t
lmpi_hall_find(struct lmpi_hall *h, uint64_t job, uint32_t number)
{
	uint32_t i = 0;

	while (i < LMPI_HALL_SEATS &&
	       (!atomic_load_explicit(&h->seat[i].ready, memory_order_acquire) ||
		h->seat[i].job != job || h->seat[i].number != number))
		i++;
	return i;
}

/* Its channel has zeros again. */
static inline void
lmpi_hall_clear(struct lmpi_hall *h, uint32_t seat)
{
	atomic_store_explicit(&h->seat[seat].ready, 0, memory_order_relaxed);
	atomic_store_explicit(&h->seat[seat].pid, 0, memory_order_release);
}

#endif
