/* Strays: segments in custody whose trunk went down.  They wait in a queue of their group
 * for another trunk with room, before anything new. */
#include "core_internal.h"

/* Which job and client the labels of a segment on that trunk belong to. */
static struct group *
group_of(const struct relay_core *c, uint32_t trunk, const struct suci_segment *seg,
	 struct job **job, uint32_t *label_base)
{
	for (uint32_t i = 0; i < c->conf.limits.jobs_max; i++) {
		struct job *j = &c->job[i];
		uint32_t mask = j->used ? j->trunk_clients[trunk] : 0;
		for (; mask; mask &= mask - 1) {
			struct group *g = &j->group[__builtin_ctz(mask)];
			const struct way *w = group_find(g, trunk);
			if (!w || seg->dst_label - w->label_base >= j->nworld)
				continue;
			*job = j;
			*label_base = w->label_base;
			return g;
		}
	}
	return NULL;
}

bool
stray_keep(struct relay_core *c, uint32_t trunk, const struct suci_segment *seg)
{
	struct job *j;
	uint32_t base, i = c->free_stray;
	struct group *g = i == NONE ? NULL : group_of(c, trunk, seg, &j, &base);
	if (!g)
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

/* The first one has gone. */
static void
pop(struct relay_core *c, struct group *g)
{
	uint32_t i = g->stray;
	g->stray = c->stray[i].next;
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
	uint32_t tried = 0, k;
	while ((k = group_pick(c, g, NONE, s->src_rank, s->dst_rank, tried)) != NONE) {
		const struct way *w = &g->way[k];
		uint32_t path = c->trunk[w->trunk].path;
		struct suci_segment out = s->seg;
		out.dst_label = w->label_base + s->dst_rank;
		out.src_label = w->label_base + s->src_rank;
		int err = suci_path_send(c->ep, path, &out, c->now_ns);
		if (!err) {
			c->path[path].tx_segments++;
			c->path[path].tx_bytes += out.data_len;
			c->n.strays_sent++;
			pop(c, g);
			return true;
		}
		if (err == SUCI_ERR_TOOBIG || err == SUCI_ERR_INVAL) {
			pop(c, g);
			give_back(c, out.cookie, &c->n.drop_toobig);
			return true;
		}
		tried |= 1u << k;
	}
	return false;
}

void
stray_send(struct relay_core *c)
{
	if (!c->nstrays)
		return;
	bool full = false;
	for (uint32_t i = 0; i < c->conf.limits.jobs_max && c->nstrays; i++) {
		struct job *j = &c->job[i];
		for (uint32_t k = 0; j->used && k < j->nclients; k++) {
			struct group *g = &j->group[k];
			while (g->nstrays && send_first(c, g))
				;
			/* Without a way path_up() wakes us. */
			full = full || (g->nstrays && j->ways >> k & 1);
		}
	}
	if (full)
		wake_at(c, base_add_ns(c->now_ns, STRAY_NS));
}

void
stray_forget(struct relay_core *c, struct job *j)
{
	for (uint32_t k = 0; k < j->nclients; k++) {
		struct group *g = &j->group[k];
		while (g->nstrays) {
			uint64_t cookie = c->stray[g->stray].seg.cookie;
			pop(c, g);
			give_back(c, cookie, &c->n.drop_abandoned);
		}
	}
}
