/* SPDX-License-Identifier: BSD-2-Clause */
/* What relays tell each other about doors. */
#include "door_internal.h"

#include <string.h>

/* ---- proof ------------------------------------------------------------------------- */

/* The OWN door that it proves to know, or NONE and the counter of what is wrong.  An address says
 * the token and its realm; a hello has no realm, and says relay_hello_token(). */
static uint32_t
prove_door(struct relay_core *c, struct guesses *g, uint32_t label, uint64_t token,
	   const uint64_t *realm, uint64_t **fault)
{
	if (relay_guess_shared(c, g)) {
		*fault = &c->n.door_guesses;
		return NONE;
	}
	uint32_t i = relay_door_at(c, label, DOOR_OWN);
	const struct door *e = &c->doors.door[i == NONE ? 0 : i];
	if (i == NONE || e->here != label)
		*fault = &c->n.door_unknown;
	else if (realm && e->realm != *realm)
		*fault = &c->n.door_realm;
	else if ((realm ? e->token : relay_hello_token(e->token, label)) != token &&
		 !RELAY_BUG(DOOR_TOKEN))
		*fault = &c->n.door_token;
	else
		return i;
	if (*fault != &c->n.door_unknown) /* what is not there has no token to be found */
		g->wrong++;
	return NONE;
}

bool
relay_door_proves(struct relay_core *c, const struct relay_hello *h)
{
	uint64_t *fault;
	if (!c->conf.limits.doors_max || !h->label)
		return false;
	if (prove_door(c, &c->doors.guesses, h->label, h->token, NULL, &fault) != NONE)
		return true;
	++*fault;
	return false;
}

void
relay_door_trunk_hello(struct relay_core *c, uint32_t t)
{
	const struct doors *d = &c->doors;
	struct trunk *k = &c->trunk[t];
	for (uint32_t i = 0; k->nclusters && i < c->conf.limits.trunks_max; i++) {
		const struct door_cluster *x = &d->cluster[i];
		bool of = false;
		for (uint32_t r = 0; x->used && r < x->n; r++)
			of = of || x->trunk[r] == t;
		if (!of || x->imports.head == NONE)
			continue;
		/* Another one each time: one that is gone opens nothing. */
		uint32_t e = x->imports.head;
		for (uint64_t turn = c->n.trunk_retries % 16; turn && d->door[e].link.next != NONE;
		     turn--)
			e = d->door[e].link.next;
		k->hello_token = d->door[e].token;
		k->hello_label = d->door[e].there;
		return;
	}
}

void
relay_door_tell_trunk(struct relay_core *c, uint32_t t, const struct relay_door_note *n)
{
	uint32_t number = suci_note_number(c->ep);
	if (!c->trunk[t].up || relay_door_send_as(c, c->trunk[t].path, number, n))
		return;
	struct door_hold *x = relay_door_keep(c, NONE);
	if (!x)
		return;
	x->state = HOLD_TRUNK;
	x->number = number;
	x->own = t;
	x->op = n->op;
	x->request = n->request;
	x->label = n->label;
	x->ok = n->ok;
	x->called = n->called;
	x->offered = n->offered;
}

/* ---- exports ------------------------------------------------------------------------- */

/* The process behind that trunk's relay's label may reach the door.  NONE: no room. */
static uint32_t
add_export(struct relay_core *c, uint32_t t, uint32_t own, uint32_t label)
{
	struct doors *d = &c->doors;
	struct trunk *k = &c->trunk[t];
	uint32_t i = relay_door_take(c, 1, DOOR_EXPORT);
	if (i == NONE)
		return NONE;
	struct door *e = &d->door[i], *o = &d->door[own];
	if (!relay_door_map(c, &k->door_root, label, o->n, i)) {
		relay_door_free(c, i);
		return NONE;
	}
	e->here = o->here;
	e->there = label;
	e->seen = 0;
	e->at = t;
	e->of = own;
	struct base_ichain of = {o->of}, at = {k->exports};
	base_ichain_push(&of, BASE_ILINKS(d->door, of_link), i);
	base_ichain_push(&at, relay_door_links(c), i);
	o->of = of.head;
	o->exports++;
	k->exports = at.head;
	if (!k->nexports++)
		k->users++;
	d->nexports++;
	relay_new_era(c);
	return i;
}

void
relay_door_export_gone(struct relay_core *c, uint32_t i, uint8_t op)
{
	struct doors *d = &c->doors;
	struct door *e = &d->door[i], *o = &d->door[e->of];
	struct trunk *k = &c->trunk[e->at];
	uint32_t told[DOOR_RELAYS_MAX] = {op ? e->at : NONE, NONE, NONE};
	struct relay_door_note n = {.op = op, .label = e->here, .request = e->there};
	relay_new_era(c);
	relay_door_unmap(c, &k->door_root, e->there, o->n);
	struct base_ichain of = {o->of}, at = {k->exports};
	base_ichain_unlink(&of, BASE_ILINKS(d->door, of_link), i);
	base_ichain_unlink(&at, relay_door_links(c), i);
	o->of = of.head;
	o->exports--;
	k->exports = at.head;
	k->nasked -= (e->flags & DOOR_ASKED) != 0;
	d->nexports--;
	relay_door_dying(c, i, &n, told);
	if (!--k->nexports)
		k->users--;
}

/* GONE with what its process said last.  False: nothing was said, or there is no room. */
static bool
tell_last_words(struct relay_core *c, const struct door *x, const char *words, bool ended)
{
	size_t len = strlen(words);
	struct relay_door_note n = {.op = RELAY_DOOR_GONE, .label = x->here, .request = x->there};
	n.text.at = (const uint8_t *)words;
	n.text.len = (uint8_t)(len < RELAY_DOOR_TEXT_MAX ? len : RELAY_DOOR_TEXT_MAX);
	n.ended = ended;
	return (len || ended) && c->trunk[x->at].up && relay_door_send(c, c->trunk[x->at].path, &n);
}

void
relay_door_own_gone(struct relay_core *c, uint32_t i, const char *words, bool ended)
{
	static const uint32_t nobody[DOOR_RELAYS_MAX] = {NONE, NONE, NONE};
	struct doors *d = &c->doors;
	struct door *e = &d->door[i];
	struct path *p = &c->path[e->at];
	while (e->of != NONE) {
		bool told =
			RELAY_BUG(DOOR_UNTOLD) || tell_last_words(c, &d->door[e->of], words, ended);
		relay_door_export_gone(c, e->of, told ? 0 : RELAY_DOOR_GONE);
	}
	struct base_ichain at = {p->doors};
	base_ichain_unlink(&at, relay_door_links(c), i);
	p->doors = at.head;
	p->ndoors--;
	d->nuntold -= (e->flags & DOOR_TELL) != 0;
	d->nown--;
	c->n.doors_gone++;
	relay_new_era(c);
	struct relay_door_note n = {0};
	relay_door_dying(c, i, &n, nobody);
}

static void
withdraw_export(struct relay_core *c, uint32_t x)
{
	struct door *e = &c->doors.door[x];
	struct relay_door_note n = {
		.op = RELAY_DOOR_WITHDRAW, .label = e->here, .request = e->there};
	if (e->flags & DOOR_ASKED) {
		e->flags &= (uint8_t)~DOOR_OFFERED;
		relay_door_tell_trunk(c, e->at, &n);
	} else {
		relay_door_export_gone(c, x, RELAY_DOOR_WITHDRAW);
	}
}

/* Does the process import, with that door, from the relay of the trunk?  More than one list of
 * relays may have it. */
static bool
offers_over(const struct relay_core *c, uint32_t path, uint32_t own, uint32_t t)
{
	const struct doors *d = &c->doors;
	for (uint32_t h = c->path[path].holds; h != NONE; h = d->hold[h].of_path.next)
		if (d->hold[h].own == own && d->hold[h].import != NONE &&
		    relay_door_index(&d->cluster[d->door[d->hold[h].import].at], t) !=
			    DOOR_RELAYS_MAX)
			return true;
	return false;
}

void
relay_door_withdraw(struct relay_core *c, uint32_t path, uint32_t own, uint32_t cluster)
{
	struct doors *d = &c->doors;
	uint32_t o = relay_door_at(c, own, DOOR_OWN);
	const struct door_cluster *k = &d->cluster[cluster];
	if (o == NONE || d->door[o].at != path)
		return; /* it left, and the label may be another's */
	for (uint32_t x = d->door[o].of, next; x != NONE; x = next) {
		next = d->door[x].of_link.next;
		if (d->door[x].flags & DOOR_OFFERED &&
		    relay_door_index(k, d->door[x].at) != DOOR_RELAYS_MAX &&
		    !offers_over(c, path, own, d->door[x].at))
			withdraw_export(c, x);
	}
}

/* ---- what the other relay says ---------------------------------------------------------- */

/* The door that comes with an ASK, so that what was asked for may answer.  NONE: not taken. */
static uint32_t
take_offer(struct relay_core *c, uint32_t t, uint64_t realm, const struct relay_door_bytes *own)
{
	struct doors *d = &c->doors;
	struct door_address a;
	if (door_address_decode(own->at, own->len, &a) || a.flags & DOOR_FLAG_PROCESS ||
	    (a.realm != realm && !RELAY_BUG(DOOR_REALM)))
		return NONE;
	bool from = false;
	uint32_t name = relay_name_of(c, &c->trunk[t].addr);
	for (uint32_t r = 0; r < a.nrelays; r++)
		from = from ||
		       (a.relay[r].ipv4 == name && a.relay[r].port == c->trunk[t].addr.port);
	if (!from)
		return NONE; /* a relay speaks for its own cluster */
	uint32_t k = relay_door_cluster(c, &a);
	if (k == NONE)
		return NONE;
	uint32_t r = relay_door_index(&d->cluster[k], t);
	uint32_t i = relay_door_imported(c, k, a.label, a.realm, a.token);
	if (i == NONE)
		i = relay_door_import_new(c, k, &a);
	if (i == NONE || r == DOOR_RELAYS_MAX || d->door[i].n != a.n ||
	    !relay_door_proved(c, i, r, t)) {
		if (i != NONE)
			relay_door_import_rest(c, i);
		relay_door_cluster_rest(c, k);
		return NONE;
	}
	relay_door_offered(c, i, r);
	return i;
}

bool
relay_door_too_fast(const struct relay_core *c, uint64_t *until_ns, uint64_t burst_ns)
{
	if (*until_ns < c->now_ns)
		*until_ns = c->now_ns;
	if (*until_ns - c->now_ns > burst_ns)
		return true;
	*until_ns += BASE_S_NS / c->conf.doors.asks_per_s;
	return false;
}

/* The export that the ASK asks for, made if need be; NONE and the counter of what is wrong. */
static uint32_t
grant_export(struct relay_core *c, uint32_t t, const struct relay_door_note *n, uint64_t **fault)
{
	struct doors *d = &c->doors;
	struct trunk *k = &c->trunk[t];
	struct door_address a;
	*fault = &c->n.door_malformed;
	if (door_address_decode(n->address.at, n->address.len, &a) || !n->label)
		return NONE;
	if (relay_door_too_fast(c, &k->ask_ns, BASE_S_NS)) {
		*fault = &c->n.door_rate;
		return NONE;
	}
	uint32_t own = prove_door(c, &k->guesses, a.label, a.token, &a.realm, fault);
	if (own == NONE)
		return NONE;
	if (a.n != d->door[own].n) {
		*fault = &c->n.door_malformed;
		return NONE;
	}
	uint32_t x = relay_door_find(d, k->door_root, n->label);
	if (x != NONE && d->door[x].kind == DOOR_EXPORT && d->door[x].of == own &&
	    d->door[x].there == n->label) {
		if (d->door[x].flags & DOOR_ASKED)
			return x;
	} else {
		x = NONE;
	}
	if (d->door[own].exports >= d->door[own].importers_max)
		*fault = &c->n.door_importers;
	else if (k->nasked >= c->conf.doors.imports_max && !RELAY_BUG(DOOR_BOUND))
		*fault = &c->n.door_trunk_full;
	else if (x != NONE || (x = add_export(c, t, own, n->label)) != NONE)
		return x;
	else
		*fault = &c->n.door_full;
	return NONE;
}

static void
answer_ask(struct relay_core *c, uint32_t t, const struct relay_door_note *n)
{
	struct doors *d = &c->doors;
	struct relay_door_note answer = {
		.op = RELAY_DOOR_ANSWER, .request = n->request, .label = n->label};
	uint64_t *fault = NULL;
	bool fresh = relay_door_find(d, c->trunk[t].door_root, n->label) == NONE;
	uint32_t x = grant_export(c, t, n, &fault), offered = NONE;
	c->n.door_asks++;
	if (x != NONE && n->own.len) {
		offered = take_offer(c, t, d->door[d->door[x].of].realm, &n->own);
		fault = &c->n.door_full;
	}
	if (x != NONE && n->own.len && offered == NONE) {
		if (fresh)
			relay_door_export_gone(c, x, 0);
		x = NONE;
	}
	if (x == NONE) {
		++*fault;
		if (fault == &c->n.door_token || fault == &c->n.door_realm)
			answer.called = RELAY_DOOR_GUESSED;
	} else {
		c->trunk[t].nasked += !(d->door[x].flags & DOOR_ASKED);
		d->door[x].flags |= DOOR_ASKED;
		(void)suci_note_is_news(c->ep, &d->door[x].seen);
		answer.ok = true;
		answer.called = offered == NONE ? 0 : d->door[offered].here;
		answer.offered = offered == NONE ? 0 : d->door[offered].there;
		c->n.door_answers++;
	}
	relay_door_tell_trunk(c, t, &answer);
}

/* We offered that door; it is called so there.  False: it left meanwhile, or there is no room. */
static bool
export_offered(struct relay_core *c, uint32_t t, const struct door_hold *h, uint32_t called)
{
	struct doors *d = &c->doors;
	uint32_t own = relay_door_along(c, h);
	uint32_t x = relay_door_find(d, c->trunk[t].door_root, called);
	if (own != NONE && x == NONE)
		x = add_export(c, t, own, called);
	if (own != NONE && x != NONE && d->door[x].kind == DOOR_EXPORT && d->door[x].of == own) {
		d->door[x].flags |= DOOR_OFFERED;
		return true;
	}
	return false;
}

/* What was offered for a hold is not needed there: the hold is gone, and its door may be.  Another
 * hold of the door may need it. */
static void
withdraw_offer(struct relay_core *c, uint32_t t, uint32_t own, uint32_t called)
{
	struct doors *d = &c->doors;
	uint32_t o = relay_door_at(c, own, DOOR_OWN);
	uint32_t h = o == NONE ? NONE : c->path[d->door[o].at].holds;
	for (; h != NONE; h = d->hold[h].of_path.next) {
		const struct door_hold *x = &d->hold[h];
		if (x->own == own && x->import != NONE &&
		    relay_door_index(&d->cluster[d->door[x->import].at], t) != DOOR_RELAYS_MAX &&
		    export_offered(c, t, x, called))
			return;
	}
	/* GONE was said before, and may have overtaken the ASK that offered it. */
	struct relay_door_note n = {.op = o == NONE ? RELAY_DOOR_GONE : RELAY_DOOR_WITHDRAW,
				    .label = own,
				    .request = called};
	relay_door_tell_trunk(c, t, &n);
}

/* What it grants cannot be used. */
static void
undo_answer(struct relay_core *c, uint32_t t, const struct relay_door_note *n)
{
	struct relay_door_note drop = {.op = RELAY_DOOR_DROP, .label = n->label};
	relay_door_tell_trunk(c, t, &drop);
	if (n->called)
		withdraw_offer(c, t, n->offered, n->called);
}

/* A hold waits for the answer of relay r about the import. */
static bool
is_awaited(const struct doors *d, uint32_t i, uint32_t r)
{
	uint32_t h = d->door[i].of;
	while (h != NONE && !(d->hold[h].wait >> r & 1))
		h = d->hold[h].of_import.next;
	return h != NONE;
}

/* Granted to a hold that is gone meanwhile, or was refused before, if the ASK came twice: nobody
 * else would tell that it is not needed.  Others may have the import from there: then it is asked
 * for from now on, and who rests it drops it.  Or they are about to get it: a DROP would be news
 * there.  It proves nothing, for GONE may have overtaken it. */
static void
undo_late(struct relay_core *c, uint32_t t, const struct relay_door_note *n)
{
	struct doors *d = &c->doors;
	uint32_t i = relay_door_at(c, n->label, DOOR_IMPORT);
	uint32_t r = i == NONE ? DOOR_RELAYS_MAX : relay_door_index(&d->cluster[d->door[i].at], t);
	bool proved = r != DOOR_RELAYS_MAX && d->door[i].flags >> r & 1;
	if (!proved && (r == DOOR_RELAYS_MAX || !is_awaited(d, i, r))) {
		undo_answer(c, t, n);
		return;
	}
	if (proved) {
		d->door[i].flags |= DOOR_ASKED;
		relay_door_import_rest(c, i);
	}
	if (n->called)
		withdraw_offer(c, t, n->offered, n->called);
}

bool
relay_door_say_held(struct relay_core *c, struct door_hold *x)
{
	const struct door *e = &c->doors.door[x->import];
	struct relay_door_note n = {.op = x->asks ? RELAY_DOOR_IMPORTED : RELAY_DOOR_GONE,
				    .request = x->request,
				    .label = e->here,
				    .n = e->n,
				    .turn = x->turn};
	bool said = relay_door_send(c, x->path, &n);
	x->anew = x->anew && !said;
	return said;
}

/* The hold that waits for that answer about import i of relay r.  NONE: it is late, came before, or
 * answers nothing. */
static uint32_t
find_asker(struct relay_core *c, uint32_t t, const struct relay_door_note *n, uint32_t i,
	   uint32_t *r)
{
	const struct doors *d = &c->doors;
	*r = i == NONE ? DOOR_RELAYS_MAX : relay_door_index(&d->cluster[d->door[i].at], t);
	uint32_t h = *r == DOOR_RELAYS_MAX ? NONE : relay_door_ask_hold(c, n->request, *r);
	bool asked = h != NONE && d->hold[h].import == i;
	if (asked && d->hold[h].wait >> *r & 1)
		return h;
	++*(asked ? &c->n.notes_bad : &c->n.notes_late);
	return NONE;
}

static void
take_answer(struct relay_core *c, uint32_t t, const struct relay_door_note *n)
{
	struct doors *d = &c->doors;
	uint32_t r, i = relay_door_at(c, n->label, DOOR_IMPORT);
	uint32_t h = find_asker(c, t, n, i, &r);
	struct door_hold *x = h == NONE ? NULL : &d->hold[h];
	if (!x) {
		if (n->ok)
			undo_late(c, t, n);
		return;
	}
	x->wait &= (uint8_t) ~(1u << r);
	relay_door_unreserve(c, x, (uint8_t)(1u << r));
	/* What was granted before is no guess, though its relay has forgotten it. */
	if (x->asks && x->state == HOLD_WAITS && !x->turn)
		relay_guess_answered(c, x->asker, &x->paid,
				     !n->ok && n->called == RELAY_DOOR_GUESSED);
	bool late = x->gone[r] && !suci_note_is_news(c->ep, &x->gone[r]);
	bool ok = n->ok && !late && relay_door_proved(c, i, r, t);
	c->n.notes_stale += late;
	if (ok)
		d->door[i].flags |= DOOR_ASKED;
	else if (n->ok && !late)
		undo_answer(c, t, n);
	else if (n->ok && n->called)
		withdraw_offer(c, t, n->offered, n->called);
	/* Then nothing would come back; also if what was offered left before the other's answer. */
	bool back = !ok || !n->called || (x->own && export_offered(c, t, x, n->called));
	uint32_t own = x->own ? x->own : n->offered;
	ok = ok && back;
	x->has |= (uint8_t)(ok << r);
	relay_door_hope(c, i, r, false);
	if (!back) {
		x->dropped = x->dropped || x->path == NONE;
		x->own = 0;
		withdraw_offer(c, t, own, n->called);
	}
	if (x->dropped) {
		relay_door_drop_hold(c, h);
		return;
	}
	if (ok && (x->state == HOLD_WAITS || x->anew)) {
		x->state = HOLD_HOLDS;
		x->tell = !relay_door_say_held(c, x);
		if (x->tell)
			relay_door_queue(c, h);
	}
	/* It can go only by the relay that the others go by, too. */
	uint32_t way = relay_door_way(&d->door[i]);
	uint8_t open = x->ask | x->wait | x->has;
	if (way == DOOR_RELAYS_MAX ? open : open >> way & 1)
		return;
	/* None of its relays knows it, or not any more, or takes the door that is offered; others
	 * that ask have answers of their own. */
	relay_door_refuse_hold(c, h);
}

/* The import that a note about a door of that trunk's relay means, or NONE. */
static uint32_t
import_of_note(const struct relay_core *c, uint32_t t, const struct relay_door_note *n)
{
	const struct doors *d = &c->doors;
	uint32_t i = relay_door_at(c, n->request, DOOR_IMPORT);
	if (i == NONE || d->door[i].here != n->request || d->door[i].there != n->label ||
	    relay_door_index(&d->cluster[d->door[i].at], t) == DOOR_RELAYS_MAX)
		return NONE;
	return i;
}

/* Answers of that relay that are still to come may have been said before. */
static void
note_gone(struct relay_core *c, uint32_t i, uint32_t r)
{
	struct doors *d = &c->doors;
	for (uint32_t h = d->door[i].of; h != NONE; h = d->hold[h].of_import.next)
		if (d->hold[h].wait >> r & 1)
			(void)suci_note_is_news(c->ep, &d->hold[h].gone[r]);
}

static void
take_gone(struct relay_core *c, uint32_t t, const struct relay_door_note *n)
{
	uint32_t i = import_of_note(c, t, n);
	if (i == NONE) {
		c->n.notes_late++;
		return;
	}
	const struct door *e = &c->doors.door[i];
	uint32_t r = relay_door_index(&c->doors.cluster[e->at], t);
	if (e->flags & DOOR_PROVED & ~(1u << r)) {
		note_gone(c, i, r);
		relay_door_left(c, i, r);
		relay_door_import_rest(c, i);
	} else {
		relay_door_import_gone(c, i, false, n);
	}
}

static void
take_withdraw(struct relay_core *c, uint32_t t, const struct relay_door_note *n)
{
	uint32_t i = import_of_note(c, t, n);
	if (i == NONE) {
		c->n.notes_late++;
		return;
	}
	uint32_t r = relay_door_index(&c->doors.cluster[c->doors.door[i].at], t);
	uint8_t offerer = c->doors.door[i].offerer;
	if ((offerer && offerer != r + 1) || !suci_note_is_news(c->ep, &c->doors.door[i].seen)) {
		c->n.notes_stale++; /* it is offered again */
		return;
	}
	c->doors.door[i].flags &= (uint8_t)~DOOR_OFFERED;
	relay_door_import_rest(c, i);
}

static void
take_drop(struct relay_core *c, uint32_t t, uint32_t label)
{
	uint32_t i = relay_door_find(&c->doors, c->trunk[t].door_root, label);
	struct door *e = i == NONE ? NULL : &c->doors.door[i];
	if (!e || e->kind != DOOR_EXPORT || e->there != label || !(e->flags & DOOR_ASKED)) {
		c->n.notes_late++;
		return;
	}
	if (!suci_note_is_news(c->ep, &e->seen)) {
		c->n.notes_stale++; /* it is asked for again */
		return;
	}
	if (!(e->flags & DOOR_OFFERED)) {
		relay_door_export_gone(c, i, 0);
		return;
	}
	e->flags &= (uint8_t)~DOOR_ASKED;
	c->trunk[t].nasked--;
}

void
relay_door_from_trunk(struct relay_core *c, uint32_t t, const void *note, size_t len)
{
	struct relay_door_note n;
	if (!c->conf.limits.doors_max || relay_door_decode(note, len, &n) || !c->trunk[t].up) {
		c->n.door_malformed++;
		return;
	}
	switch ((enum relay_door_op)n.op) {
	case RELAY_DOOR_ASK:
		answer_ask(c, t, &n);
		break;
	case RELAY_DOOR_ANSWER:
		take_answer(c, t, &n);
		break;
	case RELAY_DOOR_GONE:
		take_gone(c, t, &n);
		break;
	case RELAY_DOOR_WITHDRAW:
		take_withdraw(c, t, &n);
		break;
	case RELAY_DOOR_DROP:
		take_drop(c, t, n.label);
		break;
	case RELAY_DOOR_REGISTER:
	case RELAY_DOOR_ADDRESS:
	case RELAY_DOOR_LEAVE:
	case RELAY_DOOR_IMPORT:
	case RELAY_DOOR_IMPORTED:
	case RELAY_DOOR_REFUSED:
	case RELAY_DOOR_HOLD:
	case RELAY_DOOR_NAMED:
		c->n.door_malformed++;
		break;
	}
}

/* ---- trunks come and go ------------------------------------------------------------------- */

void
relay_door_trunk_up(struct relay_core *c, uint32_t t)
{
	struct doors *d = &c->doors;
	c->trunk[t].ask_ns = c->trunk[t].asked_ns = 0;
	for (uint32_t i = 0; c->trunk[t].nclusters && i < c->conf.limits.trunks_max; i++) {
		struct door_cluster *k = &d->cluster[i];
		uint32_t r = k->used ? relay_door_index(k, t) : DOOR_RELAYS_MAX;
		if (r == DOOR_RELAYS_MAX)
			continue;
		k->lost_ns = BASE_NEVER_NS;
		k->sweep_ns = base_add_ns(c->now_ns, c->conf.doors.lost_ns);
		wake_at(c, k->sweep_ns);
		for (uint32_t e = k->imports.head; e != NONE; e = d->door[e].link.next)
			for (uint32_t h = d->door[e].of; h != NONE; h = d->hold[h].of_import.next)
				if (d->hold[h].asks) {
					d->hold[h].ask |= (uint8_t)(1u << r);
					relay_door_queue(c, h);
				}
	}
}

void
relay_door_trunk_down(struct relay_core *c, uint32_t t)
{
	struct doors *d = &c->doors;
	struct trunk *k = &c->trunk[t];
	if (!c->conf.limits.doors_max)
		return;
	while (k->exports != NONE)
		relay_door_export_gone(c, k->exports, 0);
	for (uint32_t i = 0; k->nclusters && i < c->conf.limits.trunks_max; i++) {
		struct door_cluster *x = &d->cluster[i];
		uint32_t r = x->used ? relay_door_index(x, t) : DOOR_RELAYS_MAX;
		bool up = false;
		if (r == DOOR_RELAYS_MAX)
			continue;
		for (uint32_t o = 0; o < x->n; o++)
			up = up || (x->trunk[o] != NONE && c->trunk[x->trunk[o]].up);
		if (!up && x->lost_ns == BASE_NEVER_NS) {
			x->lost_ns = base_add_ns(c->now_ns, c->conf.doors.lost_ns);
			wake_at(c, x->lost_ns);
		}
		for (uint32_t e = x->imports.head, next; e != NONE; e = next) {
			next = d->door[e].link.next;
			relay_door_unprove(c, e, r);
		}
	}
	relay_door_unmap_all(c, &k->door_root);
	/* Only now: what rests asks the trees. */
	for (uint32_t i = 0; k->nclusters && i < c->conf.limits.trunks_max; i++) {
		struct door_cluster *x = &d->cluster[i];
		if (!x->used || relay_door_index(x, t) == DOOR_RELAYS_MAX)
			continue;
		for (uint32_t e = x->imports.head, next; e != NONE; e = next) {
			next = d->door[e].link.next;
			relay_door_import_rest(c, e);
		}
	}
}
