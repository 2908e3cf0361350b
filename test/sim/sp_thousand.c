/* SPDX-License-Identifier: BSD-2-Clause */
/* 1000 processes on 64 units: how long until a change is known to all, and what control costs.
 * Figures are of virtual time: links of 1 Gb/s and 20 us, disks and processors that take none. */
#include "scenario.h"
#include "sp.h"

#include <stdio.h>

#define ROLES	  1000u
#define SPARES	  24u
#define UNITS	  64u
#define LINE_BPS  125000000u
#define VIEW_MS	  50u
#define MASTER_MS 150u /* until all know, an election included */
#define QUIET_NS  (2 * BASE_S_NS)
#define SETTLE_NS (2 * BASE_S_NS)
#define JOIN_NS	  (300 * BASE_MS_NS)
#define KILLS	  20u

struct thousand {
	struct spw *w;
	uint64_t number; /* all units are to have a view beyond it */
};

/* All living units have a view that is newer. */
static bool
have_all_units(void *who)
{
	const struct thousand *t = who;

	for (uint32_t u = 0; u < t->w->n; u++)
		if (t->w->daemon[u]->alive && t->w->daemon[u]->number <= t->number)
			return false;
	return true;
}

static uint32_t
master_of(const struct spw *w)
{
	for (uint32_t u = 0; u < w->n; u++)
		if (w->daemon[u]->alive && sp_node_leads(w->daemon[u]->node))
			return u;
	return SP_NONE;
}

/* Virtual time until all have the view in which what just happened is settled. */
static uint64_t
time_view(struct thousand *t)
{
	uint64_t from = t->w->s->now_ns;

	t->number = t->w->newest;
	sim_run(t->w->s, from + SETTLE_NS, have_all_units, t);
	INVARIANT(t->w->s, COMPLETE, have_all_units(t), "not all units have the new view");
	uint64_t took = t->w->s->now_ns - from;
	/* The next one begins when the restarted process has joined. */
	sim_run(t->w->s, t->w->s->now_ns + JOIN_NS, NULL, NULL);
	return took;
}

/* Bytes per second on the busiest link, in parts of 10000 of the line. */
static uint32_t
busiest_link(struct spw *w, const uint64_t *before, uint64_t ns)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < w->s->nlink; i++)
		most = base_max_ns(most, w->s->link[i].n.bytes - before[i]);
	return (uint32_t)(most * (BASE_S_NS / BASE_MS_NS) * 10000 / (ns / BASE_MS_NS) / LINE_BPS);
}

static struct sp_node_conf
thousand_conf(void)
{
	return (struct sp_node_conf){
		.cluster = 1,
		.voters = 5,
		.limits = {.roles = ROLES, .units = UNITS, .slots_max = ROLES + SPARES + 200},
		.slots = ROLES + SPARES,
		.beat_ns = 20 * BASE_MS_NS,
		.missed = 5,
		.election_ms = 30,
		.heartbeat_ms = 10,
		.snapshot_every = 64,
		.restart_ns = 20 * BASE_MS_NS,
		.severity = sp_severity_default()};
}

static void
measure_thousand(struct thousand *t, struct outcome *o)
{
	struct spw *w = t->w;
	struct sim *s = w->s;
	uint64_t before[2 * UNITS], process = 0, node = 0, master = 0;

	for (uint32_t u = 0; u < w->n; u++)
		spw_start(w->daemon[u]);
	sim_run(s, s->now_ns + SETTLE_NS, NULL, NULL);
	for (uint32_t i = 0; i < s->nlink; i++)
		before[i] = s->link[i].n.bytes;
	sim_run(s, s->now_ns + QUIET_NS, NULL, NULL);
	uint32_t share = busiest_link(w, before, QUIET_NS);
	for (uint32_t k = 0; k < KILLS && !s->failed; k++) {
		spw_kill_process(w->daemon[(7 + 3 * k) % UNITS], (7 + 3 * k) % UNITS + UNITS);
		process = base_max_ns(process, time_view(t));
	}
	spw_kill(w->daemon[UNITS - 1]);
	node = time_view(t);
	uint32_t m = master_of(w);
	if (m != SP_NONE)
		spw_kill(w->daemon[m]);
	master = time_view(t);
	spw_check_actors(w);
	INVARIANT(s, PROMPT, process <= VIEW_MS * BASE_MS_NS,
		  "a process dies: %llu us until all units know who plays its role",
		  (unsigned long long)process / 1000);
	/* Silence is known after detect_ns, or that after another master was elected. */
	uint64_t detect = w->conf.beat_ns * w->conf.missed;
	INVARIANT(s, PROMPT, node <= detect + VIEW_MS * BASE_MS_NS,
		  "a node dies: %llu us until all units know", (unsigned long long)node / 1000);
	INVARIANT(s, PROMPT, master <= MASTER_MS * BASE_MS_NS,
		  "the master's node dies: %llu us until all units know",
		  (unsigned long long)master / 1000);
	INVARIANT(s, PROMPT, share <= 100, "control takes %u / 10000 of the busiest link", share);
	snprintf(o->note, sizeof o->note,
		 "process to view at all: %.1f ms, node: %.1f (detection %.0f), master's node: "
		 "%.1f; "
		 "control %.2f %% of 1 Gb/s on the busiest link",
		 (double)process / BASE_MS_NS, (double)node / BASE_MS_NS,
		 (double)detect / BASE_MS_NS, (double)master / BASE_MS_NS, share / 100.0);
}

void
sp_thousand_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct sim *s = sim_new(seed);
	struct sp_node_conf conf = thousand_conf();
	struct spw_links l = {.rate_bps = LINE_BPS, .delay_ns = 20000, .queue_bytes = 1u << 20};
	struct thousand t = {.w = spw_new(s, &conf, &l)};

	s->verbose = verbose;
	measure_thousand(&t, o);
	sim_outcome(s, o);
	spw_free(t.w);
	sim_free(s);
}
