/* SPDX-License-Identifier: BSD-2-Clause */
/* Light paths beside trunks (lib/relay, relay/light.h): circuits between the light ports of relays
 * come and go at random while all processes talk.  Both relays are told of each, at times of their
 * own; some are drained first, some are cut before, on both ways or on one.  Where a cluster has
 * two relays, both have light ports.  Streams check that nothing is lost, comes twice or changes;
 * here, that light carried, that what was ordered was answered, and that processes hand what is
 * for a cluster to the relays that have light to it. */
#include "invariants.h"
#include "scenario.h"

#include "relayset/relayset.h"

#include <stdio.h>

#define LIGHTS	  2
#define SKEW_NS	  (5 * BASE_MS_NS)
#define HEARD_NS  (50 * BASE_MS_NS)  /* processes know what was said about light */
#define ANSWER_NS (400 * BASE_MS_NS) /* UP or FAILED, and DRAINED long before */

enum ends { DRAINED, CUT, HALF_CUT, ENDS };

/* A light port: which circuit it is in, and what its relay said last. */
struct lamp {
	bool busy, waits; /* for an answer */
	enum base_lightpath said;
	uint64_t until_ns, said_ns;
};

/* A circuit under way: both its ports. */
struct circuit {
	uint32_t relay[2], slot[2];
	enum ends end;
	/* By light alone, since then: what processes had handed to the relay beside it. */
	bool watched[2];
	uint64_t beside[2];
};

struct relight {
	struct world *w;
	struct base_prng prng;
	struct lamp lamp[RELAYS_MAX][LIGHTS];
	struct circuit circuit[256];
	uint32_t n, up, failed, drained, watched, ended[ENDS];
	uint64_t stop_ns;
};

static struct relight *
of(const struct world *w)
{
	return w->scenario;
}

static uint64_t
within(struct relight *f, uint64_t ns)
{
	return base_prng_below(&f->prng, (uint32_t)(ns / BASE_US_NS)) * BASE_US_NS;
}

static struct lamp *
lamp_of(struct relight *f, const struct circuit *c, int side)
{
	return &f->lamp[c->relay[side]][c->slot[side]];
}

static void
on_light(struct rnode *r, uint32_t slot, enum base_lightpath state)
{
	struct relight *f = of(r->w);
	struct lamp *l = &f->lamp[r - r->w->relay][slot];
	l->waits = false;
	l->said = state;
	l->said_ns = r->w->s->now_ns;
	f->up += state == BASE_LIGHTPATH_OPEN;
	f->failed += state == BASE_LIGHTPATH_FAILED;
	f->drained += state == BASE_LIGHTPATH_DRAINED;
}

/* The links from one port of the circuit to the other. */
static void
shine(struct relight *f, const struct circuit *c, int from, bool on)
{
	struct sim *s = f->w->s;
	const struct rnode *a = &f->w->relay[c->relay[from]], *b = &f->w->relay[c->relay[!from]];
	uint32_t pa = a->port[RELAY_LEG_LIGHT + c->slot[from]];
	uint32_t pb = b->port[RELAY_LEG_LIGHT + c->slot[!from]];
	sim_log(s, "light from %u to %u: %s", pa, pb, on ? "on" : "off");
	s->link[s->route[pa][pb][1] - 1u].conf.loss_ppb = on ? 0 : 1000000000;
}

static void
order(struct relight *f, uint32_t n, int side, bool up)
{
	const struct circuit *c = &f->circuit[n];
	struct rnode *a = &f->w->relay[c->relay[side]];
	const struct rnode *b = &f->w->relay[c->relay[!side]];
	struct sim *s = f->w->s;
	struct lamp *l = lamp_of(f, c, side);
	struct relay_light light = {
		.peer = relay_addr_v4(b->ipv4[RELAY_LEG_GLOBAL], UDP_PORT, RELAY_LEG_GLOBAL),
		.addr = relay_addr_v4(b->ipv4[RELAY_LEG_LIGHT + c->slot[!side]], UDP_PORT,
				      RELAY_LEG_GLOBAL)};
	light.addr.leg = (uint8_t)(RELAY_LEG_LIGHT + c->slot[side]);
	l->waits = true;
	l->until_ns = s->now_ns + ANSWER_NS;
	int err = up ? relay_core_light(a->core, c->slot[side], &light,
					node_now(&a->clock, s->now_ns))
		     : relay_core_dark(a->core, c->slot[side], node_now(&a->clock, s->now_ns));
	SIM_CHECK(s, !err, "light: %s", relay_strerror(err));
	rnode_drive(a);
}

static void
light_side(struct sim *s, void *who, uint64_t arg)
{
	(void)s;
	order(who, (uint32_t)(arg >> 1), arg & 1, true);
}

static void
dark_side(struct sim *s, void *who, uint64_t arg)
{
	(void)s;
	order(who, (uint32_t)(arg >> 1), arg & 1, false);
}

static void
is_free(struct sim *s, void *who, uint64_t n)
{
	struct relight *f = who;
	const struct circuit *c = &f->circuit[n];
	for (int side = 0; side < 2; side++) {
		struct lamp *l = lamp_of(f, c, side);
		shine(f, c, side, false);
		SIM_CHECK(s, !l->waits && l->said == BASE_LIGHTPATH_DRAINED,
			  "port %u of relay %u has not said that it is drained", c->slot[side],
			  c->relay[side]);
		l->busy = false;
	}
}

/* ---- who is handed what ---- */

static bool
dark_for_long(const struct relight *f, uint32_t relay)
{
	bool dark = true;
	for (uint32_t i = 0; i < LIGHTS; i++) {
		const struct lamp *l = &f->lamp[relay][i];
		dark = dark && l->said != BASE_LIGHTPATH_OPEN &&
		       l->said_ns + HEARD_NS <= f->w->s->now_ns;
	}
	return dark;
}

/* Segments that processes of its cluster have dealt to that relay. */
static uint64_t
dealt_to(const struct world *w, uint32_t relay)
{
	const struct rnode *r = &w->relay[relay];
	struct suci_addr at_leg =
		relay_addr_v4(r->ipv4[RELAY_LEG_PRIVATE], UDP_PORT, RELAY_LEG_PRIVATE);
	uint64_t n = 0;
	for (uint32_t e = 0; e < w->nend; e++) {
		struct relayset_info i;
		uint32_t at = relayset_find(w->end[e].relays, &at_leg);
		if (w->end[e].client != r->client || at == RELAYSET_NONE)
			continue;
		relayset_info(w->end[e].relays, at, &i);
		n += i.segments;
	}
	return n;
}

/* The other relay of a cluster of two; NONE: there is no such. */
static uint32_t
beside(const struct world *w, uint32_t relay)
{
	uint32_t client = w->relay[relay].client, first = w->first_relay[client];
	return w->conf.cluster[client].relays == 2 ? first + (relay == first) : UINT32_MAX;
}

/* It has been lit for long: where there is one other cluster, the relay beside gets nothing. */
static void
begin_watch(struct sim *s, void *who, uint64_t n)
{
	struct relight *f = who;
	struct circuit *c = &f->circuit[n];
	for (int side = 0; side < 2; side++) {
		const struct lamp *l = lamp_of(f, c, side);
		uint32_t other = beside(f->w, c->relay[side]);
		if (f->w->conf.nclusters != 2 || other == UINT32_MAX ||
		    l->said != BASE_LIGHTPATH_OPEN || l->said_ns + HEARD_NS > s->now_ns ||
		    !dark_for_long(f, other))
			continue;
		c->watched[side] = true;
		c->beside[side] = dealt_to(f->w, other);
	}
}

static void
end_watch(struct relight *f, const struct circuit *c)
{
	for (int side = 0; side < 2; side++) {
		uint32_t other = beside(f->w, c->relay[side]);
		if (!c->watched[side] || lamp_of(f, c, side)->said != BASE_LIGHTPATH_OPEN ||
		    !dark_for_long(f, other))
			continue;
		f->watched++;
		uint64_t more = dealt_to(f->w, other) - c->beside[side];
		INVARIANT(f->w->s, LIT, !more,
			  "relay %u has light, and relay %u beside it got %llu segments",
			  c->relay[side], other, (unsigned long long)more);
	}
}

/* Cut first, or drained first; either way both are told, and answer. */
static void
part(struct sim *s, void *who, uint64_t n)
{
	struct relight *f = who;
	const struct circuit *c = &f->circuit[n];
	uint64_t at = s->now_ns;
	f->ended[c->end]++;
	end_watch(f, c);
	if (c->end != DRAINED) {
		shine(f, c, 0, false);
		if (c->end == CUT)
			shine(f, c, 1, false);
		at += within(f, 600 * BASE_MS_NS);
	}
	for (uint64_t side = 0; side < 2; side++)
		sim_at(s, at + within(f, SKEW_NS), dark_side, f, n << 1 | side);
	sim_at(s, at + SKEW_NS + 60 * BASE_MS_NS, is_free, f, n);
}

static void
aim(struct sim *s, void *who, uint64_t arg)
{
	struct relight *f = who;
	struct world *w = f->w;
	struct circuit c = {.end = (enum ends)base_prng_below(&f->prng, ENDS)};
	uint32_t client[2];
	(void)arg;
	if (s->now_ns >= f->stop_ns || f->n == sizeof f->circuit / sizeof f->circuit[0])
		return;
	sim_at(s, s->now_ns + BASE_MS_NS + within(f, 40 * BASE_MS_NS), aim, f, 0);
	for (int side = 0; side < 2; side++) {
		client[side] = (uint32_t)base_prng_below(&f->prng, w->conf.nclusters);
		c.slot[side] = (uint32_t)base_prng_below(&f->prng, LIGHTS);
		c.relay[side] =
			w->first_relay[client[side]] +
			(uint32_t)base_prng_below(&f->prng, w->conf.cluster[client[side]].relays);
	}
	if (client[0] == client[1] || lamp_of(f, &c, 0)->busy || lamp_of(f, &c, 1)->busy)
		return;
	uint32_t n = f->n++;
	f->circuit[n] = c;
	for (int side = 0; side < 2; side++) {
		lamp_of(f, &c, side)->busy = true;
		shine(f, &c, side, true);
		sim_at(s, s->now_ns + within(f, SKEW_NS), light_side, f,
		       (uint64_t)n << 1 | (unsigned)side);
	}
	sim_at(s, s->now_ns + SKEW_NS + 2 * HEARD_NS, begin_watch, f, n);
	/* Now and then before it is up. */
	uint64_t lasts =
		base_prng_below(&f->prng, 8) ? SKEW_NS + within(f, 200 * BASE_MS_NS) : SKEW_NS;
	sim_at(s, s->now_ns + lasts, part, f, n);
}

static uint64_t
some_size(void *arg, uint32_t i)
{
	(void)i;
	return base_prng_below(arg, 4) ? base_prng_below(arg, 4000) : base_prng_below(arg, 200000);
}

static void
draw_world(struct relight *f, struct world_conf *c)
{
	static const enum suci_cc_kind cc[] = {SUCI_CC_CUBIC, SUCI_CC_BBR, SUCI_CC_FIXED};
	struct base_prng *p = &f->prng;
	world_conf_default(c);
	c->nclusters = 2 + (uint32_t)base_prng_below(p, 3);
	for (uint32_t i = 0; i < c->nclusters; i++) {
		c->cluster[i].ranks = 1 + (uint32_t)base_prng_below(p, 3);
		c->cluster[i].relays = 1 + (uint32_t)base_prng_below(p, 2);
	}
	c->several = true;
	c->policy = (uint8_t)base_prng_below(p, 3);
	c->partition_ns = 30 * BASE_S_NS;
	c->lights = LIGHTS;
	c->global_nic.rate_bps = 25000000;
	c->trunk.delay_ns = (base_prng_below(p, 2) ? 50 : 5000) * BASE_US_NS;
	c->lane_window = 256;
	c->lanes.held_max = c->lanes.ranges_max = 8192;
	c->end.cc = c->relay.cc = cc[base_prng_below(p, 3)];
	c->end.fixed_window = c->relay.fixed_window = 200;
}

void
relight_run(uint64_t seed, bool verbose, struct outcome *o)
{
	static struct relight relight;
	struct relight *f = &relight;
	struct world_conf c;
	struct sim *s = sim_new(seed);
	*f = (struct relight){.prng = base_prng_seed(seed ^ 0x11947)};
	s->verbose = verbose;
	draw_world(f, &c);
	struct world *w = f->w = world_new(s, &c);
	w->scenario = f;
	w->on_light = on_light;
	for (uint32_t a = 0; a < w->nend; a++)
		for (uint32_t b = 0; b < w->nend; b++)
			if (w->end[a].client != w->end[b].client)
				world_stream(w, a, b, 2000 / (w->nend * w->nend), some_size,
					     &f->prng);
	world_start(w);
	f->stop_ns = s->now_ns + 3 * BASE_S_NS;
	sim_at(s, s->now_ns + within(f, 100 * BASE_MS_NS), aim, f, 0);
	sim_run(s, f->stop_ns + BASE_S_NS, NULL, NULL);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete 60 s after the last circuit");
	uint64_t light = 0, all = 0, strays = 0;
	for (uint32_t i = 0; i < w->nrelay; i++) {
		const struct relay_counters *n = relay_core_counters(w->relay[i].core);
		light += n->rx_from_light;
		all += n->rx_from_trunks;
		strays += n->strays_sent;
		SIM_CHECK(s, !n->jobs_aborted, "relay %u ended the job", i);
	}
	for (uint32_t k = 0; k < w->nrelay; k++)
		for (uint32_t i = 0; i < LIGHTS; i++)
			SIM_CHECK(s, !f->lamp[k][i].waits || s->now_ns < f->lamp[k][i].until_ns,
				  "port %u of relay %u was told something and says nothing", i, k);
	SIM_CHECK(s, f->n < 20 || (f->up && light), "%u circuits, %u up, and nothing over light",
		  f->n, f->up);
	snprintf(o->note, sizeof o->note,
		 "%u ranks %u relays, %llu KB; %u circuits (%u cut, %u half), %u up %u failed %u "
		 "drained, %u watched; segments %llu light %llu trunks %llu rerouted",
		 w->nend, w->nrelay, (unsigned long long)w->bytes_total / 1024, f->n, f->ended[CUT],
		 f->ended[HALF_CUT], f->up, f->failed, f->drained, f->watched,
		 (unsigned long long)light, (unsigned long long)all, (unsigned long long)strays);
	scenario_end(w, o);
}
