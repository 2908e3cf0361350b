/* SPDX-License-Identifier: BSD-2-Clause */
/* rd_packet_kit.h - two stations of one network, for tests of frames. */
#ifndef RD_PACKET_KIT_H
#define RD_PACKET_KIT_H

#include "base/bytes.h"
#include "naive_cksum.h"
#include "rd/packet.h"

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1}, peer_mac[6] = {2, 0, 0, 0, 0, 9};
static const struct rd_station self = {
	.mac = {2, 0, 0, 0, 0, 1},
	.address = 0x0a000001,
	.prefix_len = 24,
	.gateway = 0x0a0000fe,
	.udp_port = 7812,
};
static const struct rd_station peer = {
	.mac = {2, 0, 0, 0, 0, 9},
	.address = 0x0a000009,
	.prefix_len = 24,
	.udp_port = 4001,
};

/* The IPv4 header was changed. */
static inline void
fix_ip(uint8_t *f)
{
	be16_store(f + 24, 0);
	be16_store(f + 24, naive_cksum(f + 14, 20));
}

/* From the peer to us, len payload bytes; returns the frame's length. */
static inline size_t
to_us(uint8_t *f, size_t len)
{
	for (size_t i = 0; i < len; i++)
		f[RD_FRAME_HDR + i] = (uint8_t)i;
	rd_write_udp(f, &peer, our_mac, self.address, 7812, 7, (uint32_t)len, 0);
	rd_udp_checksum(f, len, 0);
	return RD_FRAME_HDR + len;
}

#endif
