/* Which of this node's addresses to be reached at. */
#include "boot.h"

#include <arpa/inet.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* The first IPv4 address of an interface that is up: of name, or of any but
 * loopback if name is NULL. */
static bool
address_of(const char *name, uint8_t ip[4])
{
	struct ifaddrs *list, *i;
	bool found = false;

	if (getifaddrs(&list) < 0)
		return false;
	for (i = list; i && !found; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP))
			continue;
		if (name ? strcmp(i->ifa_name, name) != 0 : (i->ifa_flags & IFF_LOOPBACK) != 0)
			continue;
		struct sockaddr_in sa;
		memcpy(&sa, i->ifa_addr, sizeof sa);
		memcpy(ip, &sa.sin_addr, 4);
		found = true;
	}
	freeifaddrs(list);
	return found;
}

/* Ask the kernel from which address it would talk to the server. */
static bool
address_towards(const char *server, uint8_t ip[4])
{
	char host[256], port[16];
	struct addrinfo hint = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *list;
	bool found = false;

	if (!lmpi_split_server(server, host, port) || getaddrinfo(host, port, &hint, &list) != 0)
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

int
lmpi_choose_address(const char *server, uint8_t ip[4])
{
	static const uint8_t local[4] = {127, 0, 0, 1};
	const char *iface = getenv("LIBMPI_IFACE");

	if (iface && *iface) {
		if (address_of(iface, ip))
			return 0;
		fprintf(stderr,
			"libmpi: LIBMPI_IFACE=%s: no such interface that is up and has an IPv4 "
			"address; see `ip -4 addr`\n",
			iface);
		return 16; /* MPI_ERR_OTHER */
	}
	if (server && address_towards(server, ip))
		return 0;
	if (!address_of(NULL, ip))
		memcpy(ip, local, 4);
	return 0;
}
