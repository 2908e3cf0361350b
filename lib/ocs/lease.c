/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocs/lease.h"

#include <string.h>

struct job {
	uint64_t id, until_ns, hold_ns;
	uint64_t turn; /* order of asking */
	enum ocs_lease_state state;
	uint32_t n;
};

struct ocs_leases {
	uint32_t ports, jobs, nodes;
	uint64_t turns;
	const uint32_t *node_of;
	uint64_t *owner; /* [ports] job, or OCS_NO_JOB */
	struct job *job;
	struct ocs_ask *ask; /* [jobs * nodes] */
};

size_t
ocs_leases_footprint(uint32_t ports, uint32_t jobs, uint32_t nodes)
{
	return sizeof(struct ocs_leases) + ports * sizeof(uint64_t) +
	       jobs * (sizeof(struct job) + nodes * sizeof(struct ocs_ask));
}

struct ocs_leases *
ocs_leases_new(void *mem, uint32_t ports, const uint32_t *node_of, uint32_t jobs, uint32_t nodes)
{
	struct ocs_leases *t = mem;
	memset(mem, 0, ocs_leases_footprint(ports, jobs, nodes));
	*t = (struct ocs_leases){.ports = ports, .jobs = jobs, .nodes = nodes, .node_of = node_of};
	t->owner = (uint64_t *)(t + 1);
	t->job = (struct job *)(t->owner + ports);
	t->ask = (struct ocs_ask *)(t->job + jobs);
	for (uint32_t p = 0; p < ports; p++)
		t->owner[p] = OCS_NO_JOB;
	return t;
}

static struct job *
find_lease(const struct ocs_leases *t, uint64_t id)
{
	for (uint32_t i = 0; i < t->jobs; i++)
		if (t->job[i].state != OCS_LEASE_NONE && t->job[i].id == id)
			return &t->job[i];
	return NULL;
}

static struct ocs_ask *
asks(const struct ocs_leases *t, const struct job *j)
{
	return &t->ask[(size_t)(j - t->job) * t->nodes];
}

static uint32_t
free_at(const struct ocs_leases *t, uint32_t node, bool ever)
{
	uint32_t n = 0;
	for (uint32_t p = 0; p < t->ports; p++)
		n += t->node_of[p] == node && (ever || t->owner[p] == OCS_NO_JOB);
	return n;
}

static bool
share_a_node(const struct ocs_leases *t, const struct job *x, const struct job *y)
{
	for (uint32_t i = 0; i < x->n; i++)
		for (uint32_t k = 0; k < y->n; k++)
			if (asks(t, x)[i].node == asks(t, y)[k].node)
				return true;
	return false;
}

static bool
may_have(const struct ocs_leases *t, const struct job *j)
{
	for (uint32_t i = 0; i < t->jobs; i++) {
		const struct job *o = &t->job[i];
		if (o->state == OCS_LEASE_WAITING && o->turn < j->turn && share_a_node(t, o, j))
			return false;
	}
	for (uint32_t i = 0; i < j->n; i++)
		if (free_at(t, asks(t, j)[i].node, false) < asks(t, j)[i].min)
			return false;
	return true;
}

static void
hold_lease(struct ocs_leases *t, struct job *j, uint64_t now_ns)
{
	for (uint32_t i = 0; i < j->n; i++) {
		uint32_t left = asks(t, j)[i].want;
		for (uint32_t p = 0; p < t->ports && left; p++)
			if (t->node_of[p] == asks(t, j)[i].node && t->owner[p] == OCS_NO_JOB) {
				t->owner[p] = j->id;
				left--;
			}
	}
	j->state = OCS_LEASE_HELD;
	j->until_ns = now_ns + j->hold_ns;
}

static void
give_back_lease(struct ocs_leases *t, struct job *j)
{
	for (uint32_t p = 0; p < t->ports; p++)
		if (t->owner[p] == j->id)
			t->owner[p] = OCS_NO_JOB;
	j->state = OCS_LEASE_NONE;
}

/* The one that asked first of those that can have theirs. */
static void
admit_lease(struct ocs_leases *t, uint64_t now_ns)
{
	for (;;) {
		struct job *first = NULL;
		for (uint32_t i = 0; i < t->jobs; i++) {
			struct job *j = &t->job[i];
			if (j->state == OCS_LEASE_WAITING && (!first || j->turn < first->turn) &&
			    may_have(t, j))
				first = j;
		}
		if (!first)
			return;
		hold_lease(t, first, now_ns);
	}
}

bool
ocs_lease_ask(struct ocs_leases *t, uint64_t job, const struct ocs_ask *ask, uint32_t n,
	      uint64_t hold_ns, uint64_t now_ns)
{
	struct job *j = NULL;
	if (n > t->nodes || job == OCS_NO_JOB || find_lease(t, job))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (ask[i].min > ask[i].want || free_at(t, ask[i].node, true) < ask[i].min)
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (ask[k].node == ask[i].node)
				return false;
	}
	for (uint32_t i = 0; i < t->jobs && !j; i++)
		if (t->job[i].state == OCS_LEASE_NONE)
			j = &t->job[i];
	if (!j)
		return false;
	*j = (struct job){.id = job,
			  .hold_ns = hold_ns,
			  .turn = t->turns++,
			  .state = OCS_LEASE_WAITING,
			  .n = n};
	if (n)
		memcpy(asks(t, j), ask, n * sizeof *ask);
	admit_lease(t, now_ns);
	return true;
}

enum ocs_lease_state
ocs_lease_state(const struct ocs_leases *t, uint64_t job)
{
	const struct job *j = find_lease(t, job);
	return j ? j->state : OCS_LEASE_NONE;
}

bool
ocs_lease_confirm(struct ocs_leases *t, uint64_t job)
{
	struct job *j = find_lease(t, job);
	if (!j || j->state != OCS_LEASE_HELD)
		return false;
	j->state = OCS_LEASE_GRANTED;
	return true;
}

void
ocs_lease_release(struct ocs_leases *t, uint64_t job, uint64_t now_ns)
{
	struct job *j = find_lease(t, job);
	if (j)
		give_back_lease(t, j);
	admit_lease(t, now_ns);
}

uint64_t
ocs_leases_tick(struct ocs_leases *t, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	for (uint32_t i = 0; i < t->jobs; i++) {
		struct job *j = &t->job[i];
		if (j->state == OCS_LEASE_HELD && j->until_ns <= now_ns)
			give_back_lease(t, j);
	}
	admit_lease(t, now_ns);
	for (uint32_t i = 0; i < t->jobs; i++)
		if (t->job[i].state == OCS_LEASE_HELD && t->job[i].until_ns < next)
			next = t->job[i].until_ns;
	return next;
}

uint32_t
ocs_lease_port(const struct ocs_leases *t, uint64_t job, uint32_t node, uint32_t i)
{
	for (uint32_t p = 0; p < t->ports; p++)
		if (t->owner[p] == job && t->node_of[p] == node && i-- == 0)
			return p;
	return UINT32_MAX;
}
