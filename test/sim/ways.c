/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "ways": processes of jobs that have met talk over doors at two relays of each cluster.
 * Relays die and come back, clusters are cut off for a while, datagrams are lost, processes die.
 * What one says to another one who lives comes once and in order, and nobody is lost who lives; who
 * dies is known to all.
 * "ways-kills": two processes meet and talk, and after each event of the simulator each of the
 * relays dies, and does not come back. */
#include "ways.h"

#include "draw.h"

#include <stdio.h>

#define SILENCE	      (700 * BASE_MS_NS) /* liveness and keepalive of doors_endpoint_conf() */
#define LOCAL_NS      (50 * BASE_MS_NS)
#define KILLED_BLOCKS 24u

/* ---- what must hold ---- */

static void
check_alive(struct wy *w)
{
	for (uint32_t i = 0; i < w->nnodes && !w->s->failed; i++)
		for (uint32_t k = 0; k < w->nnodes && w->node[i].alive; k++)
			INVARIANT(w->s, ALIVE, !w->node[i].peer[k].lost || !w->node[k].alive,
				  "process %u: process %u is lost, and lives", i, k);
}

static void
check_ways_told(struct wy *w)
{
	for (uint32_t i = 0; i < w->nnodes && !w->s->failed; i++)
		for (uint32_t k = 0; k < w->nnodes && w->node[i].alive; k++)
			INVARIANT(w->s, TOLD,
				  !w->node[i].peer[k].known || w->node[i].peer[k].lost ||
					  w->node[k].alive,
				  "process %u: does not know that process %u is dead", i, k);
}

static bool
is_all_there(void *arg)
{
	return wy_all_there(arg);
}

static void
await_all(struct wy *w, uint64_t most_ns)
{
	sim_run(w->s, w->s->now_ns + most_ns, is_all_there, w);
	for (uint32_t i = 0; i < w->nnodes && !w->s->failed; i++)
		for (uint32_t k = 0; k < w->nnodes; k++) {
			const struct wy_peer *p = &w->node[i].peer[k];
			bool both = p->known && w->node[i].alive && w->node[k].alive && !p->lost;
			INVARIANT(w->s, COMPLETE,
				  !both || (p->done == p->said &&
					    w->node[k].peer[i].ended == p->said),
				  "process %u: of %u blocks to %u %u are done, %u came", i, p->said,
				  k, p->done, w->node[k].peer[i].ended);
		}
}

static uint64_t
longest_gap(const struct wy *w)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < w->nnodes; i++)
		for (uint32_t k = 0; k < w->nnodes; k++)
			most = base_max_ns(most, w->node[i].peer[k].gap_ns);
	return most;
}

static void
meet_all(struct wy *w)
{
	for (uint32_t i = 0; i < w->nnodes; i++)
		for (uint32_t k = 0; k < i; k++)
			if (w->node[i].g.cluster != w->node[k].g.cluster)
				wy_meet(&w->node[i], &w->node[k]);
}

/* ---- ways ---- */

struct ways_weather {
	bool deaths, cuts, alone; /* alone: the second relay may die while the first is away */
	uint32_t killed, died;
};

static bool
other_lives(const struct wy *w, const struct doors_relay *r)
{
	uint32_t n = w->d->conf.nclusters;
	return w->d->relay[(r->index + n) % w->d->nrelays].alive;
}

static void
befall(struct wy *w, struct ways_weather *f)
{
	struct base_prng *g = &w->prng;
	struct doors_relay *r = &w->d->relay[base_prng_below(g, w->d->nrelays)];
	struct wy_node *n = &w->node[base_prng_below(g, w->nnodes)];
	if (r->alive && (f->alone || other_lives(w, r)) && coin(g, 60)) {
		doors_kill_relay(r);
		f->killed++;
	} else if (!r->alive && coin(g, 60)) {
		doors_start_relay(r);
	}
	if (f->cuts)
		doors_cut(w->d, 0, 1, coin(g, 20));
	if (f->deaths && n->alive && n->index && coin(g, 10)) {
		wy_kill(n);
		f->died++;
	}
}

static void
mend_ways(struct wy *w)
{
	doors_cut(w->d, 0, 1, false);
	for (uint32_t i = 0; i < w->d->nrelays; i++)
		if (!w->d->relay[i].alive)
			doors_start_relay(&w->d->relay[i]);
}

/* Its relays die, and do not come back: each way there is given up, at both ends. */
static void
lose_cluster(struct wy *w)
{
	uint32_t n = w->d->conf.nclusters;
	doors_kill_relay(&w->d->relay[1]);
	wy_pass(w, between(&w->prng, 0, 2000) * BASE_MS_NS);
	doors_kill_relay(&w->d->relay[1 + n]);
	wy_pass(w, SILENCE + WY_WAIT + 5 * BASE_S_NS);
	for (uint32_t i = 0; i < w->nnodes && !w->s->failed; i++)
		for (uint32_t k = 0; k < w->nnodes && w->node[i].alive; k++)
			INVARIANT(w->s, TOLD, !w->node[i].peer[k].known || w->node[i].peer[k].lost,
				  "process %u: waits for process %u for ever", i, k);
}

void
ways_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng g = base_prng_seed(seed);
	struct doors_conf c;
	doors_conf_default(&c);
	c.relays = 2;
	c.wan_ns = between(&g, 1, 40) * BASE_MS_NS;
	c.loss_ppb = coin(&g, 30) ? (uint32_t)PICK(&g, 1000000, 20000000) : 0;
	struct wy *w = wy_new(seed, verbose, &c, (uint32_t)between(&g, 2, 5));
	struct ways_weather f = {.deaths = coin(&g, 30)};
	f.cuts = coin(&g, 20);
	f.alone = coin(&g, 30);
	w->blocks = UINT32_MAX;
	w->pause_ns = PICK(&g, 10, 20, 60) * BASE_MS_NS;
	w->long_percent = (uint32_t)PICK(&g, 0, 2, 10);
	wy_pass(w, 2 * BASE_S_NS);
	meet_all(w);
	uint32_t steps = (uint32_t)between(&g, 4, 10);
	for (uint32_t i = 0; i < steps && !w->s->failed; i++) {
		uint64_t most_ms = PICK(&w->prng, 30, 700, 3000);
		wy_pass(w, between(&w->prng, 1, most_ms) * BASE_MS_NS);
		befall(w, &f);
		/* A way that is to be waited for has rested for less. */
		if (f.alone || f.cuts) {
			wy_pass(w, between(&w->prng, 1, 2000) * BASE_MS_NS);
			mend_ways(w);
			wy_pass(w, 5 * BASE_S_NS);
		}
		check_alive(w);
		doors_check(w->d);
	}
	mend_ways(w);
	w->blocks = 0;
	await_all(w, 60 * BASE_S_NS);
	wy_pass(w, WY_WAIT + 2 * BASE_S_NS);
	check_alive(w);
	check_ways_told(w);
	if (coin(&g, 30))
		lose_cluster(w);
	snprintf(o->note, sizeof o->note,
		 "%u processes, %u relays killed%s%s, %u died; longest gap %llu ms", w->nnodes,
		 f.killed, f.alone ? ", both of a cluster" : "", f.cuts ? ", cut off" : "", f.died,
		 (unsigned long long)longest_gap(w) / 1000000);
	wy_finish(w, o);
}

/* ---- deaths at each moment ---- */

struct ways_kill {
	uint64_t after; /* so many events since they met; 0: nobody dies */
	uint32_t relay;
};

struct ways_watch {
	struct wy *w;
	uint64_t until;
};

static bool
is_time_for_kill(void *arg)
{
	const struct ways_watch *m = arg;
	return m->w->s->events >= m->until || wy_all_there(m->w);
}

/* The events that it takes. */
static uint64_t
talk_with_kill(uint64_t seed, bool verbose, const struct doors_conf *c, struct ways_kill kill,
	       uint64_t *gap, struct outcome *o)
{
	struct wy *w = wy_new(seed, verbose, c, 2);
	w->blocks = KILLED_BLOCKS;
	w->pause_ns = BASE_MS_NS + seed % 5 * c->wan_ns / 4;
	w->long_percent = 10;
	wy_pass(w, 2 * BASE_S_NS);
	uint64_t first = w->s->events;
	meet_all(w);
	struct ways_watch m = {w, kill.after ? first + kill.after : UINT64_MAX};
	sim_run(w->s, w->s->now_ns + 60 * BASE_S_NS, is_time_for_kill, &m);
	uint64_t events = w->s->events - first;
	if (kill.after)
		doors_kill_relay(&w->d->relay[kill.relay]);
	await_all(w, 30 * BASE_S_NS);
	wy_pass(w, 2 * BASE_S_NS);
	check_alive(w);
	/* Six round trips: what is said again may be much, and the other trunk begins slowly. */
	uint64_t bar = SILENCE + 12 * c->wan_ns + LOCAL_NS;
	INVARIANT(w->s, PROMPT, longest_gap(w) <= bar, "nothing came for %llu ms, may be %llu",
		  (unsigned long long)longest_gap(w) / 1000000, (unsigned long long)bar / 1000000);
	*gap = base_max_ns(*gap, longest_gap(w));
	wy_finish(w, o);
	return events;
}

/* A world each WAYS_SLICES seeds, and of each world's deaths a slice. */
void
ways_kills_run(uint64_t seed, bool verbose, struct outcome *o)
{
	uint64_t world = seed / WAYS_SLICES, slice = seed % WAYS_SLICES;
	struct base_prng g = base_prng_seed(world);
	struct doors_conf c;
	doors_conf_default(&c);
	c.relays = 2;
	c.wan_ns = between(&g, 1, 40) * BASE_MS_NS;
	uint64_t gap = 0,
		 events = talk_with_kill(world, verbose, &c, (struct ways_kill){0}, &gap, o);
	uint64_t hash = o->hash, all = o->events, tried = 0;
	uint32_t relays = c.relays * c.nclusters;
	for (uint64_t i = slice; i < events * relays && o->ok; i += WAYS_SLICES) {
		struct ways_kill kill = {1 + i / relays, (uint32_t)(i % relays)};
		(void)talk_with_kill(world, verbose, &c, kill, &gap, o);
		hash = hash * 31 + o->hash;
		all += o->events;
		tried++;
		if (!o->ok)
			fprintf(stderr, "ways-kills: relay %u dies after event %llu of %llu\n",
				kill.relay, (unsigned long long)kill.after,
				(unsigned long long)events);
	}
	o->hash = hash;
	o->events = all;
	snprintf(o->note, sizeof o->note,
		 "%llu of %llu deaths, events times relays; %llu ms one way, longest gap %llu ms",
		 (unsigned long long)tried, (unsigned long long)events * relays,
		 (unsigned long long)c.wan_ns / 1000000, (unsigned long long)gap / 1000000);
}
