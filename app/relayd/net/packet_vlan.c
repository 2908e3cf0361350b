/* SPDX-License-Identifier: BSD-2-Clause */
/* VLAN tags, and which of two legs at one port a frame is for. */
#include "packet_internal.h"
#include "rd/packet6.h"

#include "base/bytes.h"

#include <string.h>

enum { TYPE_TAG = 0x8100, TYPE_ARP = 0x0806, TYPE_V4 = 0x0800, TYPE_V6 = 0x86dd, MACS = 12 };

bool
rd_packet_untag(uint8_t *frame, size_t len, uint16_t vlan)
{
	if (len < RD_ETH_HDR + RD_VLAN_TAG || be16_load(frame + MACS) != TYPE_TAG ||
	    (be16_load(frame + MACS + 2) & RD_VLAN_MAX) != vlan)
		return false;
	memmove(frame + RD_VLAN_TAG, frame, MACS);
	return true;
}

void
rd_packet_tag(uint8_t *frame, uint16_t vlan)
{
	uint8_t *at = frame - RD_VLAN_TAG;
	memmove(at, frame, MACS);
	be16_store(at + MACS, TYPE_TAG);
	be16_store(at + MACS + 2, vlan);
}

static bool
in_subnet(const struct rd_station *self, uint32_t ip)
{
	return ((ip ^ self->address) & ~0u << (32 - self->prefix_len)) == 0;
}

bool
rd_packet_concerns(const struct rd_station *self, const uint8_t *frame, size_t len)
{
	const uint8_t *at = frame + RD_ETH_HDR;
	uint16_t type = len >= RD_ETH_HDR ? be16_load(frame + MACS) : 0;
	if (type == TYPE_V6)
		return self->six != NULL;
	if (type == TYPE_V4 && len >= RD_ETH_HDR + RD_IPV4_HDR)
		return rd_station_has(self, be32_load(at + 16));
	if (type != TYPE_ARP || len < RD_ARP_FRAME)
		return false;
	/* What is told to all has its sender for its target; one that claims our address, too. */
	uint32_t sender = be32_load(at + 14), target = be32_load(at + 24);
	return rd_station_has(self, target) || rd_station_has(self, sender) ||
	       (target == sender && in_subnet(self, sender));
}
