/* SPDX-License-Identifier: BSD-2-Clause */
/* test/easy_switch.h - a circuit switch of eight ports that does at once what it is asked. */
#ifndef TEST_EASY_SWITCH_H
#define TEST_EASY_SWITCH_H

#include "ocs/switch.h"

#include "base/assert.h"
#include "base/clock.h"

#include <string.h>

#define EASY_PORTS  10
#define EASY_EVENTS 64

struct easy {
	struct ocs_switch sw; /* first */
	struct ocs_event event[EASY_EVENTS];
	uint32_t head, tail;
	uint32_t out_of[EASY_PORTS];
	struct ocs_identity who;
};

static void
easy_emit(struct easy *e, struct ocs_event ev)
{
	e->event[e->tail++ % EASY_EVENTS] = ev;
}

static int
easy_identify(struct ocs_switch *sw, uint32_t id, uint64_t now_ns)
{
	struct easy *e = (struct easy *)(void *)sw;
	easy_emit(e, (struct ocs_event){.kind = OCS_EVENT_IDENTITY, .id = id, .identity = &e->who});
	easy_emit(e, (struct ocs_event){.kind = OCS_EVENT_DONE, .id = id, .done_ns = now_ns});
	return OCS_ERR_OK;
}

static int
easy_apply(struct ocs_switch *sw, uint32_t id, const struct ocs_change *c, uint64_t now_ns)
{
	struct easy *e = (struct easy *)(void *)sw;
	struct ocs_event ev = {.kind = OCS_EVENT_CIRCUIT, .id = id, .done_ns = now_ns};
	for (uint32_t i = 0; i < c->removals + c->additions; i++) {
		bool removal = i < c->removals;
		const struct ocs_circuit *k = removal ? &c->remove[i] : &c->add[i - c->removals];
		BASE_ASSERT(k->in < EASY_PORTS && k->out < EASY_PORTS);
		e->out_of[k->in] = removal ? OCS_NO_PORT : k->out;
		ev.in = k->in;
		ev.out = k->out;
		ev.removal = removal;
		easy_emit(e, ev);
	}
	easy_emit(e, (struct ocs_event){.kind = OCS_EVENT_DONE, .id = id, .done_ns = now_ns});
	return OCS_ERR_OK;
}

static int
easy_read_all(struct ocs_switch *sw, uint32_t id, uint64_t now_ns)
{
	struct easy *e = (struct easy *)(void *)sw;
	for (uint32_t p = 0; p < EASY_PORTS; p++)
		if (e->out_of[p] != OCS_NO_PORT)
			easy_emit(e, (struct ocs_event){.kind = OCS_EVENT_CIRCUIT,
							.id = id,
							.in = p,
							.out = e->out_of[p],
							.shown = OCS_SHOWN_STEADY,
							.done_ns = now_ns});
	easy_emit(e, (struct ocs_event){.kind = OCS_EVENT_DONE, .id = id, .done_ns = now_ns});
	return OCS_ERR_OK;
}

static void
easy_tick(struct ocs_switch *sw, uint64_t now_ns)
{
	(void)sw;
	(void)now_ns;
}

static uint64_t
easy_expiry(const struct ocs_switch *sw)
{
	(void)sw;
	return BASE_NEVER_NS;
}

static bool
easy_next(struct ocs_switch *sw, struct ocs_event *ev)
{
	struct easy *e = (struct easy *)(void *)sw;
	if (e->head == e->tail)
		return false;
	*ev = e->event[e->head++ % EASY_EVENTS];
	return true;
}

static const struct ocs_switch_ops easy_ops = {.name = "easy",
					       .tick = easy_tick,
					       .expiry_ns = easy_expiry,
					       .identify = easy_identify,
					       .apply = easy_apply,
					       .read_all = easy_read_all,
					       .next = easy_next};

/* Its session is up. */
static inline void
easy_init(struct easy *e)
{
	memset(e, 0, sizeof *e);
	e->sw.ops = &easy_ops;
	e->who = (struct ocs_identity){.ingress = EASY_PORTS, .egress = EASY_PORTS, .max_batch = 4};
	memset(e->out_of, 0xff, sizeof e->out_of);
	easy_emit(e, (struct ocs_event){.kind = OCS_EVENT_UP});
}

#endif
