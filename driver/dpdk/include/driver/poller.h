/* SPDX-License-Identifier: BSD-2-Clause */
/* poller.h - threads that poll ports, and memory that a driver takes from under them.
 *
 * When the other end of a net_memif port is gone, DPDK's interrupt thread unmaps the rings and
 * buffers, while the thread that polls the port may be in the middle of a burst: it dies of it
 * (SIGSEGV inside the driver).  No callback and no link event comes before that.  So munmap()
 * itself, which the driver calls, waits here until every poller is outside of the turn it was
 * in.  A burst that begins later sees that the port is not connected.
 *
 * Threads  rd_poller_new(), rd_poll_begin() and rd_poll_end() by the thread that polls;
 *          munmap() by any. */
#ifndef DRIVER_POLLER_H
#define DRIVER_POLLER_H

#include <stdatomic.h>
#include <stdint.h>

#define RD_POLLERS_MAX 64

struct rd_poller {
	_Alignas(64) _Atomic uint64_t turn; /* odd: inside of one */
};

/* That of this thread, always the same; RD_POLLERS_MAX in a process. */
struct rd_poller *rd_poller_new(void);

/* Everything that touches ports is between these.  Sleeping is not: who unmaps waits for it. */
static inline void
rd_poll_begin(struct rd_poller *p)
{
	/* Seen by others before anything of the turn reads what the driver says of the port. */
	atomic_fetch_add(&p->turn, 1);
}

static inline void
rd_poll_end(struct rd_poller *p)
{
	uint64_t turn = atomic_load_explicit(&p->turn, memory_order_relaxed);
	atomic_store_explicit(&p->turn, turn + 1, memory_order_release);
}

#endif
