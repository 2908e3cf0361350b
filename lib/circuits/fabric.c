/* SPDX-License-Identifier: BSD-2-Clause */
#include "circ/fabric.h"

#include "base/carve.h"

#include <string.h>

size_t
circ_fabric_footprint(const struct circ_plan *p)
{
	return base_carved((size_t)p->setups * 4) + base_carved((size_t)p->setups * 8) +
	       2 * base_carved(p->setups) + BASE_CARVE_ALIGN;
}

static uint32_t
port(const struct circ_fabric *f, uint32_t node, uint32_t slot)
{
	return f->port_of[node * f->slots->stride + slot];
}

static bool
fabric_ours(const struct circ_fabric *f, uint32_t in)
{
	struct ocs_circuit c = ocs_at(f->m, in);
	return c.state != OCS_FREE && c.state != OCS_FOREIGN && c.owner == f->owner;
}

/* Whatever of ours begins or ends at the port, but for what leads to or from `but`.  False: it is
 * still in use. */
static bool
release_fabric(struct circ_fabric *f, uint32_t p, uint32_t but, uint64_t now_ns)
{
	uint32_t from = ocs_user_of(f->m, p);
	bool out = fabric_ours(f, p) && ocs_at(f->m, p).out != but;
	bool in = from != OCS_NO_PORT && from != but && fabric_ours(f, from);
	if (!out && !in)
		return true;
	if (f->ends && !f->ends->down(f->user, p, now_ns))
		return false;
	if (out)
		ocs_release(f->m, p, now_ns);
	if (in)
		ocs_release(f->m, from, now_ns);
	return true;
}

static void
ends(const struct circ_fabric *f, uint32_t j, uint32_t *x, uint32_t *y)
{
	const struct circ_setup *u = &f->run->plan->setup[j];
	*x = port(f, u->a, u->slot_a);
	*y = port(f, u->b, u->slot_b);
}

static bool
is_lit(const struct circ_fabric *f, uint32_t x, uint32_t y)
{
	struct ocs_circuit there = ocs_at(f->m, x), back = ocs_at(f->m, y);
	bool one = there.state == OCS_LIT && there.out == y && there.owner == f->owner;
	bool two = back.state == OCS_LIT && back.out == x && back.owner == f->owner;
	return one && (two || f->both_ways);
}

/* 1: lit and in use; 0: not (yet); -1: its ends do not find each other. */
static int
fabric_usable(const struct circ_fabric *f, uint32_t x, uint32_t y, uint64_t now_ns)
{
	if (!is_lit(f, x, y))
		return 0;
	return f->ends ? f->ends->up(f->user, x, y, now_ns) : 1;
}

static bool
under_way(const struct circ_fabric *f, uint32_t in, uint32_t out)
{
	struct ocs_circuit c = ocs_at(f->m, in);
	return c.out == out && !c.release && fabric_ours(f, in) && c.state != OCS_RELEASE_PENDING &&
	       c.state != OCS_RELEASING;
}

/* The link is ordered, or its relays look for each other: it may be lit soon. */
static bool
fabric_comes(const struct circ_fabric *f, uint32_t x, uint32_t y)
{
	return under_way(f, x, y) && (f->both_ways || under_way(f, y, x));
}

static void
fail_fabric(struct circ_fabric *f, uint32_t j, uint64_t now_ns)
{
	uint32_t x, y;
	ends(f, j, &x, &y);
	release_fabric(f, x, OCS_NO_PORT, now_ns);
	release_fabric(f, y, OCS_NO_PORT, now_ns);
	circ_run_failed(f->run, j);
}

/* False: this direction will not come.  bit: which one of link j it is. */
static bool
want_fabric(struct circ_fabric *f, uint32_t j, uint8_t bit, uint32_t in, uint32_t out,
	    uint64_t now_ns)
{
	if (under_way(f, in, out))
		return true;
	bool clear = ocs_at(f->m, in).state == OCS_FREE && ocs_user_of(f->m, out) == OCS_NO_PORT;
	if (clear && (f->asked[j] & bit))
		return false; /* it was refused: it would be here else */
	int rc = ocs_request(f->m, in, out, f->owner, now_ns);
	if (rc == OCS_ERR_OK)
		f->asked[j] |= bit;
	return rc == OCS_ERR_OK || rc == OCS_ERR_BUSY; /* busy: what was there is going */
}

/* Is link j, or another one that has messages to come, on these ports? */
static bool
fabric_wanted(const struct circ_fabric *f, uint32_t j, uint32_t x, uint32_t y)
{
	for (uint32_t i = 0; i < f->opens; i++) {
		uint32_t a, b;
		ends(f, f->open[i], &a, &b);
		if (a == x && b == y && (f->open[i] == j || f->run->left[f->open[i]]))
			return true;
	}
	return false;
}

/* The circuit of a set-up that is over goes, if it is there and nobody uses it.  False: it is still
 * in use. */
static bool
fabric_gives_up(struct circ_fabric *f, uint32_t over, uint32_t j, uint64_t now_ns)
{
	uint32_t x, y;
	ends(f, over, &x, &y);
	if ((!under_way(f, x, y) && !under_way(f, y, x)) || fabric_wanted(f, j, x, y))
		return true;
	return release_fabric(f, x, OCS_NO_PORT, now_ns);
}

/* Circuits that have to go for a limit's sake: their ports may be nobody else's, so nothing but
 * this darkens them.  False: one is still in use. */
static bool
fabric_makes_room(struct circ_fabric *f, uint32_t j, uint64_t now_ns)
{
	const struct circ_plan *p = f->run->plan;
	const struct circ_setup *u = &p->setup[j];
	bool clear = true, limited = false;
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		limited |= u->place[i] != CIRC_NONE;
		if (u->before_place[i] != CIRC_NONE)
			clear &= fabric_gives_up(f, u->before_place[i], j, now_ns);
	}
	for (uint32_t x = 0; limited && circ_mode_batches(p->mode) && x < j; x++)
		if (p->setup[x].batch < u->batch)
			clear &= fabric_gives_up(f, x, j, now_ns);
	return clear;
}

/* Has this call asked for the circuit from x, or taken it as lit? */
static bool
fabric_asked(const struct circ_fabric *f, uint32_t x)
{
	const struct circ_plan *p = f->run->plan;
	for (uint32_t j = 0; j < p->setups; j++) {
		uint32_t a, b;
		ends(f, j, &a, &b);
		if ((a == x || b == x) && (p->setup[j].kept || f->asked[j]))
			return true;
	}
	return false;
}

/* Which node each port of ours is at. */
struct fabric_nodes {
	uint16_t of[OCS_PORTS_MAX];
};

/* Where light that is ours goes from port p; OCS_NO_PORT: there is none, or it is that between x
 * and y. */
static uint32_t
fabric_beside(const struct circ_fabric *f, uint32_t p, uint32_t x, uint32_t y)
{
	if (p == OCS_NO_PORT || !fabric_ours(f, p))
		return OCS_NO_PORT;
	uint32_t to = ocs_at(f->m, p).out;
	return (p == x && to == y) || (p == y && to == x) ? OCS_NO_PORT : to;
}

static bool
fabric_counts(const struct circ_fabric *f, const struct fabric_nodes *at, uint32_t pool, uint32_t p,
	      uint32_t to)
{
	for (uint32_t i = 0; i < CIRC_POOLS; i++)
		if (circ_slots_pool(f->slots, at->of[p], at->of[to], i) == pool)
			return true;
	return false;
}

/* Is there room for one more link under the limit?  What is to go, and what an earlier call has
 * left, counts until it is dark.  A plan goes by what is lit at its start: the rest is drained
 * here. */
static bool
fabric_has_room(struct circ_fabric *f, const struct fabric_nodes *at, uint32_t pool, uint32_t x,
		uint32_t y, uint64_t now_ns)
{
	const struct circ_slots *s = f->slots;
	uint32_t lit = 0, slots = s->nodes * s->stride, most = circ_slots_limit(s, pool), to;
	for (uint32_t i = 0; i < slots; i++) {
		uint32_t p = f->port_of[i];
		to = fabric_beside(f, p, x, y);
		if (to == OCS_NO_PORT || !fabric_counts(f, at, pool, p, to))
			continue;
		/* One of the two directions, or the only one. */
		lit += f->both_ways || p < to || !fabric_ours(f, to) || ocs_at(f->m, to).out != p;
	}
	for (uint32_t i = 0; i < slots && lit >= most; i++) {
		uint32_t p = f->port_of[i];
		to = fabric_beside(f, p, x, y);
		if (to != OCS_NO_PORT && fabric_counts(f, at, pool, p, to) && !fabric_asked(f, p))
			release_fabric(f, p, OCS_NO_PORT, now_ns);
	}
	return lit < most;
}

/* Is there light for the link of set-up j beside what is lit? */
static bool
fabric_has_light(struct circ_fabric *f, uint32_t j, uint32_t x, uint32_t y, uint64_t now_ns)
{
	const struct circ_slots *s = f->slots;
	const struct circ_setup *u = &f->run->plan->setup[j];
	struct fabric_nodes at;
	bool room = true;
	if (!s->lit_max && !s->group)
		return true;
	memset(&at, 0, sizeof at);
	for (uint32_t i = 0; i < s->nodes * s->stride; i++)
		if (f->port_of[i] != OCS_NO_PORT)
			at.of[f->port_of[i]] = (uint16_t)(i / s->stride);
	/* What they carry goes anyway, yet one way of it may be dark long before the other. */
	release_fabric(f, x, y, now_ns);
	release_fabric(f, y, x, now_ns);
	for (uint32_t i = 0; i < CIRC_POOLS; i++) {
		uint32_t pool = circ_slots_pool(s, u->a, u->b, i);
		if (pool != CIRC_NONE)
			room = fabric_has_room(f, &at, pool, x, y, now_ns) && room;
	}
	return room;
}

/* Order what is not under way yet.  False: it will not come. */
static bool
ask_fabric(struct circ_fabric *f, uint32_t j, uint32_t x, uint32_t y, uint64_t now_ns)
{
	bool clear = release_fabric(f, x, y, now_ns);
	if (!release_fabric(f, y, x, now_ns) || !clear)
		return true; /* once it is */
	return want_fabric(f, j, 1, x, y, now_ns) &&
	       (f->both_ways || want_fabric(f, j, 2, y, x, now_ns));
}

/* One link: false if it is out of the way, lit and used up, or failed. */
static bool
push_fabric(struct circ_fabric *f, uint32_t j, uint64_t now_ns, bool *changed)
{
	uint32_t x, y;
	ends(f, j, &x, &y);
	bool room = f->lit[j] ||
		    (fabric_makes_room(f, j, now_ns) && fabric_has_light(f, j, x, y, now_ns));
	int up = room ? fabric_usable(f, x, y, now_ns) : 0;
	if (f->lit[j]) {
		if (f->run->left[j] == 0)
			return false; /* what comes now is the next one's business */
		if (up == 1)
			return true;
	} else if (up == 1) {
		f->lit[j] = true;
		circ_run_lit(f->run, j);
		*changed = true;
		return true;
	} else if (up == 0 && now_ns - f->since_ns[j] < f->patience_ns) {
		if (!room || ask_fabric(f, j, x, y, now_ns))
			return true;
	}
	fail_fabric(f, j, now_ns);
	*changed = true;
	return false;
}

/* Under limits what an earlier call has left and this one does not keep goes at once. */
static void
forget_fabric(struct circ_fabric *f, uint64_t now_ns)
{
	const struct circ_plan *p = f->run->plan;
	const struct circ_slots *s = f->slots;
	for (uint32_t i = 0; i < s->nodes * s->stride; i++) {
		uint32_t at = f->port_of[i], x, y;
		bool kept = at == OCS_NO_PORT || !fabric_ours(f, at);
		for (uint32_t j = 0; j < p->setups && p->setup[j].kept && !kept; j++) {
			ends(f, j, &x, &y);
			kept = at == x || at == y;
		}
		if (!kept)
			release_fabric(f, at, OCS_NO_PORT, now_ns);
	}
}

void
circ_fabric_start(struct circ_fabric *f, struct circ_run *run, uint64_t now_ns, void *mem)
{
	const struct circ_plan *p = run->plan;
	uint8_t *at = base_carve_from(mem);
	f->run = run;
	f->opens = 0;
	f->open = base_carve(&at, (size_t)p->setups * 4);
	f->since_ns = base_carve(&at, (size_t)p->setups * 8);
	f->lit = base_carve(&at, p->setups);
	f->asked = base_carve(&at, p->setups);
	memset(f->lit, 0, p->setups);
	memset(f->asked, 0, p->setups);
	for (uint32_t j = 0; j < p->setups; j++) {
		uint32_t x, y;
		if (!p->setup[j].kept)
			continue;
		ends(f, j, &x, &y);
		int up = fabric_usable(f, x, y, now_ns);
		bool comes = up == 0 && fabric_comes(f, x, y);
		f->lit[j] = !comes;
		f->since_ns[j] = now_ns;
		if (comes)
			circ_run_comes(run, j);
		if (comes && run->left[j] == 0)
			continue; /* this call has no use for it: a later one may */
		if (up == 1 || comes)
			f->open[f->opens++] = j;
		else
			fail_fabric(f, j, now_ns);
	}
	if (f->slots->lit_max || f->slots->group)
		forget_fabric(f, now_ns);
}

bool
circ_fabric_step(struct circ_fabric *f, uint64_t now_ns)
{
	bool changed = false, again = true;
	while (again) {
		uint32_t keep = 0;
		again = false;
		for (uint32_t j; (j = circ_run_order(f->run)) != CIRC_NONE;) {
			f->since_ns[j] = now_ns;
			f->open[f->opens++] = j;
		}
		for (uint32_t i = 0; i < f->opens; i++) {
			bool some = false;
			if (push_fabric(f, f->open[i], now_ns, &some))
				f->open[keep++] = f->open[i];
			again |= some; /* who waited for it may go */
		}
		f->opens = keep;
		changed |= again;
	}
	return changed;
}

/* Light, or light to come, between the ports. */
static bool
fabric_stays(struct circ_fabric *f, uint32_t x, uint32_t y, uint64_t now_ns)
{
	int up = fabric_usable(f, x, y, now_ns);
	if (up == 0 && f->both_ways && !fabric_comes(f, x, y)) { /* the one circuit may be from y */
		up = fabric_usable(f, y, x, now_ns);
		return up == 1 || (up == 0 && fabric_comes(f, y, x));
	}
	return up == 1 || (up == 0 && fabric_comes(f, x, y));
}

bool
circ_fabric_end(struct circ_fabric *f, uint64_t now_ns)
{
	struct circ_slots *s = f->slots;
	bool all = true;
	f->opens = 0;
	for (uint32_t n = 0; n < s->nodes; n++)
		for (uint32_t i = 0; i < s->stride; i++) {
			const struct circ_slot *t = &s->slot[n * s->stride + i];
			uint32_t x = port(f, n, i);
			if (x == OCS_NO_PORT)
				continue;
			uint32_t y =
				t->peer == CIRC_NONE ? OCS_NO_PORT : port(f, t->peer, t->peer_slot);
			if (y == OCS_NO_PORT || !fabric_stays(f, x, y, now_ns)) {
				all = release_fabric(f, x, OCS_NO_PORT, now_ns) && all;
				circ_slots_drop(s, n, i);
			}
		}
	return all;
}

void
circ_fabric_clear(struct circ_fabric *f, uint64_t now_ns)
{
	circ_slots_clear(f->slots);
	circ_fabric_end(f, now_ns);
}

bool
circ_fabric_empty(const struct circ_fabric *f)
{
	const struct circ_slots *s = f->slots;
	for (uint32_t i = 0; i < s->nodes * s->stride; i++) {
		uint32_t x = f->port_of[i];
		if (x == OCS_NO_PORT)
			continue;
		uint32_t from = ocs_user_of(f->m, x);
		if (fabric_ours(f, x) || (from != OCS_NO_PORT && fabric_ours(f, from)))
			return false;
	}
	return true;
}
