/* SPDX-License-Identifier: BSD-2-Clause */
/* Between a leg and its port: tags are taken away and put in, two legs share one port. */
#include "cmocka_all.h"

#include "base/bytes.h"
#include "driver/eal.h"
#include "driver/pool.h"
#include "edge.h"
#include "rd/packet6.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <string.h>

#define LEN 120u

static struct rte_mempool *pool;
static struct rd_leg private, global;
static const struct rd_six six = {.address = {0x20, 1, 0xd, 0xb8, [15] = 1}, .prefix_len = 64};

static int
group_setup(void **state)
{
	struct rd_eal_opts o = {.prog = "test", .main_lcore = -1, .mem_mb = 32};
	struct rd_pool_plan plan = {.count = 512, .room_bytes = 2048 + RTE_PKTMBUF_HEADROOM};
	char err[256];
	(void)state;
	return rd_eal_start(&o, err, sizeof err) ||
	       rd_pool_create(&pool, "edges", &plan, 0, err, sizeof err);
}

static int
group_teardown(void **state)
{
	(void)state;
	uint32_t left = rd_pool_free(pool);
	rd_eal_stop();
	return left != 0;
}

static int
setup(void **state)
{
	(void)state;
	private = (struct rd_leg){
		.index = 0,
		.self = {.mac = {2, 0, 0, 0, 0, 1}, .address = 0x0a000001, .prefix_len = 24}};
	global = (struct rd_leg){
		.index = 1,
		.self = {.mac = {2, 0, 0, 0, 0, 1}, .address = 0xc6336401, .prefix_len = 24}};
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	return rd_pool_in_use(pool) ? -1 : 0;
}

/* A datagram to dst, tagged if tci is not 0: in the frame, or as a port that strips says. */
static struct rte_mbuf *
came(uint32_t dst, uint16_t tci, bool stripped)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *f = (uint8_t *)rte_pktmbuf_append(m, LEN);
	memset(f, 0x77, LEN);
	rd_write_udp(f, &(struct rd_station){.mac = {2, 0, 0, 0, 0, 9}, .address = 0x0a000009},
		     private.self.mac, dst, 7812, 1, LEN - RD_FRAME_HDR, 0);
	if (tci && stripped) {
		m->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		m->vlan_tci = tci;
	} else if (tci) {
		assert_non_null(rte_pktmbuf_prepend(m, RD_VLAN_TAG));
		rd_packet_tag(f, tci);
	}
	return m;
}

/* Whose it is; it is untagged then, and changed in nothing else. */
static struct rd_leg *
whose(struct rd_leg *other, uint32_t dst, uint16_t tci, bool stripped)
{
	struct rte_mbuf *plain = came(dst, 0, false), *m = came(dst, tci, stripped);
	struct rd_leg *leg = rd_edge_in(&private, other, m);
	if (leg && (leg->vlan || !tci)) {
		assert_int_equal(m->data_len, LEN);
		assert_int_equal(m->pkt_len, LEN);
		assert_memory_equal(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(plain, void *),
				    LEN);
	}
	rte_pktmbuf_free(plain);
	rte_pktmbuf_free(m);
	return leg;
}

static void
one_vlan_is_taken(void **state)
{
	(void)state;
	private.vlan = 10;
	for (int stripped = 0; stripped < 2; stripped++) {
		assert_ptr_equal(whose(NULL, 0x0a000001, 10, stripped), &private);
		assert_ptr_equal(whose(NULL, 0x0a000001, 0xe00a, stripped),
				 &private); /* priority */
		assert_null(whose(NULL, 0x0a000001, 11, stripped));
		assert_null(whose(NULL, 0x0a000001, 0, stripped));
	}
	private.vlan = 0;
	assert_ptr_equal(whose(NULL, 0x0a000001, 0, false), &private);
	assert_null(whose(NULL, 0x0a000001, 10, true));
	/* Tagged in the frame: the parser drops it. */
	struct rte_mbuf *m = came(0x0a000001, 10, false);
	struct rd_rx_frame f;
	assert_ptr_equal(rd_edge_in(&private, NULL, m), &private);
	rd_packet_parse(&private.self, rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &f);
	assert_int_equal(f.drop, RD_DROP_vlan);
	rte_pktmbuf_free(m);
}

static void
two_vlans_share_a_port(void **state)
{
	(void)state;
	for (int stripped = 0; stripped < 2; stripped++) {
		private.vlan = 10;
		global.vlan = 20;
		assert_ptr_equal(whose(&global, 0x0a000001, 10, stripped), &private);
		assert_ptr_equal(whose(&global, 0xc6336401, 20, stripped), &global);
		/* The tag says it, not the address. */
		assert_ptr_equal(whose(&global, 0xc6336401, 10, stripped), &private);
		assert_null(whose(&global, 0x0a000001, 30, stripped));
		assert_null(whose(&global, 0x0a000001, 0, stripped));
		private.vlan = 0;
		assert_ptr_equal(whose(&global, 0xc6336401, 20, stripped), &global);
		assert_ptr_equal(whose(&global, 0xc6336401, 0, stripped), &private);
		assert_null(whose(&global, 0xc6336401, 30, stripped));
		private.vlan = 10;
		global.vlan = 0;
		assert_ptr_equal(whose(&global, 0x0a000001, 10, stripped), &private);
		assert_ptr_equal(whose(&global, 0x0a000001, 0, stripped), &global);
	}
}

/* A solicitation for that leg's address, tagged: whose it is, if it can still be read. */
static struct rd_leg *
solicited(const struct rd_six *target, uint16_t tci, bool stripped)
{
	static const struct rd_six from = {.address = {0x20, 1, 0xd, 0xb8, [15] = 9},
					   .prefix_len = 64};
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *at = (uint8_t *)rte_pktmbuf_append(m, RD_ND_FRAME);
	struct rd_station s = {.mac = {2, 0, 0, 0, 0, 9}, .six = &from};
	struct rd_rx_frame f;
	rd_write_nd_request(at, &s, target->address, NULL);
	if (tci && stripped) {
		m->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		m->vlan_tci = tci;
	} else if (tci) {
		assert_non_null(rte_pktmbuf_prepend(m, RD_VLAN_TAG));
		rd_packet_tag(at, tci);
	}
	struct rd_leg *leg = rd_edge_in(&private, &global, m);
	if (leg) {
		rd_packet_parse(&leg->self, rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &f);
		assert_int_equal(f.verdict, memcmp(leg->self.six->address, target->address, 16) == 0
						    ? RD_RX_ND_REQUEST
						    : RD_RX_DROP);
	}
	rte_pktmbuf_free(m);
	return leg;
}

/* Neighbours are asked for in groups, and the VLAN alone says whose the question is. */
static void
discovery_is_in_a_vlan(void **state)
{
	static const struct rd_six inside = {.address = {0xfd, [15] = 1}, .prefix_len = 64};
	(void)state;
	private.vlan = 10;
	global.vlan = 20;
	private.self.six = &inside;
	global.self.six = &six;
	for (int stripped = 0; stripped < 2; stripped++) {
		assert_ptr_equal(solicited(&inside, 10, stripped), &private);
		assert_ptr_equal(solicited(&six, 20, stripped), &global);
		assert_ptr_equal(solicited(&six, 10, stripped), &private); /* drops it */
		assert_null(solicited(&six, 30, stripped));
		assert_null(solicited(&inside, 0, stripped));
	}
}

static struct rd_leg *
arp_of(uint32_t sender, uint32_t target)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *f = (uint8_t *)rte_pktmbuf_append(m, RD_ARP_FRAME);
	struct rd_station s = {.mac = {2, 0, 0, 0, 0, 9}, .address = sender};
	rd_write_arp_request(f, &s, target, NULL);
	struct rd_leg *leg = rd_edge_in(&private, &global, m);
	rte_pktmbuf_free(m);
	return leg;
}

static void
two_subnets_share_a_port(void **state)
{
	(void)state;
	for (uint16_t vlan = 0; vlan < 8; vlan = (uint16_t)(vlan + 7)) {
		private.vlan = global.vlan = vlan;
		assert_ptr_equal(whose(&global, 0xc6336401, vlan, true), &global);
		assert_ptr_equal(whose(&global, 0x0a000001, vlan, false), &private);
		assert_ptr_equal(whose(&global, 0x0a000099, vlan, false), &private);
	}
	private.vlan = global.vlan = 0;
	global.self.nmore = 1;
	global.self.more[0] = 0xc6336408;
	assert_ptr_equal(whose(&global, 0xc6336408, 0, false), &global);
	assert_ptr_equal(arp_of(0xc6336409, 0xc6336401), &global);
	assert_ptr_equal(arp_of(0xc6336409, 0xc6336409), &global); /* told to all */
	assert_ptr_equal(arp_of(0xc6336401, 0xc6336401), &global); /* claims ours */
	assert_ptr_equal(arp_of(0x0a000009, 0x0a000001), &private);
	assert_ptr_equal(arp_of(0x0a000009, 0x0a000009), &private);
	/* IPv6 is the leg's that has an address. */
	uint8_t frame[RD_ETH_HDR + 40] = {[12] = 0x86, [13] = 0xdd};
	assert_false(rd_packet_concerns(&global.self, frame, sizeof frame));
	global.self.six = &six;
	assert_true(rd_packet_concerns(&global.self, frame, sizeof frame));
}

/* Room in front, the checksums' place, and what custody holds. */
static void
tags_are_written(void **state)
{
	(void)state;
	struct rte_mbuf *m = came(0x0a000001, 0, false), *same = came(0x0a000001, 0, false);
	private.vlan = 0;
	assert_true(rd_edge_out(&private, m));
	assert_int_equal(m->data_len, LEN);
	private.vlan = 4094;
	rte_mbuf_refcnt_update(m, 1); /* custody's */
	m->l2_len = RD_ETH_HDR;
	m->ol_flags = RTE_MBUF_F_TX_UDP_CKSUM;
	assert_true(rd_edge_out(&private, m));
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
	assert_int_equal(m->data_len, LEN + RD_VLAN_TAG);
	assert_int_equal(m->pkt_len, LEN + RD_VLAN_TAG);
	assert_int_equal(m->l2_len, RD_ETH_HDR + RD_VLAN_TAG);
	assert_int_equal(be32_load(f + 12), 0x81000ffe);
	assert_memory_equal(f, rte_pktmbuf_mtod(same, void *), 12);
	assert_memory_equal(f + 16, rte_pktmbuf_mtod_offset(same, void *, 12), LEN - 12);
	rte_mbuf_refcnt_update(m, -1);
	rte_pktmbuf_free(m);
	same->data_off = RD_VLAN_TAG - 1; /* no room */
	assert_false(rd_edge_out(&private, same));
	assert_int_equal(same->data_len, LEN);
	rte_pktmbuf_free(same);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(one_vlan_is_taken),	     T(two_vlans_share_a_port), T(discovery_is_in_a_vlan),
		T(two_subnets_share_a_port), T(tags_are_written),
	};
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
