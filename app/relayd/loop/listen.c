/* SPDX-License-Identifier: BSD-2-Clause */
#include "listen.h"

#include "base/clock.h"
#include "driver/accept.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

void
rd_listener_pause(struct rd_listener *l, uint64_t until_ns)
{
	l->resume_ns = until_ns;
	rd_watch_events(l->loop, &l->watch, 0);
}

int
rd_listener_accept(struct rd_listener *l, struct suci_addr *from)
{
	struct rd_loop *c = l->loop;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {0};
	socklen_t len = sizeof at;
	bool pause;
	int fd = process_accept(l->watch.fd, from ? &at.any : NULL, from ? &len : NULL, &pause);
	if (fd >= 0) {
		if (from && at.any.sa_family == AF_INET6)
			*from = suci_addr_of(at.v6.sin6_addr.s6_addr, ntohs(at.v6.sin6_port));
		else if (from)
			*from = suci_addr_v4((const uint8_t *)&at.v4.sin_addr,
					     ntohs(at.v4.sin_port));
		return fd;
	}
	if (pause) {
		rd_log_limited(&c->limit_pause, c->now_ns, RD_LOG_WARNING,
			       "accept: %s; a listener pauses for %u ms (see LimitNOFILE, "
			       "ulimit -n)",
			       strerror(errno), RD_ACCEPT_PAUSE_MS);
		c->count.accept_pauses++;
		rd_listener_pause(l, c->now_ns + RD_ACCEPT_PAUSE_MS * BASE_MS_NS);
	}
	return -1;
}

void
rd_listener_tick(struct rd_listener *l)
{
	if (!l->loop || !l->resume_ns || l->loop->now_ns < l->resume_ns)
		return;
	l->resume_ns = 0;
	rd_watch_events(l->loop, &l->watch, EPOLLIN);
}

static void
accept_ready(struct rd_watch *w, uint32_t events)
{
	struct rd_listener *l = w->owner;
	(void)events;
	l->knock(l);
}

int
rd_listener_add(struct rd_listener *l, struct rd_loop *loop, int fd,
		void (*knock)(struct rd_listener *l), void *owner)
{
	*l = (struct rd_listener){.watch = {.fd = -1, .fn = accept_ready, .owner = l},
				  .loop = loop,
				  .owner = owner,
				  .knock = knock};
	return rd_watch_add(loop, &l->watch, fd, EPOLLIN);
}

void
rd_listener_close(struct rd_listener *l)
{
	if (l->loop)
		rd_watch_close(l->loop, &l->watch);
}
