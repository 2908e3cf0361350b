/* SPDX-License-Identifier: BSD-2-Clause */
/* loop.h - the control thread's loop as its rooms see it: the time of this turn, file descriptors
 * in its epoll set, and what the thread turned away.
 *
 *     control.c: epoll_wait --> rd_watch.fn of each that is ready
 *
 * Whoever has a descriptor embeds a struct rd_watch.  control.c turns the loop; nobody else waits.
 *
 * Units    now_ns is the system's monotonic clock, read once a turn.
 * Threads  control.
 * Errors   0 or -errno. */
#ifndef RD_LOOP_H
#define RD_LOOP_H

#include "log.h"

#include <stdint.h>
#include <sys/epoll.h>

/* X(name, help): what the control thread turned away. */
#define RD_CONTROL_DROPS(X)                                                                \
	X(sessions_refused, "clients beyond limits.jobs, or for want of memory")           \
	X(strangers_evicted, "clients without a rank that made room for others")           \
	X(strangers_not_allowed, "clients that impi.allow does not cover")                 \
	X(peer_claims, "channels of relays that came while the one that is there answers") \
	X(accept_pauses, "out of descriptors: a listener rested")                          \
	X(refused_memory, "what was not begun because there was no memory")

struct rd_control_counters {
	uint64_t sessions; /* clients that got their rank */
#define X(n, h) uint64_t n;
	RD_CONTROL_DROPS(X)
#undef X
};

#define RD_LOOP_TICK_MS 50 /* between looks at what is late */
#define RD_LOOP_BATCH	32 /* descriptors served in a turn */

struct rd_loop {
	int epoll; /* -1: not open */
	uint64_t now_ns;
	struct rd_control_counters count;
	struct rd_log_limit limit_pause; /* what anybody can cause */
	struct epoll_event ready[RD_LOOP_BATCH];
	int nready;
};

struct rd_watch {
	int fd; /* -1: none */
	uint32_t events;
	void (*fn)(struct rd_watch *w, uint32_t events);
	void *owner;
};

/* l is zeroed but for its counters.  Reads the clock. */
int rd_loop_open(struct rd_loop *l);
/* Accepts one that is not open. */
void rd_loop_close(struct rd_loop *l);
/* One turn: wait for descriptors, at most wait_ms; then read the clock and serve them. */
void rd_loop_wait(struct rd_loop *l, int wait_ms);
void rd_loop_serve(struct rd_loop *l);

/* Begin watching fd (owner and fn are set in w). */
int rd_watch_add(struct rd_loop *l, struct rd_watch *w, int fd, uint32_t events);
void rd_watch_events(struct rd_loop *l, struct rd_watch *w, uint32_t events);
/* Stop watching and close. */
void rd_watch_close(struct rd_loop *l, struct rd_watch *w);

#endif
