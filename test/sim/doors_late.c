/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "doors-late": one question between two clusters is lost again and again, for longer than
 * a label rests.  Meanwhile its import is dropped, and others take places without end.  When it
 * gets through at last it must not come to another door. */
#include "doors.h"
#include "draw.h"

#include "base/bytes.h"
#include "relay/core.h"

#include <stdio.h>
#include <string.h>

#define REALM	 0x1111222233334444u
#define EVERY_NS (15 * BASE_MS_NS)
#define OTHERS	 24u /* further doors of the target, whose imports come and go */
#define MARK	 12u /* bytes of a datagram that name a question */

struct lateness {
	struct doors *w;
	struct doors_proc *asker, *target;
	uint32_t own, import, door; /* of the question */
	uint32_t first;		    /* other doors of the target */
	uint32_t other[OTHERS];
	uint64_t until_ns, lost;
	uint32_t taken; /* places that others were given meanwhile */
};

/* What a process sends begins with kind, from door, to door (doors_world.c). */
static bool
is_the_question(const struct lateness *l, const struct sim_buf *b)
{
	uint8_t what[MARK];
	be32_store(what, 1);
	be32_store(what + 4, l->own);
	be32_store(what + 8, l->door);
	for (uint32_t at = 0; at + MARK <= b->len; at++)
		if (memcmp(b->data + at, what, MARK) == 0)
			return true;
	return false;
}

static bool
lose(void *who, const struct sim_buf *b)
{
	struct lateness *l = who;
	bool hit = l->w->s->now_ns < l->until_ns && is_the_question(l, b);
	l->lost += hit;
	return hit;
}

/* One of the others goes, or comes. */
static void
turn_over(struct lateness *l, uint32_t k)
{
	struct doors *w = l->w;
	uint32_t door = l->first + k;
	if (l->other[k] != DOORS_NONE) {
		doors_drop(w, l->other[k]);
		l->other[k] = DOORS_NONE;
		return;
	}
	l->other[k] = doors_import(l->asker, l->own, door, &w->door[door].at);
	l->taken += l->other[k] != DOORS_NONE;
}

static void
ask_others(struct lateness *l)
{
	for (uint32_t k = 0; k < OTHERS; k++)
		if (l->other[k] != DOORS_NONE)
			doors_ask(l->w, l->other[k]);
}

void
doors_late_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct base_prng p = base_prng_seed(seed);
	struct doors_conf c;
	doors_conf_default(&c);
	c.wan_ns = between(&p, 1, 40) * BASE_MS_NS;
	c.doors_max = 128; /* so a place is soon another's */
	struct lateness l = {.w = doors_new(seed, verbose, &c)};
	l.target = &l.w->proc[0];
	l.asker = &l.w->proc[1];
	doors_pass(l.w, BASE_S_NS);
	l.own = doors_register(l.asker, 1, REALM);
	l.door = doors_register(l.target, 1, REALM);
	for (uint32_t k = 0; k < OTHERS; k++) {
		uint32_t door = doors_register(l.target, 1, REALM);
		l.first = k ? l.first : door;
		l.other[k] = DOORS_NONE;
	}
	doors_pass(l.w, BASE_S_NS);
	l.import = doors_import(l.asker, l.own, l.door, &l.w->door[l.door].at);
	doors_pass(l.w, BASE_S_NS);
	struct sim_link *link = &l.w->s->link[l.w->wan[l.asker->g.cluster][l.target->g.cluster]];
	l.until_ns = l.w->s->now_ns + between(&p, 5, 9) * BASE_S_NS;
	link->aim = lose;
	link->aim_who = &l;
	doors_ask(l.w, l.import);
	doors_pass(l.w, BASE_S_NS / 4);
	doors_drop(l.w, l.import);
	while (l.w->s->now_ns < l.until_ns + BASE_S_NS && !l.w->s->failed) {
		turn_over(&l, (uint32_t)base_prng_below(&l.w->prng, OTHERS));
		ask_others(&l);
		doors_pass(l.w, EVERY_NS);
	}
	const struct relay_counters *n = relay_core_counters(l.w->relay[l.asker->g.cluster].core);
	INVARIANT(l.w->s, COMPLETE, l.lost > 2, "the question was lost %llu times only",
		  (unsigned long long)l.lost);
	INVARIANT(l.w->s, COMPLETE, l.taken > c.doors_max / 4, "%u places were another's only",
		  l.taken);
	doors_check(l.w);
	snprintf(o->note, sizeof o->note,
		 "a question lost %llu times; %u imports meanwhile, places kept for it %llu times",
		 (unsigned long long)l.lost, l.taken, (unsigned long long)n->door_places_kept);
	doors_finish(l.w, o);
}
