/* SPDX-License-Identifier: BSD-2-Clause */
/* wanem_core in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/prng.h"
#include "wanem_core.h"

static struct wan_dir *
make(const struct wan_conf *c)
{
	size_t size = wan_footprint(c);
	assert_true(size > 0);
	void *mem = malloc(size);
	assert_non_null(mem);
	struct wan_dir *d = wan_new(mem, c);
	assert_non_null(d);
	return d;
}

static void *
cookie(uintptr_t n)
{
	return (void *)n;
}

static const struct {
	const char *name;
	struct wan_conf conf;
	uint32_t len, count;		      /* frames offered at t = 1 s */
	uint64_t want_first_ns, want_last_ns; /* after 1 s */
	uint32_t want_tx;
	uint64_t want_drop_queue, want_queue_max;
} timing_cases[] = {
	{"no delay, no rate: at once", {.frames_max = 10}, 100, 3, 0, 0, 3, 0, 0},
	{"delay alone keeps the order",
	 {.delay_ns = 5000000, .frames_max = 10},
	 100,
	 3,
	 5000000,
	 5000000,
	 3,
	 0,
	 0},
	{"1 Gb/s: 1250 bytes take 10 us",
	 {.rate_bps = 1000000000, .frames_max = 10},
	 1250,
	 3,
	 10000,
	 30000,
	 3,
	 0,
	 3750},
	{"rate, then delay",
	 {.rate_bps = 1000000000, .delay_ns = 1000000, .frames_max = 10},
	 1250,
	 3,
	 1010000,
	 1030000,
	 3,
	 0,
	 3750},
	{"a queue of two frames takes two",
	 {.rate_bps = 1000000000, .queue_bytes = 2500, .frames_max = 10},
	 1250,
	 5,
	 10000,
	 20000,
	 2,
	 3,
	 2500},
	{"a queue one byte short takes one",
	 {.rate_bps = 1000000000, .queue_bytes = 2499, .frames_max = 10},
	 1250,
	 5,
	 10000,
	 10000,
	 1,
	 4,
	 1250},
	{"7 bit/ns does not drift",
	 {.rate_bps = 7000000000, .frames_max = 2000},
	 1250,
	 1400,
	 1428,
	 2000000,
	 1400,
	 0,
	 1750000},
	{"a queue without a rate is none",
	 {.queue_bytes = 10, .frames_max = 10},
	 1250,
	 5,
	 0,
	 0,
	 5,
	 0,
	 0},
};

static void
test_timing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof timing_cases / sizeof timing_cases[0]; i++) {
		print_message("  %s\n", timing_cases[i].name);
		struct wan_dir *d = make(&timing_cases[i].conf);
		const uint64_t t0 = BASE_S_NS;
		for (uint32_t k = 0; k < timing_cases[i].count; k++)
			(void)wan_in(d, cookie(k + 1), timing_cases[i].len, t0);
		uint32_t n = 0;
		uint64_t first = 0, last = 0;
		uintptr_t before = 0;
		for (uint64_t t; (t = wan_next_ns(d)) != BASE_NEVER_NS;) {
			struct wan_frame f;
			if (t > t0)
				assert_false(wan_out(d, t - 1, &f));
			assert_true(wan_out(d, t, &f));
			assert_int_equal(f.len_bytes, timing_cases[i].len);
			assert_true((uintptr_t)f.cookie > before);
			before = (uintptr_t)f.cookie;
			if (n++ == 0)
				first = t - t0;
			last = t - t0;
		}
		const struct wan_stats *s = wan_stats(d);
		assert_int_equal(n, timing_cases[i].want_tx);
		assert_int_equal(first, timing_cases[i].want_first_ns);
		assert_int_equal(last, timing_cases[i].want_last_ns);
		assert_int_equal(s->tx, n);
		assert_int_equal(s->rx, timing_cases[i].count);
		assert_int_equal(s->drop_queue, timing_cases[i].want_drop_queue);
		assert_int_equal(s->queue_bytes_max, timing_cases[i].want_queue_max);
		assert_true(wan_books_ok(d));
		free(d);
	}
}

/* 10 ms x 1 Gb/s in flight, at line rate, nothing lost: as small and as full frames. */
static void
test_holds_10ms_of_1gbps(void **state)
{
	static const uint32_t lens[] = {64, 1514};
	(void)state;
	for (size_t k = 0; k < sizeof lens / sizeof lens[0]; k++) {
		struct wan_conf c = {.rate_bps = 1000000000, .delay_ns = 10 * BASE_MS_NS};
		c.queue_bytes = 2 * lens[k]; /* one on the link, one behind it */
		c.frames_max = wan_frames_needed(&c);
		struct wan_dir *d = make(&c);
		uint64_t gap = (uint64_t)lens[k] * 8;
		uint64_t out = 0, frames = 100 * BASE_MS_NS / gap;
		struct wan_frame f;
		for (uint64_t i = 0; i < frames; i++) {
			uint64_t now = BASE_S_NS + i * gap;
			assert_int_equal(wan_in(d, cookie(i + 1), lens[k], now), WAN_HELD);
			while (wan_out(d, now, &f))
				assert_int_equal((uintptr_t)f.cookie, ++out);
		}
		assert_true(wan_stats(d)->held_max >= 10 * BASE_MS_NS / gap);
		while (wan_out(d, BASE_NEVER_NS, &f))
			assert_int_equal((uintptr_t)f.cookie, ++out);
		assert_int_equal(out, frames);
		free(d);
	}
}

static void
test_hold_limit(void **state)
{
	(void)state;
	struct wan_conf c = {.delay_ns = 1000, .dup_ppb = WAN_PPB, .frames_max = 3};
	struct wan_dir *d = make(&c);
	struct wan_frame f;
	assert_int_equal(wan_in(d, cookie(1), 60, 0), WAN_HELD); /* and its copy */
	assert_int_equal(wan_in(d, cookie(2), 60, 0), WAN_HELD); /* no room for a copy */
	assert_int_equal(wan_in(d, cookie(3), 60, 0), WAN_DROP_HOLD);
	assert_int_equal(wan_stats(d)->held, 3);
	assert_int_equal(wan_stats(d)->dup, 1);
	assert_true(wan_out(d, 1000, &f));
	assert_true(f.again && (uintptr_t)f.cookie == 1);
	assert_true(wan_out(d, 1000, &f));
	assert_true(!f.again && (uintptr_t)f.cookie == 1);
	assert_true(wan_flush(d, &f));
	assert_int_equal((uintptr_t)f.cookie, 2);
	assert_false(wan_flush(d, &f));
	assert_true(wan_books_ok(d));
	free(d);
}

static void
test_reordered_frame_is_late_alone(void **state)
{
	(void)state;
	struct wan_conf c = {.delay_ns = 1000,
			     .reorder_ppb = WAN_PPB / 10,
			     .reorder_extra_ns = 350,
			     .frames_max = 4000,
			     .seed = 7};
	struct wan_dir *d = make(&c);
	struct wan_frame f;
	uint32_t moved = 0;
	uintptr_t highest = 0;
	for (uintptr_t i = 1; i <= 2000; i++)
		assert_int_equal(wan_in(d, cookie(i), 60, i * 100), WAN_HELD);
	for (uint64_t due = 0; wan_out(d, BASE_NEVER_NS - 1, &f); due = f.due_ns) {
		assert_true(f.due_ns >= due); /* out in the order of their times */
		uint64_t in = (uintptr_t)f.cookie * 100;
		assert_true(f.due_ns == in + 1000 || f.due_ns == in + 1350);
		moved += f.due_ns == in + 1350;
		if ((uintptr_t)f.cookie > highest)
			highest = (uintptr_t)f.cookie;
	}
	assert_int_equal(moved, wan_stats(d)->reorder);
	assert_true(moved > 150 && moved < 250); /* fixed seed: this is exact in time */
	assert_int_equal(highest, 2000);
	free(d);
}

static void
test_same_seed_same_run(void **state)
{
	(void)state;
	struct wan_conf c = {.rate_bps = 100000000,
			     .queue_bytes = 20000,
			     .delay_ns = 300000,
			     .loss_ppb = 20000000,
			     .dup_ppb = 10000000,
			     .reorder_ppb = 50000000,
			     .reorder_extra_ns = 90000,
			     .frames_max = 200};
	uint64_t hash[3];
	for (int run = 0; run < 3; run++) {
		c.seed = run == 2 ? 43 : 42;
		struct wan_dir *d = make(&c);
		struct base_prng p = base_prng_seed(5);
		uint64_t now = 0, h = 0;
		struct wan_frame f;
		for (uintptr_t i = 1; i <= 20000; i++) {
			now += base_prng_below(&p, 120000);
			(void)wan_in(d, cookie(i), (uint32_t)(60 + base_prng_below(&p, 1440)), now);
			while (wan_out(d, now, &f)) {
				h = h * 31 + (uintptr_t)f.cookie + f.due_ns;
				if (i % 97 == 0)
					wan_tx_refused(d, f.len_bytes);
			}
			assert_true(wan_books_ok(d));
			assert_true(wan_stats(d)->held <= c.frames_max);
		}
		const struct wan_stats *s = wan_stats(d);
		assert_true(s->drop_loss > 300 && s->drop_loss < 500);
		assert_true(s->dup > 120 && s->dup < 280);
		assert_true(s->drop_queue > 0 && s->drop_tx > 0);
		assert_true(s->queue_bytes_max <= c.queue_bytes);
		hash[run] = h;
		free(d);
	}
	assert_true(hash[0] == hash[1]);
	assert_true(hash[0] != hash[2]);
}

static void
test_limits(void **state)
{
	static const struct {
		const char *name;
		struct wan_conf conf;
	} bad[] = {
		{"no frames", {.frames_max = 0}},
		{"too many frames", {.frames_max = WAN_FRAMES_MAX + 1}},
		{"delay above 500 ms", {.frames_max = 1, .delay_ns = WAN_DELAY_NS_MAX + 1}},
		{"reorder above 500 ms",
		 {.frames_max = 1, .reorder_extra_ns = WAN_DELAY_NS_MAX + 1}},
		{"loss above 1", {.frames_max = 1, .loss_ppb = WAN_PPB + 1}},
		{"rate above 1 Tb/s", {.frames_max = 1, .rate_bps = WAN_RATE_BPS_MAX + 1}},
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		print_message("  %s\n", bad[i].name);
		assert_int_equal(wan_footprint(&bad[i].conf), 0);
	}
	struct wan_conf ok = {.frames_max = 1, .delay_ns = WAN_DELAY_NS_MAX, .loss_ppb = WAN_PPB};
	struct wan_dir *d = make(&ok);
	assert_int_equal(wan_in(d, cookie(1), 60, 0), WAN_DROP_LOSS);
	assert_true(wan_next_ns(d) == BASE_NEVER_NS);
	free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timing),
		cmocka_unit_test(test_holds_10ms_of_1gbps),
		cmocka_unit_test(test_hold_limit),
		cmocka_unit_test(test_reordered_frame_is_late_alone),
		cmocka_unit_test(test_same_seed_same_run),
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
