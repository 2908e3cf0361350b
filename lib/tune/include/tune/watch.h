/* SPDX-License-Identifier: BSD-2-Clause */
/* tune/watch.h - is what the store says still true?  If not, the default is used.
 *
 * A setting from the store was the best at another time, perhaps on another machine.  While it is
 * in use, the caller tells after each turn what was moved; the watch says whether the next turn
 * shall use the stored setting or the default one.
 *
 *   Trial    at the beginning and whenever there is doubt: turns of both beside each other, in
 *            pairs.  If the default is better by more than 5 % in their median: stale, for good.
 *   Doubt    the median of TUNE_WATCH_TURNS turns is more than 10 % off what the last trial saw;
 *            most of them had stalls; or TUNE_WATCH_AGAIN_NS have passed.  The first doubt counts
 * at once, later ones when 1 to 4 s have passed since the last trial.
 *
 * What that is good for: a setting that is worse than the default by a factor is used for one trial
 * (11 turns) or, if it became so while it was in use, for 4 s and a trial at most, and never
 * again.  One that is worse by less than that is below 1.05 * 1.1 = 1.16 times the default.  So
 * a path is never slower than 1.2 times the default over a minute, and from its first second on if
 * what is in the store was wrong from the start.
 *
 * Threads  one owner. */
#ifndef TUNE_WATCH_H
#define TUNE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define TUNE_WATCH_TURNS    9
#define TUNE_WATCH_PAIRS    11
#define TUNE_WATCH_AGAIN_NS 60000000000ull

enum tune_trust { TUNE_TRIAL, TUNE_TRUSTED, TUNE_STALE };

struct tune_watch {
	enum tune_trust trust;
	bool second, stored_first; /* of a pair */
	uint8_t npairs, nstored, nturns;
	double first_rate;
	double ratio[TUNE_WATCH_PAIRS]; /* stored to default */
	double stored[TUNE_WATCH_PAIRS];
	double rate[TUNE_WATCH_TURNS];
	bool stalled[TUNE_WATCH_TURNS];
	double expected;
	uint64_t trusted_ns, pause_ns;
	uint32_t doubts;
};

void tune_watch_start(struct tune_watch *w, uint64_t now_ns);
/* The next turn is for the stored setting; else for the default. */
bool tune_watch_stored(const struct tune_watch *w);
/* What the turn moved in how many ns, and how often it stalled for want of room or acks.  Turns
 * without work are not told. */
void tune_watch_tell(struct tune_watch *w, uint64_t amount, uint64_t ns, uint32_t stalls,
		     uint64_t now_ns);

#endif
