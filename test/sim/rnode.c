/* SPDX-License-Identifier: BSD-2-Clause */
/* A relay: one worker shard's endpoint with the forwarding core, driven as relayd's
 * worker loop does.  Its control plane: rnode_jobs.c. */
#include "pieces.h"
#include "world.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TX_BURST_MAX	 200000
#define STRAYS(segments) ((segments) / 8) /* as relayd has them */

static uint64_t
now(const struct rnode *r)
{
	return node_now(&r->clock, r->w->s->now_ns);
}

static uint8_t *
writable(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	struct rnode *r = user;
	const struct sim_buf *b = &r->w->s->buf[cookie];
	INVARIANT(r->w->s, OWNER, data >= b->data && data + len <= b->data + b->len,
		  "relay %u.%u: payload is not in the buffer of its cookie", r->client, r->index);
	return b->data + (data - b->data);
}

static void
held(struct rnode *r)
{
	r->holding++;
	uint32_t limit = r->w->conf.relay.limits.segments_max;
	limit += STRAYS(limit) + r->w->conf.relay.limits.wholes_max +
		 r->w->conf.relay.limits.paths_max;
	INVARIANT(r->w->s, MEMORY, r->holding <= limit,
		  "relay %u.%u: holds %u receive buffers, its limit is %u", r->client, r->index,
		  r->holding, limit);
}

static void
hold(void *user, uint64_t cookie)
{
	struct rnode *r = user;
	sim_hold(r->w->s, cookie);
	held(r);
}

static uint8_t *
buffer(void *user, uint32_t path, uint32_t len, uint64_t *cookie)
{
	struct rnode *r = user;
	(void)path;
	*cookie = sim_buffer(r->w->s, len);
	held(r);
	return r->w->s->buf[*cookie].data;
}

static void
release(void *user, uint64_t cookie)
{
	struct rnode *r = user;
	struct sim *s = r->w->s;
	INVARIANT(s, OWNER, r->holding && cookie < s->nbuf && s->buf[cookie].refs,
		  "relay %u.%u: releases a receive buffer that it does not hold", r->client,
		  r->index);
	if (s->failed)
		return;
	r->holding--;
	sim_release(s, cookie);
}

/* Cores that do not know of each other (world_conf.several) end their job when a relay of the
 * cluster has not been heard for 3 s. */
static void
peer_dead(struct sim *s, void *who, uint64_t arg)
{
	const struct rnode *dead = who;
	struct world *w = dead->w;
	uint32_t base = w->label_base[dead->client];
	static const char why[] = "another relay of the cluster is gone";
	(void)s;
	(void)arg;
	for (uint32_t i = 0; i < w->conf.cluster[dead->client].relays; i++) {
		struct rnode *o = &w->relay[w->first_relay[dead->client] + i];
		if (!o->alive || !o->has_job)
			continue;
		relay_job_end(o->core, base, why, now(o));
		o->has_job = false;
		o->job_ended = true;
		rnode_jobs_ended(o, base, why);
		rnode_drive(o);
	}
}

static void
job_ended(void *user, uint32_t base, const char *why)
{
	struct rnode *r = user;
	struct world *w = r->w;
	if (!r->alive)
		return; /* being killed: it tells nobody */
	snprintf(r->why, sizeof r->why, "%s", why);
	r->job_ended = true;
	r->has_job = false;
	r->ended_ns = w->s->now_ns;
	sim_log(w->s, "relay %u.%u: the job is over: %s", r->client, r->index, why);
	INVARIANT(w->s, REASON, w->conf.die_ok, "relay %u.%u: job over: %s", r->client, r->index,
		  why);
	rnode_jobs_ended(r, base, why);
}

static void
path_up(void *user, uint32_t path, const struct suci_addr *peer, const char *what)
{
	struct rnode *r = user;
	sim_log(r->w->s, "relay %u.%u: path %u up to ..%u.%u: %s", r->client, r->index, path,
		peer->ip[14], peer->ip[15], what);
}

static void
path_down(void *user, uint32_t path, const struct suci_addr *peer, const char *what,
	  const char *why)
{
	struct rnode *r = user;
	sim_log(r->w->s, "relay %u.%u: path %u down to ..%u.%u: %s: %s", r->client, r->index, path,
		peer->ip[14], peer->ip[15], what, why);
}

static void
job_state(void *user, uint32_t base, uint32_t ways, bool left, bool tolerant)
{
	struct rnode *r = user;
	if (!r->alive || !r->w->conf.several)
		return;
	sim_log(r->w->s, "relay %u.%u: reaches clients 0x%x", r->client, r->index, ways);
	rnode_jobs_state(r, base, ways, left, tolerant);
}

static void
light_state(void *user, uint32_t slot, enum base_lightpath state)
{
	static const char *const names[] = {"up", "failed", "drained"};
	struct rnode *r = user;
	sim_log(r->w->s, "relay %u.%u: light of port %u: %s", r->client, r->index, slot,
		names[state]);
	if (r->alive && r->w->on_light)
		r->w->on_light(r, slot, state);
}

static const struct relay_core_ops ops = {
	.writable = writable,
	.hold = hold,
	.release = release,
	.buffer = buffer,
	.job_ended = job_ended,
	.path_up = path_up,
	.path_down = path_down,
	.job_state = job_state,
	.light_state = light_state,
};

static uint64_t
next_ns(const struct rnode *r)
{
	return base_min_ns(suci_expiry_ns(r->ep), relay_core_expiry_ns(r->core));
}

static void
count_relay_event(struct rnode *r)
{
	if (!r->w->on_event)
		return;
	r->events++;
	r->w->on_event(r->w, r->w->nend + (uint32_t)(r - r->w->relay));
}

static void
wake(struct sim *s, void *who, uint64_t at)
{
	struct rnode *r = who;
	if (!r->alive || at != r->wake_ns)
		return;
	if (s->now_ns < r->paused_ns) {
		sim_at(s, r->paused_ns, wake, r, at);
		return;
	}
	r->wake_ns = BASE_NEVER_NS;
	check_wake(r->w, &r->wakes, "relay", r->index);
	suci_tick(r->ep, now(r));
	relay_core_tick(r->core, now(r));
	rnode_drive(r);
	count_relay_event(r);
}

void
rnode_clock_step(struct rnode *r, uint64_t ns)
{
	r->clock.step_ns += ns;
	sim_log(r->w->s, "relay %u.%u: its clock steps by %llu us", r->client, r->index,
		(unsigned long long)ns / 1000);
	if (!r->alive)
		return;
	r->wake_ns = BASE_NEVER_NS;
	suci_tick(r->ep, now(r));
	relay_core_tick(r->core, now(r));
	rnode_drive(r);
}

static void
resume(struct sim *s, void *who, uint64_t arg)
{
	struct rnode *r = who;
	(void)arg;
	if (r->alive && s->now_ns >= r->paused_ns)
		rnode_drive(r);
}

void
rnode_pause(struct rnode *r, uint64_t ns)
{
	struct sim *s = r->w->s;
	sim_log(s, "relay %u.%u stops for %llu us", r->client, r->index,
		(unsigned long long)ns / 1000);
	r->paused_ns = base_max_ns(r->paused_ns, s->now_ns + ns);
	sim_at(s, r->paused_ns, resume, r, 0);
}

void
rnode_drive(struct rnode *r)
{
	struct sim *s = r->w->s;
	static struct suci_out out;
	uint32_t sent = 0;
	if (s->now_ns < r->paused_ns)
		return;
	while (!s->failed && suci_tx(r->ep, &out, now(r))) {
		check_sent(r->w, r->ep, &r->w->conf.relay.limits, &out, "relay", r->index);
		struct sim_piece p[3];
		sim_pieces(r->ep, &out, p);
		uint32_t ip = (uint32_t)out.to.ip[12] << 24 | (uint32_t)out.to.ip[13] << 16 |
			      (uint32_t)out.to.ip[14] << 8 | out.to.ip[15];
		INVARIANT(s, BYTES, out.to.leg < r->nlegs, "relay %u.%u: leg %u", r->client,
			  r->index, out.to.leg);
		sim_send(s, r->port[out.to.leg % (2 + LIGHTS_MAX)], ip, p, 3);
		if (++sent > TX_BURST_MAX)
			invariant_broken(s, INV_SPIN, "relay %u.%u: suci_tx never ends", r->client,
					 r->index);
	}
	check_driven(r->w, r->ep, "relay", r->index);
	uint64_t at = next_ns(r);
	if (at == BASE_NEVER_NS) {
		r->wake_ns = BASE_NEVER_NS;
	} else if (at != r->wake_ns) {
		r->wake_ns = at;
		sim_at(s, node_when(&r->clock, at), wake, r, at);
	}
}

static sim_fn read_late;

/* Every other run has IPv6 between relays; processes of clusters without relays stay with IPv4. */
static bool
has_six(const struct world *w, uint32_t ipv4)
{
	return w->s->seed * 0x9e3779b97f4a7c15u >> 63 && !w->conf.seal_identities &&
	       ipv4 >> 24 == 0xc0;
}

static struct suci_addr
six_of(uint32_t ipv4)
{
	struct suci_addr a = relay_addr_v4(ipv4, UDP_PORT, RELAY_LEG_GLOBAL);
	a.family = 6;
	a.ip[0] = 0xfd;
	return a;
}

/* Where it says relays of other clusters are. */
static void
places(const struct rnode *r, struct relay_core_conf *rc)
{
	const struct world *w = r->w;
	for (uint32_t i = 0; i < w->nrelay; i++) {
		uint32_t ipv4 = w->relay[i].ipv4[RELAY_LEG_GLOBAL];
		if (w->relay[i].client == r->client || !has_six(w, ipv4) ||
		    rc->nplaces == RELAY_PLACES_MAX)
			continue;
		struct suci_addr at = six_of(ipv4);
		rc->place[rc->nplaces].ipv4 = ipv4;
		memcpy(rc->place[rc->nplaces++].ipv6, at.ip, sizeof at.ip);
	}
}

static void
deliver(struct sim *s, void *who, uint64_t b)
{
	struct rnode *r = who;
	if (!r->alive) {
		r->dead_rx++;
		return;
	}
	if (s->now_ns < r->paused_ns) {
		r->not_read++;
		sim_hold(s, b);
		sim_at(s, r->paused_ns, read_late, r, b);
		return;
	}
	const struct sim_buf *buf = &s->buf[b];
	struct suci_addr from = relay_addr_v4(s->port[buf->from].ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	while (from.leg < r->nlegs && r->port[from.leg] != buf->to)
		from.leg++;
	if (from.leg == RELAY_LEG_PRIVATE)
		from = world_inside(r->w, r->client, s->port[buf->from].ipv4);
	if (from.leg == RELAY_LEG_GLOBAL && has_six(r->w, s->port[buf->from].ipv4))
		from = six_of(s->port[buf->from].ipv4);
	suci_rx(r->ep, &from, buf->data, buf->len, b, now(r));
	rnode_drive(r);
	count_relay_event(r);
}

static void
read_late(struct sim *s, void *who, uint64_t b)
{
	struct rnode *r = who;
	r->not_read--;
	deliver(s, r, b);
	sim_release(s, b);
}

/* ---- the job's table as relay/startup.h would make it ---------- */

static void
hostid(uint8_t out[IMPI_HOSTID_BYTES], uint32_t token, uint8_t kind, uint32_t ipv4)
{
	struct impi_hostid id = {.token = token, .kind = kind, .port = UDP_PORT, .ipv4 = ipv4};
	impi_hostid_encode(&id, out);
}

static void
add_hosts(const struct world *w, struct relay_job *job, uint32_t c)
{
	uint32_t n = w->conf.cluster[c].ranks;
	for (uint32_t r = 0; r < n;) {
		uint32_t rank = w->first_rank[c] + r;
		struct relay_host *h = &job->host[job->nhosts++];
		*h = (struct relay_host){.client = c, .first_rank = rank, .nprocs = 1};
		memcpy(h->id, w->global_id[rank], IMPI_HOSTID_BYTES);
		h->label_base = LABEL_BASE;
		if (w->conf.cluster[c].relays) {
			h->label_base = w->label_base[c];
			uint32_t carrier = world_relay_for(w, c, rank);
			while (r + h->nprocs < n &&
			       world_relay_for(w, c, rank + h->nprocs) == carrier)
				h->nprocs++;
		}
		r += h->nprocs;
	}
}

void
rnode_begin(struct rnode *r)
{
	const struct world *w = r->w;
	struct relay_job_limits l = {.nworld_max = w->conf.hosts_max,
				     .nhosts_max = w->conf.hosts_max};
	void *mem = aligned_alloc(64, (relay_job_footprint(&l) + 63) & ~(size_t)63);
	BASE_ASSERT(mem);
	struct relay_job *job = relay_job_new(mem, &l);
	job->id = 1;
	job->token = (uint32_t)w->token[r->client];
	job->label_base = w->label_base[r->client];
	job->my_client = r->client;
	job->nworld = w->nend;
	job->first_local = w->first_rank[r->client];
	job->nlocal = w->conf.cluster[r->client].ranks;
	for (uint32_t c = 0; c < w->conf.nclusters; c++)
		add_hosts(w, job, c);
	for (uint32_t i = 0; i < job->nlocal; i++) {
		const struct end *e = &w->end[job->first_local + i];
		struct suci_addr at = world_inside(w, r->client, e->ipv4);
		hostid(job->local[i].id, OWN_TOKEN + e->rank, IMPI_HOSTID_LIBMPI,
		       at.family == 4 ? e->ipv4 : 0);
		if (at.family == 6)
			memcpy(job->local[i].at, at.ip, sizeof at.ip);
		job->local[i].pid = LABEL_BASE + e->rank;
		job->local[i].relay =
			world_relay_for(w, r->client, e->rank) - w->first_relay[r->client];
	}
	memcpy(job->global_id, w->global_id, (size_t)w->nend * RELAY_PROC_ID_LEN);
	memcpy(job->private_id, w->private_id[r->client], (size_t)w->nend * RELAY_PROC_ID_LEN);
	r->table_mem = mem;
	rnode_jobs_begin(r, job);
}

/* What it knows of the other relays of its cluster. */
static void
several(const struct rnode *r, struct relay_core_conf *rc)
{
	const struct world *w = r->w;
	if (!w->conf.several)
		return;
	rc->ncluster = w->conf.cluster[r->client].relays;
	rc->self = r->index;
	for (uint32_t i = 0; i < rc->ncluster; i++) {
		const struct rnode *o = &w->relay[w->first_relay[r->client] + i];
		rc->cluster[i] = (struct relay_sibling){
			.global = relay_addr_v4(o->ipv4[RELAY_LEG_GLOBAL], UDP_PORT,
						RELAY_LEG_GLOBAL),
			.private = relay_addr_v4(o->ipv4[RELAY_LEG_PRIVATE], UDP_PORT,
						 RELAY_LEG_PRIVATE),
			.weight = RELAY_WEIGHT_MAX,
		};
		struct suci_addr at = world_inside(w, r->client, o->ipv4[RELAY_LEG_PRIVATE]);
		if (at.family == 6)
			memcpy(rc->cluster[i].private6, at.ip, sizeof at.ip);
	}
	rc->rule[0].policy = w->conf.policy;
	rc->nrules = 1;
	rc->partition_ns = w->conf.partition_ns;
}

void
rnode_new(struct rnode *r)
{
	struct world *w = r->w;
	struct suci_config c = w->conf.relay;
	struct relay_core_conf rc = {
		.limits = {.jobs_max = 4,
			   .procs_max = 4 * RELAY_LABEL_PAGE,
			   .hosts_max = w->conf.hosts_max,
			   .trunks_max = w->conf.hosts_max,
			   .paths_max = c.limits.paths_max,
			   .primaries_max = 2,
			   .strays_max = STRAYS(c.limits.segments_max)},
		.self_global = relay_addr_v4(r->ipv4[RELAY_LEG_GLOBAL], UDP_PORT, RELAY_LEG_GLOBAL),
		.trunk_mtu = (uint16_t)w->conf.global_mtu,
		.nlights = r->nlegs - 2,
		.ops = &ops,
		.user = r,
	};
	several(r, &rc);
	places(r, &rc);
	sim_seal(&c,
		 (uint32_t)w->conf.seal_private << RELAY_LEG_PRIVATE | (uint32_t)w->conf.seal_global
									       << RELAY_LEG_GLOBAL,
		 w->conf.seal_epoch, w->conf.seal_identities);
	size_t core_len = relay_core_footprint(&rc.limits), ep_len = suci_footprint(&c.limits);
	BASE_ASSERT(core_len && ep_len);
	r->core_mem = aligned_alloc(64, (core_len + 63) & ~(size_t)63);
	r->ep_mem = aligned_alloc(64, (ep_len + 63) & ~(size_t)63);
	BASE_ASSERT(r->core_mem && r->ep_mem);
	r->core = relay_core_new(r->core_mem, &rc);
	BASE_ASSERT(r->core);
	relay_core_hello(r->core, c.hello);
	c.hello_len = RELAY_HELLO_LEN;
	c.incarnation = (uint64_t)r->ipv4[RELAY_LEG_GLOBAL] << 32 | ++r->incarnation;
	c.seed = w->s->seed * 37 + 777 * r->ipv4[RELAY_LEG_GLOBAL] + r->incarnation;
	for (size_t i = 0; i < sizeof c.cookie_secret; i++)
		c.cookie_secret[i] = (uint8_t)(c.seed >> (i % 8) ^ (3 * i));
	c.mtu_max =
		w->conf.private_mtu > w->conf.global_mtu ? w->conf.private_mtu : w->conf.global_mtu;
	c.ops = relay_ops();
	c.user = r->core;
	r->ep = suci_new(r->ep_mem, &c, now(r));
	BASE_ASSERT(r->ep);
	relay_bind(r->core, r->ep);
	r->alive = true;
	r->holding = 0;
	r->wake_ns = BASE_NEVER_NS;
	if (r->incarnation == 1) {
		r->port[RELAY_LEG_PRIVATE] =
			sim_add_port(w->s, r, deliver, r->client, r->ipv4[RELAY_LEG_PRIVATE]);
		r->port[RELAY_LEG_GLOBAL] =
			sim_add_port(w->s, r, deliver, NET_GLOBAL, r->ipv4[RELAY_LEG_GLOBAL]);
		for (uint32_t leg = RELAY_LEG_LIGHT; leg < r->nlegs; leg++)
			r->port[leg] = sim_add_port(w->s, r, deliver, NET_LIGHT, r->ipv4[leg]);
	}
	rnode_jobs_new(r);
}

void
rnode_kill(struct rnode *r)
{
	if (!r->alive)
		return;
	sim_log(r->w->s, "relay %u.%u dies", r->client, r->index);
	r->alive = false; /* first: what its end would cause happens to nobody */
	suci_fini(r->ep, now(r));
	relay_core_fini(r->core);
	free(r->ep_mem);
	free(r->core_mem);
	r->ep = NULL;
	r->core = NULL;
	r->has_job = false;
	rnode_jobs_kill(r);
	free(r->table_mem);
	r->table_mem = NULL;
	if (!r->w->conf.several)
		sim_at(r->w->s, r->w->s->now_ns + RELAY_PEER_DEAD_NS, peer_dead, r, 0);
}

void
rnode_restart(struct rnode *r)
{
	sim_log(r->w->s, "relay %u.%u is back", r->client, r->index);
	rnode_new(r);
}

static void
come_back(struct sim *s, void *who, uint64_t arg)
{
	struct rnode *r = who;
	(void)s, (void)arg;
	if (!r->alive)
		rnode_restart(r);
}

void
rnode_kill_for(struct rnode *r, uint64_t gone_ns)
{
	struct sim *s = r->w->s;
	rnode_kill(r);
	sim_at(s, s->now_ns + gone_ns, come_back, r, 0);
}

bool
rnode_is_spare(const struct rnode *r)
{
	const struct world *w = r->w;
	for (uint32_t i = 0; i < w->nrelay; i++)
		if (&w->relay[i] != r && w->relay[i].client == r->client && w->relay[i].alive &&
		    w->relay[i].has_job)
			return true;
	return false;
}
