/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "doors-two": each cluster has two relays, and doors are at both.  Any relay is killed,
 * the others carry on; it comes back, and the other one of its cluster is killed.  Who is importing
 * asks all the while.  A door calls a process that is slow to say HOLD, and comes by another relay
 * before that is said.  A door that left is gone from both. */
#include "doors.h"
#include "draw.h"

#include <stdio.h>

#define REALM	 0x1111222233334444u
#define EVERY_NS (5 * BASE_MS_NS)
#define SILENCE	 (700 * BASE_MS_NS) /* liveness and keepalive of doors_endpoint_conf() */
#define LOCAL_NS (30 * BASE_MS_NS)  /* retries, notes, steps of ours */
#define CALLS	 4u
#define SLOW_MS	 8u
#define TURNS	 12u /* of a slow process: registered, asked for, asked again, answered */

struct pair {
	struct doors *w;
	uint32_t door, own, import; /* of process 0; of process 1; its import of that door */
	uint32_t back, back_import; /* of process 0, which imports own; or NONE */
	uint64_t longest_ns;
};

static uint32_t
register_at_both(struct doors *w, struct doors_proc *p)
{
	uint32_t door = doors_register(p, 1, REALM);
	doors_pass(w, BASE_S_NS);
	if (w->s->failed || door == DOORS_NONE)
		return 0;
	const struct doors_door *d = &w->door[door];
	INVARIANT(w->s, COMPLETE, d->state == DOOR_STATE_OPEN && d->at.nrelays == 2,
		  "process %u: both relays are there, and its door is at %u", p->index,
		  d->at.nrelays);
	return door;
}

static bool
hears_answer(const struct doors_import *m, uint32_t since)
{
	return m->answered >= since && m->answered == m->asked;
}

/* Asks until an answer comes to what was asked from now on. */
static void
ask_until_answered(struct pair *x, uint32_t import, uint64_t bar)
{
	struct doors *w = x->w;
	const struct doors_import *m = &w->import[import];
	uint64_t from = w->s->now_ns;
	uint32_t since = m->asked + 1;
	while (!w->s->failed && !hears_answer(m, since) && w->s->now_ns - from <= bar) {
		/* It hears answers to the last question only. */
		if (m->asked < since || m->answered < m->asked)
			doors_ask(w, import);
		doors_pass(w, 2 * (w->conf.wan_ns + w->conf.slow_ns) + EVERY_NS);
	}
	uint64_t took = w->s->now_ns - from;
	x->longest_ns = base_max_ns(x->longest_ns, took);
	INVARIANT(w->s, PROMPT, hears_answer(m, since),
		  "import %u: no answer for %llu ms, may be %llu", import,
		  (unsigned long long)took / 1000000, (unsigned long long)bar / 1000000);
}

static void
kill_and_wait(struct pair *x, struct doors_relay *r)
{
	struct doors *w = x->w;
	/* Noticed; the trunk that may not be there yet, asked, asked for; one step of ours. */
	uint64_t bar = SILENCE + 2 * (3 * w->conf.wan_ns) + 2 * w->conf.wan_ns +
		       TURNS * w->conf.slow_ns + LOCAL_NS;
	doors_kill_relay(r);
	ask_until_answered(x, x->import, bar);
	if (x->back_import != DOORS_NONE)
		ask_until_answered(x, x->back_import, bar);
	doors_check(w);
	doors_pass(w, 3 * BASE_S_NS);
	doors_start_relay(r);
	doors_pass(w, 3 * BASE_S_NS);
	doors_check(w);
}

/* A door that never called before asks, and its relay begins anew at once: the door comes by the
 * other one while what is called has heard the question, or says HOLD. */
static void
call_while_it_moves(struct pair *x, struct base_prng *g)
{
	struct doors *w = x->w;
	struct doors_proc *from = &w->proc[1];
	uint32_t own = register_at_both(w, from);
	uint32_t import = doors_import(from, own, x->door, &w->door[x->door].at);
	doors_pass(w, BASE_S_NS);
	if (w->s->failed || import == DOORS_NONE)
		return;
	uint32_t site = from->own[w->door[own].place].home;
	struct doors_relay *r = door_guest_relay(&from->g, site);
	doors_ask(w, import);
	doors_pass(w, w->conf.lan_ns + base_prng_below(g, 2 * w->conf.slow_ns));
	doors_kill_relay(r);
	doors_start_relay(r);
	doors_ask(w, import); /* so it hears of that */
	ask_until_answered(x, import,
			   SILENCE + 8 * w->conf.wan_ns + TURNS * w->conf.slow_ns + LOCAL_NS);
	doors_pass(w, 3 * BASE_S_NS);
	doors_leave(w, own);
	doors_check(w);
}

static void
check_empty(struct doors *w, const char *what)
{
	for (uint32_t i = 0; i < w->nrelays && !w->s->failed; i++) {
		struct relay_door_info d;
		relay_core_doors(w->relay[i].core, &d);
		INVARIANT(w->s, EMPTY,
			  !d.own && !d.imports && !d.exports && !d.holds && !d.clusters && !d.dying,
			  "relay %u: %s, and %u doors, %u imports, %u exports, %u holds are left",
			  i, what, d.own, d.imports, d.exports, d.holds);
	}
}

void
doors_two_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng g = base_prng_seed(seed);
	struct doors_conf c;
	doors_conf_default(&c);
	c.relays = 2;
	c.wan_ns = between(&g, 1, 40) * BASE_MS_NS;
	c.slow_ns = between(&g, 1, SLOW_MS) * BASE_MS_NS;
	struct pair x = {.w = doors_new(seed, verbose, &c), .back_import = DOORS_NONE};
	struct doors *w = x.w;
	struct doors_proc *to = &w->proc[0], *from = &w->proc[1];
	doors_pass(w, BASE_S_NS);
	x.door = register_at_both(w, to);
	x.own = register_at_both(w, from);
	x.import = doors_import(from, x.own, x.door, &w->door[x.door].at);
	doors_pass(w, BASE_S_NS);
	if (coin(&g, 50)) /* both import the other's */
		x.back_import = doors_import(to, x.door, x.own, &w->door[x.own].at);
	doors_pass(w, BASE_S_NS);
	ask_until_answered(&x, x.import, 2 * w->conf.wan_ns + TURNS * w->conf.slow_ns + LOCAL_NS);
	for (uint32_t turn = 0; turn < 4 && !w->s->failed; turn++) {
		uint32_t first = (uint32_t)base_prng_below(&g, w->nrelays);
		kill_and_wait(&x, &w->relay[first]);
		if (!w->s->failed)
			kill_and_wait(&x, &w->relay[(first + w->conf.nclusters) % w->nrelays]);
	}
	for (uint32_t i = 0; i < CALLS && !w->s->failed; i++)
		call_while_it_moves(&x, &g);
	doors_leave(w, x.door);
	doors_pass(w, 2 * BASE_S_NS);
	INVARIANT(w->s, TOLD, w->s->failed || w->import[x.import].state == IMPORT_GONE,
		  "door %u left, and who imported it is not told", x.door);
	doors_leave(w, x.own);
	doors_pass(w, 5 * BASE_S_NS);
	check_empty(w, "all left");
	doors_check(w);
	snprintf(o->note, sizeof o->note,
		 "8 relays killed%s: %llu answers, reached anew %llu times, after %llu ms at most",
		 x.back_import == DOORS_NONE ? "" : ", both import", (unsigned long long)w->answers,
		 (unsigned long long)w->resets, (unsigned long long)x.longest_ns / 1000000);
	doors_finish(w, o);
}
