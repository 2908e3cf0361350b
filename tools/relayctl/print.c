/* SPDX-License-Identifier: BSD-2-Clause */
#include "print.h"

#include <stdio.h>
#include <string.h>

#include <bsd/string.h>

#define COLUMNS_MAX 32

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

static void
text_of(const json_t *v, char *out, size_t max)
{
	if (json_is_string(v))
		strlcpy(out, json_string_value(v), max);
	else if (json_is_integer(v))
		snprintf(out, max, "%lld", (long long)json_integer_value(v));
	else if (json_is_real(v))
		snprintf(out, max, "%.1f", json_real_value(v));
	else if (json_is_boolean(v))
		strlcpy(out, json_is_true(v) ? "yes" : "no", max);
	else
		strlcpy(out, "-", max);
}

void
print_table(json_t *rows, const struct column *columns)
{
	size_t width[COLUMNS_MAX] = {0}, i;
	char text[160];
	json_t *row;
	for (size_t k = 0; columns[k].key; k++) {
		const char *title = columns[k].title ? columns[k].title : columns[k].key;
		width[k] = strlen(title);
		json_array_foreach(rows, i, row)
		{
			text_of(json_object_get(row, columns[k].key), text, sizeof text);
			if (strlen(text) > width[k])
				width[k] = strlen(text);
		}
	}
	/* Titles stand as the first row's values do. */
	for (size_t k = 0; columns[k].key; k++) {
		const char *title = columns[k].title ? columns[k].title : columns[k].key;
		const json_t *v = json_object_get(json_array_get(rows, 0), columns[k].key);
		printf(json_is_string(v) ? "%s%-*s" : "%s%*s", k ? "  " : "", (int)width[k], title);
	}
	putchar('\n');
	json_array_foreach(rows, i, row)
	{
		for (size_t k = 0; columns[k].key; k++) {
			const json_t *v = json_object_get(row, columns[k].key);
			text_of(v, text, sizeof text);
			printf(json_is_string(v) ? "%s%-*s" : "%s%*s", k ? "  " : "", (int)width[k],
			       text);
		}
		putchar('\n');
	}
}

void
print_pairs(json_t *v)
{
	size_t width = 0;
	const char *key;
	json_t *val;
	char text[160];
	json_object_foreach(v, key, val) if (!json_is_array(val) && strlen(key) > width) width =
		strlen(key);
	json_object_foreach(v, key, val)
	{
		if (json_is_array(val) || json_is_object(val))
			continue;
		text_of(val, text, sizeof text);
		printf("%-*s  %s\n", (int)width, key, text);
	}
}
