/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrong tokens, by whom and by what they are said against.  Who comes from where the table says
 * that the process is has an allowance of that process alone.  All others share one of the job,
 * and each address one of its own over all jobs: whatever addresses and ports they have, together
 * they try no more, and they keep out nobody who comes from where he should.  While an allowance is
 * used up even the right token is refused, or it would have been found by trying.
 *
 * A relay's workers share nothing: each has an equal part of every allowance, so that all of them
 * together grant what one would. */
#include "core_internal.h"

#include "canary.h"

#include "base/bytes.h"

/* As many, and one more each time that has passed: of the whole relay. */
static const struct allowance {
	uint32_t most;
	uint64_t each_ns;
} of_job = {64, BASE_S_NS / 16}, of_source = {16, BASE_S_NS}, of_process = {16, BASE_S_NS};

static bool
is_own(const struct relay_core *c, const struct job *j, const struct proc *p,
       const struct suci_addr *from)
{
	if (p->flags & PROC_LOCAL)
		return same_addr(&p->addr, from);
	uint32_t t = j->host[p->host].trunk;
	return t != NONE && same_addr(&c->trunk[t].addr, from);
}

/* Addresses that fall together share: that can only be less for each.  Of IPv6 a host has as many
 * as its network has. */
static uint32_t
hash_source(const struct suci_addr *from, uint32_t more)
{
	uint32_t ip = from->family == 6 ? be32_load(from->ip) ^ be32_load(from->ip + 4)
					: be32_load(from->ip + 12);

	return (ip ^ more) * 0x9e3779b1u;
}

static struct guesses *
find_source(struct relay_core *c, const struct suci_addr *from)
{
	return &c->source[hash_source(from, 0) >> (32 - GUESS_SOURCES_LOG)];
}

static void
forgive(const struct relay_core *c, struct guesses *g, const struct allowance *a)
{
	uint32_t now = (uint32_t)(c->now_ns / (a->each_ns * c->conf.workers)), n = now - g->at;

	g->wrong = (uint16_t)(n < g->wrong ? g->wrong - n : 0);
	g->at = now;
}

static bool
has_spent(const struct relay_core *c, struct guesses *g, const struct allowance *a)
{
	forgive(c, g, a);
	return g->wrong >= (a->most > c->conf.workers ? a->most / c->conf.workers : 1);
}

bool
relay_guess_shared(struct relay_core *c, struct guesses *g)
{
	return has_spent(c, g, &of_job);
}

uint32_t
relay_guess_asker(const struct suci_addr *from, uint32_t cluster)
{
	return hash_source(from, cluster * 0x85ebca6bu) >> (32 - GUESS_ASKERS_LOG);
}

bool
relay_guess_asks(struct relay_core *c, uint32_t asker, bool *paid)
{
	struct guesses *g = &c->doors.asker[asker];

	if (RELAY_BUG(DOOR_GUESSES))
		return true;
	if (has_spent(c, g, &of_source))
		return false;
	*paid = g->wrong > 0;
	g->wrong += *paid;
	return true;
}

void
relay_guess_answered(struct relay_core *c, uint32_t asker, bool *paid, bool wrong)
{
	struct guesses *g = &c->doors.asker[asker];

	forgive(c, g, &of_source);
	if (wrong && !*paid && g->wrong < UINT16_MAX)
		g->wrong++;
	if (!wrong && *paid && g->wrong)
		g->wrong--;
	*paid = false;
}

bool
relay_guess_bound(struct relay_core *c, struct job *j, struct proc *p, const struct suci_addr *from)
{
	if (RELAY_BUG(GUESSES))
		return false;
	if (is_own(c, j, p, from))
		return has_spent(c, &p->guesses, &of_process);
	return has_spent(c, find_source(c, from), &of_source) || has_spent(c, &j->guesses, &of_job);
}

void
relay_guess_wrong(struct relay_core *c, struct job *j, struct proc *p, const struct suci_addr *from)
{
	if (is_own(c, j, p, from)) {
		p->guesses.wrong++;
		return;
	}
	find_source(c, from)->wrong++;
	j->guesses.wrong++;
}
