/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots: memory for them, and the sums over the workers. */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

static bool
make_rows(struct rd_shard *s, uint32_t jobs, uint32_t paths)
{
	s->jobs_max = jobs;
	s->paths_max = paths;
	s->job = calloc(jobs, sizeof *s->job);
	s->path = calloc(paths, sizeof *s->path);
	return s->job && s->path;
}

static void
free_shard(struct rd_shard *s)
{
	if (!s)
		return;
	free(s->job);
	free(s->path);
	free(s);
}

static bool
make_parts(struct rd_snapshot *s, const struct rd_conf *conf)
{
	if (!make_rows(&s->sum, conf->limits.jobs, conf->limits.paths * conf->workers))
		return false;
	s->gateway.channels_max = conf->gateway.enable ? conf->gateway.channels : 1;
	s->gateway.channel = calloc(s->gateway.channels_max, sizeof *s->gateway.channel);
	if (!s->gateway.channel)
		return false;
	while (s->nshards < conf->workers) {
		struct rd_shard *one = calloc(1, sizeof *one);
		if (!one)
			return false;
		one->index = s->nshards;
		s->shard[s->nshards++] = one;
		if (!make_rows(one, conf->limits.jobs, conf->limits.paths))
			return false;
	}
	return true;
}

struct rd_snapshot *
rd_snapshot_new(const struct rd_conf *conf)
{
	struct rd_snapshot *s = calloc(1, sizeof *s);
	if (s && make_parts(s, conf))
		return s;
	rd_snapshot_free(s);
	return NULL;
}

void
rd_snapshot_free(struct rd_snapshot *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nshards; i++)
		free_shard(s->shard[i]);
	free(s->sum.job);
	free(s->sum.path);
	free(s->gateway.channel);
	free(s);
}

/* ---- sums ---------------------------------------------------------------------- */

static void
add_legs(struct rd_shard *s, const struct rd_shard *w)
{
	for (uint32_t i = 0; i < w->nlegs; i++) {
#define X(n, h) s->leg[i].n += w->leg[i].n;
		RD_LEG_COUNTERS(X)
#undef X
		for (int d = 0; d < RD_RX_DROPS_COUNT; d++)
			s->leg[i].rx_drop[d] += w->leg[i].rx_drop[d];
#define X(n, h) s->neigh[i].n += w->neigh[i].n;
		RD_NEIGH_COUNTERS(X)
#undef X
		s->neigh_used[i] += w->neigh_used[i];
		s->neigh_waiting[i] += w->neigh_waiting[i];
	}
}

static uint64_t
most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
add_counters(struct rd_shard *s, const struct rd_shard *w)
{
#define X(n, h) s->suci.n += w->suci.n;
	SUCI_COUNTERS(X)
#undef X
#define X(n, h) s->relay.n += w->relay.n;
	RELAY_COUNTERS(X)
#undef X
	/* Every worker has every job, and hears of every death in it. */
#define X(n) s->relay.n = most(s->relay.n - w->relay.n, w->relay.n)
	X(jobs_added);
	X(jobs_finished);
	X(jobs_aborted);
	X(procs_dead);
#undef X
	s->worker.turns += w->worker.turns;
	s->worker.busy_turns += w->worker.busy_turns;
	s->worker.busy_ns += w->worker.busy_ns;
	s->worker.events_lost += w->worker.events_lost;
	s->worker.tx_budget += w->worker.tx_budget;
	s->worker.notes_lost += w->worker.notes_lost;
	s->idle_turns += w->idle_turns;
	s->sleeps += w->sleeps;
	s->slept_ns += w->slept_ns;
	s->woken += w->woken;
	s->suci_held += w->suci_held;
	s->relay_held += w->relay_held;
	s->pool_in_use += w->pool_in_use;
	s->pool_size += w->pool_size;
	s->look_ns = most(s->look_ns, w->look_ns);
	s->checked &= w->checked;
	if (s->consistent && !w->consistent) {
		s->consistent = false;
		s->inconsistent = w->inconsistent;
	}
}

/* A process is connected to the worker that owns it and to those that it sends over: of
 * the sum no more than there are. */
static void
add_job(struct rd_shard *s, const struct relay_job_info *in)
{
	struct relay_job_info *j = NULL;
	for (uint32_t i = 0; i < s->njobs && !j; i++)
		if (s->job[i].label_base == in->label_base)
			j = &s->job[i];
	if (!j) {
		if (s->njobs < s->jobs_max) /* one may have come between two workers' shares */
			s->job[s->njobs++] = *in;
		return;
	}
	j->local_up += in->local_up;
	j->local_left += in->local_left;
	if (j->local_up > j->nlocal)
		j->local_up = j->nlocal;
	if (j->local_left > j->nlocal)
		j->local_left = j->nlocal;
	j->trunks += in->trunks;
	j->trunks_up += in->trunks_up;
	j->gateways += in->gateways;
	j->gateways_up += in->gateways_up;
	j->rx_segments += in->rx_segments;
	j->rx_bytes += in->rx_bytes;
	if (in->since_ns < j->since_ns)
		j->since_ns = in->since_ns;
}

static void
add_shard(struct rd_shard *s, const struct rd_shard *w)
{
	if (w->now_ns > s->now_ns)
		s->now_ns = w->now_ns;
	if (w->uptime_ns > s->uptime_ns)
		s->uptime_ns = w->uptime_ns;
	s->nlegs = w->nlegs;
	if (w->index == 0) {
		s->nlights = w->nlights;
		memcpy(s->light, w->light, sizeof s->light);
	}
	add_legs(s, w);
	add_counters(s, w);
	for (uint32_t j = 0; j < w->njobs; j++)
		add_job(s, &w->job[j]);
	memcpy(s->path + s->npaths, w->path, w->npaths * sizeof *w->path);
	s->npaths += w->npaths;
}

void
rd_snapshot_sum(const struct rd_figures *f, struct rd_snapshot *s)
{
	s->sum = (struct rd_shard){.job = s->sum.job,
				   .path = s->sum.path,
				   .jobs_max = s->sum.jobs_max,
				   .paths_max = s->sum.paths_max,
				   .checked = true,
				   .consistent = true};
	for (uint32_t i = 0; i < s->nshards; i++)
		add_shard(&s->sum, s->shard[i]);
	s->control = f->loop->count;
}

static void
mail_done(struct rd_mail *mail)
{
	struct rd_snapshot *s = mail->owner;
	rd_snapshot_sum(s->of, s);
	s->done(s, s->owner);
}

void
rd_snapshot_take(const struct rd_figures *f, struct rd_snapshot *s,
		 void (*done)(struct rd_snapshot *s, void *owner), void *owner)
{
	struct rd_mail *mail = rd_post_mail(f->post, 0, RD_MAIL_SNAPSHOT);
	s->of = f;
	s->done = done;
	s->owner = owner;
	rd_light_figures(f->light, &s->circuits);
	mail->look.shard = s->shard;
	mail->look.gateway = &s->gateway;
	mail->look.check = s->check;
	mail->done = mail_done;
	mail->owner = s;
	rd_post_send(f->post, mail);
}
