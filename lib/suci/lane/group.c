/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: lanes over several paths.
 *
 * Lanes with something to send stand in a ring of their group instead of one of their
 * path.  When a path of the group asks for a segment, it gets one if it is the furthest
 * behind, by bytes dealt to it over its weight, of those that can send: start-time fair
 * queueing turned round (Goyal, Vin, Cheng 1996).  Else it waits until the others have
 * caught up or cannot send:
 *
 *      pull, its turn       segment dealt; whoever is furthest behind now is woken
 *      pull, not its turn   waiting; the path whose turn it is is woken
 *      blocked              the endpoint found that it cannot send: waiting ones are woken
 *
 * A path that could not send for long is not let catch up all at once. */
#include "lane_internal.h"

#define SCALE	   1024u /* of virtual time, so that bytes / weight keeps its remainder */
#define BEHIND_MAX 8u	 /* datagrams that a path may have missed and be dealt in a row */

static struct lane_group *
get_group(const struct suci_lanes *ls, uint32_t group)
{
	if (!group || group > ls->limits.groups_max || !ls->group[group - 1].used)
		return NULL;
	return &ls->group[group - 1];
}

static uint32_t
group_index_of(const struct suci_lanes *ls, const struct lane_group *g)
{
	return (uint32_t)(g - ls->group);
}

static uint32_t
member_of(const struct lane_group *g, uint32_t path)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->m[k].path == path)
			return k;
	return NONE;
}

static struct lane_member *
group_member(const struct suci_lanes *ls, uint32_t i)
{
	return &ls->group[i / SUCI_GROUP_PATHS].m[i % SUCI_GROUP_PATHS];
}

/* ---- whose turn ---- */

static bool
has_weights(const struct lane_group *g)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->m[k].weight)
			return true;
	return false;
}

/* The one that should have the next segment; NONE if none can send. */
static uint32_t
behind_most(const struct lane_group *g)
{
	bool weights = has_weights(g);
	uint32_t best = NONE;
	for (uint32_t k = 0; k < g->n; k++) {
		const struct lane_member *m = &g->m[k];
		if (m->blocked || (weights && !m->weight))
			continue;
		if (best == NONE || m->at < g->m[best].at)
			best = k;
	}
	return best;
}

static void
wake_group(struct suci_lanes *ls, struct lane_member *m)
{
	m->waiting = false;
	suci_path_wake(ls->ep, m->path);
}

void
suci_lane_group_wake(struct suci_lanes *ls, struct lane_group *g)
{
	for (uint32_t k = 0; k < g->n; k++)
		wake_group(ls, &g->m[k]);
}

static void
deal(struct suci_lanes *ls, struct lane_group *g, uint32_t k, uint32_t bytes)
{
	struct lane_member *m = &g->m[k];
	uint64_t weight = m->weight ? m->weight : 1;
	uint64_t slack = (uint64_t)BEHIND_MAX * (suci_path_mss(ls->ep, m->path) + SUCI_OVERHEAD) *
			 SCALE / weight;
	uint64_t least = g->now > slack ? g->now - slack : 0;
	uint64_t start = m->at > least ? m->at : least;
	m->at = start + (uint64_t)bytes * SCALE / weight;
	if (start > g->now)
		g->now = start;
	m->segments++;
	m->bytes += bytes;
	uint32_t next = behind_most(g);
	if (next != NONE && next != k && g->m[next].waiting)
		wake_group(ls, &g->m[next]);
}

static bool
pull_member(struct suci_lanes *ls, uint32_t i, uint32_t prio, struct suci_segment *seg,
	    uint64_t now_ns)
{
	struct lane_group *g = &ls->group[i / SUCI_GROUP_PATHS];
	uint32_t k = i % SUCI_GROUP_PATHS, best;
	if (g->ready[prio] == NONE)
		return false;
	if (!g->m[k].weight && has_weights(g))
		return false; /* woken when the others are gone */
	best = behind_most(g);
	if (best != NONE && g->m[best].at < g->m[k].at) {
		g->m[k].waiting = true;
		wake_group(ls, &g->m[best]);
		return false;
	}
	if (!suci_lane_serve(ls, &g->ready[prio], g->m[k].path, seg, now_ns))
		return false;
	deal(ls, g, k, (uint32_t)seg->head_len + seg->data_len + SUCI_OVERHEAD);
	return true;
}

bool
suci_lane_group_pull(struct suci_lanes *ls, uint32_t path, uint32_t prio, struct suci_segment *seg,
		     uint64_t now_ns)
{
	struct lane_hop *h = lane_hop(ls, path);
	for (uint32_t i = h->groups; i != NONE; i = group_member(ls, i)->next) {
		if (!pull_member(ls, i, prio, seg, now_ns))
			continue;
		/* Groups of one path take turns: this one to the end. */
		uint32_t *at = &h->groups;
		while (*at != i)
			at = &group_member(ls, *at)->next;
		*at = group_member(ls, i)->next;
		while (*at != NONE)
			at = &group_member(ls, *at)->next;
		*at = i;
		group_member(ls, i)->next = NONE;
		return true;
	}
	return false;
}

void
suci_lane_group_unblock(struct suci_lanes *ls, uint32_t path)
{
	for (uint32_t i = lane_hop(ls, path)->groups; i != NONE; i = group_member(ls, i)->next)
		group_member(ls, i)->blocked = false;
}

void
suci_lane_group_blocked(void *user, uint32_t path)
{
	struct suci_lanes *ls = user;
	for (uint32_t i = lane_hop(ls, path)->groups; i != NONE; i = group_member(ls, i)->next) {
		struct lane_group *g = &ls->group[i / SUCI_GROUP_PATHS];
		group_member(ls, i)->blocked = true;
		for (uint32_t k = 0; k < g->n; k++)
			if (g->m[k].waiting)
				wake_group(ls, &g->m[k]);
	}
}

/* ---- who is in it ---- */

static bool
of_group(void *arg, uint64_t cookie)
{
	const struct suci_lanes *ls = ((void **)arg)[0];
	const struct lane_group *g = ((void **)arg)[1];
	uint32_t lane = cookie == COOKIE_ACK ? NONE : ls->block[cookie].lane;
	return lane != NONE && ls->lane[lane].conf.group == group_index_of(ls, g);
}

static void
not_down(struct suci_lanes *ls, struct lane_group *g)
{
	ls->groups_down -= g->down;
	g->down = false;
}

static void
take_out_group(struct suci_lanes *ls, struct lane_group *g, uint32_t k, uint64_t now_ns)
{
	uint32_t first = group_index_of(ls, g) * SUCI_GROUP_PATHS, last = g->n - 1u;
	uint32_t *at = &lane_hop(ls, g->m[k].path)->groups;
	while (*at != first + k)
		at = &group_member(ls, *at)->next;
	*at = g->m[k].next;
	if (k != last) { /* the last one moves up; whoever points to it follows */
		at = &lane_hop(ls, g->m[last].path)->groups;
		while (*at != first + last)
			at = &group_member(ls, *at)->next;
		*at = first + k;
		g->m[k] = g->m[last];
	}
	if (--g->n == 0) {
		g->down = true;
		g->down_ns = now_ns;
		ls->groups_down++;
		if (ls->look_at_ns == BASE_NEVER_NS)
			ls->look_at_ns = base_add_ns(now_ns, LANE_LOOK_NS);
		suci_lane_arm(ls);
	}
}

static void
resend_all(struct suci_lanes *ls, struct lane_group *g, uint64_t now_ns)
{
	g->resent_ns = now_ns;
	g->resend_due = false;
	for (uint32_t i = g->lanes.head; i != NONE; i = ls->lane[i].path_link.next)
		suci_lane_resend(ls, &ls->lane[i]);
}

/* One death is told many times: by the own path, by each relay that had a trunk to it, by
 * those that heard of it from others.  To send everything again each time would put so many
 * copies before what is new; so the first of them does, and the others together once more,
 * for what has got no ack by then. */
static void
resend_once(struct suci_lanes *ls, struct lane_group *g, uint64_t now_ns)
{
	uint64_t at = g->resent_ns ? g->resent_ns + LANE_RESEND_NS : 0;
	if (now_ns >= at) {
		resend_all(ls, g, now_ns);
		return;
	}
	g->resend_due = true;
	ls->resend_at_ns = base_min_ns(ls->resend_at_ns, at);
	suci_lane_arm(ls);
}

void
suci_lane_group_resends(struct suci_lanes *ls, uint64_t now_ns)
{
	ls->resend_at_ns = BASE_NEVER_NS;
	for (uint32_t i = 0; i < ls->limits.groups_max; i++) {
		struct lane_group *g = &ls->group[i];
		if (!g->used || !g->resend_due)
			continue;
		resend_once(ls, g, now_ns);
		suci_lane_group_wake(ls, g);
	}
}

/* A path is gone, here or further on: what lanes had there may be lost, and so may what
 * they told. */
static void
resend(struct suci_lanes *ls, struct lane_group *g, uint64_t now_ns)
{
	resend_once(ls, g, now_ns);
	for (uint32_t i = g->lanes.head; i != NONE; i = ls->lane[i].path_link.next) {
		struct lane *l = &ls->lane[i];
		if (l->told_now || l->told_late)
			suci_lane_ack_pend(ls, l, now_ns);
	}
	suci_lane_group_wake(ls, g);
	/* What was placed and only waited for that path to let go of it. */
	for (uint32_t i = g->lanes.head; i != NONE;)
		i = suci_lane_retire(ls, &ls->lane[i], now_ns) ? g->lanes.head
							       : ls->lane[i].path_link.next;
}

static void
end_lanes(struct suci_lanes *ls, struct lane_group *g, enum suci_down why, const char *text,
	  uint64_t now_ns)
{
	while (g->lanes.head != NONE)
		suci_lane_end(ls, &ls->lane[g->lanes.head], why, text, now_ns);
}

void
suci_lane_group_path_down(struct suci_lanes *ls, uint32_t path, enum suci_down why,
			  const char *text, uint64_t now_ns)
{
	const struct lane_hop *h = lane_hop(ls, path);
	while (h->groups != NONE) {
		struct lane_group *g = &ls->group[h->groups / SUCI_GROUP_PATHS];
		take_out_group(ls, g, h->groups % SUCI_GROUP_PATHS, now_ns);
		if (!g->n && !g->grace_ns)
			end_lanes(ls, g, why, text, now_ns);
		else
			resend(ls, g, now_ns);
	}
}

void
suci_lane_group_look(struct suci_lanes *ls, uint64_t now_ns)
{
	for (uint32_t i = 0; i < ls->limits.groups_max && ls->groups_down; i++) {
		struct lane_group *g = &ls->group[i];
		if (g->used && !g->n && g->lanes.head != NONE && now_ns >= g->down_ns + g->grace_ns)
			end_lanes(ls, g, SUCI_DOWN_TIMEOUT,
				  "its last path is gone, and no other came", now_ns);
	}
}

uint32_t
suci_lane_group_mss(const struct suci_lanes *ls, const struct lane_group *g)
{
	uint32_t least = 0;
	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t mss = suci_path_mss(ls->ep, g->m[k].path);
		least = mss && (!least || mss < least) ? mss : least;
	}
	return least;
}

static bool
weight_ok(uint32_t weight)
{
	return weight <= SUCI_WEIGHT_MAX || weight == SUCI_WEIGHT_DRAINS;
}

static void
weigh(struct lane_member *m, uint32_t weight)
{
	m->drains = weight == SUCI_WEIGHT_DRAINS;
	m->weight = m->drains ? 0 : weight;
}

int
suci_group_new(struct suci_lanes *ls, uint64_t grace_ns, uint32_t *group)
{
	if (ls->group_free == NONE)
		return SUCI_ERR_NOMEM;
	uint32_t i = ls->group_free;
	struct lane_group *g = &ls->group[i];
	ls->group_free = g->next;
	*g = (struct lane_group){
		.used = true, .lanes = BASE_ICHAIN_EMPTY, .grace_ns = grace_ns, .pace.lane = NONE};
	for (uint32_t prio = 0; prio < PRIOS; prio++)
		g->ready[prio] = NONE;
	*group = i + 1;
	return SUCI_ERR_OK;
}

int
suci_group_add(struct suci_lanes *ls, uint32_t group, uint32_t path, uint32_t weight,
	       uint64_t now_ns)
{
	struct lane_group *g = get_group(ls, group);
	if (!g || !weight_ok(weight))
		return SUCI_ERR_INVAL;
	if (!suci_path_usable(ls->ep, path) || !suci_path_mss(ls->ep, path))
		return SUCI_ERR_DOWN;
	if (member_of(g, path) != NONE)
		return SUCI_ERR_EXISTS;
	if (g->n == SUCI_GROUP_PATHS)
		return SUCI_ERR_NOMEM;
	if (suci_path_mss(ls->ep, path) < g->mss_used)
		return SUCI_ERR_TOOBIG;
	(void)now_ns;
	not_down(ls, g);
	uint32_t k = g->n++;
	g->m[k] = (struct lane_member){
		.path = path, .next = lane_hop(ls, path)->groups, .at = g->now};
	weigh(&g->m[k], weight);
	lane_hop(ls, path)->groups = group_index_of(ls, g) * SUCI_GROUP_PATHS + k;
	suci_lane_group_wake(ls, g);
	return SUCI_ERR_OK;
}

int
suci_group_remove(struct suci_lanes *ls, uint32_t group, uint32_t path, uint64_t now_ns)
{
	struct lane_group *g = get_group(ls, group);
	uint32_t k = g ? member_of(g, path) : NONE;
	void *arg[2] = {ls, g};
	if (k == NONE)
		return SUCI_ERR_INVAL;
	take_out_group(ls, g, k, now_ns);
	suci_path_purge(ls->ep, path, of_group, arg, now_ns);
	resend(ls, g, now_ns);
	return SUCI_ERR_OK;
}

int
suci_group_set_weight(struct suci_lanes *ls, uint32_t group, uint32_t path, uint32_t weight)
{
	struct lane_group *g = get_group(ls, group);
	uint32_t k = g ? member_of(g, path) : NONE;
	if (k == NONE || !weight_ok(weight))
		return SUCI_ERR_INVAL;
	weigh(&g->m[k], weight);
	g->m[k].at = g->now;
	suci_lane_group_wake(ls, g);
	return SUCI_ERR_OK;
}

void
suci_group_resend(struct suci_lanes *ls, uint32_t group, uint64_t now_ns)
{
	struct lane_group *g = get_group(ls, group);
	if (g)
		resend(ls, g, now_ns);
}

bool
suci_group_info(const struct suci_lanes *ls, uint32_t group, struct suci_group_info *out)
{
	const struct lane_group *g = get_group(ls, group);
	if (!g)
		return false;
	*out = (struct suci_group_info){.npaths = g->n, .lanes = g->nlanes};
	for (uint32_t k = 0; k < g->n; k++) {
		out->path[k].path = g->m[k].path;
		out->path[k].weight = g->m[k].drains ? SUCI_WEIGHT_DRAINS : g->m[k].weight;
		out->path[k].segments = g->m[k].segments;
		out->path[k].bytes = g->m[k].bytes;
	}
	return true;
}
