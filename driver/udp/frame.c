/* SPDX-License-Identifier: BSD-2-Clause */
/* Ethernet, IPv4 (RFC 791), UDP (RFC 768) from outside: everything is checked. */
#include "frame.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <netinet/in.h>
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

static bool
udp_sum_good(const struct iphdr *ip, const struct udphdr *udp, const uint8_t *p, uint32_t n)
{
	uint64_t pseudo = (uint64_t)ip->saddr + ip->daddr + htons(IPPROTO_UDP) + htons((uint16_t)n);

	if (udp->check == 0 || fold_frame(pseudo + suci_udp_frame_sum(p, n)) == 0xffff)
		return true;
	return udp->check == fold_frame(pseudo);
}

enum udp_frame_fault
suci_udp_frame_parse(const uint8_t *frame, uint32_t len, struct udp_frame *out)
{
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;

	if (len < FRAME_HDR_BYTES)
		return FRAME_MALFORMED;
	memcpy(&eth, frame, sizeof eth);
	memcpy(&ip, frame + sizeof eth, sizeof ip);
	const uint8_t *at = frame + sizeof eth + sizeof ip;
	memcpy(&udp, at, sizeof udp);
	uint32_t total = ntohs(ip.tot_len), n = ntohs(udp.len);
	if (eth.h_proto != htons(ETH_P_IP) || ip.version != 4 || ip.ihl != 5 ||
	    ip.protocol != IPPROTO_UDP || (ip.frag_off & htons(FRAGMENT_BITS)) ||
	    total > len - sizeof eth || total < sizeof ip + sizeof udp || n < sizeof udp ||
	    n > total - sizeof ip)
		return FRAME_MALFORMED;
	if (suci_udp_frame_sum(frame + sizeof eth, sizeof ip) != 0xffff ||
	    !udp_sum_good(&ip, &udp, at, n))
		return FRAME_BAD_SUM;
	*out = (struct udp_frame){.src_ip = ip.saddr,
				  .dst_ip = ip.daddr,
				  .src_port = udp.source,
				  .dst_port = udp.dest,
				  .ecn = ip.tos & 3,
				  .at = FRAME_HDR_BYTES,
				  .len = n - (uint32_t)sizeof udp};
	return FRAME_OK;
}
