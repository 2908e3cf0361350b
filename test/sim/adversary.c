/* SPDX-License-Identifier: BSD-2-Clause */
#include "adversary.h"

#include "guesser.h"
#include "scenario.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "suci/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADV_HOST 0xfa /* last byte of his addresses */

static uint64_t
below(struct adversary *a, uint64_t n)
{
	return base_prng_below(&a->prng, n);
}

/* Does he read there? */
static bool
reads(const struct adversary *a, uint32_t network)
{
	const struct world_conf *c = &a->w->conf;
	return network == NET_GLOBAL ? c->seal_global : c->seal_private;
}

static uint32_t
own_port(const struct adversary *a, uint32_t network)
{
	for (uint32_t i = 0; i < a->nports; i++)
		if (a->network[i] == network)
			return a->port[i];
	return SIM_LINK_NONE;
}

static bool
is_own(const struct adversary *a, uint32_t port)
{
	return own_port(a, a->w->s->port[port].network) == port;
}

/* Another node of that network, or himself. */
static uint32_t
some_port(struct adversary *a, uint32_t network)
{
	const struct sim *s = a->w->s;
	for (;;) {
		uint32_t p = (uint32_t)below(a, s->nport);
		if (s->port[p].network == network)
			return p;
	}
}

static void
arrive(struct sim *s, void *who, uint64_t slot)
{
	struct adversary *a = who;
	const struct adv_dgram *d = &a->later[slot];
	sim_arrive(s, d->from, d->to, d->bytes, d->len);
}

/* After so long it is there; with too many on their way it is not. */
static void
put(struct adversary *a, uint32_t from, uint32_t to, const uint8_t *bytes, uint32_t len,
    uint64_t after_ns)
{
	struct adv_dgram *d = &a->later[a->nlater++ % ADV_LATER];
	if (is_own(a, to) || len > ADV_BYTES)
		return;
	d->from = (uint16_t)from;
	d->to = (uint16_t)to;
	d->len = len;
	memcpy(d->bytes, bytes, len);
	a->acts++;
	sim_at(a->w->s, a->w->s->now_ns + after_ns, arrive, a, (uint64_t)(d - a->later));
}

static const struct adv_dgram *
remembered(struct adversary *a)
{
	uint32_t n = a->nkept < ADV_KEPT ? a->nkept : ADV_KEPT;
	return n ? &a->kept[below(a, n)] : NULL;
}

/* The last one he saw with that tag. */
static const struct adv_dgram *
with_tag(const struct adversary *a, uint32_t tag)
{
	uint32_t n = a->nkept < ADV_KEPT ? a->nkept : ADV_KEPT;
	for (uint32_t i = 1; i <= n; i++) {
		const struct adv_dgram *d = &a->kept[(a->nkept - i) % ADV_KEPT];
		if (d->len >= SUCI_PATH_HDR && be32_load(d->bytes + 4) == tag)
			return d;
	}
	return NULL;
}

/* An answer to him: handed to both ends of the path it is about, as from the other. */
static void
deliver(struct sim *s, void *who, uint64_t b)
{
	struct adversary *a = who;
	const struct sim_buf *buf = &s->buf[b];
	const struct adv_dgram *about =
		buf->len >= SUCI_PATH_HDR ? with_tag(a, be32_load(buf->data + 4)) : NULL;
	a->answers++;
	if (!about)
		return;
	put(a, about->to, about->from, buf->data, buf->len, 0);
	put(a, about->from, about->to, buf->data, buf->len, 0);
}

static void
change(struct adversary *a, struct adv_dgram *d)
{
	const struct adv_dgram *o = remembered(a);
	uint64_t kind = below(a, 7);
	if (d->len < SUCI_PATH_HDR || !o || o->len < SUCI_PATH_HDR + SUCI_SEAL_TAG)
		return;
	if (kind == 0) { /* type */
		d->bytes[0] = (uint8_t)(SUCI_VERSION << 4 | below(a, 9));
	} else if (kind == 1) { /* flags */
		d->bytes[1] ^= (uint8_t)(1u << below(a, 8));
	} else if (kind == 2) { /* tag */
		memcpy(d->bytes + 4, o->bytes + 4, 4);
	} else if (kind == 3) { /* number */
		be32_store(d->bytes + 8, be32_load(d->bytes + 8) + (uint32_t)below(a, 2000));
	} else if (kind == 4) { /* this head, that body */
		d->len = o->len;
		memcpy(d->bytes + SUCI_PATH_HDR, o->bytes + SUCI_PATH_HDR, o->len - SUCI_PATH_HDR);
	} else if (kind == 5) { /* that seal */
		if (d->len >= SUCI_PATH_HDR + SUCI_SEAL_TAG)
			memcpy(d->bytes + d->len - SUCI_SEAL_TAG, o->bytes + o->len - SUCI_SEAL_TAG,
			       SUCI_SEAL_TAG);
	} else {
		uint64_t by = 1 + below(a, 255);
		d->bytes[below(a, d->len)] ^= (uint8_t)by;
	}
}

/* What draws a RESET: not the path's tag but its shape and its seal, to one of the ends or to any
 * other that has the key; the answer comes to him. */
static void
ask(struct adversary *a, const struct adv_dgram *d, uint32_t network)
{
	static struct adv_dgram q;
	uint32_t me = own_port(a, network);
	q = *d;
	if (q.len < SUCI_PATH_HDR + SUCI_SEAL_TAG)
		return;
	if (q.len < 100) {
		memcpy(q.bytes + 100 - SUCI_SEAL_TAG, d->bytes + d->len - SUCI_SEAL_TAG,
		       SUCI_SEAL_TAG);
		q.len = 100;
	}
	q.bytes[0] = SUCI_VERSION << 4 | SUCI_T_DATA;
	q.bytes[1] = SUCI_PF_SEALED;
	be16_store(q.bytes + 2, 0);
	put(a, me, below(a, 2) ? d->from : some_port(a, network), q.bytes, q.len, 0);
}

static void
icmp(struct adversary *a, uint32_t at, uint32_t about, const uint8_t *quote, uint32_t len)
{
	struct world *w = a->w;
	uint32_t ip = w->s->port[about].ipv4;
	a->acts++;
	for (uint32_t i = 0; i < w->nend; i++) {
		struct end *e = &w->end[i];
		struct suci_addr to = relay_addr_v4(ip, UDP_PORT, RELAY_LEG_PRIVATE);
		if (e->port != at || !e->alive)
			continue;
		suci_path_unreachable(e->ep, &to, quote, len, node_now(&e->clock, w->s->now_ns));
		end_drive(e);
	}
	for (uint32_t i = 0; i < w->nrelay; i++) {
		struct rnode *r = &w->relay[i];
		for (uint32_t leg = 0; leg < 2 && r->alive; leg++) {
			struct suci_addr to = relay_addr_v4(ip, UDP_PORT, (enum relay_leg)leg);
			if (r->port[leg] != at)
				continue;
			suci_path_unreachable(r->ep, &to, quote, len,
					      node_now(&r->clock, w->s->now_ns));
			rnode_drive(r);
		}
	}
}

/* Nobody's driver is in the middle of something then. */
static void
icmp_later(struct sim *s, void *who, uint64_t slot)
{
	struct adversary *a = who;
	const struct adv_dgram *d = &a->later[slot];
	(void)s;
	icmp(a, d->from, d->to, d->bytes, d->len);
}

static void
tell_icmp(struct adversary *a, const struct adv_dgram *d)
{
	uint32_t slot = a->nlater++ % ADV_LATER;
	a->later[slot] = *d;
	sim_at(a->w->s, a->w->s->now_ns, icmp_later, a, slot);
}

/* He has not seen it: all he knows is who is there. */
static void
guess(struct adversary *a, uint32_t network)
{
	static struct adv_dgram g;
	g.from = (uint16_t)some_port(a, network);
	g.to = (uint16_t)some_port(a, network);
	g.len = (uint32_t)below(a, 200);
	for (uint32_t i = 0; i < g.len; i++)
		g.bytes[i] = (uint8_t)base_prng_next(&a->prng);
	g.bytes[0] = (uint8_t)(SUCI_VERSION << 4 | below(a, 9));
	g.bytes[1] &= (uint8_t)below(a, 256);
	if (below(a, 4))
		memset(g.bytes + 2, 0, 2);
	if (below(a, 8) == 0)
		tell_icmp(a, &g);
	else
		put(a, g.from, g.to, g.bytes, g.len, 0);
}

static void
act(struct adversary *a, const struct adv_dgram *d, uint32_t network)
{
	static struct adv_dgram c;
	const struct adv_dgram *old = remembered(a);
	uint64_t later_ns = below(a, 3) ? 0 : below(a, 3 * BASE_S_NS);
	uint32_t me = own_port(a, network), to;
	switch (below(a, 9)) {
	case 0: /* again */
		put(a, d->from, d->to, d->bytes, d->len, later_ns);
		break;
	case 1: /* back */
		put(a, below(a, 2) ? d->to : me, d->from, d->bytes, d->len, later_ns);
		break;
	case 2: /* to others, from others */
		to = some_port(a, network);
		put(a, some_port(a, network), to, d->bytes, d->len, later_ns);
		break;
	case 3: /* first, from his address: has the peer moved? */
		put(a, me, d->to, d->bytes, d->len, 0);
		break;
	case 4:
	case 5:
		c = *d;
		for (uint64_t n = 1 + below(a, 3); n > 0; n--)
			change(a, &c);
		put(a, c.from, c.to, c.bytes, c.len, later_ns);
		break;
	case 6:
		ask(a, d, network);
		break;
	case 7: /* nobody is there, says he who shows the tag */
		tell_icmp(a, d);
		break;
	case 8:
		if (old && a->w->s->port[old->from].network == network)
			put(a, old->from, old->to, old->bytes, old->len, 0);
		break;
	}
}

static void
spy(void *who, const struct sim_buf *b)
{
	struct adversary *a = who;
	uint32_t network = a->w->s->port[b->from].network;
	if (is_own(a, b->from) || is_own(a, b->to) || b->len > ADV_BYTES ||
	    (a->most && a->acts >= a->most))
		return;
	if (!reads(a, network)) {
		if (base_prng_chance(&a->prng, a->chance_ppb))
			guess(a, network);
		return;
	}
	struct adv_dgram *d = &a->kept[a->nkept++ % ADV_KEPT];
	d->from = b->from;
	d->to = b->to;
	d->len = b->len;
	memcpy(d->bytes, b->data, b->len);
	/* Where a path's fate hangs on an answer he does not leave it to chance. */
	uint8_t type = b->data[0] & 15;
	if (type >= SUCI_T_CHALLENGE)
		put(a, own_port(a, network), d->to, d->bytes, d->len, 0);
	if (b->len < 120)
		ask(a, d, network);
	if (base_prng_chance(&a->prng, a->chance_ppb))
		act(a, d, network);
}

void
adversary_attach(struct adversary *a, struct world *w, uint64_t seed)
{
	struct sim *s = w->s;
	struct sim_link_conf fast = {0};
	uint32_t nodes = s->nport, link = sim_add_link(s, &fast);
	a->w = w;
	a->prng = base_prng_seed(seed ^ 0xad3e);
	a->chance_ppb = (uint32_t)(10000000 + below(a, 900000000));
	for (uint32_t p = 0; p < nodes; p++) {
		uint32_t network = s->port[p].network;
		if (own_port(a, network) != SIM_LINK_NONE)
			continue;
		BASE_ASSERT(a->nports < ADV_NETWORKS);
		uint32_t ip = (s->port[p].ipv4 & 0xffffff00) | ADV_HOST;
		uint32_t me = sim_add_port(s, a, deliver, network, ip);
		a->network[a->nports] = network;
		a->port[a->nports++] = me;
		for (uint32_t o = 0; o < nodes; o++)
			if (s->port[o].network == network)
				sim_set_route(s, o, me, &link, 1);
	}
	s->spy = spy;
	s->spy_who = a;
}

static void
check_node(const struct adversary *a, const struct suci *ep, const char *who, uint32_t n)
{
	struct suci_path_info i;
	const struct suci_counters *c = suci_counters(ep);
	INVARIANT(a->w->s, STANDS, !c->paths_closed && !c->paths_moved,
		  "%s %u: %llu paths went down, %llu moved, and nobody wanted that", who, n,
		  (unsigned long long)c->paths_closed, (unsigned long long)c->paths_moved);
	for (uint32_t p = 0; p < 64; p++)
		INVARIANT(a->w->s, STANDS,
			  !suci_path_info(ep, p, &i) || i.peer.ip[15] < ADV_HOST || !i.up,
			  "%s %u: path %u is up with the adversary", who, n, p);
}

void
adversary_check(const struct adversary *a)
{
	const struct world *w = a->w;
	for (uint32_t i = 0; i < w->nend; i++)
		check_node(a, w->end[i].ep, "rank", i);
	for (uint32_t i = 0; i < w->nrelay; i++)
		check_node(a, w->relay[i].ep, "relay", i);
}

/* ---- the scenario ----------------------------------------------------------------- */

static uint64_t
some_size(void *arg, uint32_t i)
{
	(void)i;
	return base_prng_below(arg, 4) ? base_prng_below(arg, 3000) : base_prng_below(arg, 100000);
}

static void
look(struct sim *s, void *who, uint64_t arg)
{
	struct adversary *a = who;
	world_check_now(a->w);
	adversary_check(a);
	guesser_check(a->guesser);
	if (!world_quiet(a->w))
		sim_at(s, s->now_ns + 7 * BASE_MS_NS, look, a, arg);
}

static void
draw_world(struct base_prng *p, struct world_conf *c)
{
	static const uint32_t delay_us[] = {20, 1000, 10000};
	world_conf_default(c);
	c->nclusters = 2 + (uint32_t)base_prng_below(p, 2);
	for (uint32_t i = 0; i < c->nclusters; i++) {
		c->cluster[i].ranks = 1 + (uint32_t)base_prng_below(p, 3);
		c->cluster[i].relays = 1 + (uint32_t)base_prng_below(p, 2);
	}
	c->seal_global = base_prng_below(p, 4) > 0;
	c->seal_private = base_prng_below(p, 2);
	c->seal_epoch = base_prng_below(p, 2) ? 0 : 50;
	c->trunk.delay_ns = delay_us[base_prng_below(p, 3)] * BASE_US_NS;
	c->trunk.loss_ppb = base_prng_below(p, 2) ? 1000000 : 0;
	c->end.migrate = c->relay.migrate = true;
	c->end.keepalive_ns = c->relay.keepalive_ns = 100 * BASE_MS_NS;
	c->end.liveness_ns = c->relay.liveness_ns = 3 * BASE_S_NS;
	c->forged = true;
}

void
adversary_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct adversary *a = calloc(1, sizeof *a);
	struct base_prng p = base_prng_seed(seed ^ 0x4057);
	struct guesser g = {0};
	struct world_conf c;
	struct sim *s = sim_new(seed);
	BASE_ASSERT(a);
	s->verbose = verbose;
	draw_world(&p, &c);
	struct world *w = world_new(s, &c);
	for (uint32_t x = 0; x < w->nend; x++)
		for (uint32_t y = 0; y < w->nend; y++)
			if (x != y && !world_same_cluster(w, x, y))
				world_stream(w, x, y, 20, some_size, &p);
	guesser_attach(&g, w, seed);
	adversary_attach(a, w, seed);
	a->guesser = &g;
	sim_at(s, s->now_ns, look, a, 0);
	world_start(w);
	sim_run(s, s->now_ns + 120 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 120 s");
	if (!s->failed)
		adversary_check(a);
	SIM_CHECK(s, !g.n || g.refused, "nobody heard that a guess was wrong");
	snprintf(o->note, sizeof o->note,
		 "%u ranks, %u relays, sealed %s%s: %llu acts, %llu answers, %llu of %llu guesses "
		 "refused",
		 w->nend, w->nrelay, c.seal_global ? "outside" : "not outside",
		 c.seal_private ? " and inside" : "", (unsigned long long)a->acts,
		 (unsigned long long)a->answers, (unsigned long long)g.refused,
		 (unsigned long long)g.said);
	guesser_end(&g);
	scenario_end(w, o);
	free(a);
}
