/* SPDX-License-Identifier: BSD-2-Clause */
/* steer.h - frames between workers: what came to the wrong one, what leaves through another.
 *
 * Where a port sorts datagrams by UDP port into the workers' queues (driver/port.h: flow
 * rules, or an RSS key made for it) nothing of a job comes by here.  Otherwise
 *
 *   rx   a worker finds a frame of another one in its queue (rd_packet_shard) and hands it
 *        over.  The other copies it into a buffer of its own pool and frees this one, so
 *        that nobody's custody lies in another's pool and no reference count is shared
 *   tx   a worker whose port has no transmit queue for it hands its frames to the one that
 *        owns the queue; they are copies, for the same reason
 *
 * Worker 0 gets what is nobody's in particular (ARP, TCP, other ICMP), and gives what it
 * learns by ARP to the others: a copy of the frame, from which they only learn.
 *
 * Rings are bounded, single producer and single consumer, one each way for each pair.  Full
 * ones drop, counted where the frame came from.
 *
 * Threads  a ring's two workers, each at its end. */
#ifndef RD_STEER_H
#define RD_STEER_H

#include "base/ring.h"

#define RD_STEER_RING 1024 /* what both legs' credit allows to be under way, and more */

/* From one worker to another. */
struct rd_steer_pair {
	struct base_ring rx, tx; /* struct rte_mbuf, port is the leg's index */
	void *slot_rx[RD_STEER_RING], *slot_tx[RD_STEER_RING];
};

struct rd_steer {
	uint32_t n;		    /* workers */
	struct rd_steer_pair *pair; /* [from * n + to] */
};

static inline struct rd_steer_pair *
rd_steer_pair(const struct rd_steer *s, uint32_t from, uint32_t to)
{
	return &s->pair[from * s->n + to];
}

/* 0 or -ENOMEM. */
int rd_steer_init(struct rd_steer *s, uint32_t workers);
/* Frees what lies in the rings.  After the workers' loops have ended; accepts a zeroed one. */
void rd_steer_fini(struct rd_steer *s);

/* ---- the worker's side (struct rd_worker: worker.h) ------------------------------- */

struct rd_worker;
struct rd_leg;
struct rte_mbuf;

/* m, received on leg, is another worker's. */
void rd_steer_hand(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m, uint32_t to);
/* What a frame of ARP or of neighbour discovery says is news for all workers; m stays the caller's.
 */
void rd_steer_tell(struct rd_worker *w, struct rd_leg *leg, const struct rte_mbuf *m);
/* A frame of ours through another worker's queue; as rd_leg.hand_over. */
void rd_steer_out(void *worker, struct rd_leg *leg, struct rte_mbuf *m);
/* Frames of other workers: received ones to fn, outgoing ones to their legs.  How many. */
uint32_t rd_steer_in(struct rd_worker *w,
		     void (*fn)(struct rd_worker *w, struct rd_leg *leg, struct rte_mbuf *m));
/* Is something there? */
bool rd_steer_waiting(const struct rd_worker *w);

#endif
