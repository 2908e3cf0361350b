/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process says to the relay that carries its doors, and what it makes of the answers. */
#include "cmocka_all.h"

#include "door/client.h"

#include <stdio.h>
#include <string.h>

#define REALM 0x1111222233334444u
#define OWNS  8u
#define IMPS  8u
#define RELAY                    \
	{                        \
		0xc0000201, 7812 \
	}
#define OTHER                    \
	{                        \
		0xc0000202, 7812 \
	}
#define LABEL0 64u

struct told {
	enum { OPENED, REACHED, LOST, LEFT } what;
	uint32_t which;
	enum door_client_lost why;
};

struct bench {
	struct door_client c;
	struct door_client_own own[OWNS];
	struct door_client_import import[IMPS];
	struct relay_door_note said[600];
	uint32_t nsaid, room, wakes, ntold;
	uint8_t address[DOOR_ADDRESS_MAX]; /* of what was said last */
	struct told told[64];
	char words[RELAY_WHY_MAX]; /* of who was lost last */
	bool drop_lost;
	uint32_t site;	  /* who speaks */
	uint32_t at[600]; /* where it was said */
};

static bool
say(void *user, uint32_t site, const void *note, size_t len)
{
	struct bench *b = user;
	struct relay_door_note n;
	assert_true(b->c.site[site].up);
	if (!b->room)
		return false;
	b->room--;
	assert_int_equal(relay_door_decode(note, len, &n), 0);
	memcpy(b->address, n.address.at ? n.address.at : b->address, n.address.len);
	n.address.at = b->address;
	b->at[b->nsaid] = site;
	b->said[b->nsaid++] = n;
	return true;
}

static void
wake(void *user)
{
	((struct bench *)user)->wakes++;
}

static void
tell(struct bench *b, struct told t)
{
	assert_true(b->ntold < 64);
	b->told[b->ntold++] = t;
}

static void
opened(void *user, uint32_t own)
{
	tell(user, (struct told){.what = OPENED, .which = own});
}

static void
reached(void *user, uint32_t import)
{
	tell(user, (struct told){.what = REACHED, .which = import});
}

static void
lost(void *user, uint32_t import, enum door_client_lost why)
{
	struct bench *b = user;
	snprintf(b->words, sizeof b->words, "%s", b->c.words);
	tell(b, (struct told){LOST, import, why});
	if (b->drop_lost)
		door_client_drop(&b->c, import);
}

static void
left(void *user, uint32_t site, uint32_t label)
{
	(void)site;
	tell(user, (struct told){.what = LEFT, .which = label});
}

static const struct door_client_ops bench_ops = {
	.say = say, .wake = wake, .opened = opened, .reached = reached, .lost = lost, .left = left};

static struct bench *
make_bench(bool up)
{
	static struct bench b;
	struct door_client_conf conf = {.secret = "sixteen letters", .ops = &bench_ops, .user = &b};
	memset(&b, 0, sizeof b);
	b.room = UINT32_MAX;
	door_client_init(&b.c, &conf, b.own, OWNS, b.import, IMPS);
	if (up)
		door_client_up(&b.c, 0);
	return &b;
}

static void
hear(struct bench *b, const struct relay_door_note *n)
{
	uint8_t buf[RELAY_DOOR_NOTE_MAX];
	door_client_note(&b->c, b->site, buf, relay_door_encode(n, buf));
	assert_null(door_client_check(&b->c));
}

static void
hear_of(struct bench *b, uint8_t op, uint32_t request, uint32_t label)
{
	hear(b, &(struct relay_door_note){.op = op, .request = request, .label = label, .n = 1});
}

/* Returns the one that was said last, of which it is the only one since n. */
static const struct relay_door_note *
turn_once(struct bench *b, uint8_t op)
{
	uint32_t before = b->nsaid;
	assert_true(door_client_turn(&b->c));
	assert_null(door_client_check(&b->c));
	assert_int_equal(b->nsaid, before + 1);
	assert_int_equal(b->said[before].op, op);
	return &b->said[before];
}

static void
turn_silent(struct bench *b)
{
	uint32_t before = b->nsaid;
	assert_true(door_client_turn(&b->c));
	assert_int_equal(b->nsaid, before);
}

static struct told
told_once(struct bench *b)
{
	assert_int_equal(b->ntold, 1);
	b->ntold = 0;
	return b->told[0];
}

/* The relay's answer to a REGISTER: of one that knows of doors at two, if relays is 2. */
static void
give_relays(struct bench *b, const struct relay_door_note *asked, uint32_t label, uint8_t relays)
{
	uint8_t bytes[DOOR_ADDRESS_MAX];
	struct door_address a = {.realm = asked->realm,
				 .token = asked->token,
				 .label = label,
				 .n = asked->n,
				 .nrelays = relays,
				 .relay = {RELAY}};
	if (relays == 2)
		a.relay[1] = (struct door_relay)OTHER;
	hear(b, &(struct relay_door_note){
			.op = RELAY_DOOR_ADDRESS,
			.request = asked->request,
			.label = label,
			.address = {bytes, (uint8_t)door_address_encode(&a, bytes)}});
}

static void
give_address(struct bench *b, const struct relay_door_note *asked, uint32_t label)
{
	give_relays(b, asked, label, 1);
}

static uint32_t
open_one(struct bench *b)
{
	uint32_t own = door_client_open(&b->c, 0, 1, REALM, 7);
	give_address(b, turn_once(b, RELAY_DOOR_REGISTER), LABEL0 + own);
	assert_int_equal(told_once(b).what, OPENED);
	assert_int_equal(b->own[own].state, DOOR_CLIENT_HAVE);
	return own;
}

static struct door_address
far_address(uint32_t label)
{
	return (struct door_address){.realm = REALM,
				     .token = 99,
				     .label = label,
				     .n = 1,
				     .nrelays = 1,
				     .relay = {{0xc0000202, 7812}}};
}

static uint32_t
import_one(struct bench *b, uint32_t own, uint32_t label)
{
	struct door_address far = far_address(label + 1000);
	uint32_t i = door_client_import(&b->c, &far, own, 3);
	hear_of(b, RELAY_DOOR_IMPORTED, turn_once(b, RELAY_DOOR_IMPORT)->request, label);
	assert_int_equal(told_once(b).what, REACHED);
	assert_int_equal(b->import[i].label, label);
	return i;
}

static void
a_door_is_registered_and_left(void **state)
{
	(void)state;
	struct bench *b = make_bench(false);
	uint32_t own = door_client_open(&b->c, 0, 4, REALM, 7);
	assert_true(door_client_wants(&b->c, 0) && b->wakes == 1);
	turn_silent(b); /* nobody to say it to */
	door_client_up(&b->c, 0);
	const struct relay_door_note *n = turn_once(b, RELAY_DOOR_REGISTER);
	assert_true(n->n == 4 && n->realm == REALM && n->token != 0);
	turn_silent(b);
	give_address(b, n, LABEL0);
	assert_int_equal(told_once(b).which, own);
	give_address(b, n, LABEL0); /* twice */
	assert_int_equal(b->ntold, 0);
	assert_int_equal(door_client_mine(&b->c, LABEL0 + 3), own);
	assert_int_equal(door_client_mine(&b->c, LABEL0 + 4), DOOR_CLIENT_NONE);
	door_client_close(&b->c, own);
	assert_int_equal(turn_once(b, RELAY_DOOR_LEAVE)->label, LABEL0);
	assert_int_equal(b->own[own].state, DOOR_CLIENT_FREE);
}

/* What is closed before its address came is left when it comes; its place is not taken before. */
static void
a_door_is_closed_before_it_is_known(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	uint32_t own = door_client_open(&b->c, 0, 1, REALM, 7);
	struct relay_door_note asked = *turn_once(b, RELAY_DOOR_REGISTER);
	door_client_close(&b->c, own);
	assert_int_equal(door_client_open(&b->c, 0, 1, REALM, 8), own + 1);
	give_address(b, &asked, LABEL0);
	assert_int_equal(b->said[b->nsaid - 1].op, RELAY_DOOR_LEAVE);
	assert_int_equal(b->said[b->nsaid - 1].label, LABEL0);
	assert_int_equal(b->ntold, 0);
	assert_int_equal(b->own[own].state, DOOR_CLIENT_FREE);
	struct relay_door_note other = *turn_once(b, RELAY_DOOR_REGISTER);
	assert_true(other.request != asked.request && other.token != asked.token);
	hear_of(b, RELAY_DOOR_REFUSED, other.request, 0);
	assert_int_equal(told_once(b).which, own + 1);
	assert_int_equal(b->own[own + 1].state, DOOR_CLIENT_OVER);
}

static void
a_label_of_others_is_not_taken(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	b->c.conf.not_label = LABEL0;
	uint32_t own = door_client_open(&b->c, 0, 1, REALM, 7);
	struct relay_door_note asked = *turn_once(b, RELAY_DOOR_REGISTER);
	give_address(b, &asked, LABEL0);
	assert_int_equal(b->ntold, 0);
	assert_int_equal(b->said[b->nsaid - 1].op, RELAY_DOOR_LEAVE);
	const struct relay_door_note *again = turn_once(b, RELAY_DOOR_REGISTER);
	assert_true(again->token != asked.token && again->request != asked.request);
	give_address(b, again, LABEL0 + 1);
	assert_int_equal(told_once(b).which, own);
}

static void
an_import_waits_for_its_door(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	struct door_address far = far_address(5);
	uint32_t own = door_client_open(&b->c, 0, 1, REALM, 7);
	uint32_t i = door_client_import(&b->c, &far, own, 3);
	bool more;
	give_address(b, turn_once(b, RELAY_DOOR_REGISTER), LABEL0);
	(void)told_once(b);
	assert_int_equal(door_client_called(&b->c, 0, own, 9, &more), DOOR_CLIENT_NONE);
	assert_true(more);
	const struct relay_door_note *n = turn_once(b, RELAY_DOOR_IMPORT);
	assert_int_equal(n->label, LABEL0);
	hear_of(b, RELAY_DOOR_IMPORTED, n->request, 9);
	assert_int_equal(told_once(b).what, REACHED);
	hear_of(b, RELAY_DOOR_IMPORTED, n->request, 9); /* twice */
	assert_int_equal(b->ntold, 0);
	assert_int_equal(door_client_called(&b->c, 0, own, 9, &more), i);
	assert_int_equal(door_client_called(&b->c, 0, own + 1, 9, &more), DOOR_CLIENT_NONE);
	door_client_drop(&b->c, i);
	n = turn_once(b, RELAY_DOOR_DROP);
	assert_true(n->label == 9 && n->request != 0);
	assert_int_equal(b->import[i].state, DOOR_CLIENT_FREE);
}

static void
what_is_dropped_unanswered_is_given_back(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	struct door_address far = far_address(5);
	uint32_t own = open_one(b), i = door_client_import(&b->c, &far, own, 3);
	uint32_t request = turn_once(b, RELAY_DOOR_IMPORT)->request;
	door_client_drop(&b->c, i);
	turn_silent(b);
	assert_int_equal(door_client_import(&b->c, &far, own, 3), i + 1); /* another place */
	door_client_drop(&b->c, i + 1);					  /* never asked for */
	turn_silent(b);
	hear_of(b, RELAY_DOOR_IMPORTED, request, 9);
	const struct relay_door_note *n = turn_once(b, RELAY_DOOR_DROP);
	assert_true(n->label == 9 && n->request == request);
	assert_int_equal(b->ntold, 0);
	/* A refusal needs no word. */
	i = door_client_import(&b->c, &far, own, 3);
	request = turn_once(b, RELAY_DOOR_IMPORT)->request;
	door_client_drop(&b->c, i);
	hear_of(b, RELAY_DOOR_REFUSED, request, 0);
	turn_silent(b);
	assert_int_equal(b->import[i].state, DOOR_CLIENT_FREE);
	/* What nobody asked for is given back at once. */
	hear_of(b, RELAY_DOOR_IMPORTED, request, 11);
	assert_int_equal(b->said[b->nsaid - 1].op, RELAY_DOOR_DROP);
	assert_int_equal(b->said[b->nsaid - 1].label, 11);
}

static void
ends_are_told_once(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	uint32_t own = open_one(b), i = import_one(b, own, 9), k = import_one(b, own, 10);
	hear_of(b, RELAY_DOOR_GONE, b->import[i].request, 10); /* another label: not it */
	assert_int_equal(b->ntold, 0);
	struct relay_door_note n = {
		.op = RELAY_DOOR_GONE, .request = b->import[i].request, .label = 9};
	n.text = (struct relay_door_bytes){(const uint8_t *)"by\nhand", 7};
	hear(b, &n);
	struct told t = told_once(b);
	assert_true(t.what == LOST && t.which == i && t.why == DOOR_CLIENT_GONE);
	assert_string_equal(b->words, "by?hand");
	assert_false(b->c.ended);
	assert_string_equal(b->c.words, ""); /* nobody else's */
	hear_of(b, RELAY_DOOR_GONE, b->import[i].request, 9);
	assert_int_equal(b->ntold, 0);
	door_client_drop(&b->c, i);
	turn_silent(b); /* the relay knows */
	hear_of(b, RELAY_DOOR_GONE, 0, 77);
	t = told_once(b);
	assert_true(t.what == LEFT && t.which == 77);
	/* Gone while the DROP is still to be said. */
	door_client_drop(&b->c, k);
	hear_of(b, RELAY_DOOR_GONE, b->import[k].request, 10);
	turn_silent(b);
	assert_int_equal(b->ntold, 0);
}

static void
reached_anew_is_lost_first(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	uint32_t own = open_one(b), i = import_one(b, own, 9), request = b->import[i].request;
	hear(b,
	     &(struct relay_door_note){
		     .op = RELAY_DOOR_IMPORTED, .request = request, .label = 9, .n = 1, .turn = 1});
	assert_int_equal(b->ntold, 2);
	assert_true(b->told[0].what == LOST && b->told[0].why == DOOR_CLIENT_RESET);
	assert_true(b->told[1].what == REACHED);
	b->ntold = 0;
	b->drop_lost = true; /* who cannot go on drops it */
	hear(b,
	     &(struct relay_door_note){
		     .op = RELAY_DOOR_IMPORTED, .request = request, .label = 9, .n = 1, .turn = 2});
	assert_int_equal(told_once(b).what, LOST);
	assert_int_equal(turn_once(b, RELAY_DOOR_DROP)->request, request);
}

/* A label before the answer: it may be used, and may be refused. */
static void
a_name_comes_before_the_answer(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	struct door_address far = far_address(5);
	uint32_t own = open_one(b), i = door_client_import(&b->c, &far, own, 3);
	bool more;
	for (uint32_t turn = 0; turn < 2; turn++) {
		uint32_t request = turn_once(b, RELAY_DOOR_IMPORT)->request;
		hear_of(b, RELAY_DOOR_NAMED, request, 9);
		assert_int_equal(told_once(b).what, REACHED);
		assert_true(door_client_reaches(&b->import[i]));
		assert_int_equal(door_client_called(&b->c, 0, own, 9, &more), i);
		hear_of(b, RELAY_DOOR_NAMED, request, 9); /* twice */
		assert_int_equal(b->ntold, 0);
		if (turn) {
			hear_of(b, RELAY_DOOR_REFUSED, request, 0);
			assert_int_equal(told_once(b).why, DOOR_CLIENT_REFUSED);
			break;
		}
		hear_of(b, RELAY_DOOR_IMPORTED, request, 9);
		assert_int_equal(told_once(b).what, REACHED);
		assert_int_equal(b->import[i].state, DOOR_CLIENT_HAVE);
		door_client_drop(&b->c, i);
		(void)turn_once(b, RELAY_DOOR_DROP);
		assert_int_equal(door_client_import(&b->c, &far, own, 3), i);
	}
	door_client_drop(&b->c, i);
	/* Dropped while it has but a name: given back with the answer. */
	i = door_client_import(&b->c, &far, own, 3);
	uint32_t request = turn_once(b, RELAY_DOOR_IMPORT)->request;
	hear_of(b, RELAY_DOOR_NAMED, request, 9);
	(void)told_once(b);
	door_client_drop(&b->c, i);
	turn_silent(b);
	hear_of(b, RELAY_DOOR_IMPORTED, request, 9);
	(void)turn_once(b, RELAY_DOOR_DROP);
	assert_int_equal(b->ntold, 0);
	/* The way there broke meanwhile: what was said may be lost. */
	i = door_client_import(&b->c, &far, own, 3);
	request = turn_once(b, RELAY_DOOR_IMPORT)->request;
	hear_of(b, RELAY_DOOR_NAMED, request, 9);
	(void)told_once(b);
	hear(b,
	     &(struct relay_door_note){
		     .op = RELAY_DOOR_IMPORTED, .request = request, .label = 9, .n = 1, .turn = 1});
	assert_int_equal(b->ntold, 2);
	assert_true(b->told[0].why == DOOR_CLIENT_RESET && b->told[1].what == REACHED);
	assert_int_equal(b->import[i].state, DOOR_CLIENT_HAVE);
}

/* A relay that comes back is asked for all that is still wanted, by other tokens. */
static void
the_relay_goes_and_comes(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	uint32_t own = open_one(b), i = import_one(b, own, 9);
	struct door_address far = far_address(5);
	uint64_t token = b->own[own].at.token;
	uint32_t k = door_client_import(&b->c, &far, own, 4);
	(void)turn_once(b, RELAY_DOOR_IMPORT);
	door_client_down(&b->c, 0, true, 1000);
	assert_null(door_client_check(&b->c));
	struct told t = told_once(b);
	assert_true(t.which == i && t.why == DOOR_CLIENT_RELAY);
	assert_true(b->c.site[0].retry_ns > 1000 && door_client_wants(&b->c, 0));
	assert_false(door_client_hold(&b->c, 0, 3));
	uint64_t gap = b->c.site[0].retry_ns - 1000;
	door_client_down(&b->c, 0, true, 1000);
	assert_int_equal(b->c.site[0].retry_ns - 1000, 2 * gap);
	door_client_up(&b->c, 0);
	const struct relay_door_note *n = turn_once(b, RELAY_DOOR_REGISTER);
	assert_true(n->token != token);
	give_address(b, n, LABEL0);
	(void)told_once(b);
	(void)turn_once(b, RELAY_DOOR_IMPORT);
	assert_int_equal(b->import[k].state, DOOR_CLIENT_ASKED);
	/* For good. */
	door_client_down(&b->c, 0, false, 1000);
	assert_null(door_client_check(&b->c));
	assert_int_equal(told_once(b).which, k);
	assert_false(door_client_wants(&b->c, 0));
	assert_int_equal(b->own[own].state, DOOR_CLIENT_OVER);
}

/* ---- two relays ---- */

static void
give_both(struct bench *b, const struct relay_door_note *asked, uint32_t label)
{
	give_relays(b, asked, label, 2);
}

static const struct relay_door_note *
turn_at(struct bench *b, uint32_t site, uint8_t op)
{
	const struct relay_door_note *n = turn_once(b, op);
	assert_int_equal(b->at[b->nsaid - 1], site);
	b->site = site;
	return n;
}

static struct bench *
make_two(void)
{
	struct bench *b = make_bench(true);
	door_client_up(&b->c, 1);
	return b;
}

/* Up to the question to the second relay. */
static uint32_t
open_first(struct bench *b)
{
	uint32_t own = door_client_open(&b->c, 0, 1, REALM, 7);
	const struct relay_door_note *n = turn_at(b, 0, RELAY_DOOR_REGISTER);
	assert_true(n->label == 0 && n->with_ipv4 == 0);
	give_address(b, n, LABEL0);
	assert_int_equal(b->ntold, 0); /* it may get another address */
	return own;
}

static uint32_t
open_both(struct bench *b)
{
	static const struct door_relay first = RELAY, second = OTHER;
	uint32_t own = open_first(b);
	const struct relay_door_note *n = turn_at(b, 1, RELAY_DOOR_REGISTER);
	assert_true(n->label == LABEL0 && n->with_ipv4 == first.ipv4 && n->with_port == first.port);
	give_both(b, n, LABEL0);
	n = turn_at(b, 0, RELAY_DOOR_REGISTER);
	assert_true(n->label == LABEL0 && n->with_ipv4 == second.ipv4);
	give_both(b, n, LABEL0);
	assert_int_equal(told_once(b).what, OPENED);
	assert_int_equal(b->own[own].at.nrelays, 2);
	return own;
}

static void
a_door_is_at_two_relays(void **state)
{
	(void)state;
	struct bench *b = make_two();
	uint32_t own = open_both(b), before = b->nsaid;
	door_client_close(&b->c, own);
	assert_true(door_client_turn(&b->c));
	assert_int_equal(b->nsaid, before + 2);
	for (uint32_t k = 0; k < 2; k++) {
		assert_int_equal(b->said[before + k].op, RELAY_DOOR_LEAVE);
		assert_int_equal(b->said[before + k].label, LABEL0);
		assert_int_equal(b->at[before + k], k);
	}
	assert_int_equal(b->own[own].state, DOOR_CLIENT_FREE);
}

/* A relay of before gives a label of its own for every REGISTER that it does not know. */
static void
an_old_relay_leaves_it_at_one(void **state)
{
	(void)state;
	struct bench *b = make_two();
	uint32_t own = open_first(b);
	give_address(b, turn_at(b, 1, RELAY_DOOR_REGISTER), LABEL0 + 5);
	assert_int_equal(told_once(b).what, OPENED);
	assert_true(b->own[own].at.nrelays == 1 && b->own[own].at.label == LABEL0);
	assert_int_equal(b->said[b->nsaid - 1].op, RELAY_DOOR_LEAVE);
	assert_true(b->said[b->nsaid - 1].label == LABEL0 + 5 && b->at[b->nsaid - 1] == 1);
	turn_silent(b);
	/* The first one is old. */
	b = make_two();
	own = open_first(b);
	give_both(b, turn_at(b, 1, RELAY_DOOR_REGISTER), LABEL0);
	give_address(b, turn_at(b, 0, RELAY_DOOR_REGISTER), LABEL0 + 6);
	assert_int_equal(told_once(b).what, OPENED);
	assert_true(b->own[own].at.nrelays == 1 && b->own[own].at.label == LABEL0);
	assert_true(b->said[b->nsaid - 1].label == LABEL0 + 6 && b->at[b->nsaid - 1] == 0);
	assert_int_equal(turn_at(b, 1, RELAY_DOOR_LEAVE)->label, LABEL0);
	turn_silent(b);
	/* One that is not of its cluster refuses. */
	b = make_two();
	own = open_first(b);
	hear_of(b, RELAY_DOOR_REFUSED, turn_at(b, 1, RELAY_DOOR_REGISTER)->request, 0);
	assert_int_equal(told_once(b).what, OPENED);
	assert_int_equal(b->own[own].at.nrelays, 1);
}

static void
a_door_outlives_a_relay(void **state)
{
	(void)state;
	struct bench *b = make_two();
	uint32_t own = open_both(b);
	(void)import_one(b, own, 9);
	struct door_address was = b->own[own].at;
	b->ntold = 0;
	door_client_down(&b->c, 0, false, 1000);
	assert_null(door_client_check(&b->c));
	assert_int_equal(told_once(b).why, DOOR_CLIENT_RESET);
	uint32_t request = turn_at(b, 1, RELAY_DOOR_IMPORT)->request;
	hear_of(b, RELAY_DOOR_IMPORTED, request, 70);
	assert_int_equal(told_once(b).what, REACHED);
	/* It comes back: the door is to be there, too, and its imports stay where they are. */
	assert_true(door_client_wants(&b->c, 0));
	door_client_up(&b->c, 0);
	const struct relay_door_note *n = turn_at(b, 0, RELAY_DOOR_REGISTER);
	assert_true(n->label == LABEL0 && n->token == was.token && n->with_ipv4);
	give_both(b, n, LABEL0);
	assert_int_equal(b->ntold, 0);
	assert_memory_equal(&b->own[own].at, &was, sizeof was);
	/* And the other one goes. */
	door_client_down(&b->c, 1, false, 2000);
	assert_int_equal(told_once(b).why, DOOR_CLIENT_RESET);
	(void)turn_at(b, 0, RELAY_DOOR_IMPORT);
	door_client_down(&b->c, 0, false, 3000);
	assert_int_equal(told_once(b).why, DOOR_CLIENT_RELAY);
	assert_int_equal(b->own[own].state, DOOR_CLIENT_OVER);
	assert_null(door_client_check(&b->c));
}

/* A second relay that is coming is waited for, until it does not come, or that takes too long. */
static void
who_comes_is_waited_for(void **state)
{
	(void)state;
	for (uint32_t way = 0; way < 3; way++) {
		struct bench *b = make_bench(true);
		door_client_coming(&b->c, 1);
		uint32_t own = open_first(b);
		turn_silent(b);
		if (way == 0)
			door_client_down(&b->c, 1, true, 1000);
		else if (way == 1)
			door_client_hurry(&b->c);
		else
			door_client_up(&b->c, 1);
		assert_null(door_client_check(&b->c));
		if (way == 2) {
			(void)turn_at(b, 1, RELAY_DOOR_REGISTER);
			continue;
		}
		assert_int_equal(told_once(b).what, OPENED);
		assert_int_equal(b->own[own].at.nrelays, 1);
		turn_silent(b);
	}
}

static void
lose_and_find(struct bench *b, uint32_t site)
{
	door_client_down(&b->c, site, true, 1000);
	assert_null(door_client_check(&b->c));
	door_client_up(&b->c, site);
}

static void
a_kept_address_comes_back(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	uint32_t own = open_one(b), i = import_one(b, own, 9);
	struct door_address was = b->own[own].at;
	door_client_keep(&b->c, own);
	lose_and_find(b, 0);
	assert_int_equal(told_once(b).why, DOOR_CLIENT_RELAY);
	door_client_drop(&b->c, i);
	const struct relay_door_note *n = turn_once(b, RELAY_DOOR_REGISTER);
	assert_true(n->label == LABEL0 && n->token == was.token && !n->with_ipv4);
	/* Its labels are not free yet: its owner asks again, as often as he likes. */
	assert_false(door_client_again(&b->c, own));
	hear_of(b, RELAY_DOOR_REFUSED, n->request, 0);
	assert_int_equal(told_once(b).what, OPENED);
	assert_true(door_client_again(&b->c, own));
	/* And it is lost while it is asked for. */
	(void)turn_once(b, RELAY_DOOR_REGISTER);
	lose_and_find(b, 0);
	n = turn_once(b, RELAY_DOOR_REGISTER);
	assert_int_equal(n->label, LABEL0);
	give_address(b, n, LABEL0);
	assert_int_equal(told_once(b).what, OPENED);
	assert_true(door_address_same(&b->own[own].at, &was));
	/* A relay that gives another one is not believed; its owner opens another door then. */
	lose_and_find(b, 0);
	give_address(b, turn_once(b, RELAY_DOOR_REGISTER), LABEL0 + 40);
	assert_int_equal(b->said[b->nsaid - 1].op, RELAY_DOOR_LEAVE);
	assert_int_equal(told_once(b).what, OPENED);
	door_client_close(&b->c, own);
	assert_int_equal(open_one(b), own);
}

static void
a_kept_address_comes_back_at_two(void **state)
{
	(void)state;
	struct bench *b = make_two();
	uint32_t own = open_both(b);
	struct door_address was = b->own[own].at;
	door_client_keep(&b->c, own);
	door_client_down(&b->c, 0, true, 1000);
	lose_and_find(b, 1);
	const struct relay_door_note *n = turn_at(b, 1, RELAY_DOOR_REGISTER);
	assert_true(n->label == LABEL0 && n->with_ipv4 == was.relay[0].ipv4);
	give_both(b, n, LABEL0);
	assert_int_equal(told_once(b).what, OPENED);
	assert_true(b->own[own].home == 1 && door_address_same(&b->own[own].at, &was));
	door_client_up(&b->c, 0);
	give_both(b, turn_at(b, 0, RELAY_DOOR_REGISTER), LABEL0);
	/* One refuses: the other may still give it. */
	door_client_down(&b->c, 0, true, 2000);
	lose_and_find(b, 1);
	door_client_up(&b->c, 0);
	assert_true(door_client_turn(&b->c));
	const struct relay_door_note *at_0 = &b->said[b->nsaid - 2], *at_1 = at_0 + 1;
	b->site = 0;
	hear_of(b, RELAY_DOOR_REFUSED, at_0->request, 0);
	assert_int_equal(b->ntold, 0);
	b->site = 1;
	give_both(b, at_1, LABEL0);
	assert_int_equal(told_once(b).what, OPENED);
	assert_int_equal(b->own[own].state, DOOR_CLIENT_HAVE);
}

/* Words keep their order; none is lost but those beyond the bound, of which is said so. */
static void
words_wait_for_room(void **state)
{
	(void)state;
	struct bench *b = make_bench(true);
	uint32_t own = open_one(b), before = b->nsaid;
	b->room = 0;
	for (uint32_t i = 0; i < DOOR_CLIENT_LETTERS; i++)
		assert_true(door_client_hold(&b->c, 0, i));
	assert_false(door_client_hold(&b->c, 0, 999));
	assert_false(door_client_unhold(&b->c, 0, 999));
	door_client_close(&b->c, own);
	assert_false(door_client_turn(&b->c));
	b->room = 100;
	assert_false(door_client_turn(&b->c));
	b->room = UINT32_MAX;
	assert_true(door_client_turn(&b->c));
	assert_int_equal(b->nsaid, before + DOOR_CLIENT_LETTERS + 1);
	for (uint32_t i = 0; i < DOOR_CLIENT_LETTERS; i++)
		assert_int_equal(b->said[before + i].label, i);
	assert_int_equal(b->said[b->nsaid - 1].op, RELAY_DOOR_LEAVE);
}

static void
tables_are_bounds(void **state)
{
	(void)state;
	static struct door_client_import more[2 * IMPS];
	struct bench *b = make_bench(true);
	struct door_address far = far_address(5);
	for (uint32_t i = 0; i < OWNS; i++)
		assert_int_equal(door_client_open(&b->c, 0, 1, REALM, i), i);
	assert_int_equal(door_client_open(&b->c, 0, 1, REALM, 0), DOOR_CLIENT_NONE);
	for (uint32_t i = 0; i < IMPS; i++)
		assert_int_equal(door_client_import(&b->c, &far, 0, i), i);
	assert_int_equal(door_client_import(&b->c, &far, 0, 0), DOOR_CLIENT_NONE);
	memcpy(more, b->import, sizeof b->import);
	door_client_grow(&b->c, more, 2 * IMPS);
	assert_int_equal(door_client_import(&b->c, &far, 0, 0), IMPS);
	assert_null(door_client_check(&b->c));
}

static void
relays_are_told_from_others(void **state)
{
	(void)state;
	uint8_t hello[RELAY_HELLO_LEN];
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY, .rank = RELAY_RANK_NONE, .mtu = 1400};
	uint32_t mtu = 0;
	relay_hello_encode(&h, hello);
	assert_true(door_client_is_relay(hello, sizeof hello, &mtu));
	assert_int_equal(mtu, 1400);
	assert_false(door_client_is_relay(hello, sizeof hello - 1, &mtu));
	assert_true(door_client_mss(9000, 1400) < 1400);
	assert_int_equal(door_client_mss(1000, 1400), 1000);
	assert_int_equal(door_client_mss(1000, 0), 1000);
	door_client_hello(hello);
	assert_int_equal(relay_hello_decode(hello, sizeof hello, &h), 0);
	assert_int_equal(h.kind, RELAY_HELLO_DOOR);
	assert_false(door_client_is_relay(hello, sizeof hello, &mtu));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_door_is_registered_and_left),
		cmocka_unit_test(a_door_is_closed_before_it_is_known),
		cmocka_unit_test(a_label_of_others_is_not_taken),
		cmocka_unit_test(an_import_waits_for_its_door),
		cmocka_unit_test(what_is_dropped_unanswered_is_given_back),
		cmocka_unit_test(ends_are_told_once),
		cmocka_unit_test(reached_anew_is_lost_first),
		cmocka_unit_test(a_name_comes_before_the_answer),
		cmocka_unit_test(the_relay_goes_and_comes),
		cmocka_unit_test(a_door_is_at_two_relays),
		cmocka_unit_test(an_old_relay_leaves_it_at_one),
		cmocka_unit_test(a_door_outlives_a_relay),
		cmocka_unit_test(who_comes_is_waited_for),
		cmocka_unit_test(a_kept_address_comes_back),
		cmocka_unit_test(a_kept_address_comes_back_at_two),
		cmocka_unit_test(words_wait_for_room),
		cmocka_unit_test(tables_are_bounds),
		cmocka_unit_test(relays_are_told_from_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
