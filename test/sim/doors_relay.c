/* SPDX-License-Identifier: BSD-2-Clause */
/* Relays with doors: sim/doors.h. */
#include "doors.h"
#include "pieces.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "relay/addr.h"
#include "relayproto/hello.h"

#include <stdlib.h>

static uint8_t *
writable_buffer(void *user, uint64_t cookie, const uint8_t *data, size_t len)
{
	const struct doors_relay *r = user;
	const struct sim_buf *b = &r->w->s->buf[cookie];
	INVARIANT(r->w->s, OWNER, data >= b->data && data + len <= b->data + b->len,
		  "relay %u: payload is not in the buffer of its cookie", r->index);
	return b->data + (data - b->data);
}

static void
hold_buffer(void *user, uint64_t cookie)
{
	sim_hold(((struct doors_relay *)user)->w->s, cookie);
}

static void
release_buffer(void *user, uint64_t cookie)
{
	sim_release(((struct doors_relay *)user)->w->s, cookie);
}

static void
end_job(void *user, uint32_t base, const char *why)
{
	const struct doors_relay *r = user;
	invariant_broken(r->w->s, INV_REASON, "relay %u: job %u ends: %s", r->index, base, why);
}

static void
log_up(void *user, uint32_t path, const struct suci_addr *peer, const char *what)
{
	const struct doors_relay *r = user;
	sim_log(r->w->s, "relay %u: path %u up to ..%u.%u: %s", r->index, path, peer->ip[14],
		peer->ip[15], what);
}

static void
log_down(void *user, uint32_t path, const struct suci_addr *peer, const char *what, const char *why)
{
	const struct doors_relay *r = user;
	sim_log(r->w->s, "relay %u: path %u down to ..%u.%u: %s: %s", r->index, path, peer->ip[14],
		peer->ip[15], what, why);
}

static const struct relay_core_ops relay_ops_of_doors = {
	.writable = writable_buffer,
	.hold = hold_buffer,
	.release = release_buffer,
	.job_ended = end_job,
	.path_up = log_up,
	.path_down = log_down,
};

uint32_t
doors_ipv4_to(const struct suci_out *o)
{
	return be32_load(o->to.ip + 12);
}

static sim_fn wake_relay;

void
doors_drive_relay(struct doors_relay *r)
{
	struct sim *s = r->w->s;
	static struct suci_out out;
	while (!s->failed && suci_tx(r->ep, &out, s->now_ns)) {
		struct sim_piece p[3];
		sim_pieces(r->ep, &out, p);
		sim_send(s, r->port[out.to.leg & 1], doors_ipv4_to(&out), p, 3);
	}
	uint64_t at = base_min_ns(suci_expiry_ns(r->ep), relay_core_expiry_ns(r->core));
	if (at != BASE_NEVER_NS && at != r->wake_ns) {
		r->wake_ns = at;
		sim_at(s, base_max_ns(at, s->now_ns), wake_relay, r, at);
	}
}

static void
wake_relay(struct sim *s, void *who, uint64_t at)
{
	struct doors_relay *r = who;
	if (!r->alive || at != r->wake_ns)
		return;
	r->wake_ns = BASE_NEVER_NS;
	suci_tick(r->ep, s->now_ns);
	relay_core_tick(r->core, s->now_ns);
	doors_drive_relay(r);
}

void
doors_deliver_relay(struct sim *s, void *who, uint64_t b)
{
	struct doors_relay *r = who;
	const struct sim_buf *buf = &s->buf[b];
	if (!r->alive)
		return;
	struct suci_addr from = relay_addr_v4(
		s->port[buf->from].ipv4, UDP_PORT,
		buf->to == r->port[RELAY_LEG_GLOBAL] ? RELAY_LEG_GLOBAL : RELAY_LEG_PRIVATE);
	suci_rx(r->ep, &from, buf->data, buf->len, b, s->now_ns);
	doors_drive_relay(r);
}

struct suci_config
doors_endpoint_conf(const struct doors *w, uint32_t paths, uint32_t ipv4, uint32_t life)
{
	struct suci_config c = {
		.limits = {.paths_max = paths,
			   .segments_max = 8192,
			   .queue_max = 4096,
			   .window_max = 2048},
		.cc = SUCI_CC_CUBIC,
		.mtu_max = 1400,
		.handshake_ns = BASE_S_NS,
		.liveness_ns = 500 * BASE_MS_NS,
		.keepalive_ns = 200 * BASE_MS_NS,
		.incarnation = (uint64_t)ipv4 << 32 | life,
		.seed = w->s->seed * 31 + 77 * ipv4 + life,
	};
	for (size_t i = 0; i < sizeof c.cookie_secret; i++)
		c.cookie_secret[i] = (uint8_t)(c.seed >> (i % 8) ^ (3 * i));
	return c;
}

void *
doors_memory(size_t len)
{
	BASE_ASSERT(len);
	void *mem = aligned_alloc(64, (len + 63) & ~(size_t)63);
	BASE_ASSERT(mem);
	return mem;
}

/* One alone is told of none. */
static void
name_siblings(const struct doors_relay *r, struct relay_core_conf *rc)
{
	const struct doors *w = r->w;
	rc->ncluster = w->conf.relays;
	rc->self = r->index / w->conf.nclusters;
	for (uint32_t k = 0; k < w->conf.relays; k++) {
		const struct doors_relay *o = &w->relay[r->cluster + k * w->conf.nclusters];
		rc->cluster[k] = (struct relay_sibling){
			.global = relay_addr_v4(o->ipv4[RELAY_LEG_GLOBAL], UDP_PORT,
						RELAY_LEG_GLOBAL),
			.private = relay_addr_v4(o->ipv4[RELAY_LEG_PRIVATE], UDP_PORT,
						 RELAY_LEG_PRIVATE),
			.weight = RELAY_WEIGHT_MAX};
	}
}

void
doors_start_relay(struct doors_relay *r)
{
	const struct doors *w = r->w;
	uint32_t paths = w->conf.procs * 2 + 64;
	struct relay_core_conf rc = {
		.limits = {.jobs_max = 1,
			   .procs_max = RELAY_LABEL_PAGE,
			   .hosts_max = 1,
			   .trunks_max = 2 * DOORS_CLUSTERS * w->conf.relays + 8,
			   .paths_max = paths,
			   .primaries_max = 1,
			   .doors_max = w->conf.doors_max,
			   .holds_max = 2 * w->conf.doors_max},
		.self_global = relay_addr_v4(r->ipv4[RELAY_LEG_GLOBAL], UDP_PORT, RELAY_LEG_GLOBAL),
		.trunk_mtu = 1400,
		.doors = {.cluster = r->cluster,
			  .imports_max = w->conf.imports_max,
			  .asks_per_s = w->conf.asks_per_s,
			  .per_proc_max = w->conf.per_proc_max,
			  .lost_ns = w->conf.lost_ns},
		.ops = &relay_ops_of_doors,
		.user = r,
	};
	if (w->conf.relays > 1)
		name_siblings(r, &rc);
	rc.doors.begin = (uint32_t)w->s->seed * 31 + 1000003 * (r->incarnation + r->index);
	struct suci_config c =
		doors_endpoint_conf(w, paths, r->ipv4[RELAY_LEG_GLOBAL], ++r->incarnation);
	sim_log(w->s, "relay %u starts", r->index);
	r->core_mem = doors_memory(relay_core_footprint(&rc.limits));
	r->ep_mem = doors_memory(suci_footprint(&c.limits));
	r->core = relay_core_new(r->core_mem, &rc);
	BASE_ASSERT(r->core);
	relay_core_hello(r->core, c.hello);
	c.hello_len = RELAY_HELLO_LEN;
	c.ops = relay_ops();
	c.user = r->core;
	r->ep = suci_new(r->ep_mem, &c, w->s->now_ns);
	BASE_ASSERT(r->ep);
	relay_bind(r->core, r->ep);
	r->alive = true;
	r->wake_ns = BASE_NEVER_NS;
}

void
doors_kill_relay(struct doors_relay *r)
{
	if (!r->alive)
		return;
	sim_log(r->w->s, "relay %u dies", r->index);
	suci_fini(r->ep, r->w->s->now_ns);
	relay_core_fini(r->core);
	r->alive = false;
	free(r->ep_mem);
	free(r->core_mem);
}

/* Of few labels, so that some are another's, or were until just now. */
uint32_t
doors_open(struct doors_proc *p, uint16_t n, uint64_t realm, uint32_t door)
{
	struct doors *w = p->w;
	if (!w->conf.claims || door % 4 != 3)
		return door_client_open(&p->client, 0, n, realm, door);
	struct door_address a = {
		.realm = realm,
		.token = 0x9e3779b97f4a7c15u * (door + 1),
		.label = DOOR_CLAIMS + 4 * (door / 4 % 24),
		.n = n,
		.nrelays = 1,
		.relay = {{w->relay[p->g.cluster].ipv4[RELAY_LEG_GLOBAL], UDP_PORT}}};
	w->claims++;
	return door_client_claim(&p->client, 0, &a, door);
}
