/* SPDX-License-Identifier: BSD-2-Clause */
/* Doors whose address was known before: what lib/door/client says about them, and what lib/relay
 * answers.  Notes are handed over as they are said. */
#include "relay_core_kit.h"

#include "door/client.h"

#define REALM 7u
#define LABEL (DOOR_CLAIMS + 40)
#define N     4u

struct claimer {
	struct relay *r;
	uint32_t path;
	struct door_client c;
	struct door_client_own own[2];
	struct door_client_import import[1];
	uint32_t opened;  /* how often it was told */
	uint32_t said[2]; /* notes, by site */
};

static bool
hand_to_relay(void *user, uint32_t site, const void *note, size_t len)
{
	struct claimer *p = user;
	p->said[site]++;
	relay_ops()->note(p->r->c, p->path, note, len, p->r->ep.now);
	return true;
}

static void
wake_nobody(void *user)
{
	(void)user;
}

static void
count_opened(void *user, uint32_t own)
{
	(void)own;
	((struct claimer *)user)->opened++;
}

static const struct door_client_ops claimer_ops = {
	.say = hand_to_relay, .wake = wake_nobody, .opened = count_opened};

static struct relay *
make_one_relay(uint32_t doors_max, uint32_t self)
{
	struct relay_core_conf conf = relay_conf_of_two(RELAY_POLICY_DEST, 4, BASE_S_NS);
	conf.limits.doors_max = doors_max;
	conf.limits.holds_max = 16;
	conf.self = self;
	conf.self_global = maker_relay_addr(0, self);
	struct relay *r = relay_new_conf(&conf);
	r->ep.now += BASE_MS_NS;
	return r;
}

static void
connect_claimer(struct claimer *p, struct relay *r, uint32_t proc)
{
	struct door_client_conf conf = {.ops = &claimer_ops, .user = p};
	struct suci_addr from = maker_proc_addr(proc);
	uint8_t hello[RELAY_HELLO_LEN];
	char why[SUCI_TEXT_MAX];
	*p = (struct claimer){.r = r};
	door_client_hello(hello);
	p->path = fake_incoming(&r->ep, &from, hello, sizeof hello, why);
	assert_int_not_equal(p->path, UINT32_MAX);
	door_client_init(&p->c, &conf, p->own, 2, p->import, 1);
	door_client_up(&p->c, 0);
}

/* What is to be said, and what the relay answers to it. */
static void
talk_to_relay(struct claimer *p)
{
	struct fake_path *f = &p->r->ep.path[p->path];
	assert_true(door_client_turn(&p->c));
	check(p->r);
	for (uint32_t i = 0; i < f->nnotes; i++)
		door_client_note(&p->c, 0, f->note[i], f->note_len[i]);
	f->nnotes = 0;
	assert_null(door_client_check(&p->c));
}

/* The claimer's relay was started again, and knows nothing. */
static struct relay *
start_again(struct claimer *p)
{
	struct claimer q;
	relay_free(p->r);
	connect_claimer(&q, make_one_relay(64, 0), 0);
	p->r = q.r;
	p->path = q.path;
	door_client_up(&p->c, 0);
	talk_to_relay(p);
	return p->r;
}

static void
pass_ns(struct relay *r, uint64_t ns)
{
	r->ep.now += ns;
	relay_core_tick(r->c, r->ep.now);
	check(r);
}

static struct door_address
known_address(uint64_t token)
{
	return (struct door_address){.realm = REALM,
				     .token = token,
				     .label = LABEL,
				     .n = N,
				     .nrelays = 1,
				     .relay = {{maker_relay_ip(0, 0), 7000}}};
}

/* Its state then. */
static enum door_client_state
claim_now(struct claimer *p, const struct door_address *a)
{
	uint32_t before = p->opened;
	assert_int_equal(door_client_claim(&p->c, 0, a, 0), 0);
	talk_to_relay(p);
	assert_true(p->opened > before);
	return (enum door_client_state)p->own[0].state;
}

static void
it_is_given(void **state)
{
	(void)state;
	struct relay *r = make_one_relay(64, 0);
	struct claimer p;
	struct door_address a = known_address(5);
	connect_claimer(&p, r, 0);
	assert_int_equal(claim_now(&p, &a), DOOR_CLIENT_HAVE);
	assert_true(door_address_same(&p.own[0].at, &a));
	assert_int_equal(door_client_mine(&p.c, LABEL + N - 1), 0);
	struct relay_door_info info;
	relay_core_doors(r->c, &info);
	assert_int_equal(info.own, 1);
	/* Its relay forgets it and is there again: the same one. */
	door_client_down(&p.c, 0, true, r->ep.now);
	r = start_again(&p);
	assert_int_equal(p.own[0].state, DOOR_CLIENT_HAVE);
	assert_true(door_address_same(&p.own[0].at, &a));
	relay_free(r);
}

/* Who was given an address that says one relay has no other one: the door stays there.  One that
 * only keeps its address takes another one at the relay that is up. */
static void
it_waits_for_its_relay(void **state)
{
	(void)state;
	for (uint32_t stays = 0; stays < 2; stays++) {
		struct relay *r = make_one_relay(64, 0);
		struct claimer p;
		connect_claimer(&p, r, 0);
		assert_int_equal(door_client_open(&p.c, 0, 1, REALM, 0), 0);
		talk_to_relay(&p);
		struct door_address was = p.own[0].at;
		assert_int_equal(was.nrelays, 1);
		(stays ? door_client_stay : door_client_keep)(&p.c, 0);
		door_client_up(&p.c, 1);
		door_client_down(&p.c, 0, true, r->ep.now);
		assert_true(door_client_turn(&p.c));
		assert_int_equal(p.said[1], !stays);
		assert_int_equal(p.own[0].state, stays ? DOOR_CLIENT_WANTED : DOOR_CLIENT_ASKED);
		if (stays) {
			r = start_again(&p);
			assert_int_equal(p.own[0].state, DOOR_CLIENT_HAVE);
			assert_true(door_address_same(&p.own[0].at, &was));
		}
		relay_free(r);
	}
}

/* Whoever has it keeps it, and 2 s longer than he lives: late segments are not for another. */
static void
one_has_it(void **state)
{
	(void)state;
	struct relay *r = make_one_relay(64, 0);
	struct claimer first, second;
	struct door_address a = known_address(5), other = known_address(6);
	connect_claimer(&first, r, 0);
	connect_claimer(&second, r, 1);
	assert_int_equal(claim_now(&first, &a), DOOR_CLIENT_HAVE);
	assert_int_equal(claim_now(&second, &a), DOOR_CLIENT_OVER);
	assert_int_equal(second.own[0].why, DOOR_CLIENT_TAKEN);
	door_client_close(&second.c, 0);
	/* Also with another token, or if only some of its labels are the same. */
	assert_int_equal(claim_now(&second, &other), DOOR_CLIENT_OVER);
	door_client_close(&second.c, 0);
	other.label += N - 1;
	assert_int_equal(claim_now(&second, &other), DOOR_CLIENT_OVER);
	assert_int_equal(second.own[0].why, DOOR_CLIENT_TAKEN);
	assert_int_equal(relay_core_counters(r->c)->door_named, 3);
	door_client_close(&first.c, 0);
	talk_to_relay(&first);
	pass_ns(r, BASE_S_NS);
	assert_true(door_client_again(&second.c, 0));
	talk_to_relay(&second);
	assert_int_equal(second.own[0].why, DOOR_CLIENT_TAKEN);
	pass_ns(r, 2 * BASE_S_NS);
	assert_true(door_client_again(&second.c, 0));
	talk_to_relay(&second);
	assert_int_equal(second.own[0].state, DOOR_CLIENT_HAVE);
	relay_free(r);
}

static void
what_cannot_be_claimed(void **state)
{
	(void)state;
	struct relay *r = make_one_relay(64, 0);
	struct claimer p;
	struct door_address a = known_address(5);
	connect_claimer(&p, r, 0);
	/* Others would look for it elsewhere. */
	a.relay[0].port++;
	assert_int_equal(claim_now(&p, &a), DOOR_CLIENT_OVER);
	assert_int_equal(p.own[0].why, DOOR_CLIENT_ELSEWHERE);
	assert_true(p.own[0].is_at.ipv4 == maker_relay_ip(0, 0) && p.own[0].is_at.port == 7000);
	door_client_close(&p.c, 0);
	talk_to_relay(&p);
	pass_ns(r, 3 * BASE_S_NS);
	/* A label that relays give, which is another relay's. */
	a = known_address(5);
	a.label = DOOR_CLAIMS - 8;
	assert_int_equal(claim_now(&p, &a), DOOR_CLIENT_OVER);
	assert_int_equal(p.own[0].why, DOOR_CLIENT_FULL);
	assert_int_equal(relay_core_counters(r->c)->door_fellow, 1);
	door_client_close(&p.c, 0);
	/* No room: one place for the door, one for each label. */
	relay_free(r);
	r = make_one_relay(64, 0);
	connect_claimer(&p, r, 0);
	assert_int_equal(door_client_open(&p.c, 1, 63 - N, REALM, 0), 1);
	talk_to_relay(&p);
	a = known_address(5);
	assert_int_equal(claim_now(&p, &a), DOOR_CLIENT_OVER);
	assert_int_equal(p.own[0].why, DOOR_CLIENT_FULL);
	assert_int_equal(relay_core_counters(r->c)->door_full, 1);
	relay_free(r);
}

/* Two relays have it in the same bytes, whichever is asked first. */
static void
it_is_at_two(void **state)
{
	(void)state;
	struct door_address a = known_address(5);
	a.nrelays = 2;
	a.relay[1] = (struct door_relay){maker_relay_ip(0, 1), 7000};
	for (uint32_t self = 0; self < 2; self++) {
		struct relay *r = make_one_relay(64, self);
		struct claimer p;
		connect_claimer(&p, r, 0);
		if (self) { /* ours is the second one, and the first is not there */
			door_client_down(&p.c, 0, true, r->ep.now);
			door_client_up(&p.c, 1);
		}
		assert_int_equal(door_client_claim(&p.c, 0, &a, 0), 0);
		assert_true(door_client_turn(&p.c));
		struct fake_path *f = &r->ep.path[p.path];
		assert_int_equal(f->nnotes, 1);
		door_client_note(&p.c, self, f->note[0], f->note_len[0]);
		assert_int_equal(p.own[0].state, DOOR_CLIENT_HAVE);
		assert_int_equal(p.own[0].home, self);
		assert_true(door_address_same(&p.own[0].at, &a));
		relay_free(r);
	}
}

/* One of two gives it; the other one does later, as somebody had it there for longer. */
static void
it_comes_to_the_second(void **state)
{
	(void)state;
	struct relay *r = make_one_relay(64, 1);
	struct claimer first, p;
	struct door_address a = known_address(5);
	a.nrelays = 2;
	a.relay[1] = (struct door_relay){maker_relay_ip(0, 1), 7000};
	connect_claimer(&first, r, 1);
	door_client_down(&first.c, 0, true, r->ep.now);
	door_client_up(&first.c, 1);
	assert_int_equal(door_client_claim(&first.c, 0, &a, 0), 0);
	assert_true(door_client_turn(&first.c));
	struct fake_path *f = &r->ep.path[first.path];
	door_client_note(&first.c, 1, f->note[0], f->note_len[0]);
	assert_int_equal(first.own[0].state, DOOR_CLIENT_HAVE);
	connect_claimer(&p, r, 0);
	f = &r->ep.path[p.path];
	door_client_down(&p.c, 0, true, r->ep.now);
	door_client_up(&p.c, 1);
	assert_int_equal(door_client_claim(&p.c, 0, &a, 0), 0);
	assert_true(door_client_turn(&p.c));
	door_client_note(&p.c, 1, f->note[0], f->note_len[0]);
	f->nnotes = 0;
	assert_int_equal(p.own[0].why, DOOR_CLIENT_TAKEN);
	p.own[0].state = DOOR_CLIENT_HAVE; /* by the other one */
	p.own[0].back = false;
	p.own[0].there[0] = DOOR_CLIENT_HAS;
	p.c.site[0].up = p.c.up = true;
	door_client_close(&first.c, 0);
	assert_true(door_client_turn(&first.c));
	pass_ns(r, 3 * BASE_S_NS);
	assert_true(door_client_again(&p.c, 0));
	assert_false(door_client_again(&p.c, 0)); /* it is asked */
	assert_true(door_client_turn(&p.c));
	assert_int_equal(f->nnotes, 1);
	door_client_note(&p.c, 1, f->note[0], f->note_len[0]);
	assert_int_equal(p.own[0].there[1], DOOR_CLIENT_HAS);
	assert_false(door_client_again(&p.c, 0));
	assert_null(door_client_check(&p.c));
	relay_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_given),	cmocka_unit_test(it_waits_for_its_relay),
		cmocka_unit_test(one_has_it),	cmocka_unit_test(what_cannot_be_claimed),
		cmocka_unit_test(it_is_at_two), cmocka_unit_test(it_comes_to_the_second),
	};
	return cmocka_run_group_tests_name("doors whose address was known before", tests, NULL,
					   NULL);
}
