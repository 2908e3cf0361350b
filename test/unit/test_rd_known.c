/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums that a port has looked at, and those that were left to one. */
#include "cmocka_all.h"

#include "rd_packet_kit.h"

#include <string.h>

/* One frame as it is and one with a changed last byte, by all that a port may say of them. */
static void
ports_are_believed(void **state)
{
	uint8_t f[1600];
	struct rd_rx_frame r;
	(void)state;
	for (size_t len = 1; len < 1400; len += 17)
		for (int spoilt = 0; spoilt < 2; spoilt++) {
			size_t n = to_us(f, len);
			f[n - 1] ^= (uint8_t)spoilt;
			rd_packet_parse_known(&self, f, n, 0, &r);
			assert_int_equal(r.verdict, spoilt ? RD_RX_DROP : RD_RX_SUCI);
			rd_packet_parse_known(&self, f, n, RD_KNOWN_IP_GOOD, &r);
			assert_int_equal(r.verdict, spoilt ? RD_RX_DROP : RD_RX_SUCI);
			rd_packet_parse_known(&self, f, n, RD_KNOWN_UDP_GOOD, &r);
			assert_int_equal(r.verdict, RD_RX_SUCI);
			assert_int_equal(r.payload_len, len);
			rd_packet_parse_known(&self, f, n, RD_KNOWN_UDP_BAD, &r);
			assert_int_equal(r.verdict, RD_RX_DROP);
			assert_int_equal(r.drop, RD_DROP_udp_checksum);
			rd_packet_parse_known(&self, f, n, RD_KNOWN_IP_BAD | RD_KNOWN_UDP_GOOD, &r);
			assert_int_equal(r.verdict, RD_RX_DROP);
			assert_int_equal(r.drop, RD_DROP_ip_checksum);
			f[RD_ETH_HDR + 10] ^= 1;
			rd_packet_parse_known(&self, f, n, RD_KNOWN_UDP_GOOD, &r);
			assert_int_equal(r.drop, RD_DROP_ip_checksum);
			rd_packet_parse_known(&self, f, n, RD_KNOWN_IP_GOOD | RD_KNOWN_UDP_GOOD,
					      &r);
			assert_int_equal(r.verdict, RD_RX_SUCI);
		}
}

/* What has no checksum, or is shorter than its IP packet, a port may say anything of. */
static void
ports_are_not_believed_of_all(void **state)
{
	struct rd_station strict = self;
	uint8_t f[1600];
	struct rd_rx_frame r;
	(void)state;
	strict.sum_required = true;
	size_t n = to_us(f, 600);
	be16_store(f + 40, 0);
	rd_packet_parse_known(&self, f, n, RD_KNOWN_UDP_BAD, &r);
	assert_int_equal(r.verdict, RD_RX_SUCI);
	rd_packet_parse_known(&strict, f, n, RD_KNOWN_UDP_GOOD, &r);
	assert_int_equal(r.drop, RD_DROP_udp_no_checksum);
	for (int spoilt = 0; spoilt < 2; spoilt++) {
		n = to_us(f, 600);
		f[n - 1] ^= (uint8_t)spoilt;
		be16_store(f + RD_ETH_HDR + 2, (uint16_t)(n - RD_ETH_HDR + 4));
		fix_ip(f);
		rd_packet_parse_known(&self, f, n + 4,
				      spoilt ? RD_KNOWN_UDP_GOOD : RD_KNOWN_UDP_BAD, &r);
		assert_int_equal(r.verdict, spoilt ? RD_RX_DROP : RD_RX_SUCI);
		assert_int_equal(r.known & RD_KNOWN_UDP_GOOD, 0);
	}
}

/* Of a datagram that the port has found good the tail is not read, and its sum is known all the
 * same, unless nobody wants it. */
static void
tails_are_known_unread(void **state)
{
	struct rd_station all = self;
	uint8_t f[1600];
	struct rd_rx_frame read, r;
	(void)state;
	all.ports_sum = true;
	for (size_t len = RD_TAIL_MIN - RD_UDP_HDR; len < 1400; len++) {
		size_t n = to_us(f, len);
		rd_packet_parse(&self, f, n, &read);
		memset(f + read.tail_off, 0x55, n - read.tail_off);
		rd_packet_parse_known(&self, f, n, RD_KNOWN_UDP_GOOD, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_int_equal(r.tail_off, read.tail_off);
		assert_int_equal(r.tail_sum % 0xffff, read.tail_sum % 0xffff);
		rd_packet_parse_known(&all, f, n, RD_KNOWN_UDP_GOOD, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_int_equal(r.tail_off, 0);
	}
}

/* With the sum of the pseudo header alone in its field, as who sends to a virtual port leaves it.
 */
static void
left_checksums_are_completed(void **state)
{
	uint8_t f[1600], whole[1600];
	struct rd_rx_frame r;
	(void)state;
	for (size_t len = 0; len < 1400; len += 13)
		for (int tcp = 0; tcp < 2; tcp++) {
			size_t n = to_us(f, len), field = tcp ? 50 : 40;
			uint32_t transport = (uint32_t)n - 34;
			if (tcp && len < 12)
				continue;
			if (tcp)
				f[RD_ETH_HDR + 9] = 6;
			fix_ip(f);
			uint64_t pseudo = rd_cksum_pseudo(peer.address, self.address, tcp ? 6 : 17,
							  transport);
			be16_store(f + field, (uint16_t)~rd_cksum_fold(pseudo));
			assert_true(rd_packet_complete(f, n));
			assert_int_equal(rd_cksum_fold(rd_cksum_add(pseudo, f + 34, transport)), 0);
			if (tcp)
				continue;
			rd_packet_parse(&self, f, n, &r);
			assert_int_equal(r.verdict, RD_RX_SUCI);
			memcpy(whole, f, n);
			for (size_t cut = 0; cut < n; cut += 7) {
				assert_false(rd_packet_complete(f, cut));
				assert_memory_equal(f, whole, n);
			}
		}
	/* No checksum, no such protocol, a fragment. */
	size_t n = to_us(f, 100);
	be16_store(f + 40, 0);
	assert_false(rd_packet_complete(f, n));
	assert_int_equal(be16_load(f + 40), 0);
	to_us(f, 100);
	f[RD_ETH_HDR + 9] = 1;
	assert_false(rd_packet_complete(f, n));
	to_us(f, 100);
	be16_store(f + RD_ETH_HDR + 6, 0x2000);
	assert_false(rd_packet_complete(f, n));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_believed),
		cmocka_unit_test(ports_are_not_believed_of_all),
		cmocka_unit_test(tails_are_known_unread),
		cmocka_unit_test(left_checksums_are_completed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
