/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/watch.h"

#include "median.h"

#include "base/clock.h"

#include <string.h>

#define WORSE	 (1 / 1.05) /* of the default: stale */
#define DRIFT	 1.1
#define PAUSE	 (1 * BASE_S_NS)
#define PAUSES	 (4 * BASE_S_NS)
#define STALLED	 (TUNE_WATCH_TURNS / 2 + 1)
#define HOPELESS 0.25 /* in three pairs: no need of more */

static void
try_it(struct tune_watch *w)
{
	w->trust = TUNE_TRIAL;
	w->npairs = w->nstored = w->nturns = 0;
	w->second = false;
}

void
tune_watch_start(struct tune_watch *w, uint64_t now_ns)
{
	memset(w, 0, sizeof *w);
	w->pause_ns = PAUSE;
	w->trusted_ns = now_ns;
	try_it(w);
}

bool
tune_watch_stored(const struct tune_watch *w)
{
	return w->trust == TUNE_TRUSTED || (w->trust == TUNE_TRIAL && w->second != w->stored_first);
}

static void
trial_over(struct tune_watch *w, uint64_t now_ns)
{
	if (tune_median(w->ratio, w->npairs) < WORSE) {
		w->trust = TUNE_STALE;
		return;
	}
	w->trust = TUNE_TRUSTED;
	w->trusted_ns = now_ns;
	w->expected = tune_median(w->stored, w->nstored);
}

static void
trial(struct tune_watch *w, double rate, uint64_t now_ns)
{
	bool stored = tune_watch_stored(w);
	if (stored)
		w->stored[w->nstored++] = rate;
	if (!w->second) {
		w->first_rate = rate;
		w->second = true;
		return;
	}
	double other = w->first_rate;
	w->ratio[w->npairs++] = stored ? tune_ratio(rate, other) : tune_ratio(other, rate);
	w->second = false;
	w->stored_first = !w->stored_first;
	double seen[TUNE_WATCH_PAIRS];
	memcpy(seen, w->ratio, sizeof seen);
	tune_sort(seen, w->npairs);
	if (w->npairs == TUNE_WATCH_PAIRS || (w->npairs >= 3 && seen[w->npairs - 1] < HOPELESS))
		trial_over(w, now_ns);
}

static bool
doubtful(struct tune_watch *w, uint64_t now_ns)
{
	uint64_t since = now_ns - w->trusted_ns;
	uint32_t stalls = 0;
	double seen[TUNE_WATCH_TURNS];

	if (since >= TUNE_WATCH_AGAIN_NS)
		return true;
	if (w->nturns < TUNE_WATCH_TURNS)
		return false;
	w->nturns = 0;
	for (uint32_t i = 0; i < TUNE_WATCH_TURNS; i++)
		stalls += w->stalled[i];
	memcpy(seen, w->rate, sizeof seen);
	double now = tune_median(seen, TUNE_WATCH_TURNS);
	bool drift = now * DRIFT < w->expected || now > w->expected * DRIFT;
	/* A load that comes and goes shall not make all turns trials. */
	if ((!drift && stalls < STALLED) || (w->doubts && since < w->pause_ns))
		return false;
	w->pause_ns = w->doubts ? base_min_ns(2 * w->pause_ns, PAUSES) : w->pause_ns;
	w->doubts++;
	return true;
}

void
tune_watch_tell(struct tune_watch *w, uint64_t amount, uint64_t ns, uint32_t stalls,
		uint64_t now_ns)
{
	double rate = ns ? (double)amount * 1e9 / (double)ns : 0;

	if (!ns || w->trust == TUNE_STALE)
		return;
	if (w->trust == TUNE_TRIAL) {
		trial(w, rate, now_ns);
		return;
	}
	w->rate[w->nturns] = rate;
	w->stalled[w->nturns++] = stalls > 0;
	if (doubtful(w, now_ns))
		try_it(w);
}
