/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/lobby.h"
#include "driver/accept.h"
#include "driver/secrets.h"

#define PEERS_MAX	 (IMPI_CLIENTS_MAX + IMPI_SERVER_STRANGERS_MAX)
#define READ_BYTES	 65536
#define READS_PER_TURN	 16	    /* so that one busy client cannot starve the rest */
#define ACCEPTS_PER_TURN 64	    /* nor those who only connect */
#define KEPT_BYTES	 (1u << 18) /* of the server's memory: all channels, where the key is */
#define STRANGER_LINES_S 20	    /* log lines about strangers a second */

enum { TAG_LISTEN = PEERS_MAX, TAG_SIGNAL };

struct peer {
	int fd; /* -1 = free */
	bool polls_out;
	bool eof_seen; /* reading is over; polled for nothing more */
	size_t out_at, out_len;
	uint8_t out[DOOR_OUT]; /* taken from the server, not yet by the socket */
	struct door door;
	char name[INET6_ADDRSTRLEN + 10];
};

struct serve {
	const struct serve_options *opt;
	struct impi_server *server;
	int epoll_fd, listen_fd;
	bool all_here;
	bool listening;	       /* the listening socket is polled */
	uint64_t accept_at_ns; /* out of descriptors: no accept before */
	uint64_t line_window_ns;
	uint32_t lines, lines_suppressed;
	struct peer peer[PEERS_MAX];
	uint8_t in[READ_BYTES];
};

void
serve_log(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	fprintf(stderr, "impi-server: %s\n", line);
}

static uint64_t
serve_now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* May a line about somebody who has not joined be written?  Anybody can make
 * such lines. */
static bool
stranger_line(struct serve *v)
{
	uint64_t now = serve_now_ns();
	if (now - v->line_window_ns >= 1000000000u) {
		if (v->lines_suppressed)
			serve_log("%u more lines about strangers were left out",
				  v->lines_suppressed);
		v->line_window_ns = now;
		v->lines = v->lines_suppressed = 0;
	}
	if (v->lines < STRANGER_LINES_S) {
		v->lines++;
		return true;
	}
	v->lines_suppressed++;
	return false;
}

static void
name_peer(char *out, size_t cap, const struct sockaddr_storage *ss)
{
	char addr[INET6_ADDRSTRLEN] = "?";
	if (ss->ss_family == AF_INET) {
		struct sockaddr_in sin;
		memcpy(&sin, ss, sizeof sin);
		inet_ntop(AF_INET, &sin.sin_addr, addr, sizeof addr);
		snprintf(out, cap, "%s:%u", addr, ntohs(sin.sin_port));
		return;
	}
	struct sockaddr_in6 sin6;
	memcpy(&sin6, ss, sizeof sin6);
	if (IN6_IS_ADDR_V4MAPPED(&sin6.sin6_addr)) {
		inet_ntop(AF_INET, sin6.sin6_addr.s6_addr + 12, addr, sizeof addr);
		snprintf(out, cap, "%s:%u", addr, ntohs(sin6.sin6_port));
	} else {
		inet_ntop(AF_INET6, &sin6.sin6_addr, addr, sizeof addr);
		snprintf(out, cap, "[%s]:%u", addr, ntohs(sin6.sin6_port));
	}
}

/* The address it comes from. */
static void
read_source(const struct sockaddr_storage *ss, uint8_t addr[16])
{
	if (ss->ss_family == AF_INET) {
		struct sockaddr_in sin;
		memcpy(&sin, ss, sizeof sin);
		base_prefix_v4(ntohl(sin.sin_addr.s_addr), addr);
	} else {
		struct sockaddr_in6 sin6;
		memcpy(&sin6, ss, sizeof sin6);
		memcpy(addr, sin6.sin6_addr.s6_addr, 16);
	}
}

/* A cluster whose front end lost power sends no FIN: let the kernel find out. */
static void
tune_socket(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},	{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 5}, {IPPROTO_TCP, TCP_KEEPINTVL, 1},
		{IPPROTO_TCP, TCP_KEEPCNT, 4},	{IPPROTO_TCP, TCP_USER_TIMEOUT, 9000},
	};
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof options[i].value);
}

static void
poll_peer(struct serve *v, int conn, int op, bool out)
{
	struct peer *p = &v->peer[conn];
	struct epoll_event ev = {
		.events = (p->eof_seen ? 0u : EPOLLIN) | (out ? EPOLLOUT : 0u),
		.data.u32 = (uint32_t)conn,
	};
	p->polls_out = out;
	if (epoll_ctl(v->epoll_fd, op, p->fd, &ev) != 0)
		serve_log("%s: epoll_ctl: %s", p->name, strerror(errno));
}

/* When a connection may be accepted; what knocks before waits in the kernel's queue. */
static uint64_t
room_ns(const struct serve *v)
{
	uint64_t at = impi_server_room_ns(v->server);
	/* All clients of this job are here: who comes now belongs to the next one. */
	if (v->opt->one_after_another && v->all_here)
		return UINT64_MAX;
	return at > v->accept_at_ns ? at : v->accept_at_ns;
}

static void
listen_if_room(struct serve *v)
{
	bool want = room_ns(v) <= serve_now_ns();
	struct epoll_event ev = {.events = want ? EPOLLIN : 0u, .data.u32 = TAG_LISTEN};
	if (want == v->listening)
		return;
	(void)epoll_ctl(v->epoll_fd, EPOLL_CTL_MOD, v->listen_fd, &ev);
	v->listening = want;
}

static bool tell_serve(struct serve *v, enum serve_result *result);

/* A number for the accepted connection; the oldest stranger may have to go first. */
static int
open_conn(struct serve *v, uint64_t source, const char *name)
{
	enum serve_result unused;
	int conn = impi_server_open_from(v->server, source, name, serve_now_ns());
	if (conn >= 0)
		return conn;
	BASE_ASSERT(!tell_serve(v, &unused)); /* a stranger's end is not the job's */
	return impi_server_open_from(v->server, source, name, serve_now_ns());
}

static bool
serve_allowed(struct serve *v, const uint8_t addr[16], const char *name)
{
	if (!v->opt->allow.n || base_prefixes_have(&v->opt->allow, addr))
		return true;
	if (stranger_line(v))
		serve_log("%s: refused: --allow does not cover its address", name);
	return false;
}

static void
accept_all(struct serve *v)
{
	for (int i = 0; i < ACCEPTS_PER_TURN && room_ns(v) <= serve_now_ns(); i++) {
		struct sockaddr_storage ss = {0};
		socklen_t len = sizeof ss;
		char name[sizeof v->peer[0].name];
		bool pause;
		int fd = process_accept(v->listen_fd, (struct sockaddr *)&ss, &len, &pause);
		if (fd < 0) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			if (pause) {
				serve_log("accept: %s; pausing for a second", strerror(errno));
				v->accept_at_ns = serve_now_ns() + 1000000000u;
			}
			return;
		}
		uint8_t addr[16];
		read_source(&ss, addr);
		name_peer(name, sizeof name, &ss);
		if (!serve_allowed(v, addr, name)) {
			close(fd);
			continue;
		}
		int conn = open_conn(v, base_lobby_source(addr), name);
		if (conn < 0) { /* room_ns() said otherwise */
			serve_log("%s: refused, no room", name);
			close(fd);
			return;
		}
		struct peer *p = &v->peer[conn];
		p->fd = fd;
		p->eof_seen = false;
		p->out_at = p->out_len = 0;
		memcpy(p->name, name, sizeof name);
		tune_socket(fd);
		poll_peer(v, conn, EPOLL_CTL_ADD, false);
		if (v->opt->verbose && stranger_line(v))
			serve_log("%s: connected", name);
	}
}

struct came {
	struct serve *v;
	int conn;
};

static void
take_serve_text(void *user, const uint8_t *text, size_t len)
{
	const struct came *c = user;
	impi_server_rx(c->v->server, c->conn, text, len, serve_now_ns());
}

/* Bytes of a client; false: it is to be closed. */
static bool
hear_peer(struct serve *v, int conn, size_t len)
{
	struct peer *p = &v->peer[conn];
	struct came came = {v, conn};

	if (door_rx(&p->door, &v->opt->door, v->in, len, take_serve_text, &came))
		return true;
	if (stranger_line(v))
		serve_log("%s: closed: %s", p->name, p->door.why);
	return false;
}

static void
read_peer(struct serve *v, int conn)
{
	struct peer *p = &v->peer[conn];
	for (int i = 0; i < READS_PER_TURN && p->fd >= 0 && !p->eof_seen; i++) {
		ssize_t n = recv(p->fd, v->in, sizeof v->in, 0);
		if (n > 0 && hear_peer(v, conn, (size_t)n))
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		/* the end, an error, or nothing that we understand */
		p->eof_seen = true;
		impi_server_eof(v->server, conn);
		poll_peer(v, conn, EPOLL_CTL_MOD, false);
		return;
	}
}

/* Fill p->out with what goes over the network next. */
static void
take_out(struct serve *v, int conn)
{
	struct peer *p = &v->peer[conn];
	uint8_t text[DOOR_TEXT];
	size_t n = 0;

	if (door_open(&p->door))
		n = impi_server_tx(v->server, conn, text, sizeof text);
	p->out_at = 0;
	p->out_len = door_tx(&p->door, text, n, p->out);
	explicit_bzero(text, n);
}

/* Send what there is.  Returns true if the server gave bytes, which may have
 * set others free. */
static bool
write_peer(struct serve *v, int conn)
{
	struct peer *p = &v->peer[conn];
	bool any = false;
	for (;;) {
		if (p->out_at == p->out_len) {
			take_out(v, conn);
			if (p->out_len == 0)
				break;
			any = true;
		}
		ssize_t n = send(p->fd, p->out + p->out_at, p->out_len - p->out_at, MSG_NOSIGNAL);
		if (n >= 0) {
			p->out_at += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK) {
			p->out_at = p->out_len = 0;
			p->eof_seen = true;
			impi_server_eof(v->server, conn);
			return true;
		}
		break;
	}
	bool want = p->out_at < p->out_len;
	if (want != p->polls_out)
		poll_peer(v, conn, EPOLL_CTL_MOD, want);
	return any;
}

static void
close_peer(struct serve *v, const struct impi_server_event *ev)
{
	struct peer *p = &v->peer[ev->conn];
	bool quiet_stranger = ev->rank < 0 && ev->err.code == IMPI_ERR_LOST;
	if (ev->rank >= 0 && ev->err.code == IMPI_ERR_OK)
		serve_log("client %d (%s): finished", ev->rank, p->name);
	else if (ev->rank >= 0)
		serve_log("client %d (%s): closed: %s", ev->rank, p->name, ev->err.text);
	else if (!quiet_stranger && stranger_line(v))
		serve_log("%s: closed: %s; waiting on", p->name, ev->err.text);
	close(p->fd);
	p->fd = -1;
	door_close(&p->door);
	v->accept_at_ns = 0;
	uint32_t lost = impi_server_lost(v->server);
	if (ev->rank >= 0 && lost & (1u << ev->rank) &&
	    impi_server_state(v->server) == IMPI_SVS_RUNNING)
		serve_log("client %d was lost while the job was running, so the job has failed; "
			  "serving the others for another %.0f s",
			  ev->rank, (double)v->opt->server.loss_grace_ns / 1e9);
}

/* Handle everything the server has to say.  Returns true at the end of the job. */
static bool
tell_serve(struct serve *v, enum serve_result *result)
{
	struct impi_server_event ev;
	while (impi_server_next(v->server, &ev)) {
		switch (ev.type) {
		case IMPI_SV_JOINED:
			serve_log("client %d (%s): joined, %d of %u", ev.rank,
				  v->peer[ev.conn].name,
				  __builtin_popcount(impi_server_joined(v->server)),
				  v->opt->server.nclients);
			break;
		case IMPI_SV_SIZED:
			v->all_here = true;
			serve_log("all %u clients are here", v->opt->server.nclients);
			break;
		case IMPI_SV_STARTED:
			serve_log("start-up complete, the job runs");
			break;
		case IMPI_SV_CLOSE:
			close_peer(v, &ev);
			break;
		case IMPI_SV_COMPLETE:
			serve_log("all clients finished, the job is complete");
			*result = SERVE_COMPLETE;
			return true;
		case IMPI_SV_FAILED:
			serve_log("the job failed: %s", ev.err.text);
			*result = SERVE_FAILED;
			return true;
		}
	}
	return false;
}

/* Send to everybody until nobody has anything that can go out now. */
static void
write_all(struct serve *v)
{
	bool any;
	do {
		any = false;
		for (int i = 0; i < PEERS_MAX; i++)
			if (v->peer[i].fd >= 0 && (v->peer[i].out_at < v->peer[i].out_len ||
						   door_pending(&v->peer[i].door) ||
						   impi_server_tx_pending(v->server, i)))
				any |= !v->peer[i].polls_out && write_peer(v, i);
	} while (any);
}

static int
wait_ms(const struct serve *v)
{
	uint64_t at = impi_server_expiry_ns(v->server), now = serve_now_ns();
	if (!v->listening && room_ns(v) < at)
		at = room_ns(v);
	if (at == UINT64_MAX)
		return -1;
	if (at <= now)
		return 0;
	uint64_t ms = (at - now + 999999) / 1000000;
	return ms > 60000 ? 60000 : (int)ms;
}

/* True: it is to stop. */
static bool
take_signal(const struct serve *v, int signal_fd, enum serve_result *result)
{
	struct signalfd_siginfo info = {0};
	if (read(signal_fd, &info, sizeof info) != sizeof info)
		info.ssi_signo = SIGTERM;
	if (info.ssi_signo == SIGHUP && info.ssi_code != SI_KERNEL) { /* no terminal that closes */
		v->opt->again(v->opt->user);
		return false;
	}
	bool idle = impi_server_joined(v->server) == 0;
	serve_log("stopped by %s%s",
		  info.ssi_signo == SIGINT   ? "SIGINT"
		  : info.ssi_signo == SIGHUP ? "SIGHUP"
					     : "SIGTERM",
		  idle ? "" : " before the job was complete");
	*result = idle ? SERVE_IDLE_STOP : SERVE_STOPPED;
	return true;
}

static enum serve_result
loop(struct serve *v, int signal_fd)
{
	struct epoll_event evs[32];
	enum serve_result result = SERVE_BROKEN;

	for (;;) {
		bool knocking = false;
		listen_if_room(v);
		int n = epoll_wait(v->epoll_fd, evs, 32, wait_ms(v));
		if (n < 0 && errno != EINTR) {
			serve_log("epoll_wait: %s", strerror(errno));
			return SERVE_BROKEN;
		}
		for (int i = 0; i < n; i++) {
			uint32_t tag = evs[i].data.u32;
			if (tag == TAG_SIGNAL && take_signal(v, signal_fd, &result))
				return result;
			knocking |= tag == TAG_LISTEN;
			if (tag == TAG_SIGNAL || tag == TAG_LISTEN)
				continue;
			/* A reset after EOF is told forever; nothing more is to be read.  Closed
			 * peers have left the epoll set, and no slot is reused before tell_serve().
			 */
			if (evs[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP))
				read_peer(v, (int)tag);
			if (evs[i].events & EPOLLOUT && v->peer[tag].fd >= 0)
				(void)write_peer(v, (int)tag);
		}
		impi_server_tick(v->server, serve_now_ns());
		write_all(v);
		if (tell_serve(v, &result))
			return result;
		/* last: who knocks as this job ends is the next job's (--persist) */
		if (knocking)
			accept_all(v);
	}
}

static bool
watch_serve(struct serve *v, int fd, uint32_t tag)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = tag};
	if (epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0)
		return true;
	serve_log("epoll_ctl: %s", strerror(errno));
	return false;
}

enum serve_result
serve_job(const struct serve_options *opt, int listen_fd, int signal_fd)
{
	enum serve_result result = SERVE_BROKEN;
	size_t bytes = impi_server_footprint(&opt->server);
	struct serve *v = calloc(1, sizeof *v);
	/* label stores are touched only as far as clients fill them */
	void *mem = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
			  : MAP_FAILED;
	if (!v || mem == MAP_FAILED) {
		serve_log("cannot reserve %zu bytes of address space: %s; use a smaller "
			  "--label-bytes",
			  bytes, strerror(errno));
		goto out;
	}
	v->opt = opt;
	v->listen_fd = listen_fd;
	for (int i = 0; i < PEERS_MAX; i++)
		v->peer[i].fd = -1;
	(void)process_keep(v, sizeof *v);
	(void)process_keep(mem, bytes < KEPT_BYTES ? bytes : KEPT_BYTES);
	struct impi_server_config conf = opt->server;
	if (opt->one_after_another)
		conf.began_ns = serve_now_ns();
	v->server = impi_server_new(mem, &conf);
	explicit_bzero(&conf, sizeof conf);
	v->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (v->epoll_fd < 0) {
		serve_log("epoll_create1: %s", strerror(errno));
		goto out;
	}
	v->listening = true;
	if (watch_serve(v, listen_fd, TAG_LISTEN) && watch_serve(v, signal_fd, TAG_SIGNAL))
		result = loop(v, signal_fd);
	for (int i = 0; i < PEERS_MAX; i++) {
		if (v->peer[i].fd >= 0)
			close(v->peer[i].fd);
		door_close(&v->peer[i].door);
	}
	close(v->epoll_fd);
out:
	if (mem != MAP_FAILED) {
		impi_server_end(mem);
		munmap(mem, bytes);
	}
	if (v)
		explicit_bzero(v, sizeof *v);
	free(v);
	return result;
}
