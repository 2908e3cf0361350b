/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of libmpi's environment variables: its rows, what the parsers take, what they say, and
 * which name was meant. */
#include "lmpi/knobs.h"

#include "light/note.h"
#include "tune/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what goes to stderr */

static FILE *said;
static int real_stderr = -1;

static void
listen(void)
{
	fflush(stderr);
	said = tmpfile();
	assert_non_null(said);
	real_stderr = dup(STDERR_FILENO);
	assert_true(dup2(fileno(said), STDERR_FILENO) >= 0);
}

static const char *
heard(void)
{
	static char text[2048];

	fflush(stderr);
	assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
	close(real_stderr);
	rewind(said);
	text[fread(text, 1, sizeof text - 1, said)] = '\0';
	fclose(said);
	return text;
}

static void
set(enum lmpi_knob k, const char *value)
{
	if (value)
		assert_int_equal(setenv(lmpi_knob_rows[k].name, value, 1), 0);
	else
		assert_int_equal(unsetenv(lmpi_knob_rows[k].name), 0);
}

/* ---- the table */

static void
test_rows(void **state)
{
	(void)state;
	for (int k = 0; k < LMPI_KNOB_COUNT; k++) {
		const struct lmpi_knob_row *r = &lmpi_knob_rows[k];
		bool ok = r->name && r->text && *r->text && r->unit &&
			  (!strncmp(r->name, "LIBMPI_", 7) || !strncmp(r->name, "IMPI_", 5));

		if (r->kind == LMPI_KNOB_NUMBER)
			ok = ok && r->least <= r->most && r->most <= INT64_MAX &&
			     (r->fallback || (r->number >= r->least && r->number <= r->most));
		else
			ok = ok && !r->words == !!r->fallback;
		for (int i = 0; ok && i < k; i++)
			ok = strcmp(lmpi_knob_rows[i].name, r->name) != 0;
		if (!ok)
			fail_msg("row %d, %s", k, r->name ? r->name : "without a name");
	}
}

/* What another table knows too is the same there. */
static void
test_other_tables(void **state)
{
	static const struct {
		enum lmpi_knob knob;
		enum tune_value value;
	} tuned[] = {
		{LMPI_KNOB_EAGER_NODE, TUNE_EAGER_WIDE},
		{LMPI_KNOB_SHARE, TUNE_SHARE},
		{LMPI_KNOB_PIECE, TUNE_PIECE},
		{LMPI_KNOB_RUN, TUNE_RUN},
	};
	char word[32];
	(void)state;
	for (size_t i = 0; i < sizeof tuned / sizeof *tuned; i++) {
		const struct lmpi_knob_row *r = &lmpi_knob_rows[tuned[i].knob];
		struct tune_values v = {0};

		if (!tune_value_set(&v, tuned[i].value, r->most) ||
		    tune_value_set(&v, tuned[i].value, r->most + 1) ||
		    (r->least > 0 && (!tune_value_set(&v, tuned[i].value, r->least) ||
				      tune_value_set(&v, tuned[i].value, r->least - 1))))
			fail_msg("%s has other bounds in the store", r->name);
	}
	for (int i = 0; lmpi_knob_word_at(LMPI_KNOB_OPTICAL, i, word, sizeof word); i++)
		if (strcmp(word, "off") != 0 && circ_mode_of(word) == CIRC_MODE_COUNT)
			fail_msg("no mode is called %s", word);
}

/* ---- the parsers */

static void
test_numbers(void **state)
{
	static const struct {
		const char *set;
		uint64_t got;
		const char *says;
	} row[] = {
		{NULL, 77, ""},
		{"", 77, ""},
		{"1", 1, ""},
		{"1024", 1024, ""},
		{"0", 77,
		 "libmpi: LIBMPI_CREDIT=0 is too small (a number from 1 to 1024); using 77\n"},
		{"1025", 77,
		 "libmpi: LIBMPI_CREDIT=1025 is too large (a number from 1 to 1024); using 77\n"},
		{"-1", 77,
		 "libmpi: LIBMPI_CREDIT=-1 is too small (a number from 1 to 1024); using 77\n"},
		{"12x", 77,
		 "libmpi: LIBMPI_CREDIT=12x is invalid (a number from 1 to 1024); using 77\n"},
		{"99999999999999999999", 77,
		 "libmpi: LIBMPI_CREDIT=99999999999999999999 is too large (a number from 1 to "
		 "1024); using 77\n"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		set(LMPI_KNOB_CREDIT, row[i].set);
		listen();
		uint64_t got = lmpi_knob_number_or(LMPI_KNOB_CREDIT, 77);
		const char *says = heard();
		if (got != row[i].got || strcmp(says, row[i].says) != 0)
			fail_msg("row %zu: %llu, %s", i, (unsigned long long)got, says);
	}
	set(LMPI_KNOB_CREDIT, NULL);
	set(LMPI_KNOB_LIVENESS, NULL);
	assert_int_equal(lmpi_knob_number(LMPI_KNOB_LIVENESS), 4000);
}

static void
test_words(void **state)
{
	static const struct {
		const char *set;
		int got, got_or_fail;
		const char *says, *says_or_fail;
	} row[] = {
		{NULL, 0, 0, "", ""},
		{"", 0, 0, "", ""},
		{"cubic", 0, 0, "", ""},
		{"bbr", 1, 1, "", ""},
		{"cub", 0, -1, "libmpi: LIBMPI_CC=cub is none of cubic, bbr; using cubic\n",
		 "libmpi: LIBMPI_CC=cub is not known; fix: set one of cubic, bbr\n"},
		{"cubic|bbr", 0, -1,
		 "libmpi: LIBMPI_CC=cubic|bbr is none of cubic, bbr; using cubic\n",
		 "libmpi: LIBMPI_CC=cubic|bbr is not known; fix: set one of cubic, bbr\n"},
	};
	char says[2048];
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		set(LMPI_KNOB_CC, row[i].set);
		listen();
		int got = lmpi_knob_word(LMPI_KNOB_CC);
		snprintf(says, sizeof says, "%s", heard());
		listen();
		int or_fail = lmpi_knob_word_or_fail(LMPI_KNOB_CC);
		if (strcmp(heard(), row[i].says_or_fail) != 0 || strcmp(says, row[i].says) != 0 ||
		    got != row[i].got || or_fail != row[i].got_or_fail)
			fail_msg("row %zu: %d, %d, %s", i, got, or_fail, says);
	}
	set(LMPI_KNOB_CC, NULL);
	assert_false(lmpi_knob_word_at(LMPI_KNOB_CC, 2, says, sizeof says));
	assert_false(lmpi_knob_word_at(LMPI_KNOB_NET, 0, says, sizeof says));
}

/* ---- names that nobody knows */

#define UNKNOWN " is not a variable of libmpi; fix: "

static void
test_unknown(void **state)
{
	static const struct {
		const char *setting, *warning; /* NULL: none */
	} row[] = {
		{"PATH=/bin", NULL},
		{"IMPI_NOTHING=1", NULL}, /* others begin so, too */
		{"LIBMPI", NULL},
		{"LIBMPI_CC=reno", NULL},
		{"LIBMPI_CC", NULL},
		{"LIBMPI_EAGER_NODE=1", NULL},
		{"LIBMPI_TRACE=t", NULL},
		{"LIBMPI_EAGRE=1", "LIBMPI_EAGRE" UNKNOWN "did you mean LIBMPI_EAGER"},
		{"LIBMPI_TRANSPORTS=udp",
		 "LIBMPI_TRANSPORTS" UNKNOWN "did you mean LIBMPI_TRANSPORT"},
		{"LIBMPI_SPIN=1", "LIBMPI_SPIN" UNKNOWN "see man 7 libmpi"},
		{"LIBMPI_SPIN_MS=1", "LIBMPI_SPIN_MS" UNKNOWN "did you mean LIBMPI_SPIN_US"},
		{"LIBMPI_=1", "LIBMPI_" UNKNOWN "see man 7 libmpi"},
		{"LIBMPI_ZZZZZZZZ=1", "LIBMPI_ZZZZZZZZ" UNKNOWN "see man 7 libmpi"},
		{"LIBMPI_ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ=1",
		 "LIBMPI_ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ" UNKNOWN
		 "see man 7 libmpi"},
	};
	char warning[LMPI_KNOB_WARNING];
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		bool unknown = lmpi_knob_unknown(row[i].setting, warning);

		if (unknown != !!row[i].warning ||
		    (unknown && strcmp(warning, row[i].warning) != 0))
			fail_msg("%s: %s", row[i].setting, unknown ? warning : "known");
	}
}

static void
test_warnings(void **state)
{
	char one[] = "LIBMPI_STAT=1", known[] = "LIBMPI_ECN=1", other[] = "HOME=/";
	char *few[] = {known, one, other, NULL}, *many[20];
	unsigned lines = 0;
	(void)state;
	listen();
	lmpi_knobs_warn(few);
	assert_string_equal(heard(), "libmpi: LIBMPI_STAT" UNKNOWN "did you mean LIBMPI_STATS\n");
	for (int i = 0; i < 19; i++)
		many[i] = one;
	many[19] = NULL;
	listen();
	lmpi_knobs_warn(many);
	for (const char *at = heard(); (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	cmocka_unit_test(test_other_tables),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_words),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
