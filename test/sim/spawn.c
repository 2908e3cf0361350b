/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "spawn": processes of a job start others, one or two at once, and each process and the
 * launcher dies after each event of it.  A world each SPAWN_SLICES seeds, and of its deaths a
 * slice; then some pairs of deaths.
 * "spawn-relays": the same in two clusters with two relays each, which die, too.
 *
 * What must hold: every call ends, with the error codes that MPI has; who was started has met who
 * asked for it, all of them, or none is left; nobody else ends; who asks anew is served. */
#include "spawn.h"

#include "draw.h"

#include <stdio.h>
#include <string.h>

#define LONGEST_NS (200 * BASE_S_NS)
#define BUSY_NS	   (300 * BASE_MS_NS) /* afterwards some wait for who does not come */
#define SETTLED_NS (2 * LAUNCH_GRACE_NS + BASE_S_NS)

struct spawn_kill {
	uint64_t after; /* so many events of the simulator; 0: nobody dies */
	uint32_t who;	/* a process, SW_LAUNCHER, or from SW_RELAY on a relay */
	/* So many events later another one dies; 0: nobody. */
	uint64_t then_after;
	uint32_t then_who;
};

static bool
is_one_of(struct spawn_kill kill, uint32_t who)
{
	return who == kill.who || (kill.then_after && who == kill.then_who);
}

struct spawn_watch {
	const struct sw *w;
	uint64_t until;
};

static bool
is_moment(void *arg)
{
	const struct spawn_watch *t = arg;
	return t->w->s->events >= t->until || sw_calls_over(t->w);
}

/* ---- what must hold ---- */

static void
check_codes(struct sw *w, const struct sw_ask *a, const struct sw_proc *p)
{
	const int *code = p->result.codes;
	for (uint32_t i = 0; i < a->commands && p->result.knows; i++)
		for (uint64_t k = 0; k < a->count[i].wanted; k++, code++) {
			bool good = p->result.rc == 0 && k < a->count[i].n;
			INVARIANT(w->s, RESULT, good == (*code == 0),
				  "process %u: process %u of command %u has code %d, and the call "
				  "gave %d",
				  p->index, (uint32_t)k, i, *code, p->result.rc);
		}
}

/* Those of its job. */
static uint32_t
count_children(const struct sw *w, const struct sw_ask *a, bool returned)
{
	uint32_t n = 0;
	for (uint32_t p = 0; a->job != SW_NONE && p < w->jobs.nprocs; p++)
		n += w->launched[p].job == a->job && w->proc[p].alive &&
		     (!returned || w->proc[p].returned);
	return n;
}

static void
check_spawned(struct sw *w, const struct sw_ask *a, bool anybody_died)
{
	const struct sw_proc *root = &w->proc[a->root];
	uint32_t alive = count_children(w, a, false), there = count_children(w, a, true);
	uint64_t wanted = 0;
	if (a->job == SW_NONE)
		return;
	for (uint32_t i = 0; i < a->commands; i++)
		wanted += a->count[i].n;
	INVARIANT(w->s, RESULT, wanted == w->job[a->job].n,
		  "%u processes are of a job, and %llu were to be", w->job[a->job].n,
		  (unsigned long long)wanted);
	INVARIANT(w->s, EMPTY, alive == there,
		  "%u processes of a job have not met who asked for it", alive - there);
	INVARIANT(w->s, EMPTY, !root->alive || a->connected || alive == 0,
		  "a call has failed, and %u processes of it are left", alive);
	INVARIANT(w->s, TOGETHER, anybody_died || !a->connected || there == wanted,
		  "nobody died, %llu were started, and %u have met who asked for them",
		  (unsigned long long)wanted, there);
	for (uint32_t p = 0; p < w->jobs.nprocs; p++)
		INVARIANT(w->s, TOGETHER,
			  w->launched[p].job != a->job || !w->proc[p].returned ||
				  w->proc[p].parent == a->token,
			  "process %u has the parent of another job", p);
	uint64_t gone = w->gone_ns[a->job];
	INVARIANT(w->s, TOLD,
		  !root->alive || a->connected || !gone || a->ended_ns <= gone + BASE_S_NS,
		  "a job was gone after %llu ms, and who asked for it heard that after %llu ms",
		  (unsigned long long)gone / BASE_MS_NS,
		  (unsigned long long)a->ended_ns / BASE_MS_NS);
}

static void
check_spawn(struct sw *w, const struct sw_ask *a, bool anybody_died)
{
	const struct sw_proc *root = &w->proc[a->root];
	for (uint32_t i = a->first; i < a->first + a->n; i++) {
		const struct sw_proc *p = &w->proc[i];
		if (!p->alive)
			continue;
		INVARIANT(w->s, COMPLETE, p->result.over, "process %u: its call does not end", i);
		INVARIANT(w->s, RESULT, !root->alive || !a->connected || p->result.rc == 0,
			  "process %u: its call fails (%d), and is well at the root", i,
			  p->result.rc);
		INVARIANT(w->s, RESULT, !root->alive || a->connected || p->result.rc != 0,
			  "process %u: its call is well, and fails at the root", i);
		check_codes(w, a, p);
	}
	check_spawned(w, a, anybody_died);
}

/* Who was started and a process of the other cluster know each other's doors. */
static void
check_far(struct sw *w)
{
	const struct sw_ask *a = &w->ask[0];
	const struct mt_node *far = &w->m->node[SW_FAR], *child = &w->m->node[a->node + SW_CHILD];
	for (uint32_t k = 0; k < 2 && w->relays && far->alive && child->alive; k++) {
		const struct doors_relay *r = &w->m->d->relay[k];
		if (!r->alive && !r[w->m->d->conf.nclusters].alive)
			return; /* the last one of a cluster */
	}
	for (uint32_t k = 0; k < 2 && w->relays && far->alive && child->alive; k++) {
		const struct mt_node *n = k ? child : far;
		INVARIANT(w->s, COMPLETE,
			  a->imports[k] == SW_NONE ||
				  door_client_reaches(&n->import[a->imports[k]]),
			  "%s does not reach %s, and a relay of each is there",
			  k ? "who was started" : "a far process", k ? "it" : "who was started");
	}
}

/* All have ended their calls, and what was given up is gone. */
static void
check_all(struct sw *w, struct spawn_kill kill)
{
	bool died = kill.after || w->refuses_at != SW_NONE;
	for (uint32_t p = 0; p < w->jobs.nprocs && !w->s->failed; p++)
		INVARIANT(w->s, COMPLETE, !w->proc[p].alive || w->proc[p].stage == SW_IDLE,
			  "process %u waits (%d), and for nothing that comes", p, w->proc[p].stage);
	for (uint32_t i = 0; i < w->nasks && !w->s->failed; i++)
		check_spawn(w, &w->ask[i], died);
	for (uint32_t p = 0; p < w->ranks && !w->s->failed; p++)
		INVARIANT(w->s, ALIVE,
			  w->proc[p].alive || is_one_of(kill, p) || w->jobs.ending ||
				  !w->launcher_alive,
			  "process %u has ended, and nobody wanted that", p);
	INVARIANT(w->s, ALIVE, kill.after || !w->jobs.ending, "all ends, and nobody died");
	check_far(w);
	mt_check_together(w->m);
}

/* Whoever asked is dead for a while: nobody comes to him. */
static void
check_orphans(struct sw *w)
{
	for (uint32_t i = 0; i < w->nasks && !w->s->failed; i++) {
		const struct sw_ask *a = &w->ask[i];
		uint32_t n = count_children(w, a, false) - count_children(w, a, true);
		INVARIANT(w->s, EMPTY, w->proc[a->root].alive || n == 0,
			  "process %u has died, and %u that were to meet it are left", a->root, n);
	}
}

static void
start_relays(struct sw *w)
{
	for (uint32_t i = 0; w->relays && i < w->m->d->nrelays; i++)
		if (!w->m->d->relay[i].alive)
			doors_start_relay(&w->m->d->relay[i]);
	if (w->relays)
		mt_pass(w->m, 3 * BASE_S_NS);
}

/* Somebody who is left asks for one process. */
static void
ask_once_more(struct sw *w)
{
	uint32_t p = 0;
	while (p < w->ranks && !w->proc[p].alive)
		p++;
	if (p == w->ranks || !w->launcher_alive || w->jobs.ending || w->s->failed)
		return;
	struct sw_ask *a = &w->ask[SW_ASKS - 1];
	*a = (struct sw_ask){.root = p,
			     .first = p,
			     .n = 1,
			     .node = SW_ASKS - 1,
			     .job = SW_NONE,
			     .imports = {SW_NONE, SW_NONE},
			     .commands = 1,
			     .count = {{1, 1}}};
	w->proc[p].node = &w->m->node[SW_ASKS - 1];
	memset(w->proc[p].dead, 0, sizeof w->proc[p].dead);
	w->refuses_at = SW_NONE;
	bool room = w->jobs.nprocs < SW_PROCS && (!w->jobs.usize || w->jobs.alive < w->jobs.usize);
	sw_begin(w, SW_ASKS - 1);
	mt_pass(w->m, SW_LIMIT_NS);
	INVARIANT(w->s, COMPLETE, a->connected == room, "process %u asks for another one: %s", p,
		  room ? "it is not there" : "it is there, and there was no room");
	INVARIANT(w->s, TOGETHER, count_children(w, a, true) == a->connected,
		  "process %u asked for another one: it has not met it", p);
}

/* ---- a run ---- */

/* What a run without deaths gave. */
struct spawn_plain {
	uint64_t events; /* in which somebody may die */
	uint32_t procs;	 /* that there were then */
	bool connected[SW_ASKS];
};

static void
kill_both(struct sw *w, struct spawn_watch *t, struct spawn_kill kill)
{
	sw_kill(w, kill.who);
	if (!kill.then_after)
		return;
	t->until = w->s->events + kill.then_after;
	sim_run(w->s, w->s->now_ns + BUSY_NS, is_moment, t);
	if (kill.then_who >= SW_LAUNCHER || kill.then_who < w->jobs.nprocs)
		sw_kill(w, kill.then_who);
}

/* A relay dies, and there is another one.  Of two who ask at once either may be served, if there is
 * not room for both. */
static void
check_as_plain(struct sw *w, struct spawn_kill kill, const struct spawn_plain *plain)
{
	bool apart = w->nasks == 1 || (!w->jobs.usize && w->refuses_at == SW_NONE);
	if (kill.who < SW_RELAY || kill.then_after || !apart)
		return;
	for (uint32_t i = 0; i < w->nasks; i++)
		INVARIANT(w->s, COMPLETE, w->ask[i].connected || !plain->connected[i],
			  "one of two relays has died, and a call of process %u failed",
			  w->ask[i].root);
}

static void
spawn_once(uint64_t seed, bool verbose, bool relays, struct spawn_kill kill,
	   struct spawn_plain *plain, struct outcome *o)
{
	struct sw *w = sw_new(seed, verbose, relays);
	uint64_t first = w->s->events;
	for (uint32_t i = 0; i < w->nasks; i++)
		sw_begin(w, i);
	struct spawn_watch t = {w, kill.after ? first + kill.after : UINT64_MAX};
	sim_run(w->s, w->s->now_ns + BUSY_NS, is_moment, &t);
	uint64_t events = w->s->events - first;
	uint32_t procs = w->jobs.nprocs;
	if (kill.after)
		kill_both(w, &t, kill);
	t.until = UINT64_MAX;
	mt_pass(w->m, SETTLED_NS);
	check_orphans(w);
	sim_run(w->s, w->s->now_ns + LONGEST_NS, is_moment, &t);
	mt_pass(w->m, SETTLED_NS);
	check_all(w, kill);
	if (kill.after)
		check_as_plain(w, kill, plain);
	else
		*plain = (struct spawn_plain){.events = events, .procs = procs};
	for (uint32_t i = 0; i < w->nasks && !kill.after; i++)
		plain->connected[i] = w->ask[i].connected;
	start_relays(w);
	ask_once_more(w);
	sw_leave(w);
	mt_pass(w->m, SETTLED_NS);
	for (uint32_t p = 0; p < w->jobs.nprocs && !w->s->failed; p++)
		INVARIANT(w->s, EMPTY, !w->proc[p].alive, "process %u is left in the end", p);
	INVARIANT(w->s, EMPTY, !w->launcher_alive || w->jobs.alive == 0,
		  "the launcher counts %u processes in the end", w->jobs.alive);
	sw_finish(w, o);
}

/* The i-th of those who may die. */
static uint32_t
who_dies(const struct spawn_plain *plain, uint32_t i)
{
	return i < plain->procs	   ? i
	       : i == plain->procs ? SW_LAUNCHER
				   : SW_RELAY + (i - plain->procs - 1);
}

static void
kill_slice(uint64_t seed, bool verbose, bool relays, uint32_t slices, struct outcome *o)
{
	uint64_t world = seed / slices, slice = seed % slices, tried = 0, pairs = 0;
	struct base_prng g = base_prng_seed(seed ^ 0x7061697273);
	struct spawn_plain plain;
	spawn_once(world, verbose, relays, (struct spawn_kill){.who = SW_NONE}, &plain, o);
	uint32_t whos = plain.procs + 1 + (relays ? 2 * DOOR_CLIENT_SITES : 0);
	uint64_t hash = o->hash, all = o->events;
	for (uint64_t i = slice; i < plain.events * whos && o->ok;) {
		struct spawn_kill kill = {.after = 1 + i / whos,
					  .who = who_dies(&plain, (uint32_t)(i % whos))};
		/* Behind each fourth one the same with another death soon. */
		bool pair = tried % 4 == 3 && pairs < tried / 4 + 1;
		if (pair) {
			kill.then_after = between(&g, 1, 60);
			kill.then_who = who_dies(&plain, (uint32_t)base_prng_below(&g, whos));
		}
		spawn_once(world, verbose, relays, kill, &plain, o);
		hash = hash * 31 + o->hash;
		all += o->events;
		pairs += pair;
		tried += !pair;
		i += pair ? 0 : slices;
		if (!o->ok)
			fprintf(stderr, "spawn: %u dies after event %llu of %llu, %u %llu later\n",
				kill.who, (unsigned long long)kill.after,
				(unsigned long long)plain.events, kill.then_who,
				(unsigned long long)kill.then_after);
	}
	o->hash = hash;
	o->events = all;
	snprintf(o->note, sizeof o->note, "%llu of %llu deaths, events times who; %llu pairs",
		 (unsigned long long)tried, (unsigned long long)plain.events * whos,
		 (unsigned long long)pairs);
}

void
spawn_run(uint64_t seed, bool verbose, struct outcome *o)
{
	kill_slice(seed, verbose, false, SPAWN_SLICES, o);
}

void
spawn_relays_run(uint64_t seed, bool verbose, struct outcome *o)
{
	kill_slice(seed, verbose, true, SPAWN_RELAYS_SLICES, o);
}
