/* SPDX-License-Identifier: BSD-2-Clause */
/* A door of another cluster that goes by another of its relays than before, and who was called by
 * it: he hears GONE before anything comes by the new one, also if his HOLD was under way.  Who
 * spoke to it before it was granted.  And answers that come twice, or after what they are about. */
#include "relay_core_kit.h"

#include "door/address.h"
#include "relayproto/door.h"

#define REALM 7u
#define TOKEN 11u
#define AWAY  77u  /* what the door that calls is at home */
#define ASKED 500u /* what its relays call ours: and 100 more at the second */

struct world {
	struct relay *r;
	uint32_t proc, trunk[2];
	struct door_address door; /* of the process */
	uint32_t caller;	  /* what the door that calls is called here */
};

static void
hear(struct world *w, uint32_t path, const struct relay_door_note *n)
{
	uint8_t buf[RELAY_DOOR_NOTE_MAX];
	relay_ops()->note(w->r->c, path, buf, relay_door_encode(n, buf), w->r->ep.now);
	check(w->r);
}

static void
pass_ms(struct world *w, uint32_t ms)
{
	w->r->ep.now += ms * BASE_MS_NS;
	relay_core_tick(w->r->c, w->r->ep.now);
	check(w->r);
}

/* How many notes of that kind were said there since it was asked last; *last: the last of them. */
static uint32_t
said(struct world *w, uint32_t path, uint8_t op, struct relay_door_note *last)
{
	struct fake_path *f = &w->r->ep.path[path];
	uint32_t count = 0;
	for (uint32_t i = 0; i < f->nnotes; i++) {
		struct relay_door_note n;
		if (relay_door_decode(f->note[i], f->note_len[i], &n) || n.op != op)
			continue;
		*last = n;
		count++;
	}
	f->nnotes = 0;
	return count;
}

static void
register_door(struct world *w)
{
	struct relay_door_note n = {
		.op = RELAY_DOOR_REGISTER, .request = 1, .n = 1, .realm = REALM, .token = TOKEN};
	struct relay_door_note answer = {0};
	hear(w, w->proc, &n);
	assert_int_equal(said(w, w->proc, RELAY_DOOR_ADDRESS, &answer), 1);
	assert_int_equal(door_address_decode(answer.address.at, answer.address.len, &w->door), 0);
}

/* Relay k of the other cluster asks for the door, with one of its own. */
static void
ask(struct world *w, uint32_t k)
{
	uint8_t at[DOOR_ADDRESS_MAX], own[DOOR_ADDRESS_MAX];
	struct door_address a = {.realm = REALM, .token = 5, .label = AWAY, .n = 1, .nrelays = 2};
	struct relay_door_note answer = {0};
	for (uint32_t m = 0; m < 2; m++)
		a.relay[m] = (struct door_relay){maker_relay_ip(1, m), 7000};
	struct relay_door_note n = {.op = RELAY_DOOR_ASK,
				    .request = 3,
				    .label = ASKED + 100 * k,
				    .address = {at, (uint8_t)door_address_encode(&w->door, at)},
				    .own = {own, (uint8_t)door_address_encode(&a, own)}};
	w->r->ep.note_number++;
	hear(w, w->trunk[k], &n);
	assert_int_equal(said(w, w->trunk[k], RELAY_DOOR_ANSWER, &answer), 1);
	assert_true(answer.ok);
	w->caller = answer.called;
}

/* A process with a door. */
static struct world
make_process(void)
{
	struct relay_core_conf conf = relay_conf_of_two(RELAY_POLICY_DEST, 4, BASE_S_NS);
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	conf.limits.doors_max = RELAY_LABEL_PAGE;
	conf.limits.holds_max = 16;
	struct world w = {.r = relay_new_conf(&conf)};
	struct suci_addr from = maker_proc_addr(0);
	pass_ms(&w, 1);
	struct relay_hello h = {.kind = RELAY_HELLO_DOOR, .rank = RELAY_RANK_NONE};
	relay_hello_encode(&h, hello);
	w.proc = fake_incoming(&w.r->ep, &from, hello, sizeof hello, why);
	assert_int_not_equal(w.proc, UINT32_MAX);
	register_door(&w);
	return w;
}

/* And a door of another cluster that may call it, by relay 0 there. */
static struct world
make_world(void)
{
	struct world w = make_process();
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	struct suci_addr from = maker_relay_addr(1, 0);
	struct relay_hello h = {.kind = RELAY_HELLO_RELAY,
				.rank = RELAY_RANK_NONE,
				.label = w.door.label,
				.token = relay_hello_token(TOKEN, w.door.label)};
	relay_hello_encode(&h, hello);
	w.trunk[0] = fake_incoming(&w.r->ep, &from, hello, sizeof hello, why);
	assert_int_not_equal(w.trunk[0], UINT32_MAX);
	ask(&w, 0);
	pass_ms(&w, 1);
	w.trunk[1] = connect_trunk(w.r, 1, 1);
	return w;
}

/* A question comes by relay k there; is it given to the process? */
static bool
call(struct world *w, uint32_t k)
{
	const struct fake_path *f = &w->r->ep.path[w->proc];
	struct suci_segment s = make_segment(w->r, 0, ASKED + 100 * k, AWAY, SUCI_SF_FIRST);
	uint32_t before = f->nsent;
	enum suci_verdict v = feed(w->r, w->trunk[k], &s);
	assert_int_equal(f->nsent, before + (v == SUCI_TAKEN));
	if (v != SUCI_TAKEN)
		return false;
	assert_int_equal(f->sent[before].dst_label, w->door.label);
	assert_int_equal(f->sent[before].src_label, w->caller);
	return true;
}

static void
say_hold(struct world *w, uint8_t op)
{
	struct relay_door_note n = {.op = op, .label = w->caller};
	hear(w, w->proc, &n);
	pass_ms(w, 1);
}

static uint32_t
heard_gone(struct world *w)
{
	struct relay_door_note n = {0};
	uint32_t count = said(w, w->proc, RELAY_DOOR_GONE, &n);
	if (count) {
		assert_int_equal(n.label, w->caller);
		assert_int_equal(n.request, 0);
	}
	return count;
}

/* It moves with nobody called: nobody is told.  Who held it is told at once. */
static void
holder_is_told(void **state)
{
	(void)state;
	struct world w = make_world();
	assert_true(call(&w, 0));
	say_hold(&w, RELAY_DOOR_HOLD);
	assert_int_equal(heard_gone(&w), 0);
	ask(&w, 1);
	pass_ms(&w, 1);
	assert_int_equal(relay_core_counters(w.r->c)->door_moved, 1);
	assert_int_equal(heard_gone(&w), 1);
	/* The old way is closed; by the new one he is called anew, and holds it already. */
	assert_false(call(&w, 0));
	assert_int_equal(relay_core_counters(w.r->c)->drop_door_way, 1);
	assert_true(call(&w, 1));
	say_hold(&w, RELAY_DOOR_HOLD);
	assert_int_equal(heard_gone(&w), 0);
	relay_free(w.r);
}

/* What he says has crossed the move: that is his answer. */
static void
late_hold_is_answered(void **state)
{
	(void)state;
	struct world w = make_world();
	assert_true(call(&w, 0));
	ask(&w, 1);
	pass_ms(&w, 1);
	assert_int_equal(heard_gone(&w), 0);
	say_hold(&w, RELAY_DOOR_HOLD);
	assert_int_equal(heard_gone(&w), 1);
	assert_true(call(&w, 1));
	say_hold(&w, RELAY_DOOR_HOLD);
	assert_int_equal(heard_gone(&w), 0);
	relay_free(w.r);
}

/* The new way is faster than what he says: he hears GONE before what comes by it, and once. */
static void
told_before_he_is_called(void **state)
{
	(void)state;
	struct world w = make_world();
	assert_true(call(&w, 0));
	ask(&w, 1);
	assert_true(call(&w, 1));
	assert_int_equal(heard_gone(&w), 1);
	say_hold(&w, RELAY_DOOR_HOLD); /* of before, and of now */
	say_hold(&w, RELAY_DOOR_HOLD);
	assert_true(call(&w, 1));
	pass_ms(&w, 1);
	assert_int_equal(heard_gone(&w), 0);
	/* He wants it no more, and is called: that is a new beginning. */
	say_hold(&w, RELAY_DOOR_DROP);
	assert_true(call(&w, 1));
	say_hold(&w, RELAY_DOOR_HOLD);
	assert_int_equal(heard_gone(&w), 1);
	say_hold(&w, RELAY_DOOR_HOLD);
	assert_int_equal(heard_gone(&w), 0);
	relay_free(w.r);
}

/* No word finds room: nothing passes until one does. */
static void
nothing_before_the_word(void **state)
{
	(void)state;
	struct world w = make_world();
	struct fake_path *f = &w.r->ep.path[w.proc];
	assert_true(call(&w, 0));
	ask(&w, 1);
	f->nnotes = FAKE_NOTES;
	assert_false(call(&w, 1));
	pass_ms(&w, 2);
	assert_false(call(&w, 1));
	assert_int_equal(relay_core_counters(w.r->c)->drop_door_untold, 2);
	f->nnotes = 0;
	assert_true(call(&w, 1));
	assert_int_equal(heard_gone(&w), 1);
	pass_ms(&w, 2);
	assert_int_equal(heard_gone(&w), 0);
	relay_free(w.r);
}

/* The process imports a door of two relays there. */
static void
import_away(struct world *w)
{
	uint8_t at[DOOR_ADDRESS_MAX];
	struct door_address a = {.realm = REALM, .token = 5, .label = AWAY, .n = 1, .nrelays = 2};
	for (uint32_t m = 0; m < 2; m++)
		a.relay[m] = (struct door_relay){maker_relay_ip(1, m), 7000};
	struct relay_door_note n = {.op = RELAY_DOOR_IMPORT,
				    .request = 9,
				    .label = w->door.label,
				    .address = {at, (uint8_t)door_address_encode(&a, at)}};
	hear(w, w->proc, &n);
	pass_ms(w, 1);
}

/* Relay k there is asked, and answers. */
static void
answer(struct world *w, uint32_t k, bool ok)
{
	struct relay_door_note n = {0};
	w->trunk[k] = connect_trunk(w->r, 1, k);
	pass_ms(w, 1);
	assert_int_equal(said(w, w->trunk[k], RELAY_DOOR_ASK, &n), 1);
	n = (struct relay_door_note){
		.op = RELAY_DOOR_ANSWER, .request = n.request, .label = n.label, .ok = ok};
	w->r->ep.note_number++;
	hear(w, w->trunk[k], &n);
	pass_ms(w, 1);
}

/* It spoke behind the ASK to a relay that does not know the door, before the other one is there:
 * the word that it has it says that all begins anew. */
static void
refused_by_the_first(void **state)
{
	(void)state;
	struct relay_door_note n = {0};
	for (uint32_t first = 0; first < 2; first++) {
		struct world w = make_process();
		import_away(&w);
		answer(&w, first, false);
		assert_int_equal(said(&w, w.proc, RELAY_DOOR_NAMED, &n), 1);
		answer(&w, !first, true);
		assert_int_equal(said(&w, w.proc, RELAY_DOOR_IMPORTED, &n), 1);
		assert_int_equal(n.turn, 1);
		relay_free(w.r);
	}
}

/* It spoke to nobody else: what it said arrives. */
static void
granted_by_the_first(void **state)
{
	(void)state;
	struct relay_door_note n = {0};
	struct world w = make_process();
	import_away(&w);
	answer(&w, 1, true);
	assert_int_equal(said(&w, w.proc, RELAY_DOOR_IMPORTED, &n), 1);
	assert_int_equal(n.turn, 0);
	relay_free(w.r);
}

static struct relay_door_note
import_as(struct world *w, uint32_t request)
{
	uint8_t at[DOOR_ADDRESS_MAX];
	struct relay_door_note asked = {0};
	struct door_address a = {.realm = REALM,
				 .token = 5,
				 .label = AWAY,
				 .n = 1,
				 .nrelays = 1,
				 .relay = {{maker_relay_ip(1, 0), 7000}}};
	struct relay_door_note n = {.op = RELAY_DOOR_IMPORT,
				    .request = request,
				    .label = w->door.label,
				    .address = {at, (uint8_t)door_address_encode(&a, at)}};
	hear(w, w->proc, &n);
	pass_ms(w, 1);
	if (request == 9)
		w->trunk[0] = connect_trunk(w->r, 1, 0);
	pass_ms(w, 1);
	assert_int_equal(said(w, w->trunk[0], RELAY_DOOR_ASK, &asked), 1);
	return asked;
}

/* The place of who asked is another's, of the same import, when his answer comes once more: it is
 * for nobody, and what it offers is given back. */
static void
answer_comes_twice(void **state)
{
	(void)state;
	struct relay_door_note n = {0};
	struct world w = make_process();
	struct relay_door_note stays = import_as(&w, 9), first = import_as(&w, 10);
	stays.op = first.op = RELAY_DOOR_ANSWER;
	stays.ok = first.ok = true;
	stays.called = first.called = 600;
	stays.offered = first.offered = w.door.label;
	hear(&w, w.trunk[0], &stays);
	hear(&w, w.trunk[0], &first);
	assert_int_equal(said(&w, w.proc, RELAY_DOOR_IMPORTED, &n), 2);
	n = (struct relay_door_note){.op = RELAY_DOOR_DROP, .request = 10, .label = n.label};
	hear(&w, w.proc, &n);
	struct relay_door_note second = import_as(&w, 11);
	assert_int_equal(second.label, first.label);
	assert_int_not_equal(second.request, first.request);
	first.ok = false;
	hear(&w, w.trunk[0], &first);
	assert_int_equal(said(&w, w.proc, RELAY_DOOR_REFUSED, &n), 0);
	first.ok = true;
	hear(&w, w.trunk[0], &first);
	assert_int_equal(said(&w, w.proc, RELAY_DOOR_IMPORTED, &n), 0);
	assert_int_equal(relay_core_counters(w.r->c)->notes_late, 2);
	relay_free(w.r);
}

/* An answer finds no room, and the door is gone before it does: whoever hears both, in whatever
 * order, knows which was later. */
static void
kept_answer_is_old(void **state)
{
	(void)state;
	struct world w = make_world();
	struct fake_path *f = &w.r->ep.path[w.trunk[0]];
	uint8_t at[DOOR_ADDRESS_MAX];
	struct relay_door_note n = {.op = RELAY_DOOR_ASK,
				    .request = 4,
				    .label = ASKED,
				    .address = {at, (uint8_t)door_address_encode(&w.door, at)}};
	uint32_t number[RELAY_DOOR_NAMED + 1] = {0};
	f->nnotes = FAKE_NOTES;
	hear(&w, w.trunk[0], &n);
	f->nnotes = 0;
	n = (struct relay_door_note){.op = RELAY_DOOR_LEAVE, .label = w.door.label};
	hear(&w, w.proc, &n);
	pass_ms(&w, 2);
	assert_int_equal(f->nnotes, 2);
	for (uint32_t i = 0; i < f->nnotes; i++) {
		assert_int_equal(relay_door_decode(f->note[i], f->note_len[i], &n), 0);
		number[n.op] = f->note_number[i];
	}
	assert_true(number[RELAY_DOOR_ANSWER] && number[RELAY_DOOR_GONE]);
	assert_true(number[RELAY_DOOR_ANSWER] < number[RELAY_DOOR_GONE]);
	relay_free(w.r);
}

/* The door that came with an ASK has left when that is granted: GONE may have been said before, and
 * heard before the ASK. */
static void
what_was_offered_is_gone(void **state)
{
	(void)state;
	struct world w = make_process();
	struct relay_door_note granted = import_as(&w, 9), n = {0};
	n = (struct relay_door_note){.op = RELAY_DOOR_LEAVE, .label = w.door.label};
	hear(&w, w.proc, &n);
	granted.op = RELAY_DOOR_ANSWER;
	granted.ok = true;
	granted.called = 600;
	granted.offered = w.door.label;
	hear(&w, w.trunk[0], &granted);
	assert_int_equal(said(&w, w.trunk[0], RELAY_DOOR_GONE, &n), 1);
	assert_true(n.label == w.door.label && n.request == 600);
	relay_free(w.r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holder_is_told),
		cmocka_unit_test(late_hold_is_answered),
		cmocka_unit_test(told_before_he_is_called),
		cmocka_unit_test(nothing_before_the_word),
		cmocka_unit_test(refused_by_the_first),
		cmocka_unit_test(granted_by_the_first),
		cmocka_unit_test(answer_comes_twice),
		cmocka_unit_test(kept_answer_is_old),
		cmocka_unit_test(what_was_offered_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
