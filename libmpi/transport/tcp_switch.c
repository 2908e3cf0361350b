/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet switch of an IMPI host with several processes: a thread of its lowest rank
 * that carries whole IMPI packets between the channels to foreign hosts and the
 * processes, which speak the same packets on TCP connections of their own.
 *
 * It looks at process ids, lengths and FINI only; flow control, matching and answers are
 * the processes' business, so what it holds is bounded by their credit: a sender has at
 * most hiwater packets under way per pair.  A channel whose host ignores that ends the
 * job.  Nothing waits for anything but its own way out: a full socket never stops the
 * reading of another one.
 *
 * End: when every process has sent FINI, one FINI goes out on every channel, behind all
 * data; when every channel has finished, FINI goes to the processes, and the thread ends. */
#include "transport.h"

#include "base/copy.h"
#include "impi/link.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define RX_BYTES (256u << 10)
#define EVENTS	 64
#define BATCH	 64 /* packets in one write */

struct packet {
	struct packet *next;
	uint32_t bytes, filled;
	uint8_t data[]; /* header, payload */
};

struct port {
	int fd;
	bool foreign;
	uint32_t number; /* host, or world rank */
	char name[96];
	struct impi_link link;
	struct port *to;	     /* where the packet coming in goes */
	struct packet *in;	     /* it */
	struct packet *first, *last; /* going out */
	uint32_t first_sent;	     /* bytes of first that are out */
	uint64_t held;		     /* bytes in the queue */
	bool fini_queued, finished, wants_out;
};

/* All processes of the job by the bytes of their ids. */
struct name {
	uint8_t id[IMPI_PROC_BYTES];
	uint32_t rank;
};

static struct {
	pthread_t thread;
	bool running;
	int ep;
	struct port *port; /* [nports]: nforeign channels, then processes */
	uint32_t nports, nforeign;
	uint32_t processes_left, channels_left; /* that have not finished */
	struct port **port_of;			/* [nprocs], NULL: not ours to reach */
	struct name *name;
	uint32_t nprocs, datalen;
	uint64_t held_max; /* towards one process */
	uint8_t *rx;
	bool failed;
} sw;

/* --- names ---------------------------------------------------------------- */

static int
compare_switch_names(const void *a, const void *b)
{
	return memcmp(((const struct name *)a)->id, ((const struct name *)b)->id, IMPI_PROC_BYTES);
}

static struct port *
port_named(const uint8_t *id)
{
	const struct name *n =
		bsearch(id, sw.name, sw.nprocs, sizeof *sw.name, compare_switch_names);
	return n ? sw.port_of[n->rank] : NULL;
}

static void
fail_switch(const struct port *p, const char *what)
{
	if (!sw.failed && !lmpi_eng.closing)
		lmpi_fail_async("%s %s", p->name, what);
	sw.failed = true;
}

static void
fail_stream(const struct port *p)
{
	if (!sw.failed)
		lmpi_fail_async("%s: %s", p->name, p->link.err.text);
	sw.failed = true;
}

/* --- going out ------------------------------------------------------------ */

static void
want_out_switch(struct port *p, bool yes)
{
	struct epoll_event ev = {.events = EPOLLIN | (yes ? EPOLLOUT : 0), .data.ptr = p};

	if (p->wants_out == yes)
		return;
	p->wants_out = yes;
	(void)epoll_ctl(sw.ep, EPOLL_CTL_MOD, p->fd, &ev);
}

static void link_changed(struct port *p);

/* n more bytes of the queue are out. */
static void
sent(struct port *p, size_t n)
{
	while (n > 0) {
		struct packet *k = p->first;
		uint32_t left = k->bytes - p->first_sent;
		if (n < left) {
			p->first_sent += (uint32_t)n;
			return;
		}
		n -= left;
		p->first = k->next;
		p->first_sent = 0;
		p->held -= k->bytes;
		bool fini = be32_load(k->data) == IMPI_PK_FINI;
		free(k);
		if (fini) {
			impi_link_fini_sent(&p->link);
			link_changed(p);
		}
	}
}

static void
write_some_switch(struct port *p)
{
	while (p->first && !p->link.peer_closed) {
		struct iovec v[BATCH];
		uint32_t n = 0, skip = p->first_sent;
		for (struct packet *k = p->first; k && n < BATCH; k = k->next, skip = 0)
			v[n++] = (struct iovec){k->data + skip, k->bytes - skip};
		struct msghdr m = {.msg_iov = v, .msg_iovlen = n};
		ssize_t r = sendmsg(p->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r >= 0) {
			sent(p, (size_t)r);
		} else if (errno == EAGAIN) {
			want_out_switch(p, true);
			return;
		} else if (errno != EINTR) {
			if (impi_link_eof(&p->link))
				fail_switch(p, "closed its connection before the job was over");
			else
				link_changed(p);
			break;
		}
	}
	want_out_switch(p, false);
}

/* Queue a complete packet; flow control goes before data that waits. */
static void
queue(struct port *p, struct packet *k)
{
	bool urgent = be32_load(k->data) == IMPI_PK_PROTOACK && p->first != NULL;

	p->held += k->bytes;
	k->next = NULL;
	if (urgent && p->first_sent == 0) {
		k->next = p->first;
		p->first = k;
	} else if (urgent) {
		k->next = p->first->next;
		p->first->next = k;
		if (!k->next)
			p->last = k;
	} else {
		if (p->first)
			p->last->next = k;
		else
			p->first = k;
		p->last = k;
	}
}

static struct packet *
packet_new(uint32_t bytes)
{
	struct packet *k = malloc(sizeof *k + bytes);

	if (!k) {
		lmpi_fail_async("out of memory for the packets of this host");
		sw.failed = true;
		return NULL;
	}
	k->bytes = bytes;
	k->filled = 0;
	return k;
}

/* Our last word on this port. */
static void
queue_fini(struct port *p)
{
	struct packet *k = p->fini_queued ? NULL : packet_new(IMPI_PACKET_BYTES);

	if (!k)
		return;
	p->fini_queued = true;
	impi_link_fini_packet(k->data);
	queue(p, k);
	write_some_switch(p);
}

static void
link_changed(struct port *p)
{
	if (p->link.state != IMPI_LINK_FINISHED || p->finished)
		return;
	p->finished = true;
	if (!p->foreign || --sw.channels_left > 0)
		return;
	for (uint32_t i = sw.nforeign; i < sw.nports; i++)
		queue_fini(&sw.port[i]);
}

/* --- coming in ------------------------------------------------------------ */

static void
fini_came(struct port *p)
{
	if (p->foreign) {
		link_changed(p);
		return;
	}
	if (--sw.processes_left > 0)
		return;
	for (uint32_t i = 0; i < sw.nforeign; i++)
		queue_fini(&sw.port[i]);
}

/* A header is here: where does the packet go? */
static void
switch_header(struct port *p)
{
	const uint8_t *head = p->link.rx.head;
	struct impi_packet pk = impi_stream_packet(&p->link.rx);

	p->in = NULL;
	if (pk.type == IMPI_PK_FINI) {
		fini_came(p);
		return;
	}
	const struct port *from = port_named(head + IMPI_PACKET_OFF_SRC);
	struct port *to = port_named(head + IMPI_PACKET_OFF_DEST);
	if (from != p) {
		fail_switch(p, "sent a packet of a process that is not there");
		return;
	}
	if (!to || to->foreign == p->foreign) {
		fail_switch(p, "sent a packet to a process that is not here");
		return;
	}
	if (!impi_link_may_send(&to->link, pk.type) || to->fini_queued) {
		/* Flow control for those who have finished is of no use to anybody. */
		if (pk.type != IMPI_PK_PROTOACK)
			fail_switch(to, "has finalized, but something is sent to it");
		return;
	}
	if (p->foreign && to->held > sw.held_max) {
		fail_switch(p, "sends without regard to HIWATER");
		return;
	}
	p->to = to;
	p->in = packet_new((uint32_t)sizeof p->link.rx.head + impi_packet_payload_bytes(&pk));
	if (!p->in)
		return;
	memcpy(p->in->data, head, sizeof p->link.rx.head);
	p->in->filled = sizeof p->link.rx.head;
}

static void
take_transport_switch(struct port *p, const uint8_t *b, size_t len)
{
	while (len > 0 && !sw.failed) {
		struct impi_stream_step step;
		size_t n = impi_link_rx(&p->link, b, len, &step);
		if (step.what & IMPI_STREAM_FAILED)
			fail_stream(p);
		if (sw.failed || n == 0)
			return;
		if (step.what & IMPI_STREAM_HEADER)
			switch_header(p);
		if (p->in && (step.what & IMPI_STREAM_PAYLOAD)) {
			base_copy(p->in->data + p->in->filled, step.span, step.bytes);
			p->in->filled += step.bytes;
		}
		if (p->in && (step.what & IMPI_STREAM_END)) {
			struct packet *k = p->in;
			p->in = NULL;
			queue(p->to, k);
		}
		b += n;
		len -= n;
	}
}

static void
read_some_switch(struct port *p)
{
	ssize_t r = recv(p->fd, sw.rx, RX_BYTES, MSG_DONTWAIT);

	if (r > 0) {
		take_transport_switch(p, sw.rx, (size_t)r);
		if (p->foreign && (size_t)r < RX_BYTES / 2)
			lmpi_tcp_quick_ack(p->fd);
		return;
	}
	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	(void)epoll_ctl(sw.ep, EPOLL_CTL_DEL, p->fd, NULL);
	if (impi_link_eof(&p->link))
		fail_switch(
			p,
			impi_stream_is_midway(&p->link.rx)
				? "closed its connection before the job was over, inside a packet"
				: "closed its connection before the job was over");
	else
		link_changed(p);
}

/* --- the thread ----------------------------------------------------------- */

static bool
switch_all_done(void)
{
	for (uint32_t i = 0; i < sw.nports; i++) {
		if (sw.port[i].link.state == IMPI_LINK_RUNNING)
			return false;
	}
	return true;
}

static void *
run_switch(void *arg)
{
	struct epoll_event ev[EVENTS];

	(void)arg;
	while (!sw.failed && !switch_all_done()) {
		int n = epoll_wait(sw.ep, ev, EVENTS, -1);
		for (int i = 0; i < n && !sw.failed; i++) {
			struct port *p = ev[i].data.ptr;
			if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				read_some_switch(p);
		}
		for (uint32_t i = 0; i < sw.nports && !sw.failed; i++) {
			struct port *p = &sw.port[i];
			if (p->first && !p->wants_out)
				write_some_switch(p);
		}
		for (int i = 0; i < n && !sw.failed; i++) {
			if (ev[i].events & EPOLLOUT)
				write_some_switch(ev[i].data.ptr);
		}
	}
	return NULL;
}

/* --- start and end -------------------------------------------------------- */

static bool
add_port(struct port *p, int fd, bool foreign, uint32_t number, const char *name)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};

	p->fd = fd;
	p->foreign = foreign;
	p->number = number;
	snprintf(p->name, sizeof p->name, "%s", name);
	impi_link_init(&p->link, number, sw.datalen);
	return epoll_ctl(sw.ep, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static bool
make_switch_tables(const struct lmpi_switch_conf *c)
{
	uint64_t foreign = 0;

	sw.name = calloc(c->nprocs, sizeof *sw.name);
	sw.port_of = calloc(c->nprocs, sizeof *sw.port_of);
	if (!sw.name || !sw.port_of)
		return false;
	for (uint32_t r = 0; r < c->nprocs; r++) {
		memcpy(sw.name[r].id, c->id[r], IMPI_PROC_BYTES);
		sw.name[r].rank = r;
		if (r - c->first_rank < c->nlocal)
			sw.port_of[r] = &sw.port[sw.nforeign + r - c->first_rank];
		for (uint32_t i = 0; i < sw.nforeign; i++) {
			if (c->host_of[r] != sw.port[i].number)
				continue;
			sw.port_of[r] = &sw.port[i];
			foreign++;
		}
	}
	qsort(sw.name, c->nprocs, sizeof *sw.name, compare_switch_names);
	/* Twice what credit allows: PROTOACKs and what is sent on them are not in step. */
	sw.held_max = 2 * foreign * c->hiwater * (IMPI_PACKET_BYTES + (uint64_t)c->datalen);
	return true;
}

static bool
make_ports(const struct lmpi_switch_conf *c)
{
	uint32_t n = 0;
	char name[32];

	sw.port = calloc(c->nhosts + c->nlocal, sizeof *sw.port);
	if (!sw.port)
		return false;
	for (uint32_t h = 0; h < c->nhosts; h++) {
		if (c->host_fd[h] >= 0 &&
		    !add_port(&sw.port[n++], c->host_fd[h], true, h, c->host_name[h]))
			return false;
	}
	sw.nforeign = sw.channels_left = n;
	for (uint32_t i = 0; i < c->nlocal; i++) {
		snprintf(name, sizeof name, "rank %u", c->first_rank + i);
		if (!add_port(&sw.port[n++], c->local_fd[i], false, c->first_rank + i, name))
			return false;
	}
	sw.processes_left = c->nlocal;
	sw.nports = n;
	return true;
}

int
lmpi_switch_start(const struct lmpi_switch_conf *c)
{
	sigset_t all, old;

	sw.nprocs = c->nprocs;
	sw.datalen = c->datalen;
	sw.rx = malloc(RX_BYTES);
	sw.ep = epoll_create1(EPOLL_CLOEXEC);
	if (!sw.rx || sw.ep < 0 || !make_ports(c) || !make_switch_tables(c))
		goto fail;
	/* Signals are the program's business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&sw.thread, NULL, run_switch, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	sw.running = err == 0;
	if (sw.running)
		return LMPI_OK;
	errno = err;
fail:
	fprintf(stderr, "libmpi: cannot start the packet switch of this host: %s\n",
		strerror(errno));
	return LMPI_ERR_OTHER;
}

void
lmpi_switch_join(void)
{
	if (!sw.running)
		return;
	pthread_join(sw.thread, NULL);
	for (uint32_t i = 0; i < sw.nports; i++) {
		while (sw.port[i].first) {
			struct packet *k = sw.port[i].first;
			sw.port[i].first = k->next;
			free(k);
		}
		free(sw.port[i].in);
		close(sw.port[i].fd);
	}
	close(sw.ep);
	free(sw.port);
	free(sw.port_of);
	free(sw.name);
	free(sw.rx);
	memset(&sw, 0, sizeof sw);
}
