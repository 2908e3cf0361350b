/* SPDX-License-Identifier: BSD-2-Clause */
#include "link.h"
#include "sock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 16384
#define READS_MAX  64
#define IN_SPARE   (2 * READ_BYTES) /* behind a largest frame, of the next ones */

/* ---- memory --------------------------------------------------------------------- */

static bool
grow(uint8_t **buf, size_t *max, size_t want)
{
	if (want <= *max)
		return true;
	uint8_t *more = realloc(*buf, want + 4096);
	if (!more)
		return false;
	*buf = more;
	*max = want + 4096;
	return true;
}

void
rd_link_init(struct rd_link *l, struct rd_loop *loop, const struct rd_link_kind *kind,
	     const struct seal_link_conf *keys, void *owner)
{
	*l = (struct rd_link){
		.loop = loop, .kind = kind, .keys = keys, .owner = owner, .watch = {.fd = -1}};
}

static void
forget_link(struct rd_link *l)
{
	rd_watch_close(l->loop, &l->watch);
	if (l->seal) {
		seal_link_wipe(l->seal);
		free(l->seal);
	}
	l->seal = NULL;
	l->in_len = l->out_off = l->out_len = 0;
	l->connecting = l->up = l->held = l->full = false;
}

void
rd_link_fini(struct rd_link *l)
{
	if (!l->loop)
		return;
	forget_link(l);
	free(l->in);
	free(l->out);
	l->in = l->out = NULL;
	l->in_max = l->out_max = 0;
}

void
rd_link_drop(struct rd_link *l)
{
	if (rd_link_open(l))
		forget_link(l);
}

void
rd_link_close(struct rd_link *l, const char *why)
{
	char text[SEAL_TEXT]; /* why may be in what is freed */
	if (!rd_link_open(l))
		return;
	snprintf(text, sizeof text, "%s", why);
	forget_link(l);
	l->kind->down(l, text);
}

/* ---- sending ---------------------------------------------------------------------- */

/* Errors are noticed when the socket is read: the caller may be walking a list that a loss
 * would change. */
static void
flush_link(struct rd_link *l)
{
	while (l->out_off < l->out_len) {
		ssize_t n = send(l->watch.fd, l->out + l->out_off, l->out_len - l->out_off,
				 MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		l->out_off += (size_t)n;
	}
	if (l->out_off == l->out_len)
		l->out_off = l->out_len = 0;
	rd_watch_events(l->loop, &l->watch,
			(l->held ? 0u : EPOLLIN) | (l->out_len ? EPOLLOUT : 0u));
}

static uint8_t *
out_room(struct rd_link *l, size_t len)
{
	if (l->out_off) {
		memmove(l->out, l->out + l->out_off, l->out_len - l->out_off);
		l->out_len -= l->out_off;
		l->out_off = 0;
	}
	if (l->out_len + len > l->kind->out_max || !grow(&l->out, &l->out_max, l->out_len + len))
		return NULL;
	return l->out + l->out_len;
}

bool
rd_link_send(struct rd_link *l, const void *bytes, size_t len)
{
	if (!l->up)
		return false;
	size_t n = l->seal ? seal_link_size(len) : len;
	uint8_t *at = out_room(l, n);
	if (!at) {
		l->full = true;
		return false;
	}
	if (l->seal)
		n = seal_link_tx(l->seal, bytes, len, at);
	else
		memcpy(at, bytes, len);
	l->out_len += n;
	flush_link(l);
	return n > 0;
}

/* ---- receiving -------------------------------------------------------------------- */

static void
handle(struct rd_link *l)
{
	size_t off = 0;
	while (rd_link_open(l) && !l->held) {
		size_t need = 0;
		long n = l->kind->take(l, l->in + off, l->in_len - off, &need);
		if (n < 0) {
			rd_link_close(l, "it sent a malformed frame");
			return;
		}
		if (n == 0) {
			if (need > l->kind->in_max || !grow(&l->in, &l->in_max, need))
				rd_link_close(l, "it sent a frame that is too large");
			break;
		}
		off += (size_t)n;
	}
	if (!rd_link_open(l))
		return;
	if (!off)
		return;
	memmove(l->in, l->in + off, l->in_len - off);
	l->in_len -= off;
}

static void
take_link_text(void *user, const uint8_t *text, size_t len)
{
	struct rd_link *l = user;
	if (l->in_len + len > l->kind->in_max + IN_SPARE ||
	    !grow(&l->in, &l->in_max, l->in_len + len)) {
		l->full = true;
		return;
	}
	memcpy(l->in + l->in_len, text, len);
	l->in_len += len;
}

/* What the seal has to say by itself. */
static void
send_greeting(struct rd_link *l)
{
	uint8_t greeting[SEAL_LINK_GREETING];
	size_t n = seal_link_out(l->seal, greeting);
	uint8_t *at = n ? out_room(l, n) : NULL;
	if (!at)
		return;
	memcpy(at, greeting, n);
	l->out_len += n;
	flush_link(l);
}

static void
come_up(struct rd_link *l)
{
	l->up = true;
	l->heard_ns = l->loop->now_ns;
	l->kind->up(l);
}

static void
receive_bytes(struct rd_link *l, const uint8_t *bytes, size_t len)
{
	l->heard_ns = l->loop->now_ns;
	if (l->seal) {
		if (!seal_link_rx(l->seal, bytes, len, take_link_text, l)) {
			rd_link_close(l, l->seal->why);
			return;
		}
		send_greeting(l);
		if (!l->up && l->seal->state == SEAL_LINK_UP)
			come_up(l);
	} else {
		take_link_text(l, bytes, len);
	}
	if (l->up)
		handle(l);
}

/* The socket is connected: begin to show the keys, or begin. */
static void
opened(struct rd_link *l)
{
	uint8_t once[SEAL_DH];
	l->connecting = false;
	l->reached = true;
	l->since_ns = l->heard_ns = l->pinged_ns = l->loop->now_ns;
	rd_watch_events(l->loop, &l->watch, EPOLLIN);
	if (!l->keys) {
		come_up(l);
		return;
	}
	l->seal = aligned_alloc(64, (sizeof *l->seal + 63) & ~(size_t)63);
	if (!l->seal || getrandom(once, sizeof once, 0) != (ssize_t)sizeof once) {
		free(l->seal);
		l->seal = NULL;
		rd_link_close(l, "no memory or no random numbers for its keys");
		return;
	}
	seal_link_init(l->seal, l->keys, l->dials ? SEAL_LINK_DIALS : SEAL_LINK_LISTENS, once,
		       NULL);
	explicit_bzero(once, sizeof once);
	send_greeting(l);
}

static void
handle_ready(struct rd_watch *w, uint32_t events)
{
	struct rd_link *l = w->owner;
	uint8_t buf[READ_BYTES];
	if (l->connecting) {
		int err = rd_sock_error(w->fd);
		if (err)
			rd_link_close(l, strerror(-err));
		else
			opened(l);
		return;
	}
	if (events & EPOLLOUT)
		flush_link(l);
	for (int i = 0; i < READS_MAX && rd_link_open(l) && !l->held; i++) {
		ssize_t n = recv(w->fd, buf, sizeof buf, 0);
		if (n > 0)
			receive_bytes(l, buf, (size_t)n);
		else if (n == 0)
			rd_link_close(l, l->up ? "it closed the connection"
					       : "it closed the connection before it was up: does "
						 "it have the same keys, and is it sealed, too?");
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			rd_link_close(l, strerror(errno));
	}
	/* Held: only its end is of interest. */
	if (rd_link_open(l) && l->held && events & (EPOLLHUP | EPOLLERR))
		rd_link_close(l, "it closed the connection");
}

bool
rd_link_adopt(struct rd_link *l, int fd, bool dials)
{
	forget_link(l);
	l->dials = dials;
	l->reached = false;
	l->watch.owner = l;
	l->watch.fn = handle_ready;
	l->since_ns = l->heard_ns = l->pinged_ns = l->loop->now_ns;
	if (rd_watch_add(l->loop, &l->watch, fd, dials ? EPOLLOUT : EPOLLIN)) {
		close(fd);
		return false;
	}
	l->connecting = dials;
	if (!dials)
		opened(l);
	return true;
}

void
rd_link_hold(struct rd_link *l)
{
	l->held = true;
	flush_link(l);
}

void
rd_link_release(struct rd_link *l)
{
	l->held = false;
	l->heard_ns = l->loop->now_ns;
	flush_link(l);
	handle(l);
}

void
rd_link_tick(struct rd_link *l)
{
	uint64_t now_ns = l->loop->now_ns;
	if (!rd_link_open(l))
		return;
	if (l->full)
		rd_link_close(l, "it takes nothing any more");
	else if (l->connecting && now_ns - l->since_ns > l->kind->dead_ns)
		rd_link_close(l, "no answer");
	else if (!l->up && now_ns - l->since_ns > l->kind->dead_ns)
		rd_link_close(l, "it has not shown that it has the key");
	else if (l->up && !l->held && now_ns - l->heard_ns > l->kind->dead_ns)
		rd_link_close(l, "silent for 3 s");
	else if (l->up && now_ns - l->pinged_ns >= l->kind->ping_ns) {
		l->pinged_ns = now_ns;
		l->kind->ping(l);
	}
}
