/* SPDX-License-Identifier: BSD-2-Clause */
#include "eval.h"

#include "base/assert.h"
#include "impi/wire.h"
#include "relay/deal.h"

#include <string.h>

#define GBE_BPS	     125000000ull
#define WAN_BPS	     1250000000ull
#define INSIDE_BPS   250000000ull
#define SWITCH_QUEUE 1048576u /* of an output port */
#define TX_BYTES     65536ull
#define WAN_QUEUE    1048576u
#define HOP_NS	     1000u /* cable, switch, adapter */
#define INSIDE_NS    3000u

/* One attachment of a node: of several ports the processor is one. */
struct site {
	uint32_t port, cluster, network;
	bool relay;
	uint32_t cpu, out, in, inside_out, inside_in;
};

static uint32_t
link_of(struct sim *s, uint64_t bps, uint64_t delay_ns, uint32_t queue, uint64_t packet_ns)
{
	struct sim_link_conf c = {.rate_bps = bps,
				  .delay_ns = delay_ns,
				  .queue_bytes = queue,
				  .overhead_bytes = bps ? SIM_UDP_OVERHEAD : 0,
				  .packet_ns = packet_ns};
	return sim_add_link(s, &c);
}

static void
attach(struct sim *s, struct site *x, uint32_t cpu)
{
	x->cpu = cpu;
	x->out = link_of(s, GBE_BPS, 0, 0, 0);
	x->in = link_of(s, GBE_BPS, HOP_NS, SWITCH_QUEUE, 0);
	if (x->relay)
		return;
	x->inside_out = link_of(s, INSIDE_BPS, 0, 0, 0);
	x->inside_in = link_of(s, INSIDE_BPS, INSIDE_NS, 0, 0);
}

static void
route(struct eval_net *n, const struct site *a, const struct site *b)
{
	uint32_t hops[SIM_HOPS_MAX], k = 0;
	bool inside = a->cluster == b->cluster && !a->relay && !b->relay;
	hops[k++] = a->cpu;
	hops[k++] = inside ? a->inside_out : a->out;
	if (a->cluster != b->cluster)
		hops[k++] = n->wan[a->cluster];
	hops[k++] = inside ? b->inside_in : b->in;
	hops[k++] = b->cpu;
	sim_set_route(n->s, a->port, b->port, hops, k);
}

static void
route_all(struct eval_net *n, const struct site *x, uint32_t count)
{
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++)
			if (a != b && x[a].network == x[b].network)
				route(n, &x[a], &x[b]);
}

/* Sees each datagram that is offered to the link; drops none. */
static bool
look(void *who, const struct sim_buf *b)
{
	struct eval_watch *x = who;
	uint64_t now = x->s->now_ns;
	if (b->len < 200)
		return false;
	if (*x->on && x->busy_until_ns && now > x->busy_until_ns)
		x->idle_ns = base_max_ns(x->idle_ns, now - x->busy_until_ns);
	uint64_t took = (uint64_t)(b->len + x->link->conf.overhead_bytes) * BASE_S_NS /
			x->link->conf.rate_bps;
	x->busy_until_ns = base_max_ns(now, x->link->free_at_ns) + took;
	return false;
}

static void
watch(struct eval_net *n, uint32_t link)
{
	BASE_ASSERT(n->nwatch < RELAYS_MAX);
	struct eval_watch *x = &n->watch[n->nwatch++];
	*x = (struct eval_watch){.s = n->s, .link = &n->s->link[link], .on = &n->measuring};
	x->link->aim = look;
	x->link->aim_who = x;
}

static void
wan(struct eval_net *n)
{
	n->first_link = n->s->nlink;
	for (uint32_t c = 0; c < n->c->clusters; c++) {
		struct sim_link_conf l = {.rate_bps = WAN_BPS,
					  .delay_ns = n->c->wan_delay_ns,
					  .queue_bytes = WAN_QUEUE,
					  .overhead_bytes = SIM_UDP_OVERHEAD,
					  .loss_ppb = n->c->wan_loss_ppb};
		n->wan[c] = sim_add_link(n->s, &l);
		if (!n->c->relays)
			watch(n, n->wan[c]);
	}
}

/* The adapter's queue and the socket's buffer have TX_BYTES. */
static uint64_t
eval_tx_wait(const struct world *w, uint32_t port)
{
	const struct sim *s = w->s;
	const struct sim_link *cpu = &s->link[w->nic[port] - 1];
	uint64_t worst = cpu->free_at_ns > s->now_ns ? cpu->free_at_ns - s->now_ns : 0;
	for (uint32_t k = 0; k < 2; k++) {
		const struct sim_link *l = &s->link[w->nic[port] + k * 2];
		uint64_t most = TX_BYTES * BASE_S_NS / l->conf.rate_bps;
		if (l->free_at_ns > s->now_ns + most)
			worst = base_max_ns(worst, l->free_at_ns - s->now_ns - most);
	}
	return worst;
}

void
eval_wire_suci(struct eval_net *n, struct world *w)
{
	struct site x[EVAL_RANKS + 2 * RELAYS_MAX];
	uint32_t count = 0;
	memset(x, 0, sizeof x);
	wan(n);
	for (uint32_t i = 0; i < w->nend; i++) {
		struct site *a = &x[count++];
		a->port = w->end[i].port;
		a->cluster = eval_cluster_of(n->c, i);
		a->network = n->s->port[a->port].network;
		attach(n->s, a, link_of(n->s, 0, 0, 0, n->c->costs.node_ns));
		w->nic[a->port] = a->out;
	}
	w->tx_wait = eval_tx_wait;
	for (uint32_t i = 0; i < w->nrelay; i++) {
		uint32_t cpu = link_of(n->s, 0, 0, 0, n->c->costs.relay_ns);
		for (uint32_t leg = 0; leg < 2; leg++) {
			struct site *a = &x[count++];
			a->port = w->relay[i].port[leg];
			a->cluster = w->relay[i].client;
			a->network = n->s->port[a->port].network;
			a->relay = true;
			attach(n->s, a, cpu);
			if (leg == RELAY_LEG_GLOBAL)
				watch(n, a->out);
		}
	}
	route_all(n, x, count);
}

void
eval_wire_tcp(struct eval_net *n, const struct tcp_net *t)
{
	struct site x[EVAL_RANKS];
	uint32_t count = eval_ranks(n->c);
	memset(x, 0, sizeof x);
	wan(n);
	for (uint32_t i = 0; i < count; i++) {
		x[i].port = tcp_port(t, i);
		x[i].cluster = eval_cluster_of(n->c, i);
		x[i].network = n->s->port[x[i].port].network;
		attach(n->s, &x[i], link_of(n->s, 0, 0, 0, n->c->costs.node_ns));
	}
	route_all(n, x, count);
}

static uint64_t
wire_ns(uint64_t bytes, uint64_t bps)
{
	return (bytes * BASE_S_NS + bps - 1) / bps;
}

/* One way of a datagram of so many bytes on the wire. */
static uint64_t
one_way(const struct eval_conf *c, uint64_t bytes)
{
	uint64_t cpu = 2 * c->costs.node_ns + (c->relays ? 4 * c->costs.relay_ns : 0);
	uint32_t gbe = c->relays ? 6 : 2;
	return cpu + gbe * wire_ns(bytes, GBE_BPS) + gbe / 2 * HOP_NS + wire_ns(bytes, WAN_BPS) +
	       c->wan_delay_ns;
}

uint64_t
eval_rtt(const struct eval_conf *c)
{
	return one_way(c, 1500 + 38) + one_way(c, 100);
}

/* On the wire, of a message: its segments with all headers. */
static uint64_t
wire_bytes(const struct eval_conf *c, uint64_t bytes)
{
	if (c->transport == EVAL_TCP) {
		uint64_t segs = (bytes + IMPI_PACKET_BYTES + TCP_MSS - 1) / TCP_MSS;
		return bytes + IMPI_PACKET_BYTES + segs * 90;
	}
	uint64_t mss = 1500 - SIM_IP_UDP - SUCI_OVERHEAD;
	uint64_t all = bytes + IMPI_PACKET_BYTES + SUCI_FIRST_EXT;
	return all + (all + mss - 1) / mss * (SUCI_PATH_HDR + SUCI_LANE_HDR + SIM_UDP_OVERHEAD);
}

/* Of the relays of a cluster, the one that carries what is for that process. */
static uint32_t
carrier_of(const struct eval_conf *c, uint32_t cluster, uint32_t rank)
{
	uint32_t there = eval_cluster_of(c, rank), n = eval_ranks_of(c, there);
	uint32_t index = there ? (rank - c->ranks) % n : rank;

	return relay_deal_owner(n, eval_relays_of(c, cluster), index);
}

uint64_t
eval_bound(const struct eval_conf *c, const struct eval_app *a)
{
	uint64_t relay[2][CLUSTERS_MAX][RELAYS_MAX] = {{{0}}}, out[EVAL_RANKS] = {0},
		 wide[CLUSTERS_MAX] = {0};
	uint64_t worst = 0, smallest = UINT64_MAX;
	for (uint32_t s = 0; s < a->n; s++)
		for (uint32_t d = 0; d < a->n; d++) {
			uint32_t sc = eval_cluster_of(c, s), dc = eval_cluster_of(c, d);
			if (sc == dc)
				continue;
			uint64_t b = 0;
			for (uint32_t i = 0; i < a->pair[s][d].n; i++)
				b += wire_bytes(c, a->pair[s][d].bytes[i]);
			if (!b)
				continue;
			smallest = b < smallest ? b : smallest;
			out[s] += b;
			wide[sc] += b;
			if (c->relays) {
				relay[0][sc][carrier_of(c, sc, d)] += b;
				relay[1][dc][carrier_of(c, dc, d)] += b;
			}
		}
	for (uint32_t s = 0; s < a->n; s++)
		worst = base_max_ns(worst, wire_ns(out[s], GBE_BPS));
	for (uint32_t k = 0; k < c->clusters; k++) {
		worst = base_max_ns(worst, wire_ns(wide[k], WAN_BPS));
		for (uint32_t i = 0; i < RELAYS_MAX; i++)
			for (uint32_t in = 0; in < 2; in++)
				worst = base_max_ns(worst, wire_ns(relay[in][k][i], GBE_BPS));
	}
	return worst + one_way(c, smallest < 1538 ? smallest : 1538);
}
