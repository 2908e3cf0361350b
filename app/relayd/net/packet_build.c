#include "rd/packet.h"

#include "base/bytes.h"

#include <string.h>

/* Summing native words and swapping the result gives the big-endian sum: RFC
 * 1071, section 2(B). */
/* Two 32-bit words of each half, summed in 64 bits: no carry is lost below 2^32 turns.
 * Payloads are summed twice in a relay, on their way in and out. */
typedef uint64_t pair __attribute__((vector_size(16)));

static uint64_t
sum_blocks(const uint8_t *p, size_t blocks)
{
	const pair low = {0xffffffffu, 0xffffffffu};
	pair a = {0}, b = {0}, c = {0}, d = {0};
	for (; blocks--; p += 32) {
		pair v, w;
		memcpy(&v, p, 16);
		memcpy(&w, p + 16, 16);
		a += v & low;
		b += v >> 32;
		c += w & low;
		d += w >> 32;
	}
	a += b;
	c += d;
	a += c;
	return a[0] + a[1];
}

uint64_t
rd_cksum_add(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;
	if (len >= 64) {
		size_t blocks = len / 32;
		sum += sum_blocks(p, blocks);
		p += blocks * 32;
		len -= blocks * 32;
	}
	for (; len >= 4; len -= 4, p += 4) {
		uint32_t w;
		memcpy(&w, p, 4);
		sum += w;
	}
	if (len >= 2) {
		uint16_t w;
		memcpy(&w, p, 2);
		sum += w;
		p += 2;
		len -= 2;
	}
	if (len)
		sum += *p;
	return sum;
}

uint16_t
rd_cksum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~__builtin_bswap16((uint16_t)sum);
}

uint64_t
rd_cksum_pseudo(uint32_t src, uint32_t dst, uint8_t protocol, uint32_t len)
{
	uint8_t pseudo[12];
	be32_store(pseudo, src);
	be32_store(pseudo + 4, dst);
	pseudo[8] = 0;
	pseudo[9] = protocol;
	be16_store(pseudo + 10, (uint16_t)len);
	return rd_cksum_add(0, pseudo, sizeof pseudo);
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
	     uint16_t dst_port, uint16_t ip_id, uint32_t payload_len)
{
	write_eth(at, dst_mac, self->mac, 0x0800);
	uint8_t *ip = at + RD_ETH_HDR;
	ip[0] = 0x45;
	ip[1] = 0;
	be16_store(ip + 2, (uint16_t)(RD_IPV4_HDR + RD_UDP_HDR + payload_len));
	be16_store(ip + 4, ip_id);
	be16_store(ip + 6, 0x4000); /* don't fragment: too large is an error to see */
	ip[8] = 64;
	ip[9] = 17;
	be16_store(ip + 10, 0);
	be32_store(ip + 12, self->address);
	be32_store(ip + 16, dst_ip);
	be16_store(ip + 10, rd_cksum_fold(rd_cksum_add(0, ip, RD_IPV4_HDR)));
	uint8_t *udp = ip + RD_IPV4_HDR;
	be16_store(udp, self->udp_port);
	be16_store(udp + 2, dst_port);
	be16_store(udp + 4, (uint16_t)(RD_UDP_HDR + payload_len));
	be16_store(udp + 6, 0);
}

void
rd_set_ecn(uint8_t *frame, uint8_t ecn)
{
	uint8_t *ip = frame + RD_ETH_HDR;
	ip[1] = (uint8_t)((ip[1] & ~3u) | (ecn & 3u));
	be16_store(ip + 10, 0);
	be16_store(ip + 10, rd_cksum_fold(rd_cksum_add(0, ip, RD_IPV4_HDR)));
}

void
rd_udp_checksum(uint8_t *frame, uint64_t payload_sum)
{
	uint8_t *ip = frame + RD_ETH_HDR, *udp = ip + RD_IPV4_HDR;
	be16_store(udp + 6, 0);
	uint64_t sum =
		rd_cksum_pseudo(be32_load(ip + 12), be32_load(ip + 16), 17, be16_load(udp + 4));
	uint16_t c = rd_cksum_fold(rd_cksum_add(sum, udp, RD_UDP_HDR) + payload_sum);
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

void
rd_write_arp_request(uint8_t *at, const struct rd_station *self, uint32_t target,
		     const uint8_t *dst_mac)
{
	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, unknown[6];
	write_eth(at, dst_mac ? dst_mac : all, self->mac, 0x0806);
	write_arp(at + RD_ETH_HDR, 1, self, self->address, unknown, target);
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
