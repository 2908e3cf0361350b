/* SPDX-License-Identifier: BSD-2-Clause */
/* Level l has 64 slots of 64^l ticks.  A timer sits at the lowest level whose
 * slots can tell its tick from now; advancing over a slot of level l > 0
 * re-files its timers one level down (a cascade). */
#include "base/wheel.h"

#include "base/assert.h"
#include "base/clock.h"

#include <string.h>

void
base_wheel_init(struct base_wheel *w, uint32_t tick_shift, uint64_t now_ns)
{
	memset(w, 0, sizeof *w);
	w->tick_shift = tick_shift;
	w->now_tick = now_ns >> tick_shift;
}

static void
link_at(struct base_timer **head, struct base_timer *t)
{
	t->next = *head;
	t->prevp = head;
	if (t->next)
		t->next->prevp = &t->next;
	*head = t;
}

static void
unlink_timer(struct base_wheel *w, struct base_timer *t)
{
	*t->prevp = t->next;
	if (t->next)
		t->next->prevp = t->prevp;
	t->prevp = NULL;
	if (t->level < BASE_WHEEL_LEVELS && !w->slot[t->level][t->slot])
		w->occupied[t->level] &= ~(1ull << t->slot);
}

/* The tick at which a deadline has passed: rounded up. */
static uint64_t
tick_of(const struct base_wheel *w, uint64_t deadline_ns)
{
	uint64_t t = deadline_ns >> w->tick_shift;
	return (t << w->tick_shift) == deadline_ns ? t : t + 1;
}

static void
file_timer(struct base_wheel *w, struct base_timer *t)
{
	uint64_t tick = tick_of(w, t->deadline_ns);
	if (tick <= w->now_tick) {
		t->level = BASE_WHEEL_LEVELS;
		link_at(&w->due, t);
		return;
	}
	uint64_t differ = tick ^ w->now_tick;
	uint32_t level = (63u - (uint32_t)__builtin_clzll(differ)) / 6;
	uint64_t slot;
	if (level >= BASE_WHEEL_LEVELS) {
		/* Beyond the top level's lap, perhaps by one tick only: into its slot
		 * if that is less than a lap away, else park in the last and re-file then. */
		level = BASE_WHEEL_LEVELS - 1;
		uint64_t pos = w->now_tick >> (6 * level);
		uint64_t ahead = (tick >> (6 * level)) - pos;
		slot = (pos + (ahead < 63 ? ahead : 63)) & 63;
	} else {
		slot = (tick >> (6 * level)) & 63;
	}
	t->level = (uint8_t)level;
	t->slot = (uint8_t)slot;
	link_at(&w->slot[level][slot], t);
	w->occupied[level] |= 1ull << slot;
}

void
base_wheel_arm(struct base_wheel *w, struct base_timer *t, uint64_t deadline_ns)
{
	if (deadline_ns == BASE_NEVER_NS) {
		base_wheel_cancel(w, t);
		return;
	}
	if (t->prevp) {
		if (t->deadline_ns == deadline_ns)
			return;
		if (t->level == 0 && tick_of(w, t->deadline_ns) == tick_of(w, deadline_ns)) {
			t->deadline_ns = deadline_ns;
			return;
		}
		unlink_timer(w, t);
	}
	t->deadline_ns = deadline_ns;
	file_timer(w, t);
}

void
base_wheel_cancel(struct base_wheel *w, struct base_timer *t)
{
	if (t->prevp)
		unlink_timer(w, t);
}

/* Take everything out of one slot and file it again from the new now_tick. */
static void
refile_slot(struct base_wheel *w, uint32_t level, uint32_t slot)
{
	struct base_timer *t = w->slot[level][slot];
	w->slot[level][slot] = NULL;
	w->occupied[level] &= ~(1ull << slot);
	while (t) {
		struct base_timer *next = t->next;
		t->prevp = NULL;
		file_timer(w, t);
		t = next;
	}
}

/* The first tick after now at which some slot has to be looked at. */
static uint64_t
next_event_tick(const struct base_wheel *w)
{
	uint64_t best = UINT64_MAX;
	for (uint32_t l = 0; l < BASE_WHEEL_LEVELS; l++) {
		if (!w->occupied[l])
			continue;
		uint64_t pos = w->now_tick >> (6 * l);
		uint32_t cur = (uint32_t)(pos & 63);
		/* Rotate so that bit 0 is the slot after the current one. */
		uint32_t r = (cur + 1) & 63;
		uint64_t m =
			r ? (w->occupied[l] >> r) | (w->occupied[l] << (64 - r)) : w->occupied[l];
		uint64_t at = (pos + 1 + (uint64_t)__builtin_ctzll(m)) << (6 * l);
		if (at < best)
			best = at;
	}
	return best;
}

void
base_wheel_advance(struct base_wheel *w, uint64_t now_ns)
{
	uint64_t to = now_ns >> w->tick_shift;
	while (w->now_tick < to) {
		uint64_t at = next_event_tick(w);
		if (at > to) {
			w->now_tick = to;
			return;
		}
		w->now_tick = at;
		for (uint32_t l = BASE_WHEEL_LEVELS; l-- > 0;) {
			if (l && (at & ((1ull << (6 * l)) - 1)))
				continue; /* not at a slot boundary of this level */
			uint32_t slot = (uint32_t)(at >> (6 * l)) & 63;
			if (w->occupied[l] & (1ull << slot))
				refile_slot(w, l, slot);
		}
	}
}

struct base_timer *
base_wheel_pop(struct base_wheel *w)
{
	struct base_timer *t = w->due;
	if (t)
		unlink_timer(w, t);
	return t;
}

uint64_t
base_wheel_next_ns(const struct base_wheel *w)
{
	if (w->due)
		return w->now_tick << w->tick_shift;
	uint64_t at = next_event_tick(w);
	return at == UINT64_MAX ? BASE_NEVER_NS : at << w->tick_shift;
}
