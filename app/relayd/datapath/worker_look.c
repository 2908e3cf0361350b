/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's share of a snapshot.  There may be a row for each of thousands of paths, so a turn of
 * the loop makes a part of it. */
#include "worker_internal.h"

#include "driver/pool.h"
#include "relay/core.h"

#include <rte_mempool.h>

/* Rows that a turn makes, and places that it looks at for them: some 20 us. */
#define ROWS_A_TURN   64u
#define PLACES_A_TURN 1024u

static void
copy_counters(struct rd_worker *w, struct rd_shard *s)
{
	s->index = w->index;
	s->lcore = w->lcore;
	s->socket = w->socket;
	s->now_ns = w->now_ns;
	s->uptime_ns = w->now_ns - w->started_ns;
	s->suci = *suci_counters(w->ep);
	s->relay = *relay_core_counters(w->core);
	s->nlegs = w->nlegs;
	for (uint32_t i = 0; i < w->nlegs; i++) {
		s->leg[i] = w->leg[i].count;
		s->neigh[i] = *rd_neigh_counters(w->leg[i].neigh);
		s->neigh_used[i] = rd_neigh_used(w->leg[i].neigh);
		s->neigh_waiting[i] = rd_neigh_waiting(w->leg[i].neigh);
	}
	s->worker = w->count;
	s->idle_turns = w->idle.turns;
	s->sleeps = w->idle.sleeps;
	s->slept_ns = w->idle.slept_ns;
	s->woken = w->naps.woken;
	s->suci_held = suci_held(w->ep);
	s->relay_held = relay_core_held(w->core);
	s->relay_quiet_ns = relay_core_quiet_ns(w->core, w->now_ns);
	s->pool_in_use = rd_pool_in_use(w->pool);
	s->pool_size = w->pool->size;
}

/* All of the core at one moment, which takes as long as its tables are large: for who asks for it.
 */
static void
check_core(struct rd_worker *w, struct rd_shard *s, bool check)
{
	s->inconsistent = NULL;
	s->checked = check;
	s->consistent = !check || relay_core_check(w->core, &s->inconsistent);
}

static void
begin_look(struct rd_worker *w, struct rd_shard *s, bool check)
{
	copy_counters(w, s);
	check_core(w, s, check);
	s->nlights = 0;
	while (relay_core_light_info(w->core, s->nlights, &s->light[s->nlights]) &&
	       ++s->nlights < RELAY_LIGHTS_MAX)
		;
	relay_core_doors(w->core, &s->doors);
	s->njobs = s->npaths = 0;
	for (uint32_t i = 0; i < s->jobs_max; i++)
		if (relay_core_job(w->core, i, &s->job[s->njobs]))
			s->njobs++;
}

/* Paths from *at on, so many rows and places at most; true: that was the last one. */
static bool
look_at_paths(struct rd_worker *w, struct rd_shard *s, uint32_t *at, uint32_t rows, uint32_t places)
{
	for (; *at < s->paths_max && rows > 0 && places > 0; ++*at, places--) {
		struct rd_path_row *row = &s->path[s->npaths];
		if (!suci_path_info(w->ep, *at, &row->suci))
			continue;
		row->path = *at;
		row->worker = w->index;
		row->known = relay_core_path(w->core, *at, &row->relay);
		s->npaths++;
		rows--;
	}
	return *at == s->paths_max;
}

bool
rd_worker_look(struct rd_worker *w, struct rd_mail *mail)
{
	struct rd_shard *s = mail->look.shard[w->index];
	uint64_t began_ns = rd_clock_ns(&w->clock);
	if (!w->looks) {
		w->looks = mail;
		w->look_at = 0;
		begin_look(w, s, mail->look.check);
		s->look_ns = 0;
	}
	bool last = look_at_paths(w, s, &w->look_at, ROWS_A_TURN, PLACES_A_TURN);
	uint64_t took_ns = rd_clock_ns(&w->clock) - began_ns;
	if (took_ns > s->look_ns)
		s->look_ns = took_ns;
	if (last)
		w->looks = NULL;
	return last;
}

void
rd_worker_snapshot(struct rd_worker *w, struct rd_shard *s)
{
	uint32_t at = 0;
	begin_look(w, s, true);
	(void)look_at_paths(w, s, &at, UINT32_MAX, UINT32_MAX);
}
