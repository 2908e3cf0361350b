#include "relay/addr.h"

#include <arpa/inet.h>
#include <stdio.h>

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
