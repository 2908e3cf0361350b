/* SPDX-License-Identifier: BSD-2-Clause */
/* Fences over several units: spd/fence.h. */
#include "spd/fence.h"

#include <stdlib.h>
#include <string.h>

struct part {
	bool here;
	uint8_t *data;
	size_t len;
};

struct set {
	bool used, open;
	uint64_t id, number; /* of the newest fence that was begun here */
	void *ticket;
	bool *takes;	      /* [units] */
	struct part *part[2]; /* [units] of a fence, by its number's parity */
	struct part own[2];   /* likewise */
};

struct spd_fences {
	uint32_t units, me;
	bool *lost; /* [units] */
	size_t kept;
	struct set set[SPD_FENCE_SETS];
	struct spd_fence_counts count;
};

struct spd_fences *
spd_fences_new(uint32_t units, uint32_t me)
{
	struct spd_fences *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->units = units;
	f->me = me;
	f->lost = calloc(units, sizeof *f->lost);
	if (!f->lost) {
		free(f);
		return NULL;
	}
	return f;
}

static void
drop_part(struct spd_fences *f, struct part *p)
{
	free(p->data);
	f->kept -= p->len;
	*p = (struct part){0};
}

static bool
keep_part(struct spd_fences *f, struct part *p, const void *data, size_t len)
{
	uint8_t *copy = len && f->kept + len <= SPD_FENCE_KEPT ? malloc(len) : NULL;

	if (len && !copy) {
		f->count.no_room++;
		return false;
	}
	if (len)
		memcpy(copy, data, len);
	f->kept += len;
	*p = (struct part){true, copy, len};
	return true;
}

static void
free_set(struct spd_fences *f, struct set *s)
{
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t u = 0; s->part[i] && u < f->units; u++)
			drop_part(f, &s->part[i][u]);
		free(s->part[i]);
		drop_part(f, &s->own[i]);
	}
	free(s->takes);
	*s = (struct set){0};
}

void
spd_fences_free(struct spd_fences *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < SPD_FENCE_SETS; i++)
		if (f->set[i].used)
			free_set(f, &f->set[i]);
	free(f->lost);
	free(f);
}

/* NULL: there is none, or no room for it. */
static struct set *
find_set(struct spd_fences *f, uint64_t id, bool make)
{
	struct set *s = NULL;

	for (uint32_t i = SPD_FENCE_SETS; i-- > 0;) {
		if (f->set[i].used && f->set[i].id == id)
			return &f->set[i];
		if (!f->set[i].used)
			s = &f->set[i];
	}
	if (!make || !s)
		return NULL;
	*s = (struct set){.used = true, .id = id};
	s->takes = calloc(f->units, sizeof *s->takes);
	for (uint32_t i = 0; i < 2; i++)
		s->part[i] = calloc(f->units, sizeof *s->part[i]);
	if (s->takes && s->part[0] && s->part[1])
		return s;
	free_set(f, s);
	return NULL;
}

uint64_t
spd_fences_begin(struct spd_fences *f, uint64_t id, const bool *takes, const void *data, size_t len,
		 void *ticket)
{
	struct set *s = find_set(f, id, true);

	if (!s || s->open) {
		f->count.no_room += !s;
		return 0;
	}
	struct part *own = &s->own[(s->number + 1) % 2];
	drop_part(f, own); /* of two before: all have it, or they would not be here */
	if (!keep_part(f, own, data, len))
		return 0;
	s->number++;
	s->open = true;
	s->ticket = ticket;
	memcpy(s->takes, takes, f->units * sizeof *takes);
	return s->number;
}

bool
spd_fences_part(struct spd_fences *f, uint32_t unit, uint64_t id, uint64_t number, const void *data,
		size_t len)
{
	if (unit >= f->units || unit == f->me || number == 0) {
		f->count.ahead++;
		return false;
	}
	struct set *s = find_set(f, id, number == 1);
	uint64_t next = s ? s->number + 1 : 1;
	if (!s || number > next) {
		f->count.ahead += number > next;
		f->count.no_room += number == 1 && !s;
		return false;
	}
	struct part *p = &s->part[number % 2][unit];
	if (number + 1 < next || (number + 1 == next && !s->open) || p->here) {
		f->count.late++;
		return false;
	}
	return keep_part(f, p, data, len);
}

void
spd_fences_lost(struct spd_fences *f, uint32_t unit)
{
	if (unit < f->units)
		f->lost[unit] = true;
}

static bool
is_missing(const struct spd_fences *f, const struct set *s, uint32_t unit)
{
	return s->open && unit != f->me && s->takes[unit] && !f->lost[unit] &&
	       !s->part[s->number % 2][unit].here;
}

static struct set *
find_complete(struct spd_fences *f)
{
	for (uint32_t i = 0; i < SPD_FENCE_SETS; i++) {
		struct set *s = &f->set[i];
		bool all = s->open;
		for (uint32_t u = 0; u < f->units && all; u++)
			all = !is_missing(f, s, u);
		if (all)
			return s;
	}
	return NULL;
}

/* The parts that are there, one after the other; false: too much, or no memory. */
static bool
join_parts(const struct spd_fences *f, const struct set *s, struct spd_fence_done *done)
{
	const struct part *part = s->part[s->number % 2], *own = &s->own[s->number % 2];
	size_t n = 0;

	for (uint32_t u = 0; u < f->units; u++)
		n += u == f->me ? own->len : part[u].len;
	if (n == 0)
		return true;
	done->data = n <= SPD_FENCE_MOST ? malloc(n) : NULL;
	if (!done->data)
		return false;
	for (uint32_t u = 0; u < f->units; u++) {
		const struct part *p = u == f->me ? own : &part[u];
		if (p->len)
			memcpy(done->data + done->len, p->data, p->len);
		done->len += p->len;
	}
	return true;
}

bool
spd_fences_done(struct spd_fences *f, struct spd_fence_done *done)
{
	struct set *s = find_complete(f);

	if (!s)
		return false;
	*done = (struct spd_fence_done){.set = s->id, .number = s->number, .ticket = s->ticket};
	done->ok = join_parts(f, s, done);
	s->open = false;
	for (uint32_t u = 0; u < f->units; u++)
		drop_part(f, &s->part[s->number % 2][u]);
	f->count.fences++;
	return true;
}

const void *
spd_fences_own(const struct spd_fences *f, uint64_t id, uint64_t number, size_t *len)
{
	for (uint32_t i = 0; i < SPD_FENCE_SETS; i++) {
		const struct set *s = &f->set[i];
		if (!s->used || s->id != id)
			continue;
		if (number == 0 || number > s->number || number + 1 < s->number)
			return NULL;
		const struct part *p = &s->own[number % 2];
		*len = p->len;
		return p->data ? (const void *)p->data : "";
	}
	return NULL;
}

bool
spd_fences_missing(const struct spd_fences *f, uint32_t *at, uint32_t *unit, uint64_t *set,
		   uint64_t *number)
{
	for (; *at < SPD_FENCE_SETS * f->units; ++*at) {
		const struct set *s = &f->set[*at / f->units];
		if (!is_missing(f, s, *at % f->units))
			continue;
		*unit = (*at)++ % f->units;
		*set = s->id;
		*number = s->number;
		return true;
	}
	return false;
}

const struct spd_fence_counts *
spd_fences_counters(const struct spd_fences *f)
{
	return &f->count;
}
