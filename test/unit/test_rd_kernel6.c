/* SPDX-License-Identifier: BSD-2-Clause */
/* What may come to the own kernel over IPv6: open ports, what it began, its neighbours. */
#include "cmocka_all.h"

#include "rd/packet6.h"
#include "rd_packet_kit.h"

#include <stdlib.h>
#include <string.h>

enum { SYN = 2, RST = 4, ACK = 16, TCP = 6, UDP = 17, ICMP6 = 58 };
enum { SRC = RD_ETH_HDR + 8, DST = RD_ETH_HDR + 24, BODY = RD_ETH_HDR + RD_IPV6_HDR };
enum { LEN = BODY + 40 };

static const struct rd_six our_six = {.address = {0x20, 1, 0xd, 0xb8, [15] = 1},
				      .gateway = {0xfe, 0x80, [15] = 1},
				      .prefix_len = 64};
static const struct rd_six peer_six = {.address = {0x20, 1, 0xd, 0xb8, [15] = 9}, .prefix_len = 64};

static struct rd_station
with_six(const struct rd_station *station, const struct rd_six *six)
{
	struct rd_station s = *station;
	s.six = six;
	s.udp_first = 7812;
	s.nshards = 2;
	return s;
}

static void
fix_six(uint8_t *f)
{
	uint8_t *ip = f + RD_ETH_HDR;
	uint32_t len = be16_load(ip + 4), at = ip[6] == UDP ? 6 : ip[6] == TCP ? 16 : 2;
	be16_store(f + BODY + at, 0);
	uint64_t sum = rd_cksum6_pseudo(ip + 8, ip + 24, ip[6], len);
	be16_store(f + BODY + at, rd_cksum_fold(rd_cksum_add(sum, f + BODY, len)));
}

/* LEN bytes of a segment, datagram or echo from one station to the other. */
static void
kernel_frame(uint8_t f[LEN], const struct rd_station *from, const struct rd_station *to,
	     uint8_t protocol, uint16_t sport, uint16_t dport, uint8_t flags)
{
	struct rd_station s = *from;
	s.udp_port = sport;
	memset(f, 0, LEN);
	rd_write_udp6(f, &s, to->mac, to->six->address, dport, 32, 0);
	f[RD_ETH_HDR + 6] = protocol;
	if (protocol == TCP) {
		be16_store(f + BODY + 4, 0);
		f[BODY + 12] = 0x50;
		f[BODY + 13] = flags;
	} else if (protocol == ICMP6) {
		memset(f + BODY, 0, 8);
		f[BODY] = flags;
		be16_store(f + BODY + 4, sport);
	}
	fix_six(f);
}

static struct rd_rx_frame
parsed(const struct rd_station *s, const uint8_t *f, size_t len)
{
	struct rd_rx_frame r;
	rd_packet_parse(s, f, len, &r);
	return r;
}

static void
only_open_ports_are_reached(void **state)
{
	struct rd_station s = with_six(&self, &our_six), p = with_six(&peer, &peer_six);
	uint8_t f[LEN];
	(void)state;
	s.nopen = 2;
	s.open[0] = (struct rd_open){TCP, 22, 24};
	s.open[1] = (struct rd_open){UDP, 53, 53};
	for (uint16_t port = 1; port < 9000; port++)
		for (int tcp = 0; tcp < 2; tcp++) {
			static const uint8_t flags[] = {SYN, SYN | ACK, ACK, RST, 0};
			bool open = tcp ? port >= 22 && port <= 24 : port == 53;
			if (!tcp && port == 7812)
				continue; /* Suci */
			for (size_t i = 0; i < (tcp ? sizeof flags : 1); i++) {
				kernel_frame(f, &p, &s, tcp ? TCP : UDP, 999, port, flags[i]);
				struct rd_rx_frame r = parsed(&s, f, LEN);
				assert_int_equal(r.verdict, open	? RD_RX_TAP
							    : tcp && !i ? RD_RX_DROP
									: RD_RX_TAP_FLOW);
				if (r.verdict == RD_RX_DROP)
					assert_int_equal(r.drop, RD_DROP_tap_port);
				if (tcp || port != 7813)
					assert_int_equal(rd_packet_shard(&s, f, LEN), 0);
			}
		}
	/* From an address that is the other leg's. */
	static const struct rd_six other = {.address = {0x20, 1, 0xd, 0xb8, [15] = 0xf0},
					    .prefix_len = 120},
				   beside = {.address = {0x20, 1, 0xd, 0xb8, [15] = 0xf0},
					     .prefix_len = 121};
	for (int tcp = 0; tcp < 2; tcp++) {
		kernel_frame(f, &p, &s, tcp ? TCP : UDP, 999, tcp ? 22 : 53, SYN);
		s.other_six = &beside;
		assert_int_equal(parsed(&s, f, LEN).verdict, RD_RX_TAP);
		s.other_six = &other;
		assert_int_equal(parsed(&s, f, LEN).verdict, RD_RX_DROP);
		assert_int_equal(parsed(&s, f, LEN).drop, RD_DROP_tap_source);
	}
}

/* What the kernel sends opens the way for the answer, and for nothing else. */
static void
answers_to_the_kernel_come_in(void **state)
{
	static struct rd_flows t;
	struct rd_station s = with_six(&self, &our_six), p = with_six(&peer, &peer_six);
	static const uint8_t protocols[] = {TCP, UDP, ICMP6};
	struct rd_flow flow;
	uint8_t f[LEN];
	uint64_t now = 1000;
	(void)state;
	for (size_t i = 0; i < sizeof protocols; i++) {
		uint8_t protocol = protocols[i];
		bool echo = protocol == ICMP6;
		kernel_frame(f, &s, &p, protocol, 40000, 443, echo ? 128 : SYN);
		assert_true(rd_kernel6_speaks(&s, f, LEN));
		assert_true(rd_kernel_flow(&s, f, LEN, &flow));
		kernel_frame(f, &p, &s, protocol, echo ? 40000 : 443, 40000,
			     echo ? 129 : SYN | ACK);
		struct rd_rx_frame r = parsed(&s, f, LEN);
		assert_int_equal(r.verdict, RD_RX_TAP_FLOW);
		assert_false(rd_flows_knows(&t, &r.flow, now));
		rd_flows_note(&t, &flow, now);
		assert_true(rd_flows_knows(&t, &r.flow, now));
		assert_int_equal(rd_flows_knows(&t, &r.flow, now + RD_FLOW_SHORT_NS + 1),
				 protocol == TCP);
		/* Another host, whichever of its bytes differs; another port. */
		for (int at = SRC; at < SRC + 16; at++) {
			uint8_t was = f[at];
			f[at] ^= 0x04;
			fix_six(f);
			r = parsed(&s, f, LEN);
			assert_true(r.verdict == RD_RX_DROP || !rd_flows_knows(&t, &r.flow, now));
			f[at] = was;
		}
		kernel_frame(f, &p, &s, protocol, echo ? 40001 : 443, 40001, echo ? 129 : ACK);
		r = parsed(&s, f, LEN);
		assert_false(rd_flows_knows(&t, &r.flow, now));
	}
	/* The same number of IPv4 is another host. */
	flow.remote = 0x0a000009;
	memset(flow.above, 0, sizeof flow.above);
	assert_false(rd_flows_knows(&t, &flow, now));
	/* Answers from open ports begin nothing. */
	s.nopen = 1;
	s.open[0] = (struct rd_open){TCP, 22, 22};
	kernel_frame(f, &s, &p, TCP, 22, 443, SYN | ACK);
	assert_false(rd_kernel_flow(&s, f, LEN, &flow));
	for (size_t cut = 0; cut < LEN; cut++) {
		uint8_t *exact = malloc(cut ? cut : 1);
		memcpy(exact, f, cut);
		(void)rd_kernel_flow(&s, exact, cut, &flow);
		(void)rd_kernel6_speaks(&s, exact, cut);
		(void)rd_kernel6_peer(exact, cut);
		assert_null(rd_nd_asked(&s, exact, cut));
		free(exact);
	}
}

/* Errors reach the kernel if they quote what it sent: too big above all. */
static void
errors_reach_who_is_quoted(void **state)
{
	static const uint8_t kinds[] = {1, 2, 3, 4};
	static struct rd_flows t;
	struct rd_station s = with_six(&self, &our_six), p = with_six(&peer, &peer_six);
	uint8_t sent[LEN], f[BODY + 8 + LEN];
	struct rd_flow flow;
	(void)state;
	kernel_frame(sent, &s, &p, TCP, 40000, 443, ACK);
	assert_true(rd_kernel_flow(&s, sent, LEN, &flow));
	rd_flows_note(&t, &flow, 1);
	for (size_t i = 0; i < sizeof kinds; i++)
		for (size_t quoted = 0; quoted <= LEN - RD_ETH_HDR; quoted++) {
			kernel_frame(f, &p, &s, ICMP6, 0, 0, kinds[i]);
			be16_store(f + RD_ETH_HDR + 4, (uint16_t)(8 + quoted));
			memcpy(f + BODY + 8, sent + RD_ETH_HDR, quoted);
			fix_six(f);
			struct rd_rx_frame r = parsed(&s, f, BODY + 8 + quoted);
			bool enough = quoted >= RD_IPV6_HDR + 8;
			assert_int_equal(r.verdict, enough ? RD_RX_TAP_FLOW : RD_RX_DROP);
			if (enough)
				assert_true(rd_flows_knows(&t, &r.flow, 1));
			else
				assert_int_equal(r.drop, RD_DROP_icmp_kind);
		}
	/* What another sent. */
	f[BODY + 8 + 8] ^= 1;
	fix_six(f);
	assert_int_equal(parsed(&s, f, sizeof f).drop, RD_DROP_icmp_kind);
}

static void
kernel_is_told_its_neighbours(void **state)
{
	struct rd_station s = with_six(&self, &our_six), p = with_six(&peer, &peer_six);
	static const uint8_t theirs[6] = {2, 0, 0, 0, 0, 0x77};
	uint8_t f[RD_ND_FRAME];
	(void)state;
	rd_write_nd_request(f, &s, peer_six.address, NULL); /* the kernel is called as we are */
	assert_memory_equal(rd_nd_asked(&s, f, sizeof f), peer_six.address, 16);
	assert_false(rd_kernel6_speaks(&s, f, sizeof f));
	rd_nd_tell(f, theirs);
	struct rd_rx_frame r = parsed(&s, f, sizeof f);
	assert_int_equal(r.verdict, RD_RX_ND_REPLY);
	assert_memory_equal(f + r.src_6, peer_six.address, 16);
	assert_memory_equal(r.src_mac, theirs, 6);
	assert_memory_equal(f, our_mac, 6);
	/* About itself, from another, by an advertisement: nothing to tell. */
	rd_write_nd_request(f, &s, our_six.address, NULL);
	assert_null(rd_nd_asked(&s, f, sizeof f));
	rd_write_nd_request(f, &p, our_six.address, NULL);
	assert_null(rd_nd_asked(&s, f, sizeof f));
	rd_write_nd_announcement(f, &s);
	assert_null(rd_nd_asked(&s, f, sizeof f));
	assert_false(rd_kernel6_speaks(&s, f, sizeof f));
}

/* Whose neighbour is kept fresh: who has answered, or whom the kernel calls. */
static void
kernel_talks_to(void **state)
{
	struct rd_station s = with_six(&self, &our_six), p = with_six(&peer, &peer_six);
	static const struct {
		uint8_t flags;
		bool talks;
	} cases[] = {
		{SYN, true}, {ACK, true}, {SYN | ACK, false}, {RST, false}, {RST | ACK, false}};
	uint8_t f[LEN];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		kernel_frame(f, &s, &p, TCP, 40000, 443, cases[i].flags);
		const uint8_t *peer6 = rd_kernel6_peer(f, LEN);
		assert_int_equal(peer6 != NULL, cases[i].talks);
		if (peer6)
			assert_memory_equal(peer6, peer_six.address, 16);
	}
	kernel_frame(f, &s, &p, UDP, 40000, 443, 0);
	assert_null(rd_kernel6_peer(f, LEN));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_open_ports_are_reached),
		cmocka_unit_test(answers_to_the_kernel_come_in),
		cmocka_unit_test(errors_reach_who_is_quoted),
		cmocka_unit_test(kernel_is_told_its_neighbours),
		cmocka_unit_test(kernel_talks_to),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
