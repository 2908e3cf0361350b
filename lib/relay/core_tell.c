/* SPDX-License-Identifier: BSD-2-Clause */
/* RELAYS, WAYS and LOST: who the relays of the clusters are, and what can be reached over
 * them.  Told by the tick, for callbacks come in the middle of things; what finds no room
 * is told again. */
#include "core_internal.h"

#include "canary.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

static uint32_t
ipv4_of(const struct suci_addr *a)
{
	return be32_load(a->ip + 12);
}

/* ---- telling ----------------------------------------------------------------- */

void
relay_tell_procs(struct relay_core *c, struct job *j, uint16_t what)
{
	if (!c->conf.ncluster)
		return;
	for (uint32_t i = 0; i < j->nlocal; i++)
		job_proc(c, j, j->first_local + i)->flags |= what;
	j->tell = true;
	wake_at(c, c->now_ns);
}

void
relay_tell_trunks_relays(struct relay_core *c, const struct job *j)
{
	if (!c->conf.ncluster)
		return;
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++)
		if (j->trunk_clients[t])
			c->trunk[t].tell = true;
	wake_at(c, c->now_ns);
}

static void
list_fill(const struct relay_core *c, const struct job *j, bool to_proc, struct relay_list *l)
{
	uint64_t s = (c->conf.partition_ns + BASE_S_NS - 1) / BASE_S_NS;
	*l = (struct relay_list){.client = (uint8_t)j->my_client,
				 .self = (uint8_t)c->conf.self,
				 .own = RELAY_LIST_NONE,
				 .n = (uint8_t)c->conf.ncluster,
				 .partition_s = s < UINT16_MAX ? (uint16_t)s : UINT16_MAX};
	for (uint32_t i = 0; i < l->n; i++) {
		const struct relay_sibling *f = &c->conf.cluster[i];
		const struct suci_addr *a = to_proc ? &f->private : &f->global;
		l->relay[i].ipv4 = ipv4_of(a);
		l->relay[i].port = a->port;
		l->relay[i].weight = f->weight;
		l->relay[i].flags = j->lost >> i & 1 ? RELAY_LIST_LOST : 0;
		memcpy(l->place[i], f->private6, sizeof l->place[i]);
	}
	for (uint32_t k = 0; to_proc && k < j->nclients && k < RELAY_LIST_POLICIES; k++) {
		if (!j->group[k].n)
			continue;
		l->policy[l->npolicies].client = (uint8_t)k;
		l->policy[l->npolicies++].policy = j->group[k].policy;
	}
}

static bool
send_note(struct relay_core *c, uint32_t path, const void *note, size_t len)
{
	if (suci_path_note(c->ep, path, note, len, c->now_ns))
		return false;
	c->n.notes_tx++;
	return true;
}

/* All that have failed, those of our cluster only; what was told is told again. */
static bool
tell_dead(struct relay_core *c, const struct job *j, uint32_t path, bool local, struct relay_note n)
{
	uint8_t buf[RELAY_NOTE_MAX];

	n.type = RELAY_NOTE_DEATH;
	while ((n.count = relay_next_dead(c, j, n.first + n.count, local, &n.first)) > 0)
		if (!send_note(c, path, buf, relay_note_encode(&n, buf)))
			return false;
	return true;
}

static bool
tell_proc(struct relay_core *c, const struct job *j, struct proc *p, struct relay_list *l)
{
	uint8_t buf[RELAY_LIST_MAX > RELAY_NOTE_MAX ? RELAY_LIST_MAX : RELAY_NOTE_MAX];
	if (p->flags & PROC_TELL_RELAYS) {
		l->label_base = p->label_base;
		l->token = (uint32_t)p->token;
		l->own = j->host[p->host].sibling;
		l->places = p->addr.family == 6;
		if (!send_note(c, p->path, buf, relay_list_encode(l, buf)))
			return false;
		p->flags &= (uint16_t)~PROC_TELL_RELAYS;
	}
	if (p->flags & PROC_TELL_WAYS) {
		struct relay_note n = {.type = RELAY_NOTE_WAYS,
				       .label_base = p->label_base,
				       .token = (uint32_t)p->token,
				       .ways = j->ways,
				       .resend = j->resend,
				       .lit = j->lit};
		if (!send_note(c, p->path, buf, relay_note_encode(&n, buf)))
			return false;
		p->flags &= (uint16_t)~PROC_TELL_WAYS;
	}
	if (p->flags & PROC_TELL_DEAD) {
		struct relay_note n = {.label_base = p->label_base, .token = (uint32_t)p->token};
		if (!tell_dead(c, j, p->path, false, n))
			return false;
		p->flags &= (uint16_t)~PROC_TELL_DEAD;
	}
	return true;
}

static void
tell_job(struct relay_core *c, struct job *j)
{
	struct relay_list l;
	bool all = true;
	list_fill(c, j, true, &l);
	for (uint32_t i = 0; i < j->nlocal; i++) {
		struct proc *p = job_proc(c, j, j->first_local + i);
		/* Who connects later is told then. */
		if (p->path == NONE || !c->path[p->path].up)
			p->flags &= (uint16_t)~PROC_TELL_ALL;
		else
			all = tell_proc(c, j, p, &l) && all;
	}
	j->tell = !all;
	if (all)
		j->resend = 0;
	else
		wake_at(c, base_add_ns(c->now_ns, c->conf.retry_ns));
}

static bool
tell_trunk(struct relay_core *c, uint32_t t)
{
	uint8_t buf[RELAY_LIST_MAX];
	struct relay_list l;
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++) {
		struct job *j = &c->job[i];
		uint32_t mask = j->used ? j->trunk_clients[t] : 0;
		if (!mask)
			continue;
		const struct way *w = relay_group_find(&j->group[__builtin_ctz(mask)], t);
		if (!w) /* a process */
			continue;
		list_fill(c, j, false, &l);
		l.label_base = w->label_base;
		l.token = w->token;
		if (c->conf.ncluster &&
		    !send_note(c, c->trunk[t].path, buf, relay_list_encode(&l, buf)))
			return false;
		struct relay_note n = {.label_base = w->label_base, .token = w->token};
		if (j->tolerant && !RELAY_BUG(DEATH_WITHIN) &&
		    !tell_dead(c, j, c->trunk[t].path, true, n))
			return false;
	}
	return true;
}

void
relay_tell_tick(struct relay_core *c)
{
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++)
		if (c->job[i].used && c->job[i].tell)
			tell_job(c, &c->job[i]);
	for (uint32_t t = 0; t < c->conf.limits.trunks_max; t++) {
		struct trunk *k = &c->trunk[t];
		if (!k->used || !k->tell || !k->up)
			continue;
		k->tell = !tell_trunk(c, t);
		if (k->tell)
			wake_at(c, base_add_ns(c->now_ns, c->conf.retry_ns));
	}
}

/* ---- being told ---------------------------------------------------------------- */

/* What the relay behind w says of another relay of its cluster. */
static void
take_entry(struct relay_core *c, struct job *j, uint32_t client, const struct way *from,
	   const struct suci_addr *addr, uint8_t flags)
{
	struct group *g = &j->group[client];
	uint8_t by = (uint8_t)(1 + (from - g->way));
	if (!addr->port || !relay_name_of(c, addr) ||
	    memcmp(addr, &c->conf.self_global, sizeof *addr) == 0)
		return;
	struct way w = {.trunk = relay_trunk_get(c, addr),
			.label_base = from->label_base,
			.token = from->token};
	if (w.trunk == NONE) {
		c->n.members_refused++;
		return;
	}
	if (!relay_group_add(c, j, client, &w))
		return;
	struct way *to = relay_group_find(g, w.trunk);
	if (!(flags & RELAY_LIST_LOST)) {
		to->lost_by = to->lost_by == by ? 0 : to->lost_by;
		return;
	}
	if (!to->lost_by) {
		/* What it has in custody does not arrive. */
		j->resend |= 1u << client;
		relay_tell_procs(c, j, PROC_TELL_WAYS);
	}
	to->lost_by = by;
}

/* A list of an earlier moment that was overtaken says nothing any more. */
static bool
list_is_news(struct relay_core *c, struct trunk *k, struct way *from)
{
	if (from->list_ups != k->ups)
		from->list_number = 0;
	from->list_ups = k->ups;
	return suci_note_is_news(c->ep, &from->list_number);
}

void
relay_list_from_trunk(struct relay_core *c, uint32_t t, const void *note, size_t len)
{
	struct relay_list l;
	struct job *j;
	if (relay_list_decode(note, len, &l)) {
		c->n.notes_bad++;
		return;
	}
	j = relay_job_by_base(c, l.label_base);
	if (!j) {
		c->n.notes_late++;
		return;
	}
	struct way *from = l.client < RELAY_CLIENTS_MAX && j->trunk_clients[t] >> l.client & 1
				   ? relay_group_find(&j->group[l.client], t)
				   : NULL;
	if (!from) {
		c->n.notes_bad++;
		return;
	}
	if (l.token && l.token != j->token) {
		c->n.notes_stale++;
		return;
	}
	struct trunk *k = &c->trunk[t];
	if (!list_is_news(c, k, from)) {
		c->n.notes_stale++;
		return;
	}
	/* It has the job, so it is told once more: what it heard before it had it, it forgot. */
	if (!from->heard) {
		from->heard = true;
		k->tell = true;
		wake_at(c, c->now_ns);
	}
	if (suci_note_is_news(c->ep, &k->list_number))
		k->weight = l.relay[l.self].weight;
	for (uint32_t i = 0; i < l.n; i++) {
		if (i == l.self)
			continue;
		struct suci_addr a = relay_place_of(c, l.relay[i].ipv4, l.relay[i].port);
		take_entry(c, j, l.client, from, &a, l.relay[i].flags);
	}
	relay_group_look(c, j);
}

/* The relay of our cluster with that private address; NONE: there is none, or it is us. */
static uint32_t
sibling_at(const struct relay_core *c, uint32_t ipv4, uint16_t port)
{
	for (uint32_t i = 0; i < c->conf.ncluster; i++) {
		const struct suci_addr *a = &c->conf.cluster[i].private;
		if (i != c->conf.self && ipv4_of(a) == ipv4 && a->port == port)
			return i;
	}
	return NONE;
}

void
relay_lost_from_proc(struct relay_core *c, struct path *p, const struct relay_note *n)
{
	struct job *j = &c->job[p->job];
	uint32_t i = sibling_at(c, n->ipv4, n->port), was = j->lost;
	if (i == NONE) {
		c->n.notes_bad++;
		return;
	}
	/* "It is down" that had to be sent again must not come true after "it is up". */
	if (!suci_note_is_news(c->ep, &p->lost_number[i])) {
		c->n.notes_stale++;
		return;
	}
	j->lost = n->lost ? j->lost | 1u << i : j->lost & ~(1u << i);
	if (j->lost != was)
		relay_tell_trunks_relays(c, j);
}
