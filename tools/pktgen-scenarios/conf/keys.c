/* SPDX-License-Identifier: BSD-2-Clause */
#include "pktgen/keys.h"

#include "base/nearest.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct reading {
	const char *where;
	const struct pg_key *key;
	size_t n;
	void *out;
	char *err;
	size_t err_max;
};

/* "WHERE.KEY: " and the text. */
__attribute__((format(printf, 3, 4))) static int
tell_fault(const struct reading *r, const char *key, const char *fmt, ...)
{
	char text[160];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(r->err, r->err_max, "%s%s%s: %s", r->where, *r->where && *key ? "." : "", key,
		 text);
	return -1;
}

static const char *
name_type(const json_t *v)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",
		[JSON_STRING] = "a text",    [JSON_INTEGER] = "a whole number",
		[JSON_REAL] = "a fraction",  [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",	     [JSON_NULL] = "null",
	};
	return names[json_typeof(v)];
}

static const char *
name_wanted(enum pg_key_type t)
{
	static const char *const names[] = {
		[PG_KEY_TEXT] = "a text",      [PG_KEY_WHOLE] = "a whole number",
		[PG_KEY_NUMBER] = "a number",  [PG_KEY_TRUTH] = "true or false",
		[PG_KEY_OBJECT] = "an object", [PG_KEY_LIST] = "a list",
		[PG_KEY_ANY] = "a value",
	};
	return names[t];
}

static bool
fits_type(const json_t *v, enum pg_key_type t)
{
	switch (t) {
	case PG_KEY_TEXT:
		return json_is_string(v);
	case PG_KEY_WHOLE:
		return json_is_integer(v);
	case PG_KEY_NUMBER:
		return json_is_number(v);
	case PG_KEY_TRUTH:
		return json_is_boolean(v);
	case PG_KEY_OBJECT:
		return json_is_object(v);
	case PG_KEY_LIST:
		return json_is_array(v);
	case PG_KEY_ANY:
		break;
	}
	return true;
}

static int
read_value(const struct reading *r, const struct pg_key *k, json_t *v)
{
	void *at = (uint8_t *)r->out + k->at;
	if (!fits_type(v, k->type))
		return tell_fault(r, k->name, "%s is wanted, not %s", name_wanted(k->type),
				  name_type(v));
	switch (k->type) {
	case PG_KEY_TEXT:
		*(const char **)at = json_string_value(v);
		break;
	case PG_KEY_WHOLE:
		*(json_int_t *)at = json_integer_value(v);
		if (json_integer_value(v) < k->low || json_integer_value(v) > k->high)
			return tell_fault(r, k->name, "%lld to %lld is wanted, not %lld",
					  (long long)k->low, (long long)k->high,
					  (long long)json_integer_value(v));
		break;
	case PG_KEY_NUMBER:
		*(double *)at = json_number_value(v);
		break;
	case PG_KEY_TRUTH:
		*(bool *)at = json_is_true(v);
		break;
	case PG_KEY_LIST:
		if ((json_int_t)json_array_size(v) < k->low ||
		    (json_int_t)json_array_size(v) > k->high)
			return tell_fault(
				r, k->name, "a list of %lld to %lld is wanted, not of %zu",
				(long long)k->low, (long long)k->high, json_array_size(v));
		*(json_t **)at = v;
		break;
	case PG_KEY_OBJECT:
	case PG_KEY_ANY:
		*(json_t **)at = v;
		break;
	}
	return 0;
}

/* The one that was meant, or all there are. */
static int
tell_unknown(const struct reading *r, const char *name)
{
	char all[160] = "";
	unsigned least = UINT_MAX;
	const char *best = NULL;
	for (size_t i = 0; i < r->n; i++) {
		const char *k = r->key[i].name;
		size_t used = strlen(all);
		unsigned d = base_edit_distance(name, strlen(name), k, strlen(k));
		if (base_edit_is_near(d, strlen(k)) && d < least) {
			least = d;
			best = k;
		}
		if (*k != '$')
			snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", k);
	}
	if (best)
		return tell_fault(r, name, "there is no such key; did you mean %s?", best);
	return tell_fault(r, name, "there is no such key; there are %s", all);
}

static const struct pg_key *
find_key(const struct reading *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->key[i].name, name) == 0)
			return &r->key[i];
	return NULL;
}

int
pg_keys_read(const json_t *object, const char *where, const struct pg_key *key, size_t n, void *out,
	     char *err, size_t err_max)
{
	struct reading r = {where, key, n, out, err, err_max};
	const char *name;
	json_t *v;
	if (!json_is_object(object))
		return tell_fault(&r, *where ? "" : "the file", "an object is wanted, not %s",
				  name_type(object));
	json_object_foreach((json_t *)(uintptr_t)object, name, v)
	{
		const struct pg_key *k = find_key(&r, name);
		if (!k)
			return tell_unknown(&r, name);
		if (read_value(&r, k, v))
			return -1;
	}
	for (size_t i = 0; i < n; i++)
		if (key[i].needed && !json_object_get(object, key[i].name))
			return tell_fault(&r, key[i].name, "is missing; %s is wanted",
					  name_wanted(key[i].type));
	return 0;
}

int
pg_keys_no_json(const json_error_t *e, char *err, size_t err_max)
{
	/* "unable to open NAME: REASON": the caller says the name. */
	const char *why = e->line < 0 ? strrchr(e->text, ':') : NULL;
	if (why)
		snprintf(err, err_max, "cannot be read:%s", why + 1);
	else if (e->line < 0)
		snprintf(err, err_max, "cannot be read: %s", e->text);
	else if (!e->position)
		snprintf(err, err_max, "the file is empty; doc/pktgen.md says what is in it");
	else
		snprintf(err, err_max, "line %d: not JSON: %s", e->line, e->text);
	return -1;
}
