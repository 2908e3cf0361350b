/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of its relays an IMPORT goes by.
 *
 * All relays of an address are asked, and one of those that know the door carries what is between
 * it and all who use it here: in both directions, for its process knows them by labels of that
 * relay and has lanes there.  It stays the one until it is lost, or until another one offers the
 * door: then its process is to be found there.  Who used it hears that all begins anew. */
#include "door_internal.h"

static uint32_t
knowing(const struct door *e)
{
	return (e->flags & DOOR_PROVED) | e->flags / DOOR_HOPED;
}

uint32_t
relay_door_way(const struct door *e)
{
	return e->use && knowing(e) >> (e->use - 1) & 1 ? e->use - 1u : DOOR_RELAYS_MAX;
}

uint32_t
relay_door_index(const struct door_cluster *k, uint32_t t)
{
	for (uint32_t r = 0; r < k->n; r++)
		if (k->trunk[r] == t)
			return r;
	return DOOR_RELAYS_MAX;
}

/* Its process knows ours by another label from now on, or by none. */
static void
begin_anew(struct relay_core *c, uint32_t h)
{
	struct door_hold *x = &c->doors.hold[h];
	/* Also if it is still to be told of the last time. */
	bool holds = x->state == HOLD_HOLDS && (!x->tell || x->anew);
	if (!x->asks) { /* it is called anew */
		x->anew = x->tell = true;
		relay_door_queue(c, h);
		return;
	}
	if (!holds && !x->named)
		return;
	x->anew = holds;
	x->turn++;
}

/* The IMPORT goes by another relay than before. */
static void
move_users(struct relay_core *c, uint32_t i)
{
	struct doors *d = &c->doors;
	uint8_t bit = (uint8_t)(1u << (d->door[i].use - 1));
	relay_new_era(c);
	c->n.door_moved++;
	d->door[i].moved = true;
	for (uint32_t h = d->door[i].of; h != NONE && !RELAY_BUG(DOOR_SAME_TURN);
	     h = d->hold[h].of_import.next) {
		struct door_hold *x = &d->hold[h];
		begin_anew(c, h);
		if (!x->asks)
			continue;
		if (x->has & bit)
			x->tell = x->tell || x->anew;
		else if (!((x->ask | x->wait) & bit))
			x->ask |= bit;
		relay_door_queue(c, h);
	}
}

/* Those that were asked do not know it, and the others are not there yet: what was said to it by a
 * label that only was named is dropped there. */
static void
lose_hope(struct relay_core *c, uint32_t i)
{
	const struct doors *d = &c->doors;
	for (uint32_t h = d->door[i].of; h != NONE; h = d->hold[h].of_import.next)
		if (d->hold[h].asks)
			begin_anew(c, h);
}

/* Something that it knows of its relays has changed. */
static void
choose_way(struct relay_core *c, uint32_t i)
{
	struct door *e = &c->doors.door[i];
	uint32_t proved = e->flags & DOOR_PROVED, to = proved ? proved : knowing(e);
	bool had = e->use != 0;
	if (relay_door_way(e) != DOOR_RELAYS_MAX)
		return;
	e->use = (uint8_t)__builtin_ffs((int)to);
	if (had && e->use)
		move_users(c, i);
	else if (had)
		lose_hope(c, i);
}

void
relay_door_hope(struct relay_core *c, uint32_t i, uint32_t r, bool on)
{
	struct door *e = &c->doors.door[i];
	uint8_t bit = (uint8_t)(DOOR_HOPED << r), was = e->flags;
	e->flags = on ? e->flags | bit : e->flags & (uint8_t)~bit;
	if (e->flags == was)
		return;
	relay_new_era(c);
	choose_way(c, i);
}

bool
relay_door_proved(struct relay_core *c, uint32_t i, uint32_t r, uint32_t t)
{
	struct door *e = &c->doors.door[i];
	if (!relay_door_map(c, &c->trunk[t].door_root, e->there, e->n, i))
		return false;
	e->flags |= (uint8_t)(1u << r);
	relay_new_era(c);
	choose_way(c, i);
	return true;
}

void
relay_door_offered(struct relay_core *c, uint32_t i, uint32_t r)
{
	struct door *e = &c->doors.door[i];
	bool moves = e->use && e->use != r + 1;
	e->flags |= DOOR_OFFERED;
	if (e->offerer != r + 1)
		e->seen = 0; /* of notes that another one numbered, or the same in another life */
	e->offerer = (uint8_t)(r + 1);
	(void)suci_note_is_news(c->ep, &e->seen);
	e->use = e->offerer;
	if (moves)
		move_users(c, i);
}

/* Relay r does not know it any more. */
static void
forget_relay(struct relay_core *c, uint32_t i, uint32_t r)
{
	struct doors *d = &c->doors;
	struct door *e = &d->door[i];
	e->flags &= (uint8_t) ~(1u << r);
	if (!(e->flags & DOOR_PROVED) || e->offerer == r + 1) {
		e->flags &= (uint8_t)~DOOR_OFFERED;
		e->offerer = 0;
	}
	for (uint32_t h = e->of; h != NONE; h = d->hold[h].of_import.next)
		d->hold[h].has &= (uint8_t) ~(1u << r);
}

void
relay_door_left(struct relay_core *c, uint32_t i, uint32_t r)
{
	const struct door *e = &c->doors.door[i];
	uint32_t t = c->doors.cluster[e->at].trunk[r];
	relay_new_era(c);
	relay_door_unmap(c, &c->trunk[t].door_root, e->there, e->n);
	forget_relay(c, i, r);
	choose_way(c, i);
}

/* Nobody is known to have it: the others may have got it since they were asked. */
static uint8_t
ask_anew(const struct relay_core *c, const struct door_cluster *k, const struct door_hold *h,
	 uint32_t but)
{
	uint8_t ask = 0;
	for (uint32_t r = 0; r < k->n; r++)
		if (r != but && k->trunk[r] != NONE && c->trunk[k->trunk[r]].up)
			ask |= (uint8_t)(1u << r);
	return ask & (uint8_t)~h->wait;
}

void
relay_door_unprove(struct relay_core *c, uint32_t i, uint32_t r)
{
	struct doors *d = &c->doors;
	struct door *e = &d->door[i];
	const struct door_cluster *k = &d->cluster[e->at];
	bool proved = e->flags >> r & 1;
	forget_relay(c, i, r);
	bool lost = proved && !(e->flags & DOOR_PROVED);
	if (!(e->flags & DOOR_PROVED))
		e->use = 0;
	e->moved |= lost;
	for (uint32_t h = e->of, next; h != NONE; h = next) {
		struct door_hold *x = &d->hold[h];
		next = x->of_import.next;
		x->wait &= (uint8_t) ~(1u << r);
		relay_door_unreserve(c, x, (uint8_t)(1u << r));
		if (x->asks)
			x->ask |= (uint8_t)(1u << r);
		if (!(e->flags & DOOR_PROVED)) {
			uint8_t others = x->asks && proved ? ask_anew(c, k, x, r) : 0;
			if (x->asks || lost)
				begin_anew(c, h);
			x->ask |= others;
			if (others)
				relay_door_queue(c, h);
		}
		if (x->asks && !proved && k->n > 1) {
			x->unreached = true;
			relay_door_queue(c, h);
		}
		if (!x->dropped || x->wait)
			continue;
		/* Others may have been told of a door of its process. */
		if (k->n > 1)
			relay_door_queue(c, h);
		else
			relay_door_unhold(c, h);
	}
	relay_door_hope(c, i, r, false);
	choose_way(c, i);
}

/* ---- who may hear it ---- */

/* Its process knows the label by it. */
static bool
is_told(const struct door_hold *x)
{
	return x->named || (x->state == HOLD_HOLDS && (!x->tell || x->anew));
}

/* But not yet that lanes begin anew.  False: it cannot be told now. */
static bool
catch_up(struct relay_core *c, struct door_hold *x)
{
	bool behind = x->anew || (x->turn && (x->tell || x->state == HOLD_WAITS));
	if (!behind)
		return true;
	if (!x->tell || !relay_door_say_held(c, x))
		return false;
	x->tell = false;
	return true;
}

/* Who is called says HOLD, and that may be under way while the import moves.  Then nobody knows
 * that he is to be told.  So who is called by one that has moved holds it before he hears it. */
bool
relay_door_knows(struct relay_core *c, uint32_t i, uint32_t path)
{
	struct doors *d = &c->doors;
	bool told = false;
	if (!d->door[i].moved || RELAY_BUG(DOOR_LATE_HOLD))
		return true;
	for (uint32_t h = NONE; (h = relay_door_held(c, i, path, h)) != NONE;) {
		struct door_hold *x = &d->hold[h];
		if (x->dropped || !is_told(x))
			continue;
		if (!catch_up(c, x))
			return false;
		told = true;
	}
	if (told)
		return true;
	uint32_t h = relay_door_hold_caller(c, i, path);
	if (h != NONE)
		return catch_up(c, &d->hold[h]);
	/* He has as many as he may, and hears that to each HOLD, too. */
	struct relay_door_note n = {.op = RELAY_DOOR_GONE, .label = d->door[i].here};
	return relay_door_send(c, path, &n);
}
