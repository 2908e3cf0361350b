/* SPDX-License-Identifier: BSD-2-Clause */
/* What may reach the own kernel through a TAP, and what it sends. */
#include "packet_internal.h"

#include "base/bytes.h"

enum { TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16, TCP_FLAGS_END = 14 };
enum { ICMP_ECHO_REPLY = 0, ICMP_ECHO = 8, ICMP_TIME_EXCEEDED = 11, ICMP_PARAMETER = 12 };

static void
drop_frame(struct rd_rx_frame *out, enum rd_rx_drop why)
{
	out->verdict = RD_RX_DROP;
	out->drop = why;
}

bool
rd_kernel_is_open(const struct rd_station *self, uint32_t protocol, uint16_t port)
{
	for (uint32_t i = 0; i < self->nopen; i++) {
		const struct rd_open *o = &self->open[i];
		if (o->protocol == protocol && port >= o->first && port <= o->last)
			return true;
	}
	return false;
}

/* To an open port, or perhaps a part of what the kernel began: then the flow decides. */
void
rd_kernel_port(const struct rd_station *self, const struct rd_flow *flow, struct rd_rx_frame *out)
{
	bool open = rd_kernel_is_open(self, flow->protocol, flow->local_port);
	out->flow = *flow;
	out->verdict = open ? RD_RX_TAP : RD_RX_TAP_FLOW;
}

void
rd_kernel_segment(const struct rd_station *self, const struct rd_flow *from, const uint8_t *at,
		  uint32_t len, struct rd_rx_frame *out)
{
	struct rd_flow flow = *from;
	bool tcp = from->protocol == RD_PROTO_TCP;
	if (len < (tcp ? TCP_FLAGS_END : RD_UDP_HDR)) {
		drop_frame(out, RD_DROP_tap_port);
		return;
	}
	flow.local_port = be16_load(at + 2);
	flow.remote_port = be16_load(at);
	rd_kernel_port(self, &flow, out);
	if (tcp && out->verdict == RD_RX_TAP_FLOW && (at[13] & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		drop_frame(out, RD_DROP_tap_port); /* it would begin something */
}

/* An address of the other leg's subnet cannot be behind this one. */
static bool
astray(const struct rd_station *self, struct rd_rx_frame *out)
{
	if (!self->other_mask || ((out->src_ip ^ self->other) & self->other_mask))
		return false;
	drop_frame(out, RD_DROP_tap_source);
	return true;
}

void
rd_kernel_tcp(const struct rd_station *self, const uint8_t *tcp, uint32_t len,
	      struct rd_rx_frame *out)
{
	const struct rd_flow from = {.remote = out->src_ip, .protocol = RD_PROTO_TCP};
	if (!astray(self, out))
		rd_kernel_segment(self, &from, tcp, len, out);
}

void
rd_kernel_udp(const struct rd_station *self, const uint8_t *udp, struct rd_rx_frame *out)
{
	const struct rd_flow from = {.remote = out->src_ip, .protocol = RD_PROTO_UDP};
	if (!astray(self, out))
		rd_kernel_segment(self, &from, udp, RD_UDP_HDR, out);
}

/* An error quotes what the kernel sent: 20 bytes of header or more, and its ports. */
static void
error_quotes(const struct rd_station *self, const uint8_t *quote, size_t len,
	     struct rd_rx_frame *out)
{
	size_t hdr = len ? (quote[0] & 15u) * 4u : 0;
	if (len < RD_IPV4_HDR || quote[0] >> 4 != 4 || hdr < RD_IPV4_HDR || len < hdr + 8 ||
	    !rd_station_has(self, be32_load(quote + 12)) || (be16_load(quote + 6) & 0x1fff)) {
		drop_frame(out, RD_DROP_icmp_kind);
		return;
	}
	const uint8_t *ports = quote + hdr;
	struct rd_flow flow = {
		be32_load(quote + 16), be16_load(ports), be16_load(ports + 2), quote[9], {0}};
	if (flow.protocol == RD_PROTO_ICMP && ports[0] == ICMP_ECHO) {
		flow.local_port = be16_load(ports + 4);
		flow.remote_port = 0;
	} else if (flow.protocol != RD_PROTO_TCP && flow.protocol != RD_PROTO_UDP) {
		drop_frame(out, RD_DROP_icmp_kind);
		return;
	}
	rd_kernel_port(self, &flow, out);
}

void
rd_kernel_icmp(const struct rd_station *self, const uint8_t *icmp, uint32_t len,
	       struct rd_rx_frame *out)
{
	if (astray(self, out))
		return;
	switch (icmp[0]) {
	case ICMP_ECHO_REPLY:
		out->flow = (struct rd_flow){.remote = out->src_ip,
					     .local_port = be16_load(icmp + 4),
					     .protocol = RD_PROTO_ICMP};
		out->verdict = RD_RX_TAP_FLOW;
		return;
	case RD_ICMP_UNREACHABLE:
	case ICMP_TIME_EXCEEDED:
	case ICMP_PARAMETER:
		error_quotes(self, icmp + RD_ICMP_HDR, len - RD_ICMP_HDR, out);
		return;
	default: /* redirects above all */
		drop_frame(out, RD_DROP_icmp_kind);
	}
}

/* ---- what the kernel sends --------------------------------------------------------------- */

/* Behind the IPv4 header, *len bytes; NULL: no frame with a transport header. */
static const uint8_t *
transport(const uint8_t *frame, size_t *len)
{
	const uint8_t *ip = frame + RD_ETH_HDR;
	if (*len < RD_ETH_HDR + RD_IPV4_HDR || be16_load(frame + 12) != 0x0800)
		return NULL;
	size_t hdr = (ip[0] & 15u) * 4u;
	if (hdr < RD_IPV4_HDR || *len < RD_ETH_HDR + hdr + 8 || (be16_load(ip + 6) & 0x1fff))
		return NULL;
	*len -= RD_ETH_HDR + hdr;
	return ip + hdr;
}

bool
rd_kernel_flow(const struct rd_station *self, const uint8_t *frame, size_t len,
	       struct rd_flow *flow)
{
	if (len >= RD_ETH_HDR && be16_load(frame + 12) == 0x86dd)
		return rd_kernel6_flow(self, frame, len, flow);
	const uint8_t *at = transport(frame, &len), *ip = frame + RD_ETH_HDR;
	if (!at)
		return false;
	*flow = (struct rd_flow){be32_load(ip + 16), be16_load(at), be16_load(at + 2), ip[9], {0}};
	switch (ip[9]) {
	case RD_PROTO_TCP:
	case RD_PROTO_UDP:
		return !rd_kernel_is_open(self, ip[9], flow->local_port);
	case RD_PROTO_ICMP:
		flow->local_port = be16_load(at + 4);
		flow->remote_port = 0;
		return at[0] == ICMP_ECHO;
	default:
		return false;
	}
}

uint32_t
rd_kernel_peer(const uint8_t *frame, size_t len)
{
	const uint8_t *tcp = transport(frame, &len), *ip = frame + RD_ETH_HDR;
	return tcp && ip[9] == RD_PROTO_TCP && rd_kernel_talks(tcp, len) ? be32_load(ip + 16) : 0;
}

bool
rd_kernel_talks(const uint8_t *tcp, size_t len)
{
	uint8_t flags = len < TCP_FLAGS_END ? 0 : tcp[13] & (TCP_SYN | TCP_RST | TCP_ACK);
	return flags == TCP_ACK || flags == TCP_SYN;
}
