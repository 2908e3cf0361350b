/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - a session of lib/ocs/protocols over TCP: connect or be called, send, receive,
 * begin again; see driver.h. */
#include "driver.h"

#include "base/clock.h"
#include "driver/accept.h"
#include "ocsproto/ocsproto.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_NS (5 * BASE_S_NS)
#define READS_MAX  64 /* of 16 KiB in one turn */
#define OUT_BYTES  16384u
#define PAUSE_NS   (200 * BASE_MS_NS) /* of a listener without descriptors */
#define ADDRESSES  4u

enum link { DOWN, CONNECTING, OPEN };

struct stream {
	struct ocs_driver d; /* first */
	struct ocs_switch *sw;
	struct ocsdrv_secret secret;
	struct ocsdrv_pause pause;
	bool listens;
	int epoll, listener, fd;
	uint64_t listen_ns; /* the listener is watched again; BASE_NEVER_NS: it is */
	enum link link;
	uint64_t at_ns; /* DOWN: try again; CONNECTING: give up */
	struct sockaddr_storage addr[ADDRESSES];
	socklen_t addr_len[ADDRESSES];
	uint32_t naddr, next_addr;
	uint32_t interest;
	size_t out_at, out_len;
	bool worked; /* this session answered: the next pause is short again */
	char trouble[OCS_DRIVER_WHY];
	uint8_t out[OUT_BYTES];
};

static struct stream *
stream_of(struct ocs_driver *d)
{
	return (struct stream *)(void *)d;
}

static void
watch_events(struct stream *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = s->fd};
	if (s->interest != events && epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->fd, &ev) == 0)
		s->interest = events;
}

static void
adopt_socket(struct stream *s, int fd, uint32_t events)
{
	int one = 1, limit_ms = 15000;
	struct epoll_event ev = {.events = events, .data.fd = fd};
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
	s->fd = fd;
	s->interest = events;
	s->out_at = s->out_len = 0;
	s->worked = false;
}

static void
stream_hang_up(struct stream *s, uint64_t now_ns, const char *why)
{
	if (s->link == OPEN)
		s->sw->ops->disconnected(s->sw, now_ns);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->link = DOWN;
	if (s->worked)
		ocsdrv_pause_reset(&s->pause);
	s->at_ns =
		s->listens ? BASE_NEVER_NS : base_add_ns(now_ns, ocsdrv_pause_next_ns(&s->pause));
	snprintf(s->trouble, sizeof s->trouble, "%s", why);
}

static void
begin_session(struct stream *s, uint64_t now_ns)
{
	s->link = OPEN;
	s->at_ns = BASE_NEVER_NS;
	watch_events(s, EPOLLIN);
	s->sw->ops->connected(s->sw, now_ns);
}

static void
call_switch(struct stream *s, uint64_t now_ns)
{
	uint32_t i = s->next_addr++ % s->naddr;
	int fd = socket(s->addr[i].ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		stream_hang_up(s, now_ns, strerror(errno));
		return;
	}
	adopt_socket(s, fd, EPOLLOUT);
	s->link = CONNECTING;
	s->at_ns = base_add_ns(now_ns, CONNECT_NS);
	if (connect(fd, (const struct sockaddr *)&s->addr[i], s->addr_len[i]) == 0)
		begin_session(s, now_ns);
	else if (errno != EINPROGRESS)
		stream_hang_up(s, now_ns, strerror(errno));
}

static void
watch_callers(struct stream *s, uint32_t events, uint64_t until_ns)
{
	struct epoll_event ev = {.events = events, .data.fd = s->listener};
	if (epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->listener, &ev) == 0)
		s->listen_ns = until_ns;
}

/* A switch that calls again has lost the session before. */
static void
take_callers(struct stream *s, uint64_t now_ns)
{
	bool pause;
	int fd;
	if (s->listen_ns != BASE_NEVER_NS) {
		if (now_ns < s->listen_ns)
			return;
		watch_callers(s, EPOLLIN, BASE_NEVER_NS);
	}
	while ((fd = process_accept(s->listener, NULL, NULL, &pause)) >= 0) {
		if (s->link == OPEN)
			stream_hang_up(s, now_ns, "the switch called again");
		adopt_socket(s, fd, EPOLLIN);
		begin_session(s, now_ns);
	}
	if (pause) {
		snprintf(s->trouble, sizeof s->trouble, "accept: %s", strerror(errno));
		watch_callers(s, 0, base_add_ns(now_ns, PAUSE_NS));
	}
}

static void
send_all_stream(struct stream *s, uint64_t now_ns)
{
	for (;;) {
		if (s->out_at == s->out_len) {
			s->out_at = 0;
			s->out_len = s->sw->ops->tx(s->sw, s->out, sizeof s->out, now_ns);
			if (s->out_len == 0)
				break;
		}
		ssize_t n = send(s->fd, s->out + s->out_at, s->out_len - s->out_at, MSG_NOSIGNAL);
		if (n < 0) {
			if (errno == EAGAIN) {
				watch_events(s, EPOLLIN | EPOLLOUT);
				return;
			}
			stream_hang_up(s, now_ns, strerror(errno));
			return;
		}
		s->out_at += (size_t)n;
	}
	watch_events(s, EPOLLIN);
}

static void
receive_bytes(struct stream *s, uint64_t now_ns)
{
	uint8_t buf[16384];
	for (int i = 0; i < READS_MAX && s->link == OPEN; i++) {
		ssize_t n = recv(s->fd, buf, sizeof buf, 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			stream_hang_up(s, now_ns, n < 0 ? strerror(errno) : "the switch hung up");
			return;
		}
		s->sw->ops->rx(s->sw, buf, (size_t)n, now_ns);
		if (ocsproto_is_broken(s->sw))
			return;
	}
}

static void
check_connect(struct stream *s, uint64_t now_ns)
{
	int err = 0;
	socklen_t len = sizeof err;
	struct sockaddr_storage peer;
	socklen_t peer_len = sizeof peer;
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0 || err)
		stream_hang_up(s, now_ns, strerror(err));
	else if (getpeername(s->fd, (struct sockaddr *)&peer, &peer_len) == 0)
		begin_session(s, now_ns);
	else if (now_ns >= s->at_ns)
		stream_hang_up(s, now_ns, "no answer to the call");
}

static void
stream_send(struct ocs_driver *d, uint64_t now_ns)
{
	struct stream *s = stream_of(d);
	if (s->link == OPEN && !ocsproto_is_broken(s->sw))
		send_all_stream(s, now_ns);
}

static void
stream_turn(struct ocs_driver *d, uint64_t now_ns)
{
	struct stream *s = stream_of(d);
	if (s->listens)
		take_callers(s, now_ns);
	if (s->link == CONNECTING)
		check_connect(s, now_ns);
	else if (s->link == DOWN && now_ns >= s->at_ns)
		call_switch(s, now_ns);
	if (s->link != OPEN)
		return;
	receive_bytes(s, now_ns);
	if (s->link == OPEN)
		s->sw->ops->tick(s->sw, now_ns);
	stream_send(d, now_ns);
	if (s->link == OPEN && ocsproto_is_broken(s->sw))
		stream_hang_up(s, now_ns, "the session broke; see its last event");
	if (s->link == OPEN && ocsproto_is_up(s->sw)) {
		s->worked = true;
		s->trouble[0] = 0;
	}
}

static uint64_t
stream_expiry(const struct ocs_driver *d)
{
	const struct stream *s = (const struct stream *)(const void *)d;
	uint64_t at_ns = s->link == OPEN ? s->sw->ops->expiry_ns(s->sw) : s->at_ns;
	return base_min_ns(at_ns, s->listen_ns);
}

static int
stream_fd(const struct ocs_driver *d)
{
	return ((const struct stream *)(const void *)d)->epoll;
}

static struct ocs_switch *
stream_switch(struct ocs_driver *d)
{
	return stream_of(d)->sw;
}

static const char *
stream_trouble(const struct ocs_driver *d)
{
	return ((const struct stream *)(const void *)d)->trouble;
}

static void
stream_close(struct ocs_driver *d)
{
	struct stream *s = stream_of(d);
	if (s->fd >= 0)
		close(s->fd);
	if (s->listener >= 0)
		close(s->listener);
	if (s->epoll >= 0)
		close(s->epoll);
	ocsdrv_secret_wipe(&s->secret);
	free(s->sw);
	free(s);
}

/* ---- opening ---- */

static bool
resolve_host(struct stream *s, const char *host, const char *port, char why[OCS_DRIVER_WHY])
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *a;
	hints.ai_flags = s->listens ? AI_PASSIVE | AI_NUMERICSERV : AI_NUMERICSERV;
	int err = getaddrinfo(host, port, &hints, &list);
	if (err) {
		snprintf(why, OCS_DRIVER_WHY, "%.80s: %s", host, gai_strerror(err));
		return false;
	}
	for (a = list; a && s->naddr < ADDRESSES; a = a->ai_next) {
		memcpy(&s->addr[s->naddr], a->ai_addr, a->ai_addrlen);
		s->addr_len[s->naddr++] = a->ai_addrlen;
	}
	freeaddrinfo(list);
	return true;
}

static bool
listen_at_stream(struct stream *s, const char *address, char why[OCS_DRIVER_WHY])
{
	int one = 1;
	struct epoll_event ev = {.events = EPOLLIN};
	s->listener = socket(s->addr[0].ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->listener < 0 ||
	    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
	    bind(s->listener, (const struct sockaddr *)&s->addr[0], s->addr_len[0]) != 0 ||
	    listen(s->listener, 4) != 0) {
		snprintf(why, OCS_DRIVER_WHY, "listen at %s: %s", address, strerror(errno));
		return false;
	}
	ev.data.fd = s->listener;
	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &ev) == 0;
}

static bool
make_session(struct stream *s, const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY])
{
	struct ocsproto_config c = {
		.kind = ocsproto_by_name(cfg->protocol),
		.ports = cfg->ports,
		.batch = cfg->batch,
		.names = cfg->names,
		.user = cfg->credentials ? s->secret.user : NULL,
		.password = s->secret.password,
		.group = cfg->group,
		.cookie = cfg->cookie,
		.answer_ns = cfg->answer_ns,
		.keepalive_ns = cfg->keepalive_ns,
	};
	size_t bytes = ocsproto_footprint(&c);
	void *mem = bytes ? malloc(bytes) : NULL;
	if (!bytes)
		snprintf(why, OCS_DRIVER_WHY, "ports or batch out of range, or names missing");
	else if (!mem)
		snprintf(why, OCS_DRIVER_WHY, "no memory");
	s->sw = mem ? ocsproto_new(mem, &c) : NULL;
	return s->sw != NULL;
}

static const struct ocs_driver_ops stream_ops = {
	.close = stream_close,
	.sw = stream_switch,
	.fd = stream_fd,
	.expiry_ns = stream_expiry,
	.turn = stream_turn,
	.send = stream_send,
	.trouble = stream_trouble,
};

struct ocs_driver *
ocsdrv_stream_open(const struct ocs_driver_config *cfg, char why[OCS_DRIVER_WHY])
{
	char host[256], port[8];
	const char *address = cfg->address;
	struct stream *s = calloc(1, sizeof *s);
	if (!s) {
		snprintf(why, OCS_DRIVER_WHY, "no memory");
		return NULL;
	}
	s->d.ops = &stream_ops;
	s->fd = s->listener = -1;
	s->listen_ns = BASE_NEVER_NS;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	ocsdrv_pause_init(&s->pause, cfg);
	s->listens = strncmp(address, "listen:", 7) == 0;
	address += s->listens ? 7 : 0;
	if ((cfg->credentials && !ocsdrv_secret_read(&s->secret, cfg->credentials, why)) ||
	    !make_session(s, cfg, why))
		goto err;
	if (!ocsdrv_address_split(address, ocsproto_tcp_port(ocsproto_by_name(cfg->protocol)), host,
				  port)) {
		snprintf(why, OCS_DRIVER_WHY, "\"%.100s\" is no HOST[:PORT]", address);
		goto err;
	}
	if (!resolve_host(s, host, port, why) || (s->listens && !listen_at_stream(s, address, why)))
		goto err;
	s->at_ns = s->listens ? BASE_NEVER_NS : 0;
	return &s->d;
err:
	stream_close(&s->d);
	return NULL;
}
