/* SPDX-License-Identifier: BSD-2-Clause */
/* base/wheel.h - hierarchical timer wheel driven by the caller's clock.
 *
 * Holds intrusive timers.  Arming, moving and cancelling cost O(1); re-arming
 * a timer to a time in the same slot is free.  Timers fire not before their
 * deadline and at most one tick late, once base_wheel_advance() is called.
 *
 * Units    ns; the tick is chosen at init (power of two ns).
 * Threads  one owner.
 * Limits   any number of timers; deadlines up to 2^63 ns ahead. */
#ifndef BASE_WHEEL_H
#define BASE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#define BASE_WHEEL_LEVELS 6
#define BASE_WHEEL_SLOTS  64

struct base_timer {
	struct base_timer *next, **prevp; /* private; prevp NULL = not armed */
	uint64_t deadline_ns;
	uint8_t level, slot; /* private */
};

struct base_wheel {
	uint64_t now_tick;
	uint32_t tick_shift; /* a tick is 2^tick_shift ns */
	uint64_t occupied[BASE_WHEEL_LEVELS];
	struct base_timer *slot[BASE_WHEEL_LEVELS][BASE_WHEEL_SLOTS];
	struct base_timer *due; /* expired, not yet handed out */
};

/* A wheel with ticks of 2^tick_shift ns (10 = about 1 us). */
void base_wheel_init(struct base_wheel *w, uint32_t tick_shift, uint64_t now_ns);
/* Arm t (or move it if armed) to fire at deadline_ns; BASE_NEVER_NS cancels.
 * t must be zeroed before its first use. */
void base_wheel_arm(struct base_wheel *w, struct base_timer *t, uint64_t deadline_ns);
void base_wheel_cancel(struct base_wheel *w, struct base_timer *t);
static inline bool
base_timer_armed(const struct base_timer *t)
{
	return t->prevp != 0;
}
/* Move time to now_ns; then take expired timers one by one with
 * base_wheel_pop() until it returns NULL.  A popped timer is disarmed and may
 * be armed again at once.  Timers that expired in one advance come in no
 * particular order, the same in every run.  A now_ns before the last one moves
 * nothing. */
void base_wheel_advance(struct base_wheel *w, uint64_t now_ns);
struct base_timer *base_wheel_pop(struct base_wheel *w);
/* When base_wheel_advance() next has something to do: never more than one tick
 * after the earliest deadline, and early at most once per level for each timer
 * (it is re-filed then: ask again).  Always after the time of the last advance,
 * unless expired timers wait for base_wheel_pop().  BASE_NEVER_NS if no timer is
 * armed. */
uint64_t base_wheel_next_ns(const struct base_wheel *w);

#endif
