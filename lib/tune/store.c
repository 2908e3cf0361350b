/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows: keys, values, the table. */
#include "tune/store.h"

#include "row.h"

#include "base/clock.h"

#include <string.h>

const struct tune_bounds tune_bounds[TUNE_NVALUES] = {
#define X(id, name, least, most) [TUNE_##id] = {name, least, most},
	TUNE_VALUES(X)
#undef X
};

uint32_t
tune_rtt_bucket(uint64_t rtt_ns)
{
	uint64_t us = rtt_ns / BASE_US_NS;
	return us ? 64 - (uint32_t)__builtin_clzll(us) : 0;
}

static bool
word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._+-/()@,", c));
}

void
tune_word(char *out, size_t size, const char *text)
{
	size_t n = 0;
	for (; *text && n + 1 < size; text++)
		out[n++] = *text;
	out[n] = 0;
	for (size_t i = 0; i < n; i++)
		out[i] = word_byte(out[i]) ? out[i] : '_';
	if (!n && size > 4)
		memcpy(out, "none", 5);
}

/* Of a field of that size, with its NUL. */
bool
tune_word_ok(const char *w, size_t size)
{
	size_t n = 0;
	while (n < size && word_byte(w[n]))
		n++;
	return n && n < size && !w[n];
}

bool
tune_key_ok(const struct tune_key *k)
{
	bool ok = true;
#define X(name, size) ok = ok && tune_word_ok(k->name, size);
	TUNE_KEY_WORDS(X)
#undef X
#define X(name, most) ok = ok && k->name <= (most);
	TUNE_KEY_NUMBERS(X)
#undef X
	return ok;
}

static bool
same_but_rtt(const struct tune_key *a, const struct tune_key *b)
{
	bool same = a->mtu == b->mtu && a->speed == b->speed;
#define X(name, size) same = same && !strncmp(a->name, b->name, size);
	TUNE_KEY_WORDS(X)
#undef X
	return same;
}

bool
tune_key_same(const struct tune_key *a, const struct tune_key *b)
{
	return a->rtt == b->rtt && same_but_rtt(a, b);
}

const char *
tune_value_name(enum tune_value i)
{
	return tune_bounds[i].name;
}

bool
tune_value_set(struct tune_values *v, enum tune_value i, uint64_t x)
{
	if (x < tune_bounds[i].least || x > tune_bounds[i].most)
		return false;
	v->v[i] = x;
	v->set |= 1u << i;
	return true;
}

uint64_t
tune_value_or(const struct tune_values *v, enum tune_value i, uint64_t fallback)
{
	return v->set >> i & 1 ? v->v[i] : fallback;
}

static bool
values_ok(const struct tune_values *v)
{
	if (!v->set || v->set >> TUNE_NVALUES)
		return false;
	for (uint32_t i = 0; i < TUNE_NVALUES; i++)
		if (v->set >> i & 1 &&
		    (v->v[i] < tune_bounds[i].least || v->v[i] > tune_bounds[i].most))
			return false;
	return true;
}

const struct tune_values *
tune_store_find(const struct tune_store *s, const struct tune_key *k)
{
	const struct tune_values *found = NULL;
	uint32_t rtt = UINT32_MAX;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct tune_key *e = &s->entry[i].key;
		bool wanted = k->rtt == TUNE_RTT_ANY ? same_but_rtt(e, k) : tune_key_same(e, k);
		if (wanted && e->rtt < rtt) {
			rtt = e->rtt;
			found = &s->entry[i].values;
		}
	}
	return found;
}

bool
tune_store_put(struct tune_store *s, const struct tune_key *k, const struct tune_values *v)
{
	uint32_t at = 0;

	if (!tune_key_ok(k) || !values_ok(v))
		return false;
	while (at < s->n && !tune_key_same(&s->entry[at].key, k))
		at++;
	if (at == s->n && s->n < TUNE_ENTRIES)
		s->n++;
	else if (at == s->n)
		at = 0; /* the oldest */
	uint32_t last = s->n - 1;
	memmove(&s->entry[at], &s->entry[at + 1], (last - at) * sizeof s->entry[0]);
	memset(&s->entry[last], 0, sizeof s->entry[last]);
	s->entry[last].key = *k;
	s->entry[last].values = *v;
	return true;
}
