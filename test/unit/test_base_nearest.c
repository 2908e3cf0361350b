/* SPDX-License-Identifier: BSD-2-Clause */
/* base/nearest.h: distances counted by hand, what is near enough, names that are too long. */
#include "cmocka_all.h"

#include "base/nearest.h"

#include <limits.h>
#include <string.h>

static void
test_distances(void **state)
{
	static const struct {
		const char *name, *a, *b;
		unsigned want;
	} rows[] = {
		{"the same", "relays", "relays", 0},
		{"one other letter", "relais", "relays", 1},
		{"one more", "relayss", "relays", 1},
		{"one less", "elays", "relays", 1},
		{"neighbours swapped", "realys", "relays", 1},
		{"swapped and one more", "realyss", "relays", 2},
		{"nothing to something", "", "abc", 3},
		{"nothing in common", "abc", "xyz", 3},
		{"both empty", "", "", 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		unsigned there = base_edit_distance(rows[i].a, strlen(rows[i].a), rows[i].b,
						    strlen(rows[i].b));
		unsigned back = base_edit_distance(rows[i].b, strlen(rows[i].b), rows[i].a,
						   strlen(rows[i].a));
		if (there != rows[i].want || back != rows[i].want)
			fail_msg("%s: %u and %u, wanted %u", rows[i].name, there, back,
				 rows[i].want);
	}
}

static void
test_near(void **state)
{
	(void)state;
	assert_true(base_edit_is_near(0, 0));
	assert_true(base_edit_is_near(1, 3));
	assert_false(base_edit_is_near(1, 2));
	assert_false(base_edit_is_near(3, 8));
	assert_true(base_edit_is_near(3, 9));
}

static void
test_long_names(void **state)
{
	char a[BASE_NEAREST_MAX + 2];
	(void)state;
	memset(a, 'x', sizeof a);
	assert_int_equal(base_edit_distance(a, BASE_NEAREST_MAX, a, BASE_NEAREST_MAX), 0);
	assert_int_equal(base_edit_distance(a, BASE_NEAREST_MAX + 1, a, 3), UINT_MAX);
	assert_int_equal(base_edit_distance(a, 3, a, BASE_NEAREST_MAX + 1), UINT_MAX);
	assert_false(base_edit_is_near(UINT_MAX, SIZE_MAX));
}

static void
words_of_a_list(void **state)
{
	(void)state;
	static const struct {
		const char *words, *word;
		int want;
	} cases[] = {{"a|bc|d", "a", 0},  {"a|bc|d", "bc", 1}, {"a|bc|d", "d", 2},
		     {"a|bc|d", "b", -1}, {"a|bc|d", "", -1},  {"a", "a|", -1},
		     {"", "a", -1}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (base_word_index(cases[i].words, cases[i].word) != cases[i].want)
			fail_msg("%s in %s", cases[i].word, cases[i].words);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_a_list),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_long_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
