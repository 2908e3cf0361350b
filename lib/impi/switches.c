/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi/switches.h"

#include <string.h>

/* --- parsing -------------------------------------------------------------- */

static bool
is_word(const char *word, const char *p, size_t n)
{
	return strlen(word) == n && memcmp(word, p, n) == 0;
}

static enum impi_err
take_payload(struct impi_switches *s, enum impi_payload payload, const char *entry, int len,
	     struct impi_error *err)
{
	bool native = payload == IMPI_PAYLOAD_NATIVE;

	if (s->payload != IMPI_PAYLOAD_UNSAID && native != (s->payload == IMPI_PAYLOAD_NATIVE))
		return impi_error_set(err, IMPI_ERR_VALUE,
				      "'%.*s': native-payload contradicts external32 and long8",
				      len, entry);
	if (payload > s->payload)
		s->payload = payload; /* long8 says more than external32 */
	return IMPI_ERR_OK;
}

static enum impi_err
take_word(struct impi_switches *s, const char *word, size_t n, const char *entry, int len,
	  struct impi_error *err)
{
	s->said = true;
	if (is_word("native-payload", word, n))
		return take_payload(s, IMPI_PAYLOAD_NATIVE, entry, len, err);
	if (is_word("external32", word, n))
		return take_payload(s, IMPI_PAYLOAD_EXTERNAL32, entry, len, err);
	if (is_word("long8", word, n))
		return take_payload(s, IMPI_PAYLOAD_LONG8, entry, len, err);
	if (is_word("reduce-on-pt2pt-context", word, n))
		s->reduce_on_pt2pt = true;
	else if (is_word("auto", word, n))
		s->guess = true;
	else
		return impi_error_set(err, IMPI_ERR_VALUE,
				      "'%.*s': unknown word '%.*s'; there are native-payload, "
				      "external32, long8, reduce-on-pt2pt-context, auto",
				      len, entry, (int)n, word);
	return IMPI_ERR_OK;
}

/* The switches an entry's head names, NULL: it is not a client. */
static struct impi_switches *
find_client(struct impi_switch_table *t, const char *p, size_t n)
{
	uint32_t c = 0;

	if (n == 1 && p[0] == '*')
		return &t->others;
	if (n == 0 || n > 2)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return NULL;
		c = 10 * c + (uint32_t)(p[i] - '0');
	}
	return c < IMPI_CLIENTS_MAX ? &t->client[c] : NULL;
}

static enum impi_err
take_switches_entry(struct impi_switch_table *t, const char *entry, size_t n,
		    struct impi_error *err)
{
	const char *colon = memchr(entry, ':', n), *end = entry + n;
	int shown = n < 60 ? (int)n : 60;

	if (!colon)
		return impi_error_set(err, IMPI_ERR_VALUE,
				      "'%.*s' is not CLIENT:word,word (client 0..%d or *)", shown,
				      entry, IMPI_CLIENTS_MAX - 1);
	struct impi_switches *s = find_client(t, entry, (size_t)(colon - entry));
	if (!s)
		return impi_error_set(err, IMPI_ERR_VALUE, "'%.*s': a client is 0..%d or *", shown,
				      entry, IMPI_CLIENTS_MAX - 1);
	for (const char *p = colon + 1; p <= end;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *stop = comma ? comma : end;
		enum impi_err e = take_word(s, p, (size_t)(stop - p), entry, shown, err);
		if (e != IMPI_ERR_OK)
			return e;
		p = stop + 1;
	}
	return IMPI_ERR_OK;
}

enum impi_err
impi_switches_parse(const char *text, struct impi_switch_table *out, struct impi_error *err)
{
	*out = (struct impi_switch_table){0};
	while (text && *text) {
		size_t n = strcspn(text, ";");
		enum impi_err e = take_switches_entry(out, text, n, err);
		if (e != IMPI_ERR_OK)
			return e;
		text += n + (text[n] == ';');
	}
	return IMPI_ERR_OK;
}

struct impi_switches
impi_switches_for(const struct impi_switch_table *t, uint32_t client, bool is_lam)
{
	struct impi_switches s = t->client[client];

	if (!s.said)
		s = t->others;
	if (!s.said || s.guess) {
		if (s.payload == IMPI_PAYLOAD_UNSAID && is_lam)
			s.payload = IMPI_PAYLOAD_NATIVE;
		s.reduce_on_pt2pt |= is_lam;
	}
	if (s.payload == IMPI_PAYLOAD_UNSAID)
		s.payload = IMPI_PAYLOAD_EXTERNAL32;
	return s;
}

/* --- offers --------------------------------------------------------------- */

static uint32_t *
field_of(struct impi_offered *o, uint32_t label)
{
	switch (label) {
	case IMPI_C_DATALEN:
		return &o->datalen;
	case IMPI_C_TAGUB:
		return &o->tagub;
	case IMPI_C_COLL_XSIZE:
		return &o->xsize;
	case IMPI_C_COLL_MAXLINEAR:
		return &o->maxlinear;
	default:
		return NULL;
	}
}

void
impi_offered_label(struct impi_offered offered[IMPI_CLIENTS_MAX], uint32_t label, uint32_t mask,
		   const uint8_t *data, size_t len)
{
	size_t at = 0;

	for (uint32_t c = 0; c < IMPI_CLIENTS_MAX && at + 4 <= len; c++) {
		uint32_t *field = field_of(&offered[c], label);
		if (!field)
			return;
		if (!(mask & (1u << c)))
			continue;
		*field = be32_load(data + at);
		offered[c].have |= 1u << impi_label_index(label);
		at += 4;
	}
}

bool
impi_offered_is_lam(const struct impi_offered *o)
{
	uint32_t all = 1u << impi_label_index(IMPI_C_DATALEN) |
		       1u << impi_label_index(IMPI_C_TAGUB) |
		       1u << impi_label_index(IMPI_C_COLL_XSIZE) |
		       1u << impi_label_index(IMPI_C_COLL_MAXLINEAR);

	return (o->have & all) == all && o->datalen == 65536 && o->tagub == INT32_MAX &&
	       o->xsize == UINT32_MAX && o->maxlinear == UINT32_MAX && o->ackmark == 10 &&
	       o->hiwater == 20;
}
