/* SPDX-License-Identifier: BSD-2-Clause */
/* The meeting of sites: golden bytes, the table of all, and who is refused with which words. */
#include "mmp/meet.h"

#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#define SIZE 3u
#define JOB  UINT64_C(0x1112131415161718)

static const struct mmp_card cards[SIZE] = {
	{.share = 0x10000, .ndoor = 4, .door = "zero"},
	{.share = 0x20000, .threaded = true, .ndoor = 3, .door = "one"},
	{.share = 0x0102030405060708, .ndoor = MMP_MEET_DOOR, .door = {1, 2, 3, [63] = 64}},
};

struct meeting {
	void *mem;
	struct mmp_meet *m;
};

static void
begin(struct meeting *w)
{
	w->mem = calloc(1, mmp_meet_footprint(SIZE));
	assert_non_null(w->mem);
	w->m = mmp_meet_new(w->mem, SIZE, JOB, &cards[0]);
}

static const char *
say(struct meeting *w, const struct mmp_here *h)
{
	uint8_t b[MMP_HERE_BYTES];
	uint32_t rank = 99;
	mmp_here_put(b, h);
	const char *why = mmp_meet_take(w->m, b, sizeof b, &rank);
	assert_int_equal(rank, why ? 99 : h->rank);
	return why;
}

static struct mmp_here
here(uint32_t rank)
{
	return (struct mmp_here){.rank = rank, .size = SIZE, .job = JOB, .card = cards[rank]};
}

static void
here_is_as_the_header_says(void **state)
{
	static const uint8_t golden[40] = {
		'M',  'M',  'P',  'H',	2,    1,    3,	  0,	/* flags, bytes of door */
		0,    0,    0,	  1,	0,    0,    0,	  3,	/* rank, size */
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* job */
		0,    0,    0,	  0,	0,    2,    0,	  0,	/* share */
		'o',  'n',  'e',
	};
	uint8_t b[MMP_HERE_BYTES];
	struct mmp_here h = here(1);
	(void)state;
	mmp_here_put(b, &h);
	assert_memory_equal(b, golden, sizeof golden);
}

static void
all_get_the_table(void **state)
{
	struct meeting w;
	uint8_t table[MMP_TABLE_BYTES(SIZE)];
	struct mmp_card got[SIZE];
	char why[MMP_MEET_WHY];
	(void)state;
	begin(&w);
	assert_int_equal(mmp_meet_missing(w.m), 1);
	struct mmp_here h = here(2);
	assert_null(say(&w, &h));
	assert_int_equal(mmp_meet_missing(w.m), 1);
	h = here(1);
	assert_null(say(&w, &h));
	assert_int_equal(mmp_meet_missing(w.m), SIZE);
	mmp_meet_table(w.m, table);
	assert_memory_equal(table, "MMPT\2\0\0\0\0\0\0\3\0\0\0\0\0\4", 18);
	table[4] = 1;
	assert_false(mmp_answer_get(table, sizeof table, SIZE, got, why));
	assert_string_equal(why, "another version of libmmp is at rank 0");
	table[4] = 2;
	assert_true(mmp_answer_get(table, sizeof table, SIZE, got, why));
	assert_string_equal(why, "");
	for (uint32_t i = 0; i < SIZE; i++) {
		assert_int_equal(got[i].share, cards[i].share);
		assert_int_equal(got[i].threaded, cards[i].threaded);
		assert_int_equal(got[i].ndoor, cards[i].ndoor);
		assert_memory_equal(got[i].door, cards[i].door, MMP_MEET_DOOR);
	}
	/* Cut, too long, of another size, with a door or share that cannot be. */
	assert_false(mmp_answer_get(table, sizeof table - 1, SIZE, got, why));
	assert_string_equal(why, "its table cannot be");
	assert_false(mmp_answer_get(table, sizeof table, SIZE - 1, got, why));
	table[16 + 80 + 1] = MMP_MEET_DOOR + 1;
	assert_false(mmp_answer_get(table, sizeof table, SIZE, got, why));
	table[16 + 80 + 1] = 1;
	table[16 + 80] = 2;
	assert_false(mmp_answer_get(table, sizeof table, SIZE, got, why));
	free(w.mem);
}

static void
strangers_are_refused(void **state)
{
	struct meeting w;
	uint8_t b[MMP_HERE_BYTES];
	uint32_t rank;
	(void)state;
	begin(&w);
	struct mmp_here h = here(1);
	h.job++;
	assert_non_null(strstr(say(&w, &h), "another job"));
	h = here(1);
	h.size++;
	assert_non_null(strstr(say(&w, &h), "another job"));
	h = here(1);
	h.rank = 0;
	assert_string_equal(say(&w, &h), "there is no such rank");
	h.rank = SIZE;
	assert_string_equal(say(&w, &h), "there is no such rank");
	h = here(1);
	h.card.share = 0;
	assert_string_equal(say(&w, &h), "what it says cannot be");
	h = here(1);
	h.card.ndoor = 0;
	assert_string_equal(say(&w, &h), "what it says cannot be");
	assert_int_equal(w.m->there, 1);
	h = here(1);
	assert_null(say(&w, &h));
	/* The same again is no other one: its way there may have broken. */
	assert_null(say(&w, &h));
	assert_int_equal(w.m->there, 2);
	h.card.door[0]++;
	assert_non_null(strstr(say(&w, &h), "that rank is there"));
	mmp_here_put(b, &h);
	assert_string_equal(mmp_meet_take(w.m, b, sizeof b - 1, &rank), "not a process of libmmp");
	b[4] = 1;
	assert_non_null(strstr(mmp_meet_take(w.m, b, sizeof b, &rank), "version"));
	assert_int_equal(mmp_meet_missing(w.m), 2);
	free(w.mem);
}

static void
a_refusal_is_words(void **state)
{
	uint8_t b[MMP_NO_MAX];
	char why[MMP_MEET_WHY], lengthy[300];
	struct mmp_card got[SIZE];
	(void)state;
	size_t n = mmp_meet_no(b, "go\naway");
	assert_false(mmp_answer_get(b, n, SIZE, got, why));
	assert_string_equal(why, "go?away");
	memset(lengthy, 'x', sizeof lengthy);
	lengthy[sizeof lengthy - 1] = '\0';
	n = mmp_meet_no(b, lengthy);
	assert_true(n <= sizeof b);
	assert_false(mmp_answer_get(b, n, SIZE, got, why));
	assert_int_equal(strlen(why), n - 4);
	assert_false(mmp_answer_get(b, 4, SIZE, got, why));
	assert_string_equal(why, "its answer is none of libmmp");
}

/* A door moved: what is said, and the answer. */
static void
a_rank_that_moved(void **state)
{
	uint8_t b[MMP_MOVED_BYTES], yes[MMP_NO_MAX];
	struct mmp_here h = here(1), got;
	char why[MMP_MEET_WHY];
	uint64_t proof;
	(void)state;
	mmp_moved_put(b, &h, UINT64_C(0x2122232425262728));
	assert_memory_equal(b, "MMPM\2\1\3\0\0\0\0\1\0\0\0\3\x11\x12", 18);
	assert_memory_equal(b + MMP_HERE_BYTES, "\x21\x22\x23\x24\x25\x26\x27\x28", 8);
	assert_null(mmp_moved_get(b, sizeof b, &got, &proof));
	assert_true(got.rank == 1 && got.size == SIZE && got.job == JOB);
	assert_int_equal(proof, UINT64_C(0x2122232425262728));
	assert_true(got.card.share == cards[1].share && got.card.threaded && got.card.ndoor == 3);
	assert_memory_equal(got.card.door, "one", 3);
	assert_non_null(mmp_moved_get(b, sizeof b - 1, &got, &proof));
	b[4] = 1;
	assert_non_null(mmp_moved_get(b, sizeof b, &got, &proof));
	b[4] = 2;
	b[6] = MMP_MEET_DOOR + 1;
	assert_string_equal(mmp_moved_get(b, sizeof b, &got, &proof), "what it says cannot be");
	/* HERE is not MOVED. */
	mmp_here_put(b, &h);
	assert_non_null(mmp_moved_get(b, sizeof b, &got, &proof));
	mmp_yes_put(yes);
	assert_true(mmp_yes_get(yes, MMP_YES_BYTES, why));
	assert_false(mmp_yes_get(yes, MMP_YES_BYTES - 1, why));
	size_t n = mmp_meet_no(yes, "go\naway");
	assert_false(mmp_yes_get(yes, n, why));
	assert_string_equal(why, "go?away");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(here_is_as_the_header_says), cmocka_unit_test(all_get_the_table),
		cmocka_unit_test(strangers_are_refused),      cmocka_unit_test(a_refusal_is_words),
		cmocka_unit_test(a_rank_that_moved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
