/* SPDX-License-Identifier: BSD-2-Clause */
/* Which relay carries what: members and weights of the groups of lanes. */
#include "relayset_internal.h"

#include "base/clock.h"

#define GRACE_NS (86400 * BASE_S_NS) /* of groups: the owner ends the job long before */

static bool
relay_fits(const struct relayset *rs, const struct relay *r)
{
	return r->mtu == 0 || rs->mss_given == 0 || r->mtu >= rs->mss_given + SUCI_OVERHEAD;
}

static bool
relay_carries(const struct relayset *rs, const struct relay *r, uint32_t client)
{
	bool way = (r->ways >> client & 1) || RELAYSET_BUG(NO_WAY);
	return r->up && way && relay_fits(rs, r);
}

static bool
has_light(const struct relay *r, uint32_t client)
{
	return (r->lit >> client & 1) && !RELAYSET_BUG(UNLIT);
}

/* The relay that all of g goes over while it can; NONE: they share. */
static uint32_t
preferred_relay(const struct relayset *rs, const struct group *g)
{
	switch ((enum relay_policy)rs->policy[g->client]) {
	case RELAY_POLICY_STRIPE:
		return RELAYSET_NONE;
	case RELAY_POLICY_SOURCE:
		return rs->own != RELAYSET_NONE ? rs->own : g->relay;
	case RELAY_POLICY_DEST:
		break;
	}
	return g->relay;
}

/* What all members of a group have to know of each other. */
struct view {
	bool some_way;	/* a relay has a way to the client */
	bool preferred; /* the preferred one is to be used */
	bool lit;	/* relays have light to the client: those alone are used */
	uint32_t choice;
};

static struct view
view_of(const struct relayset *rs, const struct group *g)
{
	struct view v = {.choice = preferred_relay(rs, g)};

	for (uint32_t i = 0; i < rs->nrelays; i++) {
		const struct relay *r = &rs->relay[i];
		bool carries = relay_carries(rs, r, g->client);
		v.some_way |= carries;
		v.lit |= carries && !relay_drains(r) && has_light(r, g->client);
		if (i == v.choice)
			v.preferred = carries && !relay_drains(r);
	}
	return v;
}

static int
weight_in(const struct relayset *rs, const struct group *g, const struct view *v, uint32_t i)
{
	const struct relay *r = &rs->relay[i];

	if (!r->up || !relay_fits(rs, r))
		return NOT_A_MEMBER;
	if (!relay_carries(rs, r, g->client))
		return v->some_way ? NOT_A_MEMBER : 0; /* they wait for a way */
	if (relay_drains(r))
		return DRAINS;
	if (v->lit)
		return has_light(r, g->client) ? (int)r->weight : 0;
	if (v->preferred && i != v->choice)
		return 0;
	return (int)r->weight;
}

int
relayset_weight(const struct relayset *rs, const struct group *g, uint32_t i)
{
	struct view v = view_of(rs, g);

	return weight_in(rs, g, &v, i);
}

/* As Suci's groups know it. */
static uint32_t
suci_weight(int weight)
{
	return weight == DRAINS ? SUCI_WEIGHT_DRAINS : (uint32_t)weight;
}

static void
add_member(struct relayset *rs, const struct group *g, uint32_t i, int weight, uint64_t now_ns)
{
	struct relay *r = &rs->relay[i];
	struct suci_group_info info;
	int err = suci_group_add(rs->lanes, g->id, r->path, suci_weight(weight), now_ns);

	/* Full: one that is only in reserve makes room. */
	if (err == SUCI_ERR_NOMEM && weight > 0 && suci_group_info(rs->lanes, g->id, &info)) {
		for (uint32_t k = 0; k < info.npaths; k++) {
			if (info.path[k].weight > 0 && info.path[k].weight != SUCI_WEIGHT_DRAINS)
				continue;
			suci_group_remove(rs->lanes, g->id, info.path[k].path, now_ns);
			err = suci_group_add(rs->lanes, g->id, r->path, suci_weight(weight),
					     now_ns);
			break;
		}
	}
	if (err != SUCI_ERR_TOOBIG || r->small_said)
		return;
	r->small_said = true;
	if (rs->conf.ops->too_small)
		rs->conf.ops->too_small(rs->conf.user, i);
}

static void
settle_group(struct relayset *rs, const struct group *g, uint64_t now_ns)
{
	struct suci_group_info info;
	struct view v = view_of(rs, g);
	bool in[SUCI_GROUP_PATHS] = {false};

	if (!suci_group_info(rs->lanes, g->id, &info))
		return;
	/* New ones first, so that lanes are never without a path. */
	for (uint32_t k = 0; k < rs->nrelays; k++) {
		/* The preferred one first: a group has SUCI_GROUP_PATHS at most. */
		uint32_t first = v.choice != RELAYSET_NONE ? v.choice : rs->conf.rank;
		uint32_t i = (first + k) % rs->nrelays;
		int want = weight_in(rs, g, &v, i);
		uint32_t at = 0;
		while (at < info.npaths && info.path[at].path != rs->relay[i].path)
			at++;
		if (at == info.npaths) {
			if (want != NOT_A_MEMBER)
				add_member(rs, g, i, want, now_ns);
			continue;
		}
		in[at] = want != NOT_A_MEMBER;
		if (in[at] && suci_weight(want) != info.path[at].weight)
			suci_group_set_weight(rs->lanes, g->id, info.path[at].path,
					      suci_weight(want));
	}
	for (uint32_t at = 0; at < info.npaths; at++)
		if (!in[at])
			suci_group_remove(rs->lanes, g->id, info.path[at].path, now_ns);
}

void
relayset_settle(struct relayset *rs, uint64_t now_ns)
{
	rs->unsettled = false;
	for (uint32_t k = 0; k < rs->ngroups; k++)
		settle_group(rs, &rs->group[k], now_ns);
	for (uint32_t k = 0; k < rs->ngroups; k++)
		if (rs->resend >> rs->group[k].client & 1)
			suci_group_resend(rs->lanes, rs->group[k].id, now_ns);
	rs->resend = 0;
	rs->dirty = true;
}

uint32_t
relayset_group(struct relayset *rs, uint32_t client, uint32_t relay, uint64_t now_ns)
{
	uint32_t k;

	for (k = 0; k < rs->ngroups; k++)
		if (rs->group[k].client == client && rs->group[k].relay == relay)
			return rs->group[k].id;
	struct group *g = &rs->group[k];
	if (k == rs->conf.limits.groups_max || suci_group_new(rs->lanes, GRACE_NS, &g->id) != 0) {
		for (k = 0; k < rs->ngroups; k++)
			if (rs->group[k].client == client)
				return rs->group[k].id;
		return 0;
	}
	g->client = client;
	g->relay = relay;
	rs->ngroups++;
	settle_group(rs, g, now_ns);
	return g->id;
}

uint32_t
relayset_mss(struct relayset *rs)
{
	struct suci_path_info info;
	uint32_t least = 0;

	for (uint32_t i = 0; i < rs->nrelays; i++) {
		const struct relay *r = &rs->relay[i];
		if (!r->up || !suci_path_info(rs->ep, r->path, &info))
			continue;
		uint32_t mss = info.mss;
		if (r->mtu > SUCI_OVERHEAD && r->mtu - SUCI_OVERHEAD < mss)
			mss = r->mtu - SUCI_OVERHEAD;
		if (least == 0 || mss < least)
			least = mss;
	}
	if (least > rs->mss_given)
		rs->mss_given = least;
	return least;
}
