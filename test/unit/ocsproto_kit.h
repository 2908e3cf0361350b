/* SPDX-License-Identifier: BSD-2-Clause */
/* ocsproto_kit.h - a session of lib/ocs/protocols and the switch's side of it, by hand. */
#ifndef TEST_OCSPROTO_KIT_H
#define TEST_OCSPROTO_KIT_H

#include "cmocka_all.h"

#include "base/clock.h"
#include "ocsproto/ocsproto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kit {
	struct ocs_switch *sw;
	uint64_t now;
	uint8_t out[65536]; /* what the session sent last */
	size_t len;
};

static inline struct kit
kit_new(struct ocsproto_config cfg)
{
	struct kit k = {.now = 1000};
	size_t bytes = ocsproto_footprint(&cfg);
	assert_int_not_equal(bytes, 0);
	k.sw = ocsproto_new(malloc(bytes), &cfg);
	return k;
}

static inline void
kit_free(struct kit *k)
{
	free(k->sw);
}

/* All that the session has to send. */
static inline void
kit_out(struct kit *k)
{
	size_t n;
	k->len = 0;
	while ((n = k->sw->ops->tx(k->sw, k->out + k->len, sizeof k->out - k->len - 1, k->now)))
		k->len += n;
	k->out[k->len] = 0;
}

static inline void
kit_sent(struct kit *k, const char *want)
{
	kit_out(k);
	assert_string_equal((const char *)k->out, want);
}

static inline void
kit_bytes(struct kit *k, const void *p, size_t len)
{
	k->sw->ops->rx(k->sw, p, len, k->now);
}

static inline void
kit_say(struct kit *k, const char *text)
{
	kit_bytes(k, text, strlen(text));
}

static inline struct ocs_event
kit_event(struct kit *k, enum ocs_event_kind kind)
{
	struct ocs_event ev;
	memset(&ev, 0, sizeof ev);
	assert_true(k->sw->ops->next(k->sw, &ev));
	assert_int_equal(ev.kind, kind);
	return ev;
}

static inline void
kit_quiet(struct kit *k)
{
	struct ocs_event ev;
	assert_false(k->sw->ops->next(k->sw, &ev));
}

/* CIRCUIT events of a request, in the order of its circuits, and DONE. */
static inline void
kit_circuit(struct kit *k, uint32_t in, uint32_t out, int err)
{
	struct ocs_event ev = kit_event(k, OCS_EVENT_CIRCUIT);
	assert_int_equal(ev.in, in);
	assert_int_equal(ev.out, out);
	assert_int_equal(ev.err, err);
}

static inline void
kit_shown(struct kit *k, uint32_t in, uint32_t out, enum ocs_shown shown)
{
	struct ocs_event ev = kit_event(k, OCS_EVENT_CIRCUIT);
	assert_int_equal(ev.in, in);
	assert_int_equal(ev.out, out);
	assert_int_equal(ev.shown, shown);
}

static inline void
kit_done(struct kit *k, uint32_t id, int err)
{
	struct ocs_event ev = kit_event(k, OCS_EVENT_DONE);
	assert_int_equal(ev.id, id);
	assert_int_equal(ev.err, err);
	kit_quiet(k);
}

static inline int
kit_apply(struct kit *k, const struct ocs_circuit *remove, uint32_t removals,
	  const struct ocs_circuit *add, uint32_t additions, bool atomic)
{
	struct ocs_change ch = {.remove = remove,
				.add = add,
				.removals = removals,
				.additions = additions,
				.atomic = atomic};
	return k->sw->ops->apply(k->sw, 9, &ch, k->now);
}

#endif
