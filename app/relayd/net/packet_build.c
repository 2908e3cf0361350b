/* SPDX-License-Identifier: BSD-2-Clause */
#include "rd/packet.h"

#include "base/bytes.h"

#include <string.h>

/* Four bytes of a header as rd_cksum_add() would add them: what has just been written piece by
 * piece is slow to read in other pieces, so headers are summed up before they are written. */
static inline uint32_t
put_word(uint32_t number)
{
	uint32_t w;
	be32_store(&w, number);
	return w;
}

static inline void
put_bytes(uint8_t *at, uint32_t w)
{
	memcpy(at, &w, sizeof w);
}

uint64_t
rd_cksum_pseudo(uint32_t src, uint32_t dst, uint8_t protocol, uint32_t len)
{
	return (uint64_t)put_word(src) + put_word(dst) +
	       put_word((uint32_t)protocol << 16 | (len & UINT16_MAX));
}

uint32_t
rd_next_hop(const struct rd_station *self, uint32_t dst)
{
	uint32_t mask = ~0u << (32 - self->prefix_len);
	if ((dst & mask) == (self->address & mask))
		return dst;
	return self->gateway;
}

static void
write_eth(uint8_t *at, const uint8_t dst[6], const uint8_t src[6], uint16_t type)
{
	memcpy(at, dst, 6);
	memcpy(at + 6, src, 6);
	be16_store(at + 12, type);
}

void
rd_write_udp(uint8_t *at, const struct rd_station *self, const uint8_t dst_mac[6], uint32_t dst_ip,
	     uint16_t dst_port, uint16_t ip_id, uint32_t payload_len, uint8_t ecn)
{
	write_eth(at, dst_mac, self->mac, 0x0800);
	uint32_t length = RD_IPV4_HDR + RD_UDP_HDR + payload_len;
	uint32_t w0 = put_word(0x45000000u | (ecn & 3u) << 16 | length);
	/* Don't fragment: too large is an error to see. */
	uint32_t w1 = put_word((uint32_t)ip_id << 16 | 0x4000),
		 w2 = put_word(64u << 24 | 17u << 16);
	uint32_t w3 = put_word(self->address), w4 = put_word(dst_ip);
	uint64_t sum = (uint64_t)w0 + w1 + w2 + w3 + w4;
	uint8_t *ip = at + RD_ETH_HDR, *udp = ip + RD_IPV4_HDR;
	put_bytes(ip, w0);
	put_bytes(ip + 4, w1);
	put_bytes(ip + 8, w2 | put_word(rd_cksum_fold(sum)));
	put_bytes(ip + 12, w3);
	put_bytes(ip + 16, w4);
	be32_store(udp, (uint32_t)self->udp_port << 16 | dst_port);
	be32_store(udp + 4, (RD_UDP_HDR + payload_len) << 16);
}

void
rd_udp_checksum(uint8_t *frame, size_t here, uint64_t rest)
{
	uint8_t *ip = frame + RD_ETH_HDR, *udp = ip + RD_IPV4_HDR;
	uint32_t len = be16_load(udp + 4);
	uint64_t sum =
		put_word(17u << 16 | len); /* of the pseudo header; its addresses are in front */
	sum = rd_cksum_add(sum, ip + 12, 8 + RD_UDP_HDR + here);
	sum += here & 1 ? __builtin_bswap16(rd_sum_16(rest)) : rest;
	uint16_t c = rd_cksum_fold(sum);
	be16_store(udp + 6, c ? c : 0xffff); /* 0 would say "no checksum" */
}

void
rd_set_dst_mac(uint8_t *frame, const uint8_t dst_mac[6])
{
	memcpy(frame, dst_mac, 6);
}

static void
write_arp(uint8_t *at, uint16_t op, const struct rd_station *self, uint32_t sender,
	  const uint8_t target_mac[6], uint32_t target)
{
	be16_store(at, 1);
	be16_store(at + 2, 0x0800);
	at[4] = 6;
	at[5] = 4;
	be16_store(at + 6, op);
	memcpy(at + 8, self->mac, 6);
	be32_store(at + 14, sender);
	memcpy(at + 18, target_mac, 6);
	be32_store(at + 24, target);
}

static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, unknown[6];

void
rd_write_arp_request(uint8_t *at, const struct rd_station *self, uint32_t target,
		     const uint8_t *dst_mac)
{
	write_eth(at, dst_mac ? dst_mac : all, self->mac, 0x0806);
	write_arp(at + RD_ETH_HDR, 1, self, self->address, unknown, target);
}

void
rd_write_arp_announcement(uint8_t *at, const struct rd_station *self, uint32_t address)
{
	write_eth(at, all, self->mac, 0x0806);
	write_arp(at + RD_ETH_HDR, 1, self, address, unknown, address);
}

void
rd_arp_answer(uint8_t *frame, const struct rd_station *self)
{
	uint8_t mac[6];
	memcpy(mac, frame + RD_ETH_HDR + 8, 6);
	uint32_t asker = be32_load(frame + RD_ETH_HDR + 14);
	uint32_t asked = be32_load(frame + RD_ETH_HDR + 24);
	write_eth(frame, mac, self->mac, 0x0806);
	write_arp(frame + RD_ETH_HDR, 2, self, asked, mac, asker);
}

uint32_t
rd_arp_asked(const uint8_t *frame, size_t len)
{
	const uint8_t *arp = frame + RD_ETH_HDR;
	if (len < RD_ARP_FRAME || be16_load(arp) != 1 || be16_load(arp + 2) != 0x0800 ||
	    arp[4] != 6 || arp[5] != 4 || be16_load(arp + 6) != 1)
		return 0;
	uint32_t sender = be32_load(arp + 14), target = be32_load(arp + 24);
	return sender && sender != target ? target : 0;
}

void
rd_arp_tell(uint8_t *frame, const uint8_t mac[6])
{
	uint8_t asker_mac[6], *arp = frame + RD_ETH_HDR;
	memcpy(asker_mac, arp + 8, 6);
	uint32_t asker = be32_load(arp + 14), asked = be32_load(arp + 24);
	write_eth(frame, asker_mac, mac, 0x0806);
	be16_store(arp + 6, 2);
	memcpy(arp + 8, mac, 6);
	be32_store(arp + 14, asked);
	memcpy(arp + 18, asker_mac, 6);
	be32_store(arp + 24, asker);
}

void
rd_echo_answer(uint8_t *frame, const struct rd_rx_frame *f)
{
	uint8_t tmp[6], *ip = frame + RD_ETH_HDR, *icmp = ip + f->ip_hdr_len;
	memcpy(tmp, frame, 6);
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, tmp, 6);
	uint32_t dst = be32_load(ip + 16);
	be32_store(ip + 16, f->src_ip);
	be32_store(ip + 12, dst);
	ip[8] = 64;
	be16_store(ip + 10, 0);
	be16_store(ip + 10, rd_cksum_fold(rd_cksum_add(0, ip, f->ip_hdr_len)));
	icmp[0] = 0;
	be16_store(icmp + 2, 0);
	be16_store(icmp + 2, rd_cksum_fold(rd_cksum_add(0, icmp, f->payload_len)));
}
