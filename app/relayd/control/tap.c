/* SPDX-License-Identifier: BSD-2-Clause */
#include "taps.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bsd/string.h>

#define ROUTE_METRIC 20000 /* behind any route the machine has of its own */

static struct sockaddr
ipv4_sockaddr(uint32_t address)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	struct sockaddr sa;
	_Static_assert(sizeof sin == sizeof sa, "same size by definition");
	memcpy(&sa, &sin, sizeof sa);
	return sa;
}

/* Best effort. */
static void
set_sysctl(const char *family, const char *tap, const char *name, const char *value)
{
	char path[128];
	snprintf(path, sizeof path, "/proc/sys/net/%s/conf/%s/%s", family, tap, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, value, strlen(value)) < 0)
		rd_log(RD_LOG_DEBUG, "%s: %s", path, strerror(errno));
	close(fd);
}

static int
request(int sock, unsigned long what, struct ifreq *ifr, const char *name, const char *step,
	char *err, size_t err_max)
{
	if (ioctl(sock, what, ifr) == 0)
		return 0;
	snprintf(err, err_max, "TAP %s: setting %s: %s", name, step, strerror(errno));
	return -1;
}

/* A request of netlink's, answered: 0, or -errno. */
static int
ask_kernel(const void *req, size_t len)
{
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
		uint8_t rest[256];
	} answer = {0};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	int e = 0;
	if (send(fd, req, len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
		e = -errno;
	else if (answer.hdr.nlmsg_type == NLMSG_ERROR)
		e = answer.err.error;
	close(fd);
	return e;
}

#define TO_CREATE (NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)

/* An address, by netlink: for a second one an alias of the old interface would need a longer name.
 */
static int
add_address(unsigned index, struct ifaddrmsg ifa, const void *address, size_t len)
{
	struct {
		struct nlmsghdr hdr;
		struct ifaddrmsg ifa;
		struct rtattr attr;
		uint8_t address[16];
	} req = {
		.hdr = {.nlmsg_type = RTM_NEWADDR, .nlmsg_flags = TO_CREATE},
		.ifa = ifa,
		.attr = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = IFA_LOCAL},
	};
	req.hdr.nlmsg_len = (uint32_t)(sizeof req - sizeof req.address + len);
	req.ifa.ifa_index = index;
	memcpy(req.address, address, len);
	return ask_kernel(&req, req.hdr.nlmsg_len);
}

static int
add_address4(unsigned index, uint32_t address)
{
	uint32_t ip = htonl(address);
	struct ifaddrmsg ifa = {.ifa_family = AF_INET, .ifa_prefixlen = 32};
	return add_address(index, ifa, &ip, sizeof ip);
}

/* The relay answers for it on the wire: whether it is somebody else's is not asked here. */
static int
add_address6(unsigned index, const struct rd_conf_port *port)
{
	struct ifaddrmsg ifa = {.ifa_family = AF_INET6,
				.ifa_prefixlen = (uint8_t)port->prefix6_len,
				.ifa_flags = IFA_F_NODAD};
	return add_address(index, ifa, port->address6, sizeof port->address6);
}

static int
add_gateway6(unsigned index, const struct rd_conf_port *port)
{
	struct {
		struct nlmsghdr hdr;
		struct rtmsg rtm;
		struct rtattr via_attr;
		uint8_t via[16];
		struct rtattr dev_attr;
		uint32_t dev;
		struct rtattr metric_attr;
		uint32_t metric;
	} req = {
		.hdr = {.nlmsg_len = sizeof req,
			.nlmsg_type = RTM_NEWROUTE,
			.nlmsg_flags = TO_CREATE},
		.rtm = {.rtm_family = AF_INET6,
			.rtm_table = RT_TABLE_MAIN,
			.rtm_protocol = RTPROT_STATIC,
			.rtm_type = RTN_UNICAST},
		.via_attr = {.rta_len = RTA_LENGTH(16), .rta_type = RTA_GATEWAY},
		.dev_attr = {.rta_len = RTA_LENGTH(4), .rta_type = RTA_OIF},
		.dev = index,
		.metric_attr = {.rta_len = RTA_LENGTH(4), .rta_type = RTA_PRIORITY},
		.metric = ROUTE_METRIC,
	};
	memcpy(req.via, port->next6, sizeof req.via);
	return ask_kernel(&req, sizeof req);
}

/* Address and gateway are as configured: the kernel makes no address of its own there, believes no
 * router and forwards nothing. */
static int
configure6(const struct rd_conf_port *port, const char *name, char *err, size_t err_max)
{
	static const uint8_t nowhere[16];
	static const char *const off[] = {"accept_ra", "autoconf", "accept_redirects", "forwarding",
					  "router_solicitations"};
	unsigned index = if_nametoindex(name);
	if (!port->prefix6_len)
		return 0;
	set_sysctl("ipv6", name, "addr_gen_mode", "1"); /* none */
	for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
		set_sysctl("ipv6", name, off[i], "0");
	set_sysctl("ipv6", name, "disable_ipv6", "0");
	int e = add_address6(index, port);
	if (e == 0 && memcmp(port->next6, nowhere, sizeof nowhere) != 0)
		e = add_gateway6(index, port);
	if (e)
		snprintf(err, err_max, "TAP %s: adding %s: %s%s", name, port->ipv6, strerror(-e),
			 e == -EACCES || e == -EOPNOTSUPP || e == -EAFNOSUPPORT
				 ? "; IPv6 is switched off in this kernel (ipv6.disable)"
				 : "");
	return e ? -1 : 0;
}

/* The addresses of gates, which the kernel listens on. */
static int
add_tap_gates(const struct rd_conf *conf, int leg, const char *name, char *err, size_t err_max)
{
	uint32_t more[RD_GATES_MAX], n = rd_conf_leg_more(conf, leg, more);
	for (uint32_t i = 0; i < n; i++) {
		int e = add_address4(if_nametoindex(name), more[i]);
		char a[RD_IPV4_TEXT];
		if (e == 0)
			continue;
		snprintf(err, err_max, "TAP %s: adding gate address %s: %s", name,
			 rd_ipv4_text(more[i], a), strerror(-e));
		return -1;
	}
	return 0;
}

static int
configure(const struct rd_conf_port *port, const uint8_t mac[6], const char *name, int sock,
	  char *err, size_t err_max)
{
	struct ifreq ifr = {0};
	strlcpy(ifr.ifr_name, name, sizeof ifr.ifr_name);
	ifr.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(ifr.ifr_hwaddr.sa_data, mac, 6);
	if (request(sock, SIOCSIFHWADDR, &ifr, name, "its MAC", err, err_max))
		return -1;
	ifr.ifr_mtu = (int)port->mtu;
	if (request(sock, SIOCSIFMTU, &ifr, name, "its MTU", err, err_max))
		return -1;
	set_sysctl("ipv6", name, "disable_ipv6", "1");
	/* Loose: the way back to a server may be another interface's, and is this one's all the
	 * same, for our sockets are bound to it. */
	set_sysctl("ipv4", name, "rp_filter", "2");
	set_sysctl("ipv4", name, "accept_redirects", "0");
	set_sysctl("ipv4", name, "secure_redirects", "0");
	set_sysctl("ipv4", name, "send_redirects", "0");
	set_sysctl("ipv4", name, "accept_source_route", "0");
	set_sysctl("ipv4", name, "forwarding", "0");
	ifr.ifr_addr = ipv4_sockaddr(port->address);
	if (request(sock, SIOCSIFADDR, &ifr, name, "its address", err, err_max))
		return -1;
	ifr.ifr_netmask = ipv4_sockaddr(~0u << (32 - port->prefix_len));
	if (request(sock, SIOCSIFNETMASK, &ifr, name, "its netmask", err, err_max))
		return -1;
	if (request(sock, SIOCGIFFLAGS, &ifr, name, "it up", err, err_max))
		return -1;
	ifr.ifr_flags |= IFF_UP | IFF_RUNNING;
	if (request(sock, SIOCSIFFLAGS, &ifr, name, "it up", err, err_max))
		return -1;
	if (!port->gateway)
		return 0;
	struct rtentry rt = {
		.rt_dst = ipv4_sockaddr(0),
		.rt_genmask = ipv4_sockaddr(0),
		.rt_gateway = ipv4_sockaddr(port->gateway),
		.rt_flags = RTF_UP | RTF_GATEWAY,
		.rt_metric = ROUTE_METRIC + 1, /* the kernel takes one off */
		.rt_dev = ifr.ifr_name,
	};
	if (ioctl(sock, SIOCADDRT, &rt) == 0)
		return 0;
	snprintf(err, err_max, "TAP %s: adding the route over its gateway: %s", name,
		 strerror(errno));
	return -1;
}

/* Trunks do without the kernel's IPv6, processes of the cluster start over it. */
static bool
needs_six(const struct rd_conf *conf, int leg, const char *why)
{
	struct suci_addr server;
	if (leg == RD_LEG_PRIVATE || (rd_conf_server(conf, &server) && server.family == 6))
		return true;
	rd_log(RD_LOG_WARNING, "%s; there is no TCP over IPv6 on the global leg", why);
	return false;
}

/* ---- served by control ---------------------------------------------------------------- */

static void
tap_readable(struct rd_watch *w, uint32_t events)
{
	struct rd_kernel *k = w->owner;
	int leg = w == &k->watch[RD_LEG_PRIVATE] ? RD_LEG_PRIVATE : RD_LEG_GLOBAL;
	if (events & EPOLLERR) { /* epoll would say so for ever */
		rd_log(RD_LOG_ERROR,
		       "TAP %s was deleted: TCP over the %s leg is dead until relayd is started "
		       "again",
		       k->name[leg], rd_leg_names[leg]);
		k->taps.fd[leg] = -1;
		rd_watch_close(k->loop, w);
		return;
	}
	if (rd_tap_read(&k->taps, leg, RD_TAP_FRAMES))
		rd_wake_up(&k->taps.box->wake_worker);
}

void
rd_kernel_drain(struct rd_kernel *k)
{
	for (int leg = 0; leg < RD_LEGS; leg++)
		(void)rd_tap_write(&k->taps, leg, RD_TAP_RING);
}

/* ---- set-up ----------------------------------------------------------------------------- */

static int
open_tap(struct rd_kernel *k, const struct rd_worker *first, int leg, char *err, size_t err_max)
{
	const struct rd_conf_port *port = &k->conf->port[leg];
	char *name = k->name[leg];
	snprintf(name, sizeof k->name[leg], "%s-%s", k->conf->tap_prefix,
		 leg == RD_LEG_PRIVATE ? "priv" : "glob");
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		snprintf(err, err_max, "/dev/net/tun: %s; fix: modprobe tun", strerror(errno));
		return -1;
	}
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	strlcpy(ifr.ifr_name, name, sizeof ifr.ifr_name);
	int sock = -1;
	if (ioctl(fd, TUNSETIFF, &ifr)) {
		snprintf(err, err_max, "TAP %s: %s%s", name, strerror(errno),
			 errno == EBUSY ? "; another relayd runs here: set tap_prefix" : "");
		goto err_close;
	}
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0) {
		snprintf(err, err_max, "TAP %s: socket: %s", name, strerror(errno));
		goto err_close;
	}
	if (configure(port, first->leg[leg].self.mac, name, sock, err, err_max) ||
	    add_tap_gates(k->conf, leg, name, err, err_max) ||
	    (configure6(port, name, err, err_max) && needs_six(k->conf, leg, err)))
		goto err_close;
	close(sock);
	sock = -1;
	k->watch[leg].owner = k;
	k->watch[leg].fn = tap_readable;
	int r = 0;
	if (k->conf->gateway.enable)
		k->watch[leg].fd = fd; /* the gateway's thread will watch it */
	else
		r = rd_watch_add(k->loop, &k->watch[leg], fd, EPOLLIN);
	k->taps.fd[leg] = r ? -1 : fd;
	if (r == 0)
		return 0;
	snprintf(err, err_max, "TAP %s: epoll: %s", name, strerror(-r));
err_close:
	if (sock >= 0)
		close(sock);
	close(fd);
	return -1;
}

void
rd_kernel_zero(struct rd_kernel *k)
{
	for (int leg = 0; leg < RD_LEGS; leg++)
		k->taps.fd[leg] = k->watch[leg].fd = -1;
}

int
rd_kernel_open(struct rd_kernel *k, const struct rd_worker *first, char *err, size_t err_max)
{
	rd_kernel_zero(k);
	k->taps.box = first->box;
	k->taps.pool = first->pool;
	for (int leg = 0; leg < RD_LEGS; leg++)
		if (open_tap(k, first, leg, err, err_max))
			return -1;
	return 0;
}

void
rd_kernel_close(struct rd_kernel *k)
{
	for (int leg = 0; leg < RD_LEGS; leg++)
		rd_watch_close(k->loop, &k->watch[leg]);
}
