/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes say about doors: those they register, those they use. */
#include "door_internal.h"

#include <string.h>

#define LABELS_MAX 64u /* of one door */

bool
relay_door_send_as(struct relay_core *c, uint32_t path, uint32_t number,
		   const struct relay_door_note *n)
{
	uint8_t buf[RELAY_DOOR_NOTE_MAX];
	if (suci_path_note_as(c->ep, path, number, buf, relay_door_encode(n, buf), c->now_ns))
		return false;
	c->n.notes_tx++;
	return true;
}

bool
relay_door_send(struct relay_core *c, uint32_t path, const struct relay_door_note *n)
{
	return relay_door_send_as(c, path, suci_note_number(c->ep), n);
}

struct door_hold *
relay_door_keep(struct relay_core *c, uint32_t path)
{
	uint32_t h = relay_door_hold(c, NONE, path);
	if (h == NONE) {
		c->n.notes_unsent++;
		return NULL;
	}
	relay_door_queue(c, h);
	return &c->doors.hold[h];
}

/* Now, or when there is room. */
static void
tell_no(struct relay_core *c, uint32_t path, uint8_t op, uint32_t request, uint32_t label)
{
	struct relay_door_note n = {.op = op, .request = request, .label = label};
	if (relay_door_send(c, path, &n))
		return;
	struct door_hold *x = relay_door_keep(c, path);
	if (!x)
		return;
	x->state = op == RELAY_DOOR_GONE ? HOLD_GONE : HOLD_REFUSED;
	x->request = request;
	x->label = label;
}

static void
refuse_note(struct relay_core *c, uint32_t path, uint32_t request, uint64_t *counter)
{
	++*counter;
	tell_no(c, path, RELAY_DOOR_REFUSED, request,
		counter == &c->n.door_named ? RELAY_DOOR_TAKEN : 0);
}

/* ---- registering ------------------------------------------------------------------- */

void
relay_door_address(const struct relay_core *c, uint32_t i, struct door_address *a)
{
	const struct door *e = &c->doors.door[i];
	const struct suci_addr *self = &c->conf.self_global;
	*a = (struct door_address){.realm = e->realm,
				   .token = e->token,
				   .cluster = c->conf.doors.cluster,
				   .label = e->here,
				   .n = e->n,
				   .nrelays = 1};
	a->relay[0] = (struct door_relay){be32_load(self->ip + 12), self->port};
	if (!e->with)
		return;
	/* It has the same bytes at both: first the one that gave the label, or the first in the
	 * list. */
	const struct suci_addr *other = &c->conf.cluster[e->with - 1].global;
	bool second = e->here >= DOOR_CLAIMS ? e->with - 1u < c->conf.self
					     : relay_door_giver(e->here) != c->conf.self;
	a->relay[1] = a->relay[0];
	a->relay[!second] = (struct door_relay){be32_load(other->ip + 12), other->port};
	a->nrelays = 2;
}

static bool
tell_address(struct relay_core *c, uint32_t i)
{
	const struct door *e = &c->doors.door[i];
	struct door_address a;
	uint8_t bytes[DOOR_ADDRESS_MAX];
	relay_door_address(c, i, &a);
	struct relay_door_note n = {.op = RELAY_DOOR_ADDRESS,
				    .request = e->there,
				    .label = e->here,
				    .address = {bytes, (uint8_t)door_address_encode(&a, bytes)}};
	return relay_door_send(c, e->at, &n);
}

/* A note that was sent again may come twice. */
static bool
is_registered(const struct relay_core *c, uint32_t path, const struct relay_door_note *n)
{
	const struct door *door = c->doors.door;
	for (uint32_t i = c->path[path].doors; i != NONE; i = door[i].link.next)
		if (door[i].there == n->request && door[i].token == n->token &&
		    door[i].realm == n->realm)
			return true;
	return false;
}

/* The relay of our cluster that it says, counted from 1; 0: there is none, or it is this one. */
static uint32_t
find_sibling(const struct relay_core *c, const struct relay_door_note *n)
{
	for (uint32_t i = 0; i < c->conf.ncluster; i++) {
		const struct suci_addr *at = &c->conf.cluster[i].global;
		if (i != c->conf.self && be32_load(at->ip + 12) == n->with_ipv4 &&
		    at->port == n->with_port)
			return i + 1;
	}
	return 0;
}

static void
tell_of_own(struct relay_core *c, uint32_t i, uint32_t request)
{
	struct doors *d = &c->doors;
	d->door[i].there = request;
	if (d->door[i].flags & DOOR_TELL || tell_address(c, i))
		return;
	d->door[i].flags |= DOOR_TELL;
	d->nuntold++;
	wake_at(c, c->now_ns);
}

/* n labels from label on may be a door's by that relay, or were known before. */
static bool
may_name(const struct relay_core *c, uint32_t label, uint32_t n, uint32_t sibling)
{
	uint32_t giver = relay_door_giver(label);
	return label < DOOR_LABELS_END && giver == relay_door_giver(label + n - 1) &&
	       (giver == c->conf.self || giver == sibling - 1 || label >= DOOR_CLAIMS);
}

/* Labels that a door had.  It is at two relays, or comes back to the only one, which forgot it; or
 * its address was known before.
 * NONE, and the counter of what is wrong; or its entry, *known: it had that before. */
static uint32_t
take_given_label(struct relay_core *c, uint32_t path, const struct relay_door_note *n, bool *known,
		 uint64_t **fault)
{
	struct door *door = c->doors.door;
	uint32_t sibling = find_sibling(c, n), i = relay_door_at(c, n->label, DOOR_OWN);
	*fault = &c->n.door_fellow;
	if ((n->with_ipv4 && !sibling) || !may_name(c, n->label, n->n, sibling))
		return NONE;
	*fault = &c->n.door_named;
	*known = i != NONE && door[i].at == path && door[i].here == n->label && door[i].n == n->n &&
		 door[i].realm == n->realm && door[i].token == n->token;
	if (i != NONE && !*known && !RELAY_BUG(DOOR_NAMESAKE))
		return NONE;
	if (c->doors.places_free < n->n + 1u + c->doors.reserved)
		*fault = &c->n.door_full;
	if (c->path[path].ndoors >= c->conf.doors.per_proc_max)
		*fault = &c->n.door_proc_full;
	if (!*known)
		i = *fault == &c->n.door_named ? relay_door_take_label(c, n->label, n->n) : NONE;
	if (i != NONE)
		door[i].with = (uint8_t)sibling;
	return i;
}

static void
register_door(struct relay_core *c, uint32_t path, const struct relay_door_note *n)
{
	struct path *p = &c->path[path];
	struct doors *d = &c->doors;
	uint64_t *fault = &c->n.door_full;
	bool known = false;
	uint32_t i = NONE;
	if (!n->label && is_registered(c, path, n)) {
		c->n.notes_stale++;
		return;
	}
	if (!n->n || n->n > LABELS_MAX)
		fault = &c->n.door_malformed;
	else if (n->label)
		i = take_given_label(c, path, n, &known, &fault);
	else if (p->ndoors >= c->conf.doors.per_proc_max)
		fault = &c->n.door_proc_full;
	else
		i = relay_door_take(c, n->n, DOOR_OWN);
	if (i == NONE) {
		refuse_note(c, path, n->request, fault);
		return;
	}
	if (known) {
		tell_of_own(c, i, n->request);
		return;
	}
	struct door *e = &d->door[i];
	uint16_t most = c->conf.doors.importers_max;
	e->realm = n->realm;
	e->token = n->token;
	e->here = n->label ? n->label : relay_door_label(c, i);
	e->at = path;
	e->importers_max = n->importers && n->importers < most ? n->importers : most;
	struct base_ichain of = {p->doors};
	base_ichain_push(&of, relay_door_links(c), i);
	p->doors = of.head;
	p->ndoors++;
	d->nown++;
	c->n.doors_registered++;
	tell_of_own(c, i, n->request);
}

void
relay_door_tell_addresses(struct relay_core *c)
{
	struct doors *d = &c->doors;
	for (uint32_t i = 0; d->nuntold && i < c->conf.limits.doors_max; i++) {
		if (d->door[i].kind != DOOR_OWN || !(d->door[i].flags & DOOR_TELL))
			continue;
		if (!tell_address(c, i)) {
			wake_at(c, base_add_ns(c->now_ns, BASE_MS_NS));
			return;
		}
		d->door[i].flags &= (uint8_t)~DOOR_TELL;
		d->nuntold--;
	}
}

static void
leave_door(struct relay_core *c, uint32_t path, uint32_t label)
{
	uint32_t i = relay_door_at(c, label, DOOR_OWN);
	if (i == NONE || c->doors.door[i].at != path)
		c->n.notes_late++;
	else
		relay_door_own_gone(c, i, "", false);
}

/* ---- imports ------------------------------------------------------------------------- */

uint32_t
relay_door_import_new(struct relay_core *c, uint32_t cluster, const struct door_address *a)
{
	struct doors *d = &c->doors;
	uint32_t i = relay_door_take(c, a->n, DOOR_IMPORT);
	if (i == NONE)
		return NONE;
	struct door *e = &d->door[i];
	e->realm = a->realm;
	e->token = a->token;
	e->here = relay_door_label(c, i);
	e->there = a->label;
	e->at = cluster;
	base_ichain_push(&d->cluster[cluster].imports, relay_door_links(c), i);
	d->cluster[cluster].nimports++;
	relay_door_hash(c, i, true);
	d->nimports++;
	c->n.doors_imported++;
	return i;
}

void
relay_door_queue(struct relay_core *c, uint32_t h)
{
	struct doors *d = &c->doors;
	wake_at(c, c->now_ns);
	if (d->hold[h].queued)
		return;
	struct door_queue *q = d->hold[h].import == NONE ? &d->says : &d->asks;
	d->hold[h].queued = true;
	d->hold[h].queue_next = NONE;
	if (q->tail == NONE)
		q->head = h;
	else
		d->hold[q->tail].queue_next = h;
	q->tail = h;
}

/* Its entry goes; the label is free when the trunks have heard it. */
static void
remove_import(struct relay_core *c, uint32_t i, bool drop)
{
	struct doors *d = &c->doors;
	struct door *e = &d->door[i];
	uint32_t cluster = e->at, tell[DOOR_RELAYS_MAX] = {NONE, NONE, NONE};
	struct door_cluster *k = &d->cluster[cluster];
	relay_new_era(c);
	for (uint32_t r = 0; r < k->n; r++) {
		if (!(e->flags >> r & 1))
			continue;
		relay_door_unmap(c, &c->trunk[k->trunk[r]].door_root, e->there, e->n);
		if (drop && e->flags & DOOR_ASKED && !RELAY_BUG(DOOR_KEPT))
			tell[r] = k->trunk[r];
	}
	relay_door_hash(c, i, false);
	base_ichain_unlink(&k->imports, relay_door_links(c), i);
	k->nimports--;
	d->nimports--;
	c->n.doors_dropped++;
	struct relay_door_note n = {.op = RELAY_DOOR_DROP, .label = e->here};
	relay_door_dying(c, i, &n, tell);
	relay_door_cluster_rest(c, cluster);
}

static bool
tell_words(struct relay_core *c, const struct door_hold *x, const struct relay_door_note *said)
{
	struct relay_door_note n = {
		.op = RELAY_DOOR_GONE, .request = x->request, .label = x->label};
	if (!said || !(said->text.len || said->ended) || x->state != HOLD_GONE)
		return false;
	n.text = said->text;
	n.ended = said->ended;
	return relay_door_send(c, x->path, &n);
}

void
relay_door_import_gone(struct relay_core *c, uint32_t i, bool drop,
		       const struct relay_door_note *said)
{
	struct doors *d = &c->doors;
	for (uint32_t h = d->door[i].of, next; h != NONE; h = next) {
		struct door_hold *x = &d->hold[h];
		next = x->of_import.next;
		bool tell = x->path != NONE && !x->dropped;
		/* Who was not told yet that it has it never had it. */
		x->state =
			x->state == HOLD_HOLDS && (!x->tell || x->anew) ? HOLD_GONE : HOLD_REFUSED;
		x->label = d->door[i].here;
		relay_door_unpair(c, h);
		x->import = NONE;
		if (x->own && x->path != NONE)
			relay_door_withdraw(c, x->path, x->own, d->door[i].at);
		if (tell && !tell_words(c, x, said))
			relay_door_queue(c, h);
		else
			relay_door_unhold(c, h);
	}
	d->door[i].of = NONE;
	remove_import(c, i, drop);
}

static bool
is_asked(const struct relay_core *c, uint32_t i)
{
	const struct doors *d = &c->doors;
	for (uint32_t h = d->door[i].of; h != NONE; h = d->hold[h].of_import.next)
		if (d->hold[h].asks)
			return true;
	return false;
}

void
relay_door_import_rest(struct relay_core *c, uint32_t i)
{
	struct door *e = &c->doors.door[i];
	const struct door_cluster *k = &c->doors.cluster[e->at];
	if (is_asked(c, i))
		return;
	if (!(e->flags & DOOR_OFFERED)) {
		relay_door_import_gone(c, i, true, NULL);
		return;
	}
	if (!(e->flags & DOOR_ASKED))
		return;
	struct relay_door_note n = {.op = RELAY_DOOR_DROP, .label = e->here};
	e->flags &= (uint8_t)~DOOR_ASKED;
	for (uint32_t r = 0; r < k->n && !RELAY_BUG(DOOR_KEPT); r++)
		if (e->flags >> r & 1)
			relay_door_tell_trunk(c, k->trunk[r], &n);
}

void
relay_door_drop_hold(struct relay_core *c, uint32_t h)
{
	struct door_hold *x = &c->doors.hold[h];
	uint32_t import = x->import, path = x->path, own = x->own;
	if (import == NONE) {
		relay_door_unhold(c, h);
		return;
	}
	x->dropped = true;
	if (x->wait)
		return; /* a DROP must not overtake its ASK: see relay_door_from_trunk() */
	uint32_t cluster = c->doors.door[import].at;
	relay_door_unhold(c, h);
	if (own && path != NONE)
		relay_door_withdraw(c, path, own, cluster);
	relay_door_import_rest(c, import);
}

void
relay_door_refuse_hold(struct relay_core *c, uint32_t h)
{
	struct doors *d = &c->doors;
	const struct door_hold *x = &d->hold[h];
	uint32_t path = x->path, request = x->request, label = d->door[x->import].here;
	bool had = x->state == HOLD_HOLDS && (!x->tell || x->anew);
	relay_door_drop_hold(c, h);
	c->n.door_full++;
	tell_no(c, path, had ? RELAY_DOOR_GONE : RELAY_DOOR_REFUSED, request, label);
}

/* The hold of the import that the process has by that IMPORT, or with 0 by HOLD, and knows of;
 * NONE. */
static uint32_t
find_hold(const struct relay_core *c, uint32_t path, uint32_t import, uint32_t request)
{
	const struct doors *d = &c->doors;
	for (uint32_t h = NONE; (h = relay_door_held(c, import, path, h)) != NONE;)
		if (!d->hold[h].dropped && (!d->hold[h].tell || d->hold[h].anew) &&
		    d->hold[h].state == HOLD_HOLDS && d->hold[h].request == request &&
		    d->hold[h].asks == (request != 0))
			return h;
	return NONE;
}

/* NULL, or the counter of what is wrong with an import. */
static uint64_t *
check_import_note(struct relay_core *c, uint32_t path, const struct relay_door_note *n,
		  struct door_address *a)
{
	const struct suci_addr *self = &c->conf.self_global;
	if (!n->request || door_address_decode(n->address.at, n->address.len, a))
		return &c->n.door_malformed;
	if (a->flags & DOOR_FLAG_PROCESS)
		return &c->n.door_here;
	for (uint32_t r = 0; r < a->nrelays; r++)
		if (a->relay[r].ipv4 == be32_load(self->ip + 12) && a->relay[r].port == self->port)
			return &c->n.door_here;
	if (n->label) {
		uint32_t own = relay_door_at(c, n->label, DOOR_OWN);
		if (own == NONE || c->doors.door[own].at != path ||
		    c->doors.door[own].here != n->label)
			return &c->n.door_malformed;
		if (c->doors.door[own].realm != a->realm && !RELAY_BUG(DOOR_REALM))
			return &c->n.door_realm;
	}
	return c->path[path].nholds >= c->conf.doors.per_proc_max ? &c->n.door_proc_full : NULL;
}

static bool
is_asked_by(const struct relay_core *c, uint32_t path, uint32_t request)
{
	const struct door_hold *hold = c->doors.hold;
	for (uint32_t h = c->path[path].holds; h != NONE; h = hold[h].of_path.next)
		if (hold[h].import != NONE && hold[h].asks && hold[h].request == request &&
		    !hold[h].dropped)
			return true;
	return false;
}

static void
import_door(struct relay_core *c, uint32_t path, const struct relay_door_note *n)
{
	struct doors *d = &c->doors;
	struct door_address a;
	if (n->request && is_asked_by(c, path, n->request)) {
		c->n.notes_stale++; /* it came twice */
		return;
	}
	uint64_t *fault = check_import_note(c, path, n, &a);
	if (fault) {
		refuse_note(c, path, n->request, fault);
		return;
	}
	uint32_t k = relay_door_cluster(c, &a);
	uint32_t i = k == NONE ? NONE : relay_door_imported(c, k, a.label, a.realm, a.token);
	if (i != NONE && d->door[i].n != a.n) {
		refuse_note(c, path, n->request, &c->n.door_malformed);
		return;
	}
	bool paid = false, proved = i != NONE && d->door[i].flags & DOOR_PROVED;
	uint32_t asker = k == NONE ? 0 : relay_guess_asker(&c->path[path].peer, k);
	if (k != NONE && !proved && !relay_guess_asks(c, asker, &paid)) {
		relay_door_cluster_rest(c, k);
		refuse_note(c, path, n->request, &c->n.door_guesses_own);
		return;
	}
	if (k != NONE && i == NONE)
		i = relay_door_import_new(c, k, &a);
	uint32_t h = i == NONE ? NONE : relay_door_hold(c, i, path);
	if (h == NONE) {
		if (i != NONE)
			relay_door_import_rest(c, i);
		else if (k != NONE)
			relay_door_cluster_rest(c, k);
		refuse_note(c, path, n->request, &c->n.door_full);
		return;
	}
	d->hold[h].own = n->label;
	d->hold[h].request = n->request;
	d->hold[h].state = HOLD_WAITS;
	d->hold[h].asks = true;
	d->hold[h].paid = paid;
	d->hold[h].asker = (uint16_t)asker;
	d->hold[h].ask = (uint8_t)((1u << d->cluster[k].n) - 1);
	relay_door_queue(c, h);
}

static bool
has_door_of(const struct relay_core *c, uint32_t path, uint64_t realm)
{
	const struct door *door = c->doors.door;
	for (uint32_t i = c->path[path].doors; i != NONE; i = door[i].link.next)
		if (door[i].realm == realm)
			return true;
	return false;
}

uint32_t
relay_door_hold_caller(struct relay_core *c, uint32_t import, uint32_t path)
{
	struct doors *d = &c->doors;
	bool room = c->path[path].nholds < c->conf.doors.per_proc_max;
	uint32_t h = room ? relay_door_hold(c, import, path) : NONE;
	if (h == NONE)
		return NONE;
	d->hold[h].state = HOLD_HOLDS;
	if (!d->door[import].moved || RELAY_BUG(DOOR_LATE_HOLD))
		return h;
	/* It may have been called before that. */
	d->hold[h].anew = d->hold[h].tell = true;
	relay_door_queue(c, h);
	return h;
}

static void
hold_door(struct relay_core *c, uint32_t path, uint32_t label)
{
	uint32_t i = relay_door_at(c, label, DOOR_IMPORT);
	if (i != NONE && find_hold(c, path, i, 0) != NONE)
		return;
	if (i == NONE || !has_door_of(c, path, c->doors.door[i].realm) ||
	    relay_door_hold_caller(c, i, path) == NONE)
		tell_no(c, path, RELAY_DOOR_GONE, 0, label);
}

static void
drop_door(struct relay_core *c, uint32_t path, const struct relay_door_note *n)
{
	uint32_t i = relay_door_at(c, n->label, DOOR_IMPORT);
	uint32_t h = i == NONE ? NONE : find_hold(c, path, i, n->request);
	if (h == NONE)
		c->n.notes_late++;
	else
		relay_door_drop_hold(c, h);
}

void
relay_door_from_proc(struct relay_core *c, uint32_t path, const void *note, size_t len)
{
	struct relay_door_note n;
	if (relay_door_decode(note, len, &n)) {
		c->n.door_malformed++;
		return;
	}
	switch ((enum relay_door_op)n.op) {
	case RELAY_DOOR_REGISTER:
		register_door(c, path, &n);
		break;
	case RELAY_DOOR_LEAVE:
		leave_door(c, path, n.label);
		break;
	case RELAY_DOOR_IMPORT:
		import_door(c, path, &n);
		break;
	case RELAY_DOOR_HOLD:
		hold_door(c, path, n.label);
		break;
	case RELAY_DOOR_DROP:
		drop_door(c, path, &n);
		break;
	case RELAY_DOOR_ADDRESS:
	case RELAY_DOOR_IMPORTED:
	case RELAY_DOOR_REFUSED:
	case RELAY_DOOR_GONE:
	case RELAY_DOOR_ASK:
	case RELAY_DOOR_ANSWER:
	case RELAY_DOOR_WITHDRAW:
	case RELAY_DOOR_NAMED:
		c->n.door_malformed++;
		break;
	}
}

/* p: what the path was; its slot is nobody's now. */
void
relay_door_path_down(struct relay_core *c, const struct path *p, uint32_t path, const char *words,
		     bool ended)
{
	struct doors *d = &c->doors;
	c->path[path].doors = p->doors;
	c->path[path].holds = p->holds;
	c->path[path].ndoors = p->ndoors;
	c->path[path].nholds = p->nholds;
	while (c->path[path].doors != NONE)
		relay_door_own_gone(c, c->path[path].doors, words, ended);
	for (uint32_t h = c->path[path].holds, next; h != NONE; h = next) {
		next = d->hold[h].of_path.next;
		relay_door_drop_hold(c, h);
	}
	/* What still waits for an answer is nobody's. */
	for (uint32_t h = c->path[path].holds; h != NONE; h = d->hold[h].of_path.next) {
		relay_door_unpair(c, h);
		d->hold[h].path = NONE;
	}
	c->path[path].holds = NONE;
	c->path[path].nholds = 0;
}
