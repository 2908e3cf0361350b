/* SPDX-License-Identifier: BSD-2-Clause */
#include "chan.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bsd/string.h>

#define IN_START   65536u
#define OUT_MAX	   (256u << 20)
#define REDIAL_NS  (300 * BASE_MS_NS)
#define CONNECT_NS (3 * BASE_S_NS)
#define READ_BYTES 16384

void
pg_chan_init(struct pg_chan *c, const struct pg_side_conf *conf, uint8_t side,
	     const struct seal_link_conf *keys, const struct pg_chan_ops *ops, void *user)
{
	*c = (struct pg_chan){
		.conf = conf, .side = side, .fd = -1, .keys = keys, .ops = ops, .user = user};
}

static void
chan_hang_up(struct pg_chan *c, uint64_t again_ns)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->connecting = false;
	if (c->seal)
		seal_link_wipe(c->seal);
	free(c->seal);
	free(c->wire);
	c->seal = NULL;
	c->wire = NULL;
	c->wire_len = c->wire_off = 0;
	c->in_len = c->out_len = c->out_off = 0;
	c->dial_ns = again_ns;
}

void
pg_chan_fini(struct pg_chan *c)
{
	chan_hang_up(c, 0);
	free(c->in);
	free(c->out);
	c->in = c->out = NULL;
}

void
pg_chan_drop(struct pg_chan *c, uint64_t now_ns)
{
	chan_hang_up(c, now_ns + BASE_S_NS);
}

bool
pg_chan_up(const struct pg_chan *c)
{
	return c->fd >= 0 && !c->connecting &&
	       (!c->keys || (c->seal && c->seal->state == SEAL_LINK_UP));
}

static void
lose_chan(struct pg_chan *c, uint64_t now_ns)
{
	c->lost += pg_chan_up(c);
	chan_hang_up(c, now_ns + REDIAL_NS);
}

static void
dial_chan(struct pg_chan *c, uint64_t now_ns)
{
	int one = 1;
	struct sockaddr_in from = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(c->conf->primary)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(c->conf->peer_port),
				 .sin_addr.s_addr = htonl(c->conf->relay)};
	c->dial_ns = now_ns + REDIAL_NS;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return;
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (bind(c->fd, (struct sockaddr *)&from, sizeof from) ||
	    (connect(c->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS)) {
		chan_hang_up(c, c->dial_ns);
		return;
	}
	c->connecting = true;
	c->heard_ns = now_ns;
}

static uint8_t *
chan_room(struct pg_chan *c, size_t len)
{
	if (!pg_chan_up(c) || len > OUT_MAX - c->out_len)
		return NULL;
	if (c->out_len + len > c->out_max) {
		uint8_t *out = realloc(c->out, c->out_len + len + 4096);
		if (!out)
			return NULL;
		c->out = out;
		c->out_max = c->out_len + len + 4096;
	}
	return c->out + c->out_len;
}

static bool
send_small(struct pg_chan *c, const struct relay_peer_frame *f)
{
	uint8_t *at = chan_room(c, RELAY_PEER_SMALL_MAX);
	if (!at)
		return false;
	c->out_len += relay_peer_encode(f, at);
	return true;
}

bool
pg_chan_job(struct pg_chan *c, const struct relay_job *job)
{
	size_t len = relay_peer_job_len(job);
	uint8_t *at = chan_room(c, len);
	if (!at || relay_peer_encode_job(job, at, len) != len)
		return false;
	c->out_len += len;
	return true;
}

bool
pg_chan_end(struct pg_chan *c, uint32_t label_base, const char *why)
{
	struct relay_peer_frame f = {.type = RELAY_PEER_END, .job = label_base};
	strlcpy(f.text, why, sizeof f.text);
	return send_small(c, &f);
}

static void
on_frame(struct pg_chan *c, const struct relay_peer_frame *f)
{
	struct relay_peer_frame pong = {.type = RELAY_PEER_PONG};
	switch ((enum relay_peer_type)f->type) {
	case RELAY_PEER_OK:
		c->ops->answer(c->user, c->side, f->job, NULL);
		break;
	case RELAY_PEER_REFUSE:
		c->ops->answer(c->user, c->side, f->job, f->text);
		break;
	case RELAY_PEER_END:
		c->ops->end(c->user, c->side, f->job, f->text);
		break;
	case RELAY_PEER_PING:
		(void)send_small(c, &pong);
		break;
	default:
		break; /* jobs of relayd's own clients are none of ours */
	}
}

/* False: it speaks nonsense, or there is no memory for what it says. */
static bool
read_frames(struct pg_chan *c)
{
	size_t off = 0;
	for (;;) {
		struct relay_peer_frame f;
		size_t need = 0;
		long n = relay_peer_decode(c->in + off, c->in_len - off, &f, &need);
		if (n == RELAY_ERR_SHORT) {
			memmove(c->in, c->in + off, c->in_len - off);
			c->in_len -= off;
			if (need <= c->in_max)
				return true;
			uint8_t *in = realloc(c->in, need);
			if (!in)
				return false;
			c->in = in;
			c->in_max = need;
			return true;
		}
		if (n <= 0)
			return false;
		on_frame(c, &f);
		off += (size_t)n;
	}
}

static bool
wire_add(struct pg_chan *c, const uint8_t *bytes, size_t len)
{
	uint8_t *wire = len ? realloc(c->wire, c->wire_len + len) : NULL;
	if (!wire)
		return false;
	c->wire = wire;
	memcpy(c->wire + c->wire_len, bytes, len);
	c->wire_len += len;
	return true;
}

static void
greet(struct pg_chan *c)
{
	uint8_t greeting[SEAL_LINK_GREETING];
	(void)wire_add(c, greeting, seal_link_out(c->seal, greeting));
}

/* The connection is there: relayd is shown the key. */
static void
begin_chan_seal(struct pg_chan *c)
{
	uint8_t once[SEAL_DH];
	c->seal = aligned_alloc(64, (sizeof *c->seal + 63) & ~(size_t)63);
	if (!c->seal || getrandom(once, sizeof once, 0) != (ssize_t)sizeof once) {
		chan_hang_up(c, c->dial_ns);
		return;
	}
	seal_link_init(c->seal, c->keys, SEAL_LINK_DIALS, once, NULL);
	greet(c);
}

static void
take_chan_text(void *user, const uint8_t *text, size_t len)
{
	struct pg_chan *c = user;
	if (c->in_len + len > c->in_max) {
		uint8_t *in = realloc(c->in, c->in_len + len);
		if (!in)
			return; /* frames go wrong, and the channel with them */
		c->in = in;
		c->in_max = c->in_len + len;
	}
	memcpy(c->in + c->in_len, text, len);
	c->in_len += len;
}

static void
seal_out(struct pg_chan *c)
{
	size_t n = seal_link_size(c->out_len);
	uint8_t *sealed = c->out_len && pg_chan_up(c) ? malloc(n) : NULL;
	if (!sealed)
		return;
	if (wire_add(c, sealed, seal_link_tx(c->seal, c->out, c->out_len, sealed)))
		c->out_len = 0;
	free(sealed);
}

static void
pump_sealed(struct pg_chan *c, uint64_t now_ns)
{
	uint8_t buf[READ_BYTES];
	seal_out(c);
	while (c->wire_off < c->wire_len) {
		ssize_t n =
			send(c->fd, c->wire + c->wire_off, c->wire_len - c->wire_off, MSG_NOSIGNAL);
		if (n < 0)
			break; /* EAGAIN, or the read sees it */
		c->wire_off += (size_t)n;
	}
	if (c->wire_off == c->wire_len)
		c->wire_off = c->wire_len = 0;
	ssize_t n = recv(c->fd, buf, sizeof buf, 0);
	if (n > 0) {
		c->heard_ns = now_ns;
		if (!seal_link_rx(c->seal, buf, (size_t)n, take_chan_text, c) || !read_frames(c))
			lose_chan(c, now_ns);
		else
			greet(c);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		lose_chan(c, now_ns);
	}
}

static void
pump_chan(struct pg_chan *c, uint64_t now_ns)
{
	while (c->out_off < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_off, c->out_len - c->out_off, MSG_NOSIGNAL);
		if (n < 0)
			break; /* EAGAIN, or the read sees it */
		c->out_off += (size_t)n;
	}
	if (c->out_off == c->out_len)
		c->out_off = c->out_len = 0;
	ssize_t n = recv(c->fd, c->in + c->in_len, c->in_max - c->in_len, 0);
	if (n > 0) {
		c->heard_ns = now_ns;
		c->in_len += (size_t)n;
		if (!read_frames(c))
			lose_chan(c, now_ns);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		lose_chan(c, now_ns);
	}
}

void
pg_chan_poll(struct pg_chan *c, uint64_t now_ns)
{
	if (!c->in) {
		c->in = malloc(IN_START);
		c->in_max = c->in ? IN_START : 0;
		if (!c->in)
			return;
	}
	if (c->fd < 0) {
		if (now_ns >= c->dial_ns)
			dial_chan(c, now_ns);
		return;
	}
	if (c->connecting) {
		int e = 0;
		socklen_t len = sizeof e;
		struct sockaddr_in peer;
		socklen_t plen = sizeof peer;
		if (getpeername(c->fd, (struct sockaddr *)&peer, &plen) == 0) {
			c->connecting = false;
			c->heard_ns = now_ns;
			if (c->keys)
				begin_chan_seal(c);
		} else if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &len) || e ||
			   now_ns - c->heard_ns > CONNECT_NS) {
			lose_chan(c, now_ns);
		}
		return;
	}
	if (c->keys)
		pump_sealed(c, now_ns);
	else
		pump_chan(c, now_ns);
	if (c->fd >= 0 && now_ns - c->heard_ns > RELAY_PEER_DEAD_NS)
		lose_chan(c, now_ns);
	if (c->fd >= 0 && now_ns - c->pinged_ns >= RELAY_PEER_PING_NS) {
		struct relay_peer_frame ping = {.type = RELAY_PEER_PING};
		c->pinged_ns = now_ns;
		(void)send_small(c, &ping);
	}
}
