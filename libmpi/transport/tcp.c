/* SPDX-License-Identifier: BSD-2-Clause */
/* IMPI packets on TCP: channels to the hosts of foreign clients, or one channel to the
 * packet switch of this host (tcp_switch.c) that has them. */
#include "transport.h"

#include "base/clock.h"
#include "impi/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define eng lmpi_eng

#define RX_BYTES (256u << 10)
#define ROUNDS	 8 /* reads of one channel in one turn */
#define EVENTS	 32

struct channel {
	int fd;
	bool foreign; /* not the switch of this host */
	char name[96];
	struct impi_link link;
	/* coming in */
	struct lmpi_peer *peer; /* of the packet whose payload comes */
	struct lmpi_sink *sink; /* NULL: it has none, or is thrown away */
	/* going out: one packet, header and data */
	bool busy;
	uint8_t head[LMPI_PKT_BYTES];
	uint64_t sent; /* of header and data together */
	const uint8_t *data;
	uint64_t len;
	struct lmpi_out *out; /* whose end is told when it is out; or NULL */
	uint8_t *copy;	      /* what data points to, if that was not the caller's to keep */
	bool is_fini;
	bool wants_out;		/* EPOLLOUT is asked for */
	uint64_t heard;		/* bytes, all in all */
	uint64_t mark, mark_ns; /* heard at that time, of a wait */
};

/* World ranks of foreign processes by the bytes of their ids. */
struct name {
	uint8_t id[IMPI_PROC_BYTES];
	uint32_t rank;
};

static struct {
	struct channel *ch;
	uint32_t n;
	int ep;
	uint8_t *rx;
	struct name *name;
	uint32_t nnames;
	uint64_t partial_writes;
	uint64_t silence_ns; /* IMPI_SILENCE_S; 0: for ever */
} tcp = {.ep = -1};

/* --- start ---------------------------------------------------------------- */

static int
compare_names(const void *a, const void *b)
{
	return memcmp(((const struct name *)a)->id, ((const struct name *)b)->id, IMPI_PROC_BYTES);
}

static bool
make_names(void)
{
	tcp.name = calloc(lmpi_world.size, sizeof *tcp.name);
	if (!tcp.name)
		return false;
	for (uint32_t r = 0; r < lmpi_world.size; r++) {
		if (lmpi_route[r].reach != LMPI_REACH_TCP)
			continue;
		memcpy(tcp.name[tcp.nnames].id, eng.peer[r].id, IMPI_PROC_BYTES);
		tcp.name[tcp.nnames++].rank = r;
	}
	qsort(tcp.name, tcp.nnames, sizeof *tcp.name, compare_names);
	return true;
}

static struct lmpi_peer *
peer_named(const uint8_t id[IMPI_PROC_BYTES])
{
	const struct name *n = bsearch(id, tcp.name, tcp.nnames, sizeof *tcp.name, compare_names);
	return n ? &eng.peer[n->rank] : NULL;
}

int
lmpi_tcp_start(const struct lmpi_tcp_conf *conf, uint32_t n)
{
	tcp.ch = calloc(n, sizeof *tcp.ch);
	tcp.rx = malloc(RX_BYTES);
	tcp.ep = epoll_create1(EPOLL_CLOEXEC);
	if (!tcp.ch || !tcp.rx || tcp.ep < 0 || !make_names())
		goto fail;
	for (uint32_t i = 0; i < n; i++) {
		struct channel *c = &tcp.ch[i];
		struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};
		c->fd = conf[i].fd;
		c->foreign = conf[i].host != UINT32_MAX;
		snprintf(c->name, sizeof c->name, "%s", conf[i].name);
		impi_link_init(&c->link, conf[i].host, eng.datalen);
		if (epoll_ctl(tcp.ep, EPOLL_CTL_ADD, c->fd, &ev) < 0)
			goto fail;
	}
	tcp.silence_ns = lmpi_knob_number(LMPI_KNOB_IMPI_SILENCE) * BASE_S_NS;
	tcp.n = n;
	return LMPI_OK;
fail:
	fprintf(stderr, "libmpi: cannot set up %u TCP channels: %s\n", n, strerror(errno));
	return LMPI_ERR_OTHER;
}

bool
lmpi_tcp_in_use(void)
{
	return tcp.n > 0;
}

int
lmpi_tcp_fd(void)
{
	return tcp.n ? tcp.ep : -1;
}

/* --- going out ------------------------------------------------------------ */

static void
want_out(struct channel *c, bool yes)
{
	struct epoll_event ev = {.events = EPOLLIN | (yes ? EPOLLOUT : 0),
				 .data.u32 = (uint32_t)(c - tcp.ch)};

	if (c->wants_out == yes)
		return;
	c->wants_out = yes;
	if (epoll_ctl(tcp.ep, EPOLL_CTL_MOD, c->fd, &ev) < 0)
		lmpi_fail("epoll: %s", strerror(errno));
}

static void
ended(struct channel *c, const char *why)
{
	if (impi_link_eof(&c->link) && !eng.closing)
		lmpi_fail("%s ended its connection (%s) before the job was over%s", c->name, why,
			  impi_stream_is_midway(&c->link.rx) ? ", inside a packet" : "");
}

static void
packet_out(struct channel *c)
{
	struct lmpi_out *out = c->out;

	free(c->copy);
	c->copy = NULL;
	c->out = NULL;
	c->busy = false;
	want_out(c, false);
	if (c->is_fini)
		impi_link_fini_sent(&c->link);
	c->is_fini = false;
	if (out)
		lmpi_out_done(&eng, out, true);
}

/* Write what the socket takes; true if bytes went. */
static bool
write_some(struct channel *c)
{
	bool moved = false;

	while (c->busy) {
		uint64_t done = c->sent > sizeof c->head ? c->sent - sizeof c->head : 0;
		size_t head = c->sent < sizeof c->head ? (size_t)(sizeof c->head - c->sent) : 0;
		struct iovec v[2] = {{.iov_base = c->head + sizeof c->head - head, .iov_len = head},
				     {.iov_base = (void *)(uintptr_t)(c->data + done),
				      .iov_len = c->len - done}};
		struct msghdr m = {.msg_iov = head ? v : v + 1,
				   .msg_iovlen = 1u + (head && c->len > 0)};
		ssize_t r = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno == EAGAIN) {
			want_out(c, true);
			return moved;
		}
		if (r < 0) {
			ended(c, strerror(errno));
			packet_out(c); /* it goes nowhere: its peer has finished, or we fail */
			return moved;
		}
		moved = true;
		c->sent += (uint64_t)r;
		if (c->sent == sizeof c->head + c->len)
			packet_out(c);
		else
			tcp.partial_writes++;
	}
	return moved;
}

/* c->head is filled in. */
static void
begin_tcp(struct channel *c, const void *data, uint64_t len)
{
	c->busy = true;
	c->sent = 0;
	c->data = data;
	c->len = len;
	(void)write_some(c);
}

static uint32_t
wire_type(const struct channel *c)
{
	return be32_load(c->head);
}

/* Is there still somebody to take this packet?  What comes too late for a host that
 * has finished is dropped if nobody can miss it. */
static bool
goes(struct channel *c)
{
	if (impi_link_may_send(&c->link, wire_type(c)))
		return true;
	if (c->link.state == IMPI_LINK_RUNNING && !c->link.fini_sent)
		lmpi_fail("a %s for a process at %s, whose processes have all finalized",
			  impi_packet_type_name(wire_type(c)), c->name);
	return false;
}

static bool
send_tcp_packet(struct lmpi_engine *e, struct lmpi_peer *peer, struct lmpi_out *out)
{
	struct channel *c = &tcp.ch[peer->at];

	if (c->busy)
		return false;
	lmpi_pkt_encode(e, peer, &out->hdr, out->len, c->head);
	lmpi_pkt_gone(peer, &out->hdr);
	if (!goes(c)) {
		lmpi_out_done(e, out, true);
		return true;
	}
	c->out = out;
	begin_tcp(c, out->data, out->len);
	return true;
}

static bool
try_tcp_packet(struct lmpi_engine *e, struct lmpi_peer *peer, const struct lmpi_hdr *h,
	       const void *data, uint64_t len)
{
	struct channel *c = &tcp.ch[peer->at];

	if (c->busy || !lmpi_pkt_may_go(e, peer, h))
		return false;
	lmpi_pkt_encode(e, peer, h, len, c->head);
	lmpi_pkt_gone(peer, h);
	if (!goes(c))
		return true;
	begin_tcp(c, data, len);
	if (!c->busy || len == 0)
		return true;
	/* The socket is full: the caller's bytes may change from now on. */
	uint64_t done = c->sent > sizeof c->head ? c->sent - sizeof c->head : 0;
	c->copy = malloc((size_t)len);
	if (!c->copy)
		lmpi_engine_abort(LMPI_ERR_NO_MEM, "out of memory for outgoing messages");
	memcpy(c->copy + done, (const uint8_t *)data + done, (size_t)(len - done));
	c->data = c->copy;
	return true;
}

const struct lmpi_transport lmpi_tcp_transport = {
	.caps = LMPI_CAP_IMPI | LMPI_CAP_STAYS,
	.send = send_tcp_packet,
	.try_short = try_tcp_packet,
};

/* --- coming in ------------------------------------------------------------ */

void
lmpi_tcp_quick_ack(int fd)
{
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
}

static void
tcp_header(struct channel *c)
{
	const uint8_t *head = c->link.rx.head;
	struct impi_packet p = impi_stream_packet(&c->link.rx);
	struct lmpi_hdr h;

	c->sink = NULL;
	if (p.type == IMPI_PK_FINI)
		return;
	c->peer = peer_named(head + IMPI_PACKET_OFF_SRC);
	if (!c->peer || &tcp.ch[c->peer->at] != c) {
		lmpi_fail("%s sent a %s packet of a process that is not at that host", c->name,
			  impi_packet_type_name(p.type));
		return;
	}
	uint32_t payload = impi_packet_payload_bytes(&p);
	const char *wrong = lmpi_pkt_decode(&eng, c->peer, head, payload, &h);
	if (wrong)
		lmpi_pkt_fail(&eng, c->peer, head, wrong);
	else
		c->sink = lmpi_arrive(&eng, c->peer, &h, payload);
}

static void
take_tcp(struct channel *c, const uint8_t *p, size_t len)
{
	while (len > 0 && !lmpi_failing()) {
		struct impi_stream_step step;
		size_t n = impi_link_rx(&c->link, p, len, &step);
		if (step.what & IMPI_STREAM_FAILED) {
			lmpi_fail("%s: %s", c->name, c->link.err.text);
			return;
		}
		if (step.what & IMPI_STREAM_HEADER)
			tcp_header(c);
		if ((step.what & IMPI_STREAM_PAYLOAD) && c->sink)
			lmpi_sink_data(c->sink, step.off, step.span, step.bytes);
		if ((step.what & IMPI_STREAM_END) && c->sink)
			lmpi_sink_end(&eng, c->sink);
		if (n == 0)
			return; /* finished: nothing may follow */
		p += n;
		len -= n;
	}
}

static bool
read_some(struct channel *c)
{
	bool moved = false;

	for (int i = 0; i < ROUNDS && c->link.state == IMPI_LINK_RUNNING && !c->link.peer_closed;
	     i++) {
		ssize_t r = recv(c->fd, tcp.rx, RX_BYTES, MSG_DONTWAIT);
		if (r > 0) {
			c->heard += (uint64_t)r;
			take_tcp(c, tcp.rx, (size_t)r);
			moved = true;
			if ((size_t)r < RX_BYTES / 2) {
				if (c->foreign)
					lmpi_tcp_quick_ack(c->fd);
				return true;
			}
		} else if (r == 0 || (errno != EAGAIN && errno != EINTR)) {
			ended(c, r == 0 ? "closed" : strerror(errno));
			/* Level-triggered: it would be told again and again. */
			(void)epoll_ctl(tcp.ep, EPOLL_CTL_DEL, c->fd, NULL);
			return true;
		} else if (errno == EAGAIN) {
			return moved;
		}
	}
	return moved;
}

bool
lmpi_tcp_poll(void)
{
	struct epoll_event ev[EVENTS];
	bool moved = false;

	if (tcp.n == 1) { /* no need to ask which */
		moved = read_some(&tcp.ch[0]);
		return tcp.ch[0].busy ? write_some(&tcp.ch[0]) || moved : moved;
	}
	int n = tcp.n ? epoll_wait(tcp.ep, ev, EVENTS, 0) : 0;
	for (int i = 0; i < n; i++) {
		struct channel *c = &tcp.ch[ev[i].data.u32];
		if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			moved |= read_some(c);
		if (c->busy && (ev[i].events & EPOLLOUT))
			moved |= write_some(c);
	}
	return moved;
}

void
lmpi_tcp_watch(uint64_t since_ns, uint64_t now_ns)
{
	for (uint32_t i = 0; tcp.silence_ns && i < tcp.n; i++) {
		struct channel *c = &tcp.ch[i];

		/* While the program computed nobody read. */
		if (c->heard != c->mark || c->mark_ns < since_ns) {
			c->mark = c->heard;
			c->mark_ns = now_ns;
		}
		if (c->link.state != IMPI_LINK_RUNNING || now_ns - c->mark_ns < tcp.silence_ns)
			continue;
		lmpi_fail("nothing has come from %s for %llu s, while this process waited "
			  "(IMPI_SILENCE_S): has a process there died, whose daemon keeps the "
			  "connection?  For LAM/MPI see lamclean",
			  c->name, (unsigned long long)(tcp.silence_ns / BASE_S_NS));
		return;
	}
}

bool
lmpi_tcp_drained(void)
{
	for (uint32_t i = 0; i < tcp.n; i++) {
		if (tcp.ch[i].busy)
			return false;
	}
	return true;
}

/* --- end ------------------------------------------------------------------ */

/* Nothing of ours is left to send, and nothing that we answer is under way. */
static bool
at_rest(void *arg)
{
	(void)arg;
	return eng.filling == 0 && eng.outs == 0 && lmpi_tcp_drained();
}

static bool
all_finished(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < tcp.n; i++) {
		if (tcp.ch[i].link.state == IMPI_LINK_RUNNING)
			return false;
	}
	return true;
}

void
lmpi_tcp_finish(void)
{
	if (tcp.n == 0)
		return;
	lmpi_wait_for(at_rest, NULL);
	for (uint32_t i = 0; i < tcp.n; i++) {
		struct channel *c = &tcp.ch[i];
		if (c->link.state != IMPI_LINK_RUNNING)
			continue;
		impi_link_fini_packet(c->head);
		c->is_fini = true;
		begin_tcp(c, NULL, 0);
	}
	lmpi_wait_for(all_finished, NULL);
}

void
lmpi_tcp_print_stats(void)
{
	for (uint32_t i = 0; i < tcp.n; i++)
		fprintf(stderr, "libmpi: [%u] channel to %s: %llu packets received\n",
			lmpi_world.rank, tcp.ch[i].name,
			(unsigned long long)tcp.ch[i].link.rx.npackets);
	if (tcp.partial_writes)
		fprintf(stderr, "libmpi: [%u] tcp: %llu writes met a full socket\n",
			lmpi_world.rank, (unsigned long long)tcp.partial_writes);
}

void
lmpi_tcp_close(void)
{
	for (uint32_t i = 0; i < tcp.n; i++) {
		if (tcp.ch[i].out)
			lmpi_out_done(&eng, tcp.ch[i].out, false);
		free(tcp.ch[i].copy);
		close(tcp.ch[i].fd);
	}
	if (tcp.ep >= 0)
		close(tcp.ep);
	free(tcp.ch);
	free(tcp.rx);
	free(tcp.name);
	memset(&tcp, 0, sizeof tcp);
	tcp.ep = -1;
}
