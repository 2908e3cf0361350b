/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/tuner.h"

#include "median.h"

#include "base/clock.h"

#include <string.h>

/* Phases: the race, the proof of its winner, and the end's comparison with the default. */
enum { RACE, PROOF, LAST };

#define ROUNDS_MIN 5u
#define PROOF_MIN  9u
#define PROOF_MAX  TUNE_SAMPLES
#define LAST_MIN   5u
#define LAST_PAIRS 15u
#define NEAR	   4u /* steps from the best that race again */
#define SWEEPS_MAX 3u
#define DEAF_TURNS 20u

#define TURNS_LEAST   100u
#define TURN_NS	      (15 * BASE_MS_NS)
#define TURN_NS_LEAST (5 * BASE_MS_NS)

/* ---- dimensions ---- */

static bool
dim_add(struct tune_dim *d, uint64_t v)
{
	if (d->n && d->value[d->n - 1] == v)
		return true;
	if (d->n == TUNE_STEPS || (d->n && d->value[d->n - 1] > v))
		return false;
	d->value[d->n++] = v;
	return true;
}

/* v, and start before it if it lies between it and the one before. */
static bool
dim_add_past(struct tune_dim *d, uint64_t v, uint64_t start)
{
	uint64_t before = d->n ? d->value[d->n - 1] : 0;
	return (start >= v || start <= before || dim_add(d, start)) && dim_add(d, v);
}

static bool
dim_find_start(struct tune_dim *d, uint64_t start)
{
	for (d->start = 0; d->start < d->n; d->start++)
		if (d->value[d->start] == start)
			return true;
	return false;
}

static bool
power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

bool
tune_dim_span(struct tune_dim *d, uint64_t lo, uint64_t hi, bool halves, uint64_t start)
{
	memset(d, 0, sizeof *d);
	if (!power_of_two(lo) || !power_of_two(hi) || lo > hi || hi > 1ull << 48 || start < lo ||
	    (halves && lo < 128))
		return false;
	for (uint64_t v = lo; v <= hi; v *= 2) {
		if (!dim_add_past(d, v, start))
			return false;
		/* sqrt 2, in whole numbers */
		if (halves && v < hi && !dim_add_past(d, v / 128 * 181, start))
			return false;
	}
	return dim_find_start(d, start);
}

bool
tune_dim_list(struct tune_dim *d, const uint64_t *value, uint32_t n, uint64_t start)
{
	memset(d, 0, sizeof *d);
	for (uint32_t i = 0; i < n; i++)
		if ((i && value[i] <= value[i - 1]) || !dim_add_past(d, value[i], start))
			return false;
	return (d->n && start > d->value[d->n - 1] ? dim_add(d, start) : true) &&
	       dim_find_start(d, start);
}

/* ---- races ---- */

static uint64_t
age(const struct tuner *t, uint64_t now_ns)
{
	return now_ns > t->began_ns ? now_ns - t->began_ns : 0;
}

static void
samples_again(struct tuner *t)
{
	t->at = t->pass = 0;
	t->second = false;
	memset(t->nsamples, 0, sizeof t->nsamples);
}

/* All values of the dimension, or those near the best. */
static void
race(struct tuner *t)
{
	const struct tune_dim *d = &t->conf.dim[t->dim];
	uint32_t best = t->best[t->dim], from = 0, to = d->n - 1;

	if (t->sweep) {
		from = best > NEAR ? best - NEAR : 0;
		to = best + NEAR < to ? best + NEAR : to;
	}
	t->ncands = 0;
	for (uint32_t i = from; i <= to; i++)
		t->cand[t->ncands++] = (uint8_t)i;
	t->phase = RACE;
	samples_again(t);
}

static double
median_of(const struct tuner *t, uint32_t c)
{
	double v[TUNE_SAMPLES];
	for (uint32_t i = 0; i < t->nsamples[c]; i++)
		v[i] = (double)t->sample[c][i];
	return t->nsamples[c] ? tune_median(v, t->nsamples[c]) : 0;
}

static void
end(struct tuner *t, enum tuner_end how)
{
	t->end = how;
	t->ncands = 0;
}

static void
back_to_default(struct tuner *t)
{
	for (uint32_t i = 0; i < t->conf.ndims; i++)
		t->best[i] = (uint8_t)t->conf.dim[i].start;
	t->gain = 1;
}

static bool
is_default(const struct tuner *t)
{
	for (uint32_t i = 0; i < t->conf.ndims; i++)
		if (t->best[i] != t->conf.dim[i].start)
			return false;
	return true;
}

/* What has been found against where it began. */
static void
last(struct tuner *t, enum tuner_end how)
{
	if (is_default(t)) {
		end(t, how);
		return;
	}
	t->phase = LAST;
	t->ncands = 1;
	/* How it will have ended, unless the time is over before. */
	t->sweep = how == TUNER_LATE ? SWEEPS_MAX + 1 : t->sweep;
	samples_again(t);
}

static void
next_dim(struct tuner *t)
{
	do {
		if (++t->dim < t->conf.ndims)
			continue;
		t->dim = 0;
		/* What is best of one dimension may be another one since. */
		if (!t->won || t->conf.ndims == 1 || t->sweep + 1u >= SWEEPS_MAX) {
			last(t, TUNER_SETTLED);
			return;
		}
		t->sweep++;
		t->won = false;
	} while (t->conf.dim[t->dim].n < 2);
	race(t);
}

/* What n ratios say of the median of their distribution: it lies between lo and hi in 19 of 20
 * cases, by order statistics. */
struct guess {
	double lo, mid, hi;
};

static struct guess
guess_median(double *v, uint32_t n)
{
	uint32_t middle = n / 2, reach = 1;

	tune_sort(v, n);
	while ((reach + 1) * (reach + 1) <= n) /* two standard deviations of a binomial one */
		reach++;
	return (struct guess){.lo = v[middle > reach ? middle - reach : 0],
			      .mid = tune_median(v, n),
			      .hi = v[middle + reach < n ? middle + reach : n - 1]};
}

/* A candidate's ratio to another one, each time in the same round. */
static struct guess
guess_ratio(const struct tuner *t, uint32_t c, uint32_t to)
{
	double v[TUNE_SAMPLES];

	for (uint32_t i = 0; i < t->pass; i++)
		v[i] = tune_ratio((double)t->sample[c][i], (double)t->sample[to][i]);
	return guess_median(v, t->pass);
}

static void
prove(struct tuner *t, uint8_t cand)
{
	if (t->best[t->dim] == cand) {
		next_dim(t);
		return;
	}
	t->cand[0] = cand;
	t->ncands = 1;
	t->phase = PROOF;
	samples_again(t);
}

static uint32_t
find_leader(const struct tuner *t)
{
	uint32_t leader = 0;
	double most = -1;

	for (uint32_t i = 0; i < t->ncands; i++) {
		double m = median_of(t, i);
		if (m > most) {
			most = m;
			leader = i;
		}
	}
	return leader;
}

static void
move_candidate(struct tuner *t, uint32_t from, uint32_t to)
{
	t->cand[to] = t->cand[from];
	t->nsamples[to] = t->nsamples[from];
	memmove(t->sample[to], t->sample[from], sizeof t->sample[to]);
}

/* Who is behind the leader for certain is out.  Returns the leader's place; *open: one of the
 * others may still be better than him by what is worth it. */
static uint32_t
drop_losers(struct tuner *t, bool *open)
{
	double bar = 1 + t->conf.gain_ppm / 1e6;
	uint32_t leader = find_leader(t), n = t->ncands, kept = 0, at = 0;
	bool stays[TUNE_STEPS];

	*open = false;
	for (uint32_t i = 0; i < n; i++) {
		double most = i == leader ? 1 : guess_ratio(t, i, leader).hi;
		stays[i] = most >= 1;
		*open |= most > bar;
	}
	for (uint32_t i = 0; i < n; i++) {
		at = i == leader ? kept : at;
		if (stays[i])
			move_candidate(t, i, kept++);
	}
	t->ncands = (uint8_t)kept;
	return at;
}

/* Each candidate had its turn. */
static void
round_over(struct tuner *t)
{
	bool open;

	t->at = 0;
	if (++t->pass < ROUNDS_MIN)
		return;
	uint32_t leader = drop_losers(t, &open);
	if (open && t->pass < TUNE_SAMPLES)
		return;
	/* What stands and is as good, nearly, is left as it is. */
	for (uint32_t i = 0; i < t->ncands; i++)
		if (t->cand[i] == t->best[t->dim] &&
		    guess_ratio(t, i, leader).mid > 1 - t->conf.gain_ppm / 2e6)
			leader = i;
	prove(t, t->cand[leader]);
}

/* The winner of many is the luckiest, too: is he better than what stands?  1, -1; 0: not known. */
static int
judge_proof(const struct tuner *t)
{
	double v[TUNE_SAMPLES], bar = 1 + t->conf.gain_ppm / 1e6;
	uint32_t n = t->nsamples[0];

	for (uint32_t i = 0; i < n; i++)
		v[i] = (double)t->sample[0][i];
	struct guess g = guess_median(v, n);
	if (g.lo > bar)
		return 1;
	if (g.hi < bar)
		return -1;
	return n < PROOF_MAX ? 0 : g.mid > bar ? 1 : -1;
}

static void
proof(struct tuner *t)
{
	int v = t->nsamples[0] < PROOF_MIN ? 0 : judge_proof(t);

	if (v > 0) {
		t->best[t->dim] = t->cand[0];
		t->won = true;
		t->nrates = 0;
	}
	if (v)
		next_dim(t);
}

static void
last_over(struct tuner *t, enum tuner_end how)
{
	double m = median_of(t, 0);
	if (t->nsamples[0] >= LAST_MIN && m > 1 + t->conf.gain_ppm / 1e6) {
		t->gain = m;
	} else {
		for (uint32_t i = 0; i < TUNE_RATES && m > 0; i++)
			t->rate[i] /= m; /* is then the default's */
		back_to_default(t);
	}
	end(t, how);
}

/* A pair is measured: on to the next one. */
static void
next_pair(struct tuner *t)
{
	if (t->phase == PROOF)
		proof(t);
	else if (t->nsamples[0] == LAST_PAIRS)
		last_over(t, t->sweep > SWEEPS_MAX ? TUNER_LATE : TUNER_SETTLED);
}

/* ---- the caller's side ---- */

/* Who has little time takes shorter turns rather than too few. */
static uint64_t
usual_turn_ns(uint64_t limit_ns)
{
	uint64_t fit = limit_ns / TURNS_LEAST;

	return fit > TURN_NS ? TURN_NS : fit > TURN_NS_LEAST ? fit : TURN_NS_LEAST;
}

bool
tuner_start(struct tuner *t, const struct tuner_conf *conf, uint64_t now_ns)
{
	memset(t, 0, sizeof *t);
	if (!conf->ndims || conf->ndims > TUNE_DIMS)
		return false;
	for (uint32_t i = 0; i < conf->ndims; i++) {
		const struct tune_dim *d = &conf->dim[i];
		if (!d->n || d->n > TUNE_STEPS || d->start >= d->n)
			return false;
		for (uint32_t k = 1; k < d->n; k++)
			if (d->value[k] <= d->value[k - 1])
				return false;
	}
	t->conf = *conf;
	t->conf.limit_ns = conf->limit_ns ? conf->limit_ns : 20 * BASE_S_NS;
	t->conf.turn_ns = conf->turn_ns ? conf->turn_ns : usual_turn_ns(t->conf.limit_ns);
	t->conf.gain_ppm = conf->gain_ppm ? conf->gain_ppm : 10000;
	if (t->conf.turn_ns > BASE_S_NS || t->conf.limit_ns / t->conf.turn_ns < TURNS_LEAST ||
	    t->conf.limit_ns > 3600 * BASE_S_NS || t->conf.gain_ppm > 1000000)
		return false;
	/* Whatever the caller's clock does. */
	t->turns_max = (uint32_t)(t->conf.limit_ns / t->conf.turn_ns) * 2;
	t->began_ns = now_ns;
	back_to_default(t);
	t->dim = UINT8_MAX;
	next_dim(t);
	return true;
}

static bool
turn_of_best(const struct tuner *t)
{
	if (t->phase == RACE)
		return t->cand[t->at] == t->best[t->dim];
	return t->second != t->best_first;
}

static void
setting(const struct tuner *t, bool best, uint64_t value[TUNE_DIMS])
{
	for (uint32_t i = 0; i < t->conf.ndims; i++) {
		const struct tune_dim *d = &t->conf.dim[i];
		uint32_t at = t->best[i];
		if (!best && t->phase == LAST)
			at = d->start;
		else if (!best && i == t->dim)
			at = t->cand[t->at];
		value[i] = d->value[at];
	}
}

bool
tuner_ask(const struct tuner *t, uint64_t value[TUNE_DIMS], uint64_t *turn_ns)
{
	*turn_ns = t->conf.turn_ns;
	setting(t, t->end || turn_of_best(t), value);
	return t->end == TUNER_RUNS;
}

/* The time is over, or nearly. */
static void
heed_time(struct tuner *t, uint64_t now_ns)
{
	uint64_t reserve = 2 * LAST_PAIRS * t->conf.turn_ns * 5 / 4, passed = age(t, now_ns);
	uint64_t limit = t->conf.limit_ns;
	bool over = passed >= limit || t->turns >= t->turns_max;

	if (!t->moved && t->turns >= DEAF_TURNS) {
		back_to_default(t);
		end(t, TUNER_DEAF);
	} else if (over && t->phase == LAST) {
		last_over(t, TUNER_LATE);
	} else if (over) {
		back_to_default(t);
		end(t, TUNER_LATE);
	} else if (t->phase != LAST && !t->second &&
		   (passed + reserve >= limit || t->turns + 2 * LAST_PAIRS >= t->turns_max)) {
		last(t, TUNER_LATE);
	}
}

void
tuner_tell(struct tuner *t, uint64_t amount, uint64_t ns, uint64_t now_ns)
{
	if (t->end)
		return;
	t->turns++;
	t->moved += amount && ns;
	if (ns) {
		double rate = (double)amount * 1e9 / (double)ns;
		bool best = turn_of_best(t);
		if (best)
			t->rate[t->nrates++ % TUNE_RATES] = rate;
		if (t->phase == RACE) {
			t->sample[t->at][t->pass] = (float)rate;
			t->nsamples[t->at] = (uint8_t)(t->pass + 1);
			if (++t->at == t->ncands)
				round_over(t);
		} else if (t->second) {
			/* The candidate's to the best's; at the end the best's to the default's. */
			double r = best != (t->phase == LAST) ? tune_ratio(t->first_rate, rate)
							      : tune_ratio(rate, t->first_rate);
			if (t->nsamples[0] < TUNE_SAMPLES)
				t->sample[0][t->nsamples[0]++] = (float)r;
			t->second = false;
			t->best_first = !t->best_first;
			next_pair(t);
		} else {
			t->first_rate = rate;
			t->second = true;
		}
	}
	if (!t->end)
		heed_time(t, now_ns);
}

void
tuner_setting(const struct tuner *t, uint64_t value[TUNE_DIMS])
{
	setting(t, true, value);
}

uint32_t
tuner_gain_ppm(const struct tuner *t)
{
	return t->end && t->gain > 1 ? (uint32_t)((t->gain - 1) * 1e6) : 0;
}

uint64_t
tuner_rate(const struct tuner *t)
{
	uint32_t n = t->nrates < TUNE_RATES ? t->nrates : TUNE_RATES;
	double v[TUNE_RATES];

	memcpy(v, t->rate, sizeof v);
	double m = n ? tune_median(v, n) : 0;
	return m < 1e18 ? (uint64_t)m : (uint64_t)1e18;
}
