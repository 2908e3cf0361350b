/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: datagrams from the endpoint, gathered into runs the kernel cuts
 * itself (UDP GSO), so that a run costs one way through its stack. */
#include "udp_internal.h"

#include "base/assert.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#define TURNS_MAX 8 /* batches a poll sends at most */

socklen_t
suci_udp_name(const struct suci_addr *a, sa_family_t family, union udp_name *out)
{
	if (family == AF_INET6) {
		out->v6 =
			(struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(a->port)};
		suci_addr_16(a, out->v6.sin6_addr.s6_addr);
		return sizeof out->v6;
	}
	out->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(a->port)};
	memcpy(&out->v4.sin_addr, a->ip + 12, 4);
	return sizeof out->v4;
}

bool
suci_udp_same_name(const union udp_name *a, const union udp_name *b)
{
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr &&
		       a->v4.sin_port == b->v4.sin_port;
	return a->v6.sin6_port == b->v6.sin6_port &&
	       memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0;
}

uint32_t
suci_udp_run(const struct udp_dgram *d, uint32_t n)
{
	uint32_t k = 1, bytes = d[0].len;

	while (k < n && k < RUN_SEGMENTS_MAX && d[k - 1].len == d[0].len && d[k].len <= d[0].len &&
	       bytes + d[k].len <= RUN_BYTES_MAX && suci_udp_same_name(&d[k].to, &d[0].to) &&
	       d[k].ecn == d[0].ecn)
		bytes += d[k++].len;
	return k;
}

/* One piece of control data behind those a message has. */
static void
put_control(struct msghdr *h, struct control *at, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)(at->bytes + h->msg_controllen);

	h->msg_control = at->bytes;
	h->msg_controllen += CMSG_SPACE(len);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
}

/* What goes to an IPv4 peer is IPv4's, from an IPv6 socket, too. */
static void
put_tos(struct msghdr *h, struct control *at, const union udp_name *to, int tos)
{
	bool v6 = to->any.sa_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&to->v6.sin6_addr);
	put_control(h, at, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS, &tos,
		    sizeof tos);
}

/* n pieces as one, if each lies behind the one before. */
static bool
join_send(const struct iovec *v, uint32_t n, struct iovec *one)
{
	*one = v[0];
	for (uint32_t i = 1; i < n; i++) {
		if ((uint8_t *)one->iov_base + one->iov_len != v[i].iov_base)
			return false;
		one->iov_len += v[i].iov_len;
	}
	return true;
}

/* Message i of the next sendmmsg: run datagrams from d on. */
static void
put_message(struct suci_udp *u, uint32_t i, struct udp_dgram *d, struct iovec *iov, uint32_t run)
{
	struct msghdr *h = &u->tx_msg[i].msg_hdr;
	const struct udp_dgram *last = &d[run - 1];

	/* To its peer a connected socket knows the route. */
	bool known = u->connected && suci_udp_same_name(&d->to, &u->peer);
	*h = (struct msghdr){.msg_name = known ? NULL : &d->to,
			     .msg_namelen = known ? 0 : u->name_len,
			     .msg_iov = iov + d->iov,
			     .msg_iovlen = last->iov + last->niov - d->iov};
	u->tx_run[i] = run;
	if (run > 1 && join_send(h->msg_iov, (uint32_t)h->msg_iovlen, &u->tx_one[i])) {
		h->msg_iov = &u->tx_one[i];
		h->msg_iovlen = 1;
	}
	uint16_t size = (uint16_t)d->len;
	if (run > 1)
		put_control(h, &u->tx_control[i], IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size);
	int tos = d->ecn;
	if (tos)
		put_tos(h, &u->tx_control[i], &d->to, tos);
}

/* What sendmmsg made of an error on its first message. */
enum send_fault { SEND_RETRY, SEND_LATER, SEND_SKIP };
static enum send_fault
send_fault(struct suci_udp *u, int err)
{
	switch (err) {
	case EINTR:
		return SEND_RETRY;
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
		return SEND_LATER;
	case ECONNREFUSED:
		/* An earlier datagram's ICMP error; reported once, so send again.
		 * The queue is read when no piece of this batch is in use. */
		u->errors_queued = true;
		return SEND_RETRY;
	default:
		/* It may have been that of an earlier datagram, too, as EHOSTUNREACH is.  Its
		 * report stays in the queue, and poll() returns at once until it is read. */
		u->errors_queued = true;
		return SEND_SKIP;
	}
}

/* The kernel or the device does not cut: from here on we do. */
static void
run_refused(struct suci_udp *u, int err)
{
	u->count.gso_refused++;
	if (err == EIO || err == EINVAL || err == EOPNOTSUPP)
		u->gso = false;
}

/* One message alone, by the call that costs least. */
static int
send_one(struct suci_udp *u)
{
	struct msghdr *h = &u->tx_msg[0].msg_hdr;
	const struct iovec *v = h->msg_iov;
	ssize_t n = h->msg_iovlen == 1 && !h->msg_control
			    ? sendto(u->fd, v->iov_base, v->iov_len, MSG_DONTWAIT, h->msg_name,
				     h->msg_namelen)
			    : sendmsg(u->fd, h, MSG_DONTWAIT);

	return n < 0 ? -1 : 1;
}

/* Offer d[0..n) to the kernel.  Returns how many are dealt with: sent or given
 * up; the rest has to wait. */
static uint32_t
send_batch(struct suci_udp *u, struct udp_dgram *d, struct iovec *iov, uint32_t n)
{
	uint32_t at = 0, single_to = 0, cut = u->run_most;
	unsigned retries = 0;
	bool stopped = false; /* the last call, at a message that is the first of this one */

	/* A batch that is not full is all there is: somebody waits for its end, and takes in the
	 * first half while the kernel cuts the second. */
	if (n < u->tx_most && n > 2)
		cut = (n + 1) / 2;
	while (at < n) {
		uint32_t k = 0;
		for (uint32_t i = at; i < n; i += u->tx_run[k++]) {
			bool runs = u->gso && i >= single_to;
			uint32_t left = n - i < cut ? n - i : cut;
			put_message(u, k, &d[i], iov, runs ? suci_udp_run(&d[i], left) : 1);
		}
		int r = k > 1 ? sendmmsg(u->fd, u->tx_msg, k, MSG_DONTWAIT) : send_one(u);
		u->count.tx_calls++;
		for (int i = 0; i < r; i++) {
			at += u->tx_run[i];
			u->count.tx_datagrams += u->tx_run[i];
			u->count.tx_runs += u->tx_run[i] > 1;
		}
		if (r > 0) {
			/* What stopped it is not said.  It was no lack of room, as that one went
			 * now: an earlier datagram's error, whose report stays (send_fault()). */
			u->errors_queued |= stopped;
			stopped = (uint32_t)r < k;
			continue;
		}
		switch (send_fault(u, errno)) {
		case SEND_RETRY:
			if (++retries < 2 * TX_BATCH)
				continue;
			/* fall through */
		case SEND_LATER:
			u->count.tx_again++;
			return at;
		case SEND_SKIP:
			if (u->tx_run[0] > 1) {
				run_refused(u, errno);
				single_to = at + u->tx_run[0];
				continue;
			}
			/* Lost like any lost datagram: Suci sends it again. */
			u->count.tx_errors++;
			at++;
		}
	}
	return n;
}

/* Keep a copy of what the kernel refused: its pieces may change hands with the
 * next call on the endpoint. */
static void
set_aside(struct suci_udp *u, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < n; i++) {
		const struct udp_dgram *d = &u->dgram[i];
		uint32_t k = i - from;
		uint8_t *p = u->aside + (size_t)k * u->mtu;
		size_t len = 0;
		BASE_ASSERT(d->len <= u->mtu);
		for (uint32_t v = 0; v < d->niov; v++) {
			const struct iovec *piece = &u->tx_iov[d->iov + v];
			memcpy(p + len, piece->iov_base, piece->iov_len);
			len += piece->iov_len;
		}
		u->aside_iov[k] = (struct iovec){p, len};
		u->aside_dgram[k] = (struct udp_dgram){
			.to = d->to, .len = d->len, .iov = k, .niov = 1, .ecn = d->ecn};
	}
	u->aside_at = 0;
	u->aside_n = n - from;
}

bool
suci_udp_waiting(const struct suci_udp *u)
{
	return u->aside_n > u->aside_at;
}

/* A sealed datagram is one piece, behind the one before; 0: there is none to send. */
static uint32_t
gather_sealed(struct suci_udp *u, const struct suci_out *o, uint8_t **at, struct iovec *iov)
{
	if (!u->sealed) {
		u->sealed = malloc((size_t)TX_BATCH * u->mtu);
		*at = u->sealed;
	}
	size_t len = *at ? suci_seal(u->ep, o, *at, u->mtu) : 0;
	*iov = (struct iovec){*at, len};
	*at += len;
	return (uint32_t)len;
}

/* The pieces of a datagram, how many.  Those of a short one are copied together, behind the
 * datagram before: a run is then one piece, and the kernel's care for a piece costs more than
 * our copy. */
static uint32_t
put_pieces(const struct suci_out *o, uint8_t **flat, struct iovec *v)
{
	uint32_t n = 0, len = suci_out_len(o);

	if (len <= FLAT_BYTES) {
		memcpy(*flat, o->head, o->head_len);
		if (o->seg_head_len)
			memcpy(*flat + o->head_len, o->seg_head, o->seg_head_len);
		if (o->data_len)
			memcpy(*flat + o->head_len + o->seg_head_len, o->data, o->data_len);
		v[n++] = (struct iovec){*flat, len};
		*flat += len;
		return n;
	}
	v[n++] = (struct iovec){(void *)(uintptr_t)o->head, o->head_len};
	if (o->seg_head_len)
		v[n++] = (struct iovec){(void *)(uintptr_t)o->seg_head, o->seg_head_len};
	if (o->data_len)
		v[n++] = (struct iovec){(void *)(uintptr_t)o->data, o->data_len};
	return n;
}

/* Take up to a batch of datagrams from the endpoint: whole runs of full ones, as a run costs
 * the kernel as much as two or three datagrams. */
static uint32_t
gather_send(struct suci_udp *u, uint64_t now_ns)
{
	uint32_t n = 0, v = 0;
	uint8_t *sealed = u->sealed, *flat = u->flat;

	while (n < u->tx_most && suci_tx(u->ep, &u->out[n], now_ns) == 1) {
		struct suci_out *o = &u->out[n];
		struct udp_dgram *d = &u->dgram[n];
		if (o->to.family == 6 && u->family == AF_INET) {
			u->count.tx_errors++;
			continue;
		}
		d->iov = v;
		d->ecn = u->ecn ? o->ecn : 0;
		suci_udp_name(&o->to, u->family, &d->to);
		d->len = suci_out_len(o);
		if (o->sealed) {
			d->niov = 1;
			if (gather_sealed(u, o, &sealed, &u->tx_iov[v]) == 0)
				continue; /* as if it were lost; without memory every one is */
			v++;
			n++;
			continue;
		}
		v += put_pieces(o, &flat, &u->tx_iov[v]);
		d->niov = v - d->iov;
		n++;
	}
	return n;
}

bool
suci_udp_send(struct suci_udp *u, uint64_t now_ns)
{
	bool moved = false;

	if (suci_udp_waiting(u)) {
		uint32_t left = u->aside_n - u->aside_at;
		uint32_t did = send_batch(u, u->aside_dgram + u->aside_at, u->aside_iov, left);
		u->aside_at += did;
		moved = did > 0;
		if (did < left)
			return moved;
	}
	/* Bounded, so that a fast socket cannot keep a poll from returning. */
	for (int turn = 0; turn < TURNS_MAX; turn++) {
		uint32_t n = gather_send(u, now_ns);
		if (n == 0)
			break;
		moved = true;
		uint32_t did = send_batch(u, u->dgram, u->tx_iov, n);
		if (did < n) {
			set_aside(u, did, n);
			break;
		}
		if (n < u->tx_most)
			break;
	}
	return moved;
}
