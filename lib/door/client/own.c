/* SPDX-License-Identifier: BSD-2-Clause */
/* Own doors, at one relay or at two. */
#include "client_internal.h"

#include "base/bytes.h"
#include "base/siphash.h"

#include <string.h>

static uint64_t
make_token(struct door_client *c)
{
	uint8_t turn[8];

	be64_store(turn, ++c->tokens);
	return base_siphash(c->conf.secret, turn, sizeof turn);
}

static struct door_client_own *
own_asked(const struct door_client *c, uint32_t site, uint32_t request)
{
	uint32_t i = (request & (DOOR_CLIENT_PLACES - 1)) - 1;

	if (request & REQUEST_IMPORT || i >= c->owns || c->own[i].request[site] != request)
		return NULL;
	return &c->own[i];
}

static void
want_anew(struct door_client *c, uint32_t i)
{
	struct door_client_own *d = &c->own[i];

	d->at = (struct door_address){.realm = d->at.realm, .n = d->at.n, .token = make_token(c)};
	d->back = false;
	memset(d->there, 0, sizeof d->there);
	d->request[0] = door_client_number(c, 0, i);
	d->state = DOOR_CLIENT_WANTED;
	c->conf.ops->wake(c->conf.user);
}

/* The relay there is to have it, too, or to know who else has it. */
static void
ask_there(struct door_client *c, struct door_client_own *d, uint32_t site)
{
	d->there[site] |= DOOR_CLIENT_ASK;
	d->request[site] = door_client_number(c, 0, (uint32_t)(d - c->own));
	c->conf.ops->wake(c->conf.user);
}

static void
tell_opened(struct door_client *c, struct door_client_own *d)
{
	d->state = DOOR_CLIENT_HAVE;
	d->back = false;
	c->conf.ops->wake(c->conf.user); /* imports may wait for it */
	c->conf.ops->opened(c->conf.user, (uint32_t)(d - c->own));
}

/* It is closed: what is still to be heard, or said, about it? */
static void
settle_closed(struct door_client_own *d)
{
	uint8_t all = 0;

	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		all |= d->there[k];
	d->state = all & DOOR_CLIENT_SAID    ? DOOR_CLIENT_WAITS
		   : all & DOOR_CLIENT_LEAVE ? DOOR_CLIENT_ENDS
					     : DOOR_CLIENT_FREE;
}

static uint32_t
take_own_place(struct door_client *c, uint32_t from)
{
	uint32_t i = from;

	while (i < c->owns && c->own[i].state != DOOR_CLIENT_FREE)
		i++;
	if (i >= c->owns_max)
		return DOOR_CLIENT_NONE;
	/* Those between were never used. */
	c->owns = i < c->owns ? c->owns : i + 1;
	return i;
}

uint32_t
door_client_open(struct door_client *c, uint32_t from, uint16_t n, uint64_t realm, uint32_t whose)
{
	uint32_t i = take_own_place(c, from);

	if (i == DOOR_CLIENT_NONE)
		return i;
	c->own[i] = (struct door_client_own){.at = {.realm = realm, .n = n}, .whose = whose};
	want_anew(c, i);
	return i;
}

void
door_client_close(struct door_client *c, uint32_t own)
{
	struct door_client_own *d = &c->own[own];

	if (d->state == DOOR_CLIENT_WAITS || d->state == DOOR_CLIENT_ENDS)
		return;
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++) {
		bool leave = d->there[k] & DOOR_CLIENT_HAS && !(k && DOOR_BUG(LEFT_ONCE));
		d->there[k] &= DOOR_CLIENT_SAID;
		d->there[k] |= leave ? DOOR_CLIENT_LEAVE : 0;
	}
	settle_closed(d);
	if (d->state != DOOR_CLIENT_FREE)
		c->conf.ops->wake(c->conf.user);
}

void
door_client_keep(struct door_client *c, uint32_t own)
{
	c->own[own].keeps = true;
}

void
door_client_stay(struct door_client *c, uint32_t own)
{
	c->own[own].keeps = c->own[own].stays = true;
}

static void
want_back(struct door_client *c, struct door_client_own *d)
{
	memset(d->there, 0, sizeof d->there);
	d->request[0] = door_client_number(c, 0, (uint32_t)(d - c->own));
	d->back = true;
	d->state = DOOR_CLIENT_WANTED;
	c->conf.ops->wake(c->conf.user);
}

uint32_t
door_client_claim(struct door_client *c, uint32_t from, const struct door_address *at,
		  uint32_t whose)
{
	uint32_t i = take_own_place(c, from);

	if (i == DOOR_CLIENT_NONE)
		return i;
	c->own[i] = (struct door_client_own){
		.at = *at, .whose = whose, .keeps = true, .stays = true, .claimed = true};
	want_back(c, &c->own[i]);
	return i;
}

bool
door_client_again(struct door_client *c, uint32_t own)
{
	struct door_client_own *d = &c->own[own];
	bool asks = false;

	if (d->state == DOOR_CLIENT_OVER && d->back) {
		want_back(c, d);
		return true;
	}
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++) {
		if (d->state != DOOR_CLIENT_HAVE || !d->claimed || d->at.nrelays != 2 ||
		    d->there[k] || !c->site[k].up)
			continue;
		ask_there(c, d, k); /* its labels were not free there */
		asks = true;
	}
	return asks;
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

/* ---- what is said ---- */

/* The relay that asks first gives the label. */
static void
choose_first(struct door_client *c, struct door_client_own *d)
{
	uint32_t site = 0;

	while (!c->site[site].up)
		site++;
	d->first = d->home = (uint8_t)site;
	d->there[site] = DOOR_CLIENT_ASK;
	if (site)
		d->request[site] = door_client_number(c, 0, (uint32_t)(d - c->own));
	d->state = DOOR_CLIENT_ASKED;
}

/* Either relay of its address may be the first to have it back.  One that is not in it is of no
 * use to those who hold it. */
static void
choose_any(struct door_client *c, struct door_client_own *d)
{
	if (d->at.nrelays == 1 && !c->site[d->first].up && d->stays)
		return;
	if (d->at.nrelays == 1 && !c->site[d->first].up) {
		want_anew(c, (uint32_t)(d - c->own));
		choose_first(c, d);
		return;
	}
	d->state = DOOR_CLIENT_ASKED;
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++)
		if (d->at.nrelays == 2 || k == d->first)
			ask_there(c, d, k);
}

static bool
say_register(struct door_client *c, struct door_client_own *d, uint32_t site)
{
	const struct door_relay *with = &d->at.relay[site == d->first];
	struct relay_door_note n = {.op = RELAY_DOOR_REGISTER,
				    .request = d->request[site],
				    .n = d->at.n,
				    .realm = d->at.realm,
				    .token = d->at.token};

	if (d->at.label) {
		n.label = d->at.label;
		n.with_ipv4 = with->ipv4;
		n.with_port = with->port;
	}
	if (!door_client_say(c, site, &n))
		return false;
	d->there[site] ^= DOOR_CLIENT_ASK | DOOR_CLIENT_SAID;
	return true;
}

static bool
say_leave(struct door_client *c, struct door_client_own *d, uint32_t site)
{
	struct relay_door_note n = {.op = RELAY_DOOR_LEAVE, .label = d->at.label};

	if (!door_client_say(c, site, &n))
		return false;
	d->there[site] ^= DOOR_CLIENT_LEAVE;
	if (d->state == DOOR_CLIENT_WAITS || d->state == DOOR_CLIENT_ENDS)
		settle_closed(d);
	return true;
}

bool
door_client_serve_own(struct door_client *c, uint32_t own)
{
	struct door_client_own *d = &c->own[own];

	if (d->state == DOOR_CLIENT_WANTED)
		(d->back ? choose_any : choose_first)(c, d);
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++) {
		if (!c->site[k].up)
			continue;
		if (d->there[k] & DOOR_CLIENT_ASK && !say_register(c, d, k))
			return false;
		if (d->there[k] & DOOR_CLIENT_LEAVE && !say_leave(c, d, k))
			return false;
	}
	return true;
}

/* ---- what is heard ---- */

/* That relay will not have it with another one: it stays at the one that gave the label. */
static void
stay_alone(struct door_client *c, struct door_client_own *d, uint32_t site)
{
	uint32_t second = 1u - d->first;

	if (d->state == DOOR_CLIENT_HAVE) /* it came back, and is not the one it was */
		return;
	if (site == d->first && d->there[second] & DOOR_CLIENT_HAS)
		d->there[second] = DOOR_CLIENT_LEAVE;
	d->at.nrelays = 1;
	tell_opened(c, d);
}

/* Where else is it to be?  The one who asked first may be the only one. */
static bool
seek_second(struct door_client *c, struct door_client_own *d)
{
	uint32_t second = 1u - d->first;

	if (!(c->site[second].up || c->site[second].coming) || DOOR_BUG(ONE_RELAY))
		return false;
	ask_there(c, d, second);
	return true;
}

static bool
same_relay(const struct door_relay *a, const struct door_relay *b)
{
	return a->ipv4 == b->ipv4 && a->port == b->port;
}

/* As it was given away, or is to be. */
static bool
is_same_door(const struct door_client_own *d, uint32_t site, const struct door_address *a)
{
	return a->label == d->at.label && a->nrelays == 2 &&
	       same_relay(&a->relay[0], &d->at.relay[0]) &&
	       (d->at.nrelays == 1 ? site != d->first : same_relay(&a->relay[1], &d->at.relay[1]));
}

/* It is not given back there; the other relay of the address may still do so. */
static void
miss_back(struct door_client *c, struct door_client_own *d, uint32_t site, enum door_client_why why)
{
	uint32_t other = 1u - site;

	d->why = (uint8_t)why;
	if (c->site[other].up && d->there[other] & (DOOR_CLIENT_ASK | DOOR_CLIENT_SAID))
		return;
	d->there[other] = 0;
	d->state = DOOR_CLIENT_OVER;
	c->conf.ops->opened(c->conf.user, (uint32_t)(d - c->own));
}

static void
learn_back(struct door_client *c, struct door_client_own *d, uint32_t site,
	   const struct door_address *a)
{
	struct door_address want = d->at;

	if (d->claimed)
		want.cluster = a->cluster;
	if (!door_address_same(a, &want)) {
		(void)door_client_letter(c, site, RELAY_DOOR_LEAVE, a->label, 0);
		d->is_at = a->relay[0];
		miss_back(c, d, site, DOOR_CLIENT_ELSEWHERE);
		return;
	}
	d->there[site] |= DOOR_CLIENT_HAS;
	d->home = (uint8_t)site;
	tell_opened(c, d);
}

/* The address, from a relay that was asked for it. */
static void
learn_address(struct door_client *c, struct door_client_own *d, uint32_t site,
	      const struct door_address *a)
{
	if (d->back) {
		learn_back(c, d, site, a);
	} else if (!d->at.label && a->label == c->conf.not_label) {
		want_anew(c, (uint32_t)(d - c->own));
		(void)door_client_letter(c, site, RELAY_DOOR_LEAVE, a->label, 0);
	} else if (!d->at.label) {
		d->at = *a;
		d->there[site] = DOOR_CLIENT_HAS;
		if (a->nrelays != 1 || !seek_second(c, d))
			tell_opened(c, d);
	} else if (!is_same_door(d, site, a)) {
		(void)door_client_letter(c, site, RELAY_DOOR_LEAVE, a->label, 0);
		stay_alone(c, d, site);
	} else {
		d->at = *a;
		d->there[site] |= DOOR_CLIENT_HAS;
		if (d->state == DOOR_CLIENT_HAVE)
			return;
		if (site != d->first)
			ask_there(c, d, d->first);
		else
			tell_opened(c, d);
	}
}

void
door_client_learn_own(struct door_client *c, uint32_t site, const struct relay_door_note *n)
{
	struct door_client_own *d = own_asked(c, site, n->request);
	struct door_address a;

	if (door_address_decode(n->address.at, n->address.len, &a))
		return;
	bool mine = d && d->at.token == a.token && d->at.realm == a.realm && d->at.n == a.n;
	if (!mine || !(d->there[site] & DOOR_CLIENT_SAID)) {
		if (!mine || !(d->there[site] & (DOOR_CLIENT_HAS | DOOR_CLIENT_LEAVE)) ||
		    a.label != d->at.label) /* else it came twice */
			(void)door_client_letter(c, site, RELAY_DOOR_LEAVE, a.label, 0);
		return;
	}
	d->there[site] &= (uint8_t)~DOOR_CLIENT_SAID;
	if (d->state != DOOR_CLIENT_WAITS) {
		learn_address(c, d, site, &a);
		return;
	}
	settle_closed(d);
	(void)door_client_letter(c, site, RELAY_DOOR_LEAVE, a.label, 0);
}

void
door_client_refused_own(struct door_client *c, uint32_t site, const struct relay_door_note *n)
{
	struct door_client_own *d = own_asked(c, site, n->request);
	enum door_client_why why =
		n->label == RELAY_DOOR_TAKEN ? DOOR_CLIENT_TAKEN : DOOR_CLIENT_FULL;

	if (!d || !(d->there[site] & DOOR_CLIENT_SAID))
		return;
	d->there[site] &= (uint8_t)~DOOR_CLIENT_SAID;
	if (d->state == DOOR_CLIENT_WAITS) {
		settle_closed(d);
	} else if (d->back) {
		miss_back(c, d, site, why);
	} else if (d->at.label) {
		stay_alone(c, d, site);
	} else {
		d->state = DOOR_CLIENT_OVER;
		d->why = DOOR_CLIENT_FULL;
		c->conf.ops->opened(c->conf.user, (uint32_t)(d - c->own));
	}
}

void
door_client_hurry(struct door_client *c)
{
	for (uint32_t i = 0; i < c->owns; i++) {
		struct door_client_own *d = &c->own[i];
		uint32_t second = 1u - d->first;
		if (d->state != DOOR_CLIENT_ASKED || d->at.nrelays != 1 ||
		    d->there[second] != DOOR_CLIENT_ASK || c->site[second].up)
			continue;
		d->there[second] = 0;
		tell_opened(c, d);
	}
}

/* ---- a relay is gone ---- */

static void
lose_own(struct door_client *c, struct door_client_own *d, bool again)
{
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++) {
		if (d->there[k] & DOOR_CLIENT_HAS)
			(void)door_client_letter(c, k, RELAY_DOOR_LEAVE, d->at.label, 0);
		d->there[k] = 0;
	}
	if (again)
		want_anew(c, (uint32_t)(d - c->own));
	else
		d->state = DOOR_CLIENT_OVER;
}

/* It had that address, and no relay has it now. */
static void
seek_back(struct door_client *c, struct door_client_own *d, uint32_t site)
{
	uint32_t other = 1u - site;

	if (d->at.nrelays == 1 || !c->site[other].up) {
		want_back(c, d);
		return;
	}
	d->back = true;
	d->state = DOOR_CLIENT_ASKED;
	ask_there(c, d, site);
	if (!(d->there[other] & (DOOR_CLIENT_ASK | DOOR_CLIENT_SAID)))
		ask_there(c, d, other);
}

void
door_client_down_own(struct door_client *c, uint32_t own, uint32_t site, bool again)
{
	struct door_client_own *d = &c->own[own];
	uint8_t was = d->there[site], other = d->there[1u - site];

	d->there[site] = 0;
	switch ((enum door_client_state)d->state) {
	case DOOR_CLIENT_FREE:
	case DOOR_CLIENT_OVER:
	case DOOR_CLIENT_NAMED:
		break;
	case DOOR_CLIENT_WAITS:
	case DOOR_CLIENT_ENDS:
		settle_closed(d);
		break;
	case DOOR_CLIENT_WANTED:
		d->state = again ? DOOR_CLIENT_WANTED : DOOR_CLIENT_OVER;
		break;
	case DOOR_CLIENT_ASKED:
		if (d->back && again) {
			seek_back(c, d, site);
		} else if (site == d->first || d->back) {
			lose_own(c, d, again);
		} else if (d->at.nrelays == 2) { /* its relay knows of this one by now */
			ask_there(c, d, site);
		} else if (was) {
			tell_opened(c, d);
		}
		break;
	case DOOR_CLIENT_HAVE:
		if (other & DOOR_CLIENT_HAS && d->at.nrelays == 2) {
			d->home = (uint8_t)(1u - site);
			ask_there(c, d, site);
		} else if (was & DOOR_CLIENT_HAS && d->keeps && again && !DOOR_BUG(RENAMED)) {
			seek_back(c, d, site);
		} else if (was & DOOR_CLIENT_HAS) {
			lose_own(c, d, again);
		}
	}
}

const char *
door_client_check_own(const struct door_client *c, uint32_t own)
{
	const struct door_client_own *d = &c->own[own];

	if (d->state > DOOR_CLIENT_ENDS || d->first >= DOOR_CLIENT_SITES ||
	    d->home >= DOOR_CLIENT_SITES)
		return "an own door is in a state that there is";
	if (d->state == DOOR_CLIENT_WANTED && own_asked(c, 0, d->request[0]) != d)
		return "an own door is found by its request";
	for (uint32_t k = 0; k < DOOR_CLIENT_SITES; k++) {
		if (d->there[k] && d->there[k] != DOOR_CLIENT_ASK && !c->site[k].up)
			return "no door is at a relay that is not up";
		if (d->there[k] & (DOOR_CLIENT_ASK | DOOR_CLIENT_SAID) &&
		    own_asked(c, k, d->request[k]) != d)
			return "an own door is found by its request";
	}
	if (d->state == DOOR_CLIENT_HAVE && !(d->there[d->home] & DOOR_CLIENT_HAS))
		return "a door is where its imports are";
	return !c->up && d->state > DOOR_CLIENT_WANTED && d->state != DOOR_CLIENT_OVER
		       ? "no door is at a relay that is not up"
		       : NULL;
}
