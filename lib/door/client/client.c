/* SPDX-License-Identifier: BSD-2-Clause */
#include "client_internal.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/siphash.h"
#include "suci/wire.h"

#include <string.h>

#define GAP_NS	   (10 * BASE_MS_NS)
#define GAP_NS_MAX (500 * BASE_MS_NS)

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
				  .imports_max = imports_max};
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		c->site[k].gap_ns = GAP_NS;
}

void
door_client_grow(struct door_client *c, struct door_client_import *import, uint32_t imports_max)
{
	BASE_ASSERT(imports_max >= c->imports && imports_max < DOOR_CLIENT_PLACES);
	memset(import + c->imports, 0, (imports_max - c->imports) * sizeof *import);
	c->import = import;
	c->imports_max = imports_max;
}

uint32_t
door_client_number(struct door_client *c, uint32_t table, uint32_t place)
{
	c->serial = (c->serial + 1) % REQUEST_USES;
	return table | c->serial << REQUEST_SHIFT | (place + 1);
}

static struct door_client_import *
import_named(const struct door_client *c, uint32_t request)
{
	uint32_t i = (request & (DOOR_CLIENT_PLACES - 1)) - 1;

	if (!(request & REQUEST_IMPORT) || i >= c->imports || c->import[i].request != request)
		return NULL;
	return &c->import[i];
}

/* The one that was asked for there; NULL. */
static struct door_client_import *
import_at(const struct door_client *c, uint32_t site, uint32_t request)
{
	struct door_client_import *m = import_named(c, request);

	return m && m->site == site ? m : NULL;
}

/* ---- saying ---- */

bool
door_client_say(struct door_client *c, uint32_t site, const struct relay_door_note *n)
{
	uint8_t b[RELAY_DOOR_NOTE_MAX];

	return c->site[site].up && c->conf.ops->say(c->conf.user, site, b, relay_door_encode(n, b));
}

bool
door_client_letter(struct door_client *c, uint32_t site, uint8_t op, uint32_t label,
		   uint32_t request)
{
	struct relay_door_note n = {.op = op, .label = label, .request = request};
	struct door_client_site *s = &c->site[site];

	if (s->up && s->nletters == 0 && door_client_say(c, site, &n))
		return true;
	if (!s->up || s->nletters == DOOR_CLIENT_LETTERS)
		return false;
	s->letter[s->nletters++] =
		(struct door_client_letter){.op = op, .label = label, .request = request};
	c->conf.ops->wake(c->conf.user);
	return true;
}

static bool
say_letters(struct door_client *c, uint32_t site)
{
	struct door_client_site *s = &c->site[site];
	uint32_t i;

	for (i = 0; i < s->nletters; i++) {
		const struct door_client_letter *l = &s->letter[i];
		struct relay_door_note n = {.op = l->op, .label = l->label, .request = l->request};
		if (!door_client_say(c, site, &n))
			break;
	}
	memmove(s->letter, s->letter + i, (s->nletters - i) * sizeof s->letter[0]);
	s->nletters -= i;
	return s->nletters == 0;
}

static bool
serve_import(struct door_client *c, struct door_client_import *m)
{
	uint8_t at[DOOR_ADDRESS_MAX];
	const struct door_client_own *own = &c->own[m->own];
	struct relay_door_note n = {
		.op = RELAY_DOOR_DROP, .label = m->label, .request = m->request};

	if (m->state == DOOR_CLIENT_WANTED && own->state == DOOR_CLIENT_HAVE) {
		m->site = own->home;
		n.op = RELAY_DOOR_IMPORT;
		n.label = own->at.label;
		n.address.at = at;
		n.address.len = (uint8_t)door_address_encode(&m->at, at);
	} else if (m->state != DOOR_CLIENT_ENDS) {
		return true;
	}
	if (!door_client_say(c, m->site, &n))
		return false;
	m->state = m->state == DOOR_CLIENT_ENDS ? DOOR_CLIENT_FREE : DOOR_CLIENT_ASKED;
	return true;
}

bool
door_client_turn(struct door_client *c)
{
	if (!c->up)
		return true;
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		if (c->site[k].up && !say_letters(c, k))
			return false;
	for (uint32_t i = 0; i < c->owns; i++)
		if (!door_client_serve_own(c, i))
			return false;
	for (uint32_t i = 0; i < c->imports; i++)
		if (!serve_import(c, &c->import[i]))
			return false;
	return true;
}

bool
door_client_wants(const struct door_client *c, uint32_t site)
{
	for (uint32_t i = 0; i < c->owns; i++)
		if (c->own[i].state == DOOR_CLIENT_WANTED ||
		    c->own[i].there[site] & DOOR_CLIENT_ASK)
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
door_client_coming(struct door_client *c, uint32_t site)
{
	c->site[site].coming = true;
}

void
door_client_up(struct door_client *c, uint32_t site)
{
	c->site[site].up = true;
	c->site[site].coming = false;
	c->site[site].gap_ns = GAP_NS;
	c->up = true;
	c->conf.ops->wake(c->conf.user);
}

static void
lose_import(struct door_client *c, uint32_t i, enum door_client_lost why)
{
	c->import[i].state = why == DOOR_CLIENT_RESET ? DOOR_CLIENT_WANTED : DOOR_CLIENT_OVER;
	c->conf.ops->lost(c->conf.user, i, why);
}

/* It was at a relay that is gone, or would be. */
static void
down_import(struct door_client *c, uint32_t i, bool again)
{
	struct door_client_import *m = &c->import[i];
	bool reached = door_client_reaches(m);

	if (m->state >= DOOR_CLIENT_WAITS)
		m->state = DOOR_CLIENT_FREE;
	else if (reached && c->own[m->own].state == DOOR_CLIENT_HAVE)
		lose_import(c, i, DOOR_CLIENT_RESET);
	else if (reached ||
		 (!again && (m->state == DOOR_CLIENT_WANTED || m->state == DOOR_CLIENT_ASKED)))
		lose_import(c, i, DOOR_CLIENT_RELAY);
	else if (m->state == DOOR_CLIENT_ASKED)
		m->state = DOOR_CLIENT_WANTED;
}

void
door_client_down(struct door_client *c, uint32_t site, bool again, uint64_t now_ns)
{
	struct door_client_site *s = &c->site[site];

	s->up = s->coming = false;
	s->nletters = 0;
	s->retry_ns = now_ns + s->gap_ns;
	s->gap_ns = base_min_ns(2 * s->gap_ns, GAP_NS_MAX);
	c->up = false;
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		c->up |= c->site[k].up;
	again |= c->up;
	for (uint32_t i = 0; i < c->owns; i++)
		door_client_down_own(c, i, site, again);
	for (uint32_t i = 0; i < c->imports; i++)
		if (c->import[i].state == DOOR_CLIENT_WANTED || c->import[i].site == site)
			down_import(c, i, again);
	if (c->up)
		c->conf.ops->wake(c->conf.user);
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
	c->import[i] =
		(struct door_client_import){.at = *at,
					    .request = door_client_number(c, REQUEST_IMPORT, i),
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
door_client_called(const struct door_client *c, uint32_t site, uint32_t own, uint32_t label,
		   bool *more)
{
	*more = false;
	for (uint32_t i = 0; i < c->imports; i++) {
		const struct door_client_import *m = &c->import[i];
		if (m->own != own)
			continue;
		if (door_client_reaches(m) && m->site == site && m->label == label)
			return i;
		*more |= m->state == DOOR_CLIENT_WANTED || m->state == DOOR_CLIENT_ASKED;
	}
	return DOOR_CLIENT_NONE;
}

bool
door_client_near(const struct door_client *c, uint32_t own, const struct door_address *at)
{
	return door_address_near(&c->own[own].at, at);
}

bool
door_client_hold(struct door_client *c, uint32_t site, uint32_t label)
{
	return door_client_letter(c, site, RELAY_DOOR_HOLD, label, 0);
}

bool
door_client_unhold(struct door_client *c, uint32_t site, uint32_t label)
{
	return door_client_letter(c, site, RELAY_DOOR_DROP, label, 0);
}

static void
keep_label(struct door_client_import *m, const struct relay_door_note *n)
{
	m->label = n->label;
	m->turn = n->turn;
}

static void
learn_label(struct door_client *c, uint32_t site, const struct relay_door_note *n)
{
	struct door_client_import *m = import_at(c, site, n->request);
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
			(void)door_client_letter(c, site, RELAY_DOOR_DROP, n->label, n->request);
	}
}

static void
learn_name(struct door_client *c, uint32_t site, const struct relay_door_note *n)
{
	struct door_client_import *m = import_at(c, site, n->request);

	if (!m || m->state != DOOR_CLIENT_ASKED)
		return;
	keep_label(m, n);
	m->state = DOOR_CLIENT_NAMED;
	c->conf.ops->reached(c->conf.user, (uint32_t)(m - c->import));
}

static void
learn_refusal(struct door_client *c, uint32_t site, const struct relay_door_note *n)
{
	struct door_client_import *m = import_at(c, site, n->request);

	door_client_refused_own(c, site, n);
	if (m && m->state == DOOR_CLIENT_WAITS)
		m->state = DOOR_CLIENT_FREE;
	else if (m && (m->state == DOOR_CLIENT_ASKED || m->state == DOOR_CLIENT_NAMED))
		lose_import(c, (uint32_t)(m - c->import), DOOR_CLIENT_REFUSED);
}

static void
learn_end(struct door_client *c, uint32_t site, const struct relay_door_note *n)
{
	struct door_client_import *m = n->request ? import_at(c, site, n->request) : NULL;

	relay_text_copy(c->words, n->text.at, n->text.len);
	c->ended = n->ended;
	if (!n->request)
		c->conf.ops->left(c->conf.user, site, n->label);
	else if (m && m->state == DOOR_CLIENT_ENDS)
		m->state = DOOR_CLIENT_FREE;
	else if (m && m->state == DOOR_CLIENT_HAVE && m->label == n->label && !DOOR_BUG(UNHEARD))
		lose_import(c, (uint32_t)(m - c->import), DOOR_CLIENT_GONE);
	c->words[0] = '\0';
}

void
door_client_note(struct door_client *c, uint32_t site, const void *note, size_t len)
{
	struct relay_door_note n;

	if (!c->site[site].up || relay_door_decode(note, len, &n))
		return;
	switch ((enum relay_door_op)n.op) {
	case RELAY_DOOR_ADDRESS:
		door_client_learn_own(c, site, &n);
		break;
	case RELAY_DOOR_REFUSED:
		learn_refusal(c, site, &n);
		break;
	case RELAY_DOOR_IMPORTED:
		learn_label(c, site, &n);
		break;
	case RELAY_DOOR_GONE:
		learn_end(c, site, &n);
		break;
	case RELAY_DOOR_NAMED:
		learn_name(c, site, &n);
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
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		if (c->site[k].nletters > DOOR_CLIENT_LETTERS ||
		    (!c->site[k].up && c->site[k].nletters))
			return "letters wait only for a relay that is up";
	for (uint32_t i = 0; i < c->owns; i++) {
		const char *wrong = door_client_check_own(c, i);
		if (wrong)
			return wrong;
	}
	for (uint32_t i = 0; i < c->imports; i++) {
		const struct door_client_import *m = &c->import[i];
		if (m->state > DOOR_CLIENT_ENDS || m->own >= c->owns_max)
			return "an import is in a state that there is, with a door of ours";
		if (m->state != DOOR_CLIENT_FREE && import_named(c, m->request) != m)
			return "an import is found by its request";
		if (m->state > DOOR_CLIENT_WANTED && m->state != DOOR_CLIENT_OVER &&
		    !c->site[m->site].up)
			return "no import is known to a relay that is not up";
	}
	return NULL;
}
