/* How long to spin: see spin.h. */
#include "spin.h"

#include "base/clock.h"

/* A wait with a sleep in it that is no longer than so many times the most that we spin was perhaps
 * only so long because of the sleeps, ours and that of the one who answers: waking up takes 50 to
 * 200 us in virtual machines.  Spun, the same answers come in 10 us. */
#define WOKEN_TIMES 4

void
lmpi_spin_crowd(struct lmpi_spin *s)
{
	s->max_ns = 500000;
	s->yield_every = s->yield_most = 1;
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
lmpi_spin_yielded(struct lmpi_spin *s, bool taken)
{
	s->yield_every = taken				  ? 1
			 : s->yield_every < s->yield_most ? s->yield_every * 2
							  : s->yield_most;
}
