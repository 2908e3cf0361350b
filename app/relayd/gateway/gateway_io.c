/* SPDX-License-Identifier: BSD-2-Clause */
/* The gateway's sockets: channels, listening gates, guests. */
#include "gateway.h"

#include "base/clock.h"
#include "driver/accept.h"
#include "sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define NONE	  UINT32_MAX
#define GUEST_NS  (10 * BASE_S_NS)
#define DEAD_MS	  20000
#define ACCEPTS	  16 /* in a turn */
#define CHECK_NS  BASE_S_NS
#define CHECK_MAX 1024 /* sockets asked for their health in a turn */

/* What epoll gives back.  The generation tells a descriptor's events from those of the
 * one that had its place before. */
enum key_kind { KEY_WAKE = 0, KEY_SOCK = 1, KEY_LISTENER = 2, KEY_GUEST = 3, KEY_TAP = 4 };

static uint64_t
flow_key_of(enum key_kind kind, uint32_t index, uint32_t gen)
{
	return (uint64_t)kind << 60 | (uint64_t)index << 32 | gen;
}

static int
watch_socket(struct rd_gateway *g, int op, int fd, uint32_t events, uint64_t key)
{
	struct epoll_event e = {.events = events, .data.u64 = key};
	return epoll_ctl(g->epoll, op, fd, &e) ? -errno : 0;
}

/* The device that a gate's sockets are bound to; NULL: the machine's own interfaces. */
static const char *
device_of(const struct rd_gateway *g, uint32_t local_ip)
{
	bool global = local_ip == g->gate_global;
	uint32_t via = global ? g->conf->gateway.global_via : g->conf->gateway.private_via;
	return via == RD_VIA_HOST ? NULL : g->tap[global ? RD_LEG_GLOBAL : RD_LEG_PRIVATE];
}

/* ---- a channel's socket ---------------------------------------------------------- */

static void
sock_events(struct rd_gateway *g, uint32_t channel, uint32_t events)
{
	struct rd_gw_sock *s = &g->sock[channel];
	if (s->fd < 0 || (s->in_epoll && s->events == events))
		return;
	if (watch_socket(g, s->in_epoll ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, events,
			 flow_key_of(KEY_SOCK, channel, s->gen)) == 0) {
		s->in_epoll = true;
		s->events = events;
	}
}

static void
sock_drop(struct rd_gateway *g, uint32_t channel)
{
	struct rd_gw_sock *s = &g->sock[channel];
	if (s->fd < 0)
		return;
	close(s->fd); /* leaves the epoll set with it */
	s->fd = -1;
	s->gen++;
	s->events = 0;
	s->in_epoll = s->connecting = false;
}

static void
mark_dirty(struct rd_gateway *g, uint32_t channel)
{
	struct rd_gw_sock *s = &g->sock[channel];
	if (s->dirty)
		return;
	s->dirty = true;
	g->dirty[g->ndirty++] = channel;
}

/* lib/gateway is told later: it may be in the middle of a call of ours. */
static void
open_failed(struct rd_gateway *g, uint32_t channel, int error)
{
	struct rd_gw_sock *s = &g->sock[channel];
	s->error = error;
	if (s->failed)
		return;
	s->failed = true;
	g->failed[g->nfailed++] = channel;
}

/* ---- listening -------------------------------------------------------------------- */

static uint32_t
find_listener(const struct rd_gateway *g, uint32_t ip, uint16_t port)
{
	uint32_t free_one = NONE;
	for (uint32_t i = 0; i < g->nsocks; i++) {
		const struct rd_gw_listener *l = &g->listener[i];
		if (l->fd >= 0 && l->ip == ip && l->port == port)
			return i;
		if (l->fd < 0 && free_one == NONE)
			free_one = i;
	}
	return free_one; /* there are as many as channels */
}

static int
listen_at(struct rd_gateway *g, uint32_t i, uint32_t ip, uint16_t port)
{
	struct rd_gw_listener *l = &g->listener[i];
	int fd = rd_sock_listen(device_of(g, ip), ip, port);
	if (fd < 0)
		return fd;
	l->gen++;
	int e = watch_socket(g, EPOLL_CTL_ADD, fd, EPOLLIN, flow_key_of(KEY_LISTENER, i, l->gen));
	if (e) {
		close(fd);
		return e;
	}
	l->fd = fd;
	l->ip = ip;
	l->port = port;
	l->users = 0;
	l->paused = false;
	return 0;
}

static void
open_listening(struct rd_gateway *g, uint32_t channel, const struct gw_channel_info *info)
{
	uint32_t i = find_listener(g, info->local_ip, info->local_port);
	int e = g->listener[i].fd >= 0 ? 0 : listen_at(g, i, info->local_ip, info->local_port);
	if (e == 0) {
		g->listener[i].users++;
		g->sock[channel].listener = i;
		return;
	}
	char a[RD_IPV4_TEXT];
	snprintf(g->listen_error, sizeof g->listen_error,
		 "gateway: cannot listen on %s port %u: %s%s", rd_ipv4_text(info->local_ip, a),
		 info->local_port, strerror(-e),
		 e == -EADDRNOTAVAIL ? "; it is not an address of this machine" : "");
}

static void
guest_drop(struct rd_gateway *g, uint32_t i)
{
	struct rd_gw_guest *u = &g->guest[i];
	if (u->fd < 0)
		return;
	close(u->fd);
	u->fd = -1;
	u->gen++;
	g->nguests--;
}

static void
listener_leave(struct rd_gateway *g, uint32_t i)
{
	struct rd_gw_listener *l = &g->listener[i];
	if (--l->users)
		return;
	for (uint32_t k = 0; k < RD_GUESTS_MAX; k++)
		if (g->guest[k].fd >= 0 && g->guest[k].listener == i)
			guest_drop(g, k);
	close(l->fd);
	l->fd = -1;
	l->gen++;
}

/* ---- ops ------------------------------------------------------------------------------ */

void
rd_gw_io_open(struct rd_gateway *g, uint32_t channel)
{
	struct rd_gw_sock *s = &g->sock[channel];
	struct gw_channel_info info;
	if (!gw_channel(g->gw, channel, &info))
		return;
	sock_drop(g, channel);
	s->open = true;
	if (!info.connects) {
		if (s->listener == NONE)
			open_listening(g, channel, &info);
		return;
	}
	g->count.connects++;
	int fd = rd_sock_connect(device_of(g, info.local_ip), info.local_ip, info.remote_ip,
				 info.remote_port, false);
	if (fd < 0) {
		open_failed(g, channel, -fd);
		return;
	}
	s->fd = fd;
	s->connecting = true;
	sock_events(g, channel, EPOLLOUT);
}

void
rd_gw_io_close(struct rd_gateway *g, uint32_t channel)
{
	struct rd_gw_sock *s = &g->sock[channel];
	sock_drop(g, channel);
	if (s->listener != NONE)
		listener_leave(g, s->listener);
	s->listener = NONE;
	s->open = false;
	s->error = 0;
}

void
rd_gw_io_writable(struct rd_gateway *g, uint32_t channel)
{
	/* With EPOLLOUT asked for, the socket is full: epoll will say when it is not. */
	if (!(g->sock[channel].in_epoll && g->sock[channel].events & EPOLLOUT))
		mark_dirty(g, channel);
}

void
rd_gw_io_readable(struct rd_gateway *g, uint32_t channel)
{
	struct rd_gw_sock *s = &g->sock[channel];
	if (s->fd >= 0 && !s->connecting)
		sock_events(g, channel, (s->in_epoll ? s->events : 0) | EPOLLIN);
}

/* ---- reading, writing ---------------------------------------------------------------- */

static bool
same(const struct rd_gateway *g, uint32_t channel, uint32_t gen)
{
	return g->sock[channel].fd >= 0 && g->sock[channel].gen == gen;
}

static void
sock_lost(struct rd_gateway *g, uint32_t channel, const char *text)
{
	sock_drop(g, channel);
	gw_channel_eof(g->gw, channel, text, g->now_ns);
}

/* A socket that is not read must not be reported for a hang-up all the time either. */
static void
pause_reading(struct rd_gateway *g, uint32_t channel, bool hung_up)
{
	struct rd_gw_sock *s = &g->sock[channel];
	if (!hung_up) {
		sock_events(g, channel, s->events & ~(uint32_t)EPOLLIN);
		return;
	}
	(void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	s->in_epoll = false;
	s->events = 0;
}

static void
sock_read(struct rd_gateway *g, uint32_t channel, bool hung_up)
{
	struct rd_gw_sock *s = &g->sock[channel];
	uint32_t gen = s->gen;
	size_t left = RD_GW_READ_BYTES;
	while (left > 0 && same(g, channel, gen)) {
		struct iovec iov[2];
		int n = gw_channel_rx_space(g->gw, channel, iov);
		if (n == 0) {
			pause_reading(g, channel, hung_up);
			return;
		}
		size_t room = iov[0].iov_len + (n > 1 ? iov[1].iov_len : 0);
		g->count.read_calls++;
		ssize_t r = readv(s->fd, iov, n);
		if (r > 0) {
			gw_channel_rx(g->gw, channel, (size_t)r, g->now_ns);
			if ((size_t)r < room && !hung_up) { /* that was all there was */
				if (same(g, channel, gen))
					rd_sock_quick_ack(s->fd);
				return;
			}
			left -= (size_t)r < left ? (size_t)r : left;
		} else if (r == 0) {
			sock_lost(g, channel, NULL);
			return;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			sock_lost(g, channel, strerror(errno));
			return;
		}
	}
}

/* Returns whether more could be written. */
static bool
sock_write(struct rd_gateway *g, uint32_t channel)
{
	struct rd_gw_sock *s = &g->sock[channel];
	uint32_t gen = s->gen;
	size_t left = RD_GW_WRITE_BYTES;
	while (left > 0 && same(g, channel, gen) && !s->connecting) {
		struct iovec iov[GW_IOV_MAX];
		int n = gw_channel_tx(g->gw, channel, iov, GW_IOV_MAX);
		if (n == 0) {
			sock_events(g, channel, s->events & ~(uint32_t)EPOLLOUT);
			return false;
		}
		g->count.write_calls++;
		ssize_t w = writev(s->fd, iov, n); /* SIGPIPE is ignored */
		if (w > 0) {
			gw_channel_txed(g->gw, channel, (size_t)w, g->now_ns);
			left -= (size_t)w < left ? (size_t)w : left;
		} else if (w < 0 && errno == EAGAIN) {
			sock_events(g, channel, s->events | EPOLLOUT);
			return false;
		} else if (w < 0 && errno != EINTR) {
			sock_lost(g, channel, strerror(errno));
			return false;
		}
	}
	return left == 0 && same(g, channel, gen);
}

uint32_t
rd_gw_flush(struct rd_gateway *g)
{
	/* Writing may make further channels dirty, these and others: next turn. */
	uint32_t n = g->ndirty, kept = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t channel = g->dirty[i];
		g->sock[channel].dirty = false;
		if (sock_write(g, channel))
			mark_dirty(g, channel);
	}
	kept = g->ndirty - n;
	memmove(g->dirty, g->dirty + n, kept * sizeof *g->dirty);
	g->ndirty = kept;
	return n;
}

static void
connected(struct rd_gateway *g, uint32_t channel)
{
	struct rd_gw_sock *s = &g->sock[channel];
	int e = rd_sock_error(s->fd);
	if (e) {
		sock_drop(g, channel);
		open_failed(g, channel, -e);
		return;
	}
	s->connecting = false;
	sock_events(g, channel, EPOLLIN);
	gw_channel_connected(g->gw, channel, g->now_ns);
	mark_dirty(g, channel);
}

static void
sock_ready(struct rd_gateway *g, uint32_t channel, uint32_t events)
{
	struct rd_gw_sock *s = &g->sock[channel];
	uint32_t gen = s->gen;
	if (s->connecting) {
		connected(g, channel);
		return;
	}
	if (events & EPOLLOUT) {
		sock_events(g, channel, s->events & ~(uint32_t)EPOLLOUT);
		mark_dirty(g, channel);
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && same(g, channel, gen))
		sock_read(g, channel, events & (EPOLLHUP | EPOLLERR));
}

/* ---- guests ---------------------------------------------------------------------------- */

static uint32_t
guest_slot(struct rd_gateway *g)
{
	uint32_t oldest = 0;
	for (uint32_t i = 0; i < RD_GUESTS_MAX; i++) {
		if (g->guest[i].fd < 0)
			return i;
		if (g->guest[i].until_ns < g->guest[oldest].until_ns)
			oldest = i;
	}
	/* A host says who it is at once: the oldest is not one. */
	g->count.drop_guest_full++;
	guest_drop(g, oldest);
	return oldest;
}

/* It is a channel's now. */
static void
adopt(struct rd_gateway *g, struct rd_gw_guest *u, uint32_t channel)
{
	struct rd_gw_sock *s = &g->sock[channel];
	int fd = u->fd;
	u->fd = -1;
	u->gen++;
	g->nguests--;
	(void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, fd, NULL);
	if (!s->open) { /* it ended in the same call */
		close(fd);
		return;
	}
	sock_drop(g, channel);
	s->fd = fd;
	sock_events(g, channel, EPOLLIN);
	mark_dirty(g, channel);
}

static void
guest_ready(struct rd_gateway *g, uint32_t i)
{
	struct rd_gw_guest *u = &g->guest[i];
	const struct rd_gw_listener *l = &g->listener[u->listener];
	while (u->nsaid < sizeof u->said) {
		ssize_t n = recv(u->fd, u->said + u->nsaid, sizeof u->said - u->nsaid, 0);
		if (n > 0) {
			u->nsaid = (uint8_t)(u->nsaid + n);
		} else if (n < 0 && errno == EINTR) {
			continue;
		} else if (n < 0 && errno == EAGAIN) {
			return;
		} else {
			g->count.drop_guest_eof++;
			guest_drop(g, i);
			return;
		}
	}
	uint32_t channel = gw_accept(g->gw, l->ip, l->port, u->remote_ip, u->said, g->now_ns);
	if (u->fd < 0)
		return; /* gw_accept ended the job, and its gates with it */
	if (channel < g->nsocks) {
		adopt(g, u, channel);
		return;
	}
	char a[RD_IPV4_TEXT], b[RD_IPV4_TEXT];
	rd_gw_text(g,
		   "gateway: connection from %s to %s port %u closed: it says %02x%02x%02x%02x, "
		   "which is no host expected there",
		   rd_ipv4_text(u->remote_ip, a), rd_ipv4_text(l->ip, b), l->port, u->said[0],
		   u->said[1], u->said[2], u->said[3]);
	guest_drop(g, i);
}

/* Out of descriptors or memory: epoll would name it again and again. */
static void
pause_listener(struct rd_gateway *g, uint32_t i)
{
	struct rd_gw_listener *l = &g->listener[i];
	g->count.drop_accept++;
	l->paused = true;
	(void)watch_socket(g, EPOLL_CTL_MOD, l->fd, 0, flow_key_of(KEY_LISTENER, i, l->gen));
}

static void
resume_listeners(struct rd_gateway *g)
{
	for (uint32_t i = 0; i < g->nsocks; i++) {
		struct rd_gw_listener *l = &g->listener[i];
		if (l->fd >= 0 && l->paused &&
		    watch_socket(g, EPOLL_CTL_MOD, l->fd, EPOLLIN,
				 flow_key_of(KEY_LISTENER, i, l->gen)) == 0)
			l->paused = false;
	}
}

static void
accept_guests(struct rd_gateway *g, uint32_t listener)
{
	struct rd_gw_listener *l = &g->listener[listener];
	for (int k = 0; k < ACCEPTS && l->fd >= 0; k++) {
		struct sockaddr_in sin = {0};
		socklen_t len = sizeof sin;
		bool pause;
		int fd = process_accept(l->fd, (struct sockaddr *)&sin, &len, &pause);
		if (fd < 0) {
			if (pause)
				pause_listener(g, listener);
			return;
		}
		g->count.accepted++;
		uint32_t i = guest_slot(g);
		struct rd_gw_guest *u = &g->guest[i];
		rd_sock_tune(fd, false);
		if (watch_socket(g, EPOLL_CTL_ADD, fd, EPOLLIN,
				 flow_key_of(KEY_GUEST, i, u->gen))) {
			g->count.drop_accept++;
			close(fd);
			continue;
		}
		*u = (struct rd_gw_guest){
			.fd = fd,
			.gen = u->gen,
			.listener = listener,
			.remote_ip = ntohl(sin.sin_addr.s_addr),
			.until_ns = g->now_ns + GUEST_NS,
		};
		g->nguests++;
		guest_ready(g, i); /* it has often said it already */
	}
}

int
rd_gw_watch_tap(struct rd_gateway *g, int leg)
{
	return watch_socket(g, EPOLL_CTL_ADD, g->taps->fd[leg], EPOLLIN,
			    flow_key_of(KEY_TAP, (uint32_t)leg, 0));
}

/* ---- from the loop ------------------------------------------------------------------------ */

/* Somebody has deleted the interface: epoll would say so for ever.  Control closes it. */
static void
tap_gone(struct rd_gateway *g, int leg)
{
	(void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, g->taps->fd[leg], NULL);
	rd_gw_text(g,
		   "TAP %s was deleted: TCP over the %s leg is dead until relayd is started again",
		   g->tap[leg], rd_leg_names[leg]);
}

void
rd_gw_ready(struct rd_gateway *g, uint64_t key, uint32_t events)
{
	uint32_t index = (uint32_t)(key >> 32) & 0xfffffffu, gen = (uint32_t)key;
	switch ((enum key_kind)(key >> 60)) {
	case KEY_SOCK:
		if (same(g, index, gen))
			sock_ready(g, index, events);
		break;
	case KEY_LISTENER:
		if (g->listener[index].fd >= 0 && g->listener[index].gen == gen)
			accept_guests(g, index);
		break;
	case KEY_GUEST:
		if (g->guest[index].fd >= 0 && g->guest[index].gen == gen)
			guest_ready(g, index);
		break;
	case KEY_TAP:
		g->tap_ready[index] = true;
		if (events & EPOLLERR)
			tap_gone(g, (int)index);
		break;
	case KEY_WAKE: /* rd_wake_awake reads it */
		break;
	}
}

static void
tell_failed(struct rd_gateway *g)
{
	/* Failing again right away adds to the list: next turn. */
	uint32_t n = g->nfailed;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t channel = g->failed[i];
		struct rd_gw_sock *s = &g->sock[channel];
		s->failed = false;
		if (!s->open || s->fd >= 0 || !s->error)
			continue;
		g->count.connect_errors++;
		gw_channel_connect_failed(g->gw, channel, strerror(s->error), g->now_ns);
	}
	memmove(g->failed, g->failed + n, (g->nfailed - n) * sizeof *g->failed);
	g->nfailed -= n;
}

/* Hosts whose machine is gone while bytes for it wait: TCP alone takes a quarter of an
 * hour.  Idle connections have keepalive. */
static void
check_health(struct rd_gateway *g)
{
	uint32_t n = g->nsocks < CHECK_MAX ? g->nsocks : CHECK_MAX;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t channel = g->check_next;
		g->check_next = (channel + 1) % g->nsocks;
		const struct rd_gw_sock *s = &g->sock[channel];
		if (s->fd >= 0 && !s->connecting && rd_sock_dead(s->fd, DEAD_MS))
			sock_lost(g, channel, "its machine does not answer any more");
	}
}

void
rd_gw_io_tick(struct rd_gateway *g)
{
	if (g->nfailed)
		tell_failed(g);
	if (g->now_ns >= g->check_ns) {
		g->check_ns = g->now_ns + CHECK_NS;
		check_health(g);
		resume_listeners(g);
	}
	for (uint32_t i = 0; g->nguests && i < RD_GUESTS_MAX; i++)
		if (g->guest[i].fd >= 0 && g->now_ns >= g->guest[i].until_ns) {
			g->count.drop_guest_late++;
			guest_drop(g, i);
		}
}

uint64_t
rd_gw_io_expiry_ns(const struct rd_gateway *g)
{
	if (g->ndirty || g->nfailed)
		return g->now_ns;
	uint64_t next = g->check_ns;
	for (uint32_t i = 0; g->nguests && i < RD_GUESTS_MAX; i++)
		if (g->guest[i].fd >= 0)
			next = base_min_ns(next, g->guest[i].until_ns);
	return next;
}

void
rd_gw_io_close_all(struct rd_gateway *g)
{
	for (uint32_t i = 0; i < RD_GUESTS_MAX; i++)
		guest_drop(g, i);
	for (uint32_t i = 0; i < g->nsocks; i++)
		rd_gw_io_close(g, i);
}
