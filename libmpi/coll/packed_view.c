/* SPDX-License-Identifier: BSD-2-Clause */
/* The packed view of user buffers: the user's own memory where it is packed by
 * nature, a copy where it is not. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"

static int
side_no_memory(void)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for a copy of a collective's buffer");
}

static void
register_side(struct lmpi_coll *c, const struct lmpi_side *s, int role)
{
	for (int way = LMPI_SIDE_IN; way <= LMPI_SIDE_OUT; way++) {
		if (!(role & way))
			continue;
		if (way == LMPI_SIDE_IN)
			c->in[c->ins++] = *s;
		else
			c->out = *s;
		if (way == LMPI_SIDE_OUT)
			c->has_out = true;
		if (s->type != NULL)
			lmpi_type_ref(s->type);
		for (int64_t i = 0; s->types != NULL && i < s->blocks; i++)
			if (s->types[i] != NULL)
				lmpi_type_ref(s->types[i]);
	}
}

void
lmpi_side_release(struct lmpi_side *s)
{
	if (s->type != NULL)
		lmpi_type_unref(s->type);
	for (int64_t i = 0; s->types != NULL && i < s->blocks; i++)
		if (s->types[i] != NULL)
			lmpi_type_unref(s->types[i]);
}

static void
move_side(const struct lmpi_side *s, bool unpack)
{
	char *packed = s->packed;
	int64_t next = 0;

	for (int64_t i = 0; i < s->blocks; i++) {
		const struct lmpi_type *t = s->types ? s->types[i] : s->type;
		int64_t n = s->counts ? s->counts[i] : s->count;
		void *at;

		if (n == 0)
			continue;
		at = (void *)((uintptr_t)s->buf + (uintptr_t)(s->displs ? s->displs[i] : next));
		if (unpack)
			lmpi_type_unpack(t, at, n, packed, 0, n * t->size);
		else
			lmpi_type_pack(t, at, n, packed, 0, n * t->size);
		packed += n * t->size;
		next += n * lmpi_type_extent(t);
	}
}

void
lmpi_side_pack(const struct lmpi_side *s)
{
	move_side(s, false);
}

void
lmpi_side_unpack(const struct lmpi_side *s)
{
	move_side(s, true);
}

/* The datatype of the buffer the schedule knows as c->send or c->recv. */
static void
note_type(struct lmpi_coll *c, char **base, struct lmpi_type *type)
{
	if (base == &c->send)
		c->side_type[COLL_SEND] = type;
	else if (base == &c->recv)
		c->side_type[COLL_RECV] = type;
}

/* Its blocks have so many bytes in all. */
static int
pack_blocks(struct lmpi_coll *c, struct lmpi_side *s, uint64_t bytes, int role, char **base)
{
	*base = s->packed = lmpi_coll_alloc(c, (int64_t)bytes, 1);
	if (*base == NULL)
		return side_no_memory();
	register_side(c, s, role);
	return MPI_SUCCESS;
}

int
lmpi_side_uniform(struct lmpi_coll *c, const void *buf, int64_t blocks, int64_t count,
		  struct lmpi_type *type, int role, char **base)
{
	struct lmpi_side s = {
		.type = type, .buf = (char *)(uintptr_t)buf, .blocks = 1, .count = blocks * count};

	note_type(c, base, type);
	*base = (char *)(uintptr_t)buf;
	if (s.count * type->size == 0)
		return MPI_SUCCESS;
	*base = lmpi_type_span(type, buf, s.count);
	if (*base != NULL)
		return MPI_SUCCESS;
	return pack_blocks(c, &s, (uint64_t)(s.count * type->size), role, base);
}

/* Blocks that are packed by nature: the tables only have to be shifted so that
 * no displacement is negative. */
static void
in_place_tables(const struct lmpi_side *s, const struct lmpi_type *type, uint64_t *bytes,
		uint64_t *displ, char **base)
{
	int64_t lowest = INT64_MAX;

	for (int64_t i = 0; i < s->blocks; i++)
		if (s->counts[i] != 0 && s->displs[i] < lowest)
			lowest = s->displs[i];
	if (lowest == INT64_MAX)
		lowest = 0;
	for (int64_t i = 0; i < s->blocks; i++) {
		bytes[i] = (uint64_t)(s->counts[i] * type->size);
		displ[i] = s->counts[i] ? (uint64_t)(s->displs[i] - lowest) : 0;
	}
	*base = (char *)((uintptr_t)s->buf + (uintptr_t)(lowest + type->layout->off));
}

struct piece {
	int64_t from, to;
};

static int
by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Do blocks of a buffer to be written share bytes?  No program may want that, but some
 * do, and a schedule that takes one block after the other in there would wait for ever:
 * for the send of what is to be overwritten, as its peers do. */
static bool
overlaps(struct lmpi_coll *c, const struct lmpi_side *s, int64_t bytes_each)
{
	struct piece *p;
	int64_t n = 0, end = INT64_MIN;
	bool rising = true;

	for (int64_t i = 0; i < s->blocks; i++) {
		if (s->counts[i] == 0)
			continue;
		rising &= s->displs[i] >= end;
		end = s->displs[i] + s->counts[i] * bytes_each;
	}
	if (rising)
		return false;
	p = lmpi_coll_alloc(c, s->blocks, sizeof(*p));
	for (int64_t i = 0; p != NULL && i < s->blocks; i++)
		if (s->counts[i] != 0)
			p[n++] = (struct piece){s->displs[i],
						s->displs[i] + s->counts[i] * bytes_each};
	if (p != NULL)
		qsort(p, (size_t)n, sizeof(*p), by_start);
	for (int64_t i = 1; p != NULL && i < n; i++)
		if (p[i].from < p[i - 1].to)
			return true;
	return false;
}

int
lmpi_side_vector(struct lmpi_coll *c, const void *buf, int64_t blocks, struct lmpi_ints counts,
		 struct lmpi_ints displs, struct lmpi_type *type, int role, char **base,
		 const uint64_t **bytes_of, const uint64_t **displ)
{
	struct lmpi_side s = {.type = type, .buf = (char *)(uintptr_t)buf, .blocks = blocks};
	uint64_t *bytes = lmpi_coll_alloc(c, 2 * blocks, sizeof(*bytes)), at = 0;
	int64_t extent = lmpi_type_extent(type), next = 0;

	note_type(c, base, type);
	s.counts = lmpi_coll_alloc(c, 2 * blocks, sizeof(*s.counts));
	if (bytes == NULL || s.counts == NULL)
		return side_no_memory();
	s.displs = s.counts + blocks;
	*bytes_of = bytes;
	*displ = bytes + blocks;
	for (int64_t i = 0; i < blocks; i++) {
		s.counts[i] = ints_at(counts, i);
		s.displs[i] = displs.at ? ints_at(displs, i) * extent : next;
		next += s.counts[i] * extent;
	}
	if ((lmpi_type_span(type, buf, 2) != NULL || type->size == 0) &&
	    !((role & LMPI_SIDE_OUT) && overlaps(c, &s, type->size))) {
		in_place_tables(&s, type, bytes, bytes + blocks, base);
		return MPI_SUCCESS;
	}
	for (int64_t i = 0; i < blocks; i++) {
		bytes[i] = (uint64_t)(s.counts[i] * type->size);
		bytes[blocks + i] = at;
		at += bytes[i];
	}
	return pack_blocks(c, &s, at, role, base);
}

int
lmpi_side_types(struct lmpi_coll *c, const void *buf, int64_t blocks, struct lmpi_ints counts,
		struct lmpi_ints displs, const MPI_Datatype *types, int role, char **base,
		const uint64_t **bytes_of, const uint64_t **displ)
{
	struct lmpi_side s = {.buf = (char *)(uintptr_t)buf, .blocks = blocks};
	uint64_t *bytes = lmpi_coll_alloc(c, 2 * blocks, sizeof(*bytes)), at = 0;

	s.counts = lmpi_coll_alloc(c, 2 * blocks, sizeof(*s.counts));
	s.types = lmpi_coll_alloc(c, blocks, sizeof(struct lmpi_type *));
	if (bytes == NULL || s.counts == NULL || s.types == NULL)
		return side_no_memory();
	s.displs = s.counts + blocks;
	*bytes_of = bytes;
	*displ = bytes + blocks;
	for (int64_t i = 0; i < blocks; i++) {
		s.counts[i] = ints_at(counts, i);
		s.displs[i] = ints_at(displs, i);
		s.types[i] = s.counts[i] ? lmpi_type_find(types[i]) : NULL;
		bytes[i] = s.types[i] ? (uint64_t)(s.counts[i] * s.types[i]->size) : 0;
		bytes[blocks + i] = at;
		at += bytes[i];
	}
	return pack_blocks(c, &s, at, role, base);
}
