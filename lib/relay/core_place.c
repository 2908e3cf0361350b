/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of relays and where they are: a relay is called by an IPv4 address wherever relays,
 * processes and servers speak of it, and may be reached at an IPv6 address. */
#include "core_internal.h"

#include "base/bytes.h"

#include <string.h>

struct suci_addr
relay_place_of(const struct relay_core *c, uint32_t ipv4, uint16_t port)
{
	for (uint32_t i = 0; i < c->conf.nplaces; i++)
		if (c->conf.place[i].ipv4 == ipv4) {
			struct suci_addr a = {.port = port, .family = 6, .leg = RELAY_LEG_GLOBAL};
			memcpy(a.ip, c->conf.place[i].ipv6, sizeof a.ip);
			return a;
		}
	return relay_addr_v4(ipv4, port, RELAY_LEG_GLOBAL);
}

uint32_t
relay_name_of(const struct relay_core *c, const struct suci_addr *a)
{
	if (a->family == 4)
		return be32_load(a->ip + 12);
	for (uint32_t i = 0; i < c->conf.nplaces; i++)
		if (memcmp(c->conf.place[i].ipv6, a->ip, sizeof a->ip) == 0)
			return c->conf.place[i].ipv4;
	return 0;
}
