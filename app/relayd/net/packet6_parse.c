/* SPDX-License-Identifier: BSD-2-Clause */
/* IPv6 from outside: every length checked before the bytes behind it are read. */
#include "packet_internal.h"
#include "rd/packet6.h"

#include "base/bytes.h"

#include <string.h>

enum {
	NEXT_HOP_BY_HOP = 0,
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_ICMP = RD_PROTO_ICMP6,
	NEXT_OPTIONS = 60,
};
enum {
	ICMP6_UNREACHABLE = 1,
	ICMP6_TOO_BIG = 2,
	ICMP6_ECHO_REQUEST = 128,
	ICMP6_SOLICITATION = 135,
	ICMP6_ADVERTISEMENT = 136,
	ICMP6_PORT_UNREACHABLE = 4,
};
enum { ICMP4_HOST = 1, ICMP4_PORT = 3, ICMP4_TOO_BIG = 4 };
enum { ND_FIXED = 24, ND_SOURCE_MAC = 1, ND_TARGET_MAC = 2, ND_SOLICITED = 0x40 };

static const uint8_t unspecified[16];

static void
drop_six(struct rd_rx_frame *out, enum rd_rx_drop why)
{
	out->verdict = RD_RX_DROP;
	out->drop = why;
}

/* Neither unspecified, loopback, multicast nor IPv4's; link-local ones only say something of the
 * link. */
static bool
can_be_source(const uint8_t ip[16], bool on_link)
{
	static const uint8_t loopback[16] = {[15] = 1}, mapped[12] = {[10] = 0xff, [11] = 0xff};
	if (ip[0] == 0xff || memcmp(ip, unspecified, 16) == 0 || memcmp(ip, loopback, 16) == 0 ||
	    memcmp(ip, mapped, sizeof mapped) == 0)
		return false;
	return on_link || ip[0] != 0xfe || (ip[1] & 0xc0) != 0x80;
}

static bool
is_ours(const struct rd_station *self, const uint8_t ip[16])
{
	return memcmp(ip, self->six->address, 16) == 0;
}

/* ff02::1:ffxx:xxxx of our address, ff02::1. */
static bool
is_our_group(const struct rd_station *self, const uint8_t ip[16])
{
	static const uint8_t solicited[13] = {0xff, 2, [11] = 1, 0xff},
			     all[16] = {0xff, 2, [15] = 1};
	return memcmp(ip, all, sizeof all) == 0 ||
	       (memcmp(ip, solicited, sizeof solicited) == 0 &&
		memcmp(ip + 13, self->six->address + 13, 3) == 0);
}

bool
rd_packet6_group(const struct rd_station *self, const uint8_t mac[6])
{
	static const uint8_t all[6] = {0x33, 0x33, 0, 0, 0, 1}, solicited[3] = {0x33, 0x33, 0xff};
	return memcmp(mac, all, sizeof all) == 0 ||
	       (memcmp(mac, solicited, sizeof solicited) == 0 &&
		memcmp(mac + 3, self->six->address + 13, 3) == 0);
}

uint64_t
rd_cksum6_pseudo(const uint8_t src[16], const uint8_t dst[16], uint8_t protocol, uint32_t len)
{
	uint8_t rest[8];
	be32_store(rest, len);
	be32_store(rest + 4, protocol);
	return rd_cksum_add(rd_cksum_add(rd_cksum_add(0, src, 16), dst, 16), rest, sizeof rest);
}

/* ---- UDP ----------------------------------------------------------------------------- */

static bool
udp6_checksum_ok(const struct rd_station *self, const uint8_t *ip, const uint8_t *udp, uint32_t len,
		 struct rd_rx_frame *out)
{
	return rd_udp_sum_good(self, rd_cksum6_pseudo(ip + 8, ip + 24, RD_PROTO_UDP, len), udp, len,
			       out, RD_ETH_HDR + RD_IPV6_HDR);
}

static void
parse_udp6(const struct rd_station *self, const uint8_t *ip, uint32_t len, struct rd_rx_frame *out)
{
	const uint8_t *udp = ip + RD_IPV6_HDR;
	uint32_t udp_len = len >= RD_UDP_HDR ? be16_load(udp + 4) : 0;
	if (udp_len != len)
		out->known = 0;
	if (udp_len < RD_UDP_HDR || udp_len > len) {
		drop_six(out, RD_DROP_udp_length);
	} else if (be16_load(udp + 2) != self->udp_port) {
		rd_kernel6_segment(self, ip, len, out);
	} else if (be16_load(udp) == 0) {
		drop_six(out, RD_DROP_udp_source);
	} else if (be16_load(udp + 6) == 0) {
		drop_six(out, RD_DROP_udp_no_checksum);
	} else if (!udp6_checksum_ok(self, ip, udp, udp_len, out)) {
		drop_six(out, RD_DROP_udp_checksum);
	} else {
		out->verdict = RD_RX_SUCI;
		out->src_port = be16_load(udp);
		out->payload_off = RD_FRAME6_HDR;
		out->payload_len = udp_len - RD_UDP_HDR;
		out->ecn = ip[1] >> 4 & 3;
	}
}

/* ---- ICMP ---------------------------------------------------------------------------- */

/* An error's quote of a datagram from our address: its UDP header, or NULL. */
static const uint8_t *
quoted_udp6(const struct rd_station *self, const uint8_t *quote, size_t len)
{
	if (len < RD_IPV6_HDR + 4 || quote[0] >> 4 != 6 || quote[6] != RD_PROTO_UDP ||
	    !is_ours(self, quote + 8))
		return NULL;
	return quote + RD_IPV6_HDR;
}

static void
parse_error6(const struct rd_station *self, const uint8_t *ip, uint32_t len,
	     struct rd_rx_frame *out)
{
	const uint8_t *icmp = ip + RD_IPV6_HDR, *quote = icmp + RD_ICMP_HDR;
	uint32_t left = len - RD_ICMP_HDR, at = RD_IPV6_HDR + RD_UDP_HDR;
	const uint8_t *udp = quoted_udp6(self, quote, left);
	if (!udp || be16_load(udp) != self->udp_port) {
		rd_kernel6_icmp(self, ip, len, out);
		return;
	}
	out->verdict = RD_RX_UNREACHABLE;
	out->icmp_code = icmp[0] == ICMP6_TOO_BIG	     ? ICMP4_TOO_BIG
			 : icmp[1] == ICMP6_PORT_UNREACHABLE ? ICMP4_PORT
							     : ICMP4_HOST;
	out->quoted_6 = (uint16_t)(out->payload_off + RD_ICMP_HDR + 24);
	out->quoted_port = be16_load(udp + 2);
	out->quote_off = (uint16_t)(out->payload_off + RD_ICMP_HDR + at);
	out->quote_len = (uint16_t)(left > at ? left - at : 0);
}

/* The MAC in an option of that kind; NULL and *good: there is none.  Options of other kinds are
 * passed over. */
static const uint8_t *
find_mac(const uint8_t *option, uint32_t len, uint8_t kind, bool *good)
{
	const uint8_t *mac = NULL;
	*good = true;
	while (len >= 8 && option[1] && option[1] * 8u <= len) {
		uint32_t n = option[1] * 8u;
		if (option[0] == kind)
			mac = option + 2;
		option += n;
		len -= n;
	}
	*good = len == 0 && !(mac && (mac[0] & 1));
	return mac;
}

static void
parse_discovery(const struct rd_station *self, const uint8_t *ip, uint32_t len,
		struct rd_rx_frame *out)
{
	const uint8_t *nd = ip + RD_IPV6_HDR, *src = ip + 8, *target = nd + 8;
	bool asks = nd[0] == ICMP6_SOLICITATION, good = false;
	bool probe = asks && memcmp(src, unspecified, sizeof unspecified) == 0;
	if (len < ND_FIXED || ip[7] != 255 || nd[1] != 0 || target[0] == 0xff ||
	    (!probe && !can_be_source(src, true))) {
		drop_six(out, RD_DROP_nd_format);
		return;
	}
	const uint8_t *mac = find_mac(nd + ND_FIXED, len - ND_FIXED,
				      asks ? ND_SOURCE_MAC : ND_TARGET_MAC, &good);
	/* Who has no address yet has none to be learned, and asks the group. */
	if (!good || (out->src_mac[0] & 1) || (probe && (mac || ip[24] != 0xff)) ||
	    (!asks && ip[24] == 0xff && (nd[4] & ND_SOLICITED))) {
		drop_six(out, RD_DROP_nd_format);
		return;
	}
	if (mac)
		memcpy(out->src_mac, mac, 6);
	bool same = memcmp(out->src_mac, self->mac, 6) == 0;
	if (is_ours(self, asks ? src : target) || (probe && is_ours(self, target) && same))
		drop_six(out, same ? RD_DROP_nd_other : RD_DROP_nd_conflict);
	else if (asks && !is_ours(self, target))
		drop_six(out, RD_DROP_nd_other);
	else if (!asks && !can_be_source(target, true))
		drop_six(out, RD_DROP_nd_format);
	else {
		out->verdict = asks ? RD_RX_ND_REQUEST : RD_RX_ND_REPLY;
		out->src_6 = probe ? 0 : (uint16_t)(RD_ETH_HDR + (asks ? 8 : RD_IPV6_HDR + 8));
		out->announced = !asks && !(nd[4] & ND_SOLICITED);
	}
}

static void
parse_icmp6(const struct rd_station *self, const uint8_t *ip, uint32_t len, struct rd_rx_frame *out)
{
	const uint8_t *icmp = ip + RD_IPV6_HDR;
	if (len < RD_ICMP_HDR) {
		drop_six(out, RD_DROP_icmp_length);
		return;
	}
	uint64_t sum = rd_cksum6_pseudo(ip + 8, ip + 24, NEXT_ICMP, len);
	if (rd_cksum_fold(rd_cksum_add(sum, icmp, len)) != 0) {
		drop_six(out, RD_DROP_icmp_checksum);
		return;
	}
	out->icmp_code = icmp[1];
	out->payload_off = RD_ETH_HDR + RD_IPV6_HDR;
	out->payload_len = len;
	bool ours = is_ours(self, ip + 24);
	switch (icmp[0]) {
	case ICMP6_SOLICITATION:
	case ICMP6_ADVERTISEMENT:
		parse_discovery(self, ip, len, out);
		return;
	case ICMP6_ECHO_REQUEST:
		if (!ours || icmp[1] || !can_be_source(ip + 8, true))
			break;
		out->verdict = RD_RX_ECHO;
		return;
	case ICMP6_UNREACHABLE:
	case ICMP6_TOO_BIG:
		if (!ours)
			break;
		parse_error6(self, ip, len, out);
		return;
	default:
		if (!ours)
			break;
		rd_kernel6_icmp(self, ip, len, out);
		return;
	}
	drop_six(out, RD_DROP_icmp_kind);
}

/* ---- IP ------------------------------------------------------------------------------ */

void
rd_packet6_parse(const struct rd_station *self, const uint8_t *frame, size_t len,
		 struct rd_rx_frame *out)
{
	const uint8_t *ip = frame + RD_ETH_HDR;
	if (len < RD_ETH_HDR + RD_IPV6_HDR) {
		drop_six(out, RD_DROP_short);
		return;
	}
	uint32_t payload = be16_load(ip + 4);
	bool discovery = ip[6] == NEXT_ICMP;
	if (ip[0] >> 4 != 6) {
		drop_six(out, RD_DROP_ip_version);
	} else if (payload > len - RD_ETH_HDR - RD_IPV6_HDR) {
		drop_six(out, RD_DROP_ip_length);
	} else if (!is_ours(self, ip + 24) && !(discovery && is_our_group(self, ip + 24))) {
		drop_six(out, RD_DROP_ip_destination);
	} else if (!discovery && (!can_be_source(ip + 8, false) || is_ours(self, ip + 8))) {
		drop_six(out, RD_DROP_ip_source);
	} else {
		out->src_6 = RD_ETH_HDR + 8;
		out->ip_hdr_len = RD_IPV6_HDR;
		out->frame_len = RD_ETH_HDR + RD_IPV6_HDR + payload;
		switch (ip[6]) {
		case RD_PROTO_UDP:
			parse_udp6(self, ip, payload, out);
			break;
		case NEXT_ICMP:
			parse_icmp6(self, ip, payload, out);
			break;
		case RD_PROTO_TCP:
			rd_kernel6_segment(self, ip, payload, out);
			break;
		case NEXT_FRAGMENT:
			drop_six(out, RD_DROP_ip_fragment);
			break;
		case NEXT_HOP_BY_HOP:
		case NEXT_ROUTING:
		case NEXT_OPTIONS:
			drop_six(out, RD_DROP_ip_header);
			break;
		default:
			drop_six(out, RD_DROP_ip_protocol);
		}
	}
}

uint32_t
rd_packet6_shard(const struct rd_station *self, const uint8_t *frame, size_t len)
{
	const uint8_t *ip = frame + RD_ETH_HDR, *at = ip + RD_IPV6_HDR, *udp = NULL;
	if (len < RD_ETH_HDR + RD_IPV6_HDR)
		return RD_SHARD_HERE;
	size_t payload = be16_load(ip + 4);
	if (payload > len - RD_ETH_HDR - RD_IPV6_HDR || payload < RD_UDP_HDR)
		return RD_SHARD_HERE;
	uint16_t port = 0;
	if (ip[6] == NEXT_ICMP && (at[0] == ICMP6_SOLICITATION || at[0] == ICMP6_ADVERTISEMENT))
		return 0;
	if (ip[6] == NEXT_ICMP && (at[0] == ICMP6_UNREACHABLE || at[0] == ICMP6_TOO_BIG))
		udp = quoted_udp6(self, at + RD_ICMP_HDR, payload - RD_ICMP_HDR);
	if (udp)
		port = be16_load(udp);
	else if (ip[6] == RD_PROTO_UDP)
		port = be16_load(at + 2);
	uint32_t shard = (uint32_t)port - self->udp_first;
	if (port && shard < self->nshards)
		return shard;
	/* The kernel's is worker 0's; so is what only seems to be. */
	bool echo = ip[6] == NEXT_ICMP && at[0] == ICMP6_ECHO_REQUEST;
	return !echo && is_ours(self, ip + 24) ? 0 : RD_SHARD_HERE;
}
