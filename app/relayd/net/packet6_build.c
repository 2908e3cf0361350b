/* SPDX-License-Identifier: BSD-2-Clause */
#include "packet_internal.h"
#include "rd/packet6.h"

#include "base/bytes.h"

#include <string.h>

#define HOPS 64u
enum { NEXT_ICMP = 58, ECHO_REPLY = 129, SOLICITATION = 135, ADVERTISEMENT = 136 };
enum { ND_LEN = RD_ND_FRAME - RD_ETH_HDR - RD_IPV6_HDR, SOURCE_MAC = 1, TARGET_MAC = 2 };
#define SOLICITED 0x40000000u
#define OVERRIDE  0x20000000u

static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 1};

bool
rd_six_covers(const struct rd_six *six, const uint8_t address[16])
{
	uint32_t bytes = six->prefix_len / 8, bits = six->prefix_len % 8;
	return memcmp(address, six->address, bytes) == 0 &&
	       (!bits || (address[bytes] ^ six->address[bytes]) >> (8 - bits) == 0);
}

const uint8_t *
rd_next_hop6(const struct rd_station *self, const uint8_t dst[16])
{
	static const uint8_t none[16];
	const struct rd_six *six = self->six;
	if (rd_six_covers(six, dst))
		return dst;
	return memcmp(six->gateway, none, sizeof none) ? six->gateway : NULL;
}

static void
write_eth6(uint8_t *at, const uint8_t dst[6], const uint8_t src[6])
{
	memcpy(at, dst, 6);
	memcpy(at + 6, src, 6);
	be16_store(at + 12, 0x86dd);
}

static void
write_ip6(uint8_t *at, const uint8_t src[16], const uint8_t dst[16], uint8_t next, uint8_t hops,
	  uint32_t payload, uint8_t ecn)
{
	be32_store(at, 6u << 28 | (uint32_t)(ecn & 3) << 20);
	be32_store(at + 4, payload << 16 | (uint32_t)next << 8 | hops);
	memmove(at + 8, src, 16);
	memcpy(at + 24, dst, 16);
}

void
rd_write_udp6(uint8_t *at, const struct rd_station *self, const uint8_t dst_mac[6],
	      const uint8_t dst[16], uint16_t dst_port, uint32_t payload_len, uint8_t ecn)
{
	uint8_t *ip = at + RD_ETH_HDR, *udp = ip + RD_IPV6_HDR;
	write_eth6(at, dst_mac, self->mac);
	write_ip6(ip, self->six->address, dst, RD_PROTO_UDP, HOPS, RD_UDP_HDR + payload_len, ecn);
	be32_store(udp, (uint32_t)self->udp_port << 16 | dst_port);
	be32_store(udp + 4, (RD_UDP_HDR + payload_len) << 16);
}

void
rd_udp6_checksum(uint8_t *frame, size_t here, uint64_t rest)
{
	uint8_t *ip = frame + RD_ETH_HDR, *udp = ip + RD_IPV6_HDR;
	uint64_t sum = rd_cksum6_pseudo(ip + 8, ip + 24, RD_PROTO_UDP, be16_load(udp + 4));
	sum = rd_cksum_add(sum, udp, RD_UDP_HDR + here);
	sum += here & 1 ? __builtin_bswap16(rd_sum_16(rest)) : rest;
	uint16_t c = rd_cksum_fold(sum);
	be16_store(udp + 6, c ? c : 0xffff);
}

static void
sum_icmp6(uint8_t *ip, uint32_t len)
{
	uint8_t *icmp = ip + RD_IPV6_HDR;
	be16_store(icmp + 2, 0);
	uint64_t sum = rd_cksum6_pseudo(ip + 8, ip + 24, NEXT_ICMP, len);
	be16_store(icmp + 2, rd_cksum_fold(rd_cksum_add(sum, icmp, len)));
}

/* Behind Ethernet's and IP's headers. */
static void
write_nd(uint8_t *ip, uint8_t type, uint32_t flags, const uint8_t target[16], uint8_t option,
	 const uint8_t mac[6])
{
	uint8_t *nd = ip + RD_IPV6_HDR;
	be32_store(nd, (uint32_t)type << 24);
	be32_store(nd + 4, flags);
	memcpy(nd + 8, target, 16);
	nd[24] = option;
	nd[25] = 1;
	memcpy(nd + 26, mac, 6);
	sum_icmp6(ip, ND_LEN);
}

void
rd_write_nd_request(uint8_t *at, const struct rd_station *self, const uint8_t target[16],
		    const uint8_t *dst_mac)
{
	uint8_t group[16] = {0xff, 2, [11] = 1, 0xff}, group_mac[6] = {0x33, 0x33, 0xff};
	memcpy(group + 13, target + 13, 3);
	memcpy(group_mac + 3, target + 13, 3);
	write_eth6(at, dst_mac ? dst_mac : group_mac, self->mac);
	write_ip6(at + RD_ETH_HDR, self->six->address, dst_mac ? target : group, NEXT_ICMP, 255,
		  ND_LEN, 0);
	write_nd(at + RD_ETH_HDR, SOLICITATION, 0, target, SOURCE_MAC, self->mac);
}

static void
write_advertisement(uint8_t *at, const struct rd_station *self, const uint8_t dst_mac[6],
		    const uint8_t dst[16], uint32_t flags)
{
	write_eth6(at, dst_mac, self->mac);
	write_ip6(at + RD_ETH_HDR, self->six->address, dst, NEXT_ICMP, 255, ND_LEN, 0);
	write_nd(at + RD_ETH_HDR, ADVERTISEMENT, flags, self->six->address, TARGET_MAC, self->mac);
}

void
rd_write_nd_announcement(uint8_t *at, const struct rd_station *self)
{
	write_advertisement(at, self, all_nodes_mac, all_nodes, OVERRIDE);
}

void
rd_nd_answer(uint8_t *frame, const struct rd_station *self, const struct rd_rx_frame *f)
{
	uint8_t asker[16];
	if (!f->src_6) { /* who probes has no address to be answered at */
		rd_write_nd_announcement(frame, self);
		return;
	}
	memcpy(asker, frame + f->src_6, sizeof asker);
	write_advertisement(frame, self, f->src_mac, asker, SOLICITED | OVERRIDE);
}

void
rd_nd_tell(uint8_t *frame, const uint8_t mac[6])
{
	uint8_t target[16], asker[16], asker_mac[6], *ip = frame + RD_ETH_HDR;
	memcpy(asker, ip + 8, sizeof asker);
	memcpy(target, ip + RD_IPV6_HDR + 8, sizeof target);
	memcpy(asker_mac, frame + 6, sizeof asker_mac);
	write_eth6(frame, asker_mac, mac);
	write_ip6(ip, target, asker, NEXT_ICMP, 255, ND_LEN, 0);
	write_nd(ip, ADVERTISEMENT, SOLICITED | OVERRIDE, target, TARGET_MAC, mac);
}

void
rd_echo6_answer(uint8_t *frame, const struct rd_rx_frame *f)
{
	uint8_t mac[6], src[16], *ip = frame + RD_ETH_HDR;
	memcpy(mac, frame, 6);
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, mac, 6);
	memcpy(src, ip + 8, 16);
	memcpy(ip + 8, ip + 24, 16);
	memcpy(ip + 24, src, 16);
	ip[7] = HOPS;
	ip[RD_IPV6_HDR] = ECHO_REPLY;
	sum_icmp6(ip, f->payload_len);
}
