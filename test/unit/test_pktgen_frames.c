/* SPDX-License-Identifier: BSD-2-Clause */
/* Each kind of frame against the parsers it is meant for: the leg's door (rd/packet.h)
 * and a whole Suci endpoint, whose counters must rise as scenarios expect. */
#include "cmocka_all.h"

#include "pktgen/frames.h"

#include "rd/packet.h"
#include "suci/endpoint.h"
#include "wire_internal.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES 1000

static const struct pg_conf conf = {
	.dst_mac = {2, 0, 0, 0, 0, 1},
	.src_mac = {2, 0, 0, 0, 0, 10},
	.dst_ip = 0x0a000001,
	.src_ip = 0x0a00000a,
	.dst_port = 7812,
	.mtu = 1500,
	.seed = 99,
};
static const struct rd_station station = {
	.mac = {2, 0, 0, 0, 0, 1},
	.address = 0x0a000001,
	.prefix_len = 24,
	.udp_port = 7812,
};

static struct pg_gen
only(enum pg_kind kind)
{
	struct pg_conf c = conf;
	struct pg_gen g;
	c.weight[kind] = 1;
	assert_true(pg_init(&g, &c));
	return g;
}

/* ---- at the door --------------------------------------------------------------- */

static void
door_drops_each_under_its_name(void **state)
{
	static const struct {
		enum pg_kind kind;
		enum rd_rx_drop drop;
	} cases[] = {
		{PG_bad_ip_checksum, RD_DROP_ip_checksum},
		{PG_bad_udp_checksum, RD_DROP_udp_checksum},
		{PG_ip_fragment, RD_DROP_ip_fragment},
		{PG_vlan, RD_DROP_vlan},
		{PG_wrong_mac, RD_DROP_mac},
		{PG_short_frame, RD_DROP_short},
		{PG_long_ip, RD_DROP_ip_length},
	};
	(void)state;
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct pg_gen g = only(cases[c].kind);
		for (int i = 0; i < FRAMES; i++) {
			uint8_t f[PG_FRAME_MAX];
			struct rd_rx_frame out;
			enum pg_kind kind;
			size_t len = pg_next(&g, f, &kind);
			assert_int_equal(kind, cases[c].kind);
			assert_in_range(len, 15, PG_FRAME_MAX);
			rd_packet_parse(&station, f, len, &out);
			assert_int_equal(out.verdict, RD_RX_DROP);
			assert_int_equal(out.drop, cases[c].drop);
		}
		assert_int_equal(g.made[cases[c].kind], FRAMES);
	}
}

static void
one_arp_in_four_is_for_us(void **state)
{
	struct pg_gen g = only(PG_arp_storm);
	(void)state;
	for (int i = 0; i < FRAMES; i++) {
		uint8_t f[PG_FRAME_MAX];
		struct rd_rx_frame out;
		enum pg_kind kind;
		size_t len = pg_next(&g, f, &kind);
		rd_packet_parse(&station, f, len, &out);
		if (i % 4 == 3) {
			assert_int_equal(out.verdict, RD_RX_ARP_REQUEST);
			assert_int_not_equal(out.src_ip, conf.src_ip);
			assert_int_equal(out.src_ip >> 8, conf.src_ip >> 8);
		} else {
			assert_int_equal(out.verdict, RD_RX_DROP);
			assert_int_equal(out.drop, RD_DROP_arp_other);
		}
	}
}

/* ---- at the endpoint ----------------------------------------------------------- */

static int
accept_all(void *user, const struct suci_addr *from, const void *hello, size_t len,
	   char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len, (void)why;
	return 0;
}

static void
on_up(void *user, uint32_t path, const struct suci_addr *peer, const void *hello, size_t len,
      bool incoming)
{
	(void)user, (void)path, (void)peer, (void)hello, (void)len, (void)incoming;
	fail_msg("a path came up");
}

static void
on_down(void *user, uint32_t path, enum suci_down why, const char *text)
{
	(void)user, (void)path, (void)why, (void)text;
}

static enum suci_verdict
on_segment(void *user, uint32_t path, const struct suci_segment *seg, uint64_t now_ns)
{
	(void)user, (void)path, (void)seg, (void)now_ns;
	fail_msg("a segment reached the upper layer");
	return SUCI_DROPPED;
}

static void
on_released(void *user, uint32_t path, uint64_t cookie, enum suci_fate fate, uint64_t now_ns)
{
	(void)user, (void)path, (void)cookie, (void)fate, (void)now_ns;
}

/* FRAMES of one kind through door and endpoint; the endpoint's counters. */
static struct suci_counters
play(enum pg_kind only_kind, uint64_t *answers)
{
	static const struct suci_ops ops = {
		.accept = accept_all,
		.path_up = on_up,
		.path_down = on_down,
		.segment = on_segment,
		.released = on_released,
	};
	static struct suci_out out;
	struct suci_config c = {
		.limits = {.paths_max = 8, .segments_max = 64, .queue_max = 16, .window_max = 16},
		.incarnation = 77,
		.mtu_max = 1472,
		.ops = &ops,
	};
	void *mem = aligned_alloc(64, suci_footprint(&c.limits));
	assert_non_null(mem);
	uint64_t now = 1000000000;
	struct suci *ep = suci_new(mem, &c, now);
	assert_non_null(ep);
	struct pg_gen g = only(only_kind);
	*answers = 0;
	for (int i = 0; i < FRAMES; i++, now += 100000) {
		uint8_t f[PG_FRAME_MAX];
		struct rd_rx_frame r;
		enum pg_kind kind;
		size_t len = pg_next(&g, f, &kind);
		rd_packet_parse(&station, f, len, &r);
		assert_int_equal(r.verdict, RD_RX_SUCI);
		assert_int_equal(r.frame_len, len);
		assert_int_equal(r.src_ip, conf.src_ip);
		struct suci_addr from = {.family = 4, .port = r.src_port};
		memcpy(from.ip + 12, &r.src_ip, 4);
		suci_rx(ep, &from, f + r.payload_off, r.payload_len, 0, now);
		while (suci_tx(ep, &out, now))
			(*answers)++;
	}
	struct suci_counters n = *suci_counters(ep);
	free(suci_fini(ep, now));
	assert_int_equal(n.rx_datagrams, FRAMES);
	assert_int_equal(n.paths_opened, 0);
	return n;
}

static uint64_t
all_drops(const struct suci_counters *n)
{
	return n->drop_short + n->drop_version + n->drop_type + n->drop_malformed + n->drop_sealed +
	       n->drop_unknown_tag + n->drop_address + n->drop_state + n->drop_cookie;
}

static void
endpoint_counts_each_under_its_name(void **state)
{
	uint64_t answers;
	(void)state;
	struct suci_counters n = play(PG_garbage, &answers);
	assert_int_equal(all_drops(&n), FRAMES);
	n = play(PG_truncated, &answers);
	assert_int_equal(n.drop_short, FRAMES);
	assert_int_equal(answers, 0);
	n = play(PG_bad_version, &answers);
	assert_int_equal(n.drop_version, FRAMES);
	n = play(PG_bad_type, &answers);
	assert_int_equal(n.drop_type, FRAMES);
	n = play(PG_unknown_tag, &answers);
	assert_int_equal(n.drop_unknown_tag, FRAMES);
	n = play(PG_over_mtu, &answers);
	assert_int_equal(n.drop_unknown_tag, FRAMES);
	n = play(PG_replay_data, &answers);
	assert_int_equal(n.drop_unknown_tag, FRAMES);
	n = play(PG_bad_cookie, &answers);
	assert_int_equal(n.drop_cookie, FRAMES);
	assert_int_equal(answers, 0);
	n = play(PG_replay_open, &answers);
	assert_int_equal(n.drop_cookie, FRAMES);
	assert_int_equal(answers, 0);
}

static void
every_hello_gets_a_cookie_and_no_path(void **state)
{
	uint64_t answers;
	(void)state;
	struct suci_counters n = play(PG_hello_flood, &answers);
	assert_int_equal(all_drops(&n), 0);
	assert_int_equal(answers, FRAMES);
}

static void
replays_are_one_frame(void **state)
{
	static const enum pg_kind cases[] = {PG_replay_hello, PG_replay_open, PG_replay_data};
	(void)state;
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct pg_gen g = only(cases[c]);
		uint8_t first[PG_FRAME_MAX], f[PG_FRAME_MAX];
		enum pg_kind kind;
		size_t len = pg_next(&g, first, &kind);
		assert_in_range(len, RD_FRAME_HDR + 16, PG_SAVED_MAX);
		for (int i = 1; i < FRAMES; i++) {
			assert_int_equal(pg_next(&g, f, &kind), len);
			assert_memory_equal(f, first, len);
		}
		assert_int_equal(g.made[cases[c]], FRAMES);
	}
}

/* Larger than the leg takes, at the least and the largest MTU, and whole but for that. */
static void
too_large_is_by_the_mtu(void **state)
{
	static const uint16_t mtu[] = {PG_MTU_MIN, 1500, 9000, PG_MTU_MAX};
	(void)state;
	for (size_t c = 0; c < sizeof mtu / sizeof mtu[0]; c++) {
		struct pg_conf with = conf;
		struct pg_gen g;
		with.mtu = mtu[c];
		with.weight[PG_over_mtu] = with.weight[PG_long_ip] = 1;
		assert_true(pg_init(&g, &with));
		for (int i = 0; i < FRAMES; i++) {
			uint8_t f[PG_FRAME_MAX];
			struct rd_rx_frame r;
			enum pg_kind kind;
			size_t len = pg_next(&g, f, &kind) - RD_ETH_HDR;
			uint32_t total = (uint32_t)f[RD_ETH_HDR + 2] << 8 | f[RD_ETH_HDR + 3];
			assert_true(total > mtu[c]);
			rd_packet_parse(&station, f, len + RD_ETH_HDR, &r);
			if (kind == PG_over_mtu) {
				assert_in_range(len, mtu[c] + 1, mtu[c] + PG_OVER_MAX);
				assert_int_equal(total, len);
				assert_int_equal(r.verdict, RD_RX_SUCI);
			} else {
				assert_true(len < 256);
				assert_int_equal(r.drop, RD_DROP_ip_length);
			}
		}
	}
}

/* Uncut, those datagrams are well-formed: it is the cut that is dropped. */
static void
what_is_cut_was_whole(void **state)
{
	struct pg_gen g = only(PG_truncated);
	bool seen[PG_WHOLE] = {false};
	(void)state;
	for (int i = 0; i < 3 * PG_WHOLE; i++) {
		uint8_t f[PG_FRAME_MAX];
		enum pg_kind kind;
		struct suci_path_hdr h;
		struct suci_body b;
		size_t len = pg_next(&g, f, &kind) - RD_FRAME_HDR;
		const uint8_t *d = f + RD_FRAME_HDR;
		assert_in_range(len, 0, PG_WHOLE - 1);
		seen[len] = true;
		assert_true(suci_path_hdr_decode(&h, d, PG_WHOLE));
		assert_int_equal(h.version, SUCI_VERSION);
		assert_true(suci_body_decode(&b, d + SUCI_PATH_HDR, PG_WHOLE - SUCI_PATH_HDR));
		assert_int_equal(b.hello_len, 16);
		if (len > SUCI_PATH_HDR)
			assert_false(suci_body_decode(&b, d + SUCI_PATH_HDR, len - SUCI_PATH_HDR));
	}
	for (int i = 0; i < PG_WHOLE; i++)
		assert_true(seen[i]);
}

/* ---- the sequence -------------------------------------------------------------- */

static void
seed_decides_all_bytes(void **state)
{
	struct pg_conf c = conf;
	struct pg_gen a, b, other;
	bool differs = false;
	(void)state;
	for (int k = 0; k < PG_KINDS_COUNT; k++)
		c.weight[k] = (uint32_t)k; /* kind 0 never */
	assert_true(pg_init(&a, &c) && pg_init(&b, &c));
	c.seed++;
	assert_true(pg_init(&other, &c));
	for (int i = 0; i < 10 * FRAMES; i++) {
		uint8_t fa[PG_FRAME_MAX], fb[PG_FRAME_MAX], fo[PG_FRAME_MAX];
		enum pg_kind ka, kb, ko;
		size_t la = pg_next(&a, fa, &ka), lb = pg_next(&b, fb, &kb);
		size_t lo = pg_next(&other, fo, &ko);
		assert_int_equal(la, lb);
		assert_int_equal(ka, kb);
		assert_memory_equal(fa, fb, la);
		differs = differs || la != lo || memcmp(fa, fo, la) != 0;
	}
	assert_true(differs);
	assert_int_equal(a.made[0], 0);
	/* Kind k has k parts of all. */
	for (uint32_t k = 2, all = PG_KINDS_COUNT * (PG_KINDS_COUNT - 1) / 2; k < PG_KINDS_COUNT;
	     k++)
		assert_in_range(a.made[k], 10 * FRAMES * k / all * 6 / 10,
				10 * FRAMES * k / all * 14 / 10);
}

static void
broken_confs_are_refused(void **state)
{
	struct pg_conf c = conf;
	struct pg_gen g;
	(void)state;
	assert_false(pg_init(&g, &c)); /* no weight */
	c.weight[PG_vlan] = PG_WEIGHT_MAX + 1;
	assert_false(pg_init(&g, &c));
	c.weight[PG_vlan] = 1;
	assert_true(pg_init(&g, &c));
	c.src_ip = c.dst_ip;
	assert_false(pg_init(&g, &c));
	c = conf;
	c.weight[PG_vlan] = 1;
	c.dst_port = 0;
	assert_false(pg_init(&g, &c));
	c = conf;
	c.weight[PG_vlan] = 1;
	c.mtu = PG_MTU_MIN - 1;
	assert_false(pg_init(&g, &c));
	c.mtu = PG_MTU_MAX + 1;
	assert_false(pg_init(&g, &c));
	for (int k = 0; k < PG_KINDS_COUNT; k++)
		assert_int_equal(pg_kind_find(pg_kind_names[k]), k);
	assert_int_equal(pg_kind_find("vla"), PG_KINDS_COUNT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(door_drops_each_under_its_name),
		cmocka_unit_test(one_arp_in_four_is_for_us),
		cmocka_unit_test(endpoint_counts_each_under_its_name),
		cmocka_unit_test(every_hello_gets_a_cookie_and_no_path),
		cmocka_unit_test(replays_are_one_frame),
		cmocka_unit_test(too_large_is_by_the_mtu),
		cmocka_unit_test(what_is_cut_was_whole),
		cmocka_unit_test(seed_decides_all_bytes),
		cmocka_unit_test(broken_confs_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
