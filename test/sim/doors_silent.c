/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "doors-silent": a tenant imports as many doors as it may at a relay of its own,
 * elsewhere, which answers nothing.  Who imports other doors beside it waits no longer than without
 * it. */
#include "doors.h"
#include "draw.h"

#include <stdio.h>

#define REALM	 0x1111222233334444u
#define FLOOD	 400u
#define TRIES	 40u
#define EVERY_NS (5 * BASE_MS_NS)
#define LABELS	 1000u /* of the silent relay's doors */

struct silence {
	struct doors *w;
	struct doors_proc *evil, *honest, *target;
	uint32_t own, his;
	uint32_t flood[FLOOD]; /* imports */
	uint32_t label;
	uint64_t longest_ns;
};

static void
flood_silent(struct silence *x)
{
	struct doors *w = x->w;
	struct door_address a;
	for (uint32_t k = 0; k < FLOOD; k++) {
		bool waits =
			x->flood[k] != DOORS_NONE && w->import[x->flood[k]].state == IMPORT_ASKED;
		if (waits)
			continue;
		doors_rogue_address(w->rogue, 1 + x->label++ % LABELS, &a);
		x->flood[k] = doors_import(x->evil, x->his, DOORS_NONE, &a);
	}
}

/* Until it may be imported. */
static void
import_beside(struct silence *x)
{
	struct doors *w = x->w;
	uint32_t door = doors_register(x->target, 1, REALM);
	doors_pass(w, 4 * w->conf.lan_ns);
	uint64_t began = w->s->now_ns, bar = 2 * w->conf.wan_ns + 4 * EVERY_NS;
	uint32_t i = doors_import(x->honest, x->own, door, &w->door[door].at);
	while (!w->s->failed && w->import[i].state == IMPORT_ASKED &&
	       w->s->now_ns < began + 20 * BASE_S_NS) {
		flood_silent(x);
		doors_pass(w, EVERY_NS);
	}
	uint64_t took = w->s->now_ns - began;
	x->longest_ns = base_max_ns(x->longest_ns, took);
	INVARIANT(w->s, COMPLETE, w->import[i].state != IMPORT_REFUSED,
		  "beside who asks a relay that is silent an import is refused");
	INVARIANT(w->s, PROMPT, took <= bar,
		  "beside who asks a relay that is silent an import takes %llu ms, may take %llu",
		  (unsigned long long)took / 1000000, (unsigned long long)bar / 1000000);
	doors_drop(w, i);
	doors_leave(w, door);
	doors_pass(w, between(&w->prng, 1, 400) * BASE_MS_NS);
}

void
doors_silent_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct doors_conf c;
	doors_conf_default(&c);
	c.wan_ns = between(&p, 1, 20) * BASE_MS_NS;
	c.per_proc_max = 512;
	c.imports_max = 512;
	c.doors_max = 4096;
	c.most = 65536;
	struct silence x = {.w = doors_new(seed, verbose, &c)};
	struct doors *w = x.w;
	x.target = &w->proc[0];
	x.honest = &w->proc[1];
	x.evil = &w->proc[3];
	for (uint32_t k = 0; k < FLOOD; k++)
		x.flood[k] = DOORS_NONE;
	doors_pass(w, BASE_S_NS);
	x.own = doors_register(x.honest, 1, REALM);
	x.his = doors_register(x.evil, 1, REALM);
	doors_pass(w, BASE_S_NS);
	w->rogue = doors_rogue_new(w);
	while (!doors_rogue_come(w->rogue, x.his) && w->s->now_ns < 20 * BASE_S_NS)
		doors_pass(w, BASE_MS_NS);
	x.evil->evil = true;
	/* The trunk to the honest one. */
	uint32_t first = doors_register(x.target, 1, REALM);
	doors_pass(w, BASE_S_NS);
	(void)doors_import(x.honest, x.own, first, &w->door[first].at);
	doors_pass(w, BASE_S_NS);
	flood_silent(&x);
	doors_pass(w, BASE_S_NS);
	for (uint32_t i = 0; i < TRIES && !w->s->failed; i++)
		import_beside(&x);
	doors_check(w);
	snprintf(
		o->note, sizeof o->note,
		"%u asked of a silent relay; imports beside them took %llu ms at most, %llu ms one "
		"way",
		FLOOD, (unsigned long long)x.longest_ns / 1000000,
		(unsigned long long)c.wan_ns / 1000000);
	doors_finish(w, o);
}
