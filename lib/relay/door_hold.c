/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds: which process uses which IMPORT.  They are found by the two, and listed by either. */
#include "door_internal.h"

#include <string.h>

static uint32_t
count_hold_buckets(uint32_t holds_max)
{
	return holds_max / 2 + 1;
}

void
relay_door_lay_out_holds(const struct relay_core_limits *l, struct base_arena *a, struct doors *d)
{
	d->hold = base_arena_take(a, l->holds_max, sizeof *d->hold);
	d->pair = base_arena_take(a, count_hold_buckets(l->holds_max), sizeof *d->pair);
}

void
relay_door_init_holds(struct relay_core *c)
{
	struct doors *d = &c->doors;
	const struct relay_core_limits *l = &c->conf.limits;
	memset(d->pair, 0xff, count_hold_buckets(l->holds_max) * sizeof *d->pair);
	d->free_hold = l->holds_max ? 0 : NONE;
	for (uint32_t i = 0; i < l->holds_max; i++)
		d->hold[i] = (struct door_hold){.import = NONE,
						.path = NONE,
						.queue_next = i + 1 < l->holds_max ? i + 1 : NONE};
}

static struct base_ichain *
find_hold_bucket(const struct relay_core *c, uint32_t import, uint32_t path)
{
	uint32_t h = import * 0x9e3779b1u ^ path * 0x85ebca6bu;
	return &c->doors.pair[(h ^ h >> 15) % count_hold_buckets(c->conf.limits.holds_max)];
}

uint32_t
relay_door_hold(struct relay_core *c, uint32_t import, uint32_t path)
{
	struct doors *d = &c->doors;
	uint32_t h = d->free_hold;
	if (h == NONE)
		return NONE;
	d->free_hold = d->hold[h].queue_next;
	d->nholds++;
	d->hold[h] = (struct door_hold){.import = import,
					.path = path,
					.queue_next = NONE,
					.asks_made = d->hold[h].asks_made};
	if (import != NONE) {
		struct base_ichain of = {d->door[import].of};
		base_ichain_push(&of, BASE_ILINKS(d->hold, of_import), h);
		d->door[import].of = of.head;
	}
	if (path != NONE) {
		struct base_ichain at = {c->path[path].holds};
		base_ichain_push(&at, BASE_ILINKS(d->hold, of_path), h);
		c->path[path].holds = at.head;
		c->path[path].nholds++;
	}
	if (import != NONE && path != NONE)
		base_ichain_push(find_hold_bucket(c, import, path), BASE_ILINKS(d->hold, of_pair),
				 h);
	return h;
}

void
relay_door_unpair(struct relay_core *c, uint32_t h)
{
	struct door_hold *x = &c->doors.hold[h];
	if (x->import != NONE && x->path != NONE)
		base_ichain_unlink(find_hold_bucket(c, x->import, x->path),
				   BASE_ILINKS(c->doors.hold, of_pair), h);
}

uint32_t
relay_door_held(const struct relay_core *c, uint32_t import, uint32_t path, uint32_t after)
{
	const struct door_hold *hold = c->doors.hold;
	uint32_t h =
		after == NONE ? find_hold_bucket(c, import, path)->head : hold[after].of_pair.next;
	while (h != NONE && (hold[h].import != import || hold[h].path != path))
		h = hold[h].of_pair.next;
	return h;
}

static uint32_t
count_requests(const struct relay_core *c)
{
	uint32_t each = UINT32_MAX / c->conf.limits.holds_max;
	return each < UINT16_MAX ? each : UINT16_MAX;
}

uint32_t
relay_door_ask_request(struct relay_core *c, uint32_t h, uint32_t r)
{
	struct door_hold *x = &c->doors.hold[h];
	x->asks_made = (uint16_t)((x->asks_made + 1u) % count_requests(c));
	x->asked[r] = x->asks_made;
	return x->asked[r] * c->conf.limits.holds_max + h;
}

uint32_t
relay_door_ask_hold(const struct relay_core *c, uint32_t request, uint32_t r)
{
	uint32_t max = c->conf.limits.holds_max, h = max ? request % max : NONE;
	if (h == NONE)
		return NONE;
	bool last = c->doors.hold[h].asked[r] == request / max;
	return last ? h : NONE;
}

void
relay_door_unreserve(struct relay_core *c, struct door_hold *x, uint8_t relays)
{
	uint32_t n = (uint32_t)__builtin_popcount(x->reserved & relays);
	x->reserved &= (uint8_t)~relays;
	c->doors.reserved -= n;
	c->doors.kept[x->asker] -= (uint16_t)n;
}

void
relay_door_unhold(struct relay_core *c, uint32_t h)
{
	struct doors *d = &c->doors;
	struct door_hold *x = &d->hold[h];
	relay_door_unpair(c, h);
	if (x->import != NONE) {
		struct base_ichain of = {d->door[x->import].of};
		base_ichain_unlink(&of, BASE_ILINKS(d->hold, of_import), h);
		d->door[x->import].of = of.head;
	}
	if (x->path != NONE) {
		struct base_ichain at = {c->path[x->path].holds};
		base_ichain_unlink(&at, BASE_ILINKS(d->hold, of_path), h);
		c->path[x->path].holds = at.head;
		c->path[x->path].nholds--;
	}
	relay_door_unreserve(c, x, UINT8_MAX);
	x->import = x->path = NONE;
	x->dropped = true;
	if (x->queued)
		return; /* the tick frees it */
	x->queue_next = d->free_hold;
	d->free_hold = h;
	d->nholds--;
}

uint32_t
relay_door_along(const struct relay_core *c, const struct door_hold *h)
{
	uint32_t o = h->own && h->path != NONE ? relay_door_at(c, h->own, DOOR_OWN) : NONE;
	return o != NONE && c->doors.door[o].at == h->path ? o : NONE;
}

static bool
is_paired(const struct relay_core *c, uint32_t hold)
{
	const struct door_hold *x = &c->doors.hold[hold];
	uint32_t h = NONE;
	do
		h = relay_door_held(c, x->import, x->path, h);
	while (h != NONE && h != hold);
	return h == hold;
}

const char *
relay_door_check_holds(const struct relay_core *c)
{
	const struct doors *d = &c->doors;
	uint32_t held = 0, free = 0, reserved = 0, paired = 0, pairs = 0;
	for (uint32_t i = 0; i < c->conf.limits.holds_max; i++) {
		const struct door_hold *h = &d->hold[i];
		reserved += (uint32_t)__builtin_popcount(h->reserved);
		held += h->import != NONE || h->path != NONE || h->queued;
		if (h->import != NONE && d->door[h->import].kind != DOOR_IMPORT)
			return "a hold is of an import";
		if (h->import == NONE || h->path == NONE)
			continue;
		paired++;
		if (!is_paired(c, i))
			return "a hold is found by its import and its path";
	}
	for (uint32_t b = 0; b < count_hold_buckets(c->conf.limits.holds_max); b++)
		for (uint32_t i = d->pair[b].head; i != NONE; i = d->hold[i].of_pair.next)
			pairs++;
	if (pairs != paired)
		return "holds of a pair = those of an import and a path";
	for (uint32_t i = d->free_hold; i != NONE && free <= c->conf.limits.holds_max;
	     i = d->hold[i].queue_next)
		free++;
	if (reserved != d->reserved || reserved > d->places_free)
		return "places kept for what is offered = their number";
	return held == d->nholds && held + free == c->conf.limits.holds_max
		       ? NULL
		       : "holds in use + free = all";
}
