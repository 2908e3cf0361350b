/* SPDX-License-Identifier: BSD-2-Clause */
/* Making and closing the socket; what the interface can carry. */
#include "udp_internal.h"
#include "xdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define V4_UDP_HDR 28u
#define V6_UDP_HDR 48u
#define MTU_LEAST  1200u
#define MTU_MOST   65000u

static bool
match_local(const struct ifaddrs *i, const struct suci_addr *at)
{
	union udp_name name;
	if (!i->ifa_addr || i->ifa_addr->sa_family != (at->family == 6 ? AF_INET6 : AF_INET))
		return false;
	memcpy(&name, i->ifa_addr, at->family == 6 ? sizeof name.v6 : sizeof name.v4);
	struct suci_addr a = suci_udp_from(&name);
	return a.family == at->family && memcmp(a.ip, at->ip, sizeof a.ip) == 0;
}

/* MTU and name of the interface that has the address; 0 if none has it. */
static uint32_t
interface_mtu(int fd, const struct suci_addr *at, char name[IFNAMSIZ])
{
	struct ifaddrs *list, *i;
	uint32_t mtu = 0;

	if (getifaddrs(&list) < 0)
		return 0;
	for (i = list; i; i = i->ifa_next) {
		if (!match_local(i, at))
			continue;
		struct ifreq r = {0};
		strncpy(r.ifr_name, i->ifa_name, sizeof r.ifr_name - 1);
		memcpy(name, r.ifr_name, IFNAMSIZ);
		if (ioctl(fd, SIOCGIFMTU, &r) == 0 && r.ifr_mtu > (int)V6_UDP_HDR)
			mtu = (uint32_t)r.ifr_mtu;
		break;
	}
	freeifaddrs(list);
	return mtu;
}

static void
size_buffers(struct suci_udp *u, uint32_t want)
{
	int v = (int)want, got = 0;
	socklen_t len = sizeof got;

	/* FORCE passes the administrator's limit where we may; else take what
	 * the limit gives. */
	if (setsockopt(u->fd, SOL_SOCKET, SO_RCVBUFFORCE, &v, sizeof v) < 0)
		(void)setsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &v, sizeof v);
	if (setsockopt(u->fd, SOL_SOCKET, SO_SNDBUFFORCE, &v, sizeof v) < 0)
		(void)setsockopt(u->fd, SOL_SOCKET, SO_SNDBUF, &v, sizeof v);
	if (getsockopt(u->fd, SOL_SOCKET, SO_RCVBUF, &got, &len) < 0 || got <= 0)
		got = 212992;
	u->rcvbuf_bytes = (uint32_t)got;
}

/* Segmentation and merging in the kernel.  Whether the device in the way goes
 * along shows when something is sent; merging begins when there is load. */
static void
probe_offload(struct suci_udp *u, const struct suci_udp_conf *conf)
{
	int off = 0, on = 1;

	u->gso =
		!conf->no_gso && setsockopt(u->fd, IPPROTO_UDP, UDP_SEGMENT, &off, sizeof off) == 0;
	u->gro = !conf->no_gro && setsockopt(u->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0 &&
		 setsockopt(u->fd, IPPROTO_UDP, UDP_GRO, &off, sizeof off) == 0;
}

/* The kernel may refuse a longer time than the administrator's (CAP_NET_ADMIN): then it
 * stays as it is. */
static void
ask_busy_poll(struct suci_udp *u, uint32_t us)
{
	int v = (int)us, got = 0, on = 1;
	socklen_t len = sizeof got;

	if (us) {
		(void)setsockopt(u->fd, SOL_SOCKET, SO_BUSY_POLL, &v, sizeof v);
		u->busy_poll_preferred =
			setsockopt(u->fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &on, sizeof on) == 0;
	}
	if (getsockopt(u->fd, SOL_SOCKET, SO_BUSY_POLL, &got, &len) == 0 && got > 0)
		u->busy_poll_us = (uint32_t)got;
}

/* Never fragment: a datagram that does not fit is an error, not two packets of which one gets
 * lost.  The kernel keeps ICMP errors for us.  Where a socket speaks IPv6 and IPv4, both are asked
 * for. */
static bool
set_ip_options(const struct suci_udp *u, bool v4)
{
	int one = 1, probe = IP_PMTUDISC_PROBE, probe6 = IPV6_PMTUDISC_PROBE, only = !v4;

	if (u->family == AF_INET6 &&
	    (setsockopt(u->fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) < 0 ||
	     setsockopt(u->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe6, sizeof probe6) < 0 ||
	     setsockopt(u->fd, IPPROTO_IPV6, IPV6_RECVERR, &one, sizeof one) < 0))
		return false;
	return !v4 || (setsockopt(u->fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe) == 0 &&
		       setsockopt(u->fd, IPPROTO_IP, IP_RECVERR, &one, sizeof one) == 0);
}

static bool
ask_ecn(const struct suci_udp *u, bool v4)
{
	int one = 1;
	return (u->family != AF_INET6 ||
		setsockopt(u->fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &one, sizeof one) == 0) &&
	       (!v4 || setsockopt(u->fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof one) == 0);
}

static int
make_socket(struct suci_udp *u, const struct suci_udp_conf *conf)
{
	bool v4 = u->family == AF_INET || suci_addr_is_any(&conf->at);
	union udp_name name;
	socklen_t len = sizeof name;

	suci_udp_name(&conf->at, u->family, &name);
	u->fd = socket(u->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (u->fd < 0)
		return -errno;
	if (!set_ip_options(u, v4) || bind(u->fd, &name.any, u->name_len) < 0 ||
	    getsockname(u->fd, &name.any, &len) < 0)
		return -errno;
	u->local = suci_udp_from(&name);
	probe_offload(u, conf);
	u->ecn = conf->ecn && ask_ecn(u, v4);
	ask_busy_poll(u, conf->busy_poll_us);
	size_buffers(u, conf->sockbuf_bytes ? conf->sockbuf_bytes : 8u << 20);
	return 0;
}

static int
make_pool(struct suci_udp *u, bool huge_pages)
{
	/* An odd number of cache lines: equal offsets of the buffers, the headers
	 * above all, shall not share the same few sets of the cache. */
	u->buf_bytes = (((u->gro ? MERGED_MAX : u->mtu) + 63) & ~63u) | 64;
	u->rx_want = 1;
	(void)suci_udp_region_make(u, (size_t)u->bufs * u->buf_bytes, huge_pages);
	u->aside = aligned_alloc(64, (((size_t)TX_BATCH * u->mtu) + 63) & ~(size_t)63);
	u->refs = calloc(u->bufs, sizeof *u->refs);
	u->free_buf = calloc(u->bufs, sizeof *u->free_buf);
	if (!u->buf || !u->aside || !u->refs || !u->free_buf)
		return -ENOMEM;
	for (uint32_t i = 0; i < u->bufs; i++)
		u->free_buf[u->nfree++] = u->bufs - 1 - i;
	suci_udp_rearm(u);
	return 0;
}

int
suci_udp_open(const struct suci_udp_conf *conf, struct suci_udp **out)
{
	uint32_t mtu_max = conf->mtu_max ? conf->mtu_max : MTU_MOST;
	uint32_t if_mtu;
	char name[IFNAMSIZ];
	struct suci_udp *u;
	int err;

	if (mtu_max < MTU_LEAST || mtu_max > MTU_MOST || conf->mtu > MTU_MOST ||
	    (conf->mtu && conf->mtu < MTU_LEAST) ||
	    (conf->bufs && conf->bufs < 2 * SUCI_UDP_BATCH) || conf->bufs > 1u << 20 ||
	    conf->sockbuf_bytes > 1u << 30 || conf->run > SUCI_UDP_RUN_MAX ||
	    conf->busy_poll_us > 1000000)
		return -EINVAL;
	u = calloc(1, sizeof *u);
	if (!u)
		return -ENOMEM;
	u->fd = -1;
	u->family = conf->at.family == 6 ? AF_INET6 : AF_INET;
	u->name_len =
		u->family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	u->bufs = conf->bufs ? conf->bufs : 512;
	err = make_socket(u, conf);
	if (err)
		goto fail;
	if_mtu = interface_mtu(u->fd, &u->local, name);
	u->mtu = conf->mtu ? conf->mtu
			   : (if_mtu ? if_mtu : 1500) -
				     (u->family == AF_INET6 ? V6_UDP_HDR : V4_UDP_HDR);
	if (u->mtu > mtu_max)
		u->mtu = mtu_max;
	if (u->mtu < MTU_LEAST)
		u->mtu = MTU_LEAST;
	if (conf->run_watched)
		suci_udp_watch_run(u, conf->run);
	else
		suci_udp_set_run(u, conf->run);
	err = make_pool(u, conf->huge_pages);
	if (err)
		goto fail;
	u->xdp_why = conf->xdp ? "no interface has the address" : "not asked for";
	if (conf->xdp && if_mtu)
		suci_udp_xdp_open(u, name, if_mtu, conf->huge_pages);
	*out = u;
	return 0;
fail:
	suci_udp_close(u);
	return err;
}

void
suci_udp_close(struct suci_udp *u)
{
	if (!u)
		return;
	suci_udp_xdp_close(u);
	if (u->fd >= 0)
		close(u->fd);
	suci_udp_region_free(u);
	free(u->watch);
	free(u->sealed);
	free(u->aside);
	free(u->refs);
	free(u->free_buf);
	free(u);
}

int
suci_udp_connect(struct suci_udp *u, const struct suci_addr *peer)
{
	union udp_name name;

	if (peer->family != 4 && (peer->family != 6 || u->family != AF_INET6))
		return -EAFNOSUPPORT;
	suci_udp_name(peer, u->family, &name);
	if (connect(u->fd, &name.any, u->name_len) < 0)
		return -errno;
	u->peer = name;
	u->connected = true;
	suci_udp_name_senders(u, true);
	return 0;
}

int
suci_udp_disconnect(struct suci_udp *u)
{
	union udp_name was, is;
	struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	socklen_t len = sizeof was;

	if (!u->connected)
		return 0;
	u->connected = false;
	suci_udp_name_senders(u, true);
	if (getsockname(u->fd, &was.any, &len) < 0 || connect(u->fd, &nobody, sizeof nobody) < 0)
		return -errno;
	/* A port that the kernel chose may be gone with the connection. */
	len = sizeof is;
	if (getsockname(u->fd, &is.any, &len) < 0)
		return -errno;
	if (suci_udp_from(&is).port != suci_udp_from(&was).port &&
	    bind(u->fd, &was.any, u->name_len) < 0)
		return -errno;
	return 0;
}

void
suci_udp_get_info(const struct suci_udp *u, struct suci_udp_info *out)
{
	*out = (struct suci_udp_info){.gso = u->gso,
				      .gro = u->gro,
				      .connected = u->connected,
				      .xdp = u->xdp != NULL && !u->xdp_why,
				      .xdp_why = u->xdp_why,
				      .busy_poll_preferred = u->busy_poll_preferred,
				      .pages = (enum suci_udp_pages)u->pages,
				      .busy_poll_us = u->busy_poll_us,
				      .region_bytes = u->region_bytes,
				      .xdp_bytes = u->xdp ? u->xdp->umem_bytes : 0,
				      .rcvbuf_bytes = u->rcvbuf_bytes};
}

void
suci_udp_attach(struct suci_udp *u, struct suci *ep)
{
	u->ep = ep;
}

void
suci_udp_detach(struct suci_udp *u)
{
	u->ep = NULL;
}

uint32_t
suci_udp_mtu(const struct suci_udp *u)
{
	return u->mtu;
}

struct suci_addr
suci_udp_local(const struct suci_udp *u)
{
	return u->local;
}

int
suci_udp_fd(const struct suci_udp *u)
{
	return u->xdp ? u->xdp->epoll_fd : u->fd;
}

bool
suci_udp_ecn_works(const struct suci_udp *u)
{
	return u->ecn;
}

uint32_t
suci_udp_burst(const struct suci_udp *u)
{
	return u->gso ? 4 * MERGED_MAX : 16 * u->mtu;
}

const struct suci_udp_counters *
suci_udp_counters(const struct suci_udp *u)
{
	return &u->count;
}

uint32_t
suci_udp_credit(const struct suci_udp *u, uint32_t peers)
{
	/* The kernel charges a datagram its allocation: up to twice the bytes
	 * plus the skb. */
	uint64_t each = 2ull * u->mtu + 1024;
	uint64_t n = u->rcvbuf_bytes / each;
	/* Past the socket the device's ring is all the room there is. */
	if (u->xdp && n > XDP_DEVICE_RING)
		n = XDP_DEVICE_RING;
	n /= peers ? peers : 1;
	return n < 4 ? 4 : n > 65535 ? 65535 : (uint32_t)n;
}
