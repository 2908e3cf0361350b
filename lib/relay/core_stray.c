/* SPDX-License-Identifier: BSD-2-Clause */
/* Strays: segments in custody whose path went down.  Those of a trunk wait in a queue of their
 * group for another trunk with room, before anything new; those for a process, in the queue of
 * the own client, until there is a path to it again: it may have cut only that, and who sent
 * them would else find out by silence. */
#include "core_internal.h"

/* Which job and client the labels of a segment on that trunk, or on light beside it, belong to. */
static struct group *
group_of(const struct relay_core *c, uint32_t trunk, const struct suci_segment *seg,
	 struct job **job, uint32_t *label_base)
{
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++) {
		struct job *j = &c->job[i];
		uint32_t mask = j->used ? j->trunk_clients[trunk] : 0;
		for (; mask; mask &= mask - 1) {
			struct group *g = &j->group[__builtin_ctz(mask)];
			const struct way *w = relay_group_find(g, trunk);
			if (!w || seg->dst_label - w->label_base >= j->nworld)
				continue;
			*job = j;
			*label_base = w->label_base;
			return g;
		}
	}
	return NULL;
}

static bool
keep(struct relay_core *c, struct group *g, uint32_t base, const struct suci_segment *seg)
{
	uint32_t i = c->free_stray;
	if (i == NONE)
		return false;
	struct stray *s = &c->stray[i];
	c->free_stray = s->next;
	*s = (struct stray){.seg = *seg,
			    .dst_rank = seg->dst_label - base,
			    .src_rank = seg->src_label - base,
			    .next = NONE};
	if (g->nstrays++)
		c->stray[g->stray_tail].next = i;
	else
		g->stray = i;
	g->stray_tail = i;
	c->nstrays++;
	c->n.strays_kept++;
	wake_at(c, c->now_ns);
	return true;
}

bool
relay_stray_keep(struct relay_core *c, const struct path *p, const struct suci_segment *seg)
{
	struct job *j;
	uint32_t base;
	if (p->kind == RELAY_PATH_TRUNK || p->kind == RELAY_PATH_LIGHT) {
		uint32_t t = p->kind == RELAY_PATH_LIGHT ? c->light[p->trunk].peer : p->trunk;
		struct group *g = group_of(c, t, seg, &j, &base);
		return g && keep(c, g, base, seg);
	}
	if (p->kind != RELAY_PATH_PROC || p->job == NONE)
		return false;
	j = &c->job[p->job];
	const struct proc *proc = job_proc(c, j, p->rank);
	/* What is for one of its doors has no other way. */
	return !(proc->flags & PROC_LEFT) && seg->dst_label == proc->label_base + p->rank &&
	       keep(c, &j->group[j->my_client], proc->label_base, seg);
}

/* The one behind `before` has gone; NONE: the first. */
static void
take(struct relay_core *c, struct group *g, uint32_t before)
{
	uint32_t *at = before == NONE ? &g->stray : &c->stray[before].next, i = *at;
	*at = c->stray[i].next;
	if (g->stray_tail == i)
		g->stray_tail = before;
	g->nstrays--;
	c->stray[i].next = c->free_stray;
	c->free_stray = i;
	c->nstrays--;
}

static void
give_back(struct relay_core *c, uint64_t cookie, uint64_t *counter)
{
	++*counter;
	c->held--;
	if (cookie != COOKIE_NONE)
		c->conf.ops->release(c->conf.user, cookie);
}

/* The first stray of the group over the first way with room.  False: there is none. */
static bool
send_first(struct relay_core *c, struct group *g)
{
	const struct stray *s = &c->stray[g->stray];
	uint64_t tried = 0;
	struct pick k;
	while (group_pick(c, g, NONE, s->src_rank, s->dst_rank, tried, &k)) {
		const struct way *w = &g->way[k.way];
		uint32_t path = k.path;
		struct suci_segment out = s->seg;
		out.dst_label = w->label_base + s->dst_rank;
		out.src_label = w->label_base + s->src_rank;
		int err = suci_path_send(c->ep, path, &out, c->now_ns);
		if (!err) {
			c->path[path].tx_segments++;
			c->path[path].tx_bytes += out.data_len;
			c->n.strays_sent++;
			take(c, g, NONE);
			return true;
		}
		if (!k.light && (err == SUCI_ERR_TOOBIG || err == SUCI_ERR_INVAL)) {
			take(c, g, NONE);
			give_back(c, out.cookie, &c->n.drop_toobig);
			return true;
		}
		tried |= k.light ? TRIED_LIGHT(k.way) : TRIED_TRUNK(k.way);
	}
	return false;
}

/* To processes that are there again; false: one has no room. */
static bool
send_to_procs(struct relay_core *c, struct job *j)
{
	struct group *g = &j->group[j->my_client];
	uint32_t before = NONE;
	bool room = true;
	for (uint32_t i = g->stray, next; g->nstrays && i != NONE; i = next) {
		const struct stray *s = &c->stray[i];
		const struct proc *p = job_proc(c, j, s->dst_rank);
		next = s->next;
		int err = SUCI_ERR_DOWN;
		if (p->path != NONE && c->path[p->path].up)
			err = suci_path_send(c->ep, p->path, &s->seg, c->now_ns);
		bool over = err == SUCI_ERR_TOOBIG || err == SUCI_ERR_INVAL ||
			    (err && p->flags & PROC_LEFT);
		room = room && err != SUCI_ERR_FULL && err != SUCI_ERR_NOMEM;
		if (err && !over) {
			before = i;
			continue;
		}
		uint64_t cookie = s->seg.cookie;
		if (!err) {
			c->path[p->path].tx_segments++;
			c->path[p->path].tx_bytes += s->seg.data_len;
			c->n.strays_sent++;
		}
		take(c, g, before);
		if (err)
			give_back(c, cookie, &c->n.drop_abandoned);
	}
	return room;
}

void
relay_stray_send(struct relay_core *c)
{
	if (!c->nstrays)
		return;
	bool full = false;
	for (uint32_t i = 0; i < c->conf.limits.jobs_max && c->nstrays; i++) {
		struct job *j = &c->job[i];
		for (uint32_t k = 0; j->used && k < j->nclients; k++) {
			struct group *g = &j->group[k];
			if (k == j->my_client) {
				full = !send_to_procs(c, j) || full;
				continue;
			}
			while (g->nstrays && send_first(c, g))
				;
			/* Without a way relay_path_up() wakes us. */
			full = full || (g->nstrays && j->ways >> k & 1);
		}
	}
	if (full)
		wake_at(c, base_add_ns(c->now_ns, STRAY_NS));
}

void
relay_stray_forget_client(struct relay_core *c, struct group *g)
{
	while (g->nstrays) {
		uint64_t cookie = c->stray[g->stray].seg.cookie;
		take(c, g, NONE);
		give_back(c, cookie, &c->n.drop_abandoned);
	}
}

void
relay_stray_forget(struct relay_core *c, struct job *j)
{
	for (uint32_t k = 0; k < j->nclients; k++)
		relay_stray_forget_client(c, &j->group[k]);
}
