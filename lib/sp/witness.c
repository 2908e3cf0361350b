/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a unit has been silent, by the clocks of the others: a master whose own clock is too
 * fast would find them all dead between two of their beats. */
#include "internal.h"

#include "canary.h"

/* Who is silent for so many times the detection is dead, though no other clock goes on: all others
 * may have died as well.  Where voters have to agree one of them lives, and its clock goes on. */
#define ALONE 4u

static bool
is_silent_for_long(const struct sp_node *n, uint32_t unit)
{
	const struct sp_master *m = &n->master;

	return (n->conf.voters == 1 || SP_BUG(LONELY)) &&
	       m->listen_ns - m->heard[unit].listen_ns >= ALONE * n->detect_ns;
}

/* What the clock of `other` showed at its first beat after the last one of `unit`; 0: none came. */
static uint64_t *
clock_mark(const struct sp_node *n, uint32_t unit, uint32_t other)
{
	return &n->master.mark[(size_t)unit * n->conf.limits.units + other];
}

/* fresh: it is another life of that unit, with a clock that began anew. */
void
sp_witness_beat(struct sp_node *n, uint32_t from, bool fresh)
{
	struct sp_master *m = &n->master;

	if (from == n->conf.me)
		return;
	for (uint32_t u = 0; u < n->conf.limits.units; u++) {
		if (u != from && (fresh || !*clock_mark(n, u, from)))
			*clock_mark(n, u, from) = m->heard[from].sent_ns;
		*clock_mark(n, from, u) = 0;
	}
	m->dirty |= m->watches;
	m->watches = false;
}

/* Since the last beat of that unit, by the clock of who has gone farthest: never too much. */
static uint64_t
silence_elsewhere(const struct sp_node *n, uint32_t unit)
{
	uint64_t most = 0;

	for (uint32_t u = 0; u < n->conf.limits.units; u++)
		if (*clock_mark(n, unit, u))
			most = base_max_ns(most,
					   n->master.heard[u].sent_ns - *clock_mark(n, unit, u));
	return most + n->master.heard[unit].before_ns;
}

static bool
has_witness(const struct sp_node *n, uint32_t unit)
{
	const struct sp_view *v = n->master.plan;

	for (uint32_t u = 0; u < v->l.units; u++)
		if (u != unit && u != n->conf.me && v->unit[u].incarnation && !v->unit[u].down)
			return true;
	return false;
}

/* With one other unit nobody can tell whose clock is wrong. */
static bool
is_silent_elsewhere(struct sp_node *n, uint32_t unit, uint64_t ns)
{
	struct sp_master *m = &n->master;

	if (silence_elsewhere(n, unit) >= ns || !has_witness(n, unit) ||
	    is_silent_for_long(n, unit) || SP_BUG(OWN_CLOCK))
		return true;
	m->watches = true;
	m->silence_ns = base_min_ns(m->silence_ns, m->listen_ns + n->conf.beat_ns);
	return false;
}

/* Who beats each beat never makes this one wait. */
bool
sp_witness_silence(struct sp_node *n, uint32_t unit)
{
	uint64_t most = n->detect_ns - 2 * n->conf.beat_ns;

	return is_silent_elsewhere(n, unit, base_min_ns(most, 2 * n->conf.beat_ns));
}

bool
sp_witness_lease_over(struct sp_node *n, uint32_t unit)
{
	return is_silent_elsewhere(n, unit, n->conf.lease_ns + n->detect_ns / 20);
}

/* How long a unit is known to be silent when this voter begins to lead.  The master of before is so
 * since it was heard last; all others call every voter once they have none.  Nobody has granted a
 * lease for as long as it was vacant.  A unit gets two beats to say that it lives. */
uint64_t
sp_witness_before(const struct sp_node *n, uint32_t unit)
{
	uint64_t last = base_max_ns(n->unit.answered_ns, n->master.called_ns[unit]);

	if (unit == n->conf.me)
		return 0;
	return base_min_ns(base_min_ns(n->now_ns - last, quorum_vacant_ns(n->quorum)),
			   n->detect_ns - 2 * n->conf.beat_ns);
}
