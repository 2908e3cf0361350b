/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that have failed in a job that survives that (note DEATH): they are to this core as if
 * they had left, and those that live are told. */
#include "core_internal.h"

#include "canary.h"

void
relay_bury(struct relay_core *c, struct job *j, uint32_t first, uint32_t n)
{
	bool news = false;

	for (uint32_t r = first; r < first + n; r++) {
		struct proc *p = job_proc(c, j, r);
		if (p->flags & PROC_DEAD)
			continue;
		news = true;
		p->flags |= PROC_DEAD | PROC_LEFT;
		c->n.procs_dead++;
	}
	if (!news)
		return;
	j->state = true;
	for (uint32_t i = 0; i < j->nlocal && !RELAY_BUG(DEATH_UNTOLD); i++)
		job_proc(c, j, j->first_local + i)->flags |= PROC_TELL_DEAD;
	j->tell = true;
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++)
		if (j->trunk_clients[t])
			c->trunk[t].tell = true;
	wake_at(c, c->now_ns);
}

void
relay_job_tolerates(struct relay_core *c, struct job *j)
{
	if (j->tolerant)
		return;
	j->tolerant = true;
	j->state = true;
	wake_at(c, c->now_ns);
	for (uint32_t r = 0; r < j->nworld; r++)
		if (job_proc(c, j, r)->flags & (PROC_SAID | PROC_ABSENT))
			relay_bury(c, j, r, 1);
}

void
relay_miss(struct relay_core *c, struct job *j, uint32_t rank)
{
	job_proc(c, j, rank)->flags |= PROC_ABSENT;
	j->state = true;
	wake_at(c, c->now_ns);
	if (j->tolerant)
		relay_bury(c, j, rank, 1);
}

void
relay_bury_client(struct relay_core *c, struct job *j, uint32_t client)
{
	struct group *g = &j->group[client];

	g->dead = true;
	relay_stray_forget_client(c, g);
	for (uint32_t h = 0; h < j->nhosts && !RELAY_BUG(DEATH_STAYS); h++)
		if (j->host[h].client == client)
			relay_bury(c, j, j->host[h].first_rank, j->host[h].nprocs);
}

bool
relay_out_of_reach(const struct relay_core *c, const struct job *j, uint32_t client, bool late)
{
	const struct group *g = &j->group[client];

	if (g->was_up)
		return relay_group_given_up(c, j, client);
	return late && !g->dead && g->lost_ns != BASE_NEVER_NS;
}

void
relay_bury_lost(struct relay_core *c, struct job *j, uint32_t t, bool late)
{
	for (uint32_t h = 0; h < j->nhosts; h++)
		if (j->host[h].process && j->host[h].trunk == t)
			relay_bury(c, j, j->host[h].first_rank, j->host[h].nprocs);
	for (uint32_t mask = j->trunk_clients[t]; mask; mask &= mask - 1) {
		uint32_t client = (uint32_t)__builtin_ctz(mask);
		if (relay_out_of_reach(c, j, client, late))
			relay_bury_client(c, j, client);
	}
}

uint32_t
relay_next_dead(struct relay_core *c, const struct job *j, uint32_t at, bool local, uint32_t *first)
{
	const uint16_t want = local ? PROC_DEAD | PROC_LOCAL : PROC_DEAD;
	uint32_t n = 0;

	while (at < j->nworld && (job_proc(c, j, at)->flags & want) != want)
		at++;
	*first = at;
	while (at < j->nworld && (job_proc(c, j, at)->flags & want) == want) {
		at++;
		n++;
	}
	return n;
}
