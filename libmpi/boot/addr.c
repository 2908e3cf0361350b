/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of this node's addresses to be reached at. */
#include "boot.h"

#include "base/bytes.h"
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
#define ANYWHERE  "192.0.2.1" /* RFC 5737: of no network; the default route leads there */
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
		/* Those of IPv6 are of no use here: libmpi has IPv4 alone. */
		if (memchr(text, ':', len) || !base_prefix_parse(text + not, len - not, &net)) {
			snprintf(why, LMPI_NETS_WHY,
				 "'%.*s' is not [!]ADDRESS/BITS, e.g. 10.0.0.0/24",
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
lmpi_nets_allow(const struct lmpi_nets *nets, const uint8_t ip[4])
{
	bool named = false, in = false;
	uint8_t a[16];

	base_prefix_v4(be32_load(ip), a);
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
	if (!lmpi_nets_allow(nets, a->ip))
		return false;
	return iface ? strcmp(iface, a->iface) == 0 : !a->loopback;
}

/* A bridge is mostly one for containers of this node alone, and may say that it has a carrier
 * without a port. */
static int
addr_rank_of(const struct lmpi_addr *a)
{
	return 2 * a->carrier + !a->bridge;
}

const struct lmpi_addr *
lmpi_addr_pick(const struct lmpi_addr *list, uint32_t n, const char *iface,
	       const struct lmpi_nets *nets, const uint8_t *routed)
{
	const struct lmpi_addr *best = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (!lmpi_addr_usable(&list[i], iface, nets))
			continue;
		if (routed && memcmp(list[i].ip, routed, 4) == 0)
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

/* IPv4 addresses of interfaces that are up, in the kernel's order. */
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
		struct sockaddr_in sa;

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP))
			continue;
		memcpy(&sa, i->ifa_addr, sizeof sa);
		memcpy(a->ip, &sa.sin_addr, 4);
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
address_towards(const char *host, const char *port, uint8_t ip[4])
{
	struct addrinfo hint = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *list;
	bool found = false;

	if (getaddrinfo(host, port, &hint, &list) != 0)
		return false;
	for (struct addrinfo *i = list; i && !found; i = i->ai_next) {
		int fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC, 0);
		struct sockaddr_in sa;
		socklen_t len = sizeof sa;
		if (fd < 0)
			continue;
		if (connect(fd, i->ai_addr, i->ai_addrlen) == 0 &&
		    getsockname(fd, (struct sockaddr *)&sa, &len) == 0) {
			memcpy(ip, &sa.sin_addr, 4);
			found = true;
		}
		close(fd);
	}
	freeaddrinfo(list);
	return found;
}

/* To another node of this client, else to anywhere.  A name that means this node, as
 * /etc/hosts of some systems has it, tells nothing. */
static bool
address_by_route(const char *other_node, uint8_t ip[4])
{
	if (other_node && *other_node && address_towards(other_node, ANY_PORT, ip) && ip[0] != 127)
		return true;
	return address_towards(ANYWHERE, ANY_PORT, ip) && ip[0] != 127;
}

static int
refuse_address(const char *iface, const char *nets)
{
	if (iface && !nets)
		fprintf(stderr,
			"libmpi: LIBMPI_IFACE=%s: no such interface that is up and has an IPv4 "
			"address; see `ip -4 addr`\n",
			iface);
	else
		fprintf(stderr,
			"libmpi: LIBMPI_NET=%s leaves no IPv4 address of an interface that is "
			"up%s%s; "
			"see `ip -4 addr`\n",
			nets, iface ? " and is LIBMPI_IFACE=" : "", iface ? iface : "");
	return 16; /* MPI_ERR_OTHER */
}

int
lmpi_choose_address(const char *server, const char *other_node, uint8_t ip[4])
{
	static const uint8_t local[4] = {127, 0, 0, 1};
	const char *iface = lmpi_knob_text(LMPI_KNOB_IFACE), *text = lmpi_knob_text(LMPI_KNOB_NET);
	struct lmpi_addr list[ADDRS_MAX];
	struct lmpi_nets nets;
	char host[256], port[16], why[LMPI_NETS_WHY];
	uint8_t routed[4];
	uint32_t n, usable = 0;
	bool known = false;

	if (!lmpi_nets_parse(text, &nets, why)) {
		fprintf(stderr, "libmpi: LIBMPI_NET: %s\n", why);
		return 16; /* MPI_ERR_OTHER */
	}
	/* Loopback, too: a server here is one for processes here. */
	if (!iface && server && lmpi_split_server(server, host, port) &&
	    address_towards(host, port, ip) && lmpi_nets_allow(&nets, ip))
		return 0;
	n = list_addresses(list);
	for (uint32_t i = 0; i < n; i++)
		usable += lmpi_addr_usable(&list[i], iface, &nets);
	/* A name may take long to look up: only where it decides. */
	if (usable > 1)
		known = address_by_route(other_node, routed);
	const struct lmpi_addr *best = lmpi_addr_pick(list, n, iface, &nets, known ? routed : NULL);
	if (best)
		memcpy(ip, best->ip, 4);
	else if (iface || (text && !lmpi_nets_allow(&nets, local)))
		return refuse_address(iface, text);
	else
		memcpy(ip, local, 4);
	return 0;
}
