/* SPDX-License-Identifier: BSD-2-Clause */
/* The store as a text: reading a file that anybody may have written, and writing one. */
#include "row.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST "tune-store 1"

struct reader {
	const char *at, *end; /* of the line */
	uint32_t line;
	char *why;
};

static bool __attribute__((format(printf, 2, 3))) wrong(struct reader *r, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(r->why, TUNE_WHY, "line %u: ", r->line);
	va_start(ap, fmt);
	vsnprintf(r->why + n, (size_t)(TUNE_WHY - n), fmt, ap);
	va_end(ap);
	return false;
}

/* NAME=VALUE, or a lone word: then value is NULL. */
struct word {
	const char *name, *value;
	size_t name_len, value_len;
};

static bool
next_word(struct reader *r, struct word *w)
{
	while (r->at < r->end && *r->at == ' ')
		r->at++;
	if (r->at == r->end)
		return false;
	const char *start = r->at;
	while (r->at < r->end && *r->at != ' ')
		r->at++;
	const char *eq = memchr(start, '=', (size_t)(r->at - start));
	w->name = start;
	w->name_len = (size_t)((eq ? eq : r->at) - start);
	w->value = eq ? eq + 1 : NULL;
	w->value_len = eq ? (size_t)(r->at - eq - 1) : 0;
	return true;
}

static bool
is(const struct word *w, const char *name)
{
	return w->name_len == strlen(name) && !memcmp(w->name, name, w->name_len);
}

/* For a message: what can be shown of a word. */
#define SHOWN(w) (int)((w)->name_len < 24 ? (w)->name_len : 24), (w)->name

static bool
read_number(struct reader *r, const struct word *w, uint64_t least, uint64_t most, uint64_t *out)
{
	uint64_t x = 0;
	bool digits =
		w->value_len > 0 && w->value_len <= 18 && (w->value[0] != '0' || w->value_len == 1);
	for (size_t i = 0; digits && i < w->value_len; i++) {
		digits = w->value[i] >= '0' && w->value[i] <= '9';
		x = x * 10 + (uint64_t)(w->value[i] - '0');
	}
	if (!digits || x < least || x > most)
		return wrong(r,
			     "%.*s is no number from %" PRIu64 " to %" PRIu64
			     "; correct it or take the line out",
			     SHOWN(w), least, most);
	*out = x;
	return true;
}

static bool
word_field(struct reader *r, const struct word *w, char *out, size_t size)
{
	if (w->value_len < size) {
		memcpy(out, w->value, w->value_len);
		out[w->value_len] = 0;
	}
	if (w->value_len >= size || !tune_word_ok(out, size))
		return wrong(r,
			     "%.*s is not 1 to %zu letters, digits and ._+-/()@,; "
			     "correct it or take the line out",
			     SHOWN(w), size - 1);
	return true;
}

/* A field of the key; bit: which. */
static bool
key_field(struct reader *r, const struct word *w, struct tune_key *k, uint32_t *seen)
{
	uint32_t bit = 1;
	uint64_t x = 0;
	bool ok = false, known = false;
#define X(field, size)                                            \
	if (!known && is(w, #field)) {                            \
		known = true;                                     \
		ok = word_field(r, w, k->field, sizeof k->field); \
	}                                                         \
	bit <<= !known;
	TUNE_KEY_WORDS(X)
#undef X
#define X(field, most)                               \
	if (!known && is(w, #field)) {               \
		known = true;                        \
		ok = read_number(r, w, 0, most, &x); \
		k->field = (uint32_t)x;              \
	}                                            \
	bit <<= !known;
	TUNE_KEY_NUMBERS(X)
#undef X
	if (!known)
		return wrong(r, "%.*s is no field of a key; take the line out", SHOWN(w));
	if (*seen & bit)
		return wrong(r, "%.*s is there twice; take one of them out", SHOWN(w));
	*seen |= bit;
	return ok;
}

static bool
value_field(struct reader *r, const struct word *w, struct tune_values *v)
{
	uint64_t x;
	for (uint32_t i = 0; i < TUNE_NVALUES; i++) {
		if (!is(w, tune_bounds[i].name))
			continue;
		if (v->set >> i & 1)
			return wrong(r, "%.*s is there twice; take one of them out", SHOWN(w));
		return read_number(r, w, tune_bounds[i].least, tune_bounds[i].most, &x) &&
		       tune_value_set(v, (enum tune_value)i, x);
	}
	return wrong(r, "%.*s is no value this version knows; take it out", SHOWN(w));
}

#define X(name, size) +1
enum { KEY_FIELDS = 0 TUNE_KEY_WORDS(X) TUNE_KEY_NUMBERS(X) };
#undef X

static bool
row(struct reader *r, struct tune_store *s)
{
	struct tune_key k;
	struct tune_values v = {0};
	struct word w;
	uint32_t seen = 0;
	bool values = false;

	memset(&k, 0, sizeof k);
	while (next_word(r, &w)) {
		if (!w.value && is(&w, ":") && !values) {
			values = true;
			continue;
		}
		if (!w.value)
			return wrong(r, "\"%.*s\" is no NAME=VALUE; take the line out", SHOWN(&w));
		if (values ? !value_field(r, &w, &v) : !key_field(r, &w, &k, &seen))
			return false;
	}
	if (seen != (1u << KEY_FIELDS) - 1)
		return wrong(r, "%d of the %d fields of the key are there; take the line out",
			     __builtin_popcount(seen), KEY_FIELDS);
	if (!v.set)
		return wrong(r, "no value after \" : \"; take the line out");
	if (s->n == TUNE_ENTRIES)
		return wrong(r, "more than %d entries; take some out", TUNE_ENTRIES);
	for (uint32_t i = 0; i < s->n; i++)
		if (tune_key_same(&s->entry[i].key, &k))
			return wrong(r, "the same key as entry %u; take one of them out", i + 1);
	s->entry[s->n].key = k;
	s->entry[s->n++].values = v;
	return true;
}

static bool
line(struct reader *r, struct tune_store *s)
{
	struct word w;

	for (const char *c = r->at; c < r->end; c++)
		if (*c < ' ' || *c > '~')
			return wrong(r, "byte 0x%02x; delete the file, it is no store",
				     (unsigned char)*c);
	if (r->line == 1)
		return ((size_t)(r->end - r->at) == strlen(FIRST) &&
			!memcmp(r->at, FIRST, strlen(FIRST))) ||
		       wrong(r,
			     "not \"" FIRST "\"; delete the file, it is no store of this version");
	if (r->at == r->end || *r->at == '#')
		return true;
	if (!next_word(r, &w) || w.value || !is(&w, "entry"))
		return wrong(r, "does not begin with \"entry\"; take it out");
	return row(r, s);
}

bool
tune_store_parse(const char *text, size_t len, struct tune_store *s, char why[TUNE_WHY])
{
	struct reader r = {.line = 0, .why = why};
	const char *end = text + len;

	memset(s, 0, sizeof *s);
	why[0] = 0;
	bool ok = len <= TUNE_STORE_BYTES;
	r.line = 1;
	if (!ok)
		wrong(&r, "more than %d bytes; delete the file, it is no store", TUNE_STORE_BYTES);
	else if (!len)
		ok = wrong(&r, "empty; delete the file");
	for (const char *at = text; ok && at < end; r.line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			ok = wrong(&r, "has no end; delete the file, it was cut off");
		else if (stop - at >= TUNE_LINE)
			ok = wrong(&r, "more than %d bytes; take it out", TUNE_LINE - 1);
		if (!ok)
			break;
		r.at = at;
		r.end = stop;
		ok = line(&r, s);
		at = stop + 1;
	}
	if (!ok)
		memset(s, 0, sizeof *s);
	return ok;
}

/* ---- writing ---- */

struct writer {
	char *out;
	size_t size, n;
	bool full;
};

static void __attribute__((format(printf, 2, 3))) put(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = w->full ? -1 : vsnprintf(w->out + w->n, w->size - w->n, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= w->size - w->n)
		w->full = true;
	else
		w->n += (size_t)n;
}

size_t
tune_store_print(const struct tune_store *s, char *out, size_t size)
{
	struct writer w = {.out = out, .size = size, .full = size == 0};

	put(&w, "%s\n", FIRST);
	for (uint32_t e = 0; e < s->n; e++) {
		const struct tune_key *k = &s->entry[e].key;
		const struct tune_values *v = &s->entry[e].values;
		put(&w, "entry");
#define X(name, size) put(&w, " " #name "=%s", k->name);
		TUNE_KEY_WORDS(X)
#undef X
#define X(name, most) put(&w, " " #name "=%" PRIu32, k->name);
		TUNE_KEY_NUMBERS(X)
#undef X
		put(&w, " :");
		for (uint32_t i = 0; i < TUNE_NVALUES; i++)
			if (v->set >> i & 1)
				put(&w, " %s=%" PRIu64, tune_bounds[i].name, v->v[i]);
		put(&w, "\n");
	}
	return w.full ? 0 : w.n;
}
