/* SPDX-License-Identifier: BSD-2-Clause */
/* Ethernet, IPv4 (RFC 791) or IPv6 (RFC 8200), UDP (RFC 768) from outside: everything is checked.
 */
#include "frame.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <netinet/ip6.h>
#include <stddef.h>
#include <string.h>

#define FRAGMENT_BITS 0x3fffu /* more fragments, offset */

/* Sums of 16-bit words in 32-bit lanes: 65535 additions fit.  A vector of 16 bytes is what
 * every x86-64 has; other machines get what their compiler makes of it. */
typedef uint32_t lanes __attribute__((vector_size(16)));
#define LANES_BYTES_MAX (1u << 19)

static uint16_t
fold_frame(uint64_t s)
{
	s = (s >> 32) + (s & 0xffffffffu);
	s = (s >> 32) + (s & 0xffffffffu);
	s = (s >> 16) + (s & 0xffffu);
	s = (s >> 16) + (s & 0xffffu);
	return (uint16_t)((s >> 16) + (s & 0xffffu));
}

uint16_t
suci_udp_frame_sum(const uint8_t *p, size_t n)
{
	uint64_t sum = 0;

	while (n >= 32) {
		size_t part = n < LANES_BYTES_MAX ? n & ~(size_t)31 : LANES_BYTES_MAX;
		lanes a = {0}, b = {0};
		for (const uint8_t *end = p + part; p < end; p += 32) {
			lanes v, w;
			memcpy(&v, p, 16);
			memcpy(&w, p + 16, 16);
			a += (v & 0xffff) + (v >> 16);
			b += (w & 0xffff) + (w >> 16);
		}
		a += b;
		sum += (uint64_t)a[0] + a[1] + a[2] + a[3];
		n -= part;
	}
	for (; n >= 2; n -= 2, p += 2) {
		uint16_t w;
		memcpy(&w, p, 2);
		sum += w;
	}
	if (n) {
		uint8_t last[2] = {*p, 0};
		uint16_t w;
		memcpy(&w, last, 2);
		sum += w;
	}
	return fold_frame(sum);
}

/* pseudo: sum of the pseudo header, but for protocol and length. */
static bool
udp_sum_good(uint64_t pseudo, const struct udphdr *udp, const uint8_t *p, uint32_t n)
{
	pseudo += htons(IPPROTO_UDP) + (uint64_t)htons((uint16_t)n);
	return fold_frame(pseudo + suci_udp_frame_sum(p, n)) == 0xffff ||
	       udp->check == fold_frame(pseudo);
}

static enum udp_frame_fault
parse_frame4(const uint8_t *frame, uint32_t len, struct udp_frame *out)
{
	struct iphdr ip;
	struct udphdr udp;

	if (len < FRAME_HDR_BYTES)
		return FRAME_MALFORMED;
	memcpy(&ip, frame + ETH_HLEN, sizeof ip);
	const uint8_t *at = frame + ETH_HLEN + sizeof ip;
	memcpy(&udp, at, sizeof udp);
	uint32_t total = ntohs(ip.tot_len), n = ntohs(udp.len);
	if (ip.version != 4 || ip.ihl != 5 || ip.protocol != IPPROTO_UDP ||
	    (ip.frag_off & htons(FRAGMENT_BITS)) || total > len - ETH_HLEN ||
	    total < sizeof ip + sizeof udp || n < sizeof udp || n > total - sizeof ip)
		return FRAME_MALFORMED;
	if (suci_udp_frame_sum(frame + ETH_HLEN, sizeof ip) != 0xffff ||
	    (udp.check && !udp_sum_good((uint64_t)ip.saddr + ip.daddr, &udp, at, n)))
		return FRAME_BAD_SUM;
	*out = (struct udp_frame){.family = 4,
				  .src = frame + ETH_HLEN + offsetof(struct iphdr, saddr),
				  .dst = frame + ETH_HLEN + offsetof(struct iphdr, daddr),
				  .src_port = udp.source,
				  .dst_port = udp.dest,
				  .ecn = ip.tos & 3,
				  .at = FRAME_HDR_BYTES,
				  .len = n - (uint32_t)sizeof udp};
	return FRAME_OK;
}

static enum udp_frame_fault
parse_frame6(const uint8_t *frame, uint32_t len, struct udp_frame *out)
{
	struct ip6_hdr ip;
	struct udphdr udp;

	if (len < FRAME_HDR6_BYTES)
		return FRAME_MALFORMED;
	memcpy(&ip, frame + ETH_HLEN, sizeof ip);
	const uint8_t *at = frame + ETH_HLEN + sizeof ip;
	const uint8_t *src = frame + ETH_HLEN + offsetof(struct ip6_hdr, ip6_src);
	memcpy(&udp, at, sizeof udp);
	uint32_t flow = ntohl(ip.ip6_flow), total = ntohs(ip.ip6_plen), n = ntohs(udp.len);
	if (flow >> 28 != 6 || ip.ip6_nxt != IPPROTO_UDP || total > len - ETH_HLEN - sizeof ip ||
	    n < sizeof udp || n > total)
		return FRAME_MALFORMED;
	if (udp.check == 0 || !udp_sum_good(suci_udp_frame_sum(src, 32), &udp, at, n))
		return FRAME_BAD_SUM;
	*out = (struct udp_frame){.family = 6,
				  .src = src,
				  .dst = src + 16,
				  .src_port = udp.source,
				  .dst_port = udp.dest,
				  .ecn = flow >> 20 & 3,
				  .at = FRAME_HDR6_BYTES,
				  .len = n - (uint32_t)sizeof udp};
	return FRAME_OK;
}

enum udp_frame_fault
suci_udp_frame_parse(const uint8_t *frame, uint32_t len, struct udp_frame *out)
{
	struct ethhdr eth;

	if (len < sizeof eth)
		return FRAME_MALFORMED;
	memcpy(&eth, frame, sizeof eth);
	if (eth.h_proto == htons(ETH_P_IP))
		return parse_frame4(frame, len, out);
	if (eth.h_proto == htons(ETH_P_IPV6))
		return parse_frame6(frame, len, out);
	return FRAME_MALFORMED;
}
