/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving, the kernel's error queue, and turns of one UDP socket. */
#include "udp_internal.h"
#include "xdp.h"

#include "base/assert.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t
suci_udp_now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

struct suci_addr
suci_udp_from(const union udp_name *name)
{
	if (name->any.sa_family == AF_INET6)
		return suci_addr_of(name->v6.sin6_addr.s6_addr, ntohs(name->v6.sin6_port));
	struct suci_addr a = {.port = ntohs(name->v4.sin_port), .family = 4};
	memcpy(a.ip + 12, &name->v4.sin_addr, 4);
	return a;
}

/* Buffer b shall receive into slot i of the next recvmmsg. */
static void
arm_udp(struct suci_udp *u, uint32_t i, uint32_t b)
{
	u->armed[i] = b;
	u->rx_iov[i] = (struct iovec){u->buf + (size_t)b * u->buf_bytes, u->buf_bytes};
	u->rx_msg[i].msg_hdr = (struct msghdr){
		.msg_name = u->nameless ? NULL : &u->rx_from[i],
		.msg_namelen = u->nameless ? 0 : u->name_len,
		.msg_iov = &u->rx_iov[i],
		.msg_iovlen = 1,
		.msg_control = u->gro || u->ecn ? u->rx_control[i].bytes : NULL,
		.msg_controllen = u->gro || u->ecn ? sizeof u->rx_control[i].bytes : 0,
	};
}

void
suci_udp_rearm(struct suci_udp *u)
{
	while (u->narmed < SUCI_UDP_BATCH && u->nfree > 0) {
		arm_udp(u, u->narmed, u->free_buf[--u->nfree]);
		u->narmed++;
	}
}

void
suci_udp_name_senders(struct suci_udp *u, bool yes)
{
	u->nameless = !yes;
	for (uint32_t i = 0; i < u->narmed; i++)
		arm_udp(u, i, u->armed[i]);
}

void
suci_udp_hold(struct suci_udp *u, uint64_t cookie)
{
	BASE_ASSERT(cookie >= 1);
	uint32_t *refs = cookie <= u->bufs ? &u->refs[cookie - 1] : suci_udp_xdp_refs(u, cookie);
	BASE_ASSERT(*refs > 0);
	++*refs;
}

void
suci_udp_release(struct suci_udp *u, uint64_t cookie)
{
	if (cookie > u->bufs) {
		suci_udp_xdp_release(u, cookie);
		return;
	}
	BASE_ASSERT(cookie >= 1 && u->refs[cookie - 1] > 0);
	uint32_t b = (uint32_t)(cookie - 1);
	if (--u->refs[b] == 0)
		u->free_buf[u->nfree++] = b;
}

uint32_t
suci_udp_merged(struct msghdr *m)
{
	if (m->msg_flags & MSG_CTRUNC)
		return 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		int size;
		if (c->cmsg_len < CMSG_LEN(sizeof size))
			return 0;
		memcpy(&size, CMSG_DATA(c), sizeof size);
		return size > 0 && size <= (int)MERGED_MAX ? (uint32_t)size : 0;
	}
	return 0;
}

/* An int; what else it might be has no ECN bits. */
static uint8_t
traffic_class(struct cmsghdr *c)
{
	int class = 0;
	if (c->cmsg_len >= CMSG_LEN(sizeof class))
		memcpy(&class, CMSG_DATA(c), sizeof class);
	return (uint8_t) class;
}

uint8_t
suci_udp_ecn(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS &&
		    c->cmsg_len >= CMSG_LEN(1))
			return *CMSG_DATA(c) & 3;
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			return traffic_class(c) & 3;
	return SUCI_ECN_NOT;
}

uint32_t
suci_udp_piece(uint32_t len, uint32_t seg, uint32_t at)
{
	return seg == 0 || len - at < seg ? len - at : seg;
}

/* The datagrams of one message; how many there were. */
static uint32_t
rx_one(struct suci_udp *u, uint32_t i, uint64_t now_ns)
{
	struct mmsghdr *m = &u->rx_msg[i];
	uint64_t cookie = u->armed[i] + 1ull;
	uint32_t len = m->msg_len, at = 0, n = 0;

	if (m->msg_hdr.msg_flags & MSG_TRUNC) {
		u->count.rx_truncated++;
		return 1;
	}
	if (!u->nameless &&
	    (u->rx_from[i].any.sa_family != u->family || m->msg_hdr.msg_namelen < u->name_len)) {
		u->count.rx_foreign++;
		return 1;
	}
	struct suci_addr from = suci_udp_from(u->nameless ? &u->peer : &u->rx_from[i]);
	uint8_t *bytes = u->rx_iov[i].iov_base;
	uint32_t seg = u->merging ? suci_udp_merged(&m->msg_hdr) : 0;
	/* The kernel merges only what is marked alike. */
	uint8_t ecn = u->ecn ? suci_udp_ecn(&m->msg_hdr) : SUCI_ECN_NOT;
	u->count.rx_merged += seg && seg < len;
	do {
		uint32_t piece = suci_udp_piece(len, seg, at);
		if (piece > u->mtu)
			u->count.rx_truncated++;
		else
			suci_rx_ecn(u->ep, &from, bytes + at, piece, ecn, cookie, now_ns);
		at += piece;
		n++;
	} while (at < len);
	return n;
}

/* The first n slots are ours again, unless held: then another buffer takes the
 * slot, or the last slot if there is none. */
static void
take_back_udp(struct suci_udp *u, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		uint32_t b = u->armed[i];
		if (--u->refs[b] == 0)
			arm_udp(u, i, b);
		else if (u->nfree > 0)
			arm_udp(u, i, u->free_buf[--u->nfree]);
		else if (--u->narmed != i)
			arm_udp(u, i, u->armed[u->narmed]);
	}
}

static int
read_messages(struct suci_udp *u, uint32_t want)
{
	if (want > 1)
		return recvmmsg(u->fd, u->rx_msg, want, MSG_DONTWAIT, NULL);
	/* One alone is cheaper so, cheaper still without control data to ask for. */
	struct msghdr *h = &u->rx_msg[0].msg_hdr;
	const struct iovec *v = &u->rx_iov[0];
	ssize_t n;
	if (u->merging || u->ecn) {
		n = recvmsg(u->fd, h, MSG_DONTWAIT);
	} else {
		n = recvfrom(u->fd, v->iov_base, v->iov_len, MSG_DONTWAIT | MSG_TRUNC, h->msg_name,
			     h->msg_name ? &h->msg_namelen : NULL);
		h->msg_flags = n > (ssize_t)v->iov_len ? MSG_TRUNC : 0;
		if (n >= 0)
			h->msg_controllen = 0;
	}
	if (n < 0)
		return -1;
	u->rx_msg[0].msg_len = (unsigned)n;
	return 1;
}

/* Merged datagrams need control data, which single ones are better without: the kernel is asked
 * to merge when many come at once, and from then on. */
static void
merge_under_load(struct suci_udp *u, uint32_t messages)
{
	int on = 1;

	if (!u->gro || u->merging || messages < MERGE_FROM)
		return;
	u->merging = setsockopt(u->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0;
}

/* One batch; true if there may be more. */
static bool
rx_batch(struct suci_udp *u, uint64_t now_ns, bool *moved)
{
	suci_udp_rearm(u);
	if (u->narmed == 0) {
		u->count.rx_stalls++;
		return false;
	}
	uint32_t want = u->rx_want < u->narmed ? u->rx_want : u->narmed;
	int n;
	do {
		n = read_messages(u, want);
	} while (n < 0 && errno == EINTR);
	u->count.rx_calls++;
	if (n <= 0) {
		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			u->errors_queued = true;
		/* What others sent before the socket was connected has been read. */
		else if (u->connected && !u->nameless)
			suci_udp_name_senders(u, false);
		u->rx_want = 1;
		return false;
	}
	*moved = true;
	if (u->xdp)
		suci_udp_xdp_begin(u);
	for (uint32_t i = 0; i < (uint32_t)n; i++)
		u->refs[u->armed[i]] = 1;
	for (uint32_t i = 0; i < (uint32_t)n; i++)
		u->count.rx_datagrams += rx_one(u, i, now_ns);
	take_back_udp(u, (uint32_t)n);
	merge_under_load(u, (uint32_t)n);
	/* A full batch promises more.  A single message does not: it is handed on
	 * first, the next poll looks for others. */
	u->rx_want = n == 1 && want > 1 ? 1 : SUCI_UDP_BATCH;
	return (uint32_t)n == want && want > 1;
}

static bool
is_error_report(const struct cmsghdr *c)
{
	return (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
	       (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
}

/* Ask the kernel which peers answered "port unreachable". */
static void
read_errors(struct suci_udp *u, uint64_t now_ns)
{
	u->errors_queued = false;
	for (int i = 0; i < 64; i++) {
		union udp_name name = {.any.sa_family = AF_UNSPEC};
		char data[64], control[512];
		struct iovec iov = {data, sizeof data};
		struct msghdr m = {.msg_name = &name,
				   .msg_namelen = sizeof name,
				   .msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof control};
		ssize_t len = recvmsg(u->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT);
		if (len < 0)
			return;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			if (!is_error_report(c) || name.any.sa_family != u->family)
				continue;
			struct sock_extended_err e;
			memcpy(&e, CMSG_DATA(c), sizeof e);
			/* Host and network unreachable may pass; a closed port is a
			 * process that is gone. */
			if (e.ee_errno != ECONNREFUSED ||
			    (e.ee_origin != SO_EE_ORIGIN_ICMP && e.ee_origin != SO_EE_ORIGIN_ICMP6))
				continue;
			u->count.unreachable++;
			struct suci_addr to = suci_udp_from(&name);
			/* What is read is the payload that the error quotes. */
			suci_path_unreachable(u->ep, &to, data, (size_t)len, now_ns);
		}
	}
}

bool
suci_udp_tx(struct suci_udp *u, uint64_t now_ns)
{
	suci_udp_run_look(u, now_ns);
	bool moved = suci_udp_send(u, now_ns);

	if (u->xdp)
		suci_udp_xdp_watch(u);
	return moved;
}

static void
rx_socket(struct suci_udp *u, uint64_t now_ns, bool *moved)
{
	for (int turn = 0; turn < 4; turn++) {
		if (!rx_batch(u, now_ns, moved))
			break;
	}
}

/* Frames first: they need no system call.  A batch at a time, as the sender waits for the acks
 * that go out between them.  The socket is read when there are none, and that polls the device:
 * under load at once, so that the packets come in on our core while the sender's sends more;
 * with single packets rarely, for a poll gets in the way of him who brings one. */
static void
rx_frames(struct suci_udp *u, uint64_t now_ns, bool *moved)
{
	struct udp_xdp *x = u->xdp;
	uint32_t n = suci_udp_xdp_rx(u, SUCI_UDP_BATCH, now_ns);

	if (n > 0)
		*moved = true;
	if (n >= XDP_LOAD)
		x->load = XDP_LOAD_TURNS;
	bool due = n > 0 ? ++x->turns >= XDP_TURNS
			 : x->load > 0 || now_ns - x->socket_ns >= XDP_SOCKET_NS;
	if (!due && x->on)
		return;
	x->turns = 0;
	x->socket_ns = now_ns;
	x->load -= x->load > 0;
	rx_socket(u, now_ns, moved);
	if (n == 0 && suci_udp_xdp_rx(u, SUCI_UDP_BATCH, now_ns) > 0)
		*moved = true;
}

bool
suci_udp_poll(struct suci_udp *u, uint64_t now_ns)
{
	bool moved = false;

	if (u->xdp)
		rx_frames(u, now_ns, &moved);
	else
		rx_socket(u, now_ns, &moved);
	if (u->errors_queued) {
		/* The error came in front of what is queued; what the peer said before
		 * it went - its last ack, its farewell - is heard first. */
		u->rx_want = SUCI_UDP_BATCH;
		rx_socket(u, now_ns, &moved);
		read_errors(u, now_ns);
	}
	if (suci_expiry_ns(u->ep) <= now_ns)
		suci_tick(u->ep, now_ns);
	return suci_udp_tx(u, now_ns) || moved;
}

short
suci_udp_events(const struct suci_udp *u)
{
	short ev = 0;

	if (u->xdp)
		return POLLIN; /* of the epoll descriptor */
	if (u->narmed > 0 || u->nfree > 0)
		ev |= POLLIN;
	if (suci_udp_waiting(u))
		ev |= POLLOUT;
	return ev;
}
