/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress and waiting.  Who waits looks again and again for a little while, longer where
 * that paid before, and then sleeps on the socket. */
#include "datagram_internal.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <time.h>

#define SPIN_MIN_NS 4000u

bool
datagram_turn(struct datagram_sock *s)
{
	s->now_ns = suci_udp_now_ns();
	bool moved = suci_udp_poll(s->udp, s->now_ns);
	if (s->pending && s->now_ns >= s->pending_at_ns)
		datagram_peers_pump(s);
	if (s->now_ns >= s->door.due_ns)
		datagram_door_turn(s);
	if (s->notes)
		datagram_peers_answer(s);
	if (s->dirty) {
		s->dirty = false;
		moved |= suci_udp_tx(s->udp, s->now_ns);
	}
	return moved;
}

void
datagram_kick(struct datagram_sock *s)
{
	if (!s->dirty)
		return;
	s->dirty = false;
	suci_udp_tx(s->udp, suci_udp_now_ns());
}

uint64_t
datagram_deadline_of(long sec, long usec)
{
	if (sec < 0)
		return BASE_NEVER_NS;
	uint64_t wait =
		base_add_ns((uint64_t)sec * BASE_S_NS, usec > 0 ? (uint64_t)usec * 1000u : 0);
	if ((uint64_t)sec > UINT64_MAX / BASE_S_NS / 2)
		return BASE_NEVER_NS;
	/* Only a look: no clock is read. */
	return wait ? base_add_ns(suci_udp_now_ns(), wait) : 0;
}

/* Nothing has to be done before this time if nothing comes. */
static uint64_t
next_ns(const struct datagram_sock *s)
{
	uint64_t at = base_min_ns(suci_expiry_ns(s->ep), s->door.due_ns);
	return s->pending ? base_min_ns(at, s->pending_at_ns) : at;
}

/* -1: a signal. */
static int
sleep_until(struct datagram_sock *s, uint64_t until_ns)
{
	struct pollfd p = {.fd = suci_udp_fd(s->udp), .events = suci_udp_events(s->udp)};
	struct timespec ts, *wait = NULL;
	until_ns = base_min_ns(until_ns, next_ns(s));
	if (until_ns != BASE_NEVER_NS) {
		uint64_t now = suci_udp_now_ns(), left = until_ns > now ? until_ns - now : 0;
		ts.tv_sec = (time_t)(left / BASE_S_NS);
		ts.tv_nsec = (long)(left % BASE_S_NS);
		wait = &ts;
	}
	return ppoll(&p, 1, wait, NULL) < 0 && errno == EINTR ? -1 : 0;
}

int
datagram_wait_until(struct datagram_sock *s, bool (*ready)(struct datagram_sock *s, void *arg),
		    void *arg, uint64_t deadline_ns, bool (*interruptible)(struct datagram_sock *s))
{
	uint64_t idle_since = 0;
	bool slept = false;
	int r = 1;

	for (;;) {
		bool moved = datagram_turn(s);
		if (ready(s, arg))
			break;
		if (s->now_ns >= deadline_ns) {
			r = 0;
			break;
		}
		if (moved || !idle_since) {
			idle_since = s->now_ns;
			continue;
		}
		if (s->now_ns - idle_since < s->spin_ns) {
			sched_yield();
			continue;
		}
		slept = true;
		if (sleep_until(s, deadline_ns) < 0 && (!interruptible || interruptible(s))) {
			r = datagram_fail(s, EINTR, "interrupted by a signal");
			break;
		}
		idle_since = suci_udp_now_ns();
	}
	/* Spin longer where that paid, shorter where we slept anyway. */
	if (slept)
		s->spin_ns = base_max_ns(s->spin_ns / 2, base_min_ns(SPIN_MIN_NS, s->spin_ns_max));
	else
		s->spin_ns = base_min_ns(2 * s->spin_ns + 500, s->spin_ns_max);
	return r;
}

void
datagram_settle(struct datagram_sock *s)
{
	const struct suci_udp_counters *c = suci_udp_counters(s->udp);
	uint64_t rx = c->rx_datagrams - s->rx_mark, tx = c->tx_datagrams - s->tx_mark;
	/* One datagram without an answer is usually answered by what the program writes
	 * next, and its ack rides along. */
	if (rx > tx + 1) {
		suci_flush_acks(s->ep);
		s->dirty = true;
	}
	datagram_kick(s);
	s->rx_mark = c->rx_datagrams;
	s->tx_mark = c->tx_datagrams;
}

/* ---- event loops ---- */

int
datagram_progress(struct datagram_sock *s)
{
	if (datagram_enter(s))
		return -1;
	bool moved = datagram_turn(s);
	datagram_settle(s);
	return moved;
}

int
datagram_fd(const struct datagram_sock *s)
{
	return suci_udp_fd(s->udp);
}

short
datagram_events(const struct datagram_sock *s)
{
	return suci_udp_events(s->udp);
}

int
datagram_timeout(struct datagram_sock *s)
{
	uint64_t at = next_ns(s), now = suci_udp_now_ns();
	if (at == BASE_NEVER_NS)
		return -1;
	if (at <= now)
		return 0;
	uint64_t ms = (at - now + BASE_MS_NS - 1) / BASE_MS_NS;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}
