/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop.h"

#include "base/clock.h"
#include "driver/clock.h"

#include <errno.h>
#include <unistd.h>

int
rd_loop_open(struct rd_loop *l)
{
	l->limit_pause = (struct rd_log_limit){.interval_ns = 10 * BASE_S_NS, .burst = 1};
	l->now_ns = rd_clock_system_ns();
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll < 0 ? -errno : 0;
}

void
rd_loop_close(struct rd_loop *l)
{
	if (l->epoll >= 0)
		close(l->epoll);
	l->epoll = -1;
}

void
rd_loop_wait(struct rd_loop *l, int wait_ms)
{
	l->nready = epoll_wait(l->epoll, l->ready, RD_LOOP_BATCH, wait_ms);
}

void
rd_loop_serve(struct rd_loop *l)
{
	l->now_ns = rd_clock_system_ns();
	for (int i = 0; i < l->nready; i++) {
		struct rd_watch *w = l->ready[i].data.ptr;
		if (w->fd >= 0) /* not closed by an earlier one of this batch */
			w->fn(w, l->ready[i].events);
	}
}

int
rd_watch_add(struct rd_loop *l, struct rd_watch *w, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e))
		return -errno;
	w->fd = fd;
	w->events = events;
	return 0;
}

void
rd_watch_events(struct rd_loop *l, struct rd_watch *w, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = w};
	if (w->fd < 0 || w->events == events)
		return;
	if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &e) == 0)
		w->events = events;
}

void
rd_watch_close(struct rd_loop *l, struct rd_watch *w)
{
	if (w->fd < 0)
		return;
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
}
