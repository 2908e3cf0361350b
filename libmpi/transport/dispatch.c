/* SPDX-License-Identifier: BSD-2-Clause */
/* All transports together: who goes by which, turns, sleeping. */
#include "streams.h"
#include "transport.h"

#include "lock.h"

#include "base/clock.h"
#include "driver/suci_udp.h"

#include <poll.h>
#include <time.h>

void
lmpi_reach_by(struct lmpi_peer *peer, enum lmpi_reach reach)
{
	static const struct lmpi_transport *const table[LMPI_REACHES] = {
		[LMPI_REACH_SHM] = &lmpi_shm_transport,
		[LMPI_REACH_DIRECT] = &lmpi_direct_transport,
		[LMPI_REACH_RELAY] = &lmpi_relay_transport,
		[LMPI_REACH_TCP] = &lmpi_tcp_transport,
	};

	lmpi_route[peer->world].reach = reach;
	peer->tp = table[reach];
	peer->caps = peer->tp ? peer->tp->caps : LMPI_CAP_SELF;
	peer->row = (uint8_t)reach;
}

void
lmpi_tp_kick(void)
{
	lmpi_net_kick();
}

bool
lmpi_tp_poll(void)
{
	static uint32_t turn;
	bool moved = false;

	lmpi_eng.in_transport = true;
	if (lmpi_shm_in_use())
		moved = lmpi_shm_poll();
	/* A look at the sockets is a system call: rare while all the traffic is in
	 * shared memory, and not needed in a turn that found work there. */
	bool tcp = lmpi_tcp_in_use();
	uint32_t every = !lmpi_shm_in_use() ? 1 : tcp || lmpi_net_in_use() ? 4 : 64;
	if (++turn >= every && (!moved || turn >= 4 * every)) {
		turn = 0;
		if (every > 1)
			lmpi_eng.now_ns = suci_udp_now_ns(); /* that of the turn may be older */
		moved |= lmpi_net_poll(lmpi_eng.now_ns);
		moved |= lmpi_streams_poll(lmpi_eng.now_ns);
		if (tcp)
			moved |= lmpi_tcp_poll();
	}
	lmpi_eng.in_transport = false;
	return moved;
}

void
lmpi_tp_flush(void)
{
	lmpi_net_flush();
}

bool
lmpi_tp_drained(void)
{
	return lmpi_net_drained() && lmpi_streams_drained() && lmpi_tcp_drained();
}

void
lmpi_tp_sleep(uint64_t deadline_ns)
{
	struct pollfd fd[4];
	nfds_t n = 0;
	int streams = -1;
	uint64_t now = suci_udp_now_ns(), until = base_min_ns(deadline_ns, lmpi_net_expiry_ns());
	struct timespec ts;

	until = base_min_ns(until, lmpi_streams_expiry_ns());
	if (until <= now || !lmpi_shm_doze()) {
		lmpi_lock_retake(lmpi_lock_drop()); /* others get their turn all the same */
		return;
	}
	uint64_t left = until - now;
	ts.tv_sec = (time_t)(left / BASE_S_NS);
	ts.tv_nsec = (long)(left % BASE_S_NS);
	if (lmpi_bell_fd() >= 0)
		fd[n++] = (struct pollfd){.fd = lmpi_bell_fd(), .events = POLLIN};
	short events;
	int net = lmpi_net_fd(&events);
	if (net >= 0)
		fd[n++] = (struct pollfd){.fd = net, .events = events};
	if (lmpi_tcp_fd() >= 0)
		fd[n++] = (struct pollfd){.fd = lmpi_tcp_fd(), .events = POLLIN};
	if (lmpi_streams_fd() >= 0) {
		streams = (int)n;
		fd[n++] = (struct pollfd){.fd = lmpi_streams_fd(), .events = POLLIN};
	}
	unsigned depth = lmpi_lock_drop();
	int r = ppoll(fd, n, until == BASE_NEVER_NS ? NULL : &ts, NULL);
	lmpi_lock_retake(depth);
	lmpi_shm_awake();
	if (r > 0 && streams >= 0 && fd[streams].revents)
		lmpi_streams_hear();
	if (r > 0 && lmpi_bell_fd() >= 0 && (fd[0].revents & POLLIN))
		lmpi_bell_hush();
}

void
lmpi_tp_wake(void)
{
	lmpi_bell_ring_me();
}

void
lmpi_tp_watch(uint64_t since_ns, uint64_t now_ns)
{
	/* With other threads about, relays are looked after when the sleep is over. */
	if (!lmpi_lock_shared)
		lmpi_net_watch(since_ns, now_ns);
	lmpi_tcp_watch(since_ns, now_ns);
}

void
lmpi_tp_watch_relays(uint64_t since_ns, uint64_t now_ns)
{
	lmpi_net_watch(since_ns, now_ns);
}

uint64_t
lmpi_tp_short_since_ns(void)
{
	return lmpi_net_short_since_ns();
}

void
lmpi_tp_tell_abort(const char *why, uint64_t limit_ns)
{
	lmpi_net_tell_abort(why, limit_ns);
}

void
lmpi_tp_shun(uint32_t world)
{
	if (lmpi_route[world].reach == LMPI_REACH_SHM)
		lmpi_shm_shun(&lmpi_eng.peer[world]);
	lmpi_streams_shun(world);
	if (lmpi_route[world].reach != LMPI_REACH_TCP)
		lmpi_net_shun(world);
}

void
lmpi_tp_survive(void)
{
	lmpi_net_survive();
}

bool
lmpi_tp_near(void)
{
	return lmpi_shm_in_use();
}

int
lmpi_tp_cores(void)
{
	return lmpi_shm_cores();
}
