/* SPDX-License-Identifier: BSD-2-Clause */
#include "door/client.h"

#include "canary.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/siphash.h"
#include "suci/wire.h"

#include <string.h>

#define GAP_NS	   (10 * BASE_MS_NS)
#define GAP_NS_MAX (500 * BASE_MS_NS)

/* A request says which table and place it is of, and which use of the place: what comes late means
 * nobody. */
#define REQUEST_IMPORT (1u << 31)
#define REQUEST_SHIFT  20
#define REQUEST_USES   (1u << 11)
_Static_assert(DOOR_CLIENT_PLACES == 1u << REQUEST_SHIFT, "the place, counted from 1, below");

#ifdef SUCI_CANARY
enum door_bug door_canary;
#endif

/* ---- the object ---- */

void
door_client_init(struct door_client *c, const struct door_client_conf *conf,
		 struct door_client_own *own, uint32_t owns_max, struct door_client_import *import,
		 uint32_t imports_max)
{
	BASE_ASSERT(owns_max < DOOR_CLIENT_PLACES && imports_max < DOOR_CLIENT_PLACES);
	*c = (struct door_client){.own = own,
				  .import = import,
				  .conf = *conf,
				  .owns_max = owns_max,
				  .imports_max = imports_max,
				  .gap_ns = GAP_NS};
}

void
door_client_grow(struct door_client *c, struct door_client_import *import, uint32_t imports_max)
{
	BASE_ASSERT(imports_max >= c->imports && imports_max < DOOR_CLIENT_PLACES);
	memset(import + c->imports, 0, (imports_max - c->imports) * sizeof *import);
	c->import = import;
	c->imports_max = imports_max;
}

static uint32_t
number_request(struct door_client *c, uint32_t table, uint32_t place)
{
	c->serial = (c->serial + 1) % REQUEST_USES;
	return table | c->serial << REQUEST_SHIFT | (place + 1);
}

static uint64_t
make_token(struct door_client *c)
{
	uint8_t turn[8];

	be64_store(turn, ++c->tokens);
	return base_siphash(c->conf.secret, turn, sizeof turn);
}

static struct door_client_own *
own_asked(const struct door_client *c, uint32_t request)
{
	uint32_t i = (request & (DOOR_CLIENT_PLACES - 1)) - 1;

	if (request & REQUEST_IMPORT || i >= c->owns || c->own[i].request != request)
		return NULL;
	return &c->own[i];
}

static struct door_client_import *
import_named(const struct door_client *c, uint32_t request)
{
	uint32_t i = (request & (DOOR_CLIENT_PLACES - 1)) - 1;

	if (!(request & REQUEST_IMPORT) || i >= c->imports || c->import[i].request != request)
		return NULL;
	return &c->import[i];
}

/* ---- saying ---- */

static bool
say_note(struct door_client *c, const struct relay_door_note *n)
{
	uint8_t b[RELAY_DOOR_NOTE_MAX];

	return c->up && c->conf.ops->say(c->conf.user, b, relay_door_encode(n, b));
}

/* In the order of saying; false: too many wait. */
static bool
say_letter(struct door_client *c, uint8_t op, uint32_t label, uint32_t request)
{
	struct relay_door_note n = {.op = op, .label = label, .request = request};

	if (c->up && c->nletters == 0 && say_note(c, &n))
		return true;
	if (!c->up || c->nletters == DOOR_CLIENT_LETTERS)
		return false;
	c->letter[c->nletters++] =
		(struct door_client_letter){.op = op, .label = label, .request = request};
	c->conf.ops->wake(c->conf.user);
	return true;
}

static bool
say_letters(struct door_client *c)
{
	uint32_t i;

	for (i = 0; i < c->nletters; i++) {
		const struct door_client_letter *l = &c->letter[i];
		struct relay_door_note n = {.op = l->op, .label = l->label, .request = l->request};
		if (!say_note(c, &n))
			break;
	}
	memmove(c->letter, c->letter + i, (c->nletters - i) * sizeof c->letter[0]);
	c->nletters -= i;
	return c->nletters == 0;
}

/* False: no room. */
static bool
serve_own(struct door_client *c, struct door_client_own *d)
{
	struct relay_door_note n = {.op = RELAY_DOOR_REGISTER,
				    .request = d->request,
				    .n = d->at.n,
				    .realm = d->at.realm,
				    .token = d->at.token};

	if (d->state == DOOR_CLIENT_ENDS)
		n = (struct relay_door_note){.op = RELAY_DOOR_LEAVE, .label = d->at.label};
	else if (d->state != DOOR_CLIENT_WANTED)
		return true;
	if (!say_note(c, &n))
		return false;
	d->state = d->state == DOOR_CLIENT_ENDS ? DOOR_CLIENT_FREE : DOOR_CLIENT_ASKED;
	return true;
}

static bool
serve_import(struct door_client *c, struct door_client_import *m)
{
	uint8_t at[DOOR_ADDRESS_MAX];
	const struct door_client_own *own = &c->own[m->own];
	struct relay_door_note n = {
		.op = RELAY_DOOR_DROP, .label = m->label, .request = m->request};

	if (m->state == DOOR_CLIENT_WANTED && own->state == DOOR_CLIENT_HAVE) {
		n.op = RELAY_DOOR_IMPORT;
		n.label = own->at.label;
		n.address.at = at;
		n.address.len = (uint8_t)door_address_encode(&m->at, at);
	} else if (m->state != DOOR_CLIENT_ENDS) {
		return true;
	}
	if (!say_note(c, &n))
		return false;
	m->state = m->state == DOOR_CLIENT_ENDS ? DOOR_CLIENT_FREE : DOOR_CLIENT_ASKED;
	return true;
}

bool
door_client_turn(struct door_client *c)
{
	if (!c->up)
		return true;
	if (!say_letters(c))
		return false;
	for (uint32_t i = 0; i < c->owns; i++)
		if (!serve_own(c, &c->own[i]))
			return false;
	for (uint32_t i = 0; i < c->imports; i++)
		if (!serve_import(c, &c->import[i]))
			return false;
	return true;
}

bool
door_client_wants(const struct door_client *c)
{
	for (uint32_t i = 0; i < c->owns; i++)
		if (c->own[i].state == DOOR_CLIENT_WANTED)
			return true;
	for (uint32_t i = 0; i < c->imports; i++)
		if (c->import[i].state == DOOR_CLIENT_WANTED)
			return true;
	return false;
}

/* ---- the relay ---- */

void
door_client_hello(uint8_t out[RELAY_HELLO_LEN])
{
	struct relay_hello h = {.kind = RELAY_HELLO_DOOR, .rank = RELAY_RANK_NONE};

	relay_hello_encode(&h, out);
}

bool
door_client_is_relay(const void *hello, size_t len, uint32_t *mtu)
{
	struct relay_hello h;

	if (relay_hello_decode(hello, len, &h) || h.kind != RELAY_HELLO_RELAY)
		return false;
	*mtu = h.mtu;
	return true;
}

uint32_t
door_client_mss(uint32_t path_mss, uint32_t mtu)
{
	if (mtu <= SUCI_OVERHEAD || mtu - (uint32_t)SUCI_OVERHEAD > path_mss)
		return path_mss;
	return mtu - (uint32_t)SUCI_OVERHEAD;
}

void
door_client_up(struct door_client *c)
{
	c->up = true;
	c->gap_ns = GAP_NS;
	c->conf.ops->wake(c->conf.user);
}

static void
want_anew(struct door_client *c, uint32_t i)
{
	struct door_client_own *d = &c->own[i];

	d->at = (struct door_address){.realm = d->at.realm, .n = d->at.n, .token = make_token(c)};
	d->request = number_request(c, 0, i);
	d->state = DOOR_CLIENT_WANTED;
	c->conf.ops->wake(c->conf.user);
}

static void
lose_import(struct door_client *c, uint32_t i, enum door_client_lost why)
{
	c->import[i].state = DOOR_CLIENT_OVER;
	c->conf.ops->lost(c->conf.user, i, why);
}

void
door_client_down(struct door_client *c, bool again, uint64_t now_ns)
{
	c->up = false;
	c->nletters = 0;
	c->retry_ns = now_ns + c->gap_ns;
	c->gap_ns = base_min_ns(2 * c->gap_ns, GAP_NS_MAX);
	for (uint32_t i = 0; i < c->owns; i++) {
		struct door_client_own *d = &c->own[i];
		if (d->state >= DOOR_CLIENT_WAITS)
			d->state = DOOR_CLIENT_FREE;
		else if (d->state != DOOR_CLIENT_FREE && !again)
			d->state = DOOR_CLIENT_OVER;
		else if (d->state == DOOR_CLIENT_ASKED || d->state == DOOR_CLIENT_HAVE)
			want_anew(c, i);
	}
	for (uint32_t i = 0; i < c->imports; i++) {
		uint8_t state = c->import[i].state;
		if (state >= DOOR_CLIENT_WAITS)
			c->import[i].state = DOOR_CLIENT_FREE;
		else if (state == DOOR_CLIENT_ASKED && again)
			c->import[i].state = DOOR_CLIENT_WANTED;
		else if (door_client_reaches(&c->import[i]) ||
			 (!again && (state == DOOR_CLIENT_WANTED || state == DOOR_CLIENT_ASKED)))
			lose_import(c, i, DOOR_CLIENT_RELAY);
	}
}

/* ---- own doors ---- */

uint32_t
door_client_open(struct door_client *c, uint32_t from, uint16_t n, uint64_t realm, uint32_t whose)
{
	uint32_t i = from;

	while (i < c->owns && c->own[i].state != DOOR_CLIENT_FREE)
		i++;
	if (i >= c->owns_max)
		return DOOR_CLIENT_NONE;
	/* Those between were never used. */
	c->owns = i < c->owns ? c->owns : i + 1;
	c->own[i] = (struct door_client_own){.at = {.realm = realm, .n = n}, .whose = whose};
	want_anew(c, i);
	return i;
}

void
door_client_close(struct door_client *c, uint32_t own)
{
	struct door_client_own *d = &c->own[own];

	if (d->state == DOOR_CLIENT_ASKED)
		d->state = DOOR_CLIENT_WAITS;
	else if (d->state == DOOR_CLIENT_HAVE)
		d->state = DOOR_CLIENT_ENDS;
	else if (d->state < DOOR_CLIENT_WAITS)
		d->state = DOOR_CLIENT_FREE;
	if (d->state == DOOR_CLIENT_ENDS)
		c->conf.ops->wake(c->conf.user);
}

uint32_t
door_client_mine(const struct door_client *c, uint32_t label)
{
	for (uint32_t i = 0; i < c->owns; i++) {
		const struct door_client_own *d = &c->own[i];
		if (d->state == DOOR_CLIENT_HAVE && label - d->at.label < d->at.n)
			return i;
	}
	return DOOR_CLIENT_NONE;
}

static void
learn_address(struct door_client *c, const struct relay_door_note *n)
{
	struct door_client_own *d = own_asked(c, n->request);
	struct door_address a;

	if (door_address_decode(n->address.at, n->address.len, &a))
		return;
	bool mine = d && d->at.token == a.token && d->at.realm == a.realm && d->at.n == a.n;
	if (mine && d->state == DOOR_CLIENT_ASKED && a.label != c->conf.not_label) {
		d->at = a;
		d->state = DOOR_CLIENT_HAVE;
		c->conf.ops->wake(c->conf.user); /* imports may wait for it */
		c->conf.ops->opened(c->conf.user, (uint32_t)(d - c->own));
		return;
	}
	if (mine && (d->state == DOOR_CLIENT_HAVE || d->state == DOOR_CLIENT_ENDS))
		return; /* it came twice */
	if (mine && d->state == DOOR_CLIENT_ASKED)
		want_anew(c, (uint32_t)(d - c->own));
	else if (mine && d->state == DOOR_CLIENT_WAITS)
		d->state = DOOR_CLIENT_FREE;
	(void)say_letter(c, RELAY_DOOR_LEAVE, a.label, 0);
}

/* ---- doors of others ---- */

uint32_t
door_client_import(struct door_client *c, const struct door_address *at, uint32_t own,
		   uint32_t whose)
{
	uint32_t i = 0;

	while (i < c->imports && c->import[i].state != DOOR_CLIENT_FREE)
		i++;
	if (i == c->imports_max)
		return DOOR_CLIENT_NONE;
	c->imports = i < c->imports ? c->imports : i + 1;
	c->import[i] = (struct door_client_import){.at = *at,
						   .request = number_request(c, REQUEST_IMPORT, i),
						   .whose = whose,
						   .own = own,
						   .state = DOOR_CLIENT_WANTED};
	c->conf.ops->wake(c->conf.user);
	return i;
}

void
door_client_drop(struct door_client *c, uint32_t import)
{
	struct door_client_import *m = &c->import[import];

	if (m->state == DOOR_CLIENT_ASKED || m->state == DOOR_CLIENT_NAMED)
		m->state = DOOR_BUG(ANSWERED) ? DOOR_CLIENT_FREE : DOOR_CLIENT_WAITS;
	else if (m->state == DOOR_CLIENT_HAVE)
		m->state = DOOR_CLIENT_ENDS;
	else if (m->state < DOOR_CLIENT_WAITS)
		m->state = DOOR_CLIENT_FREE;
	if (m->state == DOOR_CLIENT_ENDS)
		c->conf.ops->wake(c->conf.user);
}

uint32_t
door_client_called(const struct door_client *c, uint32_t own, uint32_t label, bool *more)
{
	*more = false;
	for (uint32_t i = 0; i < c->imports; i++) {
		const struct door_client_import *m = &c->import[i];
		if (m->own != own)
			continue;
		if (door_client_reaches(m) && m->label == label)
			return i;
		*more |= m->state == DOOR_CLIENT_WANTED || m->state == DOOR_CLIENT_ASKED;
	}
	return DOOR_CLIENT_NONE;
}

bool
door_client_near(const struct door_client *c, uint32_t own, const struct door_address *at)
{
	const struct door_address *me = &c->own[own].at;

	for (uint32_t i = 0; i < at->nrelays; i++)
		for (uint32_t k = 0; k < me->nrelays; k++)
			if (at->relay[i].ipv4 == me->relay[k].ipv4 &&
			    at->relay[i].port == me->relay[k].port)
				return true;
	return false;
}

bool
door_client_hold(struct door_client *c, uint32_t label)
{
	return say_letter(c, RELAY_DOOR_HOLD, label, 0);
}

bool
door_client_unhold(struct door_client *c, uint32_t label)
{
	return say_letter(c, RELAY_DOOR_DROP, label, 0);
}

static void
keep_label(struct door_client_import *m, const struct relay_door_note *n)
{
	m->label = n->label;
	m->turn = n->turn;
}

static void
learn_label(struct door_client *c, const struct relay_door_note *n)
{
	struct door_client_import *m = import_named(c, n->request);
	uint32_t i = m ? (uint32_t)(m - c->import) : DOOR_CLIENT_NONE;

	if (m && m->state == DOOR_CLIENT_WAITS) {
		keep_label(m, n);
		m->state = DOOR_CLIENT_ENDS;
		c->conf.ops->wake(c->conf.user);
	} else if (m && (m->state == DOOR_CLIENT_ASKED ||
			 (m->state == DOOR_CLIENT_NAMED && m->label == n->label && !n->turn))) {
		keep_label(m, n);
		m->state = DOOR_CLIENT_HAVE;
		c->conf.ops->reached(c->conf.user, i);
	} else if (m && door_client_reaches(m)) {
		if (m->turn == n->turn && m->label == n->label)
			return; /* it came twice */
		/* What was under way may be lost, and who was opened sees us as somebody new. */
		keep_label(m, n);
		m->state = DOOR_CLIENT_HAVE;
		c->conf.ops->lost(c->conf.user, i, DOOR_CLIENT_RESET);
		if (c->import[i].state == DOOR_CLIENT_HAVE)
			c->conf.ops->reached(c->conf.user, i);
	} else if (!m || m->state != DOOR_CLIENT_ENDS) {
		if (!DOOR_BUG(ANSWERED))
			(void)say_letter(c, RELAY_DOOR_DROP, n->label, n->request);
	}
}

static void
learn_name(struct door_client *c, const struct relay_door_note *n)
{
	struct door_client_import *m = import_named(c, n->request);

	if (!m || m->state != DOOR_CLIENT_ASKED)
		return;
	keep_label(m, n);
	m->state = DOOR_CLIENT_NAMED;
	c->conf.ops->reached(c->conf.user, (uint32_t)(m - c->import));
}

static void
learn_refusal(struct door_client *c, uint32_t request)
{
	struct door_client_own *d = own_asked(c, request);
	struct door_client_import *m = import_named(c, request);

	if (d && d->state == DOOR_CLIENT_WAITS)
		d->state = DOOR_CLIENT_FREE;
	if (m && m->state == DOOR_CLIENT_WAITS)
		m->state = DOOR_CLIENT_FREE;
	if (d && d->state == DOOR_CLIENT_ASKED) {
		d->state = DOOR_CLIENT_OVER;
		c->conf.ops->opened(c->conf.user, (uint32_t)(d - c->own));
	} else if (m && (m->state == DOOR_CLIENT_ASKED || m->state == DOOR_CLIENT_NAMED)) {
		lose_import(c, (uint32_t)(m - c->import), DOOR_CLIENT_REFUSED);
	}
}

static void
learn_end(struct door_client *c, const struct relay_door_note *n)
{
	struct door_client_import *m = n->request ? import_named(c, n->request) : NULL;

	relay_text_copy(c->words, n->text.at, n->text.len);
	if (!n->request)
		c->conf.ops->left(c->conf.user, n->label);
	else if (m && m->state == DOOR_CLIENT_ENDS)
		m->state = DOOR_CLIENT_FREE;
	else if (m && m->state == DOOR_CLIENT_HAVE && m->label == n->label && !DOOR_BUG(UNHEARD))
		lose_import(c, (uint32_t)(m - c->import), DOOR_CLIENT_GONE);
	c->words[0] = '\0';
}

void
door_client_note(struct door_client *c, const void *note, size_t len)
{
	struct relay_door_note n;

	if (!c->up || relay_door_decode(note, len, &n))
		return;
	switch ((enum relay_door_op)n.op) {
	case RELAY_DOOR_ADDRESS:
		learn_address(c, &n);
		break;
	case RELAY_DOOR_REFUSED:
		learn_refusal(c, n.request);
		break;
	case RELAY_DOOR_IMPORTED:
		learn_label(c, &n);
		break;
	case RELAY_DOOR_GONE:
		learn_end(c, &n);
		break;
	case RELAY_DOOR_NAMED:
		learn_name(c, &n);
		break;
	case RELAY_DOOR_REGISTER:
	case RELAY_DOOR_LEAVE:
	case RELAY_DOOR_IMPORT:
	case RELAY_DOOR_HOLD:
	case RELAY_DOOR_DROP:
	case RELAY_DOOR_ASK:
	case RELAY_DOOR_ANSWER:
	case RELAY_DOOR_WITHDRAW:
		break; /* not a relay's to say to us */
	}
}

const char *
door_client_check(const struct door_client *c)
{
	if (c->owns > c->owns_max || c->imports > c->imports_max)
		return "places in use are in the tables";
	if (c->nletters > DOOR_CLIENT_LETTERS || (!c->up && c->nletters))
		return "letters wait only for a relay that is up";
	for (uint32_t i = 0; i < c->owns; i++) {
		const struct door_client_own *d = &c->own[i];
		if (d->state > DOOR_CLIENT_ENDS)
			return "an own door is in a state that there is";
		if (d->state != DOOR_CLIENT_FREE && own_asked(c, d->request) != d)
			return "an own door is found by its request";
		if (!c->up && d->state > DOOR_CLIENT_WANTED && d->state != DOOR_CLIENT_OVER)
			return "no door is at a relay that is not up";
	}
	for (uint32_t i = 0; i < c->imports; i++) {
		const struct door_client_import *m = &c->import[i];
		if (m->state > DOOR_CLIENT_ENDS || m->own >= c->owns_max)
			return "an import is in a state that there is, with a door of ours";
		if (m->state != DOOR_CLIENT_FREE && import_named(c, m->request) != m)
			return "an import is found by its request";
		if (!c->up && m->state > DOOR_CLIENT_WANTED && m->state != DOOR_CLIENT_OVER)
			return "no import is known to a relay that is not up";
	}
	return NULL;
}
