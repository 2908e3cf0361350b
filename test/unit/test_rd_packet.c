/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include "rd_packet_kit.h"

#include <stdlib.h>
#include <string.h>

/* Written by another program from the RFCs: 10.0.0.1:7812 -> 10.0.0.9:4001, id
 * 0x1234, payload 00 01 02 03 04. */
static const uint8_t golden[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x08, 0x00, 0x45, 0x00, 0x00, 0x21, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11,
	0x14, 0x8f, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x09, 0x1e, 0x84,
	0x0f, 0xa1, 0x00, 0x0d, 0xb7, 0xa1, 0x00, 0x01, 0x02, 0x03, 0x04,
};

static void
udp_frame_is_golden(void **state)
{
	uint8_t f[sizeof golden] = {0};
	(void)state;
	for (uint8_t i = 0; i < 5; i++)
		f[RD_FRAME_HDR + i] = i;
	rd_write_udp(f, &self, peer_mac, peer.address, 4001, 0x1234, 5, 0);
	rd_udp_checksum(f, 5, 0);
	assert_memory_equal(f, golden, sizeof golden);
}

/* The two bits go there and back; the header's checksum has them in it. */
static void
ecn_bits(void **state)
{
	uint8_t f[200];
	struct rd_rx_frame r;
	(void)state;
	for (uint8_t ecn = 0; ecn < 4; ecn++) {
		size_t n = to_us(f, 100);
		rd_write_udp(f, &peer, our_mac, self.address, 7812, 7, 100, ecn);
		rd_udp_checksum(f, 100, 0);
		assert_int_equal(f[RD_ETH_HDR + 1], ecn);
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_int_equal(r.ecn, ecn);
	}
}

/* What the parser says of the end of a datagram makes the checksum of another that ends so,
 * wherever that end begins in it; and a byte that changed in between makes it wrong. */
static void
tails_keep_their_sum(void **state)
{
	uint8_t f[1600], g[1600];
	struct rd_rx_frame r;
	(void)state;
	for (size_t len = RD_TAIL_MIN - RD_UDP_HDR - 2; len < 1400; len += 33)
		for (size_t front = 60; front < 64; front++) {
			size_t n = to_us(f, len);
			rd_packet_parse(&self, f, n, &r);
			assert_int_equal(r.verdict, RD_RX_SUCI);
			if (len + RD_UDP_HDR < RD_TAIL_MIN) {
				assert_int_equal(r.tail_off, 0);
				continue;
			}
			assert_int_equal(r.tail_off, RD_ETH_HDR + RD_IPV4_HDR + RD_TAIL_OFF);
			size_t tail = n - r.tail_off;
			memset(g, 0xa7, sizeof g);
			rd_write_udp(g, &peer, our_mac, self.address, 7812, 8,
				     (uint32_t)(front + tail), 1);
			memcpy(g + RD_FRAME_HDR + front, f + r.tail_off, tail);
			rd_udp_checksum(g, front, r.tail_sum);
			uint16_t tail_sum = r.tail_sum;
			n = RD_FRAME_HDR + front + tail;
			rd_packet_parse(&self, g, n, &r);
			assert_int_equal(r.verdict, RD_RX_SUCI);
			g[n - 1 - len % tail] ^= 4;
			be16_store(g + RD_ETH_HDR + RD_IPV4_HDR + 6, 0);
			rd_udp_checksum(g, front, tail_sum);
			rd_packet_parse(&self, g, n, &r);
			assert_int_equal(r.verdict, RD_RX_DROP);
			assert_int_equal(r.drop, RD_DROP_udp_checksum);
		}
}

static void
our_datagram_is_taken(void **state)
{
	uint8_t f[2000];
	struct rd_rx_frame r;
	(void)state;
	for (size_t len = 0; len < 1400; len += 7) {
		size_t n = to_us(f, len);
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_int_equal(r.src_ip, peer.address);
		assert_int_equal(r.src_port, 4001);
		assert_int_equal(r.payload_off, RD_FRAME_HDR);
		assert_int_equal(r.payload_len, len);
		/* Ethernet padding behind the datagram changes nothing. */
		memset(f + n, 0xaa, 20);
		rd_packet_parse(&self, f, n + 20, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_int_equal(r.payload_len, len);
	}
}

/* Any byte off, and the checksums notice (or the frame is not for us). */
static void
every_flipped_byte_is_noticed(void **state)
{
	uint8_t f[200];
	struct rd_rx_frame r;
	(void)state;
	size_t n = to_us(f, 60);
	for (size_t i = 0; i < n; i++) {
		if (i >= 6 && i < 12)
			continue; /* the sender's MAC is not looked at */
		f[i] ^= 0x15;
		rd_packet_parse(&self, f, n, &r);
		assert_int_not_equal(r.verdict, RD_RX_SUCI);
		f[i] ^= 0x15;
	}
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_SUCI);
}

static void
every_truncation_is_dropped(void **state)
{
	uint8_t f[200];
	struct rd_rx_frame r;
	(void)state;
	size_t n = to_us(f, 60);
	for (size_t len = 0; len < n; len++) {
		uint8_t *exact = malloc(len ? len : 1); /* a sanitizer sees a byte too far */
		memcpy(exact, f, len);
		rd_packet_parse(&self, exact, len, &r);
		assert_int_equal(r.verdict, RD_RX_DROP);
		free(exact);
	}
}

/* A frame to everybody is read as one to our MAC. */
static void
same_to_all(const uint8_t *f, size_t n)
{
	uint8_t all[2000];
	struct rd_rx_frame a, b;
	memcpy(all, f, n);
	memset(all, 0xff, 6);
	rd_packet_parse(&self, f, n, &a);
	rd_packet_parse(&self, all, n, &b);
	assert_memory_equal(&a, &b, sizeof a);
}

/* Whatever is in the headers, with and without right checksums. */
static void
broadcast_is_read_alike(void **state)
{
	uint8_t f[700];
	(void)state;
	for (size_t len = 0; len <= 600; len += 200) {
		size_t n = to_us(f, len);
		same_to_all(f, n);
		for (size_t i = 12; i < RD_FRAME_HDR; i++)
			for (uint32_t flip = 1; flip < 256; flip++) {
				to_us(f, len);
				f[i] ^= (uint8_t)flip;
				same_to_all(f, n);
				fix_ip(f);
				same_to_all(f, n);
				be16_store(f + RD_FRAME_HDR - 2, 0); /* no sum */
				same_to_all(f, n);
			}
	}
}

static void
e_mac(uint8_t *f)
{
	f[0] = 4;
}

static void
e_vlan(uint8_t *f)
{
	be16_store(f + 12, 0x8100);
}

static void
e_qinq(uint8_t *f)
{
	be16_store(f + 12, 0x88a8);
}

static void
e_ipv6(uint8_t *f)
{
	be16_store(f + 12, 0x86dd);
}

static void
e_version(uint8_t *f)
{
	f[14] = 0x65;
	fix_ip(f);
}

static void
e_ihl_small(uint8_t *f)
{
	f[14] = 0x44;
	fix_ip(f);
}

static void
e_ihl_large(uint8_t *f)
{
	f[14] = 0x4f; /* 60 bytes of header, the datagram has 60 in all: nothing behind */
	be16_store(f + 16, 50);
	fix_ip(f);
}

static void
e_total_large(uint8_t *f)
{
	be16_store(f + 16, 1000);
	fix_ip(f);
}

static void
e_total_small(uint8_t *f)
{
	be16_store(f + 16, 19);
	fix_ip(f);
}

static void
e_ip_sum(uint8_t *f)
{
	f[24] ^= 1;
}

static void
e_more_fragments(uint8_t *f)
{
	be16_store(f + 20, 0x2000);
	fix_ip(f);
}

static void
e_offset(uint8_t *f)
{
	be16_store(f + 20, 1);
	fix_ip(f);
}

static void
e_dst(uint8_t *f)
{
	f[33] = 3;
	fix_ip(f);
}

static void
e_src_loopback(uint8_t *f)
{
	f[26] = 127;
	fix_ip(f);
}

static void
e_src_multicast(uint8_t *f)
{
	f[26] = 224;
	fix_ip(f);
}

static void
e_src_zero(uint8_t *f)
{
	memset(f + 26, 0, 4);
	fix_ip(f);
}

static void
e_src_ours(uint8_t *f)
{
	be32_store(f + 26, self.address);
	fix_ip(f);
}

static void
e_proto(uint8_t *f)
{
	f[23] = 47;
	fix_ip(f);
}

static void
e_udp_long(uint8_t *f)
{
	be16_store(f + 38, 100);
}

static void
e_udp_short(uint8_t *f)
{
	be16_store(f + 38, 7);
}

static void
e_udp_sum(uint8_t *f)
{
	f[40] ^= 0x40;
}

static void
e_udp_source(uint8_t *f)
{
	be16_store(f + 34, 0);
}

static void
e_tcp(uint8_t *f)
{
	f[23] = 6;
	fix_ip(f);
}

static void
e_other_port(uint8_t *f)
{
	be16_store(f + 36, 53);
}

static void
e_no_sum(uint8_t *f)
{
	be16_store(f + 40, 0);
}

static void
e_icmp_sum(uint8_t *f)
{
	f[23] = 1;
	fix_ip(f);
}

static const struct {
	const char *name;
	void (*edit)(uint8_t *f);
	enum rd_rx_verdict verdict;
	enum rd_rx_drop drop;
} edits[] = {
	{"other MAC", e_mac, RD_RX_DROP, RD_DROP_mac},
	{"VLAN", e_vlan, RD_RX_DROP, RD_DROP_vlan},
	{"QinQ", e_qinq, RD_RX_DROP, RD_DROP_vlan},
	{"IPv6", e_ipv6, RD_RX_DROP, RD_DROP_ethertype},
	{"version 6 in IPv4", e_version, RD_RX_DROP, RD_DROP_ip_version},
	{"header of 16 bytes", e_ihl_small, RD_RX_DROP, RD_DROP_ip_header},
	{"header longer than the datagram", e_ihl_large, RD_RX_DROP, RD_DROP_ip_length},
	{"total length past the frame", e_total_large, RD_RX_DROP, RD_DROP_ip_length},
	{"total length below the header", e_total_small, RD_RX_DROP, RD_DROP_ip_length},
	{"IP checksum", e_ip_sum, RD_RX_DROP, RD_DROP_ip_checksum},
	{"first fragment", e_more_fragments, RD_RX_DROP, RD_DROP_ip_fragment},
	{"later fragment", e_offset, RD_RX_DROP, RD_DROP_ip_fragment},
	{"other address", e_dst, RD_RX_DROP, RD_DROP_ip_destination},
	{"from loopback", e_src_loopback, RD_RX_DROP, RD_DROP_ip_source},
	{"from multicast", e_src_multicast, RD_RX_DROP, RD_DROP_ip_source},
	{"from 0.0.0.0", e_src_zero, RD_RX_DROP, RD_DROP_ip_source},
	{"from our own address", e_src_ours, RD_RX_DROP, RD_DROP_ip_source},
	{"GRE", e_proto, RD_RX_DROP, RD_DROP_ip_protocol},
	{"UDP longer than IP", e_udp_long, RD_RX_DROP, RD_DROP_udp_length},
	{"UDP shorter than its header", e_udp_short, RD_RX_DROP, RD_DROP_udp_length},
	{"UDP checksum", e_udp_sum, RD_RX_DROP, RD_DROP_udp_checksum},
	{"UDP source port 0", e_udp_source, RD_RX_DROP, RD_DROP_udp_source},
	{"ICMP with a wrong sum", e_icmp_sum, RD_RX_DROP, RD_DROP_icmp_checksum},
	{"no UDP checksum is allowed", e_no_sum, RD_RX_SUCI, 0},
	{"TCP may be the kernel's", e_tcp, RD_RX_TAP_FLOW, 0},
	{"another UDP port may be the kernel's", e_other_port, RD_RX_TAP_FLOW, 0},
};

static void
each_reason_has_its_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
		uint8_t f[200];
		struct rd_rx_frame r;
		size_t n = to_us(f, 32);
		print_message("  %s\n", edits[i].name);
		edits[i].edit(f);
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.verdict, edits[i].verdict);
		if (r.verdict == RD_RX_DROP)
			assert_int_equal(r.drop, edits[i].drop);
	}
}

/* ---- ARP ---------------------------------------------------------------------- */

static void
arp_request_is_answered(void **state)
{
	uint8_t f[60] = {0};
	struct rd_rx_frame r;
	(void)state;
	rd_write_arp_request(f, &peer, self.address, NULL);
	rd_packet_parse(&self, f, sizeof f, &r);
	assert_int_equal(r.verdict, RD_RX_ARP_REQUEST);
	assert_int_equal(r.src_ip, peer.address);
	assert_memory_equal(r.src_mac, peer_mac, 6);
	rd_arp_answer(f, &self);
	/* What the peer makes of the answer. */
	rd_packet_parse(&peer, f, RD_ARP_FRAME, &r);
	assert_int_equal(r.verdict, RD_RX_ARP_REPLY);
	assert_int_equal(r.src_ip, self.address);
	assert_memory_equal(r.src_mac, our_mac, 6);
	assert_memory_equal(f, peer_mac, 6);
}

static const struct {
	const char *name;
	size_t at; /* byte to change in an ARP request of the peer for us */
	uint8_t to;
	enum rd_rx_verdict verdict;
	enum rd_rx_drop drop;
} arp_cases[] = {
	{"hardware is not Ethernet", 15, 6, RD_RX_DROP, RD_DROP_arp_format},
	{"protocol is not IPv4", 16, 0x86, RD_RX_DROP, RD_DROP_arp_format},
	{"hardware length", 18, 8, RD_RX_DROP, RD_DROP_arp_format},
	{"protocol length", 19, 16, RD_RX_DROP, RD_DROP_arp_format},
	{"unknown operation", 21, 3, RD_RX_DROP, RD_DROP_arp_format},
	{"multicast station", 22, 3, RD_RX_DROP, RD_DROP_arp_format},
	{"loopback sender", 28, 127, RD_RX_DROP, RD_DROP_arp_format},
	{"for another address", 41, 77, RD_RX_DROP, RD_DROP_arp_other},
	{"another station with our address", 31, 1, RD_RX_DROP, RD_DROP_arp_conflict},
	{"announcement of the sender itself", 41, 9, RD_RX_ARP_REPLY, 0},
};

static void
arp_is_judged(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof arp_cases / sizeof arp_cases[0]; i++) {
		uint8_t f[RD_ARP_FRAME];
		struct rd_rx_frame r;
		print_message("  %s\n", arp_cases[i].name);
		rd_write_arp_request(f, &peer, self.address, NULL);
		f[arp_cases[i].at] = arp_cases[i].to;
		rd_packet_parse(&self, f, sizeof f, &r);
		assert_int_equal(r.verdict, arp_cases[i].verdict);
		if (r.verdict == RD_RX_DROP)
			assert_int_equal(r.drop, arp_cases[i].drop);
	}
}

static void
address_probe_is_answered_not_learned(void **state)
{
	uint8_t f[RD_ARP_FRAME];
	struct rd_rx_frame r;
	(void)state;
	rd_write_arp_request(f, &peer, self.address, NULL);
	memset(f + 28, 0, 4); /* RFC 5227: sender address 0 */
	rd_packet_parse(&self, f, sizeof f, &r);
	assert_int_equal(r.verdict, RD_RX_ARP_REQUEST);
	assert_int_equal(r.src_ip, 0);
}

/* ---- ICMP ----------------------------------------------------------------------- */

static size_t
icmp_to_us(uint8_t *f, uint8_t type, uint8_t code, const void *rest, size_t len)
{
	rd_write_udp(f, &peer, our_mac, self.address, 0, 7, (uint32_t)len, 0);
	f[23] = 1;
	uint8_t *icmp = f + 34;
	memset(icmp, 0, 8);
	icmp[0] = type;
	icmp[1] = code;
	memcpy(icmp + 8, rest, len);
	fix_ip(f);
	be16_store(icmp + 2, naive_cksum(icmp, 8 + len));
	return 34 + 8 + len;
}

static void
echo_is_answered(void **state)
{
	uint8_t f[600], data[501];
	struct rd_rx_frame r;
	(void)state;
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 3);
	size_t n = icmp_to_us(f, 8, 0, data, sizeof data);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_ECHO);
	rd_echo_answer(f, &r);
	assert_memory_equal(f, peer_mac, 6);
	assert_int_equal(be32_load(f + 26), self.address);
	assert_int_equal(be32_load(f + 30), peer.address);
	assert_int_equal(naive_cksum(f + 14, 20), 0);
	assert_int_equal(naive_cksum(f + 34, n - 34), 0);
	assert_int_equal(f[34], 0);
	assert_memory_equal(f + 42, data, sizeof data);
}

static void
unreachable_names_the_peer(void **state)
{
	uint8_t sent[100], f[300];
	struct rd_rx_frame r;
	(void)state;
	memset(sent, 0, sizeof sent);
	rd_write_udp(sent, &self, peer_mac, 0xc6336407, 7812, 1, 20, 0);
	size_t n = icmp_to_us(f, 3, 3, sent + 14, 28); /* header and 8 bytes, RFC 792 */
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_UNREACHABLE);
	assert_int_equal(r.quoted_ip, 0xc6336407);
	assert_int_equal(r.quoted_port, 7812);
	assert_int_equal(r.quote_len, 0);
	assert_int_equal(r.icmp_code, 3);
	/* As much as RFC 1812 wants: Suci looks for its tags in it. */
	memcpy(sent + 42, "0123456789", 10);
	n = icmp_to_us(f, 3, 3, sent + 14, 38);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_UNREACHABLE);
	assert_int_equal(r.quote_len, 10);
	assert_memory_equal(f + r.quote_off, "0123456789", 10);
	/* Quotes a datagram that is not ours. */
	be32_store(sent + 26, self.address + 1);
	n = icmp_to_us(f, 3, 3, sent + 14, 28);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_DROP);
	assert_int_equal(r.drop, RD_DROP_icmp_kind);
	be32_store(sent + 26, self.address);
	be16_store(sent + 34, 4000); /* not our port: the kernel's, if it sent that */
	n = icmp_to_us(f, 3, 3, sent + 14, 28);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_TAP_FLOW);
	assert_int_equal(r.flow.remote, 0xc6336407);
	assert_int_equal(r.flow.local_port, 4000);
	assert_int_equal(r.flow.remote_port, 7812);
	/* Too short a quote to tell. */
	be16_store(sent + 34, 7812);
	n = icmp_to_us(f, 3, 3, sent + 14, 22);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_DROP);
	assert_int_equal(r.drop, RD_DROP_icmp_kind);
}

/* ---- the gateway: a port and further addresses ---------------------------------- */

static struct rd_station
station_with_gates(void)
{
	struct rd_station s = self;
	s.gateway_port = 7814;
	s.nmore = 2;
	s.more[0] = 0x0a0000c8;
	s.more[1] = 0x0a0000c9;
	return s;
}

static void
gateway_port_is_told_apart(void **state)
{
	static const struct {
		const char *name;
		uint32_t dst;
		uint16_t port, gateway_port;
		enum rd_rx_verdict verdict;
	} cases[] = {
		{"the endpoint's", 0x0a000001, 7812, 7814, RD_RX_SUCI},
		{"the gateway's", 0x0a000001, 7814, 7814, RD_RX_GATEWAY},
		{"no gateway on this leg", 0x0a000001, 7814, 0, RD_RX_TAP_FLOW},
		{"port 0 is nobody's", 0x0a000001, 0, 0, RD_RX_TAP_FLOW},
		{"another port", 0x0a000001, 7815, 7814, RD_RX_TAP_FLOW},
		{"the endpoint's at a further address", 0x0a0000c8, 7812, 7814, RD_RX_TAP_FLOW},
		{"the gateway's at a further address", 0x0a0000c9, 7814, 7814, RD_RX_TAP_FLOW},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rd_station s = station_with_gates();
		struct rd_rx_frame r;
		uint8_t f[100] = {0};
		print_message("  %s\n", cases[i].name);
		s.gateway_port = cases[i].gateway_port;
		rd_write_udp(f, &peer, our_mac, cases[i].dst, cases[i].port, 7, 20, 0);
		rd_udp_checksum(f, 20, 0);
		rd_packet_parse(&s, f, RD_FRAME_HDR + 20, &r);
		assert_int_equal(r.verdict, cases[i].verdict);
		if (r.verdict != RD_RX_GATEWAY)
			continue;
		assert_int_equal(r.src_port, 4001);
		assert_int_equal(r.payload_len, 20);
		f[RD_FRAME_HDR] ^= 1;
		rd_packet_parse(&s, f, RD_FRAME_HDR + 20, &r);
		assert_int_equal(r.verdict, RD_RX_DROP);
		assert_int_equal(r.drop, RD_DROP_udp_checksum);
	}
}

static void
further_addresses_are_answered_for(void **state)
{
	const struct rd_station s = station_with_gates();
	struct rd_rx_frame r;
	(void)state;
	for (uint32_t i = 0; i < s.nmore; i++) {
		uint8_t f[200] = {0};
		rd_write_arp_request(f, &peer, s.more[i], NULL);
		rd_packet_parse(&s, f, RD_ARP_FRAME, &r);
		assert_int_equal(r.verdict, RD_RX_ARP_REQUEST);
		rd_arp_answer(f, &s);
		rd_packet_parse(&peer, f, RD_ARP_FRAME, &r);
		assert_int_equal(r.verdict, RD_RX_ARP_REPLY);
		assert_int_equal(r.src_ip, s.more[i]); /* not the leg's own */
		assert_memory_equal(r.src_mac, our_mac, 6);

		size_t n = icmp_to_us(f, 8, 0, "echo", 4);
		be32_store(f + 30, s.more[i]);
		fix_ip(f);
		rd_packet_parse(&s, f, n, &r);
		assert_int_equal(r.verdict, RD_RX_ECHO);
		rd_echo_answer(f, &r);
		assert_int_equal(be32_load(f + 26), s.more[i]);

		/* The answer to the kernel's own question, asked from that address. */
		rd_write_arp_request(f, &peer, s.more[i], our_mac);
		be16_store(f + 20, 2);
		rd_packet_parse(&s, f, RD_ARP_FRAME, &r);
		assert_int_equal(r.verdict, RD_RX_ARP_REPLY);

		/* Said to all, by nobody but us. */
		rd_write_arp_announcement(f, &s, s.more[i]);
		assert_int_equal(be32_load(f + 28), s.more[i]);
		assert_int_equal(be32_load(f + 38), s.more[i]);
		assert_memory_equal(f + 22, s.mac, 6);
		rd_packet_parse(&peer, f, RD_ARP_FRAME, &r);
		assert_int_equal(r.verdict, RD_RX_ARP_REPLY);
		assert_true(r.announced);

		struct rd_station thief = peer;
		thief.address = s.more[i];
		rd_write_arp_request(f, &thief, thief.address, NULL);
		rd_packet_parse(&s, f, RD_ARP_FRAME, &r);
		assert_int_equal(r.verdict, RD_RX_DROP);
		assert_int_equal(r.drop, RD_DROP_arp_conflict);
		rd_write_udp(f, &thief, our_mac, s.address, 7812, 7, 4, 0);
		rd_packet_parse(&s, f, RD_FRAME_HDR + 4, &r);
		assert_int_equal(r.verdict, RD_RX_DROP);
		assert_int_equal(r.drop, RD_DROP_ip_source);
	}
}

/* ---- workers ---------------------------------------------------------------------- */

static void
frames_name_their_worker(void **state)
{
	static const struct {
		const char *name;
		uint32_t dst;
		uint8_t protocol;
		uint16_t port, flags;
		uint32_t shard;
	} cases[] = {
		{"the first worker's", 0x0a000001, 17, 7812, 0, 0},
		{"the second's", 0x0a000001, 17, 7813, 0, 1},
		{"the last one's", 0x0a000001, 17, 7815, 0, 3},
		{"behind the last", 0x0a000001, 17, 7816, 0, 0},
		{"before the first", 0x0a000001, 17, 7811, 0, 0},
		{"don't fragment", 0x0a000001, 17, 7814, 0x4000, 2},
		{"a fragment, to be dropped", 0x0a000001, 17, 7814, 0x2000, RD_SHARD_HERE},
		{"the gateway's", 0x0a000001, 17, 7828, 0, RD_SHARD_HERE},
		{"a worker's port at a further address", 0x0a0000c8, 17, 7814, 0, 0},
		{"not to us", 0x0a000002, 17, 7814, 0, RD_SHARD_HERE},
		{"TCP", 0x0a000001, 6, 7814, 0, 0},
		{"GRE", 0x0a000001, 47, 7814, 0, RD_SHARD_HERE},
	};
	struct rd_station s = station_with_gates();
	(void)state;
	s.gateway_port = 7828;
	s.udp_first = 7812;
	s.nshards = 4;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t f[100] = {0};
		print_message("  %s\n", cases[i].name);
		rd_write_udp(f, &peer, our_mac, cases[i].dst, cases[i].port, 7, 20, 0);
		f[23] = cases[i].protocol;
		be16_store(f + 20, cases[i].flags);
		assert_int_equal(rd_packet_shard(&s, f, RD_FRAME_HDR + 20), cases[i].shard);
	}
}

static void
errors_and_arp_name_their_worker(void **state)
{
	struct rd_station s = self, sender = self;
	uint8_t sent[100], f[300];
	(void)state;
	s.udp_first = 7812;
	s.nshards = 4;
	for (uint16_t i = 0; i < 6; i++) {
		memset(sent, 0, sizeof sent);
		sender.udp_port = (uint16_t)(7812 + i);
		rd_write_udp(sent, &sender, peer_mac, 0xc6336407, 9, 1, 20, 0);
		size_t n = icmp_to_us(f, 3, 3, sent + 14, 28);
		assert_int_equal(rd_packet_shard(&s, f, n), i < 4 ? i : 0);
		n = icmp_to_us(f, 11, 0, sent + 14, 28); /* time exceeded: the kernel's */
		assert_int_equal(rd_packet_shard(&s, f, n), 0);
		n = icmp_to_us(f, 8, 0, sent + 14, 28);
		assert_int_equal(rd_packet_shard(&s, f, n), RD_SHARD_HERE);
	}
	rd_write_arp_request(f, &peer, self.address, NULL);
	assert_int_equal(rd_packet_shard(&s, f, RD_ARP_FRAME), 0);
	for (size_t n = 0; n < RD_ETH_HDR; n++)
		assert_int_equal(rd_packet_shard(&s, f, n), RD_SHARD_HERE);
}

static void
next_hops(void **state)
{
	struct rd_station s = self;
	(void)state;
	assert_int_equal(rd_next_hop(&s, 0x0a000042), 0x0a000042);
	assert_int_equal(rd_next_hop(&s, 0x0a000142), 0x0a0000fe);
	s.gateway = 0;
	assert_int_equal(rd_next_hop(&s, 0x0a000142), 0);
	s.prefix_len = 1;
	assert_int_equal(rd_next_hop(&s, 0x7f000001), 0x7f000001);
	assert_int_equal(rd_next_hop(&s, 0x80000001), 0);
	s.prefix_len = 31;
	assert_int_equal(rd_next_hop(&s, 0x0a000000), 0x0a000000);
	assert_int_equal(rd_next_hop(&s, 0x0a000002), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_frame_is_golden),
		cmocka_unit_test(ecn_bits),
		cmocka_unit_test(tails_keep_their_sum),
		cmocka_unit_test(our_datagram_is_taken),
		cmocka_unit_test(every_flipped_byte_is_noticed),
		cmocka_unit_test(broadcast_is_read_alike),
		cmocka_unit_test(every_truncation_is_dropped),
		cmocka_unit_test(each_reason_has_its_name),
		cmocka_unit_test(arp_request_is_answered),
		cmocka_unit_test(arp_is_judged),
		cmocka_unit_test(address_probe_is_answered_not_learned),
		cmocka_unit_test(echo_is_answered),
		cmocka_unit_test(unreachable_names_the_peer),
		cmocka_unit_test(gateway_port_is_told_apart),
		cmocka_unit_test(further_addresses_are_answered_for),
		cmocka_unit_test(frames_name_their_worker),
		cmocka_unit_test(errors_and_arp_name_their_worker),
		cmocka_unit_test(next_hops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
