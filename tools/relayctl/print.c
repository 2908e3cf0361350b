/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libsmartcols/libsmartcols.h>

#define GAP	  "  "
#define CELL_MAX  64 /* of a number */
#define PROSE_MIN 24 /* sentences in a narrower column are hard to read */

void
print_json(json_t *v)
{
	json_dumpf(v, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
	putchar('\n');
}

const char *
print_si(double v, char *buf, size_t max)
{
	static const char units[] = " kMGTP";
	size_t u = 0;
	for (; v >= 999.5 && u < sizeof units - 2; u++)
		v /= 1000;
	if (u == 0)
		snprintf(buf, max, "%.0f", v);
	else
		snprintf(buf, max, v < 99.95 ? "%.1f%c" : "%.0f%c", v, units[u]);
	return buf;
}

/* Lives as long as v and buf. */
static const char *
text_of(const json_t *v, char buf[CELL_MAX])
{
	if (json_is_string(v))
		return json_string_value(v);
	if (json_is_boolean(v))
		return json_is_true(v) ? "yes" : "no";
	if (json_is_integer(v))
		snprintf(buf, CELL_MAX, "%lld", (long long)json_integer_value(v));
	else if (json_is_real(v))
		snprintf(buf, CELL_MAX, "%.1f", json_real_value(v));
	else
		return "-";
	return buf;
}

static const char *
cell_of(const json_t *v, const struct column *c, bool full, char buf[CELL_MAX])
{
	if (json_is_number(v) && c->scale > 0) {
		snprintf(buf, CELL_MAX, "%.1f", json_number_value(v) * c->scale);
		return buf;
	}
	if (json_is_number(v) && c->si && !full)
		return print_si(json_number_value(v), buf, CELL_MAX);
	return text_of(v, buf);
}

/* ---- tables ------------------------------------------------------------------------------ */

struct table {
	struct libscols_table *t;
	const struct column *column;
	struct libscols_column *of[PRINT_COLUMNS_MAX];
	size_t width[PRINT_COLUMNS_MAX];
	bool hidden[PRINT_COLUMNS_MAX];
	size_t n;
};

static void
check_print(bool done)
{
	if (!done)
		ctl_die(CTL_REFUSED, "there is no memory for the table");
}

/* Texts to the left, the rest to the right, as the first row that has a value says. */
static bool
is_text(json_t *rows, const char *key)
{
	json_t *row;
	size_t i;
	json_array_foreach(rows, i, row)
	{
		const json_t *v = json_object_get(row, key);
		if (v && !json_is_null(v))
			return json_is_string(v);
	}
	return false;
}

static void
make_table(struct table *t, json_t *rows, const struct column *columns, bool full)
{
	char buf[CELL_MAX];
	json_t *row;
	size_t i;
	t->column = columns;
	t->t = scols_new_table();
	check_print(t->t && !scols_table_set_column_separator(t->t, GAP));
	/* Which columns fit is decided here: the library would cut all of them. */
	scols_table_set_termforce(t->t, SCOLS_TERMFORCE_NEVER);
	for (; t->n < PRINT_COLUMNS_MAX && columns[t->n].key; t->n++) {
		const struct column *c = &columns[t->n];
		t->of[t->n] = scols_table_new_column(t->t, c->title ? c->title : c->key, 0,
						     is_text(rows, c->key) ? 0 : SCOLS_FL_RIGHT);
		check_print(t->of[t->n]);
	}
	json_array_foreach(rows, i, row)
	{
		struct libscols_line *line = scols_table_new_line(t->t, NULL);
		check_print(line);
		for (size_t k = 0; k < t->n; k++)
			check_print(
				!scols_line_set_data(line, k,
						     cell_of(json_object_get(row, columns[k].key),
							     &columns[k], full, buf)));
	}
}

/* Columns are as wide as the library makes them; it knows once it has printed. */
static void
measure_table(struct table *t)
{
	char *text = NULL;
	check_print(!scols_print_table_to_string(t->t, &text));
	free(text);
	for (size_t k = 0; k < t->n; k++)
		t->width[k] = scols_column_get_width(t->of[k]);
}

static size_t
table_width(const struct table *t)
{
	size_t sum = 0;
	for (size_t k = 0; k < t->n; k++) {
		size_t w = t->column[k].prose && t->width[k] > PROSE_MIN ? PROSE_MIN : t->width[k];
		if (!t->hidden[k])
			sum += w + (sum ? strlen(GAP) : 0);
	}
	return sum;
}

/* Hides the column that is the next to go; false: none is left. */
static bool
give_up_column(struct table *t)
{
	size_t next = t->n;
	for (size_t k = 0; k < t->n; k++)
		if (!t->hidden[k] && t->column[k].goes &&
		    (next == t->n || t->column[k].goes <= t->column[next].goes))
			next = k;
	if (next == t->n)
		return false;
	t->hidden[next] = true;
	scols_column_set_flags(t->of[next], scols_column_get_flags(t->of[next]) | SCOLS_FL_HIDDEN);
	return true;
}

/* Line ends instead of spaces, so that no line is longer than room, if its words are not. */
static void
fold_text(char *text, size_t room)
{
	char *line = text, *space = NULL;
	for (char *at = text; *at; at++) {
		if (*at == ' ')
			space = at;
		if ((size_t)(at - line) >= room && space) {
			*space = '\n';
			line = space + 1;
			space = NULL;
		}
	}
}

static void
fold_column(struct table *t, size_t k, size_t room)
{
	size_t lines = scols_table_get_nlines(t->t);
	scols_column_set_flags(t->of[k], SCOLS_FL_WRAP);
	scols_column_set_safechars(t->of[k], "\n");
	scols_column_set_wrapfunc(t->of[k], scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
	for (size_t i = 0; i < lines; i++) {
		struct libscols_cell *cell = scols_line_get_cell(scols_table_get_line(t->t, i), k);
		char *text = strdup(scols_cell_get_data(cell));
		check_print(text);
		fold_text(text, room);
		check_print(!scols_cell_refer_data(cell, text)); /* it frees the text */
	}
}

/* How many columns had to go. */
static size_t
fit_table(struct table *t, size_t room)
{
	size_t gone = 0, last = t->n - 1;
	measure_table(t);
	while (table_width(t) > room && give_up_column(t))
		gone++;
	if (t->column[last].prose && !t->hidden[last]) {
		size_t rest =
			table_width(t) - (t->width[last] > PROSE_MIN ? PROSE_MIN : t->width[last]);
		if (rest + PROSE_MIN <= room && rest + t->width[last] > room)
			fold_column(t, last, room - rest);
	}
	return gone;
}

void
print_table(json_t *rows, const struct column *columns, const struct options *o)
{
	struct table t = {0};
	size_t gone = 0;
	if (!json_array_size(rows))
		return;
	make_table(&t, rows, columns, o->full);
	if (!o->wide && isatty(STDOUT_FILENO))
		gone = fit_table(&t, scols_table_get_termwidth(t.t));
	check_print(!scols_print_table(t.t));
	if (gone)
		printf("(%zu more column%s: -w)\n", gone, gone == 1 ? "" : "s");
	scols_unref_table(t.t);
}

/* ---- pairs ------------------------------------------------------------------------------- */

void
print_pairs(json_t *v)
{
	size_t width = 0;
	const char *key;
	json_t *val;
	char buf[CELL_MAX];
	json_object_foreach(v, key, val) if (!json_is_array(val) && strlen(key) > width) width =
		strlen(key);
	json_object_foreach(v, key, val)
	{
		if (json_is_array(val) || json_is_object(val))
			continue;
		printf("%-*s  %s\n", (int)width, key, text_of(val, buf));
	}
}
