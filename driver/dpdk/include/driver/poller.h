/* SPDX-License-Identifier: BSD-2-Clause */
/* poller.h - threads that poll ports, and memory that a driver takes from under them.
 *
 * When the other end of a net_memif port is gone, DPDK's interrupt thread unmaps the rings and
 * buffers, while the thread that polls the port may be in the middle of a burst: it dies of it
 * (SIGSEGV inside the driver).  No callback and no link event comes before that.  So munmap()
 * itself, which the driver calls, waits here until every poller is outside of the turn it was
 * in.  A burst that begins later sees that the port is not connected.
 *
 * That is so from the first memif port on (rd_poller_guard(), by rd_port_open()).  Without one
 * munmap() is the system call, and a turn costs nothing here.  What libc itself unmaps (free(),
 * stacks of threads) does not come by this name.  What DPDK unmaps does: at its start and end, when
 * no poller is in a turn, and for the memory of memif.  Nobody may unmap inside of a turn: two who
 * did would wait for each other, for a second.
 *
 * Threads  rd_poller_new(), rd_poll_begin() and rd_poll_end() by the thread that polls;
 *          munmap() and rd_poller_guard() by any. */
#ifndef DRIVER_POLLER_H
#define DRIVER_POLLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RD_POLLERS_MAX 64

struct rd_poller {
	_Alignas(64) _Atomic uint64_t turn; /* odd: inside of one */
};

extern _Atomic bool rd_poller_guards; /* for the two below */

/* There is a port whose memory may be unmapped, from now on. */
void rd_poller_guard(void);

/* That of this thread, always the same; RD_POLLERS_MAX in a process. */
struct rd_poller *rd_poller_new(void);

/* Everything that touches ports is between these.  Sleeping is not: who unmaps waits for it. */
static inline void
rd_poll_begin(struct rd_poller *p)
{
	/* Seen by others before anything of the turn reads what the driver says of the port. */
	if (atomic_load_explicit(&rd_poller_guards, memory_order_relaxed))
		atomic_fetch_add(&p->turn, 1);
}

static inline void
rd_poll_end(struct rd_poller *p)
{
	uint64_t turn = atomic_load_explicit(&p->turn, memory_order_relaxed);
	if (turn % 2)
		atomic_store_explicit(&p->turn, turn + 1, memory_order_release);
}

#endif
