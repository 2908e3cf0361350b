/* SPDX-License-Identifier: BSD-2-Clause */
#include "search_run.h"

#include "base/clock.h"

#define QUIET_NS    (100 * BASE_MS_NS) /* nothing came for so long: what is missing is lost */
#define CATCH_UP_NS (5 * BASE_MS_NS)   /* a generator that was held up so long offers it later */
#define LEAD_MS	    20u		       /* sent before a trial counts */

void
pg_search_offer(struct pg_run *r, double pps)
{
	struct pg_world *w = r->world;
	double gap = (double)BASE_S_NS * w->nsenders / pps;
	w->gap_ns = gap < 1 ? 1 : (uint64_t)gap;
	w->behind = CATCH_UP_NS / w->gap_ns;
	if (w->behind < PG_BEHIND)
		w->behind = PG_BEHIND;
}

static bool
is_quiet(const struct pg_run *r)
{
	uint64_t last = r->world->last_rx_ns;
	return pg_run_drained(r) || r->ctx->net.now_ns - last > QUIET_NS;
}

/* Senders begin at a random moment of their gap, so each may be one short at either end. */
static double
missed_share(const struct pg_trial *t, uint32_t nsenders)
{
	uint64_t may = t->sent + 2ull * nsenders;
	uint64_t missed = t->offered > may ? t->offered - may : 0;
	missed += t->sent > t->received ? t->sent - t->received : 0;
	missed += t->resent;
	double share = t->offered ? (double)missed / (double)t->offered : 1;
	return share > 1 ? 1 : share;
}

static struct pg_trial
play_trial(struct pg_run *r, double pps)
{
	struct pg_world *w = r->world;
	pg_search_offer(r, pps);
	pg_world_send(w, true);
	pg_run_wait_ms(r, LEAD_MS);
	struct pg_trial t = {.sent = w->sent.segments, .resent = w->resent};
	uint64_t t0 = r->ctx->net.now_ns;
	base_hist_init(&w->latency);
	w->measuring = true;
	pg_run_wait_ms(r, r->load->search.trial_ms);
	double ns = (double)(r->ctx->net.now_ns - t0);
	pg_world_send(w, false);
	t.sent = w->sent.segments - t.sent;
	w->last_rx_ns = r->ctx->net.now_ns;
	(void)pg_run_wait(r, is_quiet, r->load->drain_ms);
	w->measuring = false;
	/* What was under way at its beginning counts as the trial's when it is lost. */
	uint64_t lost = w->sent.segments - w->received.segments - w->written_off;
	t.received = lost < t.sent ? t.sent - lost : 0;
	t.resent = w->resent - t.resent;
	t.pps = (double)BASE_S_NS * w->nsenders / (double)w->gap_ns;
	t.offered = (uint64_t)(ns * t.pps / 1e9);
	t.missed = missed_share(&t, w->nsenders);
	t.p50_ns = base_hist_quantile(&w->latency, 500000);
	t.p99_ns = base_hist_quantile(&w->latency, 990000);
	t.max_ns = w->latency.count ? w->latency.max : 0;
	pg_world_write_off(w);
	return t;
}

void
pg_search_run(struct pg_run *r, struct pg_trials *t, double found[PG_GOALS])
{
	struct pg_search s;
	double pps;
	t->conf = r->load->search;
	pg_world_send(r->world, false);
	(void)pg_run_wait(r, is_quiet, r->load->drain_ms);
	pg_world_write_off(r->world);
	pg_search_init(&s, &t->conf);
	while (!*r->ctx->stop && pg_search_next(&s, &pps)) {
		pg_progress_rate(&r->ctx->progress, pps);
		struct pg_trial one = play_trial(r, pps);
		if (t->n < PG_TRIALS_KEPT)
			t->trial[t->n++] = one;
		pg_search_note(&s, one.missed);
	}
	for (int g = 0; g < PG_GOALS; g++)
		found[g] = pg_search_found(&s, (enum pg_goal)g);
	base_hist_init(&r->world->latency);
	pg_world_send(r->world, true);
}
