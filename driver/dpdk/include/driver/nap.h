/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/nap.h - how a poll loop sleeps so that a frame wakes it.
 *
 * Short naps are naps: while frames come every few microseconds, a wake-up for each would cost
 * more than the frame (idle.h, slack_ns).  One longer than RD_IDLE_SLEEP_MAX_NS means that little
 * happens; it ends with the first frame on any port added, so it may be long, and an idle loop
 * wakes up a hundred times a second instead of ten thousand.
 *
 *	rd_nap_init(&nap, eventfd or -1);
 *	rd_nap_add(&nap, &port, queue);                    each that is polled
 *	rd_idle_init(&idle, mode, rd_nap_max_ns(&nap));
 *	... idle.nap calls rd_nap(&nap, ns)
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
	bool deaf; /* some port cannot wake us */
};

void rd_nap_init(struct rd_nap *n, int fd);
void rd_nap_add(struct rd_nap *n, const struct rd_port *p, uint16_t rxq);
/* The longest nap that may be taken, for rd_idle_init(). */
uint32_t rd_nap_max_ns(const struct rd_nap *n);
/* So long, or until fd is readable or, if it is a long one, a frame is there; signals end it
 * too. */
void rd_nap(struct rd_nap *n, uint32_t ns);

#endif
