/* SPDX-License-Identifier: BSD-2-Clause */
#include "circ/plan.h"

#include "base/assert.h"
#include "base/carve.h"

#include <string.h>

/* What wanted_at() says is below UNWANTED of pairs that are not needed again, and at most
 * EXTRA_WANTED of extra links. */
#define UNWANTED     (1ull << 62)
#define EXTRA_WANTED (1ull << 63)

/* A pair of nodes that exchange something. */
struct edge {
	uint32_t a, b;
	uint32_t setup; /* the one that lights it now, the first of its links, or CIRC_NONE */
	uint32_t links; /* lit now */
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
	uint8_t *lit;			      /* [setups] */
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

static uint32_t
links_plan(const struct maker *k)
{
	return k->s->links ? k->s->links : 1;
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
circ_plan_setups(const struct circ_slots *s, uint32_t demands)
{
	return (size_t)demands * (s->links ? s->links : 1) + (size_t)s->nodes * s->stride;
}

size_t
circ_plan_footprint(const struct circ_slots *s, uint32_t demands)
{
	size_t slots = (size_t)s->nodes * s->stride, edges = demands + slots;
	size_t setups = circ_plan_setups(s, demands);
	return base_carved(setups * sizeof(struct circ_setup)) + base_carved(setups) +
	       5 * base_carved((size_t)demands * 4) + base_carved(edges * sizeof(struct edge)) +
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
	k->edge[k->edges] = (struct edge){.a = a, .b = b, .setup = CIRC_NONE, .next = CIRC_NONE};
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
						  .before_b = CIRC_NONE,
						  .first = CIRC_NONE,
						  .more = CIRC_NONE};
	k->lit[p->setups] = 0;
	for (uint32_t i = 0; i < CIRC_POOLS; i++)
		p->setup[p->setups].place[i] = p->setup[p->setups].before_place[i] = CIRC_NONE;
	return p->setups++;
}

/* From now on it helps with the messages of the pair's first link. */
static void
join_links(struct circ_plan *p, uint32_t first, uint32_t extra)
{
	struct circ_setup *u = &p->setup[extra], *f = &p->setup[first];
	u->first = first;
	u->from = f->messages;
	u->until = UINT32_MAX; /* none yet */
	u->more = f->more;
	f->more = extra;
}

static void
hold_plan(struct maker *k, uint32_t setup)
{
	const struct circ_setup *u = &k->p->setup[setup];
	struct circ_slots *s = k->s;
	struct edge *e = edge_of(k, u->a, u->b);
	uint32_t x = u->a * s->stride + u->slot_a, y = u->b * s->stride + u->slot_b;
	k->held[x] = k->held[y] = setup;
	s->slot[x] = (struct circ_slot){u->b, u->slot_b, s->clock};
	s->slot[y] = (struct circ_slot){u->a, u->slot_a, s->clock};
	k->lit[setup] = 1;
	e->links++;
	if (u->first == CIRC_NONE)
		e->setup = setup;
}

/* The lower, the sooner it goes: empty, gone already, needed latest.  Of the links of a pair extra
 * ones go first, and those of pairs that are needed again before all others that are. */
static uint64_t
wanted_at(struct maker *k, uint32_t setup)
{
	const struct circ_setup *u = &k->p->setup[setup];
	const struct edge *e = edge_of(k, u->a, u->b);
	bool extra = u->first != CIRC_NONE;
	if (!k->lit[setup])
		return 0;
	const struct circ_setup *f = extra ? &k->p->setup[u->first] : u;
	uint64_t used = k->s->slot[f->a * k->s->stride + f->slot_a].used;
	if (e->next == CIRC_NONE)
		return 2 + 2 * used - extra;
	return (extra ? EXTRA_WANTED : UINT64_MAX) - e->next;
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

/* A circuit of ours goes dark: what takes its ports or its place waits for it.  The far end
 * remembers what its next circuit has to wait for. */
static void
darken_plan(struct maker *k, uint32_t setup)
{
	struct circ_setup *u = &k->p->setup[setup];
	struct edge *e = edge_of(k, u->a, u->b);
	if (!k->lit[setup])
		return;
	k->lit[setup] = 0;
	e->links--;
	if (u->first == CIRC_NONE)
		e->setup = CIRC_NONE;
	else
		u->until = k->p->setup[u->first].messages;
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

/* What earlier calls left lit.  A circuit on a port that the budget took away, or one more between
 * the same nodes than may be, counts as dark. */
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
			    e->links >= links_plan(k) || !room_left(k, n, t->peer)) {
				circ_slots_drop(s, n, i);
				continue;
			}
			uint64_t used = t->used;
			uint32_t j = new_setup(k, e, i, t->peer_slot);
			uint32_t other = t->peer * s->stride + t->peer_slot;
			k->p->setup[j].kept = true;
			if (e->setup != CIRC_NONE)
				join_links(k->p, e->setup, j);
			take_places(k, j);
			hold_plan(k, j);
			t->used = s->slot[other].used = used;
		}
}

/* The slot of a node to re-aim: an empty one, else that which is wanted last. */
static uint32_t
victim(struct maker *k, uint32_t node)
{
	uint32_t best = 0;
	uint64_t least = UINT64_MAX;
	for (uint32_t i = 0; i < k->s->ports[node]; i++) {
		uint32_t at = node * k->s->stride + i;
		if (k->held[at] == CIRC_NONE)
			return i;
		uint64_t wanted = wanted_at(k, k->held[at]);
		if (wanted < least) {
			best = i;
			least = wanted;
		}
	}
	return best;
}

/* A link of the pair over these slots. */
static uint32_t
light_up(struct maker *k, struct edge *e, uint32_t slot_a, uint32_t slot_b, uint32_t round)
{
	uint32_t before_a = k->held[e->a * k->s->stride + slot_a];
	uint32_t before_b = k->held[e->b * k->s->stride + slot_b];
	if (before_a != CIRC_NONE)
		darken_plan(k, before_a);
	if (before_b != CIRC_NONE)
		darken_plan(k, before_b);
	uint32_t j = new_setup(k, e, slot_a, slot_b);
	k->p->setup[j].before_a = before_a;
	k->p->setup[j].before_b = before_b;
	k->p->setup[j].round = round;
	if (e->setup != CIRC_NONE)
		join_links(k->p, e->setup, j);
	take_places(k, j);
	hold_plan(k, j);
	k->p->ordered++;
	return j;
}

static void
aim(struct maker *k, struct edge *e, uint32_t round)
{
	(void)light_up(k, e, victim(k, e->a), victim(k, e->b), round);
}

/* ---- more links of a pair */

/* The slot of a node for an extra link of the pair, or CIRC_NONE: others need them all. */
static uint32_t
spare_slot(struct maker *k, uint32_t node, const struct edge *e)
{
	uint32_t best = CIRC_NONE;
	/* No sooner than we do: else both took it from each other for ever. */
	uint64_t most = e->next == CIRC_NONE ? UNWANTED : EXTRA_WANTED - e->next;
	for (uint32_t i = 0; i < k->s->ports[node]; i++) {
		uint32_t j = k->held[node * k->s->stride + i];
		if (j == CIRC_NONE)
			return i;
		const struct circ_setup *u = &k->p->setup[j];
		bool own = k->lit[j] && u->a == e->a && u->b == e->b;
		uint64_t wanted = wanted_at(k, j);
		if (!own && wanted < most) {
			best = i;
			most = wanted;
		}
	}
	return best;
}

/* It finds a place under each limit without anybody losing one. */
static bool
has_spare_places(struct maker *k, const struct edge *e)
{
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(k->s, e->a, e->b, i);
		if (pool == CIRC_NONE)
			continue;
		uint32_t j = k->place[first_place(k->s, pool) + place_in(k, pool)];
		if (j != CIRC_NONE && k->lit[j])
			return false;
	}
	return true;
}

static bool
is_lit_there(const struct maker *k, uint32_t node, uint32_t slot)
{
	uint32_t j = k->held[node * k->s->stride + slot];
	return j != CIRC_NONE && k->lit[j];
}

static void
widen_pair(struct maker *k, struct edge *e, uint32_t round)
{
	while (e->setup != CIRC_NONE && e->links < links_plan(k) && has_spare_places(k, e)) {
		uint32_t slot_a = spare_slot(k, e->a, e), slot_b = spare_slot(k, e->b, e);
		if (slot_a == CIRC_NONE || slot_b == CIRC_NONE)
			return;
		k->p->moved += is_lit_there(k, e->a, slot_a) || is_lit_there(k, e->b, slot_b);
		k->p->extras++;
		(void)light_up(k, e, slot_a, slot_b, round);
	}
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
	k->p->nth[i] = k->p->setup[setup].messages++;
	k->s->clock++;
	for (uint32_t j = setup; j != CIRC_NONE; j = k->p->setup[j].more) {
		const struct circ_setup *u = &k->p->setup[j];
		if (!k->lit[j])
			continue;
		k->s->slot[u->a * k->s->stride + u->slot_a].used = k->s->clock;
		k->s->slot[u->b * k->s->stride + u->slot_b].used = k->s->clock;
	}
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
		bool pays = d->bytes >= k->w->light_from && k->w->light_from != UINT64_MAX;
		if (pays && e->setup == CIRC_NONE)
			aim(k, e, d->round);
		if (pays)
			widen_pair(k, e, d->round);
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

/* Slots that a pair takes of a node in a batch. */
static uint32_t
batch_width(const struct maker *k, uint32_t node)
{
	uint32_t most = k->w->mode == CIRC_MODE_NAIVE || has_limits(k->s) ? 1 : links_plan(k);
	return most < k->s->ports[node] ? most : k->s->ports[node]; /* of one that has some */
}

static uint32_t
plan_room(const struct maker *k, uint32_t node)
{
	return k->w->mode == CIRC_MODE_NAIVE ? 1 : k->s->ports[node] / batch_width(k, node);
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

/* All links of the pair, as its x-th at one node and its y-th at the other. */
static void
light_in_batch(struct maker *k, struct edge *e, uint32_t x, uint32_t y, uint32_t round, bool turn)
{
	uint32_t wide_a = batch_width(k, e->a), wide_b = batch_width(k, e->b);
	for (uint32_t i = 0; i < wide_a && i < wide_b; i++) {
		uint32_t j = new_setup(k, e, x * wide_a + i, y * wide_b + i);
		put_in_batch(k, e, j);
		k->p->setup[j].batch = k->p->batches - 1;
		k->p->setup[j].turn = turn;
		k->p->setup[j].round = round;
		k->p->ordered++;
		if (i)
			join_links(k->p, e->setup, j);
		else
			e->setup = j;
		k->p->extras += i > 0;
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
			light_in_batch(k, e, x, y, k->w->demand[i].round, turn);
			k->in_batch[e->a]++;
			k->in_batch[e->b]++;
		}
		k->p->batch[i] = k->p->batches - 1;
		k->p->by[i] = wants_light(k, i) ? e->setup : CIRC_NONE;
		if (k->p->by[i] != CIRC_NONE)
			k->p->nth[i] = k->p->setup[e->setup].messages++;
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
}

void
circ_plan_make(struct circ_plan *p, const struct circ_plan_wish *w, struct circ_slots *s, void *mem)
{
	uint8_t *at = base_carve_from(mem);
	size_t n = (size_t)w->demands + w->lookahead, slots = (size_t)s->nodes * s->stride;
	size_t hash = hash_size(n, slots);
	struct maker k = {.p = p, .w = w, .s = s, .hash_mask = (uint32_t)hash - 1};
	*p = (struct circ_plan){.mode = w->mode, .demands = w->demands};
	p->setups_max = (uint32_t)circ_plan_setups(s, (uint32_t)n);
	p->setup = base_carve(&at, p->setups_max * sizeof *p->setup);
	k.lit = base_carve(&at, p->setups_max);
	p->by = base_carve(&at, n * 4);
	p->nth = base_carve(&at, n * 4);
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
	} else {
		memset(p->batch, 0, n * 4);
		if (circ_mode_keeps(w->mode))
			adopt_plan(&k);
		else
			circ_slots_clear(s);
		make_pipelined(&k);
	}
	if (!circ_mode_keeps(w->mode))
		circ_slots_clear(s);
	for (uint32_t j = 0; j < p->setups; j++) /* lit to the end */
		if (p->setup[j].first != CIRC_NONE && p->setup[j].until == UINT32_MAX)
			p->setup[j].until = p->setup[p->setup[j].first].messages;
}
