/* SPDX-License-Identifier: BSD-2-Clause */
/* The AF_XDP socket: its memory, its rings, what it receives.  Sending stays with the UDP
 * socket, which cuts whole runs.
 *
 * Who reads the UDP socket polls the device of the packet it got last (SO_BUSY_POLL), and the
 * device's packets come to the rings while it is at it: so the receiver's core does the
 * receiver's work, where else (veth, a NIC's interrupt) it is done where the packet came in. */
#include "frame.h"
#include "udp_internal.h"
#include "xdp.h"

#include "base/assert.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HEADROOM   256u /* XDP_PACKET_HEADROOM: of each frame's place */
#define CHUNK_MOST 4096u
#define FRAMES	   (2 * XDP_RING) /* at least; a power of two */
#define BUSY_US	   20
#define BIND_TURNS 5
#define TRIES_MOST 8u /* datagrams without a NAPI id, then it goes without polling */

/* Receive queues of the interface; a driver that does not say has one. */
static uint32_t
queues(int fd, const char *name)
{
	struct ethtool_channels c = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq r = {.ifr_data = (void *)&c};

	memcpy(r.ifr_name, name, IFNAMSIZ);
	return ioctl(fd, SIOCETHTOOL, &r) == 0 ? c.rx_count + c.combined_count : 1;
}

static int
make_umem(struct udp_xdp *x, bool reserved)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, prot = PROT_READ | PROT_WRITE;

	x->umem_bytes = (size_t)x->frames * x->chunk;
	void *p = MAP_FAILED;
	if (reserved)
		p = mmap(NULL, x->umem_bytes, prot, flags | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED)
		p = mmap(NULL, x->umem_bytes, prot, flags | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	x->umem = p;
	struct xdp_umem_reg r = {
		.addr = (uintptr_t)p, .len = x->umem_bytes, .chunk_size = x->chunk};
	int n = (int)XDP_RING, fill = (int)x->frames;
	if (setsockopt(x->fd, SOL_XDP, XDP_UMEM_REG, &r, sizeof r) < 0 ||
	    setsockopt(x->fd, SOL_XDP, XDP_UMEM_FILL_RING, &fill, sizeof fill) < 0 ||
	    setsockopt(x->fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &n, sizeof n) < 0 ||
	    setsockopt(x->fd, SOL_XDP, XDP_RX_RING, &n, sizeof n) < 0)
		return -errno;
	return 0;
}

/* A part of a ring, where the kernel said it is. */
static void *
in_ring(void *ring, uint64_t off)
{
	return (uint8_t *)ring + off;
}

static int
map_rings(struct udp_xdp *x)
{
	struct xdp_mmap_offsets o;
	socklen_t len = sizeof o;
	int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;

	if (getsockopt(x->fd, SOL_XDP, XDP_MMAP_OFFSETS, &o, &len) < 0)
		return -errno;
	if (len != sizeof o)
		return -EOPNOTSUPP; /* a kernel before 5.4 */
	x->rx_bytes = o.rx.desc + XDP_RING * sizeof(struct xdp_desc);
	x->fill_bytes = o.fr.desc + x->frames * sizeof(uint64_t);
	void *rx = mmap(NULL, x->rx_bytes, prot, flags, x->fd, XDP_PGOFF_RX_RING);
	if (rx == MAP_FAILED)
		return -errno;
	x->rx_map = rx;
	void *fill = mmap(NULL, x->fill_bytes, prot, flags, x->fd, XDP_UMEM_PGOFF_FILL_RING);
	if (fill == MAP_FAILED)
		return -errno;
	x->fill_map = fill;
	x->rx_prod = in_ring(rx, o.rx.producer);
	x->rx_cons = in_ring(rx, o.rx.consumer);
	x->rx_desc = in_ring(rx, o.rx.desc);
	x->fill_prod = in_ring(fill, o.fr.producer);
	x->fill_flags = in_ring(fill, o.fr.flags);
	x->fill_addr = in_ring(fill, o.fr.desc);
	return 0;
}

/* Frame f is the kernel's again.  The ring has a place for every frame. */
static void
give_xdp(struct udp_xdp *x, uint32_t f)
{
	x->fill_addr[x->fill_at++ & (x->frames - 1)] = (uint64_t)f * x->chunk;
}

static void
publish_xdp(struct udp_xdp *x)
{
	__atomic_store_n(x->fill_prod, x->fill_at, __ATOMIC_RELEASE);
	/* A driver that found the ring empty waits to be told. */
	if (*(volatile uint32_t *)x->fill_flags & XDP_RING_NEED_WAKEUP)
		(void)recvfrom(x->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
}

static int
watch_xdp(const struct udp_xdp *x, int op, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events};

	return epoll_ctl(x->epoll_fd, op, fd, &e) < 0 ? -errno : 0;
}

static int
make_xdp(struct suci_udp *u, struct udp_xdp *x, const char *name, bool reserved, const char **why)
{
	struct sockaddr_xdp sa = {.sxdp_family = AF_XDP,
				  .sxdp_flags = XDP_USE_NEED_WAKEUP,
				  .sxdp_ifindex = if_nametoindex(name)};
	int err;

	*why = "no AF_XDP socket to be had (CAP_NET_RAW)";
	x->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (x->fd < 0)
		return -errno;
	*why = "no memory for AF_XDP (RLIMIT_MEMLOCK)";
	x->refs = calloc(x->frames, sizeof *x->refs);
	if (!x->refs)
		return -ENOMEM;
	err = make_umem(x, reserved);
	err = err ? err : map_rings(x);
	if (err || !x->fill_addr)
		return err ? err : -EIO;
	*why = "another AF_XDP socket has the interface's queue";
	/* One that was closed a moment ago leaves the queue a moment later. */
	for (int turn = 0; bind(x->fd, (struct sockaddr *)&sa, sizeof sa) < 0; turn++) {
		if (errno != EBUSY || turn == BIND_TURNS)
			return -errno;
		(void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	for (uint32_t i = 0; i < x->frames; i++)
		give_xdp(x, i);
	publish_xdp(x);
	*why = "no epoll descriptor";
	x->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (x->epoll_fd < 0)
		return -errno;
	err = watch_xdp(x, EPOLL_CTL_ADD, x->fd, EPOLLIN);
	err = err ? err : watch_xdp(x, EPOLL_CTL_ADD, u->fd, EPOLLIN);
	if (err)
		return err;
	return suci_udp_xdp_attach(x, sa.sxdp_ifindex, &u->local, why);
}

void
suci_udp_xdp_open(struct suci_udp *u, const char *name, uint32_t if_mtu, bool reserved)
{
	struct udp_xdp *x;

	u->xdp_why = "no memory";
	if (u->xdp || !(x = calloc(1, sizeof *x)))
		return;
	x->fd = x->map_fd = x->prog_fd = x->link_fd = x->epoll_fd = -1;
	/* The upper layer may hold as many as there are buffers; others still come in. */
	for (x->frames = FRAMES; x->frames < u->bufs + XDP_RING;)
		x->frames *= 2;
	x->chunk =
		if_mtu + FRAME_HDR_BYTES + HEADROOM <= CHUNK_MOST / 2 ? CHUNK_MOST / 2 : CHUNK_MOST;
	u->xdp = x;
	if (if_mtu + FRAME_HDR_BYTES + HEADROOM > CHUNK_MOST)
		u->xdp_why = "frames of the interface are too long for AF_XDP";
	else if (queues(u->fd, name) > 1)
		u->xdp_why = "the interface has more than one receive queue";
	else if (make_xdp(u, x, name, reserved, &u->xdp_why) == 0) {
		u->xdp_why = NULL;
		return;
	}
	suci_udp_xdp_close(u);
}

static void
close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void
suci_udp_xdp_close(struct suci_udp *u)
{
	struct udp_xdp *x = u->xdp;

	if (!x)
		return;
	/* The program goes with its link, first of all. */
	close_fd(x->link_fd);
	close_fd(x->prog_fd);
	close_fd(x->map_fd);
	close_fd(x->epoll_fd);
	if (x->rx_map)
		munmap(x->rx_map, x->rx_bytes);
	if (x->fill_map)
		munmap(x->fill_map, x->fill_bytes);
	close_fd(x->fd);
	if (x->umem)
		munmap(x->umem, x->umem_bytes);
	free(x->refs);
	free(x);
	u->xdp = NULL;
}

/* The socket has got a datagram, so it knows which device to poll: from now on the program
 * may hand over. */
void
suci_udp_xdp_begin(struct suci_udp *u)
{
	struct udp_xdp *x = u->xdp;
	unsigned napi = 0;
	socklen_t len = sizeof napi;
	int us = BUSY_US;

	if (x->on || x->tries > TRIES_MOST)
		return;
	(void)getsockopt(u->fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &napi, &len);
	if (napi == 0 && ++x->tries < TRIES_MOST)
		return;
	if (u->busy_poll_us == 0 &&
	    setsockopt(u->fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof us) == 0)
		u->busy_poll_us = (uint32_t)us;
	if (suci_udp_xdp_start(x) < 0) {
		x->tries = TRIES_MOST + 1;
		u->xdp_why = "the kernel refuses the socket in the BPF map";
	}
}

static union udp_name
name_sender(const struct udp_frame *f)
{
	union udp_name name = {.any.sa_family = f->family == 6 ? AF_INET6 : AF_INET};
	if (f->family == 6) {
		memcpy(&name.v6.sin6_addr, f->src, 16);
		name.v6.sin6_port = f->src_port;
	} else {
		memcpy(&name.v4.sin_addr, f->src, 4);
		name.v4.sin_port = f->src_port;
	}
	return name;
}

static bool
is_of_peer(const struct suci_udp *u, const struct udp_frame *f)
{
	if (f->family == 6)
		return f->src_port == u->peer.v6.sin6_port &&
		       memcmp(f->src, &u->peer.v6.sin6_addr, 16) == 0;
	return f->src_port == u->peer.v4.sin_port && memcmp(f->src, &u->peer.v4.sin_addr, 4) == 0;
}

static void
receive_xdp(struct suci_udp *u, const struct xdp_desc *d, uint64_t now_ns)
{
	struct udp_xdp *x = u->xdp;
	uint32_t f = (uint32_t)(d->addr / x->chunk);
	struct udp_frame frame;

	BASE_ASSERT(f < x->frames && d->addr % x->chunk + d->len <= x->chunk);
	uint8_t *bytes = x->umem + d->addr;
	enum udp_frame_fault fault = suci_udp_frame_parse(bytes, d->len, &frame);

	x->refs[f] = 1;
	if (fault == FRAME_BAD_SUM) {
		u->count.xdp_bad_sum++;
	} else if (fault != FRAME_OK || frame.family != u->local.family) {
		u->count.xdp_malformed++;
	} else if (u->connected && !is_of_peer(u, &frame)) {
		u->count.rx_foreign++;
	} else if (frame.len > u->mtu) {
		u->count.rx_truncated++;
	} else {
		union udp_name name = name_sender(&frame);
		struct suci_addr from = suci_udp_from(&name);
		u->count.rx_datagrams++;
		u->count.xdp_datagrams++;
		suci_rx_ecn(u->ep, &from, bytes + frame.at, frame.len,
			    u->ecn ? frame.ecn : SUCI_ECN_NOT, 1ull + u->bufs + f, now_ns);
	}
	if (--x->refs[f] == 0)
		give_xdp(x, f);
}

uint32_t
suci_udp_xdp_rx(struct suci_udp *u, uint32_t most, uint64_t now_ns)
{
	struct udp_xdp *x = u->xdp;
	uint32_t n = __atomic_load_n(x->rx_prod, __ATOMIC_ACQUIRE) - x->rx_at;

	n = n < most ? n : most;
	if (n == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		receive_xdp(u, &x->rx_desc[x->rx_at++ & (XDP_RING - 1)], now_ns);
	__atomic_store_n(x->rx_cons, x->rx_at, __ATOMIC_RELEASE);
	publish_xdp(x);
	return n;
}

uint32_t *
suci_udp_xdp_refs(struct suci_udp *u, uint64_t cookie)
{
	BASE_ASSERT(u->xdp && cookie > u->bufs && cookie - u->bufs <= u->xdp->frames);
	return &u->xdp->refs[cookie - u->bufs - 1];
}

void
suci_udp_xdp_release(struct suci_udp *u, uint64_t cookie)
{
	uint32_t *refs = suci_udp_xdp_refs(u, cookie);

	BASE_ASSERT(*refs > 0);
	if (--*refs == 0) {
		give_xdp(u->xdp, (uint32_t)(cookie - u->bufs - 1));
		publish_xdp(u->xdp);
	}
}

void
suci_udp_xdp_watch(struct suci_udp *u)
{
	struct udp_xdp *x = u->xdp;
	bool out = suci_udp_waiting(u);

	if (out != x->watching_out &&
	    watch_xdp(x, EPOLL_CTL_MOD, u->fd, EPOLLIN | (out ? EPOLLOUT : 0)) == 0)
		x->watching_out = out;
}
