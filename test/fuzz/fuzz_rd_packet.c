/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are a frame, in a heap copy of its exact size.  Whatever the parser says must
 * be true of the bytes, and what it lets us answer must be a good frame. */
#include "base/assert.h"
#include "base/bytes.h"
#include "rd/packet6.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rd_six six = {.address = {0x20, 1, 0xd, 0xb8, [15] = 1}, .prefix_len = 64};
static const struct rd_station self = {
	.six = &six,
	.mac = {2, 0, 0, 0, 0, 1},
	.address = 0x0a000001,
	.prefix_len = 24,
	.gateway = 0x0a0000fe,
	.udp_port = 7812,
	.udp_first = 7812,
	.nshards = 2,
	.gateway_port = 7814,
	.nmore = 2,
	.more = {0x0a0000c8, 0x0a0000c9},
	.nopen = 2,
	.open = {{6, 7811, 7813}, {17, 53, 53}},
	.other = 0xc6336400,
	.other_mask = 0xffffff00,
};

static void
check_echo(uint8_t *frame, const struct rd_rx_frame *f)
{
	rd_echo_answer(frame, f);
	const uint8_t *ip = frame + RD_ETH_HDR;
	BASE_ASSERT(rd_cksum_fold(rd_cksum_add(0, ip, f->ip_hdr_len)) == 0);
	BASE_ASSERT(rd_cksum_fold(rd_cksum_add(0, ip + f->ip_hdr_len, f->payload_len)) == 0);
	BASE_ASSERT(be32_load(ip + 16) == f->src_ip && rd_station_has(&self, be32_load(ip + 12)));
}

/* Before anything is parsed a frame goes to the worker that can deal with it: who has an
 * endpoint for it, or worker 0 for what is there once. */
static void
check_shard(const uint8_t *frame, size_t size)
{
	uint32_t shard = rd_packet_shard(&self, frame, size);
	BASE_ASSERT(shard == RD_SHARD_HERE || shard < self.nshards);
	for (uint32_t i = 0; i < self.nshards; i++) {
		struct rd_station worker = self;
		struct rd_rx_frame f;
		worker.udp_port = (uint16_t)(self.udp_first + i);
		rd_packet_parse(&worker, frame, size, &f);
		switch (f.verdict) {
		case RD_RX_SUCI:
		case RD_RX_UNREACHABLE:
			BASE_ASSERT(shard == i);
			break;
		case RD_RX_GATEWAY:
		case RD_RX_ECHO:
			BASE_ASSERT(shard == RD_SHARD_HERE);
			break;
		case RD_RX_ARP_REQUEST:
		case RD_RX_ARP_REPLY:
		case RD_RX_ND_REQUEST:
		case RD_RX_ND_REPLY:
			BASE_ASSERT(shard == 0);
			break;
		case RD_RX_TAP: /* or another worker's */
		case RD_RX_TAP_FLOW:
			BASE_ASSERT(shard == 0 || (shard != RD_SHARD_HERE && shard != i));
			break;
		case RD_RX_DROP:
			break;
		}
	}
}

/* The same bytes as the kernel's, which are read with as little trust. */
static void
check_kernel(uint8_t *frame, size_t size)
{
	struct rd_flow flow;
	if (size < RD_ETH_HDR)
		return;
	if (rd_kernel_flow(&self, frame, size, &flow))
		BASE_ASSERT(flow.protocol == 1 || flow.protocol == 6 || flow.protocol == 17 ||
			    flow.protocol == 58);
	(void)rd_kernel_peer(frame, size);
	(void)rd_kernel6_peer(frame, size);
	(void)rd_kernel6_speaks(&self, frame, size);
	if (rd_nd_asked(&self, frame, size)) {
		uint8_t *told = calloc(1, size + RD_ND_FRAME);
		memcpy(told, frame, size);
		rd_nd_tell(told, self.mac);
		free(told);
	}
	if (rd_arp_asked(frame, size)) {
		uint8_t *told = malloc(size);
		memcpy(told, frame, size);
		rd_arp_tell(told, self.mac);
		free(told);
	}
}

static bool
is_six(const uint8_t ip[16])
{
	return memcmp(ip, six.address, 16) == 0;
}

/* What came by IPv6 and is not dropped. */
static void
check_six(const uint8_t *frame, size_t size, const struct rd_rx_frame *f)
{
	uint8_t *answer = calloc(1, size + RD_ND_FRAME);
	memcpy(answer, frame, size);
	struct rd_rx_frame again;
	switch (f->verdict) {
	case RD_RX_SUCI:
		BASE_ASSERT((size_t)f->payload_off + f->payload_len <= size && f->src_port != 0);
		BASE_ASSERT(f->src_6 && !is_six(frame + f->src_6));
		BASE_ASSERT(is_six(frame + RD_ETH_HDR + 24));
		break;
	case RD_RX_ND_REQUEST:
		BASE_ASSERT(!(f->src_mac[0] & 1) && (!f->src_6 || !is_six(frame + f->src_6)));
		rd_nd_answer(answer, &self, f);
		/* It is a good frame: another station takes it, as one that is ours is refused. */
		rd_packet_parse(&self, answer, RD_ND_FRAME, &again);
		BASE_ASSERT(again.verdict == RD_RX_DROP && again.drop != RD_DROP_icmp_checksum &&
			    again.drop != RD_DROP_short && again.drop != RD_DROP_nd_format);
		break;
	case RD_RX_ND_REPLY:
		BASE_ASSERT(!(f->src_mac[0] & 1) && f->src_6 && !is_six(frame + f->src_6));
		break;
	case RD_RX_ECHO:
		rd_echo6_answer(answer, f);
		BASE_ASSERT(is_six(answer + RD_ETH_HDR + 8));
		BASE_ASSERT(rd_cksum_fold(rd_cksum_add(
				    rd_cksum6_pseudo(answer + 22, answer + 38, 58, f->payload_len),
				    answer + f->payload_off, f->payload_len)) == 0);
		break;
	case RD_RX_TAP:
	case RD_RX_TAP_FLOW:
		BASE_ASSERT(is_six(frame + RD_ETH_HDR + 24));
		break;
	case RD_RX_UNREACHABLE:
		BASE_ASSERT(f->quoted_6 && (size_t)f->quoted_6 + 16 <= size);
		BASE_ASSERT(!f->quote_len || (size_t)f->quote_off + f->quote_len <= size);
		break;
	default:
		BASE_ASSERT(false);
	}
	free(answer);
}

/* A frame that was completed is one whose checksum needs no doubt: what the port knows and what is
 * summed up are the same. */
static void
check_completed(const uint8_t *frame, size_t size)
{
	uint8_t *whole = malloc(size ? size : 1);
	struct rd_rx_frame summed, known;
	memcpy(whole, frame, size);
	if (rd_packet_complete(whole, size)) {
		rd_packet_parse(&self, whole, size, &summed);
		rd_packet_parse_known(&self, whole, size, RD_KNOWN_UDP_GOOD, &known);
		BASE_ASSERT(summed.verdict == known.verdict && summed.drop == known.drop);
		BASE_ASSERT(summed.tail_off == known.tail_off);
		BASE_ASSERT(summed.tail_sum % 0xffff == known.tail_sum % 0xffff);
		BASE_ASSERT(summed.verdict != RD_RX_DROP || summed.drop != RD_DROP_udp_checksum);
	}
	free(whole);
}

/* Whatever a port says, nothing is read that is not there. */
static void
check_known(const uint8_t *frame, size_t size)
{
	for (uint32_t known = 1; known < 16; known++) {
		struct rd_rx_frame f;
		rd_packet_parse_known(&self, frame, size, known, &f);
		if (f.verdict != RD_RX_SUCI)
			continue;
		BASE_ASSERT((size_t)f.payload_off + f.payload_len <= size);
		BASE_ASSERT(f.tail_off < size);
	}
}

/* Untagged and tagged again it is the same. */
static void
check_tags(const uint8_t *frame, size_t size)
{
	uint8_t *other = malloc(size ? size : 1);
	memcpy(other, frame, size);
	uint16_t vlan = size >= 16 ? be16_load(frame + 14) & RD_VLAN_MAX : 7;
	(void)rd_packet_concerns(&self, frame, size);
	if (rd_packet_untag(other, size, vlan)) {
		rd_packet_tag(other + RD_VLAN_TAG, be16_load(frame + 14));
		BASE_ASSERT(memcmp(other, frame, size) == 0);
	} else {
		BASE_ASSERT(memcmp(other, frame, size) == 0);
	}
	free(other);
}

static void
check(uint8_t *frame, size_t size)
{
	check_tags(frame, size);
	check_completed(frame, size);
	check_known(frame, size);
	check_kernel(frame, size);
	check_shard(frame, size);
	struct rd_rx_frame f;
	rd_packet_parse(&self, frame, size, &f);
	BASE_ASSERT(f.frame_len <= size || f.verdict == RD_RX_DROP);
	if (f.verdict != RD_RX_DROP && size >= RD_ETH_HDR && be16_load(frame + 12) == 0x86dd) {
		check_six(frame, size, &f);
		return;
	}
	switch (f.verdict) {
	case RD_RX_DROP:
		BASE_ASSERT(f.drop < RD_RX_DROPS_COUNT);
		break;
	case RD_RX_SUCI:
	case RD_RX_GATEWAY:
		BASE_ASSERT((size_t)f.payload_off + f.payload_len <= size);
		BASE_ASSERT(f.src_port != 0 && !rd_station_has(&self, f.src_ip));
		BASE_ASSERT(be32_load(frame + RD_ETH_HDR + 16) == self.address);
		break;
	case RD_RX_ARP_REQUEST:
		BASE_ASSERT(size >= RD_ARP_FRAME);
		rd_arp_answer(frame, &self);
		BASE_ASSERT(rd_station_has(&self, be32_load(frame + RD_ETH_HDR + 14)));
		break;
	case RD_RX_ARP_REPLY:
		BASE_ASSERT(size >= RD_ARP_FRAME && !rd_station_has(&self, f.src_ip) && f.src_ip);
		BASE_ASSERT(!(f.src_mac[0] & 1));
		break;
	case RD_RX_ECHO:
		BASE_ASSERT((size_t)f.payload_off + f.payload_len == f.frame_len);
		check_echo(frame, &f);
		break;
	case RD_RX_UNREACHABLE:
	case RD_RX_TAP:
	case RD_RX_TAP_FLOW:
		BASE_ASSERT(!rd_station_has(&self, f.src_ip));
		break;
	case RD_RX_ND_REQUEST:
	case RD_RX_ND_REPLY:
		BASE_ASSERT(false); /* with IPv6 only */
		break;
	}
}

static void
mend_six(uint8_t *frame, size_t size)
{
	uint8_t *ip = frame + RD_ETH_HDR, *at = ip + RD_IPV6_HDR;
	if (size < RD_ETH_HDR + RD_IPV6_HDR + RD_UDP_HDR)
		return;
	size_t len = be16_load(ip + 4), field = ip[6] == 17 ? 6 : 2;
	if (len < RD_UDP_HDR || len > size - RD_ETH_HDR - RD_IPV6_HDR ||
	    (ip[6] != 17 && ip[6] != 58))
		return;
	if (ip[6] == 17 && be16_load(at + 4) >= RD_UDP_HDR && be16_load(at + 4) <= len)
		len = be16_load(at + 4);
	be16_store(at + field, 0);
	uint64_t sum = rd_cksum6_pseudo(ip + 8, ip + 24, ip[6], (uint32_t)len);
	uint16_t c = rd_cksum_fold(rd_cksum_add(sum, at, len));
	be16_store(at + field, c ? c : 0xffff);
}

/* Checksums stop a fuzzer at the door: with the first bit of the first byte the
 * frame's are set right. */
static void
mend(uint8_t *frame, size_t size)
{
	if (size < RD_ETH_HDR + RD_IPV4_HDR)
		return;
	if (be16_load(frame + 12) == 0x86dd) {
		mend_six(frame, size);
		return;
	}
	uint8_t *ip = frame + RD_ETH_HDR;
	size_t hdr = (ip[0] & 15u) * 4u, total = be16_load(ip + 2);
	if (hdr < RD_IPV4_HDR || total < hdr || RD_ETH_HDR + total > size)
		return;
	be16_store(ip + 10, 0);
	be16_store(ip + 10, rd_cksum_fold(rd_cksum_add(0, ip, hdr)));
	uint8_t *body = ip + hdr;
	size_t len = total - hdr;
	if (ip[9] == 1 && len >= 8) {
		be16_store(body + 2, 0);
		be16_store(body + 2, rd_cksum_fold(rd_cksum_add(0, body, len)));
	} else if (ip[9] == 17 && len >= RD_UDP_HDR && be16_load(body + 4) >= RD_UDP_HDR &&
		   be16_load(body + 4) <= len && hdr == RD_IPV4_HDR) {
		be16_store(body + 6, 0);
		rd_udp_checksum(frame, be16_load(body + 4) - (size_t)RD_UDP_HDR, 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	uint8_t *frame = malloc(size);
	memcpy(frame, data + 1, size - 1);
	uint8_t *exact = realloc(frame, size - 1 ? size - 1 : 1);
	if (data[0] & 1)
		mend(exact, size - 1);
	check(exact, size - 1);
	free(exact);
	return 0;
}
