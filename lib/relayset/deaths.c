/* SPDX-License-Identifier: BSD-2-Clause */
/* Deaths in a job that survives them (note DEATH): relays are told that it does, and who of this
 * cluster has failed; whom they name is told to the owner. */
#include "relayset_internal.h"

#include "base/clock.h"

#define AGAIN_NS (10 * BASE_MS_NS) /* a note that found no room is tried again */

static bool
tell_range(struct relayset *rs, uint32_t i, uint32_t first, uint32_t count, uint64_t now_ns)
{
	struct relay_note n = {.type = RELAY_NOTE_DEATH,
			       .label_base = rs->relay[i].conf.base,
			       .token = rs->survivors.token,
			       .first = first,
			       .count = count};
	uint8_t bytes[RELAY_NOTE_MAX];

	return relayset_tell(rs, i, bytes, relay_note_encode(&n, bytes), now_ns);
}

static bool
tell_all_failed(struct relayset *rs, uint32_t i, uint64_t now_ns)
{
	const struct relayset_survivors *s = &rs->survivors;
	uint32_t end = s->first + s->n;

	for (uint32_t r = s->first; r < end; r++) {
		uint32_t first = r;
		while (r < end && s->has_failed(rs->conf.user, r))
			r++;
		if (r > first && !tell_range(rs, i, first, r - first, now_ns))
			return false;
	}
	return true;
}

void
relayset_tell_deaths(struct relayset *rs, uint64_t now_ns)
{
	rs->untold = false;
	for (uint32_t i = 0; i < rs->nrelays; i++) {
		struct relay *r = &rs->relay[i];
		if (!r->up || !r->untold || RELAYSET_BUG(HUSHED))
			continue;
		/* No rank: that the job survives it. */
		r->untold = !tell_range(rs, i, 0, 0, now_ns) || !tell_all_failed(rs, i, now_ns);
		rs->untold |= r->untold;
	}
	if (rs->untold)
		rs->look_ns = base_min_ns(rs->look_ns, now_ns + AGAIN_NS);
}

void
relayset_meet_relay(struct relayset *rs, uint32_t i, uint64_t now_ns)
{
	rs->relay[i].untold = true;
	relayset_tell_deaths(rs, now_ns);
}

void
relayset_survive(struct relayset *rs, const struct relayset_survivors *s)
{
	rs->survives = true;
	rs->survivors = *s;
	for (uint32_t i = 0; i < rs->nrelays; i++)
		rs->relay[i].untold = rs->relay[i].up;
	rs->untold = true;
	rs->look_ns = 0;
}

void
relayset_failed(struct relayset *rs, uint32_t rank, uint64_t now_ns)
{
	const struct relayset_survivors *s = &rs->survivors;

	if (!rs->survives || rank < s->first || rank >= s->first + s->n)
		return;
	for (uint32_t i = 0; i < rs->nrelays; i++) {
		struct relay *r = &rs->relay[i];
		if (!r->up || r->untold || tell_range(rs, i, rank, 1, now_ns))
			continue;
		r->untold = rs->untold = true;
		rs->look_ns = base_min_ns(rs->look_ns, now_ns + AGAIN_NS);
	}
}

bool
relayset_death(struct relayset *rs, const struct relay_note *n)
{
	const struct relayset_survivors *s = &rs->survivors;

	if (!rs->survives || n->label_base != s->label_base || n->token != s->token ||
	    n->first + n->count > s->nworld)
		return false;
	s->failed(rs->conf.user, n->first, n->count);
	return true;
}
