/* SPDX-License-Identifier: BSD-2-Clause */
/* What a wrong or an aged setting costs beside the default. */
#include "tune/watch.h"

#include "base/clock.h"
#include "base/prng.h"

#include "cmocka_all.h"

#define TURN (15 * BASE_MS_NS)

/* Rates of stored and default settings from a time on. */
struct change {
	uint64_t at_ns;
	double stored, fallback;
};

struct world {
	struct tune_watch w;
	struct base_prng prng;
	double sigma;
	uint64_t now_ns;
	double moved, fallback_would; /* amounts */
	uint32_t stored_turns, stalls;
};

static void
run(struct world *x, const struct change *c, uint32_t n, uint64_t until_ns)
{
	uint32_t k = 0;
	while (x->now_ns < until_ns) {
		while (k + 1 < n && c[k + 1].at_ns <= x->now_ns)
			k++;
		bool stored = tune_watch_stored(&x->w);
		double s = 0;
		for (int i = 0; i < 12; i++)
			s += (double)base_prng_below(&x->prng, 1000) / 1000.0;
		double r = (stored ? c[k].stored : c[k].fallback) * (1 + x->sigma * (s - 6));
		double a = r * (double)TURN / 1e9;
		x->now_ns += TURN;
		x->moved += a;
		x->fallback_would += c[k].fallback * (double)TURN / 1e9;
		x->stored_turns += stored;
		tune_watch_tell(&x->w, (uint64_t)a, TURN, stored ? x->stalls : 0, x->now_ns);
	}
}

static struct world
begin(uint64_t seed, double sigma)
{
	struct world x = {.prng = base_prng_seed(seed), .sigma = sigma};
	tune_watch_start(&x.w, 0);
	return x;
}

static void
good_is_used(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct world x = begin(seed, 0.03);
		run(&x, &(struct change){0, 1.3e9, 1e9}, 1, 30 * BASE_S_NS);
		assert_true(x.w.trust == TUNE_TRUSTED);
		assert_true(x.moved > 1.27 * x.fallback_would);
	}
}

/* Noise, and a machine that gets slower for both, are no reason to give it up. */
static void
load_is_no_reason(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct world x = begin(seed, 0.05);
		const struct change c[] = {{0, 1.2e9, 1e9},
					   {2 * BASE_S_NS, 0.5e9, 0.42e9},
					   {7 * BASE_S_NS, 1.2e9, 1e9}};
		run(&x, c, 3, 20 * BASE_S_NS);
		assert_true(x.w.trust != TUNE_STALE);
		assert_true(x.moved > 1.1 * x.fallback_would);
	}
}

/* Whatever is in the store: within 1.2 of the default after five seconds, and over a minute if it
 * turns bad in between. */
static void
never_much_worse(void **state)
{
	static const double worth[] = {0, 0.001, 0.1, 0.3, 0.5, 0.7, 0.8, 0.86, 0.9, 0.95, 1};
	(void)state;
	for (uint32_t i = 0; i < sizeof worth / sizeof *worth; i++)
		for (uint64_t seed = 1; seed <= 50; seed++) {
			struct world x = begin(seed, 0.03);
			run(&x, &(struct change){0, worth[i] * 1e9, 1e9}, 1, 5 * BASE_S_NS);
			assert_true(1.2 * x.moved >= x.fallback_would);
			assert_true(worth[i] > 0.9 || x.w.trust == TUNE_STALE);
			x = begin(seed, 0.03);
			const struct change c[] = {{0, 1.1e9, 1e9},
						   {10 * BASE_S_NS, worth[i] * 1e9, 1e9}};
			run(&x, c, 2, 60 * BASE_S_NS);
			assert_true(1.2 * x.moved >= x.fallback_would);
			/* Also where load makes it doubt all the time before. */
			x = begin(seed, 0.03);
			struct change d[41];
			for (uint32_t k = 0; k < 40; k++)
				d[k] = (struct change){k * BASE_S_NS / 4, k % 2 ? 0.6e9 : 1.1e9,
						       k % 2 ? 0.55e9 : 1e9};
			d[40] = (struct change){10 * BASE_S_NS, worth[i] * 1e9, 1e9};
			run(&x, d, 41, 60 * BASE_S_NS);
			assert_true(1.2 * x.moved >= x.fallback_would);
		}
}

/* Found out at once, and for good. */
static void
stale_stays(void **state)
{
	(void)state;
	struct world x = begin(1, 0);
	run(&x, &(struct change){0, 0.1e9, 1e9}, 1, BASE_S_NS);
	assert_true(x.w.trust == TUNE_STALE && x.stored_turns <= 3);
	run(&x, &(struct change){0, 9e9, 1e9}, 1, 300 * BASE_S_NS);
	assert_true(x.w.trust == TUNE_STALE && x.stored_turns <= 3);
}

/* Stalls alone are reason enough to look. */
static void
stalls_raise_doubt(void **state)
{
	(void)state;
	struct world x = begin(1, 0);
	const struct change c = {0, 1.1e9, 1e9};
	run(&x, &c, 1, 2 * BASE_S_NS);
	assert_true(x.w.trust == TUNE_TRUSTED && x.w.doubts == 0);
	x.stalls = 1;
	run(&x, &c, 1, 4 * BASE_S_NS);
	assert_true(x.w.doubts > 0 && x.w.trust != TUNE_STALE);
}

/* What does not change is looked at again after a minute: the default may have become better. */
static void
the_default_may_improve(void **state)
{
	(void)state;
	struct world x = begin(1, 0);
	const struct change c[] = {{0, 1e9, 0.9e9}, {5 * BASE_S_NS, 1e9, 3e9}};
	run(&x, c, 2, 62 * BASE_S_NS);
	assert_true(x.w.trust == TUNE_STALE);
}

/* Turns without time are none. */
static void
no_turn(void **state)
{
	(void)state;
	struct tune_watch w;
	tune_watch_start(&w, 0);
	for (int i = 0; i < 100; i++)
		tune_watch_tell(&w, UINT64_MAX, 0, 0, 0);
	assert_true(w.trust == TUNE_TRIAL && w.npairs == 0);
	for (int i = 0; i < 1000; i++)
		tune_watch_tell(&w, UINT64_MAX, 1, UINT32_MAX, (uint64_t)i);
	assert_true(w.trust != TUNE_STALE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_is_used),
		cmocka_unit_test(load_is_no_reason),
		cmocka_unit_test(never_much_worse),
		cmocka_unit_test(stale_stays),
		cmocka_unit_test(stalls_raise_doubt),
		cmocka_unit_test(the_default_may_improve),
		cmocka_unit_test(no_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
