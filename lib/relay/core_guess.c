/* Wrong tokens, by what they are said against.  Who comes from where the table says that the
 * process is has an allowance of that process alone.  All others share one of the job: whatever
 * addresses and ports they have, together they try no more, and they keep out nobody who comes
 * from where he should.  While an allowance is used up even the right token is refused, or it
 * would have been found by trying. */
#include "core_internal.h"

#define SHARED_MAX 64u
#define SHARED_NS  (BASE_S_NS / 16) /* each is forgiven after that time */
#define OWN_MAX	   16u
#define OWN_NS	   BASE_S_NS

static bool
is_own(const struct relay_core *c, const struct job *j, const struct proc *p,
       const struct suci_addr *from)
{
	if (p->flags & PROC_LOCAL)
		return same_addr(&p->addr, from);
	uint32_t t = j->host[p->host].trunk;
	return t != NONE && same_addr(&c->trunk[t].addr, from);
}

static void
forgive(const struct relay_core *c, struct guesses *g, uint64_t each_ns)
{
	uint32_t now = (uint32_t)(c->now_ns / each_ns), n = now - g->at;
	g->wrong = (uint16_t)(n < g->wrong ? g->wrong - n : 0);
	g->at = now;
}

bool
relay_guess_shared(struct relay_core *c, struct guesses *g)
{
	forgive(c, g, SHARED_NS);
	return g->wrong >= SHARED_MAX;
}

static struct guesses *
guesses_of(struct relay_core *c, struct job *j, struct proc *p, const struct suci_addr *from)
{
	bool own = is_own(c, j, p, from);
	struct guesses *g = own ? &p->guesses : &j->guesses;
	forgive(c, g, own ? OWN_NS : SHARED_NS);
	return g;
}

bool
guess_bound(struct relay_core *c, struct job *j, struct proc *p, const struct suci_addr *from)
{
	return guesses_of(c, j, p, from)->wrong >= (is_own(c, j, p, from) ? OWN_MAX : SHARED_MAX);
}

void
guess_wrong(struct relay_core *c, struct job *j, struct proc *p, const struct suci_addr *from)
{
	guesses_of(c, j, p, from)->wrong++;
}
