/* SPDX-License-Identifier: BSD-2-Clause */
/* The proof of a plan: no slot and no place is in two circuits, nobody waits in a circle. */
#include "circ/plan.h"

static const char *
check_setup(const struct circ_plan *p, const struct circ_slots *s, uint32_t j)
{
	const struct circ_setup *u = &p->setup[j];
	if (u->a >= u->b || u->b >= s->nodes)
		return "a set-up does not join two nodes";
	if (u->slot_a >= s->ports[u->a] || u->slot_b >= s->ports[u->b])
		return "a set-up is beyond a node's budget";
	for (int end = 0; end < 2; end++) {
		uint32_t before = end ? u->before_b : u->before_a;
		uint32_t node = end ? u->b : u->a, slot = end ? u->slot_b : u->slot_a;
		if (before == CIRC_NONE)
			continue;
		if (before >= j)
			return "a set-up waits for a later one";
		const struct circ_setup *o = &p->setup[before];
		if (!(o->a == node && o->slot_a == slot) && !(o->b == node && o->slot_b == slot))
			return "a set-up replaces one that is not in its slot";
	}
	return NULL;
}

/* An extra link joins the nodes of its first one, and is in its batch. */
static const char *
check_extra(const struct circ_plan *p, const struct circ_slots *s, uint32_t j)
{
	const struct circ_setup *u = &p->setup[j];
	uint32_t links = 1;
	if (u->first == CIRC_NONE) {
		for (uint32_t x = u->more; x != CIRC_NONE; x = p->setup[x].more)
			if (p->setup[x].first != j)
				return "an extra link is another pair's";
		return NULL;
	}
	const struct circ_setup *f = &p->setup[u->first];
	if (u->first >= j || f->first != CIRC_NONE || f->a != u->a || f->b != u->b ||
	    f->batch != u->batch)
		return "an extra link does not join the nodes of the first";
	if (u->messages || u->from > u->until || u->until > f->messages)
		return "an extra link helps with what is not the pair's";
	/* Those that help when this one begins to. */
	for (uint32_t x = f->more; x != CIRC_NONE; x = p->setup[x].more)
		links += p->setup[x].from <= u->from && (p->setup[x].until > u->from || x == j);
	if (links > (s->links ? s->links : 1))
		return "a pair has more links than it may";
	return NULL;
}

/* Does set-up i lie in a slot of j, in the same batch or without j waiting for it? */
static bool
collide(const struct circ_plan *p, uint32_t i, uint32_t j)
{
	const struct circ_setup *x = &p->setup[i], *y = &p->setup[j];
	bool at_a = (x->a == y->a && x->slot_a == y->slot_a) ||
		    (x->b == y->a && x->slot_b == y->slot_a);
	bool at_b = (x->a == y->b && x->slot_a == y->slot_b) ||
		    (x->b == y->b && x->slot_b == y->slot_b);
	if (circ_mode_batches(p->mode))
		return (at_a || at_b) && x->batch == y->batch;
	return (at_a && y->before_a == CIRC_NONE) || (at_b && y->before_b == CIRC_NONE);
}

/* Places under limits: within them, one circuit in each, and each waits for the one before. */
static const char *
check_places(const struct circ_plan *p, const struct circ_slots *s, uint32_t j)
{
	const struct circ_setup *y = &p->setup[j];
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(s, y->a, y->b, i), last = CIRC_NONE;
		if (pool == CIRC_NONE)
			continue;
		if (y->place[i] >= circ_slots_limit(s, pool))
			return "more circuits are lit than may be";
		for (uint32_t x = 0; x < j; x++)
			for (uint32_t n = 0; n < CIRC_POOLS; n++)
				if (circ_slots_pool(s, p->setup[x].a, p->setup[x].b, n) == pool &&
				    p->setup[x].place[n] == y->place[i])
					last = x;
		if (circ_mode_batches(p->mode) && !y->turn)
			return "a batch under limits does not wait for all nodes";
		if (circ_mode_batches(p->mode)
			    ? last != CIRC_NONE && p->setup[last].batch == y->batch
			    : last != y->before_place[i])
			return "a place under a limit is in two circuits at a time";
	}
	return NULL;
}

/* Whoever replaces a circuit carries messages of that round or later ones only: or not? */
static bool
goes_early(const struct circ_plan *p, uint32_t i, uint32_t round)
{
	for (uint32_t j = i + 1; j < p->setups; j++)
		if ((p->setup[j].before_a == i || p->setup[j].before_b == i) &&
		    p->setup[j].round < round)
			return true;
	return false;
}

const char *
circ_plan_check(const struct circ_plan *p, const struct circ_plan_wish *w,
		const struct circ_slots *s)
{
	for (uint32_t j = 0; j < p->setups; j++) {
		const char *why = check_setup(p, s, j);
		if (!why)
			why = check_places(p, s, j);
		if (!why)
			why = check_extra(p, s, j);
		if (why)
			return why;
		for (uint32_t i = 0; i < j; i++)
			if (collide(p, i, j))
				return "a slot is in two circuits at a time";
	}
	for (uint32_t m = 0; m < w->demands; m++) {
		if (p->by[m] == CIRC_NONE)
			continue;
		const struct circ_setup *u = &p->setup[p->by[m]];
		const struct circ_demand *d = &w->demand[m];
		if (!(u->a == d->from && u->b == d->to) && !(u->b == d->from && u->a == d->to))
			return "a message goes by a circuit between others";
		if (goes_early(p, p->by[m], d->round))
			return "a circuit goes before its last message";
		for (uint32_t x = u->more; x != CIRC_NONE; x = p->setup[x].more)
			if (p->nth[m] >= p->setup[x].from && p->nth[m] < p->setup[x].until &&
			    goes_early(p, x, d->round))
				return "an extra link goes before its last message";
	}
	return NULL;
}
