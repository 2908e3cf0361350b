/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of doors: golden bytes and text, written from doc/wire.md and not from the encoder;
 * what the strict reader refuses. */
#include "cmocka_all.h"

#include "door/address.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/siphash.h"

#include <stddef.h>
#include <string.h>

static const struct door_address sample = {.realm = 0x0102030405060708,
					   .token = 0x1112131415161718,
					   .cluster = 0xa1b2c3d4,
					   .label = 0x00040102,
					   .n = 4,
					   .nrelays = 2,
					   .relay = {{0xc0000201, 7812}, {0xc0000202, 7813}}};

static const uint8_t golden[44] = {
	0x12, 0,    0,	  4,	0xa1, 0xb2, 0xc3, 0xd4,			  /* to the cluster */
	1,    2,    3,	  4,	5,    6,    7,	  8,			  /* realm */
	0,    4,    1,	  2,						  /* label */
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,			  /* token */
	192,  0,    2,	  1,	0x1e, 0x84, 192,  0,	2, 2, 0x1e, 0x85, /* relays */
	0,    0,    0,	  0,						  /* crc32c */
};

/* A process that has IPv6 alone. */
static const uint8_t place6[16] = {0xfd, 0, 0x57, 0xa6, [15] = 2};
static const uint8_t golden6[50] = {
	0x21, 1,    0,	  1,	0xa1, 0xb2, 0xc3, 0xd4, /* to the cluster */
	1,    2,    3,	  4,	5,    6,    7,	  8,	/* realm */
	0,    0,    0,	  17,				/* label */
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* token */
	0xfd, 0,    0x57, 0xa6, 0,    0,    0,	  0,	/* place */
	0,    0,    0,	  0,	0,    0,    0,	  2,	/* its end */
	0x1e, 0x84, 0,	  0,	0,    0,		/* port, crc32c */
};

/* The bytes with their checksum, as it is after a change. */
static size_t
make_sealed(uint8_t out[64], size_t len)
{
	be32_store(out + len - 4, base_crc32c(0, out, len - 4));
	return len;
}

static void
address_golden_both_ways(void **state)
{
	(void)state;
	uint8_t want[64], out[DOOR_ADDRESS_MAX];
	struct door_address back;
	memcpy(want, golden, sizeof golden);
	size_t len = make_sealed(want, sizeof golden);
	assert_int_equal(door_address_encode(&sample, out), len);
	assert_memory_equal(out, want, len);
	assert_int_equal(door_address_decode(want, len, &back), 0);
	assert_true(door_address_same(&back, &sample));
}

static struct door_address
make_process(const uint8_t ip[16])
{
	struct door_address a = {.realm = sample.realm,
				 .token = sample.token,
				 .cluster = sample.cluster,
				 .label = 17,
				 .n = 1};
	door_address_put_place(&a, ip, 7812);
	return a;
}

/* Memory between fields does not count, each field does. */
static void
same_by_fields(void **state)
{
	static const struct {
		size_t at;
		const char *name;
	} field[] = {
#define FIELD(f) {offsetof(struct door_address, f), #f}
		FIELD(realm), FIELD(token),   FIELD(cluster),	    FIELD(label),
		FIELD(n),     FIELD(flags),   FIELD(relay[0].ipv4), FIELD(relay[1].port),
		FIELD(six),   FIELD(nrelays),
#undef FIELD
	};
	struct door_address a, b;

	(void)state;
	memset(&a, 0x55, sizeof a);
	a.realm = sample.realm, a.token = sample.token, a.cluster = sample.cluster;
	a.label = sample.label, a.n = sample.n, a.flags = sample.flags, a.nrelays = 2;
	for (int i = 0; i < 2; i++)
		a.relay[i].ipv4 = sample.relay[i].ipv4, a.relay[i].port = sample.relay[i].port;
	memset(a.six, 0, sizeof a.six);
	assert_true(door_address_same(&a, &sample));
	for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
		memcpy(&b, &a, sizeof b);
		((uint8_t *)&b)[field[i].at] ^= 1;
		if (door_address_same(&a, &b))
			fail_msg("%s does not count", field[i].name);
	}
}

static void
places_of_ipv6_both_ways(void **state)
{
	(void)state;
	uint8_t want[64], out[DOOR_ADDRESS_MAX], ip[16];
	struct door_address a = make_process(place6), back;
	memcpy(want, golden6, sizeof golden6);
	size_t len = make_sealed(want, sizeof golden6);
	assert_int_equal(door_address_encode(&a, out), len);
	assert_memory_equal(out, want, len);
	assert_int_equal(door_address_decode(want, len, &back), 0);
	assert_true(door_address_same(&back, &a));
	door_address_place(&back, ip);
	assert_memory_equal(ip, place6, sizeof ip);
	assert_int_equal(back.relay[0].port, 7812);
	for (size_t cut = 1; cut < len; cut++)
		assert_int_equal(door_address_decode(want, cut, &back), DOOR_ERR_SHORT);
	assert_int_equal(door_address_decode(want, len + 1, &back), DOOR_ERR_LONG);
}

/* Behind two relays, and where it is for those of its cluster. */
static void
near_places_both_ways(void **state)
{
	(void)state;
	uint8_t want[64], out[DOOR_ADDRESS_MAX];
	struct door_address a = sample, back;
	assert_true(door_address_put_near(&a, 0x0a000001, 7812));
	memcpy(want, golden, sizeof golden);
	want[0] = 0x32;
	be32_store(want + 40, 0x0a000001);
	be16_store(want + 44, 7812);
	size_t len = make_sealed(want, sizeof golden + 6);
	assert_int_equal(len, DOOR_ADDRESS_MAX);
	assert_int_equal(door_address_encode(&a, out), len);
	assert_memory_equal(out, want, len);
	assert_int_equal(door_address_decode(want, len, &back), 0);
	assert_true(door_address_same(&back, &sample)); /* the same door */
	assert_int_equal(back.near.ipv4, 0x0a000001);
	assert_int_equal(back.near.port, 7812);
	for (size_t cut = 1; cut < len; cut++)
		assert_int_equal(door_address_decode(want, cut, &back), DOOR_ERR_SHORT);
	assert_int_equal(door_address_decode(want, len + 1, &back), DOOR_ERR_LONG);
}

static void
near_places_that_cannot_be(void **state)
{
	static const struct {
		const char *name;
		uint8_t at, value, head;
	} row[] = {
		{"no address", 40, 0, 0x32},	 {"no port", 44, 0, 0x32},
		{"three relays", 45, 1, 0x33},	 {"a process", 1, 1, 0x32},
		{"a process alone", 1, 1, 0x31}, {"no relay", 45, 1, 0x30},
	};
	struct door_address three = sample, back;

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		uint8_t bytes[64] = {0};
		size_t len = 28 + 6u * (row[i].head & 15) + 6 + 4;
		memcpy(bytes, golden, 40);
		bytes[0] = row[i].head;
		memcpy(bytes + len - 10, (uint8_t[]){10, 0, 0, 1, 0x1e, 0x84}, 6);
		if (row[i].at < 40)
			bytes[row[i].at] = row[i].value;
		else if (row[i].value == 0)
			memset(bytes + len - 10 + (row[i].at - 40), 0, row[i].at == 40 ? 4 : 2);
		if (door_address_decode(bytes, make_sealed(bytes, len), &back) != DOOR_ERR_FIELD)
			fail_msg("%s is read", row[i].name);
	}
	three.nrelays = 3;
	three.relay[2] = (struct door_relay){0xc0000203, 7814};
	assert_false(door_address_put_near(&three, 0x0a000001, 7812));
}

/* As all have known it. */
static void
places_of_ipv4_are_version_1(void **state)
{
	(void)state;
	static const uint8_t ip[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
	uint8_t out[DOOR_ADDRESS_MAX], back[16];
	struct door_address a = make_process(ip);
	assert_int_equal(door_address_encode(&a, out), DOOR_ADDRESS_MIN);
	assert_int_equal(out[0], 0x11);
	assert_int_equal(a.relay[0].ipv4, 0xc0000201);
	door_address_place(&a, back);
	assert_memory_equal(back, ip, sizeof ip);
	/* Whoever had the other kind before has this one now. */
	a = make_process(place6);
	door_address_put_place(&a, ip, 7812);
	assert_int_equal(door_address_encode(&a, out), DOOR_ADDRESS_MIN);
}

static void
bad_places_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t at;
		uint8_t value[16];
		size_t len;
	} cases[] = {
		{"two relays", 0, {0x22}, 1},
		{"no relay", 0, {0x20}, 1},
		{"not a process", 1, {0}, 1},
		{"nowhere", 28, {0}, 16},
		{"IPv4 in another form", 28, {[10] = 0xff, 0xff, 192, 0, 2, 1}, 16},
		{"link-local", 28, {0xfe, 0xbf}, 2},
		{"multicast", 28, {0xff}, 1},
		{"no port", 44, {0, 0}, 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t in[64];
		struct door_address a = {.label = 42};
		print_message("%s\n", cases[i].name);
		memcpy(in, golden6, sizeof golden6);
		memcpy(in + cases[i].at, cases[i].value, cases[i].len);
		make_sealed(in, sizeof golden6);
		assert_int_equal(door_address_decode(in, sizeof golden6, &a), DOOR_ERR_FIELD);
		assert_int_equal(a.label, 42);
	}
	struct door_address a = make_process(place6);
	uint8_t out[DOOR_ADDRESS_MAX];
	a.flags = 0;
	assert_int_equal(door_address_encode(&a, out), 0);
	a = make_process(place6);
	a.relay[0].ipv4 = 1;
	assert_int_equal(door_address_encode(&a, out), 0);
}

static void
text_both_ways(void **state)
{
	(void)state;
	char text[DOOR_TEXT_MAX];
	struct door_address back, most = sample;
	assert_int_equal(door_address_print(&sample, text), 0);
	/* The first 12 bytes, by hand. */
	assert_memory_equal(text, "door:EgAABKGyw9QBAgME", 21);
	assert_int_equal(door_address_parse(text, &back), 0);
	assert_true(door_address_same(&back, &sample));
	most.nrelays = 3;
	most.relay[2] = (struct door_relay){0xc0000203, 1};
	assert_int_equal(door_address_print(&most, text), 0);
	assert_int_equal(strlen(text), DOOR_TEXT_MAX - 1);
	most.n = 0;
	assert_int_equal(door_address_print(&most, text), DOOR_ERR_FIELD);
	assert_string_equal(text, "");
}

static void
bad_bytes_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t at;
		uint8_t value;
		int err;
	} cases[] = {
		{"version 4", 0, 0x42, DOOR_ERR_VERSION},
		{"version 2, of relays", 0, 0x22, DOOR_ERR_FIELD},
		{"no relay", 0, 0x10, DOOR_ERR_FIELD},
		{"four relays", 0, 0x14, DOOR_ERR_FIELD},
		{"one relay less", 0, 0x11, DOOR_ERR_LONG},
		{"one relay more", 0, 0x13, DOOR_ERR_SHORT},
		{"flag 2", 1, 2, DOOR_ERR_FIELD},
		{"process and two relays", 1, 1, DOOR_ERR_FIELD},
		{"no label", 3, 0, DOOR_ERR_FIELD},
		{"labels beyond", 16, 1, DOOR_ERR_FIELD},
		{"another port", 33, 0, DOOR_ERR_OK},
		{"another relay", 37, 1, DOOR_ERR_OK},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t in[64];
		struct door_address a = {.label = 42};
		print_message("%s\n", cases[i].name);
		memcpy(in, golden, sizeof golden);
		in[cases[i].at] = cases[i].value;
		make_sealed(in, sizeof golden);
		int err = door_address_decode(in, sizeof golden, &a);
		assert_int_equal(err, cases[i].err);
		assert_int_equal(a.label, err ? 42 : 0x00040102);
		assert_true(strlen(door_strerror(err)) > 5);
	}
}

/* Fields that take two bytes to be wrong. */
static void
bad_relays_are_refused(void **state)
{
	(void)state;
	struct door_address a = sample;
	uint8_t out[DOOR_ADDRESS_MAX];
	a.relay[1] = a.relay[0];
	assert_int_equal(door_address_encode(&a, out), 0);
	a.relay[1].port = 0;
	assert_int_equal(door_address_encode(&a, out), 0);
	a.relay[1] = (struct door_relay){0, 1};
	assert_int_equal(door_address_encode(&a, out), 0);
	a = sample;
	a.label = DOOR_LABELS_END - 3;
	assert_int_equal(door_address_encode(&a, out), 0);
	a.label = DOOR_LABELS_END - 4;
	assert_int_equal(door_address_encode(&a, out), 44);
}

static void
any_other_bit_is_damage(void **state)
{
	(void)state;
	uint8_t in[64];
	struct door_address a;
	memcpy(in, golden, sizeof golden);
	make_sealed(in, sizeof golden);
	for (size_t len = 1; len < sizeof golden; len++)
		assert_int_equal(door_address_decode(in, len, &a), DOOR_ERR_SHORT);
	assert_int_equal(door_address_decode(in, 0, &a), DOOR_ERR_SHORT);
	assert_int_equal(door_address_decode(in, sizeof golden + 1, &a), DOOR_ERR_LONG);
	for (size_t i = 8; i < 8 * sizeof golden; i++) {
		in[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(door_address_decode(in, sizeof golden, &a), DOOR_ERR_DAMAGED);
		in[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

static void
bad_texts_are_refused(void **state)
{
	(void)state;
	char text[DOOR_TEXT_MAX + 80];
	struct door_address a;
	assert_int_equal(door_address_parse("", &a), DOOR_ERR_TEXT);
	assert_int_equal(door_address_parse("door:", &a), DOOR_ERR_SHORT);
	assert_int_equal(door_address_parse("door:EgAA BKGy", &a), DOOR_ERR_TEXT);
	assert_int_equal(door_address_parse("Door:EgAABKGy", &a), DOOR_ERR_TEXT);
	assert_int_equal(door_address_print(&sample, text), 0);
	size_t len = strlen(text);
	text[len - 1] = 'B'; /* bits behind the last byte */
	assert_int_equal(door_address_parse(text, &a), DOOR_ERR_SHORT);
	text[len - 1] = 0;
	assert_int_equal(door_address_parse(text, &a), DOOR_ERR_SHORT);
	memset(text + len - 1, 'A', 70);
	text[len + 69] = 0;
	assert_int_equal(door_address_parse(text, &a), DOOR_ERR_LONG);
}

static void
proof_is_of_token_realm_and_label(void **state)
{
	(void)state;
	static const uint8_t key[16] = {0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
					0x17, 0x18, 'd',  'o',	'o',  'r'};
	static const uint8_t said[12] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 4, 1, 2};
	assert_int_equal(door_proof(&sample), base_siphash(key, said, sizeof said));
	struct door_address a = sample;
	a.n = 1; /* no part of it */
	assert_int_equal(door_proof(&a), door_proof(&sample));
	a.label++;
	assert_int_not_equal(door_proof(&a), door_proof(&sample));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_golden_both_ways),
		cmocka_unit_test(same_by_fields),
		cmocka_unit_test(places_of_ipv6_both_ways),
		cmocka_unit_test(near_places_both_ways),
		cmocka_unit_test(near_places_that_cannot_be),
		cmocka_unit_test(places_of_ipv4_are_version_1),
		cmocka_unit_test(bad_places_are_refused),
		cmocka_unit_test(text_both_ways),
		cmocka_unit_test(bad_bytes_are_refused),
		cmocka_unit_test(bad_relays_are_refused),
		cmocka_unit_test(any_other_bit_is_damage),
		cmocka_unit_test(bad_texts_are_refused),
		cmocka_unit_test(proof_is_of_token_realm_and_label),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
