/* A process that goes over several relays of its cluster: lane groups, and what relays
 * tell (relayproto/note.h), as libmpi does it (doc/job-setup.md). */
#include "world.h"

#include "base/assert.h"
#include "relayproto/hello.h"
#include "relayproto/note.h"

#include <stdlib.h>
#include <string.h>

#define RELAYS	  SUCI_GROUP_PATHS
#define RETRY_NS  (50 * BASE_MS_NS)
#define RETRY_MAX (2 * BASE_S_NS)

struct via {
	uint32_t ipv4, path;
	bool up, lost_told;
	uint8_t weight;
	uint32_t ways, ways_number, list_number; /* of the notes that told */
	uint64_t retry_ns, pause_ns;
};

/* Lanes to one client that start-up sends over the same relay. */
struct towards {
	uint32_t client, dest; /* the latter: a relay's address */
	uint32_t group;
	uint8_t policy;
};

struct end_relays {
	uint32_t n, own, ngroups;
	struct via via[RELAYS];
	struct towards group[CLUSTERS_MAX * RELAYS];
	uint8_t policy[CLUSTERS_MAX];
	uint32_t resend;
	bool dirty;
};

static uint64_t
now(const struct end *e)
{
	return node_now(&e->clock, e->w->s->now_ns);
}

bool
end_is_several(const struct end *e)
{
	return e->w->conf.several && e->w->conf.cluster[e->client].relays;
}

static struct via *
via_at(struct end_relays *r, uint32_t ipv4)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->via[i].ipv4 == ipv4)
			return &r->via[i];
	if (r->n == RELAYS)
		return NULL;
	r->via[r->n] = (struct via){.ipv4 = ipv4,
				    .path = NONE_U32,
				    .weight = RELAY_WEIGHT_MAX,
				    .ways = UINT32_MAX,
				    .pause_ns = RETRY_NS};
	return &r->via[r->n++];
}

static struct via *
via_on(struct end_relays *r, uint32_t path)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->via[i].path == path)
			return &r->via[i];
	return NULL;
}

uint32_t
end_relays_group(struct end *e, uint32_t rank, uint32_t relay_ipv4)
{
	struct end_relays *r = e->relays;
	uint32_t client = e->w->end[rank].client;
	for (uint32_t i = 0; i < r->ngroups; i++)
		if (r->group[i].client == client && r->group[i].dest == relay_ipv4)
			return r->group[i].group;
	struct towards *t = &r->group[r->ngroups++];
	*t = (struct towards){.client = client, .dest = relay_ipv4, .policy = r->policy[client]};
	(void)via_at(r, relay_ipv4);
	int err = suci_group_new(e->lanes, 60 * BASE_S_NS, &t->group);
	BASE_ASSERT(!err);
	r->dirty = true;
	return t->group;
}

void
end_relays_new(struct end *e)
{
	free(e->relays);
	e->relays = end_is_several(e) ? calloc(1, sizeof *e->relays) : NULL;
	if (e->relays)
		e->relays->own = NONE_U32;
}

static void
open_due(struct end *e, struct via *v)
{
	struct relay_hello h = {.kind = RELAY_HELLO_PROCESS,
				.token = e->w->token[e->client],
				.label = e->w->label_base[e->client] + e->rank,
				.rank = e->rank};
	struct suci_addr to = relay_addr_v4(v->ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	uint8_t hello[RELAY_HELLO_LEN];
	if (v->path != NONE_U32 || now(e) < v->retry_ns)
		return;
	relay_hello_encode(&h, hello);
	int err = suci_path_open(e->ep, &to, hello, sizeof hello, &v->path, now(e));
	if (err && err != SUCI_ERR_EXISTS)
		v->path = NONE_U32;
	v->retry_ns = now(e) + v->pause_ns;
}

/* Reports of relays that are gone, or back, to the others. */
static void
tell_lost(struct end *e, struct via *v)
{
	struct end_relays *r = e->relays;
	struct relay_note n = {.type = RELAY_NOTE_LOST,
			       .label_base = e->w->label_base[e->client],
			       .ipv4 = v->ipv4,
			       .port = UDP_PORT,
			       .lost = !v->up};
	uint8_t buf[RELAY_NOTE_MAX];
	size_t len = relay_note_encode(&n, buf);
	if (v->lost_told == !v->up)
		return;
	v->lost_told = !v->up;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->via[i].up && &r->via[i] != v)
			suci_path_note(e->ep, r->via[i].path, buf, len, now(e));
}

static uint32_t
weight_of(const struct end_relays *r, const struct towards *t, uint32_t i)
{
	const struct via *v = &r->via[i];
	bool mine = r->policy[t->client] == RELAY_POLICY_STRIPE ||
		    (r->policy[t->client] == RELAY_POLICY_SOURCE ? v->ipv4 == r->own
								 : v->ipv4 == t->dest);
	if (!v->weight)
		return SUCI_WEIGHT_DRAINS;
	return (v->ways >> t->client & 1) && mine ? v->weight : 0;
}

static void
regroup(struct end *e, const struct towards *t)
{
	struct end_relays *r = e->relays;
	bool any = false;
	for (uint32_t i = 0; i < r->n; i++)
		any |= r->via[i].up && r->via[i].ways >> t->client & 1;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct via *v = &r->via[i];
		uint32_t weight = weight_of(r, t, i);
		if (!v->up)
			continue;
		if (any && !(v->ways >> t->client & 1))
			(void)suci_group_remove(e->lanes, t->group, v->path, now(e));
		else if (suci_group_add(e->lanes, t->group, v->path, weight, now(e)) ==
			 SUCI_ERR_EXISTS)
			(void)suci_group_set_weight(e->lanes, t->group, v->path, weight);
	}
}

void
end_relays_turn(struct end *e)
{
	struct end_relays *r = e->relays;
	if (!r || !e->started || e->quitting)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		open_due(e, &r->via[i]);
	if (!r->dirty)
		return;
	r->dirty = false;
	for (uint32_t i = 0; i < r->ngroups; i++)
		regroup(e, &r->group[i]);
	for (uint32_t i = 0; i < r->ngroups; i++)
		if (r->resend >> r->group[i].client & 1)
			suci_group_resend(e->lanes, r->group[i].group, now(e));
	r->resend = 0;
	for (uint32_t i = 0; i < r->n; i++)
		tell_lost(e, &r->via[i]);
}

uint64_t
end_relays_next_ns(const struct end *e)
{
	const struct end_relays *r = e->relays;
	uint64_t at = BASE_NEVER_NS;
	for (uint32_t i = 0; r && e->started && !e->quitting && i < r->n; i++)
		if (r->via[i].path == NONE_U32)
			at = base_min_ns(at, base_max_ns(r->via[i].retry_ns, now(e) + 1));
	return at;
}

void
end_relays_up(struct end *e, uint32_t path, const struct suci_addr *peer)
{
	struct via *v =
		via_at(e->relays, (uint32_t)peer->ip[12] << 24 | (uint32_t)peer->ip[13] << 16 |
					  (uint32_t)peer->ip[14] << 8 | peer->ip[15]);
	if (!v)
		return;
	v->path = path;
	v->up = true;
	v->ways = UINT32_MAX;
	v->ways_number = v->list_number = 0;
	v->pause_ns = RETRY_NS;
	e->relays->dirty = true;
}

bool
end_relays_down(struct end *e, uint32_t path)
{
	struct via *v = via_on(e->relays, path);
	if (!v)
		return false;
	v->path = NONE_U32;
	v->up = false;
	v->retry_ns = now(e) + v->pause_ns;
	v->pause_ns = base_min_ns(2 * v->pause_ns, RETRY_MAX);
	e->relays->dirty = true;
	return true;
}

static void
take_list(struct end *e, struct via *from, const void *bytes, size_t len)
{
	struct end_relays *r = e->relays;
	struct relay_list l;
	INVARIANT(e->w->s, HONEST, !relay_list_decode(bytes, len, &l), "rank %u: bad RELAYS",
		  e->rank);
	if (e->w->s->failed)
		return;
	for (uint32_t i = 0; i < l.n; i++)
		(void)via_at(r, l.relay[i].ipv4);
	if (from && l.relay[l.self].ipv4 == from->ipv4)
		from->weight = l.relay[l.self].weight;
	if (l.own != RELAY_LIST_NONE)
		r->own = l.relay[l.own].ipv4;
	for (uint32_t i = 0; i < l.npolicies; i++)
		if (l.policy[i].client < CLUSTERS_MAX)
			r->policy[l.policy[i].client] = l.policy[i].policy;
}

void
end_relays_note(struct end *e, uint32_t path, const struct relay_note *n, const void *bytes,
		size_t len)
{
	struct end_relays *r = e->relays;
	struct via *v = via_on(r, path);
	if (n->type == RELAY_NOTE_RELAYS && v && suci_note_is_news(e->ep, &v->list_number))
		take_list(e, v, bytes, len);
	if (n->type == RELAY_NOTE_WAYS) {
		if (v && suci_note_is_news(e->ep, &v->ways_number))
			v->ways = n->ways;
		r->resend |= n->resend;
	}
	r->dirty = true;
}
