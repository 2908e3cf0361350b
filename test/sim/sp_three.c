/* SPDX-License-Identifier: BSD-2-Clause */
/* Three nodes, beats of 20 ms, five missed: how long until the death of one is known to the others.
 * Half of the worlds lose the master's.  Likewise three sites of two nodes each, 20 ms apart, with
 * beats of 100 ms: one loses both at once.  Virtual time: disks and processors take none. */
#include "scenario.h"
#include "sp.h"

#include <stdio.h>
#include <stdlib.h>

#define WORLDS	 100u
#define BEGIN_NS (2 * BASE_S_NS)
#define KNOWN_NS (5 * BASE_S_NS)

struct place {
	const char *what;
	uint32_t each, voters; /* nodes of a site */
	uint64_t beat_ms, delay_ns;
	uint32_t bar_ms, master_bar_ms;
};

/* Of 110 ms 100 are silence, of 700 ms 500.  When the master ends there is an election as well, and
 * no unit is dead before the leases of the master are over. */
static const struct place near = {"a node", 1, 3, 20, 20000, 110, 150},
			  far = {"a site", 2, 5, 100, 10 * BASE_MS_NS, 700, 800};

struct three {
	struct spw *w;
	const struct place *place;
	uint32_t dead; /* the site */
};

static bool
is_lost_unit(const struct three *t, uint32_t unit)
{
	return unit / t->place->each == t->dead;
}

static bool
is_death_known(void *who)
{
	const struct three *t = who;

	for (uint32_t u = 0; u < t->w->n; u++)
		for (uint32_t d = 0; d < t->w->n; d++)
			if (!is_lost_unit(t, u) && is_lost_unit(t, d) &&
			    !sp_node_view(t->w->daemon[u]->node)->unit[d].down)
				return false;
	return true;
}

/* One world; how long it took. */
static uint64_t
lose_site(const struct place *place, uint64_t seed, bool master, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct sim *s = sim_new(seed);
	struct sp_node_conf conf = {
		.cluster = 1,
		.voters = place->voters,
		.limits = {.roles = 8, .units = 3 * place->each, .slots_max = 100},
		.slots = 12,
		.beat_ns = place->beat_ms * BASE_MS_NS,
		.missed = 5,
		.election_ms = (uint32_t)place->beat_ms * 3 / 2,
		.heartbeat_ms = (uint32_t)place->beat_ms / 2,
		.snapshot_every = 64,
		.restart_ns = 20 * BASE_MS_NS,
		.severity = sp_severity_default()};
	struct spw_links l = {
		.rate_bps = 125000000, .delay_ns = place->delay_ns, .queue_bytes = 1u << 20};
	struct three t = {spw_new(s, &conf, &l), place, SP_NONE};

	for (uint32_t u = 0; u < t.w->n; u++)
		spw_start(t.w->daemon[u]);
	/* On a busy machine daemons stand still for a moment, as their first beats come. */
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t who = base_prng_below(&p, t.w->n);
		spw_pause(t.w->daemon[who], base_prng_below(&p, 70 * BASE_MS_NS));
		sim_run(s, s->now_ns + 10 * BASE_MS_NS, NULL, NULL);
	}
	sim_run(s, s->now_ns + BEGIN_NS + base_prng_below(&p, 100 * BASE_MS_NS), NULL, NULL);
	uint32_t m = spw_find_master(t.w, SP_NONE);
	INVARIANT(s, COMPLETE, m != SP_NONE, "nobody reigns");
	t.dead = (m / place->each + !master) % 3;
	uint64_t from = s->now_ns;
	for (uint32_t u = 0; u < t.w->n && !s->failed; u++)
		if (is_lost_unit(&t, u))
			spw_kill(t.w->daemon[u]);
	sim_run(s, from + KNOWN_NS, s->failed ? NULL : is_death_known, &t);
	INVARIANT(s, COMPLETE, s->failed || is_death_known(&t), "site %u is not missed", t.dead);
	uint64_t took = s->now_ns - from;
	if (o->ok)
		sim_outcome(s, o);
	spw_free(t.w);
	sim_free(s);
	return took;
}

static int
compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
measure_deaths(const struct place *place, uint64_t seed, struct outcome *o)
{
	uint64_t took[2][WORLDS];

	o->ok = true;
	for (uint32_t i = 0; i < 2 * WORLDS && o->ok; i++)
		took[i % 2][i / 2] = lose_site(place, seed + i, i % 2, o);
	if (!o->ok)
		return;
	for (uint32_t k = 0; k < 2; k++)
		qsort(took[k], WORLDS, sizeof **took, compare_times);
	uint64_t worst = took[1][WORLDS * 99 / 100 - 1];
	snprintf(o->note, sizeof o->note,
		 "%s: %llu and %llu ms (p50, p99), the master's: %llu and %llu, at most %llu",
		 place->what, (unsigned long long)(took[0][WORLDS / 2] / BASE_MS_NS),
		 (unsigned long long)(took[0][WORLDS * 99 / 100 - 1] / BASE_MS_NS),
		 (unsigned long long)(took[1][WORLDS / 2] / BASE_MS_NS),
		 (unsigned long long)(worst / BASE_MS_NS),
		 (unsigned long long)(took[1][WORLDS - 1] / BASE_MS_NS));
	o->ok = worst <= place->master_bar_ms * BASE_MS_NS &&
		took[0][WORLDS * 99 / 100 - 1] <= place->bar_ms * BASE_MS_NS;
	if (o->ok)
		return;
	o->broken = INV_PROMPT;
	snprintf(o->why, sizeof o->why, "p99 is beyond %u ms for %s, or %u ms for the master's",
		 place->bar_ms, place->what, place->master_bar_ms);
}

void
sp_three_run(uint64_t seed, bool verbose, struct outcome *o)
{
	(void)verbose;
	measure_deaths(&near, seed, o);
}

void
sp_sites_run(uint64_t seed, bool verbose, struct outcome *o)
{
	(void)verbose;
	measure_deaths(&far, seed, o);
}
