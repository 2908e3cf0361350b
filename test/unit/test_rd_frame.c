/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams of the endpoint into mbufs: in place, chained, copied; on real mbufs of
 * a pool without hugepages, checked by parsing what was built. */
#include "cmocka_all.h"

#include "base/bytes.h"
#include "driver/eal.h"
#include "driver/pool.h"
#include "frame.h"
#include "rd/packet6.h"
#include "relay/addr.h"
#include "relay/core.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdlib.h>
#include <string.h>

static struct rte_mempool *pool;
static struct rd_port port;
static struct rd_leg leg;
static bool six; /* datagrams go by IPv6 */
static const struct rd_six own6 = {.address = {0xfd, [15] = 1}, .prefix_len = 64},
			   peer6 = {.address = {0xfd, [15] = 9}, .prefix_len = 64};
/* Who receives what the leg sends. */
static const struct rd_station peer = {
	.mac = {0}, /* the destination MAC is still open */
	.address = 0x0a000009,
	.prefix_len = 24,
	.udp_port = 4001,
	.six = &peer6,
};

static int
group_setup(void **state)
{
	struct rd_eal_opts o = {.prog = "test", .main_lcore = -1, .mem_mb = 32};
	struct rd_pool_plan plan = {
		.count = 512, .room_bytes = 2048 + RTE_PKTMBUF_HEADROOM, .bytes = 0};
	char err[256];
	(void)state;
	if (rd_eal_start(&o, err, sizeof err) ||
	    rd_pool_create(&pool, "frames", &plan, 0, err, sizeof err)) {
		print_message("%s\n", err);
		return -1;
	}
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	uint32_t left = rd_pool_free(pool);
	rd_eal_stop();
	return left ? -1 : 0;
}

static int
setup(void **state)
{
	(void)state;
	memset(&port, 0, sizeof port);
	leg = (struct rd_leg){
		.name = "private",
		.self = {.mac = {2, 0, 0, 0, 0, 1},
			 .address = 0x0a000001,
			 .prefix_len = 24,
			 .udp_port = 7812,
			 .six = &own6},
		.mtu = 1500,
		.port = &port,
		.pool = pool,
	};
	six = false;
	return 0;
}

static int
setup_six(void **state)
{
	int r = setup(state);
	six = true;
	return r;
}

/* In front of a datagram. */
static uint16_t
ip_header(void)
{
	return six ? RD_IPV6_HDR : RD_IPV4_HDR;
}
static uint16_t
headers(void)
{
	return (uint16_t)(RD_ETH_HDR + ip_header() + RD_UDP_HDR);
}

static int
teardown(void **state)
{
	(void)state;
	return rd_pool_in_use(pool) ? -1 : 0; /* one leaked mbuf fails the test */
}

/* A received frame: old headers of front bytes, then len payload bytes. */
static struct rte_mbuf *
received(uint16_t front, uint16_t len, const uint8_t **payload)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	assert_non_null(m);
	uint8_t *at = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(front + len));
	assert_non_null(at);
	memset(at, 0xee, front);
	for (uint16_t i = 0; i < len; i++)
		at[front + i] = (uint8_t)(i * 7 + 3);
	m->hash.usr = 0xfade; /* as a port may leave it */
	rd_frame_set_tail(m, &(struct rd_rx_frame){0});
	*payload = at + front;
	return m;
}

static struct suci_out
datagram(uint16_t head_len, const uint8_t *data, uint16_t data_len)
{
	struct suci_out o = {
		.to = relay_addr_v4(peer.address, peer.udp_port, RELAY_LEG_PRIVATE),
		.head_len = head_len,
		.data_len = data_len,
		.data = data,
		.has_segment = data_len > 0,
	};
	if (six)
		o.to = suci_addr_of(peer6.address, peer.udp_port);
	for (uint16_t i = 0; i < head_len; i++)
		o.head[i] = (uint8_t)(0x80 + i);
	return o;
}

/* Flatten, parse as the peer, compare with the datagram; frees m. */
static void
check_frame(struct rte_mbuf *m, const struct suci_out *o)
{
	uint8_t flat[4096];
	struct rd_rx_frame f;
	uint32_t len = 0;
	assert_non_null(m);
	if (!port.tx_cksum && m->ol_flags & RTE_MBUF_F_TX_UDP_CKSUM)
		rd_frame_sum(m);
	for (struct rte_mbuf *s = m; s; s = s->next) {
		memcpy(flat + len, rte_pktmbuf_mtod(s, void *), s->data_len);
		len += s->data_len;
	}
	assert_int_equal(len, m->pkt_len);
	const char *reason = NULL;
	assert_int_equal(rte_mbuf_check(m, 1, &reason), 0);
	rd_packet_parse(&peer, flat, len, &f); /* checks both checksums */
	assert_int_equal(f.verdict, RD_RX_SUCI);
	assert_int_equal(f.src_6 != 0, six);
	if (six)
		assert_memory_equal(flat + f.src_6, own6.address, 16);
	else
		assert_int_equal(f.src_ip, leg.self.address);
	assert_int_equal(f.src_port, leg.self.udp_port);
	assert_int_equal(f.payload_len, (uint32_t)o->head_len + o->seg_head_len + o->data_len);
	assert_int_equal(f.ecn, o->ecn);
	const uint8_t *at = flat + f.payload_off;
	assert_memory_equal(at, o->head, o->head_len);
	if (o->seg_head_len)
		assert_memory_equal(at + o->head_len, o->seg_head, o->seg_head_len);
	if (o->data_len)
		assert_memory_equal(at + o->head_len + o->seg_head_len, o->data, o->data_len);
	rte_pktmbuf_free(m);
}

/* What a port does with an offloaded frame: the checksums, as the flags ask. */
static void
as_a_port(struct rte_mbuf *m)
{
	uint8_t flat[4096], *at = rte_pktmbuf_mtod(m, uint8_t *);
	uint64_t all = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_IP_CKSUM |
		       RTE_MBUF_F_TX_L4_MASK;
	uint64_t four = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	uint32_t len = 0, udp = (uint32_t)headers() - RD_UDP_HDR;
	assert_int_equal(m->ol_flags & all,
			 (six ? RTE_MBUF_F_TX_IPV6 : four) | RTE_MBUF_F_TX_UDP_CKSUM);
	assert_int_equal(m->l2_len, RD_ETH_HDR);
	assert_int_equal(m->l3_len, ip_header());
	if (!six) {
		assert_int_equal(be16_load(at + 24), 0);
		be16_store(at + 24, rd_cksum_fold(rd_cksum_add(0, at + RD_ETH_HDR, RD_IPV4_HDR)));
	}
	for (struct rte_mbuf *s = m; s; s = s->next) {
		memcpy(flat + len, rte_pktmbuf_mtod(s, void *), s->data_len);
		len += s->data_len;
	}
	/* The pseudo header's sum is in the field already. */
	uint16_t sum = rd_cksum_fold(rd_cksum_add(0, flat + udp, len - udp));
	be16_store(at + udp + 6, sum ? sum : 0xffff);
}

static void
checksums_are_the_ports(void **state)
{
	const uint8_t *data, seg_head[3] = {1, 2, 3};
	(void)state;
	port.tx_cksum = port.tx_multi_seg = true;
	for (uint16_t len = 1; len < 1300; len = (uint16_t)(len + 37))
		for (uint8_t ecn = 0; ecn < 4; ecn += 2) {
			struct rte_mbuf *m = received(90, len, &data);
			struct suci_out o = datagram(56, data, len), odd = datagram(40, data, len);
			o.ecn = ecn;
			odd.seg_head = seg_head;
			odd.seg_head_len = sizeof seg_head; /* chained all the same */
			struct rte_mbuf *first = rd_frame_build(&leg, NULL, &o, m);
			struct rte_mbuf *second = rd_frame_build(&leg, NULL, &odd, m);
			struct rte_mbuf *third = rd_frame_build(&leg, NULL, &o, NULL);
			assert_int_equal(second->nb_segs, 2);
			as_a_port(second);
			check_frame(second, &odd);
			as_a_port(first);
			check_frame(first, &o);
			as_a_port(third);
			check_frame(third, &o);
			rte_pktmbuf_free(m);
		}
}

/* To our own gateway no port is in the way. */
static void
to_ourselves_they_are_ours(void **state)
{
	const uint8_t *data;
	(void)state;
	port.tx_cksum = true;
	struct rte_mbuf *m = received(90, 700, &data);
	struct suci_out o = datagram(56, data, 700);
	o.to = relay_addr_v4(leg.self.address, 7828, RELAY_LEG_PRIVATE);
	struct rte_mbuf *f = rd_frame_build(&leg, NULL, &o, NULL);
	const uint8_t *at = rte_pktmbuf_mtod(f, uint8_t *);
	assert_int_equal(f->ol_flags, 0);
	assert_int_equal(rd_cksum_fold(rd_cksum_add(0, at + RD_ETH_HDR, RD_IPV4_HDR)), 0);
	uint64_t pseudo = rd_cksum_pseudo(leg.self.address, leg.self.address, 17, f->pkt_len - 34);
	assert_int_equal(rd_cksum_fold(rd_cksum_add(pseudo, at + 34, f->pkt_len - 34)), 0);
	rte_pktmbuf_free(f);
	rte_pktmbuf_free(m);
}

static void
in_place_when_alone(void **state)
{
	const uint8_t *data;
	(void)state;
	for (uint16_t len = 1; len < 1200; len = (uint16_t)(len + 61)) {
		struct rte_mbuf *m = received(90, len, &data);
		struct suci_out o = datagram(56, data, len);
		struct rte_mbuf *f = rd_frame_build(&leg, NULL, &o, m);
		assert_ptr_equal(f, m);
		assert_int_equal(rte_mbuf_refcnt_read(m), 2); /* custody and the driver's */
		check_frame(f, &o);
		assert_int_equal(rte_mbuf_refcnt_read(m), 1);
		/* Sent again after the driver let go: in place again, the longest
		 * header that has room. */
		o = datagram((uint16_t)(RTE_PKTMBUF_HEADROOM + 90 - headers()), data, len);
		check_frame(rd_frame_build(&leg, NULL, &o, m), &o);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(leg.count.tx_copied, 0);
	assert_int_equal(leg.count.tx_chained, 0);
}

/* A leg in a VLAN needs room for the tag, too. */
static void
tags_need_room(void **state)
{
	const uint8_t *data;
	(void)state;
	for (uint16_t vlan = 0; vlan < 2; vlan++) {
		struct rte_mbuf *m = received(90, 700, &data);
		uint16_t most = (uint16_t)(RTE_PKTMBUF_HEADROOM + 90 - headers());
		struct suci_out o = datagram(most, data, 700);
		leg.vlan = vlan;
		struct rte_mbuf *f = rd_frame_build(&leg, NULL, &o, m);
		assert_int_equal(f == m, !vlan);
		check_frame(f, &o);
		o = datagram((uint16_t)(most - RD_VLAN_TAG), data, 700);
		f = rd_frame_build(&leg, NULL, &o, m);
		assert_ptr_equal(f, m);
		check_frame(f, &o);
		rte_pktmbuf_free(m);
	}
}

static void
driver_still_holds_it(void **state)
{
	const uint8_t *data;
	(void)state;
	for (int multi = 0; multi < 2; multi++) {
		port.tx_multi_seg = multi;
		struct rte_mbuf *m = received(90, 1000, &data);
		struct suci_out o = datagram(56, data, 1000), again = datagram(88, data, 1000);
		struct rte_mbuf *first = rd_frame_build(&leg, NULL, &o, m);
		struct rte_mbuf *second = rd_frame_build(&leg, NULL, &again, m);
		assert_ptr_equal(first, m);
		assert_ptr_not_equal(second, m);
		assert_int_equal(second->nb_segs, multi ? 2 : 1);
		rte_pktmbuf_free(m); /* custody ends first */
		check_frame(second, &again);
		check_frame(first, &o); /* untouched by the second */
	}
	assert_int_equal(leg.count.tx_chained, 1);
	assert_int_equal(leg.count.tx_copied, 1);
}

/* What the relay does not write keeps the sum it came with, whatever length the headers in front
 * of it have: a byte of it that memory has changed shows. */
static void
tails_are_not_summed_again(void **state)
{
	const uint8_t *data;
	(void)state;
	for (uint16_t front = 56; front < 72; front++)
		for (int spoil = 0; spoil < 4; spoil++) {
			/* The sum is the same if the port has found it. */
			uint32_t known = spoil & 2 ? RD_KNOWN_IP_GOOD | RD_KNOWN_UDP_GOOD : 0;
			struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
			struct suci_out in = datagram(56, NULL, 0);
			uint16_t udp = (uint16_t)(1200 + front);
			uint8_t *at = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(headers() + udp));
			struct rd_station self = leg.self, from = peer;
			struct rd_rx_frame f;
			memset(at + headers(), front, udp);
			memcpy(at + headers(), in.head, in.head_len);
			if (six) {
				rd_write_udp6(at, &from, self.mac, own6.address, self.udp_port, udp,
					      0);
				rd_udp6_checksum(at, udp, 0);
			} else {
				rd_write_udp(at, &from, self.mac, self.address, self.udp_port, 1,
					     udp, 0);
				rd_udp_checksum(at, udp, 0);
			}
			rd_packet_parse_known(&self, at, m->data_len, known, &f);
			assert_int_equal(f.verdict, RD_RX_SUCI);
			rd_frame_set_tail(m, &f);
			data = at + headers() + 56;
			/* As the core writes ids. */
			memset(at + headers() + 56, 0x99, RELAY_WRITES_MAX);
			at[m->data_len - 7] ^= (uint8_t)spoil & 1;
			struct suci_out o = datagram(front, data, (uint16_t)(udp - 56));
			for (int again = 0; again < 2; again++) {
				struct rte_mbuf *out = rd_frame_build(&leg, NULL, &o, m);
				assert_ptr_equal(out, m);
				rd_frame_sum(out);
				rd_packet_parse(&peer, rte_pktmbuf_mtod(out, uint8_t *),
						out->data_len, &f);
				assert_int_equal(f.verdict, spoil & 1 ? RD_RX_DROP : RD_RX_SUCI);
				rte_pktmbuf_free(out);
			}
			/* Part of it, or with something of the head in it: not believed. */
			o.data_len--;
			check_frame(rd_frame_build(&leg, NULL, &o, m), &o);
			rte_pktmbuf_free(m);
		}
}

/* What a received mbuf is marked with, where the port was asked to. */
static void
marks_are_read(void **state)
{
	static const struct {
		uint64_t marks;
		uint32_t known;
	} cases[] = {
		{RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN | RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN, 0},
		{RTE_MBUF_F_RX_IP_CKSUM_GOOD, RD_KNOWN_IP_GOOD},
		{RTE_MBUF_F_RX_IP_CKSUM_BAD, RD_KNOWN_IP_BAD},
		{RTE_MBUF_F_RX_IP_CKSUM_NONE, 0},
		{RTE_MBUF_F_RX_L4_CKSUM_GOOD, RD_KNOWN_UDP_GOOD},
		{RTE_MBUF_F_RX_L4_CKSUM_BAD, RD_KNOWN_UDP_BAD},
		{RTE_MBUF_F_RX_L4_CKSUM_NONE, 0},
		{RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_RSS_HASH,
		 RD_KNOWN_IP_GOOD | RD_KNOWN_UDP_BAD},
	};
	(void)state;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		m->ol_flags = cases[i].marks;
		port.rx_ip_cksum = port.rx_udp_cksum = true;
		assert_int_equal(rd_frame_known(&port, m), cases[i].known);
		port.rx_udp_cksum = false;
		assert_int_equal(rd_frame_known(&port, m),
				 cases[i].known & (RD_KNOWN_IP_GOOD | RD_KNOWN_IP_BAD));
		port.rx_ip_cksum = false;
		assert_int_equal(rd_frame_known(&port, m), 0);
	}
	rte_pktmbuf_free(m);
}

/* A datagram whose checksum was left to a port, one that has none, and a port that was not asked.
 */
static void
incomplete_ones_are_completed(void **state)
{
	(void)state;
	for (int asked = 0; asked < 2; asked++)
		for (int none = 0; none < 2; none++) {
			struct rd_rx_frame f;
			struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
			uint8_t *at = (uint8_t *)rte_pktmbuf_append(m, RD_FRAME_HDR + 500);
			bool done = asked && !none;
			memset(at, 0x31, m->data_len);
			rd_write_udp(at, &peer, leg.self.mac, leg.self.address, 7812, 1, 500, 0);
			be16_store(at + 40, none ? 0 : 0x1234);
			port.rx_udp_cksum = asked;
			m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_NONE | RTE_MBUF_F_RX_IP_CKSUM_GOOD;
			rd_frame_complete(&leg, m);
			assert_int_equal(m->ol_flags,
					 RTE_MBUF_F_RX_IP_CKSUM_GOOD |
						 (done ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0));
			rd_packet_parse(&leg.self, at, m->data_len, &f);
			assert_int_equal(f.verdict, done || none ? RD_RX_SUCI : RD_RX_DROP);
			rte_pktmbuf_free(m);
		}
	assert_int_equal(leg.count.rx_completed, 1);
}

static void
odd_header_is_chained(void **state)
{
	const uint8_t *data, seg_head[3] = {1, 2, 3};
	(void)state;
	port.tx_multi_seg = true;
	struct rte_mbuf *m = received(90, 333, &data);
	rte_mbuf_refcnt_update(m, 1); /* somebody reads it */
	struct suci_out o = datagram(56, data, 333);
	o.seg_head = seg_head;
	o.seg_head_len = sizeof seg_head;
	check_frame(rd_frame_build(&leg, NULL, &o, m), &o);
	assert_int_equal(leg.count.tx_chained, 1);
	rte_mbuf_refcnt_update(m, -1);
	rte_pktmbuf_free(m);
}

static void
no_room_in_front_copies(void **state)
{
	const uint8_t *data;
	(void)state;
	struct rte_mbuf *m = received(0, 500, &data); /* payload right behind the headroom */
	struct suci_out o = datagram(SUCI_HEAD_MAX, data, 500);
	assert_true(headers() + SUCI_HEAD_MAX > RTE_PKTMBUF_HEADROOM);
	check_frame(rd_frame_build(&leg, NULL, &o, m), &o);
	assert_int_equal(leg.count.tx_copied, 1);
	rte_pktmbuf_free(m);
}

static void
datagrams_without_buffer_are_copied(void **state)
{
	uint8_t note[700];
	(void)state;
	memset(note, 0x5a, sizeof note);
	struct suci_out ack = datagram(44, NULL, 0), n = datagram(60, note, sizeof note);
	check_frame(rd_frame_build(&leg, NULL, &ack, NULL), &ack);
	check_frame(rd_frame_build(&leg, NULL, &n, NULL), &n);
	assert_int_equal(leg.count.tx_copied, 2);
	n.ecn = SUCI_ECN_ECT0;
	check_frame(rd_frame_build(&leg, NULL, &n, NULL), &n);
}

static void
longer_than_the_mtu_is_dropped(void **state)
{
	const uint8_t *data;
	(void)state;
	uint16_t fits = (uint16_t)(1500 + RD_ETH_HDR - headers() - 56);
	struct rte_mbuf *m = received(90, 1600, &data);
	struct suci_out o = datagram(56, data, (uint16_t)(fits + 1));
	assert_null(rd_frame_build(&leg, NULL, &o, m));
	assert_int_equal(leg.count.drop_toobig, 1);
	o = datagram(56, data, fits);
	check_frame(rd_frame_build(&leg, NULL, &o, m), &o);
	rte_pktmbuf_free(m);
}

static void
empty_pool_is_counted(void **state)
{
	struct rte_mbuf *all[512];
	uint32_t n = 0;
	(void)state;
	while (n < 512 && (all[n] = rte_pktmbuf_alloc(pool)))
		n++;
	assert_int_equal(n, 512);
	struct suci_out o = datagram(44, NULL, 0);
	assert_null(rd_frame_build(&leg, NULL, &o, NULL));
	/* Chained needs two, one is there: the one is given back. */
	port.tx_multi_seg = true;
	const uint8_t *data = rte_pktmbuf_mtod(all[0], const uint8_t *);
	o = datagram(44, data, 100);
	rte_mbuf_refcnt_update(all[0], 1);
	rte_pktmbuf_free(all[--n]);
	assert_null(rd_frame_build(&leg, NULL, &o, all[0]));
	rte_mbuf_refcnt_update(all[0], -1);
	assert_int_equal(leg.count.drop_no_buffer, 2);
	for (uint32_t i = 0; i < n; i++)
		rte_pktmbuf_free(all[i]);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T6(f)                                               \
	{                                                   \
#f " by IPv6", f, setup_six, teardown, NULL \
	}
	const struct CMUnitTest tests[] = {
		T(checksums_are_the_ports),
		T(to_ourselves_they_are_ours),
		T(in_place_when_alone),
		T(tags_need_room),
		T(driver_still_holds_it),
		T(tails_are_not_summed_again),
		T(marks_are_read),
		T(incomplete_ones_are_completed),
		T(odd_header_is_chained),
		T(no_room_in_front_copies),
		T(datagrams_without_buffer_are_copied),
		T(longer_than_the_mtu_is_dropped),
		T(empty_pool_is_counted),
		T6(checksums_are_the_ports),
		T6(in_place_when_alone),
		T6(tags_need_room),
		T6(driver_still_holds_it),
		T6(tails_are_not_summed_again),
		T6(odd_header_is_chained),
		T6(no_room_in_front_copies),
		T6(datagrams_without_buffer_are_copied),
		T6(longer_than_the_mtu_is_dropped),
	};
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
