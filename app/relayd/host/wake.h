/* SPDX-License-Identifier: BSD-2-Clause */
/* wake.h - a thread that sleeps in epoll and those that have something for it.
 *
 * The others put their message into a ring and call rd_wake_up(), which costs one
 * atomic operation unless the thread said that it goes to sleep:
 *
 *     sleeper                          waker
 *     rd_wake_sleep                    push into a ring
 *     look at every ring once more     rd_wake_up
 *     epoll (fd is in its set)
 *     rd_wake_awake
 *
 * Threads  one sleeper; any number of wakers. */
#ifndef RD_WAKE_H
#define RD_WAKE_H

#include <stdatomic.h>
#include <stdint.h>

struct rd_wake {
	_Atomic uint32_t sleeps; /* set by the sleeper, cleared by whoever wakes it */
	int fd;			 /* eventfd; -1: none */
};

/* 0 or -errno. */
int rd_wake_init(struct rd_wake *w);
void rd_wake_fini(struct rd_wake *w);
void rd_wake_up(struct rd_wake *w);
void rd_wake_sleep(struct rd_wake *w);
/* Also empties the eventfd. */
void rd_wake_awake(struct rd_wake *w);

#endif
