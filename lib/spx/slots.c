/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames by origin and number: a ring of window_max slots for each origin.
 *
 * Slot number % window_max is enough, as a frame is within the window above the floor that came
 * with it: whatever else has that place is below the floor. */
#include "internal.h"

#include <string.h>

struct spx_origin *
spx_origin_of(struct spx *s, uint32_t id, bool make)
{
	for (uint32_t i = 0; i < s->norigins; i++)
		if (s->origin[i].id == id)
			return &s->origin[i];
	if (!make || s->norigins == s->conf.origins_max)
		return NULL;
	struct spx_origin *o = &s->origin[s->norigins++];
	o->id = id;
	o->lacks_ns = BASE_NEVER_NS;
	return o;
}

static struct spx_slot *
slot_at(const struct spx *s, const struct spx_origin *o, uint64_t number)
{
	return &o->slot[number & (s->conf.window_max - 1)];
}

struct spx_slot *
spx_slot_of(const struct spx *s, const struct spx_origin *o, uint64_t number)
{
	struct spx_slot *t = slot_at(s, o, number);

	return t->state != SPX_SLOT_FREE && t->number == number ? t : NULL;
}

struct spx_slot *
spx_slot_make(struct spx *s, struct spx_origin *o, uint64_t number)
{
	struct spx_slot *t = slot_at(s, o, number);

	if (number < o->floor || number >= o->floor + s->conf.window_max ||
	    t->state != SPX_SLOT_FREE)
		return NULL;
	*t = (struct spx_slot){.state = SPX_SLOT_FREE};
	t->o = o;
	t->number = number;
	t->up = t->also = t->down = t->ask = SPX_NONE;
	t->since_ns = s->now_ns;
	return t;
}

/* --- bytes -------------------------------------------------------------------- */

void *
spx_copy(struct spx *s, const void *bytes, size_t len)
{
	void *p = s->memory->get(s->memory->user, len ? len : 1);

	if (!p)
		s->count.no_memory++;
	else if (len)
		memcpy(p, bytes, len);
	return p;
}

void
spx_drop(struct spx *s, void **bytes)
{
	if (*bytes)
		s->memory->put(s->memory->user, *bytes);
	*bytes = NULL;
}

/* --- lists -------------------------------------------------------------------- */

void
spx_list_add(struct spx_list *l, struct spx_slot *t)
{
	struct spx_slot *before = l->last;

	while (before && before->number > t->number)
		before = before->prev;
	t->prev = before;
	t->next = before ? before->next : l->first;
	*(t->prev ? &t->prev->next : &l->first) = t;
	*(t->next ? &t->next->prev : &l->last) = t;
	t->listed = true;
	l->n++;
}

void
spx_list_cut(struct spx_list *l, struct spx_slot *t)
{
	if (!t->listed)
		return;
	*(t->prev ? &t->prev->next : &l->first) = t->next;
	*(t->next ? &t->next->prev : &l->last) = t->prev;
	t->next = t->prev = NULL;
	t->listed = false;
	l->n--;
}

/* --- timers ------------------------------------------------------------------- */

void
spx_arm(struct spx *s, struct base_timer *timer, uint8_t tries)
{
	uint64_t ns = s->conf.retry_ns << (tries < 16 ? tries : 16);

	base_wheel_arm(&s->wheel, timer, s->now_ns + base_min_ns(ns, s->conf.retry_max_ns));
}

void
spx_arm_slot(struct spx *s, struct spx_slot *t)
{
	spx_arm(s, &t->timer, t->tries);
	if (t->tries < UINT8_MAX)
		t->tries++;
}

void
spx_arm_stall(struct spx *s, struct spx_slot *t)
{
	if (s->conf.stall_ns)
		base_wheel_arm(&s->wheel, &t->timer,
			       s->now_ns + (s->conf.stall_ns << (t->tries < 16 ? t->tries : 16)));
}

/* --- states ------------------------------------------------------------------- */

static struct spx_list *
list_of_state(struct spx *s, enum spx_slot_state state)
{
	if (state == SPX_SLOT_HELD || state == SPX_SLOT_READY)
		return &s->line;
	return state == SPX_SLOT_QUEUED ? &s->queue : NULL;
}

static bool
is_under_way(enum spx_slot_state state)
{
	return state == SPX_SLOT_PUT || state == SPX_SLOT_TAKEN;
}

/* An I/O process has a frame of this one, or has it no more. */
static void
count_mine(struct spx *s, const struct spx_slot *t, enum spx_slot_state state)
{
	struct spx_peer *p = spx_peer_of(s, t->down);

	if (!p || is_under_way(t->state) == is_under_way(state))
		return;
	if (is_under_way(state))
		p->mine++;
	else if (p->mine)
		p->mine--;
}

void
spx_slot_set(struct spx *s, struct spx_slot *t, enum spx_slot_state state)
{
	struct spx_list *was = list_of_state(s, t->state), *is = list_of_state(s, state);

	if (was)
		spx_list_cut(was, t);
	base_wheel_cancel(&s->wheel, &t->timer);
	count_mine(s, t, state);
	if (t->ask != SPX_NONE && state != SPX_SLOT_ASKING) {
		s->ask_used[t->ask] = false;
		t->ask = SPX_NONE;
	}
	bool waited = spx_is_waiting(t->state), waits = spx_is_waiting(state);
	if (s->asking == t)
		s->asking = NULL;
	t->state = state;
	t->tries = 0;
	t->since_ns = s->now_ns;
	if (is)
		spx_list_add(is, t);
	s->held += waits;
	s->held -= waited;
	if (waited && !waits)
		spx_io_freed(s);
}

void
spx_slot_end(struct spx *s, struct spx_slot *t, enum spx_slot_state state)
{
	spx_slot_set(s, t, state);
	spx_drop(s, &t->in);
	spx_drop(s, &t->out);
}

/* --- floors ------------------------------------------------------------------- */

/* It is committed at its origin.  Who gave it may not know: all between may have died. */
static void
pass_by(struct spx *s, struct spx_slot *t)
{
	/* A program ends by itself what it is in. */
	if (t->state == SPX_SLOT_FREE || t->state == SPX_SLOT_BEGUN || t->state == SPX_SLOT_DONE)
		return;
	if (t->state == SPX_SLOT_CLOSED || spx_is_mine(s, t->o))
		spx_slot_end(s, t, SPX_SLOT_FREE);
	else
		spx_done_below(s, t);
}

/* Own numbers: the floor follows. */
static void
follow_floor(struct spx *s, struct spx_origin *o)
{
	for (;;) {
		struct spx_slot *t = spx_slot_of(s, o, o->floor);
		if (!t || t->state != SPX_SLOT_CLOSED)
			return;
		t->state = SPX_SLOT_FREE;
		o->floor++;
	}
}

void
spx_floor_raise(struct spx *s, struct spx_origin *o, uint64_t floor)
{
	uint64_t from = o->floor;

	if (floor <= from)
		return;
	o->floor = floor;
	for (uint64_t n = from; n < floor && n < from + s->conf.window_max; n++) {
		struct spx_slot *t = slot_at(s, o, n);
		if (t->number < floor)
			pass_by(s, t);
	}
	if (!spx_is_mine(s, o))
		return;
	/* An earlier process with this rank has gone farther than was known. */
	follow_floor(s, o);
	s->remade_below = base_max_ns(s->remade_below, floor + s->window_most);
	s->news_room = true;
}

void
spx_mark_closed(struct spx *s, struct spx_origin *o, uint64_t number)
{
	struct spx_slot *t = spx_slot_of(s, o, number);

	if (!t) {
		t = spx_slot_make(s, o, number);
		if (!t)
			return;
	} else if (t->state == SPX_SLOT_CLOSED || t->state == SPX_SLOT_BEGUN) {
		return;
	}
	spx_slot_end(s, t, SPX_SLOT_CLOSED);
	if (spx_is_mine(s, o))
		follow_floor(s, o);
}
