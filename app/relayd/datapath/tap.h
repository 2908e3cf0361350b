/* SPDX-License-Identifier: BSD-2-Clause */
/* tap.h - the exception path: a TAP per leg on which the kernel speaks TCP with our address.
 *
 *     worker == to_tap, from_tap (mail.h) == struct rd_taps == /dev/net/tun == kernel TCP
 *
 * The worker answers ARP and echo.  What is for an open port of ours, or belongs to what the
 * kernel began, comes here; the rest is dropped (rd/packet.h).  What the kernel sends goes to the
 * wire as it is, but for its ARP requests, which the worker answers from its neighbour table.
 *
 * One thread serves both TAPs: the gateway's if there is one, otherwise control's.  Its
 * own sockets are on the other side of them: the kernel's TCP runs inside its writes, so
 * that a frame is read from its socket in the same turn, and what it writes to the socket
 * lies in the TAP when the write returns.  No other thread has to be woken for that.
 *
 * Threads  opened and closed by control while nobody serves; calls below by the thread that
 *          serves.  count is that thread's (snapshots take it there). */
#ifndef RD_TAP_H
#define RD_TAP_H

#include "mail.h"

struct rte_mempool;

#define RD_TAP_FRAMES 64 /* of one TAP, each way in a turn */

struct rd_tap_counters {
	uint64_t to_kernel, from_kernel, drop_write, drop_full, drop_no_buffer;
};

struct rd_taps {
	struct rd_mailbox *box;
	struct rte_mempool *pool;
	int fd[RD_LEGS]; /* -1: not open; control closes it */
	struct rd_tap_counters count;
};

/* Frames of the worker, at most max of them: into the TAP.  Returns how many. */
uint32_t rd_tap_write(struct rd_taps *t, int leg, uint32_t max);
/* Frames of the kernel, at most max: for the worker, which is not woken here.  Returns how
 * many; with max of them there may be more (epoll says so). */
uint32_t rd_tap_read(struct rd_taps *t, int leg, uint32_t max);

#endif
