/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser: from the Ethernet header inwards, every length checked before the
 * bytes behind it are read. */
#include "packet_internal.h"
#include "rd/packet6.h"

#include "base/bytes.h"

#include <string.h>

const char *const rd_rx_drop_names[RD_RX_DROPS_COUNT] = {
#define X(n, h) #n,
	RD_RX_DROPS(X)
#undef X
};
const char *const rd_rx_drop_help[RD_RX_DROPS_COUNT] = {
#define X(n, h) h,
	RD_RX_DROPS(X)
#undef X
};

enum {
	ETHERTYPE_V4 = 0x0800,
	ETHERTYPE_A = 0x0806,
	ETHERTYPE_VL = 0x8100,
	ETHERTYPE_V6 = 0x86dd,
	ETHERTYPE_QQ = 0x88a8
};
enum { ICMP_ECHO_REQUEST = 8 };

static const uint8_t broadcast_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static void
drop_packet(struct rd_rx_frame *out, enum rd_rx_drop why)
{
	out->verdict = RD_RX_DROP;
	out->drop = why;
}

/* Not 0/8, not loopback, not multicast or reserved. */
static bool
can_be_host(uint32_t ip)
{
	return ip >> 24 != 0 && ip >> 24 != 127 && ip >> 28 < 14;
}

bool
rd_station_has(const struct rd_station *self, uint32_t address)
{
	if (address == self->address)
		return true;
	for (uint32_t i = 0; i < self->nmore; i++)
		if (self->more[i] == address)
			return true;
	return false;
}

static void
parse_arp(const struct rd_station *self, const uint8_t *arp, size_t len, struct rd_rx_frame *out)
{
	if (len < RD_ARP_LEN) {
		drop_packet(out, RD_DROP_short);
		return;
	}
	uint16_t op = be16_load(arp + 6);
	if (be16_load(arp) != 1 || be16_load(arp + 2) != ETHERTYPE_V4 || arp[4] != 6 ||
	    arp[5] != 4 || (op != 1 && op != 2)) {
		drop_packet(out, RD_DROP_arp_format);
		return;
	}
	uint32_t sender = be32_load(arp + 14), target = be32_load(arp + 24);
	memcpy(out->src_mac, arp + 8, 6);
	out->src_ip = sender;
	out->frame_len = RD_ARP_FRAME;
	if (rd_station_has(self, sender)) {
		drop_packet(out, memcmp(arp + 8, self->mac, 6) ? RD_DROP_arp_conflict
							       : RD_DROP_arp_other);
		return;
	}
	/* A multicast sender MAC would make us flood; sender 0 is an address probe,
	 * which is answered but not learned. */
	if ((arp[8] & 1) || (sender && !can_be_host(sender)))
		drop_packet(out, RD_DROP_arp_format);
	else if (op == 1 && rd_station_has(self, target))
		out->verdict = RD_RX_ARP_REQUEST;
	else if (sender && (target == sender || rd_station_has(self, target))) {
		out->verdict = RD_RX_ARP_REPLY;
		out->announced = target == sender;
	} else {
		drop_packet(out, RD_DROP_arp_other);
	}
}

bool
rd_udp_sum_good(const struct rd_station *self, uint64_t pseudo, const uint8_t *udp, uint32_t len,
		struct rd_rx_frame *out, size_t at)
{
	bool good = out->known & RD_KNOWN_UDP_GOOD;
	if (out->known & RD_KNOWN_UDP_BAD)
		return false;
	if (good && (self->ports_sum || len < RD_TAIL_MIN))
		return true;
	if (len < RD_TAIL_MIN)
		return rd_cksum_fold(rd_cksum_add(pseudo, udp, len)) == 0;
	uint64_t front = rd_cksum_add(pseudo, udp, RD_TAIL_OFF);
	out->tail_off = (uint16_t)(at + RD_TAIL_OFF);
	/* All of it adds up to 0xffff, so the tail is what the front lacks. */
	if (good) {
		out->tail_sum = (uint16_t)~rd_sum_16(front);
		return true;
	}
	uint64_t tail = rd_cksum_add(0, udp + RD_TAIL_OFF, len - RD_TAIL_OFF);
	out->tail_sum = rd_sum_16(tail);
	return rd_cksum_fold(front + tail) == 0;
}

static bool
udp_checksum_ok(const struct rd_station *self, const uint8_t *ip, const uint8_t *udp, uint32_t len,
		struct rd_rx_frame *out)
{
	return rd_udp_sum_good(
		self, rd_cksum_pseudo(be32_load(ip + 12), be32_load(ip + 16), RD_PROTO_UDP, len),
		udp, len, out, (size_t)(udp - ip) + RD_ETH_HDR);
}

static void
parse_udp(const struct rd_station *self, const uint8_t *ip, uint32_t hdr, uint32_t total,
	  struct rd_rx_frame *out)
{
	const uint8_t *udp = ip + hdr;
	uint32_t left = total - hdr;
	if (left < RD_UDP_HDR) {
		drop_packet(out, RD_DROP_udp_length);
		return;
	}
	uint32_t udp_len = be16_load(udp + 4);
	if (udp_len < RD_UDP_HDR || udp_len > left) {
		drop_packet(out, RD_DROP_udp_length);
		return;
	}
	uint16_t port = be16_load(udp + 2);
	bool suci = port == self->udp_port;
	if (be32_load(ip + 16) != self->address ||
	    (!suci && (!self->gateway_port || port != self->gateway_port))) {
		rd_kernel_udp(self, udp, out);
		return;
	}
	if (be16_load(udp) == 0) {
		drop_packet(out, RD_DROP_udp_source);
		return;
	}
	if (udp_len != left)
		out->known = 0;
	if (be16_load(udp + 6) == 0 ? self->sum_required
				    : !udp_checksum_ok(self, ip, udp, udp_len, out)) {
		drop_packet(out,
			    be16_load(udp + 6) ? RD_DROP_udp_checksum : RD_DROP_udp_no_checksum);
		return;
	}
	out->verdict = suci ? RD_RX_SUCI : RD_RX_GATEWAY;
	out->src_port = be16_load(udp);
	out->payload_off = RD_ETH_HDR + hdr + RD_UDP_HDR;
	out->payload_len = udp_len - RD_UDP_HDR;
	out->ecn = ip[1] & 3;
}

/* An ICMP error's quote of a datagram from our address: its UDP header, or NULL. */
static const uint8_t *
quoted_udp(const struct rd_station *self, const uint8_t *quote, size_t len)
{
	if (len < RD_IPV4_HDR || quote[0] >> 4 != 4)
		return NULL;
	uint32_t hdr = (quote[0] & 15u) * 4u;
	if (hdr < RD_IPV4_HDR || len < hdr + 4 || quote[9] != RD_PROTO_UDP)
		return NULL;
	if (be32_load(quote + 12) != self->address || (be16_load(quote + 6) & 0x1fff))
		return NULL;
	return quote + hdr;
}

/* Does an ICMP error quote a datagram that our Suci endpoint sent? */
static bool
quotes_us(const struct rd_station *self, const uint8_t *quote, uint32_t len,
	  struct rd_rx_frame *out)
{
	const uint8_t *udp = quoted_udp(self, quote, len);
	if (!udp || be16_load(udp) != self->udp_port)
		return false;
	out->quoted_ip = be32_load(quote + 16);
	out->quoted_port = be16_load(udp + 2);
	uint32_t at = (uint32_t)(udp - quote) + RD_UDP_HDR;
	out->quote_off = (uint16_t)(out->payload_off + RD_ICMP_HDR + at);
	out->quote_len = (uint16_t)(len > at ? len - at : 0);
	return true;
}

static void
parse_icmp(const struct rd_station *self, const uint8_t *ip, uint32_t hdr, uint32_t total,
	   struct rd_rx_frame *out)
{
	const uint8_t *icmp = ip + hdr;
	uint32_t len = total - hdr;
	if (len < RD_ICMP_HDR) {
		drop_packet(out, RD_DROP_icmp_length);
		return;
	}
	if (rd_cksum_fold(rd_cksum_add(0, icmp, len)) != 0) {
		drop_packet(out, RD_DROP_icmp_checksum);
		return;
	}
	out->icmp_code = icmp[1];
	out->payload_off = RD_ETH_HDR + hdr;
	out->payload_len = len;
	if (icmp[0] == ICMP_ECHO_REQUEST && icmp[1] == 0)
		out->verdict = RD_RX_ECHO;
	else if (icmp[0] == RD_ICMP_UNREACHABLE &&
		 quotes_us(self, icmp + RD_ICMP_HDR, len - RD_ICMP_HDR, out))
		out->verdict = RD_RX_UNREACHABLE;
	else
		rd_kernel_icmp(self, icmp, len, out);
}

/* Nearly always without options. */
static uint64_t
sum_header(const uint8_t *ip, uint32_t hdr)
{
	uint32_t w[RD_IPV4_HDR / 4];
	if (hdr != RD_IPV4_HDR)
		return rd_cksum_add(0, ip, hdr);
	memcpy(w, ip, sizeof w);
	return (uint64_t)w[0] + w[1] + w[2] + w[3] + w[4];
}

static bool
header_good(const uint8_t *ip, uint32_t hdr, uint32_t known)
{
	if (known & (RD_KNOWN_IP_GOOD | RD_KNOWN_IP_BAD))
		return known & RD_KNOWN_IP_GOOD;
	return rd_cksum_fold(sum_header(ip, hdr)) == 0;
}

static void
parse_ipv4(const struct rd_station *self, const uint8_t *ip, size_t len, struct rd_rx_frame *out)
{
	if (len < RD_IPV4_HDR) {
		drop_packet(out, RD_DROP_short);
		return;
	}
	uint32_t hdr = (ip[0] & 15u) * 4u, total = be16_load(ip + 2);
	if (ip[0] >> 4 != 4) {
		drop_packet(out, RD_DROP_ip_version);
	} else if (hdr < RD_IPV4_HDR || hdr > len) {
		drop_packet(out, RD_DROP_ip_header);
	} else if (total < hdr || total > len) {
		drop_packet(out, RD_DROP_ip_length);
	} else if (!header_good(ip, hdr, out->known)) {
		drop_packet(out, RD_DROP_ip_checksum);
	} else if (!rd_station_has(self, be32_load(ip + 16))) {
		drop_packet(out, RD_DROP_ip_destination);
	} else if (!can_be_host(be32_load(ip + 12)) || rd_station_has(self, be32_load(ip + 12))) {
		drop_packet(out, RD_DROP_ip_source);
	} else if (be16_load(ip + 6) & 0x3fff) { /* more fragments, or an offset */
		drop_packet(out, RD_DROP_ip_fragment);
	} else {
		out->src_ip = be32_load(ip + 12);
		out->ip_hdr_len = (uint16_t)hdr;
		out->frame_len = RD_ETH_HDR + total;
		if (ip[9] == RD_PROTO_UDP)
			parse_udp(self, ip, hdr, total, out);
		else if (ip[9] == RD_PROTO_ICMP)
			parse_icmp(self, ip, hdr, total, out);
		else if (ip[9] == RD_PROTO_TCP)
			rd_kernel_tcp(self, ip + hdr, total - hdr, out);
		else
			drop_packet(out, RD_DROP_ip_protocol);
	}
}

static uint32_t
shard_of_port(const struct rd_station *self, uint32_t port)
{
	return port - self->udp_first < self->nshards ? port - self->udp_first : RD_SHARD_HERE;
}

/* The datagram that an ICMP error quotes: which of our workers sent it? */
static uint32_t
shard_of_icmp(const struct rd_station *self, const uint8_t *icmp, size_t len)
{
	const uint8_t *udp = NULL;
	if (len < RD_ICMP_HDR || (icmp[0] == ICMP_ECHO_REQUEST && icmp[1] == 0))
		return RD_SHARD_HERE;
	if (icmp[0] == RD_ICMP_UNREACHABLE)
		udp = quoted_udp(self, icmp + RD_ICMP_HDR, len - RD_ICMP_HDR);
	uint32_t shard = udp ? shard_of_port(self, be16_load(udp)) : 0;
	return shard == RD_SHARD_HERE ? 0 : shard;
}

static uint32_t
shard_of_udp(const struct rd_station *self, uint32_t dst, const uint8_t *udp, size_t len)
{
	if (len < RD_UDP_HDR)
		return RD_SHARD_HERE;
	uint16_t port = be16_load(udp + 2);
	if (dst != self->address)
		return 0;
	if (self->gateway_port && port == self->gateway_port)
		return RD_SHARD_HERE;
	uint32_t shard = shard_of_port(self, port);
	return shard == RD_SHARD_HERE ? 0 : shard;
}

uint32_t
rd_packet_shard(const struct rd_station *self, const uint8_t *frame, size_t len)
{
	if (len < RD_ETH_HDR)
		return RD_SHARD_HERE;
	uint16_t type = be16_load(frame + 12);
	if (type == ETHERTYPE_A)
		return 0;
	const uint8_t *ip = frame + RD_ETH_HDR;
	if (type == ETHERTYPE_V6 && self->six)
		return rd_packet6_shard(self, frame, len);
	len -= RD_ETH_HDR;
	if (type != ETHERTYPE_V4 || len < RD_IPV4_HDR)
		return RD_SHARD_HERE;
	uint32_t hdr = (ip[0] & 15u) * 4u, total = be16_load(ip + 2), dst = be32_load(ip + 16);
	if (hdr < RD_IPV4_HDR || total < hdr || total > len || (be16_load(ip + 6) & 0x3fff) ||
	    !rd_station_has(self, dst))
		return RD_SHARD_HERE;
	switch (ip[9]) {
	case RD_PROTO_TCP:
		return 0;
	case RD_PROTO_ICMP:
		return shard_of_icmp(self, ip + hdr, total - hdr);
	case RD_PROTO_UDP:
		return shard_of_udp(self, dst, ip + hdr, total - hdr);
	default:
		return RD_SHARD_HERE;
	}
}

void
rd_packet_parse(const struct rd_station *self, const uint8_t *frame, size_t len,
		struct rd_rx_frame *out)
{
	rd_packet_parse_known(self, frame, len, 0, out);
}

void
rd_packet_parse_known(const struct rd_station *self, const uint8_t *frame, size_t len,
		      uint32_t known, struct rd_rx_frame *out)
{
	memset(out, 0, sizeof *out);
	out->known = (uint8_t)known;
	if (len < RD_ETH_HDR) {
		drop_packet(out, RD_DROP_short);
		return;
	}
	out->frame_len = (uint32_t)len;
	memcpy(out->src_mac, frame + 6, 6);
	uint16_t type = be16_load(frame + 12);
	if (memcmp(frame, self->mac, 6) != 0 && memcmp(frame, broadcast_mac, 6) != 0 &&
	    !(self->six && type == ETHERTYPE_V6 && rd_packet6_group(self, frame)))
		drop_packet(out, RD_DROP_mac);
	else if (type == ETHERTYPE_VL || type == ETHERTYPE_QQ)
		drop_packet(out, RD_DROP_vlan);
	else if (type == ETHERTYPE_A)
		parse_arp(self, frame + RD_ETH_HDR, len - RD_ETH_HDR, out);
	else if (type == ETHERTYPE_V6 && self->six)
		rd_packet6_parse(self, frame, len, out);
	else if (type != ETHERTYPE_V4)
		drop_packet(out, RD_DROP_ethertype);
	else
		parse_ipv4(self, frame + RD_ETH_HDR, len - RD_ETH_HDR, out);
}
