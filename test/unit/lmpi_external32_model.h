/* SPDX-License-Identifier: BSD-2-Clause */
/* external32 by the naive model: every element of the type map by itself, byte by byte.
 * Used by the unit test and the fuzz target. */
#ifndef LMPI_EXTERNAL32_MODEL_H
#define LMPI_EXTERNAL32_MODEL_H

#include "binary128.h"
#include "external32.h"
#include "lmpi_type_model.h"

/* Bytes of a word of the model on the wire. */
static inline int
model_wire_word(char kind, int word, enum lmpi_rep rep)
{
	if (kind == 'w')
		return 2;
	if (kind == 'l' || kind == 'u')
		return rep == LMPI_REP_EXTERNAL32 ? 4 : 8;
	return word;
}

/* Bytes of element k on the wire. */
static inline int64_t
model_wire_element(const struct model *m, int k, enum lmpi_rep rep)
{
	MODEL_CHECK(m->e[k].word > 0); /* model_all_basics is set */
	return m->e[k].size / m->e[k].word * model_wire_word(m->e[k].kind, m->e[k].word, rep);
}

/* One word from memory to the wire; false: it does not fit. */
static inline bool
model_encode_word(char kind, int word, int far, const unsigned char *near, unsigned char *wire)
{
	int64_t v = 0;
	int64_t max = kind == 'l' ? INT32_MAX : kind == 'u' ? UINT32_MAX : UINT16_MAX;

	if (kind == 'x') {
		lmpi_binary128_store(wire, near);
		return true;
	}
	if (far < word) {
		uint32_t wide;

		if (kind == 'w') {
			memcpy(&wide, near, sizeof(wide));
			v = wide;
		} else {
			memcpy(&v, near, sizeof(v));
		}
		if (v > max || v < (kind == 'l' ? INT32_MIN : 0))
			return false;
	}
	for (int i = 0; i < far; i++) /* little-endian host */
		wire[i] = near[far - 1 - i];
	return true;
}

static inline void
model_decode_word(char kind, int word, int far, const unsigned char *wire, unsigned char *near)
{
	if (kind == 'x') {
		lmpi_binary128_load(near, wire);
		return;
	}
	for (int i = 0; i < far; i++)
		near[i] = wire[far - 1 - i];
	for (int i = far; i < word; i++)
		near[i] = kind == 'l' && (wire[0] & 0x80) ? 0xff : 0;
}

/* The whole message into wire: its length, or -1: a value does not fit. */
static inline int64_t
model_encode(const struct model *m, const unsigned char *base, int64_t count, enum lmpi_rep rep,
	     unsigned char *wire)
{
	int64_t at = 0;

	for (int64_t i = 0; i < count; i++)
		for (int k = 0; k < m->n; k++)
			for (int x = 0; x < m->e[k].size; x += m->e[k].word) {
				int far = model_wire_word(m->e[k].kind, m->e[k].word, rep);

				if (!model_encode_word(m->e[k].kind, m->e[k].word, far,
						       base + i * (m->ub - m->lb) + m->e[k].off + x,
						       wire + at))
					return -1;
				at += far;
			}
	return at;
}

/* The first len bytes of a message; words cut off are left alone. */
static inline void
model_decode(const struct model *m, unsigned char *base, int64_t count, enum lmpi_rep rep,
	     const unsigned char *wire, int64_t len)
{
	int64_t at = 0;

	for (int64_t i = 0; i < count; i++)
		for (int k = 0; k < m->n; k++)
			for (int x = 0; x < m->e[k].size; x += m->e[k].word) {
				int far = model_wire_word(m->e[k].kind, m->e[k].word, rep);

				if (at + far > len)
					return;
				model_decode_word(m->e[k].kind, m->e[k].word, far, wire + at,
						  base + i * (m->ub - m->lb) + m->e[k].off + x);
				at += far;
			}
}

static inline int64_t
model_wire_size(const struct model *m, enum lmpi_rep rep)
{
	int64_t size = 0;

	for (int k = 0; k < m->n; k++)
		size += model_wire_element(m, k, rep);
	return size;
}

/* Elements in every prefix that ends with one, and one byte later. */
static inline void
model_compare_counts(const struct model *m, enum lmpi_rep rep)
{
	int64_t size = 0, left;

	for (int k = 0; k < m->n; k++) {
		int64_t far = model_wire_element(m, k, rep);

		MODEL_CHECK(lmpi_type_elements_in(m->t, rep, size, &left) == k && left == 0);
		if (far > 1) {
			MODEL_CHECK(lmpi_type_elements_in(m->t, rep, size + 1, &left) == k &&
				    left == 1);
		}
		size += far;
	}
	if (m->n > 0) {
		MODEL_CHECK(lmpi_type_elements_in(m->t, rep, 2 * size, &left) == 2 * m->n &&
			    left == 0);
	}
}

/* A message of arbitrary bytes into memory, whole and cut short, in place where that
 * is possible, and back onto the wire. */
static inline void
model_compare_external32(const struct model *m, enum lmpi_rep rep, chooser *choose)
{
	static unsigned char arena[ARENA], want[ARENA], wire[ARENA], again[ARENA], good[ARENA];
	int64_t count = choose(4), base = ARENA / 2, size, len, n;
	int64_t extent = m->ub - m->lb;
	struct lmpi_unfit unfit;

	if (m->full || m->t->true_lb < -ARENA / 16 || m->t->true_ub > ARENA / 16 ||
	    extent * 4 > ARENA / 8 || extent * 4 < -ARENA / 8)
		return;
	size = model_wire_size(m, rep);
	MODEL_CHECK(m->t->rep[rep].size == size);
	model_compare_counts(m, rep);
	for (int64_t i = 0; i < count * size; i++)
		wire[i] = choose(4) ? (unsigned char)choose(256) : 0;
	len = choose(2) ? count * size : choose((uint32_t)(count * size + 1));
	memset(arena, 0xa5, sizeof(arena));
	memset(want, 0xa5, sizeof(want));
	model_decode(m, want + base, count, rep, wire, len);
	lmpi_external32_unpack(m->t, arena + base, count, rep, wire, len);
	if (m->t->rep[rep].swap != 1) { /* else parts of elements count, too */
		MODEL_CHECK(memcmp(arena, want, sizeof(arena)) == 0);
	}
	char *span = lmpi_type_span(m->t, want + base, count);
	if (len == count * size && size != 0 && span != NULL &&
	    lmpi_external32_in_place(m->t, rep)) {
		memcpy(span, wire, (size_t)len);
		lmpi_external32_unpack(m->t, want + base, count, rep, span, len);
		MODEL_CHECK(memcmp(arena, want, sizeof(arena)) == 0);
	}
	n = model_encode(m, arena + base, count, rep, good);
	memset(again, 0x5a, (size_t)(count * size) + 1);
	bool ok = lmpi_external32_pack(m->t, arena + base, count, rep, again, &unfit);
	MODEL_CHECK(ok == (n >= 0) && again[count * size] == 0x5a);
	if (ok) {
		MODEL_CHECK(n == count * size && memcmp(again, good, (size_t)n) == 0);
	}
}

#endif
