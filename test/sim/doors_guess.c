/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "doors-guess": a tenant guesses tokens of another cluster's doors without end, first
 * many at once.  Who imports with the right token beside him, from another address, over the same
 * trunk, is not refused for longer than what the far relay forgives one guess after. */
#include "doors.h"
#include "draw.h"

#include <stdio.h>

#define REALM	   0x1111222233334444u
#define BURST	   200u /* more than the far relay looks at */
#define EVERY_NS   (10 * BASE_MS_NS)
#define TRIES	   60u /* of who has the token */
#define FORGIVE_NS (BASE_S_NS / 16)

struct guessing {
	struct doors *w;
	struct doors_proc *guesser, *honest, *target;
	uint32_t mark, own; /* doors: what is guessed at; what the honest one comes with */
	uint32_t his, pace; /* his door; guesses each EVERY_NS */
	uint64_t guesses, refused, since_ns, longest_ns; /* since_ns: refused, or 0 */
};

static void
guess_some(struct guessing *g, uint32_t n)
{
	struct doors *w = g->w;
	for (uint32_t i = 0; i < n; i++) {
		struct door_address a = w->door[g->mark].at;
		a.token ^= base_prng_next(&w->prng) | 1;
		g->guesses += doors_import(g->guesser, g->his, DOORS_NONE, &a) != DOORS_NONE;
	}
}

/* A door that nobody has imported yet, so that it has to be asked for. */
static void
import_honestly(struct guessing *g)
{
	struct doors *w = g->w;
	uint32_t door = doors_register(g->target, 1, REALM), import = DOORS_NONE;
	for (uint64_t end = w->s->now_ns + BASE_S_NS; w->s->now_ns < end && !w->s->failed;) {
		guess_some(g, g->pace);
		doors_pass(w, EVERY_NS);
		if (import == DOORS_NONE && w->door[door].state == DOOR_STATE_OPEN)
			import = doors_import(g->honest, g->own, door, &w->door[door].at);
		else if (import != DOORS_NONE && w->import[import].state != IMPORT_ASKED)
			break;
	}
	if (w->s->failed)
		return;
	INVARIANT(w->s, COMPLETE, import != DOORS_NONE && w->import[import].state != IMPORT_ASKED,
		  "door %u: nobody says whether it may be imported", door);
	bool held = w->import[import].state == IMPORT_HELD;
	uint64_t bar = FORGIVE_NS + 8 * w->conf.wan_ns + 10 * EVERY_NS, now = w->s->now_ns;
	g->refused += !held;
	if (!held && !g->since_ns)
		g->since_ns = now;
	if (g->since_ns)
		g->longest_ns = base_max_ns(g->longest_ns, now - g->since_ns);
	if (held)
		g->since_ns = 0;
	INVARIANT(w->s, PROMPT, g->longest_ns <= bar,
		  "a tenant guesses, and another one is refused for %llu ms, may be %llu",
		  (unsigned long long)g->longest_ns / 1000000, (unsigned long long)bar / 1000000);
	doors_drop(w, import);
	doors_leave(w, door);
}

void
doors_guess_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct doors_conf c;
	doors_conf_default(&c);
	c.wan_ns = between(&p, 1, 20) * BASE_MS_NS;
	c.per_proc_max = 256;
	c.doors_max = 2048;
	c.most = 32768;
	struct guessing g = {.w = doors_new(seed, verbose, &c)};
	g.target = &g.w->proc[0];
	g.honest = &g.w->proc[1];
	g.guesser = &g.w->proc[3];
	doors_pass(g.w, BASE_S_NS);
	g.mark = doors_register(g.target, 1, REALM);
	g.own = doors_register(g.honest, 1, REALM);
	g.his = doors_register(g.guesser, 1, REALM);
	g.guesser->evil = true;
	doors_pass(g.w, BASE_S_NS);
	import_honestly(&g); /* the trunk is up */
	g.pace = 2;
	guess_some(&g, BURST);
	for (uint32_t i = 0; i < TRIES && !g.w->s->failed; i++)
		import_honestly(&g);
	doors_check(g.w);
	snprintf(o->note, sizeof o->note,
		 "%llu guesses; %u imports with the token, %llu of them refused, for %llu ms",
		 (unsigned long long)g.guesses, TRIES, (unsigned long long)g.refused,
		 (unsigned long long)g.longest_ns / 1000000);
	doors_finish(g.w, o);
}
