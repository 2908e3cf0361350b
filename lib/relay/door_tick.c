/* SPDX-License-Identifier: BSD-2-Clause */
/* The tick of doors: asks, tells what found no room, frees what is over, gives up what is lost. */
#include "door_internal.h"

#include <string.h>

#define DOOR_TELLS_MAX 256u /* notes in one go */

static bool
send_ask(struct relay_core *c, uint32_t h, uint32_t r)
{
	const struct doors *d = &c->doors;
	const struct door_hold *x = &d->hold[h];
	const struct door *e = &d->door[x->import];
	const struct door_cluster *k = &d->cluster[e->at];
	uint32_t t = k->trunk[r];
	uint8_t bytes[DOOR_ADDRESS_MAX], own[DOOR_ADDRESS_MAX], buf[RELAY_DOOR_NOTE_MAX];
	struct door_address a = {.realm = e->realm,
				 .token = e->token,
				 .label = e->there,
				 .n = e->n,
				 .nrelays = k->n};
	memcpy(a.relay, k->relay, sizeof a.relay);
	struct relay_door_note n = {.op = RELAY_DOOR_ASK,
				    .request = relay_door_ask_request(c, h, r),
				    .label = e->here,
				    .address = {bytes, (uint8_t)door_address_encode(&a, bytes)}};
	uint32_t o = relay_door_along(c, x);
	if (o != NONE) {
		relay_door_address(c, o, &a);
		n.own = (struct relay_door_bytes){own, (uint8_t)door_address_encode(&a, own)};
	}
	if (suci_path_note(c->ep, c->trunk[t].path, buf, relay_door_encode(&n, buf), c->now_ns))
		return false;
	c->n.notes_tx++;
	return true;
}

static bool
tell_hold(struct relay_core *c, const struct door_hold *x)
{
	struct relay_door_note n = {
		.op = RELAY_DOOR_REFUSED, .request = x->request, .label = x->label};
	uint32_t path = x->path;
	if (x->state == HOLD_GONE)
		n.op = RELAY_DOOR_GONE;
	if (x->state == HOLD_TRUNK) {
		/* With its number: what it tells may be over since, and that be said. */
		n = (struct relay_door_note){.op = x->op,
					     .request = x->request,
					     .label = x->label,
					     .ok = x->ok,
					     .called = x->called,
					     .offered = x->offered};
		path = c->trunk[x->own].up ? c->trunk[x->own].path : NONE;
		return path == NONE || relay_door_send_as(c, path, x->number, &n);
	}
	return path == NONE || relay_door_send(c, path, &n);
}

/* Once an ASK is on its way its process need not wait for the answer: what it says travels behind
 * the ASK, and is dropped there if that is refused.  A word that finds no room is not needed. */
static void
name_hold(struct relay_core *c, struct door_hold *x, uint32_t r)
{
	struct relay_door_note n = {.op = RELAY_DOOR_NAMED,
				    .request = x->request,
				    .label = c->doors.door[x->import].here};
	if (x->state != HOLD_WAITS || !x->own || x->path == NONE || RELAY_BUG(DOOR_NAMELESS))
		return;
	relay_door_hope(c, x->import, r, true);
	if (!x->named)
		x->named = relay_door_send(c, x->path, &n);
}

/* Relays that could be asked know nothing of it, and the others cannot be reached: one that does
 * not know any door that we have asked for does not let us in. */
static bool
is_known_nowhere(const struct relay_core *c, const struct door_cluster *k,
		 const struct door_hold *x)
{
	bool said_no = false;
	for (uint32_t r = 0; r < k->n; r++) {
		uint32_t t = k->trunk[r];
		bool up = t != NONE && c->trunk[t].up, ask = x->ask >> r & 1;
		if (up && ask)
			return false;
		said_no = said_no || (up && !ask);
	}
	return said_no && !x->wait && !x->has;
}

enum served { SERVED, NO_ROOM, NO_PLACE }; /* for notes; to be kept for its answer */

static enum served
serve_hold(struct relay_core *c, uint32_t h)
{
	struct doors *d = &c->doors;
	struct door_hold *x = &d->hold[h];
	if (x->import == NONE) {
		if (!tell_hold(c, x))
			return NO_ROOM;
		x->queued = false;
		relay_door_unhold(c, h);
		return SERVED;
	}
	if (x->dropped && !x->wait) {
		x->queued = false;
		relay_door_drop_hold(c, h);
		return SERVED;
	}
	const struct door_cluster *k = &d->cluster[d->door[x->import].at];
	bool nowhere = x->unreached && !x->dropped && is_known_nowhere(c, k, x);
	x->unreached = false;
	if (nowhere) {
		x->queued = false;
		relay_door_refuse_hold(c, h);
		return SERVED;
	}
	for (uint32_t r = 0; r < k->n && !x->dropped; r++) {
		uint32_t t = k->trunk[r];
		if (!(x->ask >> r & 1) || t == NONE || !c->trunk[t].up)
			continue;
		if (x->own && !(x->reserved >> r & 1) && !relay_door_reserve(c, x->asker)) {
			if (d->reserved)
				return NO_PLACE; /* some will be answered soon */
			x->queued = false;
			relay_door_refuse_hold(c, h);
			return SERVED;
		}
		x->reserved |= (uint8_t)((x->own != 0) << r);
		/* Half of what we would take ourselves. */
		if (relay_door_too_fast(c, &c->trunk[t].asked_ns, BASE_S_NS / 2) ||
		    !send_ask(c, h, r))
			return NO_ROOM;
		x->ask &= (uint8_t) ~(1u << r);
		x->wait |= (uint8_t)(1u << r);
		x->gone[r] = 0;
		name_hold(c, x, r);
	}
	if (x->tell && !x->dropped && !relay_door_say_held(c, x))
		return NO_ROOM;
	x->tell = false;
	x->queued = false;
	return SERVED;
}

static void
push_hold(struct doors *d, struct door_queue *q, uint32_t h, bool first)
{
	d->hold[h].queue_next = first ? q->head : NONE;
	if (q->head == NONE)
		q->head = q->tail = h;
	else if (first)
		q->head = h;
	else
		q->tail = d->hold[q->tail].queue_next = h;
}

/* False: more is to come. */
static bool
serve_queue(struct relay_core *c, struct door_queue *q)
{
	struct doors *d = &c->doors;
	uint32_t waits = NONE; /* the first that found no place; others may */
	for (uint32_t n = 0; q->head != NONE && q->head != waits; n++) {
		uint32_t h = q->head;
		if (n == DOOR_TELLS_MAX) {
			wake_at(c, base_add_ns(c->now_ns,
					       waits == NONE ? BASE_MS_NS / 10 : BASE_MS_NS));
			return false;
		}
		/* Out of the queue first: it may be freed, and taken again to be queued. */
		q->head = d->hold[h].queue_next;
		if (q->head == NONE)
			q->tail = NONE;
		enum served served = serve_hold(c, h);
		if (served == SERVED)
			continue;
		push_hold(d, q, h, served == NO_ROOM);
		if (served == NO_ROOM)
			break;
		waits = waits == NONE ? h : waits;
	}
	if (q->head != NONE)
		wake_at(c, base_add_ns(c->now_ns, BASE_MS_NS));
	return q->head == NONE;
}

/* False: one of them has no room. */
static bool
tell_dying(struct relay_core *c, struct door *e)
{
	uint32_t *tell[DOOR_RELAYS_MAX] = {&e->tell[0], &e->tell[1], &e->at};
	struct relay_door_note n = {.op = (uint8_t)e->of, .label = e->here, .request = e->there};
	uint8_t buf[RELAY_DOOR_NOTE_MAX];
	for (uint32_t r = 0; r < DOOR_RELAYS_MAX; r++) {
		uint32_t t = *tell[r];
		if (t == NONE)
			continue;
		/* Down: it forgot all that came over it. */
		if (c->trunk[t].up && suci_path_note(c->ep, c->trunk[t].path, buf,
						     relay_door_encode(&n, buf), c->now_ns))
			return false;
		c->n.notes_tx += c->trunk[t].up;
		*tell[r] = NONE;
	}
	return true;
}

/* How many of the deaths, from the first on, have nothing on its way over that trunk.  Its eras are
 * counted as its path's: what was sent before an era ended is over when that era's count is 0. */
static uint32_t
clear_path(struct path *p, uint32_t deaths)
{
	for (uint32_t turns = 0; turns < 2 && !p->way[!p->second]; turns++) {
		p->clear = p->ended;
		if (p->ended == deaths)
			break;
		p->ended = deaths;
		p->second = !p->second;
	}
	return p->clear;
}

/* Both labels of a segment over a trunk are ours, and it is known here when it has come: only then
 * may a label be another's.  Paths to processes do not count, for one that reads nothing could keep
 * all places; on the private leg LATE_NS is enough. */
static uint32_t
clear_places(struct relay_core *c)
{
	uint32_t deaths = c->doors.deaths, clear = deaths;
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		if (!c->trunk[t].used || c->trunk[t].path == NONE || RELAY_BUG(DOOR_EARLY))
			continue;
		uint32_t of = clear_path(&c->path[c->trunk[t].path], deaths);
		if (deaths - of > deaths - clear)
			clear = of;
	}
	return clear;
}

/* False: not all is told.  What they say must not be said behind a new ASK. */
static bool
serve_dying(struct relay_core *c)
{
	struct doors *d = &c->doors;
	for (; d->dying_tell != NONE; d->dying_tell = d->door[d->dying_tell].link.next)
		if (!tell_dying(c, &d->door[d->dying_tell])) {
			wake_at(c, base_add_ns(c->now_ns, BASE_MS_NS));
			break;
		}
	uint32_t clear = 0;
	bool looked = false;
	while (d->dying_head != NONE && d->dying_head != d->dying_tell) {
		uint32_t i = d->dying_head;
		struct door *e = &d->door[i];
		if (c->now_ns < e->free_ns) {
			wake_at(c, e->free_ns);
			break;
		}
		if (!looked)
			clear = clear_places(c);
		looked = true;
		if (d->deaths - e->died < d->deaths - clear) {
			c->n.door_places_kept +=
				!(e->flags & DOOR_WAITED); /* released() wakes us */
			e->flags |= DOOR_WAITED;
			break;
		}
		d->dying_head = e->link.next;
		if (d->dying_head == NONE)
			d->dying_tail = NONE;
		d->ndying--;
		relay_door_free(c, i);
	}
	return d->dying_tell == NONE;
}

/* What a relay of the cluster offered before its trunk went down and did not offer again. */
static void
sweep_offers(struct relay_core *c, struct door_cluster *k)
{
	struct doors *d = &c->doors;
	k->sweep_ns = BASE_NEVER_NS;
	for (uint32_t e = k->imports.head, next; e != NONE; e = next) {
		next = d->door[e].link.next;
		if (d->door[e].flags & DOOR_PROVED)
			continue;
		d->door[e].flags &= (uint8_t)~DOOR_OFFERED;
		relay_door_import_rest(c, e);
	}
}

static void
give_up_lost(struct relay_core *c)
{
	struct doors *d = &c->doors;
	for (uint32_t i = 0; d->nclusters && i < c->conf.limits.trunks_max; i++) {
		struct door_cluster *k = &d->cluster[i];
		if (k->used && c->now_ns >= k->sweep_ns)
			sweep_offers(c, k);
		if (k->used && k->sweep_ns != BASE_NEVER_NS)
			wake_at(c, k->sweep_ns);
		if (!k->used || k->lost_ns == BASE_NEVER_NS)
			continue;
		if (c->now_ns < k->lost_ns) {
			wake_at(c, k->lost_ns);
			continue;
		}
		while (k->used && k->imports.head != NONE) {
			c->n.door_lost++;
			relay_door_import_gone(c, k->imports.head, false, NULL);
		}
		relay_door_cluster_rest(c, i);
	}
}

void
relay_door_tick(struct relay_core *c)
{
	if (!c->conf.limits.doors_max)
		return;
	give_up_lost(c);
	relay_door_tell_addresses(c);
	bool late = RELAY_BUG(DOOR_LATE) && c->now_ns % (300 * BASE_MS_NS) > BASE_MS_NS;
	if (serve_dying(c) && !late && serve_queue(c, &c->doors.says))
		(void)serve_queue(c, &c->doors.asks);
	if (late)
		wake_at(c, base_add_ns(c->now_ns, BASE_MS_NS));
}
