/* SPDX-License-Identifier: BSD-2-Clause */
#include "doors.h"
#include "pieces.h"

#include "base/assert.h"
#include "relay/addr.h"

#include <stdio.h>
#include <stdlib.h>

#define IPV4 0x0a000001u

struct doors_relay *
door_guest_relay(const struct door_guest *g, uint32_t site)
{
	return &g->d->relay[g->cluster + site * g->d->conf.nclusters];
}

void
door_guest_place(struct door_guest *g, struct doors *d, uint32_t i, sim_fn *deliver, void *user)
{
	struct sim_link_conf lan = {.delay_ns = d->conf.lan_ns + (i ? 0 : d->conf.slow_ns)};
	g->d = d;
	g->cluster = i % d->conf.nclusters;
	g->ipv4 = IPV4 + i / d->conf.nclusters;
	g->port = sim_add_port(d->s, user, deliver, g->cluster, g->ipv4);
	for (uint32_t k = 0; k < d->conf.relays; k++) {
		uint32_t out = sim_add_link(d->s, &lan), in = sim_add_link(d->s, &lan);
		uint32_t relay = door_guest_relay(g, k)->port[RELAY_LEG_PRIVATE];
		sim_set_route(d->s, g->port, relay, &out, 1);
		sim_set_route(d->s, relay, g->port, &in, 1);
	}
}

static void
start_endpoint(struct door_guest *g, struct door_client *client, struct suci_config *c)
{
	g->ep_mem = doors_memory(suci_footprint(&c->limits));
	g->ep = suci_new(g->ep_mem, c, g->d->s->now_ns);
	BASE_ASSERT(g->ep);
	door_sites_init(&g->sites, client, g->ep);
	for (uint32_t k = 0; k < g->d->conf.relays; k++) {
		struct suci_addr at = relay_addr_v4(door_guest_relay(g, k)->ipv4[RELAY_LEG_PRIVATE],
						    UDP_PORT, RELAY_LEG_PRIVATE);
		door_sites_add(&g->sites, &at);
	}
	g->wake_ns = BASE_NEVER_NS;
	g->say_ns = 0;
}

void
door_guest_start_bare(struct door_guest *g, struct door_client *client, uint32_t life,
		      uint32_t paths, const struct suci_ops *ops)
{
	struct suci_config c = doors_endpoint_conf(g->d, paths, g->ipv4, life);
	c.ops = ops;
	c.user = g;
	start_endpoint(g, client, &c);
}

void
door_guest_start(struct door_guest *g, struct door_client *client, uint32_t life, uint32_t lanes,
		 const struct suci_lane_ops *ops)
{
	struct suci_lanes_config l = {.limits = {.lanes_max = lanes,
						 .blocks_max = 512,
						 .rx_blocks_max = 128,
						 .held_max = 1024,
						 .ranges_max = 512,
						 .labels_max = 1,
						 .buckets = 256},
				      .ops = ops,
				      .user = g};
	struct suci_config c = doors_endpoint_conf(g->d, 64, g->ipv4, life);
	g->lanes_mem = doors_memory(suci_lanes_footprint(&l.limits));
	g->lanes = suci_lanes_new(g->lanes_mem, &l);
	BASE_ASSERT(g->lanes);
	c.ops = suci_lanes_ops();
	c.user = g->lanes;
	start_endpoint(g, client, &c);
	suci_lanes_bind(g->lanes, g->ep);
}

void
door_guest_end(struct door_guest *g)
{
	if (g->lanes)
		(void)suci_lanes_fini(g->lanes);
	free(g->ep_mem);
	free(g->lanes_mem);
}

void
door_guest_turn(struct door_guest *g)
{
	uint64_t now = g->d->s->now_ns;
	g->say_ns = base_min_ns(g->say_ns, door_sites_seek(&g->sites, now));
	g->say_ns = base_min_ns(g->say_ns, door_sites_turn(&g->sites, now));
}

void
door_guest_send(struct door_guest *g)
{
	static struct suci_out out;
	struct sim *s = g->d->s;
	while (!s->failed && suci_tx(g->ep, &out, s->now_ns)) {
		struct sim_piece piece[3];
		sim_pieces(g->ep, &out, piece);
		sim_send(s, g->port, doors_ipv4_to(&out), piece, 3);
	}
}

void
door_guest_sleep(struct door_guest *g, uint64_t until_ns, sim_fn *wake, void *user)
{
	struct sim *s = g->d->s;
	uint64_t at = base_min_ns(base_min_ns(suci_expiry_ns(g->ep), g->say_ns), until_ns);
	if (at == BASE_NEVER_NS || at == g->wake_ns)
		return;
	g->wake_ns = at;
	sim_at(s, base_max_ns(at, s->now_ns), wake, user, at);
}

bool
door_guest_wakes(struct door_guest *g, uint64_t at)
{
	if (at != g->wake_ns)
		return false;
	g->wake_ns = BASE_NEVER_NS;
	suci_tick(g->ep, g->d->s->now_ns);
	return true;
}

void
door_guest_take(struct door_guest *g, uint64_t b)
{
	struct sim *s = g->d->s;
	const struct sim_buf *buf = &s->buf[b];
	struct suci_addr from = relay_addr_v4(s->port[buf->from].ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	suci_rx(g->ep, &from, buf->data, buf->len, b, s->now_ns);
}

void
door_guest_bounce(const struct door_guest *g, uint64_t b)
{
	struct sim *s = g->d->s;
	struct suci_addr at = relay_addr_v4(g->ipv4, UDP_PORT, RELAY_LEG_PRIVATE);
	for (uint32_t k = 0; k < g->d->conf.relays; k++) {
		struct doors_relay *r = door_guest_relay(g, k);
		if (!r->alive || r->port[RELAY_LEG_PRIVATE] != s->buf[b].from)
			continue;
		suci_path_unreachable(r->ep, &at, s->buf[b].data, s->buf[b].len, s->now_ns);
		doors_drive_relay(r);
	}
}

/* ---- ops ---- */

void
door_guest_hold(void *user, uint64_t cookie)
{
	sim_hold(((struct door_guest *)user)->d->s, cookie);
}

void
door_guest_release(void *user, uint64_t cookie)
{
	sim_release(((struct door_guest *)user)->d->s, cookie);
}

int
door_guest_refuse(void *user, const struct suci_addr *from, const void *hello, size_t len,
		  char why[SUCI_TEXT_MAX])
{
	(void)user, (void)from, (void)hello, (void)len;
	snprintf(why, SUCI_TEXT_MAX, "nobody opens paths to a process");
	return -1;
}

bool
door_guest_say(void *user, uint32_t site, const void *note, size_t len)
{
	struct door_guest *g = user;
	return door_sites_say(&g->sites, site, note, len, g->d->s->now_ns);
}

void
door_guest_wake(void *user)
{
	((struct door_guest *)user)->say_ns = 0;
}
