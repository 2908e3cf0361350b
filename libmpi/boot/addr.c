/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of this node's addresses to be reached at. */
#include "boot.h"

#include "driver/udp_name.h"
#include "lmpi/knobs.h"

#include <arpa/inet.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRS_MAX 256
/* RFC 5737, RFC 3849: of no network; the default route leads there. */
#define ANYWHERE  "192.0.2.1"
#define ANYWHERE6 "2001:db8::1"
#define ANY_PORT  "9"

bool
lmpi_split_server(const char *server, char host[256], char port[16])
{
	const char *end = strrchr(server, ':'), *from = server, *bad;
	if (!end || end == server)
		return false;
	size_t n = (size_t)(end - server);
	if (server[0] == '[' && end[-1] == ']') {
		from++;
		n -= 2;
	}
	if (n == 0 || n >= 256 || strlen(end + 1) == 0 || strlen(end + 1) >= 16 ||
	    strspn(end + 1, "0123456789") != strlen(end + 1))
		return false;
	(void)strtonum(end + 1, 1, UINT16_MAX, &bad);
	if (bad)
		return false;
	memcpy(host, from, n);
	host[n] = 0;
	strlcpy(port, end + 1, 16);
	return true;
}

bool
lmpi_nets_parse(const char *text, struct lmpi_nets *nets, char why[LMPI_NETS_WHY])
{
	*nets = (struct lmpi_nets){0};
	while (text && *text) {
		size_t len = strcspn(text, ",");
		bool not = *text == '!';
		struct base_prefix net;
		if (!base_prefix_parse(text + not, len - not, &net)) {
			snprintf(why, LMPI_NETS_WHY,
				 "'%.*s' is not [!]ADDRESS/BITS, e.g. 10.0.0.0/24 or "
				 "2001:db8::/32",
				 (int)(len < 60 ? len : 60), text);
			return false;
		}
		if (nets->n == LMPI_NETS_MAX) {
			snprintf(why, LMPI_NETS_WHY, "more than %d networks", LMPI_NETS_MAX);
			return false;
		}
		nets->rule[nets->n++] = (struct lmpi_net_rule){net, not };
		text += len + (text[len] == ',');
	}
	return true;
}

bool
lmpi_nets_allow(const struct lmpi_nets *nets, const struct suci_addr *at)
{
	bool named = false, in = false;
	uint8_t a[16];

	suci_addr_16(at, a);
	for (uint32_t i = 0; i < nets->n; i++) {
		const struct lmpi_net_rule *r = &nets->rule[i];
		bool match = base_prefix_covers(&r->net, a);
		if (r->not &&match)
			return false;
		named |= !r->not ;
		in |= !r->not &&match;
	}
	return in || !named;
}

bool
lmpi_addr_usable(const struct lmpi_addr *a, const char *iface, const struct lmpi_nets *nets)
{
	if (!lmpi_nets_allow(nets, &a->at))
		return false;
	return iface ? strcmp(iface, a->iface) == 0 : !a->loopback;
}

bool
lmpi_addr_same(const struct suci_addr *a, const struct suci_addr *b)
{
	return a->family == b->family && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

bool
lmpi_addr_meets(const struct suci_addr *own, const char *who, const struct suci_addr *there,
		char why[LMPI_WHY])
{
	char a[SUCI_ADDR_TEXT_MAX], b[SUCI_ADDR_TEXT_MAX];

	if (own->family == there->family)
		return true;
	snprintf(why, LMPI_WHY,
		 "%s is at %s, this process at %s: they cannot talk; fix: LIBMPI_NET names a "
		 "network of one kind that both have, a relay in between, or LIBMPI_PLACES",
		 who, suci_addr_ip_text(there, a), suci_addr_ip_text(own, b));
	return false;
}

/* A bridge is mostly one for containers of this node alone, and may say that it has a carrier
 * without a port. */
static int
addr_rank_of(const struct lmpi_addr *a)
{
	return 2 * a->carrier + !a->bridge;
}

const struct lmpi_addr *
lmpi_addr_pick(const struct lmpi_addr *list, uint32_t n, uint8_t family, const char *iface,
	       const struct lmpi_nets *nets, const struct suci_addr *routed)
{
	const struct lmpi_addr *best = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (list[i].at.family != family || !lmpi_addr_usable(&list[i], iface, nets))
			continue;
		if (routed && lmpi_addr_same(&list[i].at, routed))
			return &list[i];
		if (!best || addr_rank_of(&list[i]) > addr_rank_of(best))
			best = &list[i];
	}
	return best;
}

static bool
is_bridge(int fd, const char *iface)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq r = {.ifr_data = (char *)&info};

	strlcpy(r.ifr_name, iface, sizeof r.ifr_name);
	return fd >= 0 && ioctl(fd, SIOCETHTOOL, &r) == 0 && strcmp(info.driver, "bridge") == 0;
}

/* A socket address of either family; false: of another, or link-local. */
static bool
take_sockaddr(const struct sockaddr *any, struct suci_addr *at)
{
	union udp_name name = {0};

	if (any->sa_family != AF_INET && any->sa_family != AF_INET6)
		return false;
	memcpy(&name, any, any->sa_family == AF_INET ? sizeof name.v4 : sizeof name.v6);
	*at = suci_udp_from(&name);
	at->port = 0;
	return at->family == 4 || !IN6_IS_ADDR_LINKLOCAL(&name.v6.sin6_addr);
}

/* Addresses of interfaces that are up, in the kernel's order. */
static uint32_t
list_addresses(struct lmpi_addr list[ADDRS_MAX])
{
	struct ifaddrs *all, *i;
	uint32_t n = 0;

	if (getifaddrs(&all) < 0)
		return 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (i = all; i && n < ADDRS_MAX; i = i->ifa_next) {
		struct lmpi_addr *a = &list[n];

		if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || !take_sockaddr(i->ifa_addr, &a->at))
			continue;
		strlcpy(a->iface, i->ifa_name, sizeof a->iface);
		a->carrier = (i->ifa_flags & IFF_RUNNING) != 0;
		a->bridge = is_bridge(fd, a->iface);
		a->loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
		n++;
	}
	if (fd >= 0)
		close(fd);
	freeifaddrs(all);
	return n;
}

/* Ask the kernel from which address it would talk to a host.  Nothing is sent. */
static bool
address_towards(const char *host, const char *port, int family, struct suci_addr *at)
{
	struct addrinfo hint = {.ai_family = family, .ai_socktype = SOCK_DGRAM}, *list;
	bool found = false;

	if (getaddrinfo(host, port, &hint, &list) != 0)
		return false;
	for (struct addrinfo *i = list; i && !found; i = i->ai_next) {
		int fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC, 0);
		union udp_name sa;
		socklen_t len = sizeof sa;
		if (fd < 0)
			continue;
		found = connect(fd, i->ai_addr, i->ai_addrlen) == 0 &&
			getsockname(fd, &sa.any, &len) == 0 && take_sockaddr(&sa.any, at);
		close(fd);
	}
	freeaddrinfo(list);
	return found;
}

static bool
is_loopback(const struct suci_addr *a)
{
	static const uint8_t v6[16] = {[15] = 1};

	return a->family == 4 ? a->ip[12] == 127 : memcmp(a->ip, v6, sizeof v6) == 0;
}

/* To another node of this client, else to anywhere.  A name that means this node, as
 * /etc/hosts of some systems has it, tells nothing. */
static bool
address_by_route(const char *other_node, int family, struct suci_addr *at)
{
	if (other_node && *other_node && address_towards(other_node, ANY_PORT, family, at) &&
	    !is_loopback(at))
		return true;
	return address_towards(family == AF_INET ? ANYWHERE : ANYWHERE6, ANY_PORT, family, at) &&
	       !is_loopback(at);
}

static int
refuse_address(const char *iface, const char *nets)
{
	if (iface && !nets)
		fprintf(stderr,
			"libmpi: LIBMPI_IFACE=%s: no such interface that is up and has an "
			"address; see `ip addr`\n",
			iface);
	else
		fprintf(stderr,
			"libmpi: LIBMPI_NET=%s leaves no address of an interface that is "
			"up%s%s; "
			"see `ip addr`\n",
			nets, iface ? " and is LIBMPI_IFACE=" : "", iface ? iface : "");
	return 16; /* MPI_ERR_OTHER */
}

/* Of one family, of those that are listed. */
static bool
choose_listed(const struct lmpi_addr *list, uint32_t n, uint8_t family, const char *iface,
	      const struct lmpi_nets *nets, const char *other_node, struct suci_addr *at)
{
	struct suci_addr routed;
	uint32_t usable = 0;
	bool known = false;

	for (uint32_t i = 0; i < n; i++)
		usable += list[i].at.family == family && lmpi_addr_usable(&list[i], iface, nets);
	/* A name may take long to look up: only where it decides. */
	if (usable > 1)
		known = address_by_route(other_node, family == 4 ? AF_INET : AF_INET6, &routed);
	const struct lmpi_addr *best =
		lmpi_addr_pick(list, n, family, iface, nets, known ? &routed : NULL);
	if (best)
		*at = best->at;
	return best != NULL;
}

/* From where the server is reached.  Loopback, too: a server here is one for processes here, but
 * over IPv6 it may be one for all. */
static bool
choose_towards_server(const char *server, bool ipv6, const struct lmpi_nets *nets,
		      struct suci_addr *at)
{
	char host[256], port[16];

	if (!server || !lmpi_split_server(server, host, port))
		return false;
	if (address_towards(host, port, AF_INET, at))
		return lmpi_nets_allow(nets, at);
	return ipv6 && address_towards(host, port, AF_INET6, at) && !is_loopback(at) &&
	       lmpi_nets_allow(nets, at);
}

int
lmpi_choose_address(const char *server, const char *other_node, bool ipv6, struct suci_addr *at)
{
	static const uint8_t local[4] = {127, 0, 0, 1};
	const char *iface = lmpi_knob_text(LMPI_KNOB_IFACE), *text = lmpi_knob_text(LMPI_KNOB_NET);
	struct suci_addr loopback = suci_addr_v4(local, 0);
	struct lmpi_addr list[ADDRS_MAX];
	struct lmpi_nets nets;
	char why[LMPI_NETS_WHY];

	if (!lmpi_nets_parse(text, &nets, why)) {
		fprintf(stderr, "libmpi: LIBMPI_NET: %s\n", why);
		return 16; /* MPI_ERR_OTHER */
	}
	if (!iface && choose_towards_server(server, ipv6, &nets, at))
		return 0;
	uint32_t n = list_addresses(list);
	if (choose_listed(list, n, 4, iface, &nets, other_node, at) ||
	    (ipv6 && choose_listed(list, n, 6, iface, &nets, other_node, at)))
		return 0;
	if (iface || (text && !lmpi_nets_allow(&nets, &loopback)))
		return refuse_address(iface, text);
	*at = loopback;
	return 0;
}
