/* SPDX-License-Identifier: BSD-2-Clause */
/* Three nodes, beats of 20 ms, five missed: how long until the death of one is known to the others.
 * Half of the worlds lose the master's.  Virtual time: disks and processors take none. */
#include "scenario.h"
#include "sp.h"

#include <stdio.h>
#include <stdlib.h>

#define WORLDS	  100u
#define BEGIN_NS  (2 * BASE_S_NS)
#define KNOWN_NS  (2 * BASE_S_NS)
#define NODE_MS	  110u /* of which 100 are silence */
#define MASTER_MS 150u /* an election as well */

struct three {
	struct spw *w;
	uint32_t dead;
};

static bool
is_death_known(void *who)
{
	const struct three *t = who;

	for (uint32_t u = 0; u < t->w->n; u++)
		if (u != t->dead && !sp_node_view(t->w->daemon[u]->node)->unit[t->dead].down)
			return false;
	return true;
}

/* One world; how long it took. */
static uint64_t
lose_node(uint64_t seed, bool master, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct sim *s = sim_new(seed);
	struct sp_node_conf conf = {.cluster = 1,
				    .voters = 3,
				    .limits = {.roles = 8, .units = 3, .slots_max = 100},
				    .slots = 12,
				    .beat_ns = 20 * BASE_MS_NS,
				    .missed = 5,
				    .election_ms = 30,
				    .heartbeat_ms = 10,
				    .snapshot_every = 64,
				    .restart_ns = 20 * BASE_MS_NS,
				    .severity = sp_severity_default()};
	struct spw_links l = {.rate_bps = 125000000, .delay_ns = 20000, .queue_bytes = 1u << 20};
	struct three t = {.w = spw_new(s, &conf, &l)};

	for (uint32_t u = 0; u < t.w->n; u++)
		spw_start(t.w->daemon[u]);
	/* On a busy machine daemons stand still for a moment, as their first beats come. */
	for (uint32_t i = 0; i < 20; i++) {
		uint64_t who = base_prng_below(&p, 3);
		spw_pause(t.w->daemon[who], base_prng_below(&p, 70 * BASE_MS_NS));
		sim_run(s, s->now_ns + 10 * BASE_MS_NS, NULL, NULL);
	}
	sim_run(s, s->now_ns + BEGIN_NS + base_prng_below(&p, 100 * BASE_MS_NS), NULL, NULL);
	uint32_t m = spw_find_master(t.w, SP_NONE);
	INVARIANT(s, COMPLETE, m != SP_NONE, "nobody reigns");
	t.dead = master ? m : (m + 1) % t.w->n;
	uint64_t from = s->now_ns;
	if (!s->failed)
		spw_kill(t.w->daemon[t.dead]);
	sim_run(s, from + KNOWN_NS, s->failed ? NULL : is_death_known, &t);
	INVARIANT(s, COMPLETE, s->failed || is_death_known(&t), "unit %u is not missed", t.dead);
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

void
sp_three_run(uint64_t seed, bool verbose, struct outcome *o)
{
	uint64_t took[2][WORLDS];

	(void)verbose;
	o->ok = true;
	for (uint32_t i = 0; i < 2 * WORLDS && o->ok; i++)
		took[i % 2][i / 2] = lose_node(seed + i, i % 2, o);
	if (!o->ok)
		return;
	for (uint32_t k = 0; k < 2; k++)
		qsort(took[k], WORLDS, sizeof **took, compare_times);
	uint64_t worst = took[1][WORLDS * 99 / 100 - 1];
	snprintf(o->note, sizeof o->note,
		 "a node: %llu and %llu ms (p50, p99), the master's: %llu and %llu, at most %llu",
		 (unsigned long long)(took[0][WORLDS / 2] / BASE_MS_NS),
		 (unsigned long long)(took[0][WORLDS * 99 / 100 - 1] / BASE_MS_NS),
		 (unsigned long long)(took[1][WORLDS / 2] / BASE_MS_NS),
		 (unsigned long long)(worst / BASE_MS_NS),
		 (unsigned long long)(took[1][WORLDS - 1] / BASE_MS_NS));
	o->ok = worst <= MASTER_MS * BASE_MS_NS &&
		took[0][WORLDS * 99 / 100 - 1] <= NODE_MS * BASE_MS_NS;
	if (!o->ok)
		snprintf(o->why, sizeof o->why,
			 "p99 is beyond %u ms for a node, or %u ms for the master's", NODE_MS,
			 MASTER_MS);
}
