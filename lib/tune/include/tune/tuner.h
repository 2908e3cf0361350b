/* SPDX-License-Identifier: BSD-2-Clause */
/* tune/tuner.h - finds the setting of a path or a node that moves most, by measuring it.
 *
 * A setting is one value of each of up to TUNE_DIMS dimensions: length of a fragment, datagrams of
 * a run, bytes from which data stays where it came, packets between two acks; or whatever else its
 * user can turn.  The tuner says which setting to use for the next turn, the caller uses it that
 * long and tells what was moved:
 *
 *      tuner_start(&t, &conf, now);
 *      while (tuner_ask(&t, now, value, &ns)) {
 *              move with value[] for about ns
 *              tuner_tell(&t, amount, ns_it_took, now);
 *      }
 *      tuner_setting(&t, value);
 *
 * It knows nothing of how rates come about, and trusts no single one.
 *
 *   Rounds      one dimension after the other.  All its values race, each with a turn in each
 *               round; from the second sweep on those near the best.  So a curve may have several
 *               hills, and slopes too gentle to be seen from step to step.  Two are compared by
 *               their ratios in the same rounds: what the machine does beside counts for both.
 *   Out         who is behind the leader for certain has no more turns; the time is for those
 *               that are not told apart.  When none may be better by gain_ppm the race is over.
 *   Proof       the winner of many is the luckiest, too: it replaces the best only if pairs of
 *               turns, measured afterwards, say that it gains gain_ppm at least.
 *   End         when nobody won in a sweep, or after limit_ns.  Then what was found is compared
 *               with where it began, and given up if that is as good.
 *
 * Units    nanoseconds; amounts are whatever the caller counts (bytes, messages).
 * Threads  one owner.  Memory: the struct alone. */
#ifndef TUNE_TUNER_H
#define TUNE_TUNER_H

#include <stdbool.h>
#include <stdint.h>

#define TUNE_DIMS    4
#define TUNE_STEPS   32
#define TUNE_SAMPLES 33
#define TUNE_RATES   15

/* The values that are tried, ascending; start is the index of the default one. */
struct tune_dim {
	uint32_t n, start;
	uint64_t value[TUNE_STEPS];
};

/* Powers of two of [lo, hi], with what lies half way (factor sqrt 2) if halves, and start.  False:
 * lo and hi are no powers of two, lo > hi, halves with lo < 128, start outside, or too many values.
 */
bool tune_dim_span(struct tune_dim *d, uint64_t lo, uint64_t hi, bool halves, uint64_t start);
/* n ascending values, and start. */
bool tune_dim_list(struct tune_dim *d, const uint64_t *value, uint32_t n, uint64_t start);

struct tuner_conf {
	uint32_t ndims; /* 1 .. TUNE_DIMS, the most important first */
	struct tune_dim dim[TUNE_DIMS];
	uint64_t turn_ns;  /* 0: 15 ms, or as little as 5 for 100 turns in the limit */
	uint64_t limit_ns; /* 0: 20 s; at least 100 turns */
	uint32_t gain_ppm; /* 0: 10000, one percent */
};

enum tuner_end {
	TUNER_RUNS,
	TUNER_SETTLED, /* no other setting gains enough */
	TUNER_LATE,    /* the time was over before that was certain */
	TUNER_DEAF,    /* nothing moved, with any setting: the default stays */
};

struct tuner {
	struct tuner_conf conf;
	uint64_t began_ns;
	uint32_t turns, turns_max;
	uint32_t moved; /* turns in which anything was */
	enum tuner_end end;
	uint8_t best[TUNE_DIMS]; /* indices */
	uint8_t dim, sweep;
	bool won; /* a candidate, in this sweep */
	double gain;
	/* The race: candidates for dim, and samples of each: rates by round, later ratios. */
	uint8_t phase, ncands, at, pass;
	bool second, best_first; /* of a pair */
	double first_rate;
	uint8_t cand[TUNE_STEPS], nsamples[TUNE_STEPS];
	float sample[TUNE_STEPS][TUNE_SAMPLES];
	/* What the best moved in its last turns, for each second. */
	double rate[TUNE_RATES];
	uint32_t nrates;
};

/* False: the configuration is none. */
bool tuner_start(struct tuner *t, const struct tuner_conf *conf, uint64_t now_ns);
/* The setting for the next turn, and how long it shall last; false: it has ended. */
bool tuner_ask(const struct tuner *t, uint64_t value[TUNE_DIMS], uint64_t *turn_ns);
/* What that turn moved, in how many ns.  A turn of 0 ns is no measurement and is asked for again.
 */
void tuner_tell(struct tuner *t, uint64_t amount, uint64_t ns, uint64_t now_ns);

/* The best so far; when it has ended: the result. */
void tuner_setting(const struct tuner *t, uint64_t value[TUNE_DIMS]);
/* By how much it is better than the default, in millionths, after the end. */
uint32_t tuner_gain_ppm(const struct tuner *t);
/* What it moves each second: the median of the last turns. */
uint64_t tuner_rate(const struct tuner *t);

#endif
