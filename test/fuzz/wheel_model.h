/* SPDX-License-Identifier: BSD-2-Clause */
/* The timer wheel beside a model that is too simple to be wrong: an array of
 * deadlines.  One call of wheel_model_step() does one operation on both and
 * compares everything that can be observed.  Used by the unit suite with random
 * operations and by the fuzz target with chosen ones. */
#ifndef TEST_WHEEL_MODEL_H
#define TEST_WHEEL_MODEL_H

#include "base/assert.h"
#include "base/clock.h"
#include "base/wheel.h"

#include <string.h>

enum { WHEEL_MODEL_TIMERS = 24 };

struct wheel_model {
	struct base_wheel wheel;
	struct base_timer timer[WHEEL_MODEL_TIMERS];
	uint64_t deadline_ns[WHEEL_MODEL_TIMERS]; /* BASE_NEVER_NS: not armed */
	uint64_t now_ns;
	uint64_t fired;
};

enum wheel_model_op { WHEEL_ARM, WHEEL_CANCEL, WHEEL_ADVANCE, WHEEL_JUMP, WHEEL_OPS };

static inline void
wheel_model_init(struct wheel_model *m, uint32_t tick_shift, uint64_t now_ns)
{
	memset(m, 0, sizeof *m);
	for (int i = 0; i < WHEEL_MODEL_TIMERS; i++)
		m->deadline_ns[i] = BASE_NEVER_NS;
	m->now_ns = now_ns;
	base_wheel_init(&m->wheel, tick_shift, now_ns);
}

/* The first time at which a deadline counts as passed. */
static inline uint64_t
wheel_model_fires_ns(const struct wheel_model *m, uint64_t deadline_ns)
{
	uint64_t tick_ns = (uint64_t)1 << m->wheel.tick_shift;
	return (deadline_ns + tick_ns - 1) & ~(tick_ns - 1);
}

static inline uint64_t
wheel_model_tick_ns(const struct wheel_model *m)
{
	return m->now_ns >> m->wheel.tick_shift << m->wheel.tick_shift;
}

static inline void
wheel_model_advance(struct wheel_model *m, uint64_t to_ns)
{
	m->now_ns = to_ns;
	base_wheel_advance(&m->wheel, to_ns);
	struct base_timer *t;
	while ((t = base_wheel_pop(&m->wheel))) {
		size_t i = (size_t)(t - m->timer);
		BASE_ASSERT(i < WHEEL_MODEL_TIMERS);
		BASE_ASSERT(!base_timer_armed(t));
		BASE_ASSERT(m->deadline_ns[i] != BASE_NEVER_NS);
		BASE_ASSERT(m->deadline_ns[i] <= to_ns);
		m->deadline_ns[i] = BASE_NEVER_NS;
		m->fired++;
	}
	for (int i = 0; i < WHEEL_MODEL_TIMERS; i++)
		BASE_ASSERT(m->deadline_ns[i] == BASE_NEVER_NS ||
			    wheel_model_fires_ns(m, m->deadline_ns[i]) > to_ns);
}

static inline void
wheel_model_compare(const struct wheel_model *m)
{
	uint64_t first = BASE_NEVER_NS;
	for (int i = 0; i < WHEEL_MODEL_TIMERS; i++) {
		bool armed = m->deadline_ns[i] != BASE_NEVER_NS;
		BASE_ASSERT(base_timer_armed(&m->timer[i]) == armed);
		if (armed)
			first = base_min_ns(first, wheel_model_fires_ns(m, m->deadline_ns[i]));
	}
	uint64_t next = base_wheel_next_ns(&m->wheel);
	BASE_ASSERT((next == BASE_NEVER_NS) == (first == BASE_NEVER_NS));
	if (first > wheel_model_tick_ns(m)) {
		BASE_ASSERT(next <= first);
		BASE_ASSERT(next > wheel_model_tick_ns(m));
	} else {
		BASE_ASSERT(next == wheel_model_tick_ns(m)); /* due: pop at once */
	}
}

/* ns: how far ahead (arm: a deadline; advance: the time to go). */
static inline void
wheel_model_step(struct wheel_model *m, enum wheel_model_op op, uint32_t which, uint64_t ns)
{
	which %= WHEEL_MODEL_TIMERS;
	switch (op) {
	case WHEEL_ARM:
		m->deadline_ns[which] = base_add_ns(m->now_ns, ns);
		base_wheel_arm(&m->wheel, &m->timer[which], m->deadline_ns[which]);
		break;
	case WHEEL_CANCEL:
		m->deadline_ns[which] = BASE_NEVER_NS;
		base_wheel_cancel(&m->wheel, &m->timer[which]);
		break;
	case WHEEL_ADVANCE:
		wheel_model_advance(m, base_add_ns(m->now_ns, ns));
		break;
	case WHEEL_JUMP: /* as an idle loop does: to when the wheel says */
	default: {
		uint64_t next = base_wheel_next_ns(&m->wheel);
		if (next != BASE_NEVER_NS)
			wheel_model_advance(m, base_max_ns(next, m->now_ns));
		break;
	}
	}
	wheel_model_compare(m);
}

#endif
