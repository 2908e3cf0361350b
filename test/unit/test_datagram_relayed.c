/* SPDX-License-Identifier: BSD-2-Clause */
/* Doors of libsuci over relays. */
#include "datagram_relay_kit.h"

static void
blocks_cross_two_relays(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX];
	size_t len = 300000;
	uint8_t *out = malloc(len), *in = malloc(len);
	assert_true(out && in);
	open_both(w, 4, address);
	int64_t there = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, there, "question");
	int64_t from = expect_relayed(w, 0, "question");
	send_relayed(w, 0, from, "answer");
	assert_int_equal(expect_relayed(w, 1, "answer"), there);
	for (uint32_t prio = 0; prio < 4; prio++) {
		assert_int_equal(datagram_priority(w->k.s[1], (uint32_t)there, (int)prio), 0);
		send_relayed(w, 1, there, "prio");
		assert_int_equal(expect_relayed(w, 0, "prio"), from);
	}
	kit_fill(out, len, 3);
	assert_int_equal(datagram_write0(w->k.s[1], out, len), len);
	KIT_UNTIL(&w->k, datagram_peek(w->k.s[0], NULL, NULL) == 1);
	assert_int_equal(datagram_read0(w->k.s[0], in, len), len);
	kit_check(in, len, 3);
	free_relays(w);
	free(out);
	free(in);
}

/* Who came by itself is opened by its address: one id, nothing is lost or comes twice. */
static void
both_open_each_other(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX];
	open_both(w, 4, a);
	address_of(w, 1, b);
	int64_t there = datagram_open_at(w->k.s[1], a);
	send_relayed(w, 1, there, "one");
	int64_t came = expect_relayed(w, 0, "one");
	int64_t opened = datagram_open_at(w->k.s[0], b);
	send_relayed(w, 0, came, "two");
	send_relayed(w, 0, opened, "three");
	assert_int_equal(expect_relayed(w, 1, "two"), there);
	assert_int_equal(expect_relayed(w, 1, "three"), there);
	send_relayed(w, 1, there, "four");
	assert_int_equal(expect_relayed(w, 0, "four"), opened);
	free_relays(w);
}

static void
who_left_is_gone(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX];
	open_both(w, 4, address);
	int64_t there = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, there, "in");
	expect_relayed(w, 0, "in");
	KIT_UNTIL(&w->k, datagram_queue_length(w->k.s[1], (uint32_t)there) == 0);
	datagram_close(w->k.s[0]);
	w->k.s[0] = NULL;
	struct datagram_info info;
	KIT_UNTIL(&w->k, datagram_info(w->k.s[1], (uint32_t)there, &info) == 0 &&
				 info.state != DATAGRAM_UP);
	/* Stale: its door is not there any more. */
	assert_int_equal(relayed_error(w, 1, there), ECONNREFUSED);
	assert_true(counters_of(w, 0).door_unknown >= 1);
	free_relays(w);
}

static void
forged_and_foreign_are_refused(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX], text[DOOR_TEXT_MAX];
	struct door_address a;
	open_behind(w, 0, 0, 4, REALM);
	open_behind(w, 1, 1, 8, REALM);
	open_behind(w, 2, 1, 8, REALM + 1);
	address_of(w, 0, address);
	int64_t good = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, good, "in"); /* there is a trunk now */
	expect_relayed(w, 0, "in");
	assert_int_equal(door_address_parse(address, &a), 0);
	a.token ^= 1;
	door_address_print(&a, text);
	assert_int_equal(relayed_error(w, 1, datagram_open_at(w->k.s[1], text)), ECONNREFUSED);
	assert_true(counters_of(w, 0).door_token >= 1);
	a.token ^= 1;
	a.label += 8;
	door_address_print(&a, text);
	assert_int_equal(relayed_error(w, 1, datagram_open_at(w->k.s[1], text)), ECONNREFUSED);
	assert_true(counters_of(w, 0).door_unknown >= 1);
	a.label -= 8;
	/* A leaked address in another realm, whose field is forged, too. */
	assert_int_equal(datagram_open_at(w->k.s[2], address), -1);
	assert_int_equal(errno, EACCES);
	a.realm = REALM + 1;
	door_address_print(&a, text);
	assert_int_equal(relayed_error(w, 2, datagram_open_at(w->k.s[2], text)), ECONNREFUSED);
	assert_true(counters_of(w, 0).door_realm >= 1);
	/* Our own relay's door, and one that says it is no relay's. */
	char own[DATAGRAM_ADDRESS_MAX];
	open_behind(w, 3, 1, 4, REALM);
	address_of(w, 3, own);
	assert_int_equal(door_address_parse(own, &a), 0);
	a.near = (struct door_relay){0};
	door_address_print(&a, text);
	assert_int_equal(relayed_error(w, 1, datagram_open_at(w->k.s[1], text)), ECONNREFUSED);
	assert_true(counters_of(w, 1).door_here >= 1);
	free_relays(w);
}

/* Of one cluster: they reach each other without their relay, and others through it as before. */
static void
near_ones_go_directly(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char far[DATAGRAM_ADDRESS_MAX], a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX];
	struct door_address forged;
	open_both(w, 4, far);
	open_behind(w, 2, 1, 4, REALM);
	address_of(w, 1, a);
	address_of(w, 2, b);
	int64_t there = datagram_open_at(w->k.s[1], b), back = datagram_open_at(w->k.s[2], a);
	send_relayed(w, 1, there, "near");
	assert_int_equal(expect_relayed(w, 2, "near"), back);
	send_relayed(w, 2, back, "answer");
	assert_int_equal(expect_relayed(w, 1, "answer"), there);
	assert_int_equal(counters_of(w, 1).doors_imported, 0);
	int64_t away = datagram_open_at(w->k.s[1], far);
	send_relayed(w, 1, away, "far");
	expect_relayed(w, 0, "far");
	assert_int_equal(counters_of(w, 1).doors_imported, 1);
	assert_int_equal(counters_of(w, 1).door_here, 0);
	/* Who knows where it is and not its secret does not get in. */
	assert_int_equal(door_address_parse(b, &forged), 0);
	forged.token ^= 1;
	open_behind(w, 3, 1, 4, REALM);
	address_of(w, 3, a);
	door_address_print(&forged, b);
	assert_int_equal(relayed_error(w, 3, datagram_open_at(w->k.s[3], b)), ECONNREFUSED);
	free_relays(w);
}

/* Socket 1 asks the other one, who answers; what was lost is asked again.  How often it was. */
static uint32_t
ask_until_answered(struct relays *w, int64_t id)
{
	char got[64];
	for (uint32_t asked = 1;; asked++) {
		double end = kit_now() + 0.5;
		assert_true(asked < 2 * LIMIT_S);
		assert_int_equal(datagram_destination(w->k.s[1], (uint32_t)id), 0);
		(void)datagram_write0(w->k.s[1], "question", 9);
		while (kit_now() < end) {
			kit_progress(&w->k);
			if (datagram_peek(w->k.s[0], NULL, NULL) == 1) {
				assert_int_equal(datagram_read0(w->k.s[0], got, sizeof got), 9);
				datagram_destination(w->k.s[0],
						     (uint32_t)datagram_source(w->k.s[0]));
				(void)datagram_write0(w->k.s[0], "answer", 7);
			}
			if (datagram_peek(w->k.s[1], NULL, NULL) != 1) {
				kit_nap();
				continue;
			}
			assert_int_equal(datagram_read0(w->k.s[1], got, sizeof got), 7);
			assert_int_equal(datagram_source(w->k.s[1]), id);
			return asked;
		}
	}
}

/* The relay starts anew: another address, and what was opened works again. */
static void
relay_is_replaced(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX], again[DATAGRAM_ADDRESS_MAX];
	open_both(w, 4, address);
	int64_t there = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, there, "in");
	expect_relayed(w, 0, "in");
	assert_int_equal(datagram_close_at(w->k.s[1], (uint32_t)there), 0);
	assert_int_equal(datagram_destination(w->k.s[1], (uint32_t)there), -1);
	assert_int_equal(datagram_open_at(w->k.s[1], address), there); /* its place was kept */
	send_relayed(w, 1, there, "more");
	expect_relayed(w, 0, "more");
	pthread_mutex_lock(&w->lock);
	stop_relay(&w->relay[1]);
	start_relay(&w->relay[1], 2);
	pthread_mutex_unlock(&w->lock);
	struct datagram_info info;
	KIT_UNTIL(&w->k, datagram_info(w->k.s[1], (uint32_t)there, &info) == 0 &&
				 info.state != DATAGRAM_UP);
	(void)datagram_queue_length(w->k.s[1], (uint32_t)there);
	send_relayed(w, 1, there, "again");
	expect_relayed(w, 0, "again");
	address_of(w, 0, again);
	assert_string_equal(address, again); /* its own relay was there all the time */
	/* And then its own: it asks again by itself, and what it gets is good. */
	assert_int_equal(datagram_address_changes(w->k.s[0]), 0);
	pthread_mutex_lock(&w->lock);
	stop_relay(&w->relay[0]);
	start_relay(&w->relay[0], 3);
	pthread_mutex_unlock(&w->lock);
	KIT_UNTIL(&w->k, datagram_address_changes(w->k.s[0]) == 1);
	address_of(w, 0, again);
	assert_string_not_equal(address, again);
	assert_int_equal(datagram_address_changes(w->k.s[0]), 1);
	there = datagram_open_at(w->k.s[1], again);
	uint32_t asked = ask_until_answered(w, there);
	print_message("  by the new address: asked %u times, %s\n", asked,
		      datagram_error(w->k.s[1]));
	free_relays(w);
}

static void
doors_are_bounded(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char address[DATAGRAM_ADDRESS_MAX], text[DOOR_TEXT_MAX];
	struct door_address a;
	open_both(w, 64, address);
	int64_t good = datagram_open_at(w->k.s[1], address);
	send_relayed(w, 1, good, "in");
	expect_relayed(w, 0, "in");
	/* As many as a process may have; the good one stays. */
	assert_int_equal(door_address_parse(address, &a), 0);
	a.relay[0].ipv4 = 0x7f000009; /* nobody, so they wait */
	for (uint32_t i = 0; i < 2 * PER_SOCKET; i++) {
		a.token++;
		door_address_print(&a, text);
		int64_t id = datagram_open_at(w->k.s[1], text);
		assert_true(id >= DATAGRAM_DOOR_ID);
		datagram_destination(w->k.s[1], (uint32_t)id);
		(void)datagram_write0(w->k.s[1], "x", 1);
	}
	KIT_UNTIL(&w->k, counters_of(w, 1).door_proc_full >= PER_SOCKET + 1);
	send_relayed(w, 1, good, "still");
	expect_relayed(w, 0, "still");
	datagram_close(w->k.s[1]);
	w->k.s[1] = NULL;
	free_relays(w);
}

static void
kill_relay(struct relays *w, uint32_t i)
{
	pthread_mutex_lock(&w->lock);
	stop_relay(&w->relay[i]);
	pthread_mutex_unlock(&w->lock);
}

/* Long before peers count as gone. */
static void
silent_relay_is_dead(void **state)
{
	(void)state;
	struct relays *w = make_relays_of(2);
	char address[DATAGRAM_ADDRESS_MAX];
	w->relay_ms = 200;
	open_both(w, 4, address);
	int64_t there = datagram_open_at(w->k.s[1], address);
	assert_int_equal(ask_until_answered(w, there), 1);
	kill_relay(w, 1);
	double began = kit_now();
	(void)ask_until_answered(w, there);
	print_message("  answered after %.1f s\n", kit_now() - began);
	assert_true(kit_now() - began < 20); /* liveness_ms is a minute */
	free_relays(w);
}

/* While our relay is dead we know who is behind it: it is not asked for them when it is back. */
static void
near_ones_stay_near(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char far[DATAGRAM_ADDRESS_MAX], a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX];
	struct datagram_info info;
	w->relay_ms = 200;
	open_both(w, 4, far);
	open_behind(w, 2, 1, 4, REALM);
	address_of(w, 1, a);
	address_of(w, 2, b);
	int64_t away = datagram_open_at(w->k.s[1], far);
	send_relayed(w, 1, away, "far");
	expect_relayed(w, 0, "far");
	kill_relay(w, 1);
	KIT_UNTIL(&w->k, datagram_info(w->k.s[1], (uint32_t)away, &info) == 0 &&
				 info.state != DATAGRAM_UP);
	int64_t there = datagram_open_at(w->k.s[1], b);
	pthread_mutex_lock(&w->lock);
	start_relay(&w->relay[1], 2);
	pthread_mutex_unlock(&w->lock);
	KIT_UNTIL(&w->k, datagram_address_changes(w->k.s[1]) == 1 &&
				 datagram_address_changes(w->k.s[2]) == 1);
	assert_int_equal(relayed_error(w, 1, there), ECONNREFUSED); /* it has another one now */
	assert_int_equal(counters_of(w, 1).door_here, 0);
	address_of(w, 2, b);
	assert_int_equal(datagram_close_at(w->k.s[1], (uint32_t)there), 0);
	there = datagram_open_at(w->k.s[1], b);
	send_relayed(w, 1, there, "near");
	expect_relayed(w, 2, "near");
	assert_int_equal(counters_of(w, 1).door_here, 0);
	free_relays(w);
}

/* Two relays in each cluster: that of the one who is asked dies, then that of the one who asks, and
 * both go on under the address that was given away. */
static void
doors_outlive_relays(void **state)
{
	(void)state;
	struct relays *w = make_relays_of(2);
	char address[DATAGRAM_ADDRESS_MAX], again[DATAGRAM_ADDRESS_MAX];
	struct door_address a;
	open_both(w, 4, address);
	assert_int_equal(door_address_parse(address, &a), 0);
	assert_int_equal(a.nrelays, 2);
	int64_t there = datagram_open_at(w->k.s[1], address);
	assert_int_equal(ask_until_answered(w, there), 1);
	for (uint32_t dead = 0; dead < 2; dead++) {
		double began = kit_now();
		kill_relay(w, dead);
		uint32_t asked = ask_until_answered(w, there);
		print_message("  relay %u died: answered after %.1f s, asked %u times\n", dead,
			      kit_now() - began, asked);
		/* Those that were under way are answered later, or lost. */
		while (ask_until_answered(w, there) > 1) {
		}
		address_of(w, 0, again);
		assert_string_equal(again, address);
	}
	free_relays(w);
}

static struct datagram_conf
conf_of_claim(struct relays *w, uint32_t relay, uint32_t number, char address[DATAGRAM_ADDRESS_MAX])
{
	struct datagram_claim claim = {
		.relay = w->at[relay], .number = number, .realm = REALM, .token = 17 + number};
	struct datagram_conf c;
	assert_int_equal(datagram_address_for(&claim, address), 0);
	datagram_conf_init(&c);
	c.doors = 8;
	c.relay = w->at[relay];
	c.realm = REALM;
	c.address = address;
	c.liveness_ms = 500;
	c.close_ms = 500;
	c.connect_ms = 1000;
	c.sockbuf_bytes = 1u << 20;
	return c;
}

static void
open_claimed(struct relays *w, uint32_t i, uint32_t relay, uint32_t number,
	     char address[DATAGRAM_ADDRESS_MAX])
{
	struct datagram_conf c = conf_of_claim(w, relay, number, address);
	w->k.s[i] = datagram_open_with(&c);
	if (!w->k.s[i])
		fail_msg("%s", datagram_error(NULL));
	w->k.n = i >= w->k.n ? i + 1 : w->k.n;
}

static int
claimed(struct relays *w, uint32_t i)
{
	return datagram_claimed(w->k.s[i]) == 0 ? 0 : errno;
}

/* Both know each other's address before the other one is there, and nobody says it. */
static void
addresses_are_known_before(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX], got[DATAGRAM_ADDRESS_MAX];
	open_claimed(w, 0, 0, 0, a);
	assert_int_equal(claimed(w, 0), EAGAIN);
	KIT_UNTIL(&w->k, claimed(w, 0) == 0);
	open_claimed(w, 1, 1, 1, b);
	int64_t there = datagram_open_at(w->k.s[1], a);
	send_relayed(w, 1, there, "question");
	int64_t from = expect_relayed(w, 0, "question");
	send_relayed(w, 0, from, "answer");
	assert_int_equal(expect_relayed(w, 1, "answer"), there);
	assert_int_equal(datagram_open_at(w->k.s[0], a), 0); /* our own */
	int64_t back = datagram_open_at(w->k.s[0], b);
	send_relayed(w, 0, back, "more");
	assert_int_equal(expect_relayed(w, 1, "more"), there);
	/* It says where its process is, too; nobody needs that. */
	address_of(w, 0, got);
	assert_int_equal(datagram_open_at(w->k.s[1], got), there);
	free_relays(w);
}

/* Both write until each has got something that was written after now; the seconds that took. */
static double
talk_again(struct relays *w, const int64_t id[2])
{
	double began = kit_now(), next = 0;
	uint32_t turn = 0, heard[2] = {0, 0}, said;
	static uint32_t first;
	for (first += 1000; heard[0] < first || heard[1] < first;) {
		bool more = kit_now() >= next;
		said = first + turn;
		turn += more;
		next = more ? kit_now() + 0.005 : next;
		assert_true(kit_now() < began + LIMIT_S && turn < 1000000);
		for (uint32_t i = 0; i < 2; i++) {
			struct datagram_sock *s = w->k.s[i];
			(void)datagram_destination(s, (uint32_t)id[i]);
			if (more)
				(void)datagram_write0(s, &said, sizeof said);
			while (datagram_read0(s, &said, sizeof said) >= 0)
				heard[i] = said;
			said = first + turn;
		}
		kit_nap();
	}
	first += turn;
	return kit_now() - began;
}

/* Relays die one after another, and are started again: the only ones, or two for each. */
static void
keep_addresses(uint32_t each)
{
	struct relays *w = make_relays_of(each);
	char a[DATAGRAM_ADDRESS_MAX], b[DATAGRAM_ADDRESS_MAX];
	int64_t id[2];
	open_claimed(w, 0, 0, 0, a);
	open_claimed(w, 1, 1, 1, b);
	id[0] = datagram_open_at(w->k.s[0], b);
	id[1] = datagram_open_at(w->k.s[1], a);
	(void)talk_again(w, id);
	for (uint32_t dead = 0; dead < 2 * each; dead++) {
		kill_relay(w, dead);
		double without = each > 1 ? talk_again(w, id) : 0;
		pthread_mutex_lock(&w->lock);
		start_relay(&w->relay[dead], 2 + dead);
		pthread_mutex_unlock(&w->lock);
		double with = talk_again(w, id);
		KIT_UNTIL(&w->k, claimed(w, 0) == 0 && claimed(w, 1) == 0);
		print_message("  relay %u died: %.1f s without it, %.1f s with it again\n", dead,
			      without, with);
	}
	free_relays(w);
}

static void
known_addresses_come_back(void **state)
{
	(void)state;
	keep_addresses(1);
	keep_addresses(2);
}

static void
one_has_an_address(void **state)
{
	(void)state;
	struct relays *w = make_relays();
	char a[DATAGRAM_ADDRESS_MAX];
	open_claimed(w, 0, 0, 0, a);
	KIT_UNTIL(&w->k, claimed(w, 0) == 0);
	open_claimed(w, 1, 0, 0, a);
	KIT_UNTIL(&w->k, claimed(w, 1) == EADDRINUSE);
	print_message("  %s\n", datagram_error(w->k.s[1]));
	char got[DATAGRAM_ADDRESS_MAX];
	/* a relay that gets no processor is answered for by ETIMEDOUT */
	KIT_UNTIL(&w->k, datagram_address(w->k.s[1], got) == -1 && errno == EADDRINUSE);
	uint64_t refused = counters_of(w, 0).door_named;
	assert_true(refused >= 2 && refused < 20); /* five a second */
	/* Who had it leaves: it is the other one's without a word. */
	datagram_close(w->k.s[0]);
	w->k.s[0] = NULL;
	KIT_UNTIL(&w->k, claimed(w, 1) == 0);
	/* The relay is elsewhere than the address says. */
	struct datagram_conf c = conf_of_claim(w, 1, 3, a);
	c.relay = w->at[0];
	w->k.s[0] = datagram_open_with(&c);
	assert_non_null(w->k.s[0]);
	KIT_UNTIL(&w->k, claimed(w, 0) == EADDRNOTAVAIL);
	print_message("  %s\n", datagram_error(w->k.s[0]));
	free_relays(w);
}

/* What no relay is. */
static void
relays_are_read(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  ",",
					  "127.0.0.1",
					  "127.0.0.1:7812,",
					  "127.0.0.1:7812,127.0.0.1:7812",
					  "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3",
					  "::1:7812",
					  "[::1]",
					  "[::1]:7812,127.0.0.1:7812"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct datagram_conf c;
		datagram_conf_init(&c);
		c.doors = 1;
		c.relay = bad[i];
		assert_null(datagram_open_with(&c));
		assert_int_equal(errno, EINVAL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_cross_two_relays),
		cmocka_unit_test(both_open_each_other),
		cmocka_unit_test(who_left_is_gone),
		cmocka_unit_test(forged_and_foreign_are_refused),
		cmocka_unit_test(near_ones_go_directly),
		cmocka_unit_test(relay_is_replaced),
		cmocka_unit_test(doors_are_bounded),
		cmocka_unit_test(near_ones_stay_near),
		cmocka_unit_test(doors_outlive_relays),
		cmocka_unit_test(silent_relay_is_dead),
		cmocka_unit_test(addresses_are_known_before),
		cmocka_unit_test(known_addresses_come_back),
		cmocka_unit_test(one_has_an_address),
		cmocka_unit_test(relays_are_read),
	};
	return cmocka_run_group_tests_name("datagram doors over relays", tests, NULL, NULL);
}
