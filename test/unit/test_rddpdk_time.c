/* SPDX-License-Identifier: BSD-2-Clause */
/* driver/clock.h and driver/idle.h: the pure decisions, in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/prng.h"
#include "driver/clock.h"
#include "driver/idle.h"

#define HZ 2600000000ull

/* True time as a TSC of the given error would be read: tsc = ns * hz. */
static uint64_t
tsc_of(uint64_t ns, uint64_t hz)
{
	return (uint64_t)((__extension__(unsigned __int128) ns * hz) / BASE_S_NS);
}

/* Run 3 s of virtual time with reads every step_ns; returns the error at the end. */
static uint64_t
drive(struct rd_clock *c, uint64_t true_hz, uint64_t step_ns, uint64_t seed)
{
	struct base_prng p = base_prng_seed(seed);
	uint64_t t = BASE_S_NS, last = 0, shown = 0;
	rd_clock_start_at(c, tsc_of(t, true_hz), t, HZ);
	while (t < 4 * BASE_S_NS) {
		t += 1 + base_prng_below(&p, 2 * step_ns);
		uint64_t tsc = tsc_of(t, true_hz);
		if (tsc >= c->resync_tsc)
			rd_clock_resync_at(c, tsc, t + base_prng_below(&p, 200));
		shown = rd_clock_at(c, tsc);
		assert_true(shown >= last);
		last = shown;
	}
	return shown > t ? shown - t : t - shown;
}

static void
test_clock_converges(void **state)
{
	static const struct {
		const char *name;
		uint64_t true_hz, step_ns, want_error_max_ns;
	} cases[] = {
		{"right Hz", HZ, 5000, 1000},
		{"100 ppm fast", HZ + HZ / 10000, 5000, 2000},
		{"100 ppm slow", HZ - HZ / 10000, 5000, 2000},
		{"5 % wrong Hz of a VM", HZ + HZ / 20, 5000, 20000},
		{"loop sleeps 100 ms at a time", HZ + HZ / 10000, 100 * BASE_MS_NS, 20000},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rd_clock c;
		uint64_t e = drive(&c, cases[i].true_hz, cases[i].step_ns, i + 1);
		print_message("  %s: %llu ns off\n", cases[i].name, (unsigned long long)e);
		assert_true(e <= cases[i].want_error_max_ns);
	}
}

static void
test_clock_jumps(void **state)
{
	(void)state;
	struct rd_clock c;
	rd_clock_start_at(&c, 0, BASE_S_NS, BASE_S_NS); /* 1 tick = 1 ns */
	/* Forward (the VM stood still, its TSC did not count): taken at once. */
	rd_clock_resync_at(&c, 10 * BASE_MS_NS, 3 * BASE_S_NS);
	assert_int_equal(rd_clock_at(&c, 10 * BASE_MS_NS), 3 * BASE_S_NS);
	assert_int_equal(c.jumps, 1);
	/* Backward: never shown; time goes on at half speed at the slowest. */
	rd_clock_resync_at(&c, 20 * BASE_MS_NS, 3 * BASE_S_NS - 50 * BASE_MS_NS);
	uint64_t at = rd_clock_at(&c, 20 * BASE_MS_NS);
	assert_int_equal(at, 3 * BASE_S_NS + 10 * BASE_MS_NS);
	uint64_t later = rd_clock_at(&c, 30 * BASE_MS_NS);
	assert_true(later >= at + 4 * BASE_MS_NS && later < at + 6 * BASE_MS_NS);
	/* A TSC that steps back shows the same moment again. */
	assert_int_equal(rd_clock_at(&c, 0), later);
}

static void
test_clock_real(void **state)
{
	(void)state;
	struct rd_clock c;
	rd_clock_init(&c);
	uint64_t last = 0;
	for (int i = 0; i < 200000; i++) {
		uint64_t low = rd_clock_system_ns();
		uint64_t t = rd_clock_ns(&c);
		assert_true(t >= last);
		/* Loose on purpose (the thread may stand still anywhere): wrong by
		 * units or by an epoch is what this finds. */
		assert_true(t + BASE_S_NS > low && t < low + BASE_S_NS);
		last = t;
	}
}

/* From now on there is no work: how long it looks on before it sleeps, ns.  Overshoot of a sleep
 * as measured, twice an eighth of it. */
static uint64_t
look(struct rd_idle *i, uint64_t now_ns)
{
	uint64_t ns = 2 * (i->overshoot_ns / RD_IDLE_SPIN_SHARE);
	assert_true(ns > 2000);
	assert_int_equal(rd_idle_decide(i, 0, now_ns, BASE_NEVER_NS), 0);
	/* However many turns there are in it. */
	assert_int_equal(rd_idle_decide(i, 0, now_ns + 1, BASE_NEVER_NS), 0);
	assert_int_equal(rd_idle_decide(i, 0, now_ns + ns - 1, BASE_NEVER_NS), 0);
	return ns;
}

static void
nap(void *user, uint32_t ns)
{
	*(uint32_t *)user += ns;
}

/* The caller's nap instead of nanosleep; one that ends early says nothing about how
 * exactly this machine sleeps. */
static void
test_idle_nap(void **state)
{
	struct rd_idle i;
	uint32_t napped = 0;
	(void)state;
	rd_idle_init(&i, RD_IDLE_SLEEP, 0);
	i.nap = nap;
	i.user = &napped;
	i.slack_ns = 999999999; /* so long that no machine is slower than the nap */
	i.overshoot_ns = 12345;
	rd_idle_turn(&i, 0, 0, BASE_NEVER_NS);
	rd_idle_turn(&i, 0, 3000, BASE_NEVER_NS);
	assert_int_equal(napped, 0);
	rd_idle_turn(&i, 0, 3100, BASE_NEVER_NS);
	assert_int_equal(napped, 999999999);
	assert_int_equal(i.sleeps, 1);
	assert_int_equal(i.overshoot_ns, 12345);
	rd_idle_turn(&i, 1, 0, BASE_NEVER_NS);
	assert_int_equal(napped, 999999999);
}

/* Work that comes now and then: one nap of slack_ns, then long ones that it ends; if it comes
 * further apart than that the short one is left out. */
static void
test_idle_sparse(void **state)
{
	const uint32_t slack = 30000, most = 10000000;
	struct rd_idle i;
	(void)state;
	rd_idle_init(&i, RD_IDLE_SLEEP, most);
	i.nap = nap;
	i.slack_ns = slack;
	uint64_t now = look(&i, 0);
	assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), slack);
	rd_idle_slept(&i, slack, slack);
	assert_false(i.sparse);
	assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), most);
	rd_idle_slept(&i, most, 144000); /* a frame */
	assert_true(i.sparse);
	assert_int_equal(rd_idle_decide(&i, 1, now, BASE_NEVER_NS), 0);
	now += look(&i, now);
	assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), most);
	i.overshoot_ns = 20000;
	now += BASE_MS_NS;
	assert_int_equal(rd_idle_decide(&i, 0, now, now + 70000), 50000); /* something is due */
	rd_idle_slept(&i, 50000, 50000);
	assert_true(i.sparse);
	rd_idle_slept(&i, most, 2 * slack - 1); /* they come closer together */
	assert_false(i.sparse);
	assert_int_equal(rd_idle_decide(&i, 1, now, BASE_NEVER_NS), 0);
	now += look(&i, now);
	assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), slack);
	/* Nobody lets work wait: as without. */
	i.slack_ns = 0;
	i.sleep_ns = RD_IDLE_SLEEP_MIN_NS;
	assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), RD_IDLE_SLEEP_MIN_NS);
	assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), 2 * RD_IDLE_SLEEP_MIN_NS);
	rd_idle_slept(&i, most, most);
	assert_false(i.sparse);
}

static void
test_idle(void **state)
{
	struct rd_idle i;
	(void)state;
	rd_idle_init(&i, RD_IDLE_SLEEP, 0);
	uint64_t now = look(&i, 0);
	uint32_t want = RD_IDLE_SLEEP_MIN_NS;
	for (int k = 0; k < 20; k++) {
		assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), want);
		want = want * 2 > RD_IDLE_SLEEP_MAX_NS ? RD_IDLE_SLEEP_MAX_NS : want * 2;
	}
	/* A deadline bounds the sleep, what sleeping overshoots is taken off. */
	i.overshoot_ns = 20000;
	assert_int_equal(rd_idle_decide(&i, 0, 1000000, 1070000), 50000);
	assert_int_equal(rd_idle_decide(&i, 0, 1000000, 1020500), 0);
	assert_int_equal(rd_idle_decide(&i, 0, 1000000, 900000), 0);
	/* With slack, what is due sooner waits so long, and no sleep is shorter. */
	i.slack_ns = 30000;
	assert_int_equal(rd_idle_decide(&i, 0, 1000000, 1070000), 50000);
	assert_int_equal(rd_idle_decide(&i, 0, 1000000, 1020500), 30000);
	assert_int_equal(rd_idle_decide(&i, 0, 1000000, 900000), 30000);
	i.sleep_ns = RD_IDLE_SLEEP_MIN_NS;
	assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), 30000);
	i.slack_ns = 0;
	/* Work starts over. */
	assert_int_equal(rd_idle_decide(&i, 3, now, BASE_NEVER_NS), 0);
	(void)look(&i, now);
	assert_int_equal(i.sleep_ns, RD_IDLE_SLEEP_MIN_NS);
	/* Where sleeps are exact, a microsecond each is looked and paused for all the same. */
	i.overshoot_ns = 0;
	assert_int_equal(rd_idle_decide(&i, 3, now, BASE_NEVER_NS), 0);
	assert_int_equal(rd_idle_decide(&i, 0, now, BASE_NEVER_NS), 0);
	assert_int_equal(rd_idle_decide(&i, 0, now + 1999, BASE_NEVER_NS), 0);
	assert_int_equal(rd_idle_decide(&i, 0, now + 2000, BASE_NEVER_NS), RD_IDLE_SLEEP_MIN_NS);

	rd_idle_init(&i, RD_IDLE_BUSY, 0);
	for (int k = 0; k < 1000; k++)
		assert_int_equal(rd_idle_decide(&i, 0, 0, BASE_NEVER_NS), 0);

	enum rd_idle_mode m;
	assert_int_equal(rd_idle_parse("pause", &m), 0);
	assert_int_equal(m, RD_IDLE_PAUSE);
	assert_true(rd_idle_parse("nap", &m) < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_converges), cmocka_unit_test(test_clock_jumps),
		cmocka_unit_test(test_clock_real),	cmocka_unit_test(test_idle),
		cmocka_unit_test(test_idle_nap),	cmocka_unit_test(test_idle_sparse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
