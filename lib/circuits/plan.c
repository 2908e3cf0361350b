/* SPDX-License-Identifier: BSD-2-Clause */
#include "circ/plan.h"

#include "base/assert.h"
#include "base/carve.h"

#include <string.h>

/* A pair of nodes that exchange something. */
struct edge {
	uint32_t a, b;
	uint32_t setup; /* the one that lights it now, or CIRC_NONE */
	uint32_t next;	/* demand that uses it next */
	uint32_t seen;	/* stamp of the count batched took it into */
};

struct maker {
	struct circ_plan *p;
	const struct circ_plan_wish *w;
	struct circ_slots *s;
	struct edge *edge;
	uint32_t edges, hash_mask;
	uint32_t *hash;			      /* edge + 1, by pair */
	uint32_t *edge_of;		      /* [all demands] */
	uint32_t *next;			      /* [all demands] the next one with the same edge */
	uint32_t *held;			      /* [slots] the set-up there, or CIRC_NONE */
	uint32_t *in_batch, *in_stamp, *need; /* [nodes] */
	uint32_t *place;		      /* [all places] the set-up there, or CIRC_NONE */
	uint32_t *taken; /* [2 * pools] places in the batch; in a round that is looked at */
};

void
circ_slots_clear(struct circ_slots *s)
{
	for (uint32_t i = 0; i < s->nodes * s->stride; i++)
		s->slot[i] = (struct circ_slot){.peer = CIRC_NONE, .peer_slot = CIRC_NONE};
	s->clock = 0;
}

void
circ_slots_drop(struct circ_slots *s, uint32_t node, uint32_t slot)
{
	struct circ_slot *a = &s->slot[node * s->stride + slot];
	if (a->peer == CIRC_NONE)
		return;
	s->slot[a->peer * s->stride + a->peer_slot].peer = CIRC_NONE;
	a->peer = CIRC_NONE;
}

static void
slot_moved(struct circ_slots *s, uint32_t node, uint32_t slot)
{
	const struct circ_slot *t = &s->slot[node * s->stride + slot];
	if (t->peer != CIRC_NONE)
		s->slot[t->peer * s->stride + t->peer_slot].peer_slot = slot;
}

void
circ_slots_swap(struct circ_slots *s, uint32_t node, uint32_t x, uint32_t y)
{
	struct circ_slot *a = &s->slot[node * s->stride + x], *b = &s->slot[node * s->stride + y];
	struct circ_slot was = *a;
	*a = *b;
	*b = was;
	slot_moved(s, node, x);
	slot_moved(s, node, y);
}

/* ---- limits */

static bool
has_limits(const struct circ_slots *s)
{
	return s->lit_max || s->group;
}

static uint32_t
count_pools(const struct circ_slots *s)
{
	return 1 + (s->group ? s->groups : 0);
}

uint32_t
circ_slots_limit(const struct circ_slots *s, uint32_t pool)
{
	uint32_t most = s->nodes * s->stride;
	uint32_t n = pool ? s->waves[pool - 1] : s->lit_max ? s->lit_max : most;
	return n < most ? n : most;
}

/* The first place of a pool; of the pool behind the last: how many there are. */
static uint32_t
first_place(const struct circ_slots *s, uint32_t pool)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < pool; i++)
		n += circ_slots_limit(s, i);
	return n;
}

uint32_t
circ_slots_pool(const struct circ_slots *s, uint32_t a, uint32_t b, uint32_t i)
{
	if (i == 0)
		return s->lit_max ? 0 : CIRC_NONE;
	if (!s->group || (i == 2 && s->group[a] == s->group[b]))
		return CIRC_NONE;
	return 1 + s->group[i == 1 ? a : b];
}

static size_t
hash_size(size_t demands, size_t slots)
{
	size_t n = 64;
	while (n < 2 * (demands + slots))
		n *= 2;
	return n;
}

size_t
circ_plan_footprint(const struct circ_slots *s, uint32_t demands)
{
	size_t slots = (size_t)s->nodes * s->stride, edges = demands + slots;
	return base_carved((demands + slots) * sizeof(struct circ_setup)) +
	       4 * base_carved(demands * 4) + base_carved(edges * sizeof(struct edge)) +
	       base_carved(hash_size(demands, slots) * 4) + base_carved(slots * 4) +
	       3 * base_carved((size_t)s->nodes * 4) +
	       (has_limits(s) ? base_carved((size_t)first_place(s, count_pools(s)) * 4) +
					base_carved((size_t)count_pools(s) * 8)
			      : 0) +
	       BASE_CARVE_ALIGN;
}

static struct edge *
edge_of(struct maker *k, uint32_t x, uint32_t y)
{
	uint32_t a = x < y ? x : y, b = x < y ? y : x;
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;
	uint32_t i = (uint32_t)(h >> 32) & k->hash_mask;
	for (; k->hash[i]; i = (i + 1) & k->hash_mask) {
		struct edge *e = &k->edge[k->hash[i] - 1];
		if (e->a == a && e->b == b)
			return e;
	}
	k->edge[k->edges] = (struct edge){a, b, CIRC_NONE, CIRC_NONE, 0};
	k->hash[i] = ++k->edges;
	return &k->edge[k->edges - 1];
}

/* When is every pair needed next?  From the last demand to the first. */
static void
look_ahead(struct maker *k)
{
	for (uint32_t i = k->w->demands + k->w->lookahead; i-- > 0;) {
		struct edge *e = edge_of(k, k->w->demand[i].from, k->w->demand[i].to);
		k->edge_of[i] = (uint32_t)(e - k->edge);
		k->next[i] = e->next;
		e->next = i;
	}
}

static uint32_t
new_setup(struct maker *k, const struct edge *e, uint32_t slot_a, uint32_t slot_b)
{
	struct circ_plan *p = k->p;
	BASE_ASSERT(p->setups < p->setups_max);
	p->setup[p->setups] = (struct circ_setup){.a = e->a,
						  .b = e->b,
						  .slot_a = slot_a,
						  .slot_b = slot_b,
						  .before_a = CIRC_NONE,
						  .before_b = CIRC_NONE};
	for (uint32_t i = 0; i < CIRC_POOLS; i++)
		p->setup[p->setups].place[i] = p->setup[p->setups].before_place[i] = CIRC_NONE;
	return p->setups++;
}

static void
hold_plan(struct maker *k, uint32_t setup)
{
	const struct circ_setup *u = &k->p->setup[setup];
	struct circ_slots *s = k->s;
	uint32_t x = u->a * s->stride + u->slot_a, y = u->b * s->stride + u->slot_b;
	k->held[x] = k->held[y] = setup;
	s->slot[x] = (struct circ_slot){u->b, u->slot_b, s->clock};
	s->slot[y] = (struct circ_slot){u->a, u->slot_a, s->clock};
	edge_of(k, u->a, u->b)->setup = setup;
}

/* The lower, the sooner it goes: empty, gone already, needed latest. */
static uint64_t
wanted_at(struct maker *k, uint32_t setup)
{
	const struct circ_setup *u = &k->p->setup[setup];
	const struct edge *e = edge_of(k, u->a, u->b);
	if (e->setup != setup)
		return 0;
	uint64_t used = k->s->slot[u->a * k->s->stride + u->slot_a].used;
	return e->next == CIRC_NONE ? 1 + used : UINT64_MAX - e->next;
}

/* The place of a pool to take. */
static uint32_t
place_in(struct maker *k, uint32_t pool)
{
	uint32_t first = first_place(k->s, pool), n = circ_slots_limit(k->s, pool), best = 0;
	uint64_t least = UINT64_MAX;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = k->place[first + i];
		if (j == CIRC_NONE)
			return i;
		uint64_t wanted = wanted_at(k, j);
		if (wanted < least) {
			least = wanted;
			best = i;
		}
	}
	return best;
}

static bool
room_left(struct maker *k, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(k->s, a, b, i), n = 0;
		if (pool == CIRC_NONE)
			continue;
		while (n < circ_slots_limit(k->s, pool) &&
		       k->place[first_place(k->s, pool) + n] != CIRC_NONE)
			n++;
		if (n == circ_slots_limit(k->s, pool))
			return false;
	}
	return true;
}

/* A circuit of ours goes dark: what takes its ports or its place waits for it. */
static void
darken_plan(struct maker *k, uint32_t setup)
{
	const struct circ_setup *u = &k->p->setup[setup];
	struct edge *e = edge_of(k, u->a, u->b);
	if (e->setup != setup)
		return;
	e->setup = CIRC_NONE;
	circ_slots_drop(k->s, u->a, u->slot_a);
}

/* A place under each limit for the set-up that was made last. */
static void
take_places(struct maker *k, uint32_t setup)
{
	struct circ_setup *u = &k->p->setup[setup];
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(k->s, u->a, u->b, i);
		if (pool == CIRC_NONE)
			continue;
		u->place[i] = place_in(k, pool);
		uint32_t *at = &k->place[first_place(k->s, pool) + u->place[i]];
		u->before_place[i] = *at;
		if (*at != CIRC_NONE)
			darken_plan(k, *at);
		*at = setup;
	}
}

/* What earlier calls left lit.  A circuit on a port that the budget took away, or a second one
 * between the same nodes, counts as dark. */
static void
adopt_plan(struct maker *k)
{
	struct circ_slots *s = k->s;
	for (uint32_t n = 0; n < s->nodes; n++)
		for (uint32_t i = 0; i < s->stride; i++) {
			struct circ_slot *t = &s->slot[n * s->stride + i];
			if (t->peer == CIRC_NONE || t->peer < n)
				continue;
			struct edge *e = edge_of(k, n, t->peer);
			if (i >= s->ports[n] || t->peer_slot >= s->ports[t->peer] ||
			    e->setup != CIRC_NONE || !room_left(k, n, t->peer)) {
				circ_slots_drop(s, n, i);
				continue;
			}
			uint64_t used = t->used;
			uint32_t j = new_setup(k, e, i, t->peer_slot);
			uint32_t other = t->peer * s->stride + t->peer_slot;
			k->p->setup[j].kept = true;
			take_places(k, j);
			hold_plan(k, j);
			t->used = s->slot[other].used = used;
		}
}

/* The slot of a node to re-aim: an empty one, else that with the furthest next use. */
static uint32_t
victim(struct maker *k, uint32_t node)
{
	const struct circ_slots *s = k->s;
	uint32_t best = 0;
	uint64_t best_score = 0;
	for (uint32_t i = 0; i < s->ports[node]; i++) {
		uint32_t at = node * s->stride + i;
		if (k->held[at] == CIRC_NONE)
			return i;
		const struct circ_setup *u = &k->p->setup[k->held[at]];
		const struct edge *e = edge_of(k, u->a, u->b);
		/* no future: by age, above all that have one; gone at its far end: above those */
		uint64_t score = e->next == CIRC_NONE ? UINT64_MAX - 1 - s->slot[at].used : e->next;
		if (e->setup != k->held[at])
			score = UINT64_MAX;
		if (i == 0 || score > best_score) {
			best = i;
			best_score = score;
		}
	}
	return best;
}

static void
evict_plan(struct maker *k, uint32_t node, uint32_t slot)
{
	uint32_t at = node * k->s->stride + slot, old = k->held[at];
	if (old == CIRC_NONE)
		return;
	const struct circ_setup *u = &k->p->setup[old];
	edge_of(k, u->a, u->b)->setup = CIRC_NONE;
	/* The far end goes dark, but remembers what its next circuit has to wait for. */
	circ_slots_drop(k->s, node, slot);
}

static uint32_t
aim(struct maker *k, struct edge *e, uint32_t round)
{
	uint32_t a = e->a, b = e->b, slot_a = victim(k, a), slot_b = victim(k, b);
	uint32_t before_a = k->held[a * k->s->stride + slot_a];
	uint32_t before_b = k->held[b * k->s->stride + slot_b];
	evict_plan(k, a, slot_a);
	evict_plan(k, b, slot_b);
	uint32_t j = new_setup(k, e, slot_a, slot_b);
	k->p->setup[j].before_a = before_a;
	k->p->setup[j].before_b = before_b;
	k->p->setup[j].round = round;
	take_places(k, j);
	hold_plan(k, j);
	k->p->ordered++;
	return j;
}

static bool
by_light(const struct maker *k, const struct circ_demand *d)
{
	if (d->from == d->to || !k->s->ports[d->from] || !k->s->ports[d->to])
		return false;
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(k->s, d->from, d->to, i);
		if (pool != CIRC_NONE && !circ_slots_limit(k->s, pool))
			return false;
	}
	return true;
}

static void
carry(struct maker *k, uint32_t i, uint32_t setup)
{
	k->p->by[i] = setup;
	if (setup == CIRC_NONE) {
		k->p->packets += k->w->demand[i].from != k->w->demand[i].to;
		return;
	}
	const struct circ_setup *u = &k->p->setup[setup];
	k->p->setup[setup].messages++;
	k->s->clock++;
	k->s->slot[u->a * k->s->stride + u->slot_a].used = k->s->clock;
	k->s->slot[u->b * k->s->stride + u->slot_b].used = k->s->clock;
}

/* Messages of a round and a pair go by one circuit: under limits it may be gone when the second
 * one's turn comes. */
static void
carry_round(struct maker *k, uint32_t i, struct edge *e)
{
	const struct circ_demand *d = k->w->demand;
	for (uint32_t m = k->next[i];
	     e->setup != CIRC_NONE && m < k->w->demands && d[m].round == d[i].round;
	     m = k->next[m]) {
		carry(k, m, e->setup);
		k->p->batch[m] = 1;
		e->next = k->next[m];
	}
}

static void
make_pipelined(struct maker *k)
{
	for (uint32_t i = 0; i < k->w->demands; i++) {
		const struct circ_demand *d = &k->w->demand[i];
		struct edge *e = &k->edge[k->edge_of[i]];
		if (!k->p->batch[i])
			e->next = k->next[i];
		if (!by_light(k, d)) {
			carry(k, i, CIRC_NONE);
			continue;
		}
		if (k->p->batch[i]) /* with another of its pair */
			continue;
		if (e->setup == CIRC_NONE && d->bytes >= k->w->light_from &&
		    k->w->light_from != UINT64_MAX)
			aim(k, e, d->round);
		carry(k, i, e->setup);
		if (has_limits(k->s))
			carry_round(k, i, e);
	}
}

/* ---- naive and batched */

static uint32_t
in_batch(struct maker *k, uint32_t node)
{
	if (k->in_stamp[node] != k->p->batches) {
		k->in_stamp[node] = k->p->batches;
		k->in_batch[node] = 0;
	}
	return k->in_batch[node];
}

static uint32_t
plan_room(const struct maker *k, uint32_t node)
{
	return k->w->mode == CIRC_MODE_NAIVE ? 1 : k->s->ports[node];
}

static bool
lit_in_batch(const struct maker *k, const struct edge *e)
{
	return e->setup != CIRC_NONE && k->p->setup[e->setup].batch + 1 == k->p->batches;
}

static bool
wants_light(const struct maker *k, uint32_t i)
{
	return by_light(k, &k->w->demand[i]) && k->w->demand[i].bytes >= k->w->light_from &&
	       k->w->light_from != UINT64_MAX;
}

/* One more circuit of a round, beside those of the batch: do all find places? */
static bool
count_round_places(struct maker *k, const struct edge *e, uint32_t *taken, const uint32_t *beside)
{
	bool fits = true;
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(k->s, e->a, e->b, i);
		if (pool != CIRC_NONE)
			fits &= ++taken[pool] + (beside ? beside[pool] : 0) <=
				circ_slots_limit(k->s, pool);
	}
	return fits;
}

static void
begin_batch(struct maker *k)
{
	k->p->batches++;
	if (has_limits(k->s))
		memset(k->taken, 0, count_pools(k->s) * 4);
}

static bool
places_left(const struct maker *k, const struct edge *e)
{
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(k->s, e->a, e->b, i);
		if (pool != CIRC_NONE && k->taken[pool] >= circ_slots_limit(k->s, pool))
			return false;
	}
	return true;
}

/* Would all of demands [i, end), one round, find a port, beside what is in the current
 * batch or in one of their own? */
static bool
round_fits(struct maker *k, uint32_t i, uint32_t end, bool own)
{
	bool fits = true;
	uint32_t *round = has_limits(k->s) ? k->taken + count_pools(k->s) : NULL;
	if (round)
		memset(round, 0, count_pools(k->s) * 4);
	uint32_t stamp = 2 * k->w->demand[i].round + 1 + own;
	for (uint32_t j = i; j < end; j++) {
		struct edge *e = &k->edge[k->edge_of[j]];
		if (!wants_light(k, j) || e->seen == stamp || (!own && lit_in_batch(k, e)))
			continue;
		e->seen = stamp;
		uint32_t a = ++k->need[e->a] + (own ? 0 : in_batch(k, e->a));
		uint32_t b = ++k->need[e->b] + (own ? 0 : in_batch(k, e->b));
		fits &= a <= plan_room(k, e->a) && b <= plan_room(k, e->b);
		if (round)
			fits &= count_round_places(k, e, round, own ? NULL : k->taken);
	}
	for (uint32_t j = i; j < end; j++)
		k->need[k->w->demand[j].from] = k->need[k->w->demand[j].to] = 0;
	return fits;
}

static void
put_in_batch(struct maker *k, const struct edge *e, uint32_t setup)
{
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(k->s, e->a, e->b, i);
		if (pool != CIRC_NONE)
			k->p->setup[setup].place[i] = k->taken[pool]++;
	}
}

/* Those of [i, end) that find ports go into the current batch; how many are left. */
static uint32_t
fill_batch(struct maker *k, uint32_t i, uint32_t end, bool turn)
{
	uint32_t left = 0;
	for (; i < end; i++) {
		struct edge *e = &k->edge[k->edge_of[i]];
		if (k->p->batch[i] != CIRC_NONE)
			continue;
		if (wants_light(k, i) && !lit_in_batch(k, e)) {
			uint32_t x = in_batch(k, e->a), y = in_batch(k, e->b);
			if (x >= plan_room(k, e->a) || y >= plan_room(k, e->b) ||
			    !places_left(k, e)) {
				left++;
				continue;
			}
			uint32_t j = new_setup(k, e, x, y);
			put_in_batch(k, e, j);
			k->p->setup[j].batch = k->p->batches - 1;
			k->p->setup[j].turn = turn;
			k->p->setup[j].round = k->w->demand[i].round;
			k->p->ordered++;
			e->setup = j;
			k->in_batch[e->a]++;
			k->in_batch[e->b]++;
		}
		k->p->batch[i] = k->p->batches - 1;
		k->p->by[i] = wants_light(k, i) ? e->setup : CIRC_NONE;
		if (k->p->by[i] != CIRC_NONE)
			k->p->setup[e->setup].messages++;
		else
			k->p->packets += k->w->demand[i].from != k->w->demand[i].to;
	}
	return left;
}

static void
make_batched(struct maker *k)
{
	const struct circ_demand *d = k->w->demand;
	memset(k->p->batch, 0xff, k->w->demands * sizeof *k->p->batch);
	/* Nodes go through batches apart; what they share wants all of them to be through. */
	bool shared = has_limits(k->s);
	for (uint32_t i = 0, end; i < k->w->demands; i = end) {
		for (end = i; end < k->w->demands && d[end].round == d[i].round; end++)
			;
		bool naive = k->w->mode == CIRC_MODE_NAIVE,
		     turn = shared || !round_fits(k, i, end, true);
		bool more = !naive && k->p->batches && round_fits(k, i, end, false);
		if (!more)
			begin_batch(k);
		while (fill_batch(k, i, end, turn))
			begin_batch(k);
	}
	circ_slots_clear(k->s); /* all is released behind the call */
}

void
circ_plan_make(struct circ_plan *p, const struct circ_plan_wish *w, struct circ_slots *s, void *mem)
{
	uint8_t *at = base_carve_from(mem);
	size_t n = (size_t)w->demands + w->lookahead, slots = (size_t)s->nodes * s->stride;
	size_t hash = hash_size(n, slots);
	struct maker k = {.p = p, .w = w, .s = s, .hash_mask = (uint32_t)hash - 1};
	*p = (struct circ_plan){.mode = w->mode, .demands = w->demands};
	p->setups_max = (uint32_t)(n + slots);
	p->setup = base_carve(&at, p->setups_max * sizeof *p->setup);
	p->by = base_carve(&at, n * 4);
	p->batch = base_carve(&at, n * 4);
	k.edge_of = base_carve(&at, n * 4);
	k.next = base_carve(&at, n * 4);
	k.edge = base_carve(&at, (n + slots) * sizeof *k.edge);
	k.hash = base_carve(&at, hash * 4);
	k.held = base_carve(&at, slots * 4);
	k.in_batch = base_carve(&at, s->nodes * 4);
	k.in_stamp = base_carve(&at, s->nodes * 4);
	k.need = base_carve(&at, s->nodes * 4);
	memset(k.hash, 0, hash * 4);
	memset(k.held, 0xff, slots * 4);
	memset(k.in_stamp, 0xff, s->nodes * 4);
	memset(k.need, 0, s->nodes * 4);
	if (has_limits(s)) {
		size_t places = first_place(s, count_pools(s));
		k.place = base_carve(&at, places * 4);
		k.taken = base_carve(&at, count_pools(s) * 8);
		memset(k.place, 0xff, places * 4);
	}
	look_ahead(&k);
	if (circ_mode_batches(w->mode)) {
		make_batched(&k);
		return;
	}
	memset(p->batch, 0, n * 4);
	if (circ_mode_keeps(w->mode))
		adopt_plan(&k);
	else
		circ_slots_clear(s);
	make_pipelined(&k);
	if (!circ_mode_keeps(w->mode))
		circ_slots_clear(s);
}
