/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/nap.h - how a poll loop sleeps so that a frame wakes it.
 *
 * Short naps are naps: while frames come every few microseconds, a wake-up for each would cost
 * more than the frame (idle.h, slack_ns).  One longer than RD_IDLE_SLEEP_MAX_NS means that little
 * happens; it ends with the first frame on any port added, so it may be long, and an idle loop
 * wakes up a hundred times a second instead of ten thousand.
 *
 * Who says that a frame is there is the packet socket of af_packet, or the receive interrupt of the
 * queue (rd_port.rx_intr).  An interrupt tells of frames that come after it was enabled.  So the
 * first of two long naps enables it and returns at once, the caller looks at its queues once more,
 * and only the second one sleeps.  While frames are polled it is off.
 *
 *	rd_nap_init(&nap, eventfd or -1);
 *	rd_nap_add(&nap, &port, queue);                    each that is polled
 *	rd_idle_init(&idle, mode, rd_nap_max_ns(&nap));
 *	... idle.nap calls rd_nap(&nap, ns)
 *	rd_nap_fini(&nap);                                 before a port is closed
 *
 * Threads  the loop's. */
#ifndef DRIVER_NAP_H
#define DRIVER_NAP_H

#include "driver/port.h"

#include <poll.h>

#define RD_NAP_FDS	    32
#define RD_NAP_WOKEN_MAX_NS 10000000u

struct rd_nap {
	struct pollfd fd[1 + RD_NAP_FDS]; /* [0]: ends short ones too */
	uint32_t n;
	bool deaf;	/* some port cannot wake us */
	uint64_t woken; /* long naps that something ended */
	/* Queues with an interrupt: all in one epoll set, which has one of fd[]. */
	struct {
		uint16_t port, queue;
	} intr[RD_NAP_FDS];
	uint32_t n_intr;
	int epfd; /* with n_intr > 0 */
	bool armed;
};

/* Of one that is all zero, or ended; its count goes on. */
void rd_nap_init(struct rd_nap *n, int fd);
/* Interrupts are off, and the ports may be closed.  Accepts one that is all zero, or ended. */
void rd_nap_fini(struct rd_nap *n);
void rd_nap_add(struct rd_nap *n, const struct rd_port *p, uint16_t rxq);
/* The longest nap that may be taken, for rd_idle_init(). */
uint32_t rd_nap_max_ns(const struct rd_nap *n);
/* So long, or until fd is readable or, if it is a long one, a frame is there; signals end it
 * too. */
void rd_nap(struct rd_nap *n, uint32_t ns);

#endif
