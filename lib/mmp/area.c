/* SPDX-License-Identifier: BSD-2-Clause */
/* Good fit by classes of size, as mmp/area.h says. */
#include "mmp/area.h"

#define GRAIN 64u

static unsigned
class_of(uint64_t len)
{
	uint64_t n = len / GRAIN; /* >= 1 */
	unsigned log = 63 - (unsigned)__builtin_clzll(n);
	unsigned quarter = log < 2 ? 0 : (unsigned)(n >> (log - 2)) & 3u;
	unsigned c = log < 2 ? (unsigned)n - 1 : (log - 1) * 4 + quarter;
	return c < MMP_AREA_BIN ? c : MMP_AREA_BIN - 1;
}

static uint64_t
rounded(uint64_t len)
{
	return len ? (len + GRAIN - 1) / GRAIN * GRAIN : GRAIN;
}

static uint32_t
new_piece(struct mmp_area *a)
{
	uint32_t p = a->unused;
	if (p != MMP_NONE)
		a->unused = a->piece[p].next;
	else if (a->fresh < a->pieces)
		p = a->fresh++;
	return p;
}

static void
drop_piece(struct mmp_area *a, uint32_t p)
{
	a->piece[p] = (struct mmp_piece){.next = a->unused};
	a->unused = p;
}

static void
put_free(struct mmp_area *a, uint32_t p)
{
	struct mmp_piece *e = &a->piece[p];
	unsigned c = class_of(e->len);
	e->is_free = true;
	e->prev = MMP_NONE;
	e->next = a->bin[c];
	if (e->next != MMP_NONE)
		a->piece[e->next].prev = p;
	a->bin[c] = p;
	a->has[c / 64] |= UINT64_C(1) << c % 64;
}

static void
take_free(struct mmp_area *a, uint32_t p)
{
	struct mmp_piece *e = &a->piece[p];
	unsigned c = class_of(e->len);
	e->is_free = false;
	if (e->next != MMP_NONE)
		a->piece[e->next].prev = e->prev;
	if (e->prev != MMP_NONE)
		a->piece[e->prev].next = e->next;
	else
		a->bin[c] = e->next;
	if (a->bin[c] == MMP_NONE)
		a->has[c / 64] &= ~(UINT64_C(1) << c % 64);
}

void
mmp_area_init(struct mmp_area *a, uint64_t size, struct mmp_piece *piece, uint32_t n)
{
	*a = (struct mmp_area){.size = size, .piece = piece, .pieces = n, .unused = MMP_NONE};
	for (unsigned c = 0; c < MMP_AREA_BIN; c++)
		a->bin[c] = MMP_NONE;
	uint32_t p = new_piece(a);
	a->piece[p] = (struct mmp_piece){.len = size, .before = MMP_NONE, .behind = MMP_NONE};
	put_free(a, p);
}

/* A free piece of at least so much: the first of its own class that is large enough among a
 * few, else any of a higher class. */
static uint32_t
find_area(const struct mmp_area *a, uint64_t len)
{
	unsigned c = class_of(len), tries = 8;
	for (uint32_t p = a->bin[c]; p != MMP_NONE && tries; p = a->piece[p].next, tries--)
		if (a->piece[p].len >= len)
			return p;
	for (unsigned w = ++c / 64; w < sizeof a->has / sizeof a->has[0]; w++) {
		uint64_t m = a->has[w];
		if (w == c / 64)
			m &= ~UINT64_C(0) << c % 64;
		if (m)
			return a->bin[w * 64 + (unsigned)__builtin_ctzll(m)];
	}
	return MMP_NONE;
}

bool
mmp_area_has(const struct mmp_area *a, uint64_t len)
{
	/* One piece for it and one for what is left of where it was. */
	return len <= a->size && (a->unused != MMP_NONE || a->fresh < a->pieces) &&
	       find_area(a, rounded(len)) != MMP_NONE;
}

uint32_t
mmp_area_take(struct mmp_area *a, uint64_t len)
{
	uint32_t p = len <= a->size ? find_area(a, rounded(len)) : MMP_NONE;
	len = rounded(len);
	if (p == MMP_NONE)
		return MMP_NONE;
	if (a->piece[p].len > len) {
		uint32_t rest = new_piece(a);
		if (rest == MMP_NONE)
			return MMP_NONE;
		take_free(a, p);
		struct mmp_piece *e = &a->piece[p], *r = &a->piece[rest];
		*r = (struct mmp_piece){
			.at = e->at + len, .len = e->len - len, .before = p, .behind = e->behind};
		if (r->behind != MMP_NONE)
			a->piece[r->behind].before = rest;
		e->len = len;
		e->behind = rest;
		put_free(a, rest);
	} else {
		take_free(a, p);
	}
	a->used += len;
	a->used_max = a->used > a->used_max ? a->used : a->used_max;
	return p;
}

/* p swallows the piece behind it. */
static void
join_area(struct mmp_area *a, uint32_t p)
{
	struct mmp_piece *e = &a->piece[p];
	uint32_t gone = e->behind;
	e->len += a->piece[gone].len;
	e->behind = a->piece[gone].behind;
	if (e->behind != MMP_NONE)
		a->piece[e->behind].before = p;
	drop_piece(a, gone);
}

void
mmp_area_give(struct mmp_area *a, uint32_t p)
{
	struct mmp_piece *e = &a->piece[p];
	a->used -= e->len;
	if (e->behind != MMP_NONE && a->piece[e->behind].is_free) {
		take_free(a, e->behind);
		join_area(a, p);
	}
	if (e->before != MMP_NONE && a->piece[e->before].is_free) {
		p = e->before;
		take_free(a, p);
		join_area(a, p);
	}
	put_free(a, p);
}

bool
mmp_area_check(const struct mmp_area *a)
{
	uint64_t at = 0, used = 0;
	uint32_t p = MMP_NONE, free_ones = 0, listed = 0;

	/* The first piece is the one nothing is before. */
	for (uint32_t i = 0; i < a->fresh; i++)
		if (a->piece[i].len && a->piece[i].before == MMP_NONE && a->piece[i].at == 0)
			p = i;
	for (uint32_t before = MMP_NONE; p != MMP_NONE; before = p, p = a->piece[p].behind) {
		const struct mmp_piece *e = &a->piece[p];
		if (e->at != at || !e->len || e->before != before)
			return false;
		if (e->is_free && before != MMP_NONE && a->piece[before].is_free)
			return false;
		at += e->len;
		used += e->is_free ? 0 : e->len;
		free_ones += e->is_free;
	}
	for (unsigned c = 0; c < MMP_AREA_BIN; c++) {
		if ((a->bin[c] != MMP_NONE) != (a->has[c / 64] >> c % 64 & 1))
			return false;
		for (uint32_t i = a->bin[c]; i != MMP_NONE; i = a->piece[i].next, listed++)
			if (!a->piece[i].is_free || class_of(a->piece[i].len) != c)
				return false;
	}
	return at == a->size && used == a->used && used <= a->size && free_ones == listed;
}
