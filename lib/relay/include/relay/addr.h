/* SPDX-License-Identifier: BSD-2-Clause */
/* relay/addr.h - addresses of Suci endpoints as a relay uses them: the two legs,
 * the address in a Suci host id (impi/hostid.h). */
#ifndef RELAY_ADDR_H
#define RELAY_ADDR_H

#include "base/bytes.h"
#include "impi/hostid.h"
#include "suci/endpoint.h"

#include <stdint.h>

/* suci_addr.leg of a relay's endpoint: towards the own cluster, and between
 * clusters; light paths are on legs behind these (relay/light.h). */
enum relay_leg { RELAY_LEG_PRIVATE = 0, RELAY_LEG_GLOBAL = 1 };

/* ipv4 in host byte order, port of UDP.  Once for each frame, hence written as it is read next
 * (same_addr() of lib/suci): what is read in other pieces than it was written in just now waits for
 * the store. */
static inline void
relay_addr_set_v4(struct suci_addr *a, uint32_t ipv4, uint16_t port, enum relay_leg leg)
{
	be64_store(a->ip, 0);
	be64_store(a->ip + 8, ipv4);
	a->port = port;
	a->family = 4;
	a->leg = (uint8_t)leg;
}

static inline struct suci_addr
relay_addr_v4(uint32_t ipv4, uint16_t port, enum relay_leg leg)
{
	struct suci_addr a;
	relay_addr_set_v4(&a, ipv4, port, leg);
	return a;
}

#endif
