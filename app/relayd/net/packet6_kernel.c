/* SPDX-License-Identifier: BSD-2-Clause */
/* What may reach the own kernel through a TAP over IPv6, and what it sends. */
#include "packet_internal.h"
#include "rd/packet6.h"

#include "base/bytes.h"

#include <string.h>

enum { UNREACHABLE = 1, PARAMETER = 4, ECHO = 128, ECHO_REPLY = 129, SOLICITATION = 135 };
enum { ND_FIXED = 24, IP_NEXT = 6, IP_SRC = 8, IP_DST = 24 };

/* With that host; ports are to be filled in. */
static struct rd_flow
flow_with(const uint8_t host[16], uint32_t protocol)
{
	return (struct rd_flow){
		.remote = be32_load(host + 12),
		.protocol = protocol,
		.above = {be32_load(host), be32_load(host + 4), be32_load(host + 8)},
	};
}

/* An address of the other leg's prefix cannot be behind this one. */
static bool
astray6(const struct rd_station *self, const uint8_t *ip, struct rd_rx_frame *out)
{
	if (!self->other_six || !rd_six_covers(self->other_six, ip + IP_SRC))
		return false;
	out->verdict = RD_RX_DROP;
	out->drop = RD_DROP_tap_source;
	return true;
}

void
rd_kernel6_segment(const struct rd_station *self, const uint8_t *ip, uint32_t len,
		   struct rd_rx_frame *out)
{
	if (astray6(self, ip, out))
		return;
	struct rd_flow from = flow_with(ip + IP_SRC, ip[IP_NEXT]);
	rd_kernel_segment(self, &from, ip + RD_IPV6_HDR, len, out);
}

/* Of what the kernel sent: the flow, if at, len bytes, has its ports. */
static bool
sent_flow(const uint8_t *ip, size_t len, struct rd_flow *flow)
{
	const uint8_t *at = ip + RD_IPV6_HDR;
	*flow = flow_with(ip + IP_DST, ip[IP_NEXT]);
	if (len < RD_UDP_HDR)
		return false;
	if (ip[IP_NEXT] == RD_PROTO_ICMP6) {
		flow->local_port = be16_load(at + 4);
		return at[0] == ECHO;
	}
	flow->local_port = be16_load(at);
	flow->remote_port = be16_load(at + 2);
	return ip[IP_NEXT] == RD_PROTO_TCP || ip[IP_NEXT] == RD_PROTO_UDP;
}

void
rd_kernel6_icmp(const struct rd_station *self, const uint8_t *ip, uint32_t len,
		struct rd_rx_frame *out)
{
	const uint8_t *icmp = ip + RD_IPV6_HDR, *quote = icmp + RD_ICMP_HDR;
	uint32_t left = len - RD_ICMP_HDR;
	if (astray6(self, ip, out))
		return;
	out->verdict = RD_RX_DROP;
	out->drop = RD_DROP_icmp_kind; /* of routers above all, redirects */
	if (icmp[0] == ECHO_REPLY) {
		out->flow = flow_with(ip + IP_SRC, RD_PROTO_ICMP6);
		out->flow.local_port = be16_load(icmp + 4);
		out->verdict = RD_RX_TAP_FLOW;
	} else if (icmp[0] >= UNREACHABLE && icmp[0] <= PARAMETER && left >= RD_IPV6_HDR &&
		   quote[0] >> 4 == 6 && memcmp(quote + IP_SRC, self->six->address, 16) == 0) {
		struct rd_flow flow;
		if (sent_flow(quote, left - RD_IPV6_HDR, &flow))
			rd_kernel_port(self, &flow, out);
	}
}

/* ---- what the kernel sends --------------------------------------------------------------- */

/* The IPv6 header of a frame that has it whole, *len bytes behind it; NULL: it has none. */
static const uint8_t *
header6(const uint8_t *frame, size_t *len)
{
	if (*len < RD_ETH_HDR + RD_IPV6_HDR || be16_load(frame + 12) != 0x86dd ||
	    frame[RD_ETH_HDR] >> 4 != 6)
		return NULL;
	*len -= RD_ETH_HDR + RD_IPV6_HDR;
	return frame + RD_ETH_HDR;
}

bool
rd_kernel6_flow(const struct rd_station *self, const uint8_t *frame, size_t len,
		struct rd_flow *flow)
{
	const uint8_t *ip = header6(frame, &len);
	return ip && sent_flow(ip, len, flow) &&
	       !rd_kernel_is_open(self, flow->protocol, flow->local_port);
}

const uint8_t *
rd_kernel6_peer(const uint8_t *frame, size_t len)
{
	const uint8_t *ip = header6(frame, &len);
	return ip && ip[IP_NEXT] == RD_PROTO_TCP && rd_kernel_talks(ip + RD_IPV6_HDR, len)
		       ? ip + IP_DST
		       : NULL;
}

bool
rd_kernel6_speaks(const struct rd_station *self, const uint8_t *frame, size_t len)
{
	const uint8_t *ip = header6(frame, &len);
	if (!ip || !self->six || memcmp(ip + IP_SRC, self->six->address, 16) != 0 ||
	    ip[IP_DST] == 0xff)
		return false;
	return ip[IP_NEXT] == RD_PROTO_TCP || ip[IP_NEXT] == RD_PROTO_UDP ||
	       (ip[IP_NEXT] == RD_PROTO_ICMP6 && len >= RD_ICMP_HDR &&
		ip[RD_IPV6_HDR] <= ECHO_REPLY);
}

const uint8_t *
rd_nd_asked(const struct rd_station *self, const uint8_t *frame, size_t len)
{
	const uint8_t *ip = header6(frame, &len);
	const uint8_t *nd = ip ? ip + RD_IPV6_HDR : NULL;
	if (!ip || !self->six || len < ND_FIXED || ip[IP_NEXT] != RD_PROTO_ICMP6 ||
	    nd[0] != SOLICITATION || memcmp(ip + IP_SRC, self->six->address, 16) != 0 ||
	    memcmp(nd + 8, self->six->address, 16) == 0)
		return NULL;
	return nd + 8;
}
