/* SPDX-License-Identifier: BSD-2-Clause */
/* How long to spin: see spin.h. */
#include "spin.h"

#include "base/clock.h"

/* A wait with a sleep in it that is no longer than so many times the most that we spin was perhaps
 * only so long because of the sleeps, ours and that of the one who answers: waking up takes 50 to
 * 200 us in virtual machines.  Spun, the same answers come in 10 us. */
#define WOKEN_TIMES 4
/* A yield so many times as long as one of nobody's use: two changes of the thread are in it. */
#define TAKEN_TIMES 3
/* A yield that did nothing is a system call: no machine takes less, or more. */
#define YIELD_LEAST_NS 50
#define YIELD_MOST_NS  4000
/* So many yields, and the shortest may be longer than before: a machine may get slower. */
#define WINDOW 256

void
lmpi_spin_crowd(struct lmpi_spin *s)
{
	s->max_ns = 500000;
	s->gap_ns = 0;
	s->crowded = true;
}

void
lmpi_spin_limit(struct lmpi_spin *s, uint64_t max_ns)
{
	s->max_ns = max_ns;
	s->min_ns = base_min_ns(s->min_ns, max_ns);
	s->budget_ns = max_ns;
}

void
lmpi_spin_waited(struct lmpi_spin *s, bool slept, uint64_t waited_ns)
{
	if (slept && (lmpi_spin_crowded(s) || waited_ns > WOKEN_TIMES * s->max_ns))
		s->budget_ns = base_max_ns(s->budget_ns / 2, s->min_ns);
	else
		s->budget_ns = base_min_ns(s->budget_ns * 2 + 500, s->max_ns);
}

void
lmpi_spin_yielded(struct lmpi_spin *s, uint64_t before_ns, uint64_t now_ns)
{
	uint64_t took = now_ns > before_ns ? now_ns - before_ns : 0;
	bool taken = took > TAKEN_TIMES * s->yield_ns;

	/* The shortest of many is what one takes: an average of those that seem to be of nobody's
	 * use rises with each that was, and then counts more of them so. */
	s->shortest_ns = base_min_ns(s->shortest_ns, took);
	s->yield_ns = base_min_ns(s->yield_ns, took);
	if (++s->yields % WINDOW == 0) {
		s->yield_ns = base_min_ns(s->shortest_ns, s->yield_ns + s->yield_ns / 4);
		s->shortest_ns = YIELD_MOST_NS;
	}
	s->yield_ns = base_max_ns(base_min_ns(s->yield_ns, YIELD_MOST_NS), YIELD_LEAST_NS);
	s->yielded_at_ns = now_ns;
	uint64_t most = LMPI_SPIN_SHARE * s->yield_ns, more = s->gap_ns * 2 + s->yield_ns;
	s->gap_ns = taken || s->crowded ? 0 : base_min_ns(more, most);
}
