/* SPDX-License-Identifier: BSD-2-Clause */
/* What may come to the own kernel over a TAP: open ports, what it began, its neighbours. */
#include "cmocka_all.h"

#include "rd_packet_kit.h"

#include <stdlib.h>
#include <string.h>

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

enum { SYN = 2, RST = 4, ACK = 16 };

/* A TCP segment or a datagram, from one station to the other. */
static size_t
kernel_frame(uint8_t *f, const struct rd_station *from, const struct rd_station *to, bool tcp,
	     uint16_t sport, uint16_t dport, uint8_t flags)
{
	struct rd_station s = *from;
	s.udp_port = sport;
	memset(f, 0, 100);
	rd_write_udp(f, &s, to->mac, to->address, dport, 7, 32, 0);
	rd_udp_checksum(f, 32, 0);
	if (tcp) {
		f[23] = 6;
		f[46] = 0x50;
		f[47] = flags;
		fix_ip(f);
	}
	return RD_FRAME_HDR + 32;
}

static void
only_open_ports_are_reached(void **state)
{
	struct rd_station s = self;
	struct rd_rx_frame r;
	uint8_t f[100];
	(void)state;
	s.nopen = 2;
	s.open[0] = (struct rd_open){6, 7811, 7813};
	s.open[1] = (struct rd_open){17, 53, 53};
	for (uint32_t port = 1; port < 65536; port++) {
		for (int tcp = 0; tcp < 2; tcp++) {
			static const uint8_t flags[] = {SYN, SYN | ACK, ACK, RST, 0};
			bool open = tcp ? port >= 7811 && port <= 7813 : port == 53;
			if (!tcp && port == 7812)
				continue; /* Suci */
			for (size_t i = 0; i < (tcp ? sizeof flags : 1); i++) {
				size_t n = kernel_frame(f, &peer, &s, tcp, 999, (uint16_t)port,
							flags[i]);
				rd_packet_parse(&s, f, n, &r);
				assert_int_equal(r.verdict, open	? RD_RX_TAP
							    : tcp && !i ? RD_RX_DROP
									: RD_RX_TAP_FLOW);
				if (r.verdict == RD_RX_DROP)
					assert_int_equal(r.drop, RD_DROP_tap_port);
			}
		}
	}
	/* From an address that is the other leg's. */
	s.other = 0x0a0000f0;
	s.other_mask = 0xffffff00;
	for (int tcp = 0; tcp < 2; tcp++) {
		size_t n = kernel_frame(f, &peer, &s, tcp, 999, tcp ? 7811 : 53, SYN);
		rd_packet_parse(&s, f, n, &r);
		assert_int_equal(r.verdict, RD_RX_DROP);
		assert_int_equal(r.drop, RD_DROP_tap_source);
	}
}

/* What the kernel sends opens the way for the answer, and for nothing else. */
static void
answers_to_the_kernel_come_in(void **state)
{
	static struct rd_flows t;
	struct rd_station s = self;
	struct rd_rx_frame r;
	struct rd_flow flow;
	uint8_t f[100];
	uint64_t now = 1000000000;
	(void)state;
	memset(&t, 0, sizeof t);
	s.nopen = 1;
	s.open[0] = (struct rd_open){6, 7811, 7811};
	for (int tcp = 0; tcp < 2; tcp++) {
		size_t n = kernel_frame(f, &s, &peer, tcp, 40000, 443, SYN);
		assert_true(rd_kernel_flow(&s, f, n, &flow));
		rd_flows_note(&t, &flow, now);
		n = kernel_frame(f, &peer, &s, tcp, 443, 40000, SYN | ACK);
		rd_packet_parse(&s, f, n, &r);
		assert_int_equal(r.verdict, RD_RX_TAP_FLOW);
		assert_true(rd_flows_knows(&t, &r.flow, now));
		assert_true(rd_flows_knows(&t, &r.flow, now + RD_FLOW_SHORT_NS));
		assert_int_equal(rd_flows_knows(&t, &r.flow, now + RD_FLOW_SHORT_NS + 1), tcp);
		assert_false(rd_flows_knows(&t, &r.flow, now + RD_FLOW_LONG_NS + 1));
		n = kernel_frame(f, &peer, &s, tcp, 444, 40000, ACK);
		rd_packet_parse(&s, f, n, &r);
		assert_false(rd_flows_knows(&t, &r.flow, now)); /* another port of that host */
		n = kernel_frame(f, &peer, &s, tcp, 443, 40001, ACK);
		rd_packet_parse(&s, f, n, &r);
		assert_false(rd_flows_knows(&t, &r.flow, now));
	}
	/* Answers from an open port begin nothing: strangers could fill the table. */
	size_t n = kernel_frame(f, &s, &peer, true, 7811, 443, SYN | ACK);
	assert_false(rd_kernel_flow(&s, f, n, &flow));
	for (size_t cut = 0; cut < 42; cut++) {
		uint8_t *exact = malloc(cut ? cut : 1);
		memcpy(exact, f, cut);
		assert_false(cut >= RD_ETH_HDR && rd_kernel_flow(&s, exact, cut, &flow));
		assert_int_equal(cut >= RD_ETH_HDR ? rd_kernel_peer(exact, cut) : 0, 0);
		free(exact);
	}
}

static void
flows_are_bounded(void **state)
{
	static struct rd_flows t;
	(void)state;
	memset(&t, 0, sizeof t);
	struct rd_flow mine = {.remote = 7, .local_port = 40000, .remote_port = 443, .protocol = 6};
	for (uint32_t i = 0; i < 1000000; i++) {
		struct rd_flow f = {.remote = i * 2654435761u,
				    .local_port = (uint16_t)i,
				    .remote_port = 80,
				    .protocol = 6};
		rd_flows_note(&t, &f, 1 + i);
		if (i % 100 == 0) /* it goes on talking */
			rd_flows_note(&t, &mine, 1 + i);
		assert_true(rd_flows_knows(&t, &mine, 1 + i));
	}
}

static void
icmp_that_nobody_asked_for(void **state)
{
	uint8_t f[300], quote[60] = {0};
	struct rd_rx_frame r;
	(void)state;
	rd_write_udp(quote, &self, peer_mac, peer.address, 443, 1, 20, 0);
	for (uint32_t type = 0; type < 256; type++) {
		size_t n = icmp_to_us(f, (uint8_t)type, 0, quote + 14, 28);
		rd_packet_parse(&self, f, n, &r);
		bool error = type == 3 || type == 11 || type == 12;
		if (type == 3) /* about a datagram of Suci's */
			assert_int_equal(r.verdict, RD_RX_UNREACHABLE);
		else if (type == 8)
			assert_int_equal(r.verdict, RD_RX_ECHO);
		else
			assert_int_equal(r.verdict, error || !type ? RD_RX_TAP_FLOW : RD_RX_DROP);
		if (r.verdict == RD_RX_DROP)
			assert_int_equal(r.drop, RD_DROP_icmp_kind);
	}
}

static void
kernel_is_told_its_neighbours(void **state)
{
	uint8_t f[100];
	struct rd_rx_frame r;
	(void)state;
	rd_write_arp_request(f, &self, peer.address, NULL);
	assert_int_equal(rd_arp_asked(f, RD_ARP_FRAME), peer.address);
	assert_int_equal(rd_arp_asked(f, RD_ARP_FRAME - 1), 0);
	rd_arp_tell(f, peer.mac);
	rd_packet_parse(&self, f, RD_ARP_FRAME, &r); /* the kernel is called as we are */
	assert_int_equal(r.verdict, RD_RX_ARP_REPLY);
	assert_false(r.announced);
	assert_int_equal(r.src_ip, peer.address);
	assert_memory_equal(r.src_mac, peer.mac, 6);
	assert_int_equal(rd_arp_asked(f, RD_ARP_FRAME), 0); /* an answer */
	/* Is its address free?  Nobody's business. */
	rd_write_arp_request(f, &self, self.address, NULL);
	assert_int_equal(rd_arp_asked(f, RD_ARP_FRAME), 0);
	rd_packet_parse(&peer, f, RD_ARP_FRAME, &r);
	assert_true(r.announced);
}

static void
no_checksum_from_outside(void **state)
{
	struct rd_station s = self;
	struct rd_rx_frame r;
	uint8_t f[200];
	(void)state;
	size_t n = kernel_frame(f, &peer, &s, false, 999, 7812, 0);
	s.sum_required = true;
	rd_packet_parse(&s, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_SUCI);
	be16_store(f + 40, 0);
	rd_packet_parse(&s, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_DROP);
	assert_int_equal(r.drop, RD_DROP_udp_no_checksum);
	s.sum_required = false;
	rd_packet_parse(&s, f, n, &r);
	assert_int_equal(r.verdict, RD_RX_SUCI);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_open_ports_are_reached),
		cmocka_unit_test(answers_to_the_kernel_come_in),
		cmocka_unit_test(flows_are_bounded),
		cmocka_unit_test(icmp_that_nobody_asked_for),
		cmocka_unit_test(kernel_is_told_its_neighbours),
		cmocka_unit_test(no_checksum_from_outside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
