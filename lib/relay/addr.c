#include "relay/addr.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <stdio.h>

struct suci_addr
relay_addr_v4(uint32_t ipv4, uint16_t port, enum relay_leg leg)
{
	struct suci_addr a = {.port = port, .family = 4, .leg = (uint8_t)leg};
	be32_store(a.ip + 12, ipv4);
	return a;
}

const char *
relay_addr_text(const struct suci_addr *a, char out[RELAY_ADDR_TEXT_MAX])
{
	char ip[INET6_ADDRSTRLEN] = "?";
	if (a->family == 6) {
		inet_ntop(AF_INET6, a->ip, ip, sizeof ip);
		snprintf(out, RELAY_ADDR_TEXT_MAX, "[%s]:%u", ip, a->port);
	} else {
		inet_ntop(AF_INET, a->ip + 12, ip, sizeof ip);
		snprintf(out, RELAY_ADDR_TEXT_MAX, "%s:%u", ip, a->port);
	}
	return out;
}
