/* SPDX-License-Identifier: BSD-2-Clause */
#include "rd/flows.h"

#include "base/clock.h"

#include <string.h>

static uint32_t
set_of(const struct rd_flow *f)
{
	uint32_t h = (f->remote ^ f->above[0] ^ f->above[1] * 3 ^ f->above[2] * 5) * 0x9e3779b1u;
	h = (h ^ ((uint32_t)f->local_port << 16 | f->remote_port)) * 0x85ebca6bu;
	return (h ^ h >> 15) % RD_FLOW_SETS;
}

static bool
is_same_flow(const struct rd_flow_entry *e, const struct rd_flow *f)
{
	return e->noted_ns && memcmp(&e->flow, f, sizeof *f) == 0;
}

void
rd_flows_note(struct rd_flows *t, const struct rd_flow *f, uint64_t now_ns)
{
	struct rd_flow_entry *set = t->entry[set_of(f)], *at = &set[0];
	for (uint32_t i = 0; i < RD_FLOW_WAYS; i++) {
		if (is_same_flow(&set[i], f)) {
			at = &set[i];
			break;
		}
		if (set[i].noted_ns < at->noted_ns)
			at = &set[i];
	}
	*at = (struct rd_flow_entry){now_ns, *f};
}

bool
rd_flows_knows(const struct rd_flows *t, const struct rd_flow *f, uint64_t now_ns)
{
	const struct rd_flow_entry *set = t->entry[set_of(f)];
	uint64_t life_ns = f->protocol == 6 ? RD_FLOW_LONG_NS : RD_FLOW_SHORT_NS;
	for (uint32_t i = 0; i < RD_FLOW_WAYS; i++)
		if (is_same_flow(&set[i], f))
			return now_ns <= base_add_ns(set[i].noted_ns, life_ns);
	return false;
}
