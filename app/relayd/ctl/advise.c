/* SPDX-License-Identifier: BSD-2-Clause */
#include "advise_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GOAL_PERMILLE 800u /* of what it could, a trunk should carry */
#define PACE_PERMILLE 900u
#define QUEUE_MIN_NS  1000000ull /* a round trip may vary that much by itself */

const char *
rd_limit_name(enum rd_limit limit)
{
	static const char *const names[] = {"demand", "lcore",	"link", "pace",	 "window",
					    "ramp",   "credit", "way",	"chance"};
	return names[limit];
}

void
rd_advise_say(struct rd_reasons *r, const char *fmt, ...)
{
	va_list ap;
	if (r->n == RD_ADVISE_REASONS)
		return;
	va_start(ap, fmt);
	vsnprintf(r->text[r->n++], RD_ADVISE_TEXT, fmt, ap);
	va_end(ap);
}

static uint64_t
min_known(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a + b;
	return a < b ? a : b;
}

/* ---- each trunk ---------------------------------------------------------------------- */

static enum rd_limit
limit_of(const struct rd_advise_input *in, const struct rd_advise_trunk *t,
	 const struct rd_advice_trunk *o, uint64_t leg_bps)
{
	uint64_t queue = t->rtt_min_ns / 4 > QUEUE_MIN_NS ? t->rtt_min_ns / 4 : QUEUE_MIN_NS;
	if (o->busy_permille >= RD_BUSY_PERMILLE)
		return RD_LIMIT_LCORE;
	if (rd_permille(leg_bps, in->link_bps) >= RD_LINK_PERMILLE)
		return RD_LIMIT_LINK;
	if (rd_permille(o->rate_bps, t->pace_bps) >= PACE_PERMILLE)
		return RD_LIMIT_PACE;
	if (!t->samples || t->full * 2 < t->samples)
		return RD_LIMIT_DEMAND;
	if (o->queue_ns >= queue)
		return RD_LIMIT_WAY;
	if (o->loss_ppm >= (t->cubic ? RD_CHANCE_PPM : RD_LOSS_PPM))
		return t->cubic ? RD_LIMIT_CHANCE : RD_LIMIT_WAY;
	if (t->full_credit * 2 >= t->full)
		return RD_LIMIT_CREDIT;
	return t->full_window * 2 >= t->full ? RD_LIMIT_WINDOW : RD_LIMIT_RAMP;
}

/* What its lcore, its link, its window and its pace would let through. */
static uint64_t
could_bps(const struct rd_advise_input *in, const struct rd_advise_trunk *t,
	  const struct rd_advice_trunk *o, uint64_t worker_bps)
{
	uint64_t lcore = 0, window = 0;
	if (o->busy_permille >= 20) /* below, the share says nothing */
		lcore = (uint64_t)((double)worker_bps * 1000 / o->busy_permille);
	if (t->rtt_min_ns && t->window_max)
		window = (uint64_t)((double)t->window_max * t->mss * 8e9 / (double)t->rtt_min_ns);
	uint64_t c = min_known(min_known(lcore, window), min_known(in->link_bps, t->pace_bps));
	if (o->limit != RD_LIMIT_DEMAND) /* it is there already */
		c = min_known(c, o->rate_bps);
	return c;
}

static void
judge_trunks(const struct rd_advise_input *in, struct rd_advice *a)
{
	uint64_t worker_bps[RD_ADVISE_WORKERS] = {0};
	for (uint32_t i = 0; i < in->ntrunks; i++) {
		const struct rd_advise_trunk *t = &in->trunk[i];
		struct rd_advice_trunk *o = &a->trunk[i];
		uint64_t sent = t->tx_segments + t->retransmits;
		o->rate_bps = (uint64_t)((double)t->tx_bytes * 8e9 / (double)in->duration_ns);
		o->loss_ppm = sent ? (uint32_t)((double)t->retransmits * 1e6 / (double)sent) : 0;
		o->queue_ns = t->rtt_ns > t->rtt_min_ns ? t->rtt_ns - t->rtt_min_ns : 0;
		o->busy_permille = rd_permille(in->worker[t->worker].busy_ns, in->duration_ns);
		worker_bps[t->worker] += o->rate_bps;
		a->rate_bps += o->rate_bps;
	}
	for (uint32_t i = 0; i < in->ntrunks; i++) {
		const struct rd_advise_trunk *t = &in->trunk[i];
		struct rd_advice_trunk *o = &a->trunk[i];
		o->idle = !o->rate_bps || rd_permille(o->rate_bps, a->rate_bps) < RD_IDLE_PERMILLE;
		o->limit = o->idle ? RD_LIMIT_DEMAND : limit_of(in, t, o, a->rate_bps);
		o->could_bps = could_bps(in, t, o, worker_bps[t->worker]);
		a->active += !o->idle;
	}
}

/* ---- all of them ----------------------------------------------------------------------- */

/* What holds most of the traffic. */
static enum rd_limit
main_limit(const struct rd_advise_input *in, const struct rd_advice *a)
{
	uint64_t by[RD_LIMIT_CHANCE + 1] = {0};
	enum rd_limit most = RD_LIMIT_DEMAND;
	for (uint32_t i = 0; i < in->ntrunks; i++)
		by[a->trunk[i].limit] += a->trunk[i].rate_bps;
	for (int l = 0; l <= RD_LIMIT_CHANCE; l++)
		if (by[l] > by[most])
			most = (enum rd_limit)l;
	return most;
}

static uint32_t
limited_by(const struct rd_advise_input *in, const struct rd_advice *a, enum rd_limit l)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < in->ntrunks; i++)
		n += !a->trunk[i].idle && a->trunk[i].limit == l;
	return n;
}

/* Trunks like the best of these that carry what goes now, none above its goal. */
static uint32_t
needed(const struct rd_advise_input *in, const struct rd_advice *a)
{
	uint64_t best = 0;
	for (uint32_t i = 0; i < in->ntrunks; i++)
		if (!a->trunk[i].idle && a->trunk[i].could_bps > best)
			best = a->trunk[i].could_bps;
	best = best / 1000 * GOAL_PERMILLE;
	if (!best || a->rate_bps <= best)
		return 1;
	uint64_t n = (a->rate_bps + best - 1) / best;
	return n < RD_ADVISE_TRUNKS ? (uint32_t)n : RD_ADVISE_TRUNKS;
}

static void
explain_demand(const struct rd_advise_input *in, struct rd_advice *a)
{
	uint32_t busiest = 0;
	a->useful = needed(in, a);
	for (uint32_t i = 0; i < in->nworkers; i++) {
		uint32_t p = rd_permille(in->worker[i].busy_ns, in->duration_ns);
		busiest = p > busiest ? p : busiest;
	}
	rd_advise_say(&a->reasons,
		      "nothing holds it up: the processes send %.1f Mbit/s and no more; the "
		      "busiest lcore "
		      "has "
		      "%u %% of its time left",
		      RD_MBPS(a->rate_bps), busiest < 1000 ? (1000 - busiest) / 10 : 0);
	if (a->useful < a->active)
		rd_advise_say(&a->reasons, "%u of these trunks would carry it", a->useful);
}

static void
explain_way(const struct rd_advise_input *in, struct rd_advice *a)
{
	uint32_t n = limited_by(in, a, RD_LIMIT_WAY);
	a->shared = n > 1;
	if (a->shared) {
		a->useful = a->active;
		rd_advise_say(
			&a->reasons,
			"%u trunks lose packets or queue on the way at the same time: they share a "
			"bottleneck of about %.1f Mbit/s, and more of them would share it too",
			n, RD_MBPS(a->rate_bps));
		return;
	}
	a->useful = a->active + 1;
	a->at_least = true;
	rd_advise_say(&a->reasons, "the way between the relays is full (packets queue or get lost "
				   "on it): another trunk "
				   "helps if it takes another way; measure again with it, to see "
				   "whether the sum grows");
}

/* What so many of so many trunks do. */
static const char *const held_up[] = {
	[RD_LIMIT_LCORE] = "are held up by their worker's lcore, which has no time left: add "
			   "workers or a relay",
	[RD_LIMIT_PACE] = "send at suci.global_rate_mbps: raise it, if more is reserved, or add "
			  "trunks",
	[RD_LIMIT_WINDOW] = "have a full window and lose nothing: the round trip is too long for "
			    "it; raise limits.window (suci.global_window under cc fixed), or add "
			    "trunks, each has a window of its own",
	[RD_LIMIT_RAMP] = "still have their window opened by congestion control: measure longer, "
			  "or once more",
	[RD_LIMIT_CREDIT] = "have all under way that the relay at the other end takes: it is late, "
			    "or its suci.credit and ports.global.rx_descriptors are small; ask "
			    "there, or add trunks",
	[RD_LIMIT_CHANCE] = "lose packets while nothing queues on the way: by chance, or in a "
			    "queue too short to be seen; suci.global_cc bbr keeps its rate there, "
			    "or add trunks",
	[RD_LIMIT_WAY] = NULL,
};

static void
explain_limit(const struct rd_advise_input *in, struct rd_advice *a)
{
	a->useful = a->limit == RD_LIMIT_RAMP ? a->active : a->active + 1;
	a->at_least = a->limit != RD_LIMIT_DEMAND && a->limit != RD_LIMIT_WAY;
	switch (a->limit) {
	case RD_LIMIT_LINK:
		rd_advise_say(&a->reasons,
			      "the global leg sends %.1f of the %.1f Mbit/s of its link: further "
			      "trunks need a relay with a link of its own",
			      RD_MBPS(a->rate_bps), RD_MBPS(in->link_bps));
		break;
	case RD_LIMIT_DEMAND:
		explain_demand(in, a);
		break;
	case RD_LIMIT_WAY:
		explain_way(in, a);
		break;
	default:
		rd_advise_say(&a->reasons, "%u of %u trunks %s", limited_by(in, a, a->limit),
			      a->active, held_up[a->limit]);
	}
}

/* Under dest and source a pair stays on one trunk. */
static void
bound_by_pairs(const struct rd_advise_input *in, struct rd_advice *a)
{
	bool dest = in->policy == RD_ADVISE_DEST;
	uint32_t bound = dest ? in->receivers : in->senders;
	if (in->policy == RD_ADVISE_STRIPE || !bound || a->useful <= bound)
		return;
	a->useful = bound;
	a->at_least = false;
	a->by_pairs = true;
	rd_advise_say(&a->reasons,
		      "policy %s keeps what goes to one %s on one trunk, and there %s %u: more "
		      "trunks need "
		      "policy stripe",
		      dest ? "dest" : "source", dest ? "receiver" : "sender",
		      bound == 1 ? "is" : "are", bound);
}

void
rd_advise(const struct rd_advise_input *in, struct rd_advice *a)
{
	memset(a, 0, sizeof *a);
	a->trunks = in->ntrunks;
	if (!in->ntrunks || !in->duration_ns) {
		rd_advise_say(&a->reasons, "there is no trunk: no job runs, or none with processes "
					   "behind other relays");
		return;
	}
	judge_trunks(in, a);
	if (a->rate_bps < RD_QUIET_BPS) {
		a->active = 0;
		a->useful = 1;
		rd_advise_say(&a->reasons, "nearly nothing goes over the trunks now; measure while "
					   "the jobs communicate");
		return;
	}
	a->limit = main_limit(in, a);
	explain_limit(in, a);
	bound_by_pairs(in, a);
	if (in->pairs > 1 && in->pair_bytes && in->policy != RD_ADVISE_STRIPE &&
	    rd_permille(in->pair_bytes_most, in->pair_bytes) > 500)
		rd_advise_say(&a->reasons,
			      "one of %u pairs of processes sends %u %% of all: policy stripe "
			      "would divide "
			      "it "
			      "among trunks",
			      in->pairs, rd_permille(in->pair_bytes_most, in->pair_bytes) / 10);
}
