/* Frames between an agent and the conductor over one TCP connection. */
#include "light_private.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PING_NS	  (500 * BASE_MS_NS)
#define DEAD_NS	  (3 * BASE_S_NS)
#define READS_MAX 64

void
rd_light_link_close(struct rd_light_link *l, const char *why)
{
	if (l->watch.fd < 0)
		return;
	rd_watch_close(l->ctl, &l->watch);
	l->connecting = false;
	l->in_len = l->out_off = l->out_len = 0;
	l->down(l, why);
}

static void
flush(struct rd_light_link *l)
{
	while (l->out_off < l->out_len) {
		ssize_t n = send(l->watch.fd, l->out + l->out_off, l->out_len - l->out_off,
				 MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break; /* an error is noticed when it is read */
		l->out_off += (size_t)n;
	}
	if (l->out_off == l->out_len)
		l->out_off = l->out_len = 0;
	rd_watch_events(l->ctl, &l->watch, EPOLLIN | (l->out_len ? EPOLLOUT : 0u));
}

bool
rd_light_link_send(struct rd_light_link *l, const struct light_frame *f)
{
	if (l->watch.fd < 0 || l->connecting)
		return false;
	if (l->out_off && l->out_len + LIGHT_FRAME_MAX > RD_LIGHT_OUT) {
		memmove(l->out, l->out + l->out_off, l->out_len - l->out_off);
		l->out_len -= l->out_off;
		l->out_off = 0;
	}
	if (l->out_len + LIGHT_FRAME_MAX > RD_LIGHT_OUT) {
		l->heard_ns = 0; /* it takes nothing: the next tick hangs up */
		return false;
	}
	bool idle = l->out_len == 0;
	l->out_len += light_frame_encode(f, l->out + l->out_len);
	if (idle)
		flush(l);
	return true;
}

static bool
read_frames(struct rd_light_link *l)
{
	size_t off = 0;
	while (l->watch.fd >= 0) {
		struct light_frame f;
		long n = light_frame_decode(l->in + off, l->in_len - off, &f);
		if (n < 0)
			return false;
		if (n == 0)
			break;
		off += (size_t)n;
		if (!l->frame(l, &f))
			return false;
	}
	if (l->watch.fd < 0)
		return true;
	memmove(l->in, l->in + off, l->in_len - off);
	l->in_len -= off;
	return true;
}

static void
opened(struct rd_light_link *l)
{
	l->connecting = false;
	l->heard_ns = l->ctl->now_ns;
	rd_watch_events(l->ctl, &l->watch, EPOLLIN);
	l->up(l);
}

static void
ready(struct rd_watch *w, uint32_t events)
{
	struct rd_light_link *l = w->owner;
	if (l->connecting) {
		int err = rd_sock_error(w->fd);
		if (err)
			rd_light_link_close(l, strerror(-err));
		else
			opened(l);
		return;
	}
	if (events & EPOLLOUT)
		flush(l);
	for (int i = 0; i < READS_MAX && w->fd >= 0; i++) {
		ssize_t n = recv(w->fd, l->in + l->in_len, sizeof l->in - l->in_len, 0);
		if (n > 0) {
			l->heard_ns = l->ctl->now_ns;
			l->in_len += (size_t)n;
			if (!read_frames(l))
				rd_light_link_close(l, "it talks nonsense");
		} else if (n == 0) {
			rd_light_link_close(l, "it closed the connection");
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			rd_light_link_close(l, strerror(errno));
		}
	}
}

bool
rd_light_link_adopt(struct rd_light_link *l, int fd, bool connecting)
{
	l->watch.owner = l;
	l->watch.fn = ready;
	l->in_len = l->out_off = l->out_len = 0;
	l->heard_ns = l->pinged_ns = l->ctl->now_ns;
	if (rd_watch_add(l->ctl, &l->watch, fd, connecting ? EPOLLOUT : EPOLLIN)) {
		close(fd);
		return false;
	}
	l->connecting = connecting;
	if (!connecting)
		l->up(l);
	return true;
}

void
rd_light_link_tick(struct rd_light_link *l)
{
	static const struct light_frame ping = {.type = LIGHT_FRAME_PING};
	uint64_t now_ns = l->ctl->now_ns;
	if (l->watch.fd < 0)
		return;
	if (now_ns > l->heard_ns && now_ns - l->heard_ns > DEAD_NS) {
		rd_light_link_close(l, l->connecting ? "no answer" : "silent for 3 s");
	} else if (!l->connecting && now_ns - l->pinged_ns >= PING_NS) {
		l->pinged_ns = now_ns;
		(void)rd_light_link_send(l, &ping);
	}
}

bool
rd_light_link_init(struct rd_light_link *l, struct rd_control *c)
{
	l->ctl = c;
	l->watch.fd = -1;
	l->out = malloc(RD_LIGHT_OUT);
	return l->out != NULL;
}

void
rd_light_link_fini(struct rd_light_link *l)
{
	if (l->ctl && l->watch.fd >= 0)
		rd_watch_close(l->ctl, &l->watch);
	free(l->out);
	l->out = NULL;
}
