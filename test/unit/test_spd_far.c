/* SPDX-License-Identifier: BSD-2-Clause */
/* What daemons of two sites tell each other: sessions, keys, what is said again. */
#include "cmocka_all.h"
#include "spd/far.h"
#include "../toy_aead.h"

#include <stdlib.h>
#include <string.h>

#define UNITS 4u
#define ROOM  256u

static const struct seal_psk keys[] = {{.id = 7, .secret = "seven"}, {.id = 8, .secret = "eight"}};

struct two {
	struct spd_far *a, *b; /* units 1 and 3 */
	uint8_t bytes[ROOM];
	size_t n;
};

static struct spd_far *
make_end(uint32_t me, uint64_t session, const struct seal_psk *key, uint32_t n)
{
	struct spd_far *f = spd_far_new(toy_aead(), UNITS, me, session);

	assert_non_null(f);
	spd_far_keys(f, key, n);
	return f;
}

static enum spd_far_got
open_at(struct spd_far *f, const uint8_t *bytes, size_t n, const char *says)
{
	uint8_t copy[ROOM];
	const uint8_t *block = NULL;
	uint32_t unit = 99;
	size_t len = 0;

	memcpy(copy, bytes, n);
	enum spd_far_got got = spd_far_open(f, copy, n, &unit, &block, &len);
	if (got == SPD_FAR_BLOCK) {
		assert_int_equal(len, strlen(says));
		assert_memory_equal(block, says, len);
	}
	return got;
}

static enum spd_far_got
greet(struct two *t, bool from_a)
{
	t->n = spd_far_hello(from_a ? t->a : t->b, from_a ? 3 : 1, t->bytes);
	return open_at(from_a ? t->b : t->a, t->bytes, t->n, "");
}

static enum spd_far_got
tell(struct two *t, bool from_a, const char *says)
{
	t->n = spd_far_seal(from_a ? t->a : t->b, from_a ? 3 : 1, says, strlen(says), t->bytes);
	return open_at(from_a ? t->b : t->a, t->bytes, t->n, says);
}

/* As often as they ask for it. */
static void
meet_far(struct two *t, bool from_a)
{
	uint32_t said = 1;

	while (greet(t, from_a) == SPD_FAR_ANSWER) {
		from_a = !from_a;
		assert_true(++said <= 5);
	}
	assert_true(spd_far_knows(t->a, 3) && spd_far_knows(t->b, 1));
}

static struct two
make_two_ends(const struct seal_psk *key, uint32_t n)
{
	struct two t = {.a = make_end(1, 11, key, n), .b = make_end(3, 33, key, n)};

	assert_false(spd_far_knows(t.a, 3));
	meet_far(&t, true);
	return t;
}

static void
free_two(struct two *t)
{
	spd_far_free(t->a);
	spd_far_free(t->b);
}

static void
blocks_come_once(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 3; n++) {
		struct two t = make_two_ends(keys, n);
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(tell(&t, true, "from a"), SPD_FAR_BLOCK);
			assert_int_equal(open_at(t.b, t.bytes, t.n, ""), SPD_FAR_NONE);
			assert_int_equal(tell(&t, false, ""), SPD_FAR_BLOCK);
		}
		/* A word that comes twice is no reason for another one. */
		assert_int_equal(greet(&t, true), SPD_FAR_NONE);
		assert_int_equal(greet(&t, false), SPD_FAR_NONE);
		free_two(&t);
	}
}

/* Any bit that is changed is noticed, and what is cut off. */
static void
nothing_is_changed(void **state)
{
	(void)state;
	struct two t = make_two_ends(keys, 1);
	size_t hello = spd_far_hello(t.a, 3, t.bytes);
	for (size_t bit = 0; bit < 8 * hello; bit++) {
		t.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		enum spd_far_got got = open_at(t.b, t.bytes, hello, "");
		assert_true(got == SPD_FAR_BAD || got == SPD_FAR_KEY || got == SPD_FAR_ANSWER);
		t.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(tell(&t, true, "before"), SPD_FAR_BLOCK);
	t.n = spd_far_seal(t.a, 3, "sealed", 6, t.bytes);
	for (size_t bit = 0; bit < 8 * t.n; bit++) {
		t.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(open_at(t.b, t.bytes, t.n, ""), SPD_FAR_BLOCK);
		t.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t n = 0; n < t.n; n++)
		assert_int_not_equal(open_at(t.b, t.bytes, n, ""), SPD_FAR_BLOCK);
	/* For another unit, or of it. */
	struct spd_far *other = make_end(2, 22, keys, 1);
	assert_int_equal(open_at(other, t.bytes, t.n, ""), SPD_FAR_BAD);
	spd_far_free(other);
	assert_int_equal(open_at(t.b, t.bytes, t.n, "sealed"), SPD_FAR_BLOCK);
	free_two(&t);
}

/* Any word may be lost: who does not know says it again, and who does tells something. */
static void
words_are_lost(void **state)
{
	(void)state;
	for (uint32_t lost = 0; lost < 1u << 10; lost++) {
		struct two t = {.a = make_end(1, 11, keys, 1), .b = make_end(3, 33, keys, 1)};
		uint32_t said = 0;
		for (uint32_t turn = 0; turn < 16; turn++) {
			bool from_a = turn % 2;
			bool knows = spd_far_knows(from_a ? t.a : t.b, from_a ? 3 : 1);
			bool answer = true;
			for (uint32_t k = 0; answer && k < 4;
			     k++, from_a = !from_a, knows = false) {
				if (said < 10 && lost >> said++ & 1)
					break;
				answer = (knows ? tell(&t, from_a, "x") : greet(&t, from_a)) ==
					 SPD_FAR_ANSWER;
			}
		}
		assert_int_equal(tell(&t, true, "there"), SPD_FAR_BLOCK);
		assert_int_equal(tell(&t, false, "and back"), SPD_FAR_BLOCK);
		free_two(&t);
	}
}

/* What was said to a life before is nothing, and its session does not come back. */
static void
lives_are_told_apart(void **state)
{
	(void)state;
	struct two t = make_two_ends(keys, 1);
	uint8_t old_block[ROOM], old_hello[ROOM], first[ROOM];
	size_t block_n = spd_far_seal(t.b, 1, "old", 3, old_block);
	size_t hello_n = spd_far_hello(t.b, 1, old_hello);
	spd_far_free(t.b);
	t.b = make_end(3, 34, keys, 1);
	/* The new one hears what is for the one before it. */
	assert_int_equal(tell(&t, true, "to whom?"), SPD_FAR_ANSWER);
	/* It is asked, and not believed before it has said our session. */
	size_t first_n = spd_far_hello(t.b, 1, first);
	assert_int_equal(open_at(t.a, first, first_n, ""), SPD_FAR_ANSWER);
	assert_int_equal(tell(&t, true, "to whom?"), SPD_FAR_ANSWER);
	meet_far(&t, false);
	assert_int_equal(tell(&t, true, "to the new one"), SPD_FAR_BLOCK);
	assert_int_equal(tell(&t, false, "of the new one"), SPD_FAR_BLOCK);
	assert_int_equal(open_at(t.a, old_hello, hello_n, ""), SPD_FAR_NONE);
	assert_int_equal(open_at(t.a, old_block, block_n, ""), SPD_FAR_NONE);
	assert_int_equal(tell(&t, true, "still"), SPD_FAR_BLOCK);
	/* Our own life is another one: what was said to it before is nothing. */
	t.n = spd_far_seal(t.b, 1, "late", 4, t.bytes);
	uint8_t late[ROOM];
	size_t late_n = t.n;
	memcpy(late, t.bytes, t.n);
	spd_far_free(t.a);
	t.a = make_end(1, 12, keys, 1);
	assert_int_equal(open_at(t.a, late, late_n, ""), SPD_FAR_ANSWER);
	assert_int_equal(open_at(t.a, old_hello, hello_n, ""), SPD_FAR_ANSWER);
	assert_false(spd_far_knows(t.a, 3));
	meet_far(&t, true);
	assert_int_equal(open_at(t.a, late, late_n, ""), SPD_FAR_ANSWER);
	assert_int_equal(tell(&t, false, "new"), SPD_FAR_BLOCK);
	free_two(&t);
}

/* The new key behind the old one everywhere, then before it, then alone. */
static void
keys_change_without_a_gap(void **state)
{
	(void)state;
	static const struct seal_psk turned[] = {{.id = 8, .secret = "eight"},
						 {.id = 7, .secret = "seven"}};
	static const struct {
		const struct seal_psk *key;
		uint32_t n;
	} step[] = {{keys, 1}, {keys, 2}, {turned, 2}, {turned, 1}};
	struct two t = make_two_ends(keys, 1);
	for (uint32_t i = 1; i < 4; i++) {
		spd_far_keys(t.a, step[i].key, step[i].n);
		assert_int_equal(tell(&t, true, "one has it"), SPD_FAR_BLOCK);
		assert_int_equal(tell(&t, false, "the other one not"), SPD_FAR_BLOCK);
		spd_far_keys(t.b, step[i].key, step[i].n);
		assert_int_equal(tell(&t, true, "both"), SPD_FAR_BLOCK);
		assert_int_equal(tell(&t, false, "have it"), SPD_FAR_BLOCK);
	}
	/* Another key, or none, or one where we have none. */
	spd_far_keys(t.a, keys, 1);
	assert_int_equal(tell(&t, true, "x"), SPD_FAR_KEY);
	assert_int_equal(greet(&t, true), SPD_FAR_KEY);
	spd_far_keys(t.a, NULL, 0);
	assert_int_equal(tell(&t, true, "x"), SPD_FAR_KEY);
	assert_int_equal(greet(&t, true), SPD_FAR_KEY);
	assert_int_equal(greet(&t, false), SPD_FAR_KEY);
	static const struct seal_psk forged = {.id = 8, .secret = "nine"};
	spd_far_keys(t.a, &forged, 1);
	assert_int_equal(tell(&t, true, "x"), SPD_FAR_KEY);
	assert_int_equal(greet(&t, true), SPD_FAR_KEY);
	free_two(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_come_once),
		cmocka_unit_test(nothing_is_changed),
		cmocka_unit_test(words_are_lost),
		cmocka_unit_test(lives_are_told_apart),
		cmocka_unit_test(keys_change_without_a_gap),
	};
	return cmocka_run_group_tests_name("daemons of two sites", tests, NULL, NULL);
}
