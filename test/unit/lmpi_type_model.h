/* SPDX-License-Identifier: BSD-2-Clause */
/* A naive model of MPI datatypes: the type map written out element by element, with
 * the definitions of MPI 5.0, 5.1 followed to the letter.  The engine of
 * libmpi/objects builds the same type, and both have to agree in everything.
 *
 * choose(n) gives a number below n: from a PRNG in the unit test, from the input
 * in the fuzz target. */
#ifndef LMPI_TYPE_MODEL_H
#define LMPI_TYPE_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "type.h"

#define MODEL_MAX 3000 /* elements of a type map; larger ones are not built */
#define ARENA	  (1 << 20)

struct model {
	int n;
	struct {
		int64_t off;
		int size;
		char kind; /* in model_every_basic: see there */
		int word;
	} e[MODEL_MAX];
	bool marks; /* lb and ub set by resizing */
	bool full;  /* did not fit: not to be compared */
	int64_t lb, ub;
	int align;
	struct lmpi_type *t;
};

typedef uint32_t chooser(uint32_t n);

#define MODEL_CHECK(cond)                                                          \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                   \
		}                                                                  \
	} while (0)

/* Set: basic types are chosen from all of the ABI.  An element is then known by its
 * kind - 's' words that are turned round, 'l' long, 'u' unsigned long, 'w' wchar_t,
 * 'x' long double - and the native size of its words. */
static bool model_all_basics;

static const struct model_every_basic {
	MPI_Datatype h;
	int extent, align, n; /* elements */
	struct {
		int off, size;
		char kind;
		int word;
	} e[2];
} model_every_basic[] = {
	{MPI_BYTE, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_PACKED, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_CHAR, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_SIGNED_CHAR, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_UNSIGNED_CHAR, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_CHARACTER, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_C_BOOL, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_CXX_BOOL, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_INT8_T, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_UINT8_T, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_LOGICAL1, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_INTEGER1, 1, 1, 1, {{0, 1, 's', 1}}},
	{MPI_SHORT, 2, 2, 1, {{0, 2, 's', 2}}},
	{MPI_UNSIGNED_SHORT, 2, 2, 1, {{0, 2, 's', 2}}},
	{MPI_INT16_T, 2, 2, 1, {{0, 2, 's', 2}}},
	{MPI_UINT16_T, 2, 2, 1, {{0, 2, 's', 2}}},
	{MPI_LOGICAL2, 2, 2, 1, {{0, 2, 's', 2}}},
	{MPI_INTEGER2, 2, 2, 1, {{0, 2, 's', 2}}},
	{MPI_REAL2, 2, 2, 1, {{0, 2, 's', 2}}},
	{MPI_COMPLEX4, 4, 4, 1, {{0, 4, 's', 2}}},
	{MPI_INT, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_UNSIGNED, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_FLOAT, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_LOGICAL, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_INTEGER, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_REAL, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_INT32_T, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_UINT32_T, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_LOGICAL4, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_INTEGER4, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_REAL4, 4, 4, 1, {{0, 4, 's', 4}}},
	{MPI_C_FLOAT_COMPLEX, 8, 4, 1, {{0, 8, 's', 4}}},
	{MPI_CXX_FLOAT_COMPLEX, 8, 4, 1, {{0, 8, 's', 4}}},
	{MPI_COMPLEX, 8, 4, 1, {{0, 8, 's', 4}}},
	{MPI_COMPLEX8, 8, 4, 1, {{0, 8, 's', 4}}},
	{MPI_AINT, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_COUNT, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_OFFSET, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_LONG, 8, 8, 1, {{0, 8, 'l', 8}}},
	{MPI_UNSIGNED_LONG, 8, 8, 1, {{0, 8, 'u', 8}}},
	{MPI_LONG_LONG, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_UNSIGNED_LONG_LONG, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_DOUBLE, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_DOUBLE_PRECISION, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_INT64_T, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_UINT64_T, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_LOGICAL8, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_INTEGER8, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_REAL8, 8, 8, 1, {{0, 8, 's', 8}}},
	{MPI_C_DOUBLE_COMPLEX, 16, 8, 1, {{0, 16, 's', 8}}},
	{MPI_CXX_DOUBLE_COMPLEX, 16, 8, 1, {{0, 16, 's', 8}}},
	{MPI_DOUBLE_COMPLEX, 16, 8, 1, {{0, 16, 's', 8}}},
	{MPI_COMPLEX16, 16, 8, 1, {{0, 16, 's', 8}}},
	{MPI_LOGICAL16, 16, 16, 1, {{0, 16, 's', 16}}},
	{MPI_INTEGER16, 16, 16, 1, {{0, 16, 's', 16}}},
	{MPI_REAL16, 16, 16, 1, {{0, 16, 's', 16}}},
	{MPI_COMPLEX32, 32, 16, 1, {{0, 32, 's', 16}}},
	{MPI_LONG_DOUBLE, 16, 16, 1, {{0, 16, 'x', 16}}},
	{MPI_C_LONG_DOUBLE_COMPLEX, 32, 16, 1, {{0, 32, 'x', 16}}},
	{MPI_CXX_LONG_DOUBLE_COMPLEX, 32, 16, 1, {{0, 32, 'x', 16}}},
	{MPI_WCHAR, 4, 4, 1, {{0, 4, 'w', 4}}},
	{MPI_FLOAT_INT, 8, 4, 2, {{0, 4, 's', 4}, {4, 4, 's', 4}}},
	{MPI_DOUBLE_INT, 16, 8, 2, {{0, 8, 's', 8}, {8, 4, 's', 4}}},
	{MPI_LONG_INT, 16, 8, 2, {{0, 8, 'l', 8}, {8, 4, 's', 4}}},
	{MPI_2INT, 8, 4, 2, {{0, 4, 's', 4}, {4, 4, 's', 4}}},
	{MPI_SHORT_INT, 8, 4, 2, {{0, 2, 's', 2}, {4, 4, 's', 4}}},
	{MPI_LONG_DOUBLE_INT, 32, 16, 2, {{0, 16, 'x', 16}, {16, 4, 's', 4}}},
	{MPI_2REAL, 8, 4, 2, {{0, 4, 's', 4}, {4, 4, 's', 4}}},
	{MPI_2DOUBLE_PRECISION, 16, 8, 2, {{0, 8, 's', 8}, {8, 8, 's', 8}}},
	{MPI_2INTEGER, 8, 4, 2, {{0, 4, 's', 4}, {4, 4, 's', 4}}},
};
#define MODEL_BASICS (sizeof(model_every_basic) / sizeof(model_every_basic[0]))

/* Number k of that table, alone. */
static inline void
model_one_basic(struct model *m, size_t k)
{
	const struct model_every_basic *b = &model_every_basic[k];

	memset(m, 0, sizeof(*m));
	m->n = b->n;
	for (int i = 0; i < b->n; i++) {
		m->e[i].off = b->e[i].off;
		m->e[i].size = b->e[i].size;
		m->e[i].kind = b->e[i].kind;
		m->e[i].word = b->e[i].word;
	}
	m->ub = b->extent;
	m->align = b->align;
	m->t = lmpi_type_find(b->h);
}

static inline void
model_basic(struct model *m, chooser *choose)
{
	if (model_all_basics) {
		model_one_basic(m, choose((uint32_t)MODEL_BASICS));
		return;
	}
	static const struct {
		MPI_Datatype h;
		int size, align;
	} basics[] = {{MPI_BYTE, 1, 1},	  {MPI_SHORT, 2, 2},	     {MPI_INT, 4, 4},
		      {MPI_DOUBLE, 8, 8}, {MPI_LONG_DOUBLE, 16, 16}, {MPI_C_DOUBLE_COMPLEX, 16, 8}};
	uint32_t k = choose(7);

	memset(m, 0, sizeof(*m));
	if (k == 6) { /* the one with a hole */
		m->n = 2;
		m->e[0].size = 2;
		m->e[1].off = 4;
		m->e[1].size = 4;
		m->ub = 8;
		m->align = 4;
		m->t = lmpi_type_find(MPI_SHORT_INT);
		return;
	}
	m->n = 1;
	m->e[0].size = basics[k].size;
	m->ub = basics[k].size;
	m->align = basics[k].align;
	m->t = lmpi_type_find(basics[k].h);
}

/* Bounds of the map without markers. */
static inline void
model_true_bounds(const struct model *m, int64_t *lb, int64_t *ub)
{
	*lb = *ub = 0;
	for (int i = 0; i < m->n; i++) {
		if (i == 0 || m->e[i].off < *lb)
			*lb = m->e[i].off;
		if (i == 0 || m->e[i].off + m->e[i].size > *ub)
			*ub = m->e[i].off + m->e[i].size;
	}
}

/* What is being put together. */
struct build {
	struct model *m;
	bool any_plain, any_marked;
	int64_t plain_lb, plain_ub, mark_lb, mark_ub;
};

static inline void
model_place(struct build *b, const struct model *c, int64_t disp)
{
	struct model *m = b->m;

	m->full |= c->full || m->n + c->n > MODEL_MAX;
	if (m->full)
		return;
	for (int i = 0; i < c->n; i++, m->n++) {
		m->e[m->n] = c->e[i];
		m->e[m->n].off += disp;
	}
	if (c->align > m->align)
		m->align = c->align;
	if (c->marks) {
		if (!b->any_marked || c->lb + disp < b->mark_lb)
			b->mark_lb = c->lb + disp;
		if (!b->any_marked || c->ub + disp > b->mark_ub)
			b->mark_ub = c->ub + disp;
		b->any_marked = true;
	} else if (c->n > 0) {
		if (!b->any_plain || c->lb + disp < b->plain_lb)
			b->plain_lb = c->lb + disp;
		if (!b->any_plain || c->ub + disp > b->plain_ub)
			b->plain_ub = c->ub + disp;
		b->any_plain = true;
	}
}

static inline void
model_finish(struct build *b)
{
	struct model *m = b->m;

	m->marks = b->any_marked;
	m->lb = b->any_marked ? b->mark_lb : b->any_plain ? b->plain_lb : 0;
	m->ub = b->any_marked ? b->mark_ub : b->any_plain ? b->plain_ub : 0;
	if (!m->marks && m->align > 0)
		while ((m->ub - m->lb) % m->align != 0)
			m->ub++;
}

/* Let the engine hold the component: as the API does. */
static inline void
model_hold(struct lmpi_type *t, int n, struct lmpi_type *const *types)
{
	MODEL_CHECK(lmpi_type_set_contents(t, MPI_COMBINER_STRUCT, 0, 0, 0, n, types));
}

static inline void model_make(struct model *m, chooser *choose, int depth);

static inline void
model_vector(struct model *m, const struct model *c, chooser *choose)
{
	struct build b = {.m = m};
	int64_t extent = c->ub - c->lb, n = choose(5), len = choose(4);
	int64_t stride = choose(2) ? ((int64_t)choose(9) - 4) * extent : (int64_t)choose(65) - 24;

	for (int64_t i = 0; i < n; i++)
		for (int64_t k = 0; k < len; k++)
			model_place(&b, c, i * stride + k * extent);
	model_finish(&b);
	m->t = lmpi_type_hvector(n, len, stride, c->t);
	model_hold(m->t, 1, &c->t);
}

static inline void
model_indexed(struct model *m, const struct model *c, chooser *choose)
{
	struct build b = {.m = m};
	int64_t extent = c->ub - c->lb, disp[5], at = 0;
	int n = (int)choose(6), len[5];
	bool bytes = choose(2);

	for (int i = 0; i < n; i++) {
		len[i] = (int)choose(4);
		disp[i] = choose(3) ? at : (int64_t)choose(40) - 10;
		at = disp[i] + len[i];
		for (int k = 0; k < len[i]; k++)
			model_place(&b, c, disp[i] * (bytes ? 1 : extent) + k * extent);
	}
	model_finish(&b);
	m->t = lmpi_type_hindexed(n, (struct lmpi_ints){len, false}, 0,
				  (struct lmpi_ints){disp, true}, bytes ? 1 : extent, c->t);
	model_hold(m->t, 1, &c->t);
}

static inline void
model_struct(struct model *m, chooser *choose, int depth)
{
	struct build b = {.m = m};
	int n = (int)choose(4), len[3];
	int64_t disp[3];
	struct lmpi_type *types[3];
	struct model *c = calloc(3, sizeof(*c));

	MODEL_CHECK(c != NULL);
	for (int i = 0; i < n; i++) {
		model_make(&c[i], choose, depth - 1);
		len[i] = (int)choose(3);
		disp[i] = (int64_t)choose(100) - 20;
		types[i] = c[i].t;
		for (int k = 0; k < len[i]; k++)
			model_place(&b, &c[i], disp[i] + k * (c[i].ub - c[i].lb));
	}
	model_finish(&b);
	m->t = lmpi_type_struct(n, (struct lmpi_ints){len, false}, (struct lmpi_ints){disp, true},
				types);
	model_hold(m->t, n, types);
	for (int i = 0; i < n; i++)
		lmpi_type_unref(c[i].t);
	free(c);
}

static inline void
model_resized(struct model *m, const struct model *c, chooser *choose)
{
	struct build b = {.m = m};
	int64_t lb = (int64_t)choose(20) - 10, extent = (int64_t)choose(80) - 10;

	model_place(&b, c, 0);
	m->marks = true;
	m->lb = lb;
	m->ub = lb + extent;
	m->t = lmpi_type_resized(c->t, lb, extent);
	model_hold(m->t, 1, &c->t);
}

static inline void
model_subarray(struct model *m, const struct model *c, chooser *choose)
{
	struct build b = {.m = m};
	int sizes[2], subs[2], starts[2];
	int64_t extent = c->ub - c->lb;
	bool fortran = choose(2);

	for (int d = 0; d < 2; d++) {
		sizes[d] = 1 + (int)choose(6);
		subs[d] = 1 + (int)choose((uint32_t)sizes[d]);
		starts[d] = (int)choose((uint32_t)(sizes[d] - subs[d] + 1));
	}
	int slow = fortran ? 1 : 0, fast = 1 - slow;
	for (int i = 0; i < subs[slow]; i++)
		for (int k = 0; k < subs[fast]; k++)
			model_place(&b, c,
				    ((starts[slow] + i) * sizes[fast] + starts[fast] + k) * extent);
	m->marks = true;
	m->lb = 0;
	m->ub = sizes[0] * sizes[1] * extent;
	m->t = lmpi_type_subarray(2, (struct lmpi_ints){sizes, false},
				  (struct lmpi_ints){subs, false},
				  (struct lmpi_ints){starts, false}, fortran, c->t);
	model_hold(m->t, 1, &c->t);
}

static inline void
model_make(struct model *m, chooser *choose, int depth)
{
	struct model *c;
	uint32_t kind = depth > 0 ? choose(6) : 0;

	memset(m, 0, sizeof(*m));
	if (kind == 0) {
		model_basic(m, choose);
		return;
	}
	if (kind == 1) {
		model_struct(m, choose, depth);
		return;
	}
	c = calloc(1, sizeof(*c));
	MODEL_CHECK(c != NULL);
	model_make(c, choose, depth - 1);
	if (c->n > 120) { /* keep it small: the component itself will do */
		*m = *c;
		free(c);
		return;
	}
	if (kind == 2)
		model_vector(m, c, choose);
	else if (kind == 3)
		model_indexed(m, c, choose);
	else if (kind == 4)
		model_resized(m, c, choose);
	else
		model_subarray(m, c, choose);
	lmpi_type_unref(c->t);
	free(c);
}

/* ---- comparing */

static inline void
model_compare_shape(const struct model *m)
{
	int64_t size = 0, lb, ub, left;

	if (m->full)
		return;
	for (int i = 0; i < m->n; i++)
		size += m->e[i].size;
	model_true_bounds(m, &lb, &ub);
	MODEL_CHECK(m->t->size == size);
	MODEL_CHECK(m->t->elements == m->n);
	MODEL_CHECK(m->t->lb == m->lb && m->t->ub == m->ub);
	MODEL_CHECK(m->t->true_lb == lb && m->t->true_ub == ub);
	size = 0;
	for (int i = 0; i < m->n; i++) {
		MODEL_CHECK(lmpi_type_elements_in(m->t, LMPI_REP_NATIVE, size, &left) == i &&
			    left == 0);
		MODEL_CHECK(lmpi_type_bytes_of(m->t, i) == size);
		if (m->e[i].size > 1) {
			MODEL_CHECK(lmpi_type_elements_in(m->t, LMPI_REP_NATIVE, size + 1, &left) ==
					    i &&
				    left == 1);
		}
		size += m->e[i].size;
	}
}

/* Packed bytes of `count` of them in the arena whose byte a is byte_of(a). */
static inline unsigned char
byte_of(int64_t a)
{
	return (unsigned char)((uint64_t)a * 2654435761u >> 13);
}

static inline void
model_compare_bytes(const struct model *m, chooser *choose)
{
	static unsigned char arena[ARENA], wire[ARENA], back[ARENA];
	int64_t count = choose(4), extent = m->ub - m->lb, n = 0, base = ARENA / 2, skip, len;

	if (m->full || m->t->size * count > ARENA / 2 || m->t->true_lb < -ARENA / 16 ||
	    m->t->true_ub > ARENA / 16 || extent * 4 > ARENA / 8 || extent * 4 < -ARENA / 8)
		return;
	for (int64_t a = 0; a < ARENA; a++)
		arena[a] = byte_of(a);
	lmpi_type_pack(m->t, arena + base, count, wire, 0, count * m->t->size);
	for (int64_t i = 0; i < count; i++)
		for (int k = 0; k < m->n; k++)
			for (int x = 0; x < m->e[k].size; x++, n++)
				MODEL_CHECK(wire[n] ==
					    byte_of(base + i * extent + m->e[k].off + x));
	void *span = lmpi_type_span(m->t, arena + base, count);
	if (span != NULL && n > 0) {
		MODEL_CHECK(memcmp(span, wire, (size_t)n) == 0);
	}
	if (n == 0)
		return;
	/* any range of it, both ways */
	skip = choose((uint32_t)n);
	len = choose((uint32_t)(n - skip) + 1);
	memset(back, 0xcc, (size_t)n + 1);
	lmpi_type_pack(m->t, arena + base, count, back, skip, len);
	MODEL_CHECK(memcmp(back, wire + skip, (size_t)len) == 0 && back[len] == 0xcc);
	memset(arena, 0, sizeof(arena));
	memset(back, 0, sizeof(back));
	for (int64_t i = 0; i < n; i++)
		wire[i] = (unsigned char)(i * 7 + 1);
	lmpi_type_unpack(m->t, arena + base, count, wire + skip, skip, len);
	n = 0;
	for (int64_t i = 0; i < count; i++)
		for (int k = 0; k < m->n; k++)
			for (int x = 0; x < m->e[k].size; x++, n++)
				if (n >= skip && n < skip + len)
					back[base + i * extent + m->e[k].off + x] = wire[n];
	MODEL_CHECK(memcmp(arena, back, sizeof(arena)) == 0);
}

#endif
