/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of doors: golden bytes and text, written from doc/wire.md and not from the encoder;
 * what the strict reader refuses. */
#include "cmocka_all.h"

#include "door/address.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/siphash.h"

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
	assert_memory_equal(&back, &sample, sizeof back);
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
	assert_memory_equal(&back, &sample, sizeof back);
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
		{"version 2", 0, 0x22, DOOR_ERR_VERSION},
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
		cmocka_unit_test(text_both_ways),
		cmocka_unit_test(bad_bytes_are_refused),
		cmocka_unit_test(bad_relays_are_refused),
		cmocka_unit_test(any_other_bit_is_damage),
		cmocka_unit_test(bad_texts_are_refused),
		cmocka_unit_test(proof_is_of_token_realm_and_label),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
