/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths of a process to the relays of its doors: which relay is called when, who is none, how
 * long one is waited for.  The endpoint is played here. */
#include "cmocka_all.h"

#include "door/sites.h"
#include "relayproto/note.h"

#include <stdio.h>
#include <string.h>

#define PATHS 4u
#define REALM 7u

struct suci {
	struct suci_addr to[PATHS];
	bool open[PATHS], full;
	uint32_t opened, notes, pings, silent;
	uint64_t last_rx_ns;
	struct relay_door_note said; /* the last one */
	uint32_t said_at;
	char closed[SUCI_TEXT_MAX];
};
static struct suci fake;

int
suci_path_open(struct suci *ep, const struct suci_addr *to, const void *hello, size_t len,
	       uint32_t *path, uint64_t now_ns)
{
	struct relay_hello h;
	(void)now_ns;
	assert_int_equal(relay_hello_decode(hello, len, &h), 0);
	assert_int_equal(h.kind, RELAY_HELLO_DOOR);
	if (ep->full)
		return SUCI_ERR_NOMEM;
	for (*path = 0; ep->open[*path]; (*path)++)
		assert_true(*path < PATHS);
	ep->open[*path] = true;
	ep->to[*path] = *to;
	ep->opened++;
	return SUCI_ERR_OK;
}

void
suci_path_close(struct suci *ep, uint32_t path, const char *text, uint64_t now_ns)
{
	(void)now_ns;
	ep->open[path] = false;
	snprintf(ep->closed, sizeof ep->closed, "%s", text);
}

bool
suci_path_info(const struct suci *ep, uint32_t path, struct suci_path_info *info)
{
	*info = (struct suci_path_info){
		.mss = path ? 1000 : 1300, .up = true, .last_rx_ns = ep->last_rx_ns};
	return ep->open[path];
}

int
suci_path_note(struct suci *ep, uint32_t path, const void *note, size_t len, uint64_t now_ns)
{
	struct relay_note n;
	(void)now_ns;
	assert_true(ep->open[path]);
	if (ep->full)
		return SUCI_ERR_FULL;
	if (relay_note_decode(note, len, &n) == 0 && n.type == RELAY_NOTE_PING) {
		ep->pings++;
		return SUCI_ERR_OK;
	}
	ep->notes++;
	ep->said_at = path;
	assert_int_equal(relay_door_decode(note, len, &ep->said), 0);
	return SUCI_ERR_OK;
}

void
suci_path_silent(struct suci *ep, uint32_t path, uint64_t now_ns)
{
	(void)path, (void)now_ns;
	ep->silent++;
}

/* ---- a process ---- */

static struct door_sites sites;
static struct door_client client;
static struct door_client_own own[2];
static struct door_client_import import[2];
static uint32_t opened;
static bool dirty;
static uint64_t now = BASE_S_NS;

static bool
say_at(void *user, uint32_t site, const void *note, size_t len)
{
	(void)user;
	return door_sites_say(&sites, site, note, len, now);
}

static void
wake_never(void *user)
{
	(void)user;
}

static void
count_opened(void *user, uint32_t which)
{
	(void)user, (void)which;
	opened++;
}

static void
hear_reached(void *user, uint32_t which)
{
	(void)user, (void)which;
}

static void
hear_lost(void *user, uint32_t which, enum door_client_lost why)
{
	(void)user, (void)which, (void)why;
}

static void
hear_left(void *user, uint32_t site, uint32_t label)
{
	(void)user, (void)site, (void)label;
}

static const struct door_client_ops ops = {.say = say_at,
					   .wake = wake_never,
					   .opened = count_opened,
					   .reached = hear_reached,
					   .lost = hear_lost,
					   .left = hear_left};

static void
begin(const char *relays)
{
	struct door_client_conf conf = {.ops = &ops};
	struct suci_addr at[DOOR_CLIENT_SITES];
	uint32_t n = door_sites_parse(relays, at);
	assert_true(n);
	memset(&fake, 0, sizeof fake);
	memset(own, 0, sizeof own);
	memset(import, 0, sizeof import);
	opened = 0;
	dirty = false;
	door_client_init(&client, &conf, own, 2, import, 2);
	door_sites_init(&sites, &client, &fake);
	sites.dirty = &dirty;
	for (uint32_t k = 0; k < n; k++)
		door_sites_add(&sites, &at[k]);
}

static bool
answer(uint32_t path, enum relay_hello_kind kind, uint32_t mtu)
{
	uint8_t hello[RELAY_HELLO_LEN];
	struct relay_hello h = {
		.kind = (uint8_t)kind, .rank = RELAY_RANK_NONE, .mtu = (uint16_t)mtu};
	relay_hello_encode(&h, hello);
	return door_sites_up(&sites, path, hello, sizeof hello, now);
}

/* The first of them is there. */
static void
begin_up(const char *relays)
{
	begin(relays);
	(void)door_sites_seek(&sites, now);
	assert_true(answer(0, RELAY_HELLO_RELAY, 0));
}

#define ONE "10.0.0.254:7812"
#define TWO ONE ",10.0.0.253:7812"

/* ---- tests ---- */

static void
relays_are_named(void **state)
{
	static const struct {
		const char *text;
		uint32_t n;
	} row[] = {
		{ONE, 1},
		{TWO, 2},
		{"[fd00::fe]:7812", 1},
		{"[fd00::fe]:7812,[fd00::fd]:7812", 2},
		{"", 0},
		{"10.0.0.254", 0},
		{ONE ",", 0},
		{"," ONE, 0},
		{ONE "," ONE, 0},
		{ONE ",[fd00::fe]:7812", 0},
		{TWO ",10.0.0.252:7812", 0},
		{"224.0.0.1:7812", 0},
		{ONE " ", 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct suci_addr at[DOOR_CLIENT_SITES];
		if (door_sites_parse(row[i].text, at) != row[i].n)
			fail_msg("\"%s\" is taken for %u relays", row[i].text,
				 door_sites_parse(row[i].text, at));
	}
}

static void
all_are_called_and_called_again(void **state)
{
	(void)state;
	begin(TWO);
	assert_true(door_sites_alone(&sites));
	assert_int_equal(door_sites_seek(&sites, now), BASE_NEVER_NS);
	assert_true(dirty);
	assert_int_equal(fake.opened, 2);
	assert_false(door_sites_alone(&sites));
	assert_int_equal(door_sites_at(&sites, 1), 1);
	assert_int_equal(door_sites_at(&sites, 2), DOOR_CLIENT_NONE);
	assert_int_equal(door_sites_at(&sites, DOOR_CLIENT_NONE), DOOR_CLIENT_NONE);
	assert_int_equal(door_sites_of(&sites, &fake.to[1]), 1);
	assert_true(answer(1, RELAY_HELLO_RELAY, 0));
	assert_true(client.site[1].up);
	assert_false(client.site[0].up);

	fake.open[0] = false;
	door_sites_down(&sites, 0, true, now);
	uint64_t at = door_sites_seek(&sites, now);
	assert_true(at > now && at < now + BASE_S_NS);
	assert_int_equal(fake.opened, 2);
	assert_int_equal(door_sites_seek(&sites, at), BASE_NEVER_NS);
	assert_int_equal(fake.opened, 3);
}

static void
a_call_without_room_comes_later(void **state)
{
	(void)state;
	begin(ONE);
	fake.full = true;
	assert_int_equal(door_sites_call(&sites, 0, now), SUCI_ERR_NOMEM);
	assert_true(door_sites_alone(&sites));
	assert_int_equal(door_sites_seek(&sites, now), now + DOOR_SITES_AGAIN_NS);
	fake.full = false;
	assert_int_equal(door_sites_seek(&sites, now + DOOR_SITES_AGAIN_NS), BASE_NEVER_NS);
	assert_int_equal(fake.opened, 1);
}

static void
who_is_no_relay_is_left_alone(void **state)
{
	(void)state;
	begin(ONE);
	(void)door_sites_seek(&sites, now);
	assert_false(answer(0, RELAY_HELLO_PROCESS, 0));
	assert_string_equal(fake.closed, "not a relay");
	assert_false(client.site[0].up);
	door_sites_down(&sites, 0, true, now);
	assert_int_equal(door_sites_seek(&sites, now + BASE_S_NS), BASE_NEVER_NS);
	assert_int_equal(fake.opened, 1);
}

static void
a_relay_is_called_on_demand(void **state)
{
	(void)state;
	begin(ONE);
	sites.on_demand = true;
	assert_int_equal(door_sites_seek(&sites, now), BASE_NEVER_NS);
	assert_int_equal(fake.opened, 0);
	assert_int_equal(door_client_open(&client, 0, 1, REALM, 0), 0);
	(void)door_sites_seek(&sites, now);
	assert_int_equal(fake.opened, 1);
}

static void
segments_fit_everywhere(void **state)
{
	(void)state;
	begin_up(TWO);
	assert_int_equal(door_sites_mss(&sites, 0), 1300);
	assert_true(answer(1, RELAY_HELLO_RELAY, 0));
	assert_int_equal(door_sites_mss(&sites, 0), 1000);
	assert_int_equal(door_sites_mss(&sites, 1), 1000);
	/* It may come back. */
	door_sites_down(&sites, 1, true, now);
	assert_int_equal(door_sites_mss(&sites, 0), 1000);
}

/* The other relay is called and does not answer. */
static void
a_door_waits_for_the_second_relay(void **state)
{
	struct door_address a = {.realm = REALM, .label = 4, .n = 1, .nrelays = 1};
	uint8_t at[DOOR_ADDRESS_MAX], b[RELAY_DOOR_NOTE_MAX];
	struct relay_door_note n = {.op = RELAY_DOOR_ADDRESS};
	(void)state;
	begin(TWO);
	(void)door_sites_seek(&sites, now);
	assert_int_equal(door_client_open(&client, 0, 1, REALM, 0), 0);
	assert_true(answer(0, RELAY_HELLO_RELAY, 0));
	dirty = false;
	assert_int_equal(door_sites_turn(&sites, now), now + DOOR_SITES_LOOK_NS);
	assert_true(dirty);
	assert_int_equal(fake.notes, 1);
	assert_int_equal(fake.said.op, RELAY_DOOR_REGISTER);

	a.token = own[0].at.token;
	a.relay[0] = (struct door_relay){0xc0000201, 7812};
	n.request = fake.said.request;
	n.address.at = at;
	n.address.len = (uint8_t)door_address_encode(&a, at);
	door_client_note(&client, 0, b, relay_door_encode(&n, b));
	/* Whoever has no turns hears nothing. */
	now += 10 * BASE_S_NS;
	for (uint64_t left = DOOR_SITES_HURRY_NS - 2 * DOOR_SITES_LOOK_NS; left;
	     left -= DOOR_SITES_LOOK_NS, now += DOOR_SITES_LOOK_NS) {
		assert_int_equal(door_sites_turn(&sites, now), now + DOOR_SITES_LOOK_NS);
		assert_int_equal(opened, 0);
	}
	assert_int_equal(door_sites_turn(&sites, now), BASE_NEVER_NS);
	assert_int_equal(opened, 1);
	assert_int_equal(own[0].state, DOOR_CLIENT_HAVE);
}

static void
what_has_no_room_is_said_soon(void **state)
{
	(void)state;
	begin_up(ONE);
	(void)door_client_open(&client, 0, 1, REALM, 0);
	fake.full = true;
	assert_int_equal(door_sites_turn(&sites, now), now + DOOR_CLIENT_SOON_NS);
	fake.full = false;
	assert_int_equal(door_sites_turn(&sites, now), BASE_NEVER_NS);
	assert_int_equal(fake.notes, 1);
}

static void
a_silent_relay_is_asked_and_given_up(void **state)
{
	(void)state;
	begin_up(ONE);
	for (uint32_t s = 1; s <= 12; s++) {
		uint64_t at = now + s * BASE_S_NS;
		fake.last_rx_ns = s < 3 ? at : fake.last_rx_ns;
		dirty = false;
		door_sites_listen(&sites, BASE_S_NS, 10 * BASE_S_NS, at);
		assert_int_equal(fake.pings, s < 3 ? 0 : s < 12 ? s - 2 : 9);
		assert_int_equal(fake.silent, s == 12);
		assert_int_equal(dirty, s >= 3);
	}
	/* It is silent for no longer than it was listened to, and never gone without a limit. */
	assert_true(answer(0, RELAY_HELLO_RELAY, 0));
	door_sites_listen(&sites, 0, 10 * BASE_S_NS, now + 100 * BASE_S_NS);
	door_sites_listen(&sites, 9 * BASE_S_NS, 10 * BASE_S_NS, now + 200 * BASE_S_NS);
	door_sites_listen(&sites, 90 * BASE_S_NS, 0, now + 300 * BASE_S_NS);
	assert_int_equal(fake.silent, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relays_are_named),
		cmocka_unit_test(all_are_called_and_called_again),
		cmocka_unit_test(a_call_without_room_comes_later),
		cmocka_unit_test(who_is_no_relay_is_left_alone),
		cmocka_unit_test(a_relay_is_called_on_demand),
		cmocka_unit_test(segments_fit_everywhere),
		cmocka_unit_test(a_door_waits_for_the_second_relay),
		cmocka_unit_test(what_has_no_room_is_said_soon),
		cmocka_unit_test(a_silent_relay_is_asked_and_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
