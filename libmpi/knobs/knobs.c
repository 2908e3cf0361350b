/* SPDX-License-Identifier: BSD-2-Clause */
#include "lmpi/knobs.h"

#include "base/nearest.h"

#include <bsd/stdlib.h>
#include <stdio.h>
#include <string.h>

#define PREFIX	     "LIBMPI_"
#define WARNINGS_MAX 8

const struct lmpi_knob_row lmpi_knob_rows[LMPI_KNOB_COUNT] = {
#define NUMBER(id, nm, un, def, lo, hi, shown, tx)    \
	[LMPI_KNOB_##id] = {.kind = LMPI_KNOB_NUMBER, \
			    .name = nm,               \
			    .unit = un,               \
			    .text = tx,               \
			    .fallback = shown,        \
			    .number = def,            \
			    .least = lo,              \
			    .most = hi},
#define WORD(id, nm, ws, tx) \
	[LMPI_KNOB_##        \
		id] = {.kind = LMPI_KNOB_WORD, .name = nm, .unit = "", .text = tx, .words = ws},
#define TEXT(id, nm, shown, tx) \
	[LMPI_KNOB_##id] = {    \
		.kind = LMPI_KNOB_TEXT, .name = nm, .unit = "", .text = tx, .fallback = shown},
#define SECRET(id, nm, shown, tx) \
	[LMPI_KNOB_##id] = {      \
		.kind = LMPI_KNOB_SECRET, .name = nm, .unit = "", .text = tx, .fallback = shown},
	LMPI_KNOBS(NUMBER, WORD, TEXT, SECRET)
#undef NUMBER
#undef WORD
#undef TEXT
#undef SECRET
};

const char *
lmpi_knob_text(enum lmpi_knob k)
{
	const char *s = getenv(lmpi_knob_rows[k].name);

	return s && *s ? s : NULL;
}

uint64_t
lmpi_knob_number_or(enum lmpi_knob k, uint64_t computed)
{
	const struct lmpi_knob_row *row = &lmpi_knob_rows[k];
	const char *s = lmpi_knob_text(k), *wrong = NULL;

	if (!s)
		return computed;
	long long v = strtonum(s, (long long)row->least, (long long)row->most, &wrong);
	if (!wrong)
		return (uint64_t)v;
	fprintf(stderr, "libmpi: %s=%s is %s (a number from %llu to %llu); using %llu\n", row->name,
		s, wrong, (unsigned long long)row->least, (unsigned long long)row->most,
		(unsigned long long)computed);
	return computed;
}

uint64_t
lmpi_knob_number(enum lmpi_knob k)
{
	return lmpi_knob_number_or(k, lmpi_knob_rows[k].number);
}

bool
lmpi_knob_word_at(enum lmpi_knob k, int i, char *out, size_t size)
{
	const char *at = lmpi_knob_rows[k].words;

	for (; at && i > 0; i--)
		at = (at = strchr(at, '|')) ? at + 1 : NULL;
	if (!at)
		return false;
	snprintf(out, size, "%.*s", (int)strcspn(at, "|"), at);
	return true;
}

static int
find_word(enum lmpi_knob k, const char *s)
{
	char word[32];

	for (int i = 0; lmpi_knob_word_at(k, i, word, sizeof word); i++)
		if (!strcmp(s, word))
			return i;
	return -1;
}

/* "cubic, bbr" */
static void
list_words(enum lmpi_knob k)
{
	char word[32];

	for (int i = 0; lmpi_knob_word_at(k, i, word, sizeof word); i++)
		fprintf(stderr, "%s%s", i ? ", " : "", word);
}

int
lmpi_knob_word_or_fail(enum lmpi_knob k)
{
	const char *s = lmpi_knob_text(k);
	int i = s ? find_word(k, s) : 0;

	if (i < 0) {
		fprintf(stderr, "libmpi: %s=%s is not known; fix: set one of ",
			lmpi_knob_rows[k].name, s);
		list_words(k);
		fprintf(stderr, "\n");
	}
	return i;
}

int
lmpi_knob_word(enum lmpi_knob k)
{
	const char *s = lmpi_knob_text(k);
	int i = s ? find_word(k, s) : 0;
	char word[32] = "";

	if (i >= 0)
		return i;
	(void)lmpi_knob_word_at(k, 0, word, sizeof word);
	fprintf(stderr, "libmpi: %s=%s is none of ", lmpi_knob_rows[k].name, s);
	list_words(k);
	fprintf(stderr, "; using %s\n", word);
	return 0;
}

/* ---- names that nobody knows */

/* The variable that was meant: at most a third of its letters differ. */
static const char *
nearest(const char *name, size_t len)
{
	const size_t skip = sizeof PREFIX - 1;
	unsigned best = UINT32_MAX;
	const char *found = NULL;

	for (int k = 0; k < LMPI_KNOB_COUNT; k++) {
		const char *known = lmpi_knob_rows[k].name;
		size_t n = strlen(known);

		if (strncmp(known, PREFIX, skip))
			continue;
		unsigned d = base_edit_distance(name + skip, len - skip, known + skip, n - skip);
		if (d < best && base_edit_is_near(d, n - skip)) {
			best = d;
			found = known;
		}
	}
	return found;
}

bool
lmpi_knob_unknown(const char *setting, char warning[LMPI_KNOB_WARNING])
{
	size_t len = strcspn(setting, "=");
	const char *meant;

	if (strncmp(setting, PREFIX, sizeof PREFIX - 1))
		return false;
	for (int k = 0; k < LMPI_KNOB_COUNT; k++)
		if (strlen(lmpi_knob_rows[k].name) == len &&
		    !memcmp(lmpi_knob_rows[k].name, setting, len))
			return false;
	meant = nearest(setting, len);
	snprintf(warning, LMPI_KNOB_WARNING, "%.*s is not a variable of libmpi; fix: %s%s",
		 (int)len, setting, meant ? "did you mean " : "see man 7 libmpi",
		 meant ? meant : "");
	return true;
}

void
lmpi_knobs_warn(char *const *environment)
{
	char warning[LMPI_KNOB_WARNING];
	int said = 0;

	for (; *environment && said < WARNINGS_MAX; environment++)
		if (lmpi_knob_unknown(*environment, warning)) {
			fprintf(stderr, "libmpi: %s\n", warning);
			said++;
		}
}
