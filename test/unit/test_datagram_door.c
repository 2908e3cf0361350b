/* SPDX-License-Identifier: BSD-2-Clause */
/* Doors of libsuci without a relay: addresses, ids beyond the database, what is refused. */
#include "datagram_kit.h"

#include "door/address.h"

#define REALM 0x1234567890abcdefu

static struct datagram_sock *
open_door_at(const char *ip, uint32_t doors, uint64_t realm)
{
	struct datagram_conf c;
	datagram_conf_init(&c);
	c.ip = ip;
	c.doors = doors;
	c.realm = realm;
	c.close_ms = 100;
	c.sockbuf_bytes = 1u << 20;
	struct datagram_sock *s = datagram_open_with(&c);
	if (!s)
		print_error("%s\n", datagram_error(NULL));
	assert_non_null(s);
	return s;
}

static struct datagram_sock *
open_door(uint32_t doors, uint64_t realm)
{
	return open_door_at("127.0.0.1", doors, realm);
}

/* Two sockets, and the address of the first. */
static void
open_pair(struct kit *k, char address[DATAGRAM_ADDRESS_MAX])
{
	*k = (struct kit){.n = 2};
	k->s[0] = open_door(4, REALM);
	k->s[1] = open_door(4, REALM);
	assert_int_equal(datagram_address(k->s[0], address), 0);
}

static void
send_to(struct kit *k, uint32_t from, int64_t id, const char *text)
{
	assert_int_equal(datagram_destination(k->s[from], (uint32_t)id), 0);
	assert_int_equal(datagram_write0(k->s[from], text, strlen(text) + 1), strlen(text) + 1);
}

/* Returns the id it came from. */
static int64_t
expect_at(struct kit *k, uint32_t at, const char *text)
{
	char got[64];
	KIT_UNTIL(k, datagram_peek(k->s[at], NULL, NULL) == 1);
	assert_int_equal(datagram_read0(k->s[at], got, sizeof got), strlen(text) + 1);
	assert_string_equal(got, text);
	return datagram_source(k->s[at]);
}

static void
strangers_meet(void **state)
{
	(void)state;
	struct kit k;
	char address[DATAGRAM_ADDRESS_MAX], again[DATAGRAM_ADDRESS_MAX];
	open_pair(&k, address);
	assert_int_equal(datagram_address(k.s[0], again), 0);
	assert_string_equal(again, address);
	assert_int_equal(datagram_open_at(k.s[0], address), 0); /* itself */
	int64_t there = datagram_open_at(k.s[1], address);
	assert_true(there >= DATAGRAM_DOOR_ID);
	assert_int_equal(datagram_open_at(k.s[1], address), there);
	send_to(&k, 1, there, "question");
	int64_t from = expect_at(&k, 0, "question");
	assert_true(from >= DATAGRAM_DOOR_ID);
	send_to(&k, 0, from, "answer");
	assert_int_equal(expect_at(&k, 1, "answer"), there);
	/* Who opens the address of who came has the same id. */
	assert_int_equal(datagram_address(k.s[1], again), 0);
	assert_int_equal(datagram_open_at(k.s[0], again), from);
	datagram_priority(k.s[0], (uint32_t)from, 3);
	send_to(&k, 0, from, "urgent");
	assert_int_equal(expect_at(&k, 1, "urgent"), there);
	kit_fini(&k);
}

/* An address has one kind; who has another one is told, and who has both reaches both. */
static void
strangers_meet_by_ipv6(void **state)
{
	(void)state;
	if (access("/proc/net/if_inet6", F_OK) != 0)
		skip();
	struct kit k = {.n = 3};
	char address[DATAGRAM_ADDRESS_MAX], other[DATAGRAM_ADDRESS_MAX];
	k.s[0] = open_door_at("::1", 4, REALM);
	k.s[1] = open_door_at("::", 4, REALM);
	k.s[2] = open_door(4, REALM);
	assert_int_equal(datagram_address(k.s[0], address), 0);
	assert_int_equal(datagram_address(k.s[2], other), 0);
	int64_t there = datagram_open_at(k.s[1], address);
	assert_true(there >= DATAGRAM_DOOR_ID);
	send_to(&k, 1, there, "question");
	int64_t from = expect_at(&k, 0, "question");
	send_to(&k, 0, from, "answer");
	assert_int_equal(expect_at(&k, 1, "answer"), there);
	send_to(&k, 1, datagram_open_at(k.s[1], other), "question");
	expect_at(&k, 2, "question");
	assert_int_equal(datagram_open_at(k.s[2], address), -1);
	assert_int_equal(errno, EAFNOSUPPORT);
	assert_non_null(strstr(datagram_error(k.s[2]), "is IPv6, and conf.ip is IPv4"));
	assert_int_equal(datagram_open_at(k.s[0], other), -1);
	assert_non_null(strstr(datagram_error(k.s[0]), "is IPv4, and conf.ip is IPv6"));
	assert_int_equal(datagram_address(k.s[1], other), -1);
	assert_int_equal(errno, EINVAL);
	kit_fini(&k);
}

static void
large_blocks_pass(void **state)
{
	(void)state;
	struct kit k;
	char address[DATAGRAM_ADDRESS_MAX];
	size_t len = 3u << 20;
	uint8_t *out = malloc(len), *in = malloc(len);
	assert_true(out && in);
	open_pair(&k, address);
	int64_t there = datagram_open_at(k.s[1], address);
	kit_fill(out, len, 7);
	assert_int_equal(datagram_destination(k.s[1], (uint32_t)there), 0);
	assert_int_equal(datagram_write0(k.s[1], out, len), len);
	KIT_UNTIL(&k, datagram_peek(k.s[0], NULL, NULL) == 1);
	assert_int_equal(datagram_read0(k.s[0], in, len), len);
	kit_check(in, len, 7);
	kit_fini(&k);
	free(out);
	free(in);
}

/* Blocks that are on their way to who does not answer are given up with the id. */
static void
a_door_is_closed_with_blocks_on_their_way(void **state)
{
	(void)state;
	struct kit k;
	char address[DATAGRAM_ADDRESS_MAX], block[3000] = "";
	open_pair(&k, address);
	int64_t there = datagram_open_at(k.s[1], address);
	send_to(&k, 1, there, "first");
	expect_at(&k, 0, "first");
	assert_int_equal(datagram_destination(k.s[1], (uint32_t)there), 0);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(datagram_write0(k.s[1], block, sizeof block), sizeof block);
	assert_true(datagram_queue_length(k.s[1], (uint32_t)there) > 0);
	assert_int_equal(datagram_close_at(k.s[1], (uint32_t)there), 0);
	(void)datagram_progress(k.s[1]);
	assert_int_equal(datagram_close_at(k.s[1], (uint32_t)there), -1);
	kit_fini(&k);
}

/* The error that writing to the id ends with. */
static int
error_of(struct kit *k, uint32_t at, int64_t id)
{
	assert_int_equal(datagram_destination(k->s[at], (uint32_t)id), 0);
	assert_true(datagram_write0(k->s[at], "x", 1) == 1);
	KIT_UNTIL(k, datagram_queue_length(k->s[at], (uint32_t)id) < 0);
	return errno;
}

static void
what_proves_nothing_is_refused(void **state)
{
	(void)state;
	struct kit k;
	char address[DATAGRAM_ADDRESS_MAX], text[DOOR_TEXT_MAX];
	struct door_address a;
	open_pair(&k, address);
	assert_int_equal(door_address_parse(address, &a), 0);
	a.token ^= 1;
	assert_int_equal(door_address_print(&a, text), 0);
	int64_t id = datagram_open_at(k.s[1], text);
	assert_true(id >= DATAGRAM_DOOR_ID);
	assert_int_equal(error_of(&k, 1, id), ECONNREFUSED);
	print_message("  %s\n", datagram_error(k.s[1]));
	assert_non_null(strstr(datagram_error(k.s[1]), "nobody here has that address"));
	/* Another address at the same place. */
	assert_int_equal(datagram_open_at(k.s[1], address), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(datagram_close_at(k.s[1], (uint32_t)id), 0);
	assert_int_equal(datagram_close_at(k.s[1], (uint32_t)id), -1);
	assert_int_equal(errno, ENOENT);
	int64_t good = datagram_open_at(k.s[1], address);
	assert_true(good >= DATAGRAM_DOOR_ID && good != id);
	send_to(&k, 1, good, "proved");
	expect_at(&k, 0, "proved");
	kit_fini(&k);
}

static void
bad_addresses_are_named(void **state)
{
	(void)state;
	struct kit k;
	char address[DATAGRAM_ADDRESS_MAX], text[DOOR_TEXT_MAX];
	struct door_address a;
	open_pair(&k, address);
	assert_int_equal(datagram_open_at(k.s[1], "10.0.0.1:7700"), -1);
	assert_int_equal(errno, EINVAL);
	address[20] ^= 1;
	assert_int_equal(datagram_open_at(k.s[1], address), -1);
	assert_int_equal(errno, EINVAL);
	address[20] ^= 1;
	assert_int_equal(door_address_parse(address, &a), 0);
	a.realm++;
	assert_int_equal(door_address_print(&a, text), 0);
	assert_int_equal(datagram_open_at(k.s[1], text), -1);
	assert_int_equal(errno, EACCES);
	a.realm--;
	a.flags = 0;
	assert_int_equal(door_address_print(&a, text), 0);
	assert_int_equal(datagram_open_at(k.s[1], text), -1);
	assert_int_equal(errno, EHOSTUNREACH);
	assert_int_equal(datagram_destination(k.s[1], DATAGRAM_DOOR_ID), -1);
	assert_int_equal(errno, ENOENT);
	kit_fini(&k);
}

/* Who is gone is gone; who is in its place is not it. */
static void
stale_addresses_reach_nobody(void **state)
{
	(void)state;
	struct kit k;
	char address[DATAGRAM_ADDRESS_MAX];
	struct door_address a;
	open_pair(&k, address);
	int64_t id = datagram_open_at(k.s[1], address);
	send_to(&k, 1, id, "first");
	expect_at(&k, 0, "first");
	datagram_close(k.s[0]);
	assert_int_equal(door_address_parse(address, &a), 0);
	struct datagram_conf c;
	datagram_conf_init(&c);
	c.ip = "127.0.0.1";
	c.port = a.relay[0].port;
	c.doors = 1;
	c.realm = REALM;
	c.close_ms = 100;
	char other[DATAGRAM_ADDRESS_MAX];
	k.s[0] = datagram_open_with(&c);
	assert_non_null(k.s[0]);
	assert_int_equal(datagram_address(k.s[0], other), 0);
	assert_string_not_equal(other, address);
	struct datagram_info info;
	KIT_UNTIL(&k, !datagram_info(k.s[1], (uint32_t)id, &info) && info.state == DATAGRAM_IDLE);
	assert_int_equal(error_of(&k, 1, id), ECONNREFUSED);
	kit_fini(&k);
}

static void
ids_are_bounded(void **state)
{
	(void)state;
	struct kit k = {.n = 4};
	char address[DATAGRAM_ADDRESS_MAX];
	k.s[0] = open_door(2, REALM);
	assert_int_equal(datagram_address(k.s[0], address), 0);
	for (uint32_t i = 1; i < 4; i++)
		k.s[i] = open_door(1, REALM);
	int64_t id[4] = {0}, from[4] = {0};
	for (uint32_t i = 1; i < 3; i++) {
		id[i] = datagram_open_at(k.s[i], address);
		send_to(&k, i, id[i], "in");
		from[i] = expect_at(&k, 0, "in");
	}
	assert_true(from[1] != from[2]);
	id[3] = datagram_open_at(k.s[3], address);
	assert_int_equal(error_of(&k, 3, id[3]), ECONNREFUSED);
	assert_non_null(strstr(datagram_error(k.s[3]), "as many doors as it may"));
	/* One leaves, and its place is free; its id is nobody's. */
	datagram_close(k.s[1]);
	k.s[1] = NULL;
	struct datagram_info info;
	KIT_UNTIL(&k, datagram_info(k.s[0], (uint32_t)from[1], &info) < 0);
	send_to(&k, 3, id[3], "now");
	from[3] = expect_at(&k, 0, "now");
	assert_true(from[3] != from[1] && from[3] != from[2]);
	assert_int_equal(datagram_destination(k.s[0], (uint32_t)from[1]), -1);
	kit_fini(&k);
}

static void
bad_configurations_are_named(void **state)
{
	(void)state;
	struct datagram_conf c;
	datagram_conf_init(&c);
	assert_null(datagram_open_with(&c));
	assert_int_equal(errno, EINVAL);
	c.doors = 65536;
	assert_null(datagram_open_with(&c));
	assert_int_equal(errno, EINVAL);
	c.doors = 1;
	c.relay = "10.0.0.254";
	assert_null(datagram_open_with(&c));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(datagram_error(NULL), "10.0.0.254:7812"));
	c.relay = NULL;
	struct datagram_sock *s = datagram_open_with(&c);
	assert_non_null(s);
	char address[DATAGRAM_ADDRESS_MAX];
	assert_int_equal(datagram_address(s, address), -1); /* where are we? */
	assert_int_equal(errno, EINVAL);
	datagram_close(s);
}

static void
open_no_claim(struct datagram_conf c, const char *relay, uint64_t realm, const char *address,
	      const char *says)
{
	c.relay = relay;
	c.realm = realm;
	c.address = address;
	assert_null(datagram_open_with(&c));
	assert_int_equal(errno, EINVAL);
	if (!strstr(datagram_error(NULL), says))
		fail_msg("%s", datagram_error(NULL));
}

/* Addresses that are known before anybody has them. */
static void
claims_are_read(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "127.0.0.1", "[::1]:7812", "127.0.0.1:1,127.0.0.1:1",
					  "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"};
	char at[DATAGRAM_ADDRESS_MAX], again[DATAGRAM_ADDRESS_MAX];
	struct datagram_claim claim = {.realm = REALM};
	struct datagram_conf c;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		claim.relay = bad[i];
		assert_int_equal(datagram_address_for(&claim, at), -1);
		assert_int_equal(errno, EINVAL);
		assert_non_null(strstr(datagram_error(NULL), "IPv4:port"));
	}
	claim.relay = "192.0.2.1:7812";
	claim.number = DATAGRAM_CLAIMS;
	assert_int_equal(datagram_address_for(&claim, at), -1);
	assert_non_null(strstr(datagram_error(NULL), "number"));
	claim.number--;
	assert_int_equal(datagram_address_for(&claim, at), 0);
	assert_int_equal(datagram_address_for(&claim, again), 0);
	assert_string_equal(at, again);
	datagram_conf_init(&c);
	c.doors = 1;
	open_no_claim(c, "10.0.0.254:7812", REALM + 1, at, "realm");
	open_no_claim(c, NULL, REALM, at, "conf.relay");
	open_no_claim(c, "10.0.0.254:7812,10.0.0.253:7812", REALM, at, "number of relays");
	again[9] ^= 1;
	open_no_claim(c, "10.0.0.254:7812", REALM, again, "address");
	struct door_address other = {
		.realm = REALM, .label = 5, .n = 4, .nrelays = 1, .relay = {{1, 1}}};
	assert_int_equal(door_address_print(&other, again), 0);
	open_no_claim(c, "10.0.0.254:7812", REALM, again, "datagram_address_for");
	c.doors = 0;
	open_no_claim(c, NULL, REALM, at, "doors");
	c.doors = 1;
	c.ip = "127.0.0.1";
	struct datagram_sock *s = datagram_open_with(&c);
	assert_int_equal(datagram_claimed(s), -1);
	assert_int_equal(errno, EINVAL);
	datagram_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers_meet),
		cmocka_unit_test(strangers_meet_by_ipv6),
		cmocka_unit_test(large_blocks_pass),
		cmocka_unit_test(a_door_is_closed_with_blocks_on_their_way),
		cmocka_unit_test(what_proves_nothing_is_refused),
		cmocka_unit_test(bad_addresses_are_named),
		cmocka_unit_test(stale_addresses_reach_nobody),
		cmocka_unit_test(ids_are_bounded),
		cmocka_unit_test(bad_configurations_are_named),
		cmocka_unit_test(claims_are_read),
	};
	return cmocka_run_group_tests_name("datagram doors", tests, NULL, NULL);
}
