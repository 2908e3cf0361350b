/* SPDX-License-Identifier: BSD-2-Clause */
/* A process and the relays of its cluster: relayset/relayset.h, as in libmpi. */
#include "world.h"

#include "base/assert.h"
#include "relayproto/note.h"
#include "relayset/relayset.h"

#include <stdlib.h>

static uint64_t
now(const struct end *e)
{
	return node_now(&e->clock, e->w->s->now_ns);
}

/* As libmpi has it: in a job that survives deaths, those beyond the relays are no more. */
static void
nobody_left(void *user, const char *text)
{
	struct end *e = user;

	if (!e->w->conf.tolerant) {
		end_over(e, "%s", text);
		return;
	}
	for (uint32_t r = 0; r < e->w->nend; r++)
		if (!world_same_cluster(e->w, e->rank, r))
			e->w->conf.app->lost(e, r);
}

static void
hear_failed(void *user, uint32_t first, uint32_t count)
{
	struct end *e = user;

	for (uint32_t r = first; r < first + count; r++) {
		e->told |= UINT64_C(1) << r;
		e->w->conf.app->lost(e, r);
	}
}

static bool
knows_failed(void *user, uint32_t rank)
{
	const struct end *e = user;

	return e->shunned >> rank & 1;
}

static const struct relayset_ops set_ops = {.nobody_left = nobody_left};

static bool
is_several(const struct end *e)
{
	return e->w->conf.several && e->w->conf.cluster[e->client].relays;
}

/* The address that start-up names for process r of another cluster. */
static struct suci_addr
named_for(const struct end *e, uint32_t r)
{
	const struct world *w = e->w;
	uint32_t relay = world_relay_for(w, e->client, r);
	return world_inside(w, e->client, w->relay[relay].ipv4[RELAY_LEG_PRIVATE]);
}

void
end_relays_new(struct end *e, struct suci_config *c)
{
	const struct world *w = e->w;
	struct relayset_conf rc = {
		.limits = {.relays_max = SUCI_GROUP_PATHS + RELAYSET_MORE,
			   .groups_max = CLUSTERS_MAX * SUCI_GROUP_PATHS},
		.rank = e->rank,
		.client = e->client,
		.silence_ns = c->liveness_ns ? c->liveness_ns : 4 * BASE_S_NS,
		.ops = &set_ops,
		.user = e,
	};
	free(e->relays);
	e->relays = NULL;
	if (!is_several(e))
		return;
	/* The set listens to relays, not the endpoint, and their launcher knows of the others. */
	c->liveness_ns = c->keepalive_ns = 0;
	c->handshake_ns = 86400 * BASE_S_NS;
	void *mem = aligned_alloc(64, relayset_footprint(&rc.limits));
	BASE_ASSERT(mem);
	e->relays = relayset_new(mem, &rc);
	if (w->conf.tolerant)
		relayset_survive(e->relays, &(struct relayset_survivors){
						    .nworld = w->nend,
						    .first = w->first_rank[e->client],
						    .n = w->conf.cluster[e->client].ranks,
						    .label_base = LABEL_BASE,
						    .token = OWN_TOKEN + e->rank,
						    .failed = hear_failed,
						    .has_failed = knows_failed,
					    });
	for (uint32_t r = 0; r < w->nend; r++) {
		struct relayset_relay relay = {.token = w->token[e->client],
					       .base = w->label_base[e->client]};
		if (world_same_cluster(w, e->rank, r))
			continue;
		relay.addr = named_for(e, r);
		relay.ipv4 = be32_load(relay.addr.ip + 12);
		if (relayset_find(e->relays, &relay.addr) == RELAYSET_NONE)
			(void)relayset_add(e->relays, &relay);
	}
	e->relays_named = relayset_count(e->relays);
	e->relays_connected = false;
	e->relays_wait_ns = 0;
}

void
end_relays_bind(struct end *e)
{
	if (e->relays)
		relayset_bind(e->relays, e->ep, e->lanes);
}

bool
end_relays_ready(struct end *e)
{
	bool any = relayset_any_up(e->relays);
	if (!e->relays_wait_ns)
		e->relays_wait_ns = now(e) + RELAYSET_WAIT_NS;
	if (!e->relays_connected &&
	    (relayset_all_up(e->relays, e->relays_named) || (any && now(e) >= e->relays_wait_ns))) {
		e->relays_connected = true;
		relayset_connected(e->relays);
	}
	return e->relays_connected && any;
}

uint32_t
end_relays_group(struct end *e, uint32_t rank)
{
	struct suci_addr addr = named_for(e, rank);
	return relayset_group(e->relays, e->w->end[rank].client, relayset_find(e->relays, &addr),
			      now(e));
}

static bool
takes_turns(const struct end *e)
{
	return e->relays && e->started && !e->quitting;
}

void
end_relays_turn(struct end *e)
{
	if (takes_turns(e))
		(void)relayset_turn(e->relays, now(e));
}

uint64_t
end_relays_next_ns(const struct end *e)
{
	return takes_turns(e) ? base_max_ns(relayset_expiry_ns(e->relays), now(e) + 1)
			      : BASE_NEVER_NS;
}

void
end_relays_up(struct end *e, uint32_t path, const struct suci_addr *peer, uint32_t mtu)
{
	(void)relayset_path_up(e->relays, path, peer, mtu, now(e));
}

bool
end_relays_down(struct end *e, uint32_t path, enum suci_down why, const char *text)
{
	if (e->quitting)
		relayset_closing(e->relays);
	return relayset_path_down(e->relays, path, why, text ? text : "", now(e));
}

void
end_relays_note(struct end *e, uint32_t path, const struct relay_note *n, const void *bytes,
		size_t len)
{
	struct relay_list l;
	if (n->type == RELAY_NOTE_DEATH) {
		/* doc/wire.md: what a relay tells a process. */
		INVARIANT(e->w->s, ALIVE,
			  e->w->conf.tolerant && n->count && n->token == OWN_TOKEN + e->rank &&
				  n->first + n->count <= e->w->nend,
			  "rank %u: a DEATH of %u ranks from %u on, token 0x%x", e->rank, n->count,
			  n->first, n->token);
		if (!e->w->s->failed)
			(void)relayset_death(e->relays, n);
	} else if (n->type == RELAY_NOTE_WAYS) {
		relayset_ways(e->relays, path, n->ways, n->resend, n->lit);
	} else if (n->type == RELAY_NOTE_RELAYS) {
		INVARIANT(e->w->s, HONEST, !relay_list_decode(bytes, len, &l),
			  "rank %u: bad RELAYS", e->rank);
		if (!e->w->s->failed)
			relayset_list(e->relays, path, &l);
	}
}
