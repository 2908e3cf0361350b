/* SPDX-License-Identifier: BSD-2-Clause */
#include "light/client.h"

#include "base/assert.h"

#include <string.h>

#define OVERS_MAX  LIGHT_NOTE_COUNTS
#define LEAD_BYTES 65536u /* of a message; below it there is no lead */

struct light_client {
	struct light_client_conf conf;
	struct light_counters counters;
	struct light_offer offer;   /* that is taken, of `relay` */
	struct light_offer *offers; /* [relays] */
	uint32_t relay;
	uint32_t epoch; /* counts offers that came after none */
	uint64_t serial;
	struct light_gate *gates;
	uint32_t untold; /* gates that still have to be announced */
	struct light_wait *first, *last;
	const struct light_wait *flying; /* NULL: none, given up on, or nearly out */
	const struct light_wait *ahead;	 /* the one that was nearly out, until it is */
	uint64_t flying_since_ns, ahead_since_ns;
	/* Since the last look one has: when it went. */
	bool landed;
	uint64_t landed_since_ns;
	uint64_t flight_ns;	/* how long the last one took */
	uint64_t held_since_ns; /* one could go, but an earlier one of its call cannot yet; 0: none
				 */
	bool changed;		/* somebody may go who might not before */
	/* CLEAR_TO_SENDs of calls that have not begun: a ring. */
	struct light_count *early;
	uint32_t early_at, earlies;
	struct light_note over; /* to be told */
};

size_t
light_client_footprint(const struct light_client_conf *conf)
{
	return sizeof(struct light_client) + conf->relays * sizeof(struct light_offer) +
	       conf->early_max * sizeof(struct light_count);
}

struct light_client *
light_client_new(void *mem, const struct light_client_conf *conf)
{
	struct light_client *c = mem;

	BASE_ASSERT(conf->early_max > 0 && conf->relays > 0 && conf->tell != NULL);
	memset(c, 0, sizeof *c);
	c->conf = *conf;
	c->offers = (struct light_offer *)(void *)(c + 1);
	memset(c->offers, 0, conf->relays * sizeof *c->offers);
	c->early = (struct light_count *)(void *)(c->offers + conf->relays);
	c->over.kind = LIGHT_NOTE_RECEIVED;
	return c;
}

bool
light_client_wants(const struct light_client *c, uint64_t bytes)
{
	enum circ_mode mode =
		c->conf.mode != CIRC_MODE_AUTO ? c->conf.mode : (enum circ_mode)c->offer.mode;
	bool judges = mode == CIRC_MODE_AUTO || mode == CIRC_MODE_HYBRID;

	return c->offer.on && bytes > 0 && (!judges || bytes >= c->offer.light_from);
}

const struct light_counters *
light_client_counters(const struct light_client *c)
{
	return &c->counters;
}

/* ---- what the relay says */

static bool
client_is_of(const struct light_gate *g, const struct light_count *n)
{
	return g->call.comm == n->comm && g->call.leader == n->leader && g->call.seq == n->seq;
}

/* False: not a word about this call. */
static bool
take_go(struct light_gate *g, const struct light_count *n)
{
	if (!client_is_of(g, n))
		return false;
	if (n->from == LIGHT_ANY && n->to == LIGHT_ANY)
		g->any = true;
	else if (n->from == g->rank && n->to < g->p && g->go[n->to] < n->count)
		g->go[n->to] = n->count;
	return true;
}

static void
keep_early(struct light_client *c, const struct light_count *n)
{
	c->early[(c->early_at + c->earlies) % c->conf.early_max] = *n;
	if (c->earlies < c->conf.early_max) {
		c->earlies++;
	} else { /* the oldest made room */
		c->early_at = (c->early_at + 1) % c->conf.early_max;
		c->counters.gos_dropped++;
	}
}

static void
take_early(struct light_client *c, struct light_gate *g)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->earlies; i++) {
		const struct light_count *n = &c->early[(c->early_at + i) % c->conf.early_max];
		if (!take_go(g, n))
			c->early[(c->early_at + kept++) % c->conf.early_max] = *n;
	}
	c->earlies = kept;
}

static void
go_client(struct light_client *c, const struct light_count *n)
{
	struct light_gate *g = c->gates;

	while (g != NULL && !take_go(g, n))
		g = g->next;
	if (g == NULL)
		keep_early(c, n);
	c->changed = true;
}

static void
take_light_offer(struct light_client *c, uint32_t relay)
{
	c->epoch += !c->offer.on;
	c->offer = c->offers[relay];
	c->relay = relay;
}

void
light_client_heard(struct light_client *c, uint32_t relay, const struct light_note *n)
{
	if (relay >= c->conf.relays)
		return;
	if (n->kind == LIGHT_NOTE_CLEAR_TO_SEND)
		for (uint32_t i = 0; i < n->counts; i++)
			go_client(c, &n->u.count[i]);
	if (n->kind != LIGHT_NOTE_OFFER)
		return;
	bool other = n->u.offer.on && n->u.offer.version != LIGHT_VERSION;
	c->counters.other_version += other;
	if (!n->u.offer.on || other) {
		light_client_dark(c, relay);
		return;
	}
	c->offers[relay] = n->u.offer;
	if (!c->offer.on || relay == c->relay)
		take_light_offer(c, relay);
}

void
light_client_dark(struct light_client *c, uint32_t relay)
{
	if (relay >= c->conf.relays)
		return;
	c->offers[relay].on = false;
	if (c->offer.on && relay != c->relay)
		return;
	c->offer.on = false;
	c->earlies = 0;
	c->over.counts = 0;
	c->changed = true;
	/* What it was told of the calls under way is lost, whoever offers next. */
	for (struct light_gate *g = c->gates; g != NULL; g = g->next) {
		g->any = true;
		g->untold = false;
	}
	c->untold = 0;
	for (uint32_t i = 0; i < c->conf.relays && !c->offer.on; i++)
		if (c->offers[i].on)
			take_light_offer(c, i);
}

/* ---- what it tells */

static bool
tell_ranks(struct light_client *c, struct light_gate *g)
{
	struct light_note n = {.kind = LIGHT_NOTE_COMM};

	while (*g->told != c->epoch) {
		uint32_t left = g->p - g->at;

		n.u.piece = (struct light_comm){
			.comm = g->call.comm,
			.leader = g->call.leader,
			.p = g->p,
			.at = g->at,
			.n = (uint16_t)(left < LIGHT_NOTE_RANKS ? left : LIGHT_NOTE_RANKS)};
		memcpy(n.u.piece.rank, g->world + g->at, n.u.piece.n * sizeof *g->world);
		if (!c->conf.tell(c->conf.user, c->relay, &n))
			return false;
		g->at += n.u.piece.n;
		if (g->at == g->p)
			*g->told = c->epoch;
	}
	return true;
}

static bool
tell_call(struct light_client *c, struct light_gate *g)
{
	struct light_note n = {.kind = LIGHT_NOTE_CALL};

	if (!tell_ranks(c, g))
		return false;
	n.u.call = g->call;
	n.u.call.mode = (uint8_t)c->conf.mode;
	return c->conf.tell(c->conf.user, c->relay, &n);
}

static void
announce_client(struct light_client *c, struct light_gate *g)
{
	if (!g->untold || !tell_call(c, g))
		return;
	g->untold = false;
	c->untold--;
	c->counters.announced++;
}

void
light_client_begin(struct light_client *c, struct light_gate *g)
{
	g->serial = c->serial++;
	g->at = 0;
	g->any = !c->offer.on;
	g->next = c->gates;
	c->gates = g;
	if (c->earlies > 0)
		take_early(c, g);
	g->untold = g->speaks && c->offer.on;
	c->untold += g->untold;
	announce_client(c, g);
}

bool
light_client_forecast(struct light_client *c, struct light_gate *g)
{
	g->at = 0;
	return g->speaks && c->offer.on && tell_call(c, g);
}

void
light_client_end(struct light_client *c, struct light_gate *g)
{
	struct light_gate **at = &c->gates;

	while (*at != g) {
		BASE_ASSERT(*at != NULL);
		at = &(*at)->next;
	}
	*at = g->next;
	c->untold -= g->untold;
	g->untold = false;
}

void
light_client_free(struct light_client *c, uint32_t comm, uint32_t leader)
{
	struct light_note n = {.kind = LIGHT_NOTE_FREE, .comm = comm, .leader = leader};

	/* Not told: the relay forgets with the job. */
	if (c->offer.on)
		(void)c->conf.tell(c->conf.user, c->relay, &n);
}

static void
tell_overs(struct light_client *c)
{
	if (c->over.counts > 0 && c->conf.tell(c->conf.user, c->relay, &c->over))
		c->over.counts = 0;
}

void
light_client_over(struct light_client *c, struct light_gate *g, uint32_t from)
{
	struct light_count n = {g->call.comm, g->call.leader, g->call.seq,
				from,	      g->rank,	      ++g->arrived[from]};
	uint32_t i = 0;

	if (!c->offer.on)
		return;
	c->counters.overs++;
	while (i < c->over.counts &&
	       !(client_is_of(g, &c->over.u.count[i]) && c->over.u.count[i].from == from))
		i++;
	if (i == OVERS_MAX) {
		tell_overs(c);
		if (c->over.counts == OVERS_MAX) /* the relay takes nothing: the oldest goes */
			memmove(c->over.u.count, c->over.u.count + 1,
				(--c->over.counts) * sizeof n);
		i = c->over.counts;
	}
	c->over.u.count[i] = n;
	if (i == c->over.counts)
		c->over.counts++;
}

void
light_client_turn(struct light_client *c)
{
	tell_overs(c);
	for (struct light_gate *g = c->gates; c->untold > 0 && g != NULL; g = g->next)
		announce_client(c, g);
}

/* ---- the gate */

static bool
client_before(const struct light_wait *a, const struct light_wait *b)
{
	return a->gate->serial != b->gate->serial ? a->gate->serial < b->gate->serial
						  : a->step < b->step;
}

void
light_client_wait(struct light_client *c, struct light_wait *w, uint64_t now_ns)
{
	struct light_wait **at = &c->first;

	w->since_ns = now_ns;
	c->counters.gated++;
	c->changed = true;
	if (c->last != NULL && client_before(c->last, w))
		at = &c->last->next;
	while (*at != NULL && client_before(*at, w))
		at = &(*at)->next;
	w->next = *at;
	*at = w;
	if (w->next == NULL)
		c->last = w;
}

/* The clock of who waits may be a little ahead of the caller's. */
static bool
patience_over(const struct light_client *c, uint64_t since_ns, uint64_t now_ns)
{
	return now_ns >= since_ns && now_ns - since_ns >= c->conf.patience_ns;
}

static bool
may_go(const struct light_client *c, const struct light_wait *w)
{
	return !c->offer.on || w->gate->any || w->gate->go[w->to] >= w->count;
}

/* Is the one that flies out but for its last eighth? */
static bool
nearly_out(const struct light_client *c)
{
	uint64_t bytes = c->flying->bytes;

	return c->conf.placed != NULL && c->ahead == NULL && bytes >= LEAD_BYTES &&
	       c->conf.placed(c->conf.user, c->flying) >= bytes - bytes / 8;
}

static struct light_wait *
let_go(struct light_client *c, struct light_wait *w, struct light_wait *prev, uint64_t now_ns)
{
	*(prev ? &prev->next : &c->first) = w->next;
	if (c->last == w)
		c->last = prev;
	w->next = NULL;
	if (now_ns > w->since_ns)
		c->counters.waited_ns += now_ns - w->since_ns;
	if (!may_go(c, w))
		c->counters.without_go++;
	c->flying = w;
	c->flying_since_ns = now_ns;
	c->held_since_ns = 0;
	c->changed = true;
	return w;
}

/* The plan moves ports in the order of the schedule: a message that overtakes because its light
 * came a moment earlier leaves the last ones to one port.  So an earlier one of the same call
 * is waited for, but not longer than a message takes. */
static bool
holds(struct light_client *c, const struct light_wait *w, uint64_t now_ns)
{
	if (w == c->first || w->gate != c->first->gate)
		return false;
	if (c->held_since_ns == 0)
		c->held_since_ns = now_ns;
	return now_ns < c->held_since_ns || now_ns - c->held_since_ns < c->flight_ns;
}

struct light_wait *
light_client_next(struct light_client *c, uint64_t now_ns)
{
	struct light_wait *prev = NULL;

	if (c->first == NULL)
		return NULL;
	if (c->landed && now_ns > c->landed_since_ns)
		c->flight_ns = now_ns - c->landed_since_ns;
	c->landed = false;
	if (c->flying != NULL) {
		bool nearly = nearly_out(c);
		if (c->offer.on && !nearly && !patience_over(c, c->flying_since_ns, now_ns))
			return NULL;
		c->ahead = nearly ? c->flying : NULL;
		c->ahead_since_ns = c->flying_since_ns;
		c->flying = NULL;
		c->changed = true;
	}
	if (!c->changed && now_ns < light_client_expiry_ns(c))
		return NULL;
	for (struct light_wait *w = c->first; w != NULL; prev = w, w = w->next)
		if (patience_over(c, w->since_ns, now_ns) || (may_go(c, w) && !holds(c, w, now_ns)))
			return let_go(c, w, prev, now_ns);
	c->changed = false;
	return NULL;
}

void
light_client_sent(struct light_client *c, const struct light_wait *w)
{
	if (w != c->flying && w != c->ahead)
		return;
	c->landed = true;
	c->landed_since_ns = w == c->flying ? c->flying_since_ns : c->ahead_since_ns;
	*(w == c->flying ? &c->flying : &c->ahead) = NULL;
	c->changed = true;
}

bool
light_client_busy(const struct light_client *c)
{
	return c->first != NULL || c->over.counts > 0 || c->untold > 0;
}

uint64_t
light_client_expiry_ns(const struct light_client *c)
{
	uint64_t at = UINT64_MAX;

	if (c->first == NULL)
		return at;
	if (c->flying != NULL)
		return c->flying_since_ns + c->conf.patience_ns;
	for (const struct light_wait *w = c->first; w != NULL; w = w->next)
		if (w->since_ns + c->conf.patience_ns < at)
			at = w->since_ns + c->conf.patience_ns;
	if (c->held_since_ns != 0 && c->held_since_ns + c->flight_ns < at)
		at = c->held_since_ns + c->flight_ns;
	return at;
}
