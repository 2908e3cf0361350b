/* SPDX-License-Identifier: BSD-2-Clause */
/* gateway/gateway.h: channels and lanes, memory and its shares. */
#include "cmocka_all.h"

#include "gateway_kit.h"

static struct kit *
start(uint64_t packet_bytes)
{
	struct kit *k = kit_new(packet_bytes);
	kit_up(k);
	kit_core_up(k);
	return k;
}

static void
test_both_ways(void **state)
{
	(void)state;
	static const uint32_t size[] = {0, 1, 64, 65, 1300, 1400, 4095, 4096, 2, 0};
	struct kit *k = start(1 << 20);
	for (uint32_t i = 0; i < 10; i++) {
		kit_say(k, 1, i & 1 ? IMPI_PK_DATA : IMPI_PK_DATASYNC, 0, 4, size[i], i);
		kit_proc_say(k, i & 1 ? IMPI_PK_SYNCACK : IMPI_PK_DATA, 4, 0, size[i], 50 + i);
		kit_proc_say(k, IMPI_PK_DATA, 7, 1, size[i], 90 + i);
	}
	kit_run(k, 20 * BASE_MS_NS);
	uint32_t from4 = 0, from7 = 0;
	for (uint32_t i = 0; i < 10; i++)
		kit_proc_heard(k, i, i & 1 ? IMPI_PK_DATA : IMPI_PK_DATASYNC, 0, 4, size[i], i);
	while (from4 + from7 < 20) {
		size_t at = k->ch[1].at;
		struct impi_packet p = kit_next(k, 1);
		k->ch[1].at = at;
		if (p.src.pid == 1004) {
			kit_heard(k, 1, from4 & 1 ? IMPI_PK_SYNCACK : IMPI_PK_DATA, 4, 0,
				  size[from4], 50 + from4);
			from4++;
		} else {
			kit_heard(k, 1, IMPI_PK_DATA, 7, 1, size[from7], 90 + from7);
			from7++;
		}
	}
	assert_int_equal(from4, 10);
	const struct gw_counters *n = gw_counters(k->g);
	assert_int_equal(n->rx_lane, 20);
	assert_int_equal(n->tx_lane, 10);
	assert_int_equal(n->direct, 0);
	assert_int_equal(k->done, 20);
	assert_int_equal(gw_held_bytes(k->g), 0);
	kit_free(k);
}

/* Loss and disorder on the way: order per pair and every byte stay. */
static void
test_lossy(void **state)
{
	(void)state;
	struct kit *k = start(1 << 20);
	k->job.hiwater = 20;
	k->l.loss_ppb = 50000000;
	k->l.jitter_ns = 400000;
	k->l.dup_ppb = 20000000;
	for (uint32_t i = 0; i < 20; i++) {
		kit_say(k, 1, IMPI_PK_DATA, 0, 5, (i * 613) % 4097, i);
		kit_proc_say(k, IMPI_PK_DATA, 5, 0, (i * 719) % 4097, 50 + i);
	}
	kit_run(k, 2 * BASE_S_NS);
	for (uint32_t i = 0; i < 20; i++) {
		kit_proc_heard(k, i, IMPI_PK_DATA, 0, 5, (i * 613) % 4097, i);
		kit_heard(k, 1, IMPI_PK_DATA, 5, 0, (i * 719) % 4097, 50 + i);
	}
	kit_free(k);
}

/* The channel is there before the core: packets wait for the path, other relays too. */
static void
test_before_the_path(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	kit_up(k);
	for (uint32_t i = 0; i < 5; i++) {
		kit_say(k, 1, IMPI_PK_DATA, 0, 4, 100, i);
		kit_say(k, 1, IMPI_PK_DATA, 1, 6, 100, 10 + i);
	}
	kit_run(k, 10 * BASE_MS_NS);
	assert_true(gw_held_bytes(k->g) > 0);
	kit_core_up(k);
	kit_run(k, 10 * BASE_MS_NS);
	assert_int_equal(k->nrx, 10);
	for (uint32_t i = 0, a = 0, b = 0; i < 10; i++) {
		if (k->rx[i].from == 0)
			kit_proc_heard(k, i, IMPI_PK_DATA, 0, 4, 100, a++);
		else
			kit_proc_heard(k, i, IMPI_PK_DATA, 1, 6, 100, 10 + b++);
	}
	assert_int_equal(gw_held_bytes(k->g), 0);
	kit_free(k);
}

static void
test_no_path_at_all(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	kit_up(k);
	kit_say(k, 1, IMPI_PK_DATA, 0, 4, 100, 0);
	kit_read_all(k, SIZE_MAX);
	k->l.now_ns += 61 * BASE_S_NS;
	assert_true(gw_expiry_ns(k->g) <= k->l.now_ns);
	gw_tick(k->g, k->l.now_ns);
	assert_int_equal(k->failed, 1);
	assert_int_equal(gw_counters(k->g)->failed_path, 1);
	assert_non_null(strstr(k->why, "no path"));
	kit_free(k);
}

static void
test_path_lost(void **state)
{
	(void)state;
	struct kit *k = start(1 << 20);
	kit_say(k, 1, IMPI_PK_DATA, 0, 4, 4096, 0);
	kit_say(k, 1, IMPI_PK_DATA, 1, 4, 4096, 0);
	kit_say(k, 1, IMPI_PK_DATA, 1, 5, 4096, 0);
	kit_read_all(k, SIZE_MAX);
	k->l.cut = true;
	kit_run(k, 20 * BASE_S_NS);
	assert_int_equal(k->failed, 1);
	assert_int_equal(gw_counters(k->g)->failed_path, 1);
	assert_int_equal(gw_held_bytes(k->g), 0);
	kit_free(k);
}

/* Flow control of pairs with a lane: PROTOACK passes both ways and counts. */
static void
test_credit_over_lanes(void **state)
{
	(void)state;
	struct kit *k = start(1 << 20);
	for (uint32_t i = 0; i < 20; i++)
		kit_say(k, 1, IMPI_PK_DATA, 0, 4, 10, i);
	kit_run(k, 5 * BASE_MS_NS);
	kit_proc_say(k, IMPI_PK_PROTOACK, 4, 0, 0, 0);
	kit_run(k, 5 * BASE_MS_NS);
	kit_heard(k, 1, IMPI_PK_PROTOACK, 4, 0, 0, 0);
	for (uint32_t i = 20; i < 30; i++)
		kit_say(k, 1, IMPI_PK_DATA, 0, 4, 10, i);
	kit_run(k, 5 * BASE_MS_NS);
	assert_int_equal(k->failed, 0);
	for (uint32_t i = 0; i < 30; i++)
		kit_proc_heard(k, i, IMPI_PK_DATA, 0, 4, 10, i);
	/* The host acknowledges what a process sent. */
	for (uint32_t i = 0; i < 10; i++)
		kit_proc_say(k, IMPI_PK_DATA, 6, 0, 10, i);
	kit_run(k, 5 * BASE_MS_NS);
	kit_say(k, 1, IMPI_PK_PROTOACK, 0, 6, 0, 3);
	kit_run(k, 5 * BASE_MS_NS);
	kit_proc_heard(k, 30, IMPI_PK_PROTOACK, 0, 6, 0, 3);
	/* Once more than it got. */
	kit_say(k, 1, IMPI_PK_PROTOACK, 0, 6, 0, 3);
	kit_run(k, BASE_MS_NS);
	assert_int_equal(k->failed, 1);
	assert_non_null(strstr(k->why, "acknowledges packets from process 6 to 0"));
	kit_free(k);
}

/* Blocks that are no packets are dropped and counted; what follows them arrives. */
static void
test_malformed_blocks(void **state)
{
	(void)state;
	struct kit *k = start(1 << 20);
	for (uint32_t i = 0; i < 7; i++) {
		uint8_t *b = calloc(1, 8192);
		size_t len = kit_packet(k, b, 1, IMPI_PK_DATA, 4, 0, 100, i);
		if (i == 0)
			len = 60; /* shorter than a header */
		if (i == 1)
			len = 8000; /* longer than DATALEN */
		if (i == 2)
			be32_store(b + 4, 99); /* length does not fit the block */
		if (i == 3)
			be32_store(b, 9);
		if (i == 4) {
			be32_store(b, IMPI_PK_FINI);
			len = 128;
		}
		if (i == 5) {
			be32_store(b, IMPI_PK_PROTOACK); /* of nothing */
			len = 128;
		}
		assert_int_equal(suci_lane_send(k->lanes, kit_lane(k, 4, 0), NULL, 0, b, len, false,
						(uintptr_t)b, k->l.now_ns),
				 0);
	}
	kit_run(k, 20 * BASE_MS_NS);
	kit_heard(k, 1, IMPI_PK_DATA, 4, 0, 100, 6);
	assert_int_equal(gw_counters(k->g)->drop_lane_malformed, 6);
	assert_int_equal(k->failed, 0);
	kit_free(k);
}

/* One host that takes nothing, and one process that has no room, leave the other pairs at
 * full speed, and memory under its bound. */
static void
test_slow_ones(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	k->job.hiwater = 1000;
	k->job.ackmark = 10;
	kit_up(k);
	kit_core_up(k);
	/* Host 0 takes nothing on the channel of gate 1: lanes for it fill their share. */
	k->ch[1].room = 0;
	for (uint32_t i = 0; i < 400; i++)
		kit_proc_say(k, IMPI_PK_DATA, 4 + i % 2, 0, 4096, i / 2);
	kit_run(k, 100 * BASE_MS_NS);
	const struct gw_counters *n = gw_counters(k->g);
	assert_true(n->refused_lane_memory > 0);
	uint64_t held = gw_held_bytes(k->g);
	assert_in_range(held, 200000, 350000); /* half of what lanes have */
	/* Meanwhile: channel to channel, and from that very channel to a lane. */
	uint64_t now = k->l.now_ns;
	for (uint32_t i = 0; i < 500; i++) {
		kit_say(k, 0, IMPI_PK_DATA, 0, 2, 4096, i);
		kit_say(k, 2, IMPI_PK_DATA, 2, 0, 4096, i);
		kit_read_all(k, SIZE_MAX);
	}
	for (uint32_t i = 0; i < 500; i++) {
		kit_heard(k, 2, IMPI_PK_DATA, 0, 2, 4096, i);
		kit_heard(k, 0, IMPI_PK_DATA, 2, 0, 4096, i);
	}
	assert_int_equal(k->l.now_ns, now); /* nobody waited for a clock */
	for (uint32_t i = 0; i < 50; i++)
		kit_say(k, 1, IMPI_PK_DATA, 1, 7, 4096, i);
	kit_run(k, 20 * BASE_MS_NS);
	for (uint32_t i = 0; i < 50; i++)
		kit_proc_heard(k, i, IMPI_PK_DATA, 1, 7, 4096, i);
	/* Now the process side has no room either: the channel stops, the others go on. */
	k->stopped = true;
	for (uint32_t i = 50; i < 250; i++)
		kit_say(k, 1, IMPI_PK_DATA, 1, 7, 4096, i);
	kit_run(k, 20 * BASE_MS_NS);
	struct gw_channel_info info;
	assert_true(gw_channel(k->g, k->ch[1].chan, &info));
	assert_true(info.paused);
	assert_true(n->pauses > 0);
	assert_true(gw_held_bytes(k->g) < 950000);
	for (uint32_t i = 500; i < 700; i++) {
		kit_say(k, 0, IMPI_PK_DATA, 0, 2, 4096, i);
		kit_read_all(k, SIZE_MAX);
		kit_heard(k, 2, IMPI_PK_DATA, 0, 2, 4096, i);
	}
	/* Both wake up: everything arrives. */
	k->stopped = false;
	k->ch[1].room = SIZE_MAX;
	kit_write(k, &k->ch[1]);
	kit_run(k, 300 * BASE_MS_NS);
	assert_true(k->ch[1].readable > 0);
	for (uint32_t i = 50; i < 250; i++)
		kit_proc_heard(k, i, IMPI_PK_DATA, 1, 7, 4096, i);
	uint32_t at[2] = {0, 0};
	for (uint32_t i = 0; i < 400; i++) {
		size_t was = k->ch[1].at;
		uint32_t src = (uint32_t)kit_next(k, 1).lsrank;
		k->ch[1].at = was;
		assert_in_range(src, 4, 5);
		kit_heard(k, 1, IMPI_PK_DATA, src, 0, 4096, at[src - 4]++);
	}
	assert_int_equal(gw_held_bytes(k->g), 0);
	assert_int_equal(k->failed, 0);
	kit_free(k);
}

/* A packet of the greatest length in memory that takes few of them. */
static void
test_little_memory(void **state)
{
	(void)state;
	struct kit *k = kit_new(GW_PACKET_BYTES_MIN);
	k->job.datalen = 65536;
	k->job.hiwater = 50;
	kit_up(k);
	kit_core_up(k);
	for (uint32_t i = 0; i < 30; i++) {
		kit_say(k, 1, IMPI_PK_DATA, 0, 4, 65536 - i, i);
		kit_say(k, 0, IMPI_PK_DATA, 1, 2, 65536 - i, i);
		kit_proc_say(k, IMPI_PK_DATA, 4, 0, 65536 - i, i);
	}
	for (int i = 0; i < 200; i++) {
		k->ch[2].room = k->ch[1].room = 30000;
		kit_write(k, &k->ch[1]);
		kit_write(k, &k->ch[2]);
		kit_run(k, 5 * BASE_MS_NS);
	}
	for (uint32_t i = 0; i < 30; i++) {
		kit_proc_heard(k, i, IMPI_PK_DATA, 0, 4, 65536 - i, i);
		kit_heard(k, 1, IMPI_PK_DATA, 4, 0, 65536 - i, i);
		kit_heard(k, 2, IMPI_PK_DATA, 1, 2, 65536 - i, i);
	}
	assert_int_equal(gw_held_bytes(k->g), 0);
	kit_free(k);
}

static void
test_job_over_with_lanes(void **state)
{
	(void)state;
	for (int how = 0; how < 3; how++) {
		struct kit *k = start(1 << 20);
		k->ch[1].room = 0;
		for (uint32_t i = 0; i < 20; i++) {
			kit_say(k, 1, IMPI_PK_DATA, 0, 4, 4000, i);
			kit_proc_say(k, IMPI_PK_DATA, 4, 0, 4000, i);
		}
		kit_read_all(k, SIZE_MAX);
		kit_run(k, 200000);
		assert_true(gw_held_bytes(k->g) > 0);
		if (how == 0) {
			assert_int_equal(gw_job_abort(k->g, KIT_BASE, "x", k->l.now_ns), 0);
		} else if (how == 1) {
			gw_channel_eof(k->g, k->ch[0].chan, NULL, k->l.now_ns);
			assert_int_equal(k->failed, 1);
		} else {
			k->ch[1].room = SIZE_MAX;
			kit_write(k, &k->ch[1]);
			for (int i = 0; i < KIT_CHANS; i++)
				kit_say_fini(k, i);
			gw_job_finish(k->g, KIT_BASE, k->l.now_ns);
			kit_run(k, 20 * BASE_MS_NS);
			assert_int_equal(k->finished, 1);
		}
		kit_run(k, 20 * BASE_MS_NS);
		assert_int_equal(gw_held_bytes(k->g), 0);
		kit_free(k);
	}
}

/* A host sends, and is done before the process has it: the job ends when it has, or
 * after 30 s. */
static void
test_last_packets_are_delivered(void **state)
{
	(void)state;
	for (int comes = 0; comes < 2; comes++) {
		struct kit *k = start(1 << 20);
		k->l.cut = true;
		for (uint32_t i = 0; i < 3; i++)
			kit_say(k, 1, IMPI_PK_DATA, 0, 4, 4000, i);
		kit_read_all(k, SIZE_MAX);
		for (int i = 0; i < KIT_CHANS; i++)
			kit_say_fini(k, i);
		kit_read_all(k, SIZE_MAX);
		gw_job_finish(k->g, KIT_BASE, k->l.now_ns);
		kit_run(k, 50 * BASE_MS_NS);
		for (int i = 0; i < KIT_CHANS; i++)
			assert_true(k->ch[i].closed);
		assert_int_equal(k->finished, 0);
		if (comes) {
			k->l.cut = false;
			kit_run(k, BASE_S_NS);
			assert_int_equal(k->finished, 1);
			assert_int_equal(gw_counters(k->g)->tx_lane, 3);
		} else {
			kit_run(k, 30 * BASE_S_NS);
			assert_int_equal(k->finished, 1);
			assert_int_equal(gw_counters(k->g)->drop_job_over, 3);
		}
		assert_string_equal(k->why, "");
		assert_int_equal(gw_held_bytes(k->g), 0);
		kit_free(k);
	}
}

/* FINI leaves with a packet that a lane has just brought: the job ends inside the
 * lane's callback, and the lane with it a moment later. */
static void
test_finished_in_a_callback(void **state)
{
	(void)state;
	struct kit *k = start(1 << 20);
	kit_proc_say(k, IMPI_PK_DATA, 4, 0, 100, 0);
	kit_run(k, BASE_MS_NS);
	kit_heard(k, 1, IMPI_PK_DATA, 4, 0, 100, 0);
	k->ch[1].room = 0;
	for (int i = 0; i < KIT_CHANS; i++)
		kit_say_fini(k, i);
	kit_read_all(k, SIZE_MAX);
	gw_job_finish(k->g, KIT_BASE, k->l.now_ns);
	assert_true(k->ch[0].closed && k->ch[2].closed && !k->ch[1].closed);
	k->ch[1].room = SIZE_MAX; /* and nobody has told the gateway yet */
	kit_proc_say(k, IMPI_PK_DATA, 4, 0, 4096, 1);
	kit_run(k, BASE_MS_NS);
	assert_int_equal(k->finished, 1);
	assert_string_equal(k->why, "");
	kit_heard(k, 1, IMPI_PK_DATA, 4, 0, 4096, 1);
	kit_heard_fini(k, 1);
	kit_free(k);
}

/* Too many pairs at a time: a clear end, not silence. */
static void
test_too_many_pairs(void **state)
{
	(void)state;
	struct kit *k = kit_new(1 << 20);
	k->conf.limits.lanes_max = 2;
	LINK_GIVE(gw_fini(k->g, 0));
	k->g = gw_new(LINK_TAKE(gw_footprint(&k->conf.limits)), &k->conf, k->l.now_ns);
	k->l.ep[0] = gw_endpoint(k->g);
	kit_up(k);
	kit_core_up(k);
	kit_say(k, 1, IMPI_PK_DATA, 0, 4, 1, 0);
	kit_say(k, 0, IMPI_PK_DATA, 0, 2, 1, 0);
	kit_run(k, BASE_MS_NS);
	assert_int_equal(k->failed, 0);
	kit_proc_say(k, IMPI_PK_DATA, 6, 1, 1, 0);
	kit_run(k, BASE_MS_NS);
	assert_int_equal(k->failed, 1);
	assert_non_null(strstr(k->why, "too many pairs"));
	kit_free(k);
}

/* Random traffic, cuts, sockets that are full at random: every packet arrives, in order. */
static void
soak(uint64_t seed)
{
	struct kit *k = kit_new(GW_PACKET_BYTES_MIN << (seed % 3));
	struct base_prng r = base_prng_seed(seed);
	static const uint8_t gate_of[6][2] = {{0, 0}, {1, 4}, {1, 7}, {2, 0}, {0, 3}, {2, 1}};
	uint32_t said[6] = {0}, pid[2] = {0}, got[KIT_RANKS][KIT_RANKS] = {0};
	k->job.datalen = 1u << base_prng_below(&r, 16);
	k->job.hiwater = 2000;
	kit_up(k);
	kit_core_up(k);
	k->l.loss_ppb = seed & 1 ? 20000000 : 0;
	for (int step = 0; step < 300; step++) {
		uint32_t i = (uint32_t)base_prng_below(&r, 6);
		uint32_t len = (uint32_t)base_prng_below(&r, (uint64_t)k->job.datalen + 1);
		len = base_prng_chance(&r, 300000000) ? 0 : len;
		if (i == 0 || i == 4)
			kit_say(k, 0, IMPI_PK_DATA, i / 4, i ? 3 : 2, len, said[i]++);
		else if (i == 3 || i == 5)
			kit_say(k, 2, IMPI_PK_DATA, i == 3 ? 2 : 3, gate_of[i][1], len, said[i]++);
		else
			kit_say(k, 1, IMPI_PK_DATA, 0, gate_of[i][1], len, said[i]++);
		if (base_prng_chance(&r, 400000000)) {
			uint32_t p = (uint32_t)base_prng_below(&r, 2);
			kit_proc_say(k, IMPI_PK_DATA, 4 + p, 1, len, pid[p]++);
		}
		struct kit_chan *c = &k->ch[base_prng_below(&r, KIT_CHANS)];
		kit_read(k, c, 1 + base_prng_below(&r, 3000));
		c->room = base_prng_below(&r, 20000);
		kit_write(k, c);
		if (base_prng_chance(&r, 100000000))
			kit_run(k, base_prng_below(&r, 300000));
		k->stopped = base_prng_chance(&r, 200000000);
		kit_check(k);
	}
	k->stopped = false;
	for (int i = 0; i < KIT_CHANS; i++) {
		k->ch[i].room = SIZE_MAX;
		kit_write(k, &k->ch[i]);
	}
	kit_run(k, 3 * BASE_S_NS);
	assert_int_equal(k->failed, 0);
	assert_int_equal(gw_held_bytes(k->g), 0);
	for (int i = 0; i < KIT_CHANS; i++)
		assert_int_equal(k->ch[i].sent, k->ch[i].nsend);
	uint32_t total = 0, want = pid[0] + pid[1];
	for (int i = 0; i < 6; i++)
		want += said[i];
	for (int g = 0; g < KIT_CHANS; g++)
		for (; k->ch[g].at < k->ch[g].ngot; total++) {
			size_t at = k->ch[g].at;
			struct impi_packet p = kit_next(k, g);
			uint32_t src = (uint32_t)p.lsrank, dst = 0;
			while (memcmp(kit_id(k, g, dst), p.dest.hostid, 16) != 0 ||
			       be64_load(kit_id(k, g, dst) + 16) != p.dest.pid)
				dst++;
			k->ch[g].at = at;
			kit_heard(k, g, IMPI_PK_DATA, src, dst, p.len, got[src][dst]++);
		}
	for (uint32_t i = 0; i < k->nrx; i++, total++) {
		uint32_t src = k->rx[i].from, dst = k->rx[i].to;
		kit_proc_heard(k, i, IMPI_PK_DATA, src, dst,
			       (uint32_t)(k->rx[i].len - IMPI_PACKET_BYTES), got[src][dst]++);
	}
	assert_int_equal(total, want);
	kit_free(k);
}

static void
test_soak(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++)
		soak(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_lossy),
		cmocka_unit_test(test_before_the_path),
		cmocka_unit_test(test_no_path_at_all),
		cmocka_unit_test(test_path_lost),
		cmocka_unit_test(test_credit_over_lanes),
		cmocka_unit_test(test_malformed_blocks),
		cmocka_unit_test(test_slow_ones),
		cmocka_unit_test(test_little_memory),
		cmocka_unit_test(test_job_over_with_lanes),
		cmocka_unit_test(test_last_packets_are_delivered),
		cmocka_unit_test(test_finished_in_a_callback),
		cmocka_unit_test(test_too_many_pairs),
		cmocka_unit_test(test_soak),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
