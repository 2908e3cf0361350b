/* SPDX-License-Identifier: BSD-2-Clause */
/* IPv6 frames: what is written is what the RFCs say, what is read is judged byte by byte. */
#include "cmocka_all.h"

#include "base/bytes.h"
#include "rd/hops.h"
#include "rd/packet6.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS(last)                                 \
	{                                             \
		0x20, 0x01, 0x0d, 0xb8, [15] = (last) \
	}
static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1}, peer_mac[6] = {2, 0, 0, 0, 0, 9};
static const struct rd_six our_six = {
	.address = ADDRESS(1), .gateway = ADDRESS(0xfe), .prefix_len = 64};
static const struct rd_six peer_six = {.address = ADDRESS(9), .prefix_len = 64};
static const struct rd_station self = {.mac = {2, 0, 0, 0, 0, 1},
				       .address = 0x0a000001,
				       .prefix_len = 24,
				       .udp_port = 7812,
				       .udp_first = 7812,
				       .nshards = 1,
				       .six = &our_six};
static const struct rd_station peer = {.mac = {2, 0, 0, 0, 0, 9},
				       .address = 0x0a000009,
				       .prefix_len = 24,
				       .udp_port = 4001,
				       .six = &peer_six};

/* Written by another program from the RFCs: a datagram with payload 00 01 02 03 04 and ECT(0), a
 * solicitation for 2001:db8::9 by 2001:db8::1, and the advertisement that answers one. */
static const uint8_t golden_udp[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x86, 0xdd,
	0x60, 0x20, 0x00, 0x00, 0x00, 0x0d, 0x11, 0x40, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x20, 0x01, 0x0d, 0xb8,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x1e, 0x84,
	0x0f, 0xa1, 0x00, 0x0d, 0x70, 0x2f, 0x00, 0x01, 0x02, 0x03, 0x04,
};
static const uint8_t golden_ask[] = {
	0x33, 0x33, 0xff, 0x00, 0x00, 0x09, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x86, 0xdd, 0x60,
	0x00, 0x00, 0x00, 0x00, 0x20, 0x3a, 0xff, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x01, 0xff, 0x00, 0x00, 0x09, 0x87, 0x00, 0x1c, 0x19, 0x00, 0x00,
	0x00, 0x00, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x09, 0x01, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
};
static const uint8_t golden_tell[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x09, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x86, 0xdd, 0x60,
	0x00, 0x00, 0x00, 0x00, 0x20, 0x3a, 0xff, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x88, 0x00, 0x8a, 0x6c, 0x60, 0x00,
	0x00, 0x00, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x01, 0x02, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,
};

enum { SRC = RD_ETH_HDR + 8, DST = RD_ETH_HDR + 24, BODY = RD_ETH_HDR + RD_IPV6_HDR };

static void
written_frames_are_golden(void **state)
{
	uint8_t f[RD_ND_FRAME] = {0};
	(void)state;
	for (uint8_t i = 0; i < 5; i++)
		f[RD_FRAME6_HDR + i] = i;
	rd_write_udp6(f, &self, peer_mac, peer_six.address, 4001, 5, 2);
	rd_udp6_checksum(f, 5, 0);
	assert_memory_equal(f, golden_udp, sizeof golden_udp);
	memset(f, 0xee, sizeof f);
	rd_write_nd_request(f, &self, peer_six.address, NULL);
	assert_memory_equal(f, golden_ask, sizeof golden_ask);
	rd_write_nd_request(f, &peer, our_six.address, our_mac);
	struct rd_rx_frame r;
	rd_packet_parse(&self, f, RD_ND_FRAME, &r);
	assert_int_equal(r.verdict, RD_RX_ND_REQUEST);
	rd_nd_answer(f, &self, &r);
	assert_memory_equal(f, golden_tell, sizeof golden_tell);
}

/* From the peer to us, len payload bytes; returns the frame's length. */
static size_t
to_us(uint8_t *f, size_t len)
{
	for (size_t i = 0; i < len; i++)
		f[RD_FRAME6_HDR + i] = (uint8_t)(i * 7);
	rd_write_udp6(f, &peer, our_mac, our_six.address, 7812, (uint32_t)len, 1);
	rd_udp6_checksum(f, len, 0);
	return RD_FRAME6_HDR + len;
}

static void
our_datagram_is_taken(void **state)
{
	uint8_t f[1600];
	struct rd_rx_frame r;
	(void)state;
	for (size_t len = 0; len < 1500; len += len < 20 ? 1 : 97) {
		size_t n = to_us(f, len);
		memset(f + n, 0xaa, 20); /* padding of Ethernet */
		rd_packet_parse(&self, f, n + 20, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_true(r.src_port == 4001 && r.payload_off == RD_FRAME6_HDR && r.ecn == 1);
		assert_true(r.payload_len == len && r.frame_len == n && r.src_6 == SRC);
		assert_memory_equal(f + r.src_6, peer_six.address, 16);
		assert_memory_equal(r.src_mac, peer_mac, 6);
	}
}

/* Nothing covers Ethernet's source, the hop limit and the flow label; all else is noticed, or is
 * another's. */
static void
every_flipped_bit_is_noticed(void **state)
{
	uint8_t f[600];
	struct rd_rx_frame r;
	(void)state;
	size_t n = to_us(f, 400);
	for (size_t i = 0; i < n; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bool free_byte = (i >= 6 && i < 12) || (i >= 14 && i < 18) || i == 21;
			f[i] ^= (uint8_t)(1u << bit);
			rd_packet_parse(&self, f, n, &r);
			if (i == BODY + 2 || i == BODY + 3) /* perhaps a port of the kernel's */
				assert_int_equal(r.verdict, RD_RX_TAP_FLOW);
			else if (!free_byte || (i == 14 && bit >= 4))
				assert_int_equal(r.verdict, RD_RX_DROP);
			f[i] ^= (uint8_t)(1u << bit);
		}
	for (size_t len = 0; len < n; len++) {
		uint8_t *exact = malloc(len ? len : 1);
		memcpy(exact, f, len);
		rd_packet_parse(&self, exact, len, &r);
		assert_int_equal(r.verdict, RD_RX_DROP);
		(void)rd_packet_shard(&self, exact, len);
		free(exact);
	}
}

/* What the parser says of the end of a datagram makes the checksum of another that ends so, of
 * either kind. */
static void
tails_keep_their_sum(void **state)
{
	uint8_t f[1600], g[1600];
	struct rd_rx_frame r;
	(void)state;
	for (size_t len = RD_TAIL_MIN - RD_UDP_HDR; len < 1400; len += 33)
		for (size_t front = 60; front < 64; front++) {
			size_t n = to_us(f, len);
			rd_packet_parse(&self, f, n, &r);
			assert_int_equal(r.verdict, RD_RX_SUCI);
			assert_int_equal(r.tail_off, BODY + RD_TAIL_OFF);
			size_t tail = n - r.tail_off;
			memset(g, 0xa7, sizeof g);
			rd_write_udp6(g, &peer, our_mac, our_six.address, 7812,
				      (uint32_t)(front + tail), 1);
			memcpy(g + RD_FRAME6_HDR + front, f + r.tail_off, tail);
			rd_udp6_checksum(g, front, r.tail_sum);
			rd_packet_parse(&self, g, RD_FRAME6_HDR + front + tail, &r);
			assert_int_equal(r.verdict, RD_RX_SUCI);
		}
}

/* As over IPv4: what a port has found is believed, the tail's sum known unread; a checksum that was
 * left to a port is put in. */
static void
ports_are_believed(void **state)
{
	uint8_t f[1600];
	struct rd_rx_frame read, r;
	(void)state;
	for (size_t len = RD_TAIL_MIN - RD_UDP_HDR; len < 1400; len += 7) {
		size_t n = to_us(f, len);
		rd_packet_parse_known(&self, f, n, RD_KNOWN_UDP_BAD, &r);
		assert_int_equal(r.drop, RD_DROP_udp_checksum);
		rd_packet_parse(&self, f, n, &read);
		memset(f + read.tail_off, 0x55, n - read.tail_off);
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.drop, RD_DROP_udp_checksum);
		rd_packet_parse_known(&self, f, n, RD_KNOWN_UDP_GOOD, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_int_equal(r.tail_off, read.tail_off);
		assert_int_equal(r.tail_sum % 0xffff, read.tail_sum % 0xffff);
		assert_true(rd_packet_complete(f, n));
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_false(rd_packet_complete(f, n - 1));
		be16_store(f + BODY + 6, 0);
		rd_packet_parse_known(&self, f, n, RD_KNOWN_UDP_GOOD, &r);
		assert_int_equal(r.drop, RD_DROP_udp_no_checksum);
	}
}

static void
set_checksum(uint8_t *f, uint32_t len)
{
	uint8_t *ip = f + RD_ETH_HDR, *at = ip + RD_IPV6_HDR;
	uint32_t where = ip[6] == 17 ? 6 : 2;
	be16_store(at + where, 0);
	uint64_t sum = rd_cksum6_pseudo(ip + 8, ip + 24, ip[6], len);
	be16_store(at + where, rd_cksum_fold(rd_cksum_add(sum, at, len)));
}

/* A datagram with one byte set to another, its checksum right again. */
static void
each_reason_has_its_name(void **state)
{
	static const struct {
		const char *name;
		uint16_t at;
		uint8_t value;
		enum rd_rx_drop drop;
	} cases[] = {
		{"another's MAC", 5, 7, RD_DROP_mac},
		{"version 4", RD_ETH_HDR, 0x40, RD_DROP_ip_version},
		{"longer than the frame", RD_ETH_HDR + 5, 200, RD_DROP_ip_length},
		{"hop-by-hop options", RD_ETH_HDR + 6, 0, RD_DROP_ip_header},
		{"a routing header", RD_ETH_HDR + 6, 43, RD_DROP_ip_header},
		{"a fragment", RD_ETH_HDR + 6, 44, RD_DROP_ip_fragment},
		{"destination options", RD_ETH_HDR + 6, 60, RD_DROP_ip_header},
		{"GRE", RD_ETH_HDR + 6, 47, RD_DROP_ip_protocol},
		{"to another", DST + 15, 3, RD_DROP_ip_destination},
		{"to all nodes", DST, 0xff, RD_DROP_ip_destination},
		{"from a group", SRC, 0xff, RD_DROP_ip_source},
		{"from ourselves", SRC + 15, 1, RD_DROP_ip_source},
		{"from port 0", BODY, 0, RD_DROP_udp_source},
		{"UDP shorter than its header", BODY + 5, 7, RD_DROP_udp_length},
		{"UDP longer than IP", BODY + 5, 29, RD_DROP_udp_length},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t f[200] = {0};
		struct rd_rx_frame r;
		size_t n = to_us(f, 20);
		print_message("  %s\n", cases[i].name);
		f[cases[i].at] = cases[i].value;
		if (cases[i].at == BODY)
			f[BODY + 1] = 0;
		set_checksum(f, 28);
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.verdict, RD_RX_DROP);
		assert_int_equal(r.drop, cases[i].drop);
	}
	uint8_t f[200] = {0};
	struct rd_rx_frame r;
	size_t n = to_us(f, 20);
	f[BODY + 6] = f[BODY + 7] = 0;
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.drop, RD_DROP_udp_no_checksum);
	/* Link-local sources send no datagrams of ours; a leg without IPv6 takes none. */
	to_us(f, 20);
	f[SRC] = 0xfe;
	f[SRC + 1] = 0x80;
	set_checksum(f, 28);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.drop, RD_DROP_ip_source);
	struct rd_station four = self;
	four.six = NULL;
	rd_packet_parse(&four, f, n, &r);
	assert_int_equal(r.drop, RD_DROP_ethertype);
}

/* ---- neighbour discovery -------------------------------------------------------------- */

static void
solicitations_are_answered(void **state)
{
	uint8_t f[RD_ND_FRAME];
	struct rd_rx_frame r;
	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		rd_write_nd_request(f, &peer, our_six.address, direct ? our_mac : NULL);
		rd_packet_parse(&self, f, sizeof f, &r);
		assert_int_equal(r.verdict, RD_RX_ND_REQUEST);
		assert_memory_equal(r.src_mac, peer_mac, 6);
		assert_memory_equal(f + r.src_6, peer_six.address, 16);
		rd_nd_answer(f, &self, &r);
		rd_packet_parse(&peer, f, sizeof f, &r);
		assert_int_equal(r.verdict, RD_RX_ND_REPLY);
		assert_false(r.announced);
		assert_memory_equal(r.src_mac, our_mac, 6);
		assert_memory_equal(f + r.src_6, our_six.address, 16);
	}
	/* Who looks whether an address is free has none: told to all, nothing learned. */
	rd_write_nd_request(f, &peer, our_six.address, NULL);
	memset(f + SRC, 0, 16);
	be16_store(f + RD_ETH_HDR + 4, 24); /* without its option */
	set_checksum(f, 24);
	rd_packet_parse(&self, f, sizeof f, &r);
	assert_int_equal(r.verdict, RD_RX_ND_REQUEST);
	assert_int_equal(r.src_6, 0);
	rd_nd_answer(f, &self, &r);
	rd_packet_parse(&peer, f, sizeof f, &r);
	assert_int_equal(r.verdict, RD_RX_ND_REPLY);
	assert_true(r.announced);
}

static void
discovery_is_judged(void **state)
{
	static const struct {
		const char *name;
		bool tells;
		uint16_t at;
		uint8_t value;
		enum rd_rx_verdict verdict;
		enum rd_rx_drop drop;
	} cases[] = {
		{"from beyond a router", false, RD_ETH_HDR + 7, 254, RD_RX_DROP, RD_DROP_nd_format},
		{"a code", false, BODY + 1, 1, RD_RX_DROP, RD_DROP_nd_format},
		{"about a group", false, BODY + 8, 0xff, RD_RX_DROP, RD_DROP_nd_format},
		{"about another", false, BODY + 8 + 15, 2, RD_RX_DROP, RD_DROP_nd_other},
		{"by a group", false, SRC, 0xff, RD_RX_DROP, RD_DROP_nd_format},
		{"a multicast MAC", false, BODY + 26, 3, RD_RX_DROP, RD_DROP_nd_format},
		{"an option of length 0", false, BODY + 25, 0, RD_RX_DROP, RD_DROP_nd_format},
		{"an option too long", false, BODY + 25, 2, RD_RX_DROP, RD_DROP_nd_format},
		{"another option", false, BODY + 24, 14, RD_RX_ND_REQUEST, 0},
		{"asked in our name", false, SRC + 15, 1, RD_RX_DROP, RD_DROP_nd_conflict},
		{"told by beyond a router", true, RD_ETH_HDR + 7, 64, RD_RX_DROP,
		 RD_DROP_nd_format},
		{"told that our address is there", true, BODY + 8 + 15, 1, RD_RX_DROP,
		 RD_DROP_nd_conflict},
		{"told of the unspecified", true, BODY + 8, 0, RD_RX_ND_REPLY, 0},
		{"told with a multicast MAC", true, BODY + 26, 3, RD_RX_DROP, RD_DROP_nd_format},
		{"told another's", true, BODY + 8 + 15, 0x77, RD_RX_ND_REPLY, 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t f[RD_ND_FRAME];
		struct rd_rx_frame r;
		print_message("  %s\n", cases[i].name);
		rd_write_nd_request(f, &self, peer_six.address, peer_mac);
		rd_packet_parse(&peer, f, sizeof f, &r);
		if (cases[i].tells)
			rd_nd_answer(f, &peer, &r);
		else
			rd_write_nd_request(f, &peer, our_six.address, our_mac);
		f[cases[i].at] = cases[i].value;
		set_checksum(f, 32);
		rd_packet_parse(&self, f, sizeof f, &r);
		assert_int_equal(r.verdict, cases[i].verdict);
		if (r.verdict == RD_RX_DROP)
			assert_int_equal(r.drop, cases[i].drop);
		f[BODY + 9] ^= 1;
		rd_packet_parse(&self, f, sizeof f, &r);
		assert_int_equal(r.drop, RD_DROP_icmp_checksum);
	}
	/* An answer to all is none. */
	uint8_t f[RD_ND_FRAME];
	struct rd_rx_frame r;
	rd_write_nd_announcement(f, &peer);
	rd_packet_parse(&self, f, sizeof f, &r);
	assert_int_equal(r.verdict, RD_RX_ND_REPLY);
	assert_true(r.announced);
	f[BODY + 4] |= 0x40;
	set_checksum(f, 32);
	rd_packet_parse(&self, f, sizeof f, &r);
	assert_int_equal(r.drop, RD_DROP_nd_format);
}

/* ---- ICMP ------------------------------------------------------------------------------ */

static size_t
icmp_to_us(uint8_t *f, uint8_t type, uint8_t code, const void *body, size_t len)
{
	to_us(f, 0);
	f[RD_ETH_HDR + 6] = 58;
	be16_store(f + RD_ETH_HDR + 4, (uint16_t)(8 + len));
	memset(f + BODY, 0, 8);
	f[BODY] = type;
	f[BODY + 1] = code;
	memcpy(f + BODY + 8, body, len);
	set_checksum(f, (uint32_t)(8 + len));
	return BODY + 8 + len;
}

static void
echo_is_answered(void **state)
{
	uint8_t f[200] = {0};
	struct rd_rx_frame r;
	(void)state;
	size_t n = icmp_to_us(f, 128, 0, "hello", 5);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_ECHO);
	rd_echo6_answer(f, &r);
	assert_memory_equal(f, peer_mac, 6);
	assert_memory_equal(f + DST, peer_six.address, 16);
	assert_memory_equal(f + SRC, our_six.address, 16);
	assert_int_equal(f[BODY], 129);
	uint64_t sum = rd_cksum6_pseudo(f + SRC, f + DST, 58, 13);
	assert_int_equal(rd_cksum_fold(rd_cksum_add(sum, f + BODY, 13)), 0);
	/* What routers say: nobody asked. */
	static const uint8_t kinds[] = {133, 134, 137, 3, 4, 130, 143};
	for (size_t i = 0; i < sizeof kinds; i++) {
		n = icmp_to_us(f, kinds[i], 0, "hello", 5);
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.drop, RD_DROP_icmp_kind);
	}
}

static void
errors_name_the_peer(void **state)
{
	static const struct {
		uint8_t type, code, want;
	} cases[] = {{1, 4, 3}, {1, 3, 1}, {1, 0, 1}, {2, 0, 4}};
	uint8_t sent[200] = {0}, f[300] = {0};
	struct rd_rx_frame r;
	(void)state;
	rd_write_udp6(sent, &self, peer_mac, peer_six.address, 4001, 60, 0);
	memset(sent + RD_FRAME6_HDR, 0x5a, 60);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t n = icmp_to_us(f, cases[i].type, cases[i].code, sent + RD_ETH_HDR, 108);
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.verdict, RD_RX_UNREACHABLE);
		assert_int_equal(r.icmp_code, cases[i].want);
		assert_int_equal(r.quoted_port, 4001);
		assert_memory_equal(f + r.quoted_6, peer_six.address, 16);
		assert_true(r.quote_len == 60 && f[r.quote_off] == 0x5a);
		assert_int_equal(rd_packet_shard(&self, f, n), 0);
	}
	for (uint32_t len = 0; len < 108; len++) {
		size_t n = icmp_to_us(f, 1, 4, sent + RD_ETH_HDR, len);
		rd_packet_parse(&self, f, n, &r);
		assert_int_equal(r.verdict, len < RD_IPV6_HDR + 4 ? RD_RX_DROP : RD_RX_UNREACHABLE);
	}
	/* What another sent, or another port. */
	sent[SRC + 15] ^= 1;
	size_t n = icmp_to_us(f, 1, 4, sent + RD_ETH_HDR, 108);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.drop, RD_DROP_icmp_kind);
	sent[SRC + 15] ^= 1;
	sent[BODY] ^= 1;
	n = icmp_to_us(f, 1, 4, sent + RD_ETH_HDR, 108);
	rd_packet_parse(&self, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_TAP_FLOW);
}

static void
frames_name_their_worker(void **state)
{
	struct rd_station s = self;
	uint8_t f[200] = {0};
	(void)state;
	s.nshards = 4;
	for (uint16_t port = 7810; port < 7818; port++) {
		rd_write_udp6(f, &peer, our_mac, our_six.address, port, 20, 0);
		assert_int_equal(rd_packet_shard(&s, f, RD_FRAME6_HDR + 20),
				 port >= 7812 && port < 7816 ? port - 7812u : 0);
	}
	rd_write_nd_request(f, &peer, our_six.address, NULL);
	assert_int_equal(rd_packet_shard(&s, f, RD_ND_FRAME), 0);
	size_t n = icmp_to_us(f, 128, 0, "hello", 5);
	assert_int_equal(rd_packet_shard(&s, f, n), RD_SHARD_HERE);
}

static void
next_hops(void **state)
{
	struct rd_six six = our_six;
	struct rd_station s = self;
	uint8_t near[16] = ADDRESS(7), far[16] = {0x20, 0x01, 0x0d, 0xb9};
	(void)state;
	s.six = &six;
	assert_ptr_equal(rd_next_hop6(&s, near), near);
	assert_ptr_equal(rd_next_hop6(&s, far), six.gateway);
	memset(six.gateway, 0, 16);
	assert_null(rd_next_hop6(&s, far));
	six.prefix_len = 31; /* 2001:db8 and 2001:db9 */
	assert_ptr_equal(rd_next_hop6(&s, far), far);
	six.prefix_len = 127;
	assert_null(rd_next_hop6(&s, near));
	near[15] = 0;
	assert_ptr_equal(rd_next_hop6(&s, near), near);
}

/* ---- numbers ----------------------------------------------------------------------------- */

static void
numbers_are_kept_and_not_given_again(void **state)
{
	static struct rd_hops h;
	uint8_t ip[16] = ADDRESS(1), fixed[16] = ADDRESS(2);
	(void)state;
	assert_int_equal(rd_hops_known(&h, ip), 0);
	assert_null(rd_hops_address(&h, 0xf0000000));
	uint32_t first = rd_hops_number(&h, ip), held = rd_hops_fix(&h, fixed), last = 0;
	assert_true(rd_hops_is_number(first) && first != held);
	assert_int_equal(rd_hops_number(&h, ip), first);
	assert_int_equal(rd_hops_known(&h, ip), first);
	assert_memory_equal(rd_hops_address(&h, first), ip, 16);
	assert_false(rd_hops_is_number(0xdfffffff));
	/* Many others: the first is forgotten, its number is nobody's, the fixed one stays. */
	for (uint32_t i = 0; i < 20000; i++) {
		uint8_t other[16] = ADDRESS(3);
		be32_store(other + 8, i);
		uint32_t n = rd_hops_number(&h, other);
		assert_true(rd_hops_is_number(n) && n != first && n != held && n != last);
		assert_memory_equal(rd_hops_address(&h, n), other, 16);
		last = n;
	}
	assert_int_equal(rd_hops_known(&h, ip), 0);
	assert_null(rd_hops_address(&h, first));
	assert_int_equal(rd_hops_number(&h, fixed), held);
	assert_true(rd_hops_number(&h, ip) != first);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_frames_are_golden),
		cmocka_unit_test(our_datagram_is_taken),
		cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(tails_keep_their_sum),
		cmocka_unit_test(ports_are_believed),
		cmocka_unit_test(each_reason_has_its_name),
		cmocka_unit_test(solicitations_are_answered),
		cmocka_unit_test(discovery_is_judged),
		cmocka_unit_test(echo_is_answered),
		cmocka_unit_test(errors_name_the_peer),
		cmocka_unit_test(frames_name_their_worker),
		cmocka_unit_test(next_hops),
		cmocka_unit_test(numbers_are_kept_and_not_given_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
