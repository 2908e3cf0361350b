/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums that their sender has left to a port. */
#include "packet_internal.h"
#include "rd/packet6.h"

#include "base/bytes.h"

/* The protocol, what follows the IP header, its length and the sum of the pseudo header; false: not
 * a whole packet. */
static bool
find_transport(uint8_t *frame, size_t len, uint8_t *protocol, uint8_t **at, uint32_t *n,
	       uint64_t *pseudo)
{
	uint8_t *ip = frame + RD_ETH_HDR;
	if (len >= RD_ETH_HDR + RD_IPV4_HDR && be16_load(frame + 12) == 0x0800 && ip[0] >> 4 == 4) {
		uint32_t hdr = (ip[0] & 15u) * 4u, total = be16_load(ip + 2);
		if (hdr < RD_IPV4_HDR || total < hdr || total > len - RD_ETH_HDR ||
		    (be16_load(ip + 6) & 0x3fff))
			return false;
		*protocol = ip[9];
		*at = ip + hdr;
		*n = total - hdr;
		*pseudo = rd_cksum_pseudo(be32_load(ip + 12), be32_load(ip + 16), *protocol, *n);
		return true;
	}
	if (len >= RD_ETH_HDR + RD_IPV6_HDR && be16_load(frame + 12) == 0x86dd && ip[0] >> 4 == 6) {
		*protocol = ip[6];
		*at = ip + RD_IPV6_HDR;
		*n = be16_load(ip + 4);
		*pseudo = rd_cksum6_pseudo(ip + 8, ip + 24, *protocol, *n);
		return *n <= len - RD_ETH_HDR - RD_IPV6_HDR;
	}
	return false;
}

bool
rd_packet_complete(uint8_t *frame, size_t len)
{
	uint8_t protocol, *at;
	uint32_t n;
	uint64_t pseudo;
	if (!find_transport(frame, len, &protocol, &at, &n, &pseudo))
		return false;
	uint32_t field = protocol == RD_PROTO_UDP ? 6 : 16;
	uint32_t least = protocol == RD_PROTO_UDP ? RD_UDP_HDR : 20;
	if ((protocol != RD_PROTO_UDP && protocol != RD_PROTO_TCP) || n < least)
		return false;
	if (protocol == RD_PROTO_UDP && (be16_load(at + field) == 0 || be16_load(at + 4) != n))
		return false;
	be16_store(at + field, 0);
	uint16_t c = rd_cksum_fold(rd_cksum_add(pseudo, at, n));
	be16_store(at + field, c ? c : 0xffff);
	return true;
}
