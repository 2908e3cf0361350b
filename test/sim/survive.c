/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios "survive", deaths by seed, and "deaths", every death there can be in a job of two
 * clusters. */
#include "draw.h"
#include "survive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEATHS_WORLD 0x2b2
#define DEATHS_PAIRS 4u /* of a slice */

/* ---- by seed ---- */

static void
draw_kills(struct base_prng *p, struct survive_conf *c)
{
	static const uint32_t events[] = {30, 300, 1500};
	uint32_t n = (uint32_t)base_prng_below(p, SURVIVE_KILLS + 1);
	bool calm = n == 0;

	for (uint32_t i = 0; i < n; i++) {
		struct kill *k = &c->kill[i];
		k->what = KILL_NODE;
		k->node = (uint32_t)base_prng_below(p, 18);
		k->event = 1 + base_prng_below(p, events[base_prng_below(p, 3)]);
		k->gone_ns = coin(p, 70) ? 1 + base_prng_below(p, 500 * BASE_MS_NS) : 0;
	}
	if (!calm && coin(p, 20))
		c->kill[0].what = coin(p, 70) ? KILL_CLUSTER : KILL_RELAYS;
}

void
survive_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed ^ 0xdead);
	struct survive_conf c = {.seed = seed, .verbose = verbose};
	struct survive_counts n = {0};

	c.silent_launcher = coin(&p, 20);
	/* Who takes away as well, and says that nobody is there, is believed by a path that opens.
	 */
	c.adversary = coin(&p, 20);
	c.deaf = !c.adversary && coin(&p, 30);
	c.rogue = coin(&p, 20);
	draw_kills(&p, &c);
	survive_once(&c, NULL, &n, o);
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u relays, %u deaths of ranks, %u of relays%s%s", n.ranks, n.relays,
		 n.died, n.relays_died, c.adversary ? ", an adversary" : "",
		 c.rogue ? ", a liar" : "");
}

/* ---- every death ---- */

static struct deaths_sum *sum; /* of all processes that enumerate, or NULL */

void
deaths_count(struct deaths_sum *shared)
{
	sum = shared;
}

static void
add_to(uint64_t *n, uint64_t more)
{
	__atomic_fetch_add(n, more, __ATOMIC_RELAXED);
}

static bool
add_death(struct outcome *all, const struct survive_conf *c)
{
	struct survive_counts n = {0};
	struct outcome one = {0};

	survive_once(c, NULL, &n, &one);
	all->hash = (all->hash ^ one.hash) * UINT64_C(0x100000001b3);
	all->events += one.events;
	all->virtual_ns += one.virtual_ns;
	all->ok = one.ok;
	all->broken = one.broken;
	if (!one.ok)
		snprintf(all->why, sizeof all->why,
			 "node %u dies after event %llu, node %u after %llu: %.280s",
			 c->kill[0].node, (unsigned long long)c->kill[0].event, c->kill[1].node,
			 (unsigned long long)c->kill[1].event, one.why);
	return one.ok;
}

/* Every second death of a relay is not for good. */
static struct kill
death_of(uint32_t node, uint64_t event)
{
	return (struct kill){.what = KILL_NODE,
			     .node = node,
			     .event = event,
			     .gone_ns = event % 2 ? 0 : 40 * BASE_MS_NS};
}

static uint64_t
try_slice(const struct survive_events *e, struct survive_conf *c, uint64_t slice, struct outcome *o)
{
	uint64_t i = 0, done = 0;

	for (uint32_t node = 0; node < e->nodes; node++)
		for (uint64_t at = 1; at <= e->n[node]; at++, i++) {
			if (i % DEATHS_SLICES != slice)
				continue;
			c->kill[0] = death_of(node, at);
			if (!add_death(o, c))
				return done;
			done++;
			if (sum)
				add_to(&sum->done[e->phase[node][at - 1]], 1);
		}
	return done;
}

static uint64_t
try_pairs(const struct survive_events *e, struct survive_conf *c, struct base_prng *p,
	  struct outcome *o)
{
	uint64_t done = 0;

	for (; done < DEATHS_PAIRS; done++) {
		for (int i = 0; i < 2; i++) {
			uint32_t node = (uint32_t)base_prng_below(p, e->nodes);
			c->kill[i] = death_of(node, 1 + base_prng_below(p, e->n[node]));
		}
		if (!add_death(o, c))
			break;
	}
	if (sum)
		add_to(&sum->pairs, done);
	return done;
}

static void
count_all(const struct survive_events *e, uint64_t all[SURVIVE_PHASES])
{
	for (uint32_t node = 0; node < e->nodes; node++)
		for (uint64_t i = 0; i < e->n[node]; i++)
			all[e->phase[node][i]]++;
}

void
deaths_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct survive_conf c = {.seed = DEATHS_WORLD, .verbose = verbose, .two_by_two = true};
	struct base_prng p = base_prng_seed(seed ^ 0x9a15);
	struct survive_events e = {0};
	struct survive_counts n = {0};
	uint64_t all[SURVIVE_PHASES] = {0}, done = 0, pairs = 0, total = 0;

	survive_once(&c, &e, &n, o);
	c.verbose = false;
	count_all(&e, all);
	for (int i = 0; i < SURVIVE_PHASES; i++) {
		total += all[i];
		if (sum)
			sum->all[i] = all[i];
	}
	if (o->ok)
		done = try_slice(&e, &c, seed % DEATHS_SLICES, o);
	if (o->ok)
		pairs = try_pairs(&e, &c, &p, o);
	for (uint32_t i = 0; i < e.nodes; i++)
		free(e.phase[i]);
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u relays; deaths after %llu of %llu events (%.1f %%), %llu pairs",
		 n.ranks, n.relays, (unsigned long long)done, (unsigned long long)total,
		 100.0 * (double)done / (double)total, (unsigned long long)pairs);
}
