/* SPDX-License-Identifier: BSD-2-Clause */
/* The tuner on curves whose optimum is known: smooth, with noise, flat, and that lie. */
#include "tune/tuner.h"

#include "base/clock.h"
#include "base/prng.h"

#include "cmocka_all.h"

#include <math.h>
#include <string.h>

#define SEEDS 500u

/* What a setting is worth, and how a measurement differs from that. */
struct world {
	double (*rate)(const uint64_t value[TUNE_DIMS]);
	double sigma;	 /* of a turn */
	double preempt;	 /* probability that somebody else had the processor for half of it */
	double drift;	 /* the machine gets so much slower until the limit */
	uint32_t absurd; /* one in so many measurements is nonsense; 0: none */
	struct base_prng prng;
	uint64_t now_ns;
	uint32_t turns;
};

static double
uniform(struct base_prng *p)
{
	return (double)(base_prng_next(p) >> 11) / (double)(1ull << 53);
}

static double
normal(struct base_prng *p)
{
	double s = 0;
	for (int i = 0; i < 12; i++)
		s += uniform(p);
	return s - 6;
}

static void
one_turn(struct world *w, struct tuner *t, const uint64_t v[TUNE_DIMS], uint64_t turn_ns)
{
	double r = w->rate(v);
	uint64_t ns = turn_ns + base_prng_below(&w->prng, turn_ns / 8);

	r *= 1 + w->sigma * normal(&w->prng);
	if (uniform(&w->prng) < w->preempt)
		r *= 0.5;
	r *= 1 - w->drift * (double)w->now_ns / 20e9;
	uint64_t amount = r > 0 ? (uint64_t)(r * (double)ns / 1e9) : 0;
	w->now_ns += ns;
	w->turns++;
	if (w->absurd && base_prng_below(&w->prng, w->absurd) == 0) {
		static const uint64_t odd[] = {0, 1, UINT64_MAX};
		tuner_tell(t, odd[base_prng_below(&w->prng, 3)], odd[base_prng_below(&w->prng, 3)],
			   w->now_ns);
		return;
	}
	tuner_tell(t, amount, ns, w->now_ns);
}

static void
run(struct world *w, struct tuner *t, const struct tuner_conf *c)
{
	uint64_t v[TUNE_DIMS], ns;

	assert_true(tuner_start(t, c, w->now_ns));
	while (tuner_ask(t, v, &ns)) {
		assert_true(w->turns < 4000);
		for (uint32_t i = 0; i < c->ndims; i++)
			assert_true(v[i] >= c->dim[i].value[0] &&
				    v[i] <= c->dim[i].value[c->dim[i].n - 1]);
		one_turn(w, t, v, ns);
	}
}

/* Fragment, run, by reference, ack every: what a path has. */
static void
path_conf(struct tuner_conf *c)
{
	static const uint64_t runs[] = {1, 2, 4, 8, 12, 16, 20, 24, 36, 44, 54, 64};

	memset(c, 0, sizeof *c);
	c->ndims = 4;
	assert_true(tune_dim_span(&c->dim[0], 1 << 8, 1 << 22, true, 1 << 14));
	assert_true(tune_dim_list(&c->dim[1], runs, 12, 30));
	assert_true(tune_dim_span(&c->dim[2], 1 << 10, 1 << 20, false, 1 << 16));
	assert_true(tune_dim_span(&c->dim[3], 1, 128, false, 32));
}

static double
hill(double x, double top, double width)
{
	double d = (x - top) / width;
	return 1 / (1 + d * d);
}

/* Best at 2^17, runs of 44, 2^14, an ack of 16. */
static double
smooth(const uint64_t v[TUNE_DIMS])
{
	return 1e9 * hill(log2((double)v[0]), 17, 5) * hill(sqrt((double)v[1]), sqrt(44), 4) *
	       hill(log2((double)v[2]), 14, 20) * hill(log2((double)v[3]), 4, 8);
}

/* Each step gains less than one percent, all of them half as much again. */
static double
gentle(const uint64_t v[TUNE_DIMS])
{
	return 1e8 * (1 + 0.015 * (log2((double)v[0]) - 8));
}

/* A low hill where it begins, a high and narrow one far away. */
static double
two_hills(const uint64_t v[TUNE_DIMS])
{
	double x = log2((double)v[0]);
	return 1e8 * (hill(x, 13, 2) + 3 * hill(x, 20, 0.6));
}

/* Too long a fragment does not fit: nothing at all moves. */
static double
cliff(const uint64_t v[TUNE_DIMS])
{
	return v[0] > 1 << 18 ? 0 : 1e7 * sqrt((double)v[0]);
}

static double
flat(const uint64_t v[TUNE_DIMS])
{
	(void)v;
	return 5e8;
}

static double
nothing(const uint64_t v[TUNE_DIMS])
{
	(void)v;
	return 0;
}

/* The best over the first dimension, the others as they are in v. */
static double
best_fragment(double (*rate)(const uint64_t *), const struct tune_dim *d, const uint64_t *v)
{
	uint64_t x[TUNE_DIMS];
	double best = 0;
	memcpy(x, v, sizeof x);
	for (uint32_t i = 0; i < d->n; i++) {
		x[0] = d->value[i];
		double r = rate(x);
		best = r > best ? r : best;
	}
	return best;
}

static void
expect_best(const struct world *model, const char *what, double bar)
{
	struct tuner_conf c;
	static struct tuner t;
	uint64_t v[TUNE_DIMS], longest = 0;
	double worst = 1;

	path_conf(&c);
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct world w = *model;
		w.prng = base_prng_seed(seed);
		run(&w, &t, &c);
		tuner_setting(&t, v);
		double got = w.rate(v) / best_fragment(w.rate, &c.dim[0], v);
		worst = got < worst ? got : worst;
		longest = w.now_ns > longest ? w.now_ns : longest;
		if (got < bar)
			print_message("%s, seed %u: %llu is %.3f of the best\n", what, seed,
				      (unsigned long long)v[0], got);
		assert_true(got >= bar);
		assert_true(w.now_ns <= 20 * BASE_S_NS + 40 * BASE_MS_NS);
	}
	print_message("%s: at least %.3f of the best fragment in %u seeds, at most %.1f s\n", what,
		      worst, SEEDS, (double)longest / 1e9);
}

static void
smooth_without_noise(void **state)
{
	struct world w = {.rate = smooth};
	struct tuner_conf c;
	static struct tuner t;
	uint64_t v[TUNE_DIMS];
	(void)state;

	expect_best(&w, "smooth", 0.97);
	path_conf(&c);
	w.prng = base_prng_seed(1);
	run(&w, &t, &c);
	tuner_setting(&t, v);
	assert_true(v[0] == 1 << 17 && v[1] == 44);
	assert_true(t.end == TUNER_SETTLED);
	uint64_t d[TUNE_DIMS] = {1 << 14, 30, 1 << 16, 32};
	double gain = smooth(v) / smooth(d) - 1;
	assert_true(fabs(tuner_gain_ppm(&t) / 1e6 - gain) < 0.01);
	assert_true(fabs((double)tuner_rate(&t) / smooth(v) - 1) < 0.01);
}

static void
noise(void **state)
{
	(void)state;
	static const struct {
		struct world w;
		const char *what;
		double bar;
	} rows[] = {
		{{.rate = smooth, .sigma = 0.02, .preempt = 0.05}, "noise 2 %", 0.97},
		{{.rate = gentle, .sigma = 0.02, .preempt = 0.05}, "gentle", 0.97},
		{{.rate = two_hills, .sigma = 0.03, .preempt = 0.05}, "hills", 0.97},
		{{.rate = cliff, .sigma = 0.03, .preempt = 0.05}, "cliff", 0.97},
		{{.rate = smooth, .sigma = 0.02, .drift = 0.6}, "drift", 0.97},
		{{.rate = smooth, .sigma = 0.02, .absurd = 20}, "absurd", 0.97},
		/* A tenth of the turns halved: one sample of five is far off. */
		{{.rate = smooth, .sigma = 0.05, .preempt = 0.1}, "noise 5 %", 0.97},
		{{.rate = smooth, .sigma = 0.1, .preempt = 0.1}, "noise 10 %", 0.95},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_best(&rows[i].w, rows[i].what, rows[i].bar);
}

/* On a flat curve the default stays: noise alone is no reason. */
static void
flat_stays(void **state)
{
	struct tuner_conf c;
	static struct tuner t;
	uint64_t v[TUNE_DIMS];
	uint32_t moved = 0;
	(void)state;

	path_conf(&c);
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct world w = {.rate = flat, .sigma = 0.02, .preempt = 0.05};
		w.prng = base_prng_seed(seed);
		run(&w, &t, &c);
		tuner_setting(&t, v);
		assert_true(t.end == TUNER_SETTLED || t.end == TUNER_LATE);
		moved += v[0] != 1 << 14 || v[1] != 30 || v[2] != 1 << 16 || v[3] != 32;
	}
	print_message("flat: left the default in %u of %u seeds\n", moved, SEEDS);
	assert_true(moved <= SEEDS / 20);
}

/* ---- lies ---- */

/* Fast while it is chosen, slow when it is to prove itself. */
static void
honeymoon(void **state)
{
	struct tuner_conf c = {.ndims = 1};
	static struct tuner t;
	uint64_t v[TUNE_DIMS], ns, now = 0;
	uint32_t seen[TUNE_STEPS] = {0};
	(void)state;

	assert_true(tune_dim_span(&c.dim[0], 1 << 8, 1 << 22, true, 1 << 14));
	assert_true(tuner_start(&t, &c, 0));
	while (tuner_ask(&t, v, &ns)) {
		uint32_t i = 0;
		while (c.dim[0].value[i] != v[0])
			i++;
		bool liar = v[0] == 1 << 18;
		now += ns;
		tuner_tell(&t, liar ? (seen[i] < 15 ? 3000000 : 500000) : 1000000, ns, now);
		seen[i]++;
	}
	tuner_setting(&t, v);
	assert_true(v[0] == 1 << 14 && t.end == TUNER_SETTLED);
}

/* What was better while it was sought is worse than the default at the end. */
static void
turncoat(void **state)
{
	struct tuner_conf c = {.ndims = 1};
	static struct tuner t;
	uint64_t v[TUNE_DIMS], ns, now = 0;
	uint32_t seen = 0, best_seen = 0;
	(void)state;

	assert_true(tune_dim_span(&c.dim[0], 1 << 8, 1 << 12, false, 1 << 10));
	assert_true(tuner_start(&t, &c, 0));
	while (tuner_ask(&t, v, &ns)) {
		bool liar = v[0] == 1 << 12;
		seen += liar;
		tuner_setting(&t, v);
		best_seen += v[0] == 1 << 12;
		now += ns;
		tuner_tell(&t, liar ? (best_seen < 8 ? 1300000 : 900000) : 1000000, ns, now);
	}
	tuner_setting(&t, v);
	assert_true(seen > 20 && best_seen > 1);
	assert_true(v[0] == 1 << 10 && tuner_gain_ppm(&t) == 0);
}

/* Numbers that have nothing to do with anything: it ends in time, with a setting of the table. */
static void
pure_chance(void **state)
{
	struct tuner_conf c;
	static struct tuner t;
	uint64_t v[TUNE_DIMS], ns;
	(void)state;

	path_conf(&c);
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		struct base_prng p = base_prng_seed(seed);
		uint64_t now = 0;
		uint32_t turns = 0;
		assert_true(tuner_start(&t, &c, 0));
		while (tuner_ask(&t, v, &ns)) {
			uint64_t took = base_prng_next(&p) >> base_prng_below(&p, 64);
			now += seed % 3 == 0 ? 0 : seed % 3 == 1 ? ns : took % (4 * ns);
			tuner_tell(&t, base_prng_next(&p) >> base_prng_below(&p, 64), took, now);
			assert_true(++turns <= 2700);
		}
		assert_true(t.end == TUNER_SETTLED || t.end == TUNER_LATE);
		(void)tuner_rate(&t);
		(void)tuner_gain_ppm(&t);
	}
}

static void
nothing_moves(void **state)
{
	struct tuner_conf c;
	static struct tuner t;
	uint64_t v[TUNE_DIMS];
	struct world w = {.rate = nothing, .prng = base_prng_seed(1)};
	(void)state;

	path_conf(&c);
	run(&w, &t, &c);
	tuner_setting(&t, v);
	assert_true(t.end == TUNER_DEAF && w.turns <= 20 && v[0] == 1 << 14);
	assert_true(tuner_rate(&t) == 0 && tuner_gain_ppm(&t) == 0);
	tuner_tell(&t, 1, 1, w.now_ns); /* nobody asked */
	assert_true(t.end == TUNER_DEAF);
}

/* Turns that last as long as the whole search may: the default stays. */
static void
no_time(void **state)
{
	struct tuner_conf c;
	static struct tuner t;
	uint64_t v[TUNE_DIMS], ns;
	(void)state;

	path_conf(&c);
	assert_true(tuner_start(&t, &c, 5));
	assert_true(tuner_ask(&t, v, &ns));
	tuner_tell(&t, 1000, 20 * BASE_S_NS, 5 + 20 * BASE_S_NS);
	assert_false(tuner_ask(&t, v, &ns));
	assert_true(t.end == TUNER_LATE && v[0] == 1 << 14);
}

static void
dimensions(void **state)
{
	struct tune_dim d;
	static const uint64_t down[] = {3, 2}, same[] = {2, 2}, up[] = {2, 4, 9};
	(void)state;

	assert_true(tune_dim_span(&d, 256, 4194304, true, 16384) && d.n == 29);
	assert_true(d.value[0] == 256 && d.value[1] == 362 && d.value[28] == 4194304);
	assert_true(d.value[d.start] == 16384);
	for (uint32_t i = 1; i < d.n; i++)
		assert_true(fabs((double)d.value[i] / (double)d.value[i - 1] - sqrt(2)) < 0.001);
	assert_true(tune_dim_span(&d, 1, 64, false, 30) && d.n == 8 && d.value[d.start] == 30);
	assert_true(tune_dim_span(&d, 64, 64, false, 64) && d.n == 1);
	assert_false(tune_dim_span(&d, 1, 64, false, 65));
	assert_false(tune_dim_span(&d, 2, 64, false, 1));
	assert_false(tune_dim_span(&d, 3, 64, false, 4));
	assert_false(tune_dim_span(&d, 64, 128, true, 64));
	assert_false(tune_dim_span(&d, 0, 64, false, 0));
	assert_false(tune_dim_span(&d, 1, 1ull << 40, false, 2)); /* 41 values */
	assert_true(tune_dim_list(&d, up, 3, 9) && d.n == 3 && d.start == 2);
	assert_true(tune_dim_list(&d, up, 3, 10) && d.n == 4 && d.start == 3);
	assert_true(tune_dim_list(&d, up, 3, 1) && d.n == 4 && d.start == 0);
	assert_false(tune_dim_list(&d, down, 2, 2));
	assert_false(tune_dim_list(&d, same, 2, 2));
}

static void
configurations(void **state)
{
	static struct tuner t;
	struct tuner_conf c, good;
	uint64_t v[TUNE_DIMS], ns;
	(void)state;

	path_conf(&good);
	assert_true(tuner_start(&t, &good, 0));
	assert_true(tuner_ask(&t, v, &ns) && ns == 15 * BASE_MS_NS);
	/* Little time has shorter turns. */
	c = good;
	c.limit_ns = 1250 * BASE_MS_NS;
	assert_true(tuner_start(&t, &c, 0));
	assert_true(tuner_ask(&t, v, &ns) && ns == 12500 * BASE_US_NS);
#define REFUSED(change)                               \
	do {                                          \
		c = good;                             \
		change;                               \
		assert_false(tuner_start(&t, &c, 0)); \
	} while (0)
	REFUSED(c.ndims = 0);
	REFUSED(c.ndims = TUNE_DIMS + 1);
	REFUSED(c.dim[3].n = 0);
	REFUSED(c.dim[3].n = TUNE_STEPS + 1);
	REFUSED(c.dim[0].start = c.dim[0].n);
	REFUSED(c.dim[0].value[3] = c.dim[0].value[2]);
	REFUSED(c.limit_ns = 99 * 5 * BASE_MS_NS);
	REFUSED((c.limit_ns = 99 * 15 * BASE_MS_NS, c.turn_ns = 15 * BASE_MS_NS));
	REFUSED(c.turn_ns = 2 * BASE_S_NS);
	REFUSED(c.gain_ppm = 1000001);
	/* Nothing to choose from. */
	c = good;
	c.ndims = 1;
	assert_true(tune_dim_span(&c.dim[0], 64, 64, false, 64));
	assert_true(tuner_start(&t, &c, 0));
	assert_false(tuner_ask(&t, v, &ns));
	assert_true(t.end == TUNER_SETTLED && v[0] == 64);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smooth_without_noise),
		cmocka_unit_test(noise),
		cmocka_unit_test(flat_stays),
		cmocka_unit_test(honeymoon),
		cmocka_unit_test(turncoat),
		cmocka_unit_test(pure_chance),
		cmocka_unit_test(nothing_moves),
		cmocka_unit_test(no_time),
		cmocka_unit_test(dimensions),
		cmocka_unit_test(configurations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
