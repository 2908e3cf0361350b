/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "doors": processes of private clusters register doors, import and ask each other's,
 * leave and die; relays die, clusters are cut off; a tenant and a false relay try what does not
 * prove. Then all heals: what is held answers, what is gone was told; all leave: nothing is left.
 * "doors-pairs": the same with two relays in each cluster. */
#include "doors.h"
#include "draw.h"

#include <stdio.h>
#include <string.h>

#define REALM_A	   0x1111222233334444u
#define REALM_B	   0x5555666677778888u
#define REALM_EVIL 0x6666666666666666u
#define STALE_NS   (6 * BASE_S_NS) /* until a relay surely knows that a process is gone */
#define FLOOD	   80u

/* ---- checks -------------------------------------------------------------------- */

void
doors_settle(struct doors *w)
{
	struct sim *s = w->s;
	for (uint32_t i = 0; i < w->nimports; i++)
		doors_ask(w, i);
	doors_pass(w, 3 * BASE_S_NS);
	for (uint32_t i = 0; i < w->nimports && !s->failed; i++) {
		const struct doors_import *m = &w->import[i];
		const struct doors_proc *p = &w->proc[m->proc];
		if (m->life != p->life)
			continue;
		INVARIANT(s, COMPLETE, m->state != IMPORT_ASKED,
			  "import %u of process %u: no answer since %llu ms", i, m->proc,
			  (unsigned long long)(s->now_ns - m->since_ns) / 1000000);
		if (m->state != IMPORT_HELD || m->target == DOORS_NONE)
			continue;
		const struct doors_door *d = &w->door[m->target];
		INVARIANT(s, TOLD, d->state == DOOR_STATE_OPEN,
			  "process %u was not told that door %u is gone since %llu ms", m->proc,
			  m->target, (unsigned long long)(s->now_ns - d->gone_ns) / 1000000);
		INVARIANT(s, COMPLETE, m->answered == m->asked || !doors_owns(w, p, m->own),
			  "import %u: process %u asked door %u and has no answer", i, m->proc,
			  m->target);
	}
	for (uint32_t i = 0; i < w->nprocs && !s->failed; i++)
		for (uint32_t k = 0; k < w->proc[i].npeers; k++) {
			const struct doors_peer *x = &w->proc[i].peer[k];
			const struct doors_door *d = &w->door[x->door];
			INVARIANT(s, TOLD, x->told || d->state == DOOR_STATE_OPEN,
				  "process %u was not told that door %u, who asked it, is gone "
				  "since %llu ms",
				  i, x->door,
				  (unsigned long long)(s->now_ns - d->gone_ns) / 1000000);
		}
}

/* Who imports nothing keeps nothing, though all doors are still there. */
static void
drop_all(struct doors *w)
{
	struct sim *s = w->s;
	for (uint32_t i = 0; i < w->nimports; i++)
		doors_drop(w, i);
	doors_pass(w, 4 * BASE_S_NS);
	for (uint32_t i = 0; i < w->nrelays && !s->failed; i++) {
		struct relay_door_info d;
		relay_core_doors(w->relay[i].core, &d);
		INVARIANT(s, EMPTY, !d.imports && !d.exports && !d.holds && !d.clusters && !d.dying,
			  "relay %u: all is dropped, and %u imports, %u exports, %u holds of %u "
			  "clusters are left",
			  i, d.imports, d.exports, d.holds, d.clusters);
	}
}

void
doors_empty(struct doors *w)
{
	struct sim *s = w->s;
	for (uint32_t i = 0; i < w->ndoors; i++)
		doors_leave(w, i);
	doors_pass(w, 4 * BASE_S_NS);
	for (uint32_t i = 0; i < w->nrelays && !s->failed; i++) {
		struct relay_door_info d;
		relay_core_doors(w->relay[i].core, &d);
		INVARIANT(s, EMPTY, !d.own && !d.imports && !d.exports && !d.holds && !d.dying,
			  "relay %u: all doors left, and %u doors, %u imports, %u exports are left",
			  i, d.own, d.imports, d.exports);
	}
}

/* ---- one round trip ----------------------------------------------------------------- */

struct wait {
	const struct doors *w;
	uint32_t door, import;
};

static bool
is_open(void *who)
{
	const struct wait *x = who;
	return x->w->door[x->door].state != DOOR_STATE_ASKED;
}

static bool
is_held(void *who)
{
	const struct wait *x = who;
	return x->w->import[x->import].state != IMPORT_ASKED || x->w->import[x->import].named;
}

static bool
is_reached(void *who)
{
	const struct wait *x = who;
	return x->w->door[x->door].first_ns != 0;
}

static uint32_t
register_now(struct doors *w, struct doors_proc *p, uint64_t realm)
{
	struct wait x = {.w = w, .door = doors_register(p, 1, realm)};
	if (x.door == DOORS_NONE) {
		invariant_broken(w->s, INV_COMPLETE, "process %u has no path", p->index);
		return 0;
	}
	sim_run(w->s, w->s->now_ns + 5 * BASE_S_NS, is_open, &x);
	INVARIANT(w->s, COMPLETE, w->door[x.door].state == DOOR_STATE_OPEN,
		  "process %u registered, and no address came", p->index);
	return x.door;
}

/* From REGISTER to the first byte, the address handed over in no time. */
static uint64_t
time_first_byte(struct doors *w, struct doors_proc *to, struct doors_proc *from, uint32_t own)
{
	uint32_t door = register_now(w, to, REALM_A);
	if (w->s->failed)
		return 0;
	const struct doors_door *d = &w->door[door];
	struct wait x = {w, door, doors_import(from, own, door, &d->at)};
	sim_run(w->s, w->s->now_ns + 20 * BASE_S_NS, is_held, &x);
	doors_ask(w, x.import);
	sim_run(w->s, w->s->now_ns + 5 * BASE_S_NS, is_reached, &x);
	INVARIANT(w->s, COMPLETE, d->first_ns, "door %u was imported and nothing came", door);
	return d->first_ns - d->asked_ns;
}

/* *cold: with a trunk that is not there yet. */
static uint64_t
check_prompt(struct doors *w, uint64_t *cold)
{
	struct doors_proc *a = &w->proc[0], *b = &w->proc[1];
	uint64_t bar = 2 * w->conf.wan_ns;
	doors_pass(w, BASE_S_NS);
	uint32_t own = register_now(w, b, REALM_A);
	*cold = w->s->failed ? 0 : time_first_byte(w, a, b, own);
	uint64_t t = w->s->failed ? 0 : time_first_byte(w, a, b, own);
	INVARIANT(w->s, PROMPT, t <= bar, "register to first byte: %llu us, may be %llu",
		  (unsigned long long)t / 1000, (unsigned long long)bar / 1000);
	return t;
}

/* ---- what honest processes do --------------------------------------------------------- */

static struct doors_proc *
draw_proc(struct doors *w)
{
	return &w->proc[base_prng_below(&w->prng, w->nprocs)];
}

/* A door of the process of that realm, or NONE. */
static uint32_t
draw_own(struct doors *w, const struct doors_proc *p, uint64_t realm)
{
	for (uint32_t tries = 0; tries < 40; tries++) {
		uint32_t i = (uint32_t)base_prng_below(&w->prng, w->ndoors);
		if (doors_owns(w, p, i) && (!realm || w->door[i].realm == realm))
			return i;
	}
	return DOORS_NONE;
}

static void
import_some(struct doors *w)
{
	struct doors_proc *p = draw_proc(w);
	uint32_t to = (uint32_t)base_prng_below(&w->prng, w->ndoors);
	const struct doors_door *d = &w->door[to];
	if (p->evil || d->state != DOOR_STATE_OPEN || w->proc[d->proc].g.cluster == p->g.cluster)
		return;
	uint32_t own = draw_own(w, p, d->realm);
	if (own != DOORS_NONE)
		doors_import(p, own, to, &d->at);
}

static void
act_honestly(struct doors *w)
{
	struct base_prng *g = &w->prng;
	struct doors_proc *p = draw_proc(w);
	switch (base_prng_below(g, 10)) {
	case 0:
	case 1:
		if (!p->evil) {
			uint64_t realm = coin(g, 70) ? REALM_A : REALM_B;
			doors_register(p, (uint16_t)between(g, 1, 4), realm);
		}
		break;
	case 2:
		if (coin(g, 40))
			doors_leave(w, (uint32_t)base_prng_below(g, w->ndoors));
		break;
	case 3:
	case 4:
	case 5:
		import_some(w);
		break;
	case 6:
		if (w->nimports && coin(g, 40))
			doors_drop(w, (uint32_t)base_prng_below(g, w->nimports));
		break;
	default:
		if (w->nimports)
			doors_ask(w, (uint32_t)base_prng_below(g, w->nimports));
	}
}

/* ---- a tenant who tries ------------------------------------------------------------------ */

/* An address that he may not import; false: none now. */
static bool
forge_address(struct doors *w, const struct doors_proc *p, uint64_t own_realm,
	      struct door_address *a)
{
	struct base_prng *g = &w->prng;
	uint32_t i = (uint32_t)base_prng_below(g, w->ndoors);
	const struct doors_door *d = &w->door[i];
	if (!d->len || d->proc == p->index)
		return false;
	*a = d->at;
	switch (base_prng_below(g, 7)) {
	case 0:
		a->token ^= 1ull << base_prng_below(g, 64);
		break;
	case 1:
		a->realm = own_realm;
		return d->realm != own_realm;
	case 2: /* leaked to another realm */
		return d->realm != own_realm;
	case 3:
		a->label ^= 1u << base_prng_below(g, 9);
		return a->label != 0;
	case 4:
		return d->state == DOOR_STATE_GONE && w->s->now_ns > d->gone_ns + STALE_NS;
	case 5:
		a->n++;
		break;
	default:
		a->relay[0].ipv4 = 0xc00002f0 + (uint32_t)base_prng_below(g, 4); /* nobody */
		a->nrelays = 1;
	}
	return true;
}

static void
import_forged(struct doors *w, struct doors_proc *p)
{
	uint8_t bytes[DOOR_ADDRESS_MAX] = {0}, note[RELAY_DOOR_NOTE_MAX];
	struct door_address a;
	uint32_t own = draw_own(w, p, 0);
	if (own == DOORS_NONE || !forge_address(w, p, w->door[own].realm, &a))
		return;
	uint8_t len = (uint8_t)door_address_encode(&a, bytes);
	if (len && !coin(&w->prng, 5)) {
		doors_import(p, own, DOORS_NONE, &a);
		return;
	}
	/* What is no address at all: nothing of it is kept, so nobody waits for an answer. */
	bytes[base_prng_below(&w->prng, sizeof bytes)] ^= 1;
	struct relay_door_note n = {.op = RELAY_DOOR_IMPORT,
				    .request = 1u << 30,
				    .label = w->door[own].at.label,
				    .address = {bytes, len}};
	doors_note(p, note, relay_door_encode(&n, note));
}

/* He says LEAVE behind the back of his own client of doors: if he means one of his own, it is gone,
 * and who it was must know that before its labels are another's. */
static void
leave_as_well(struct doors *w, const struct doors_proc *p, uint32_t label)
{
	uint32_t place = door_client_mine(&p->client, label);
	if (place != DOOR_CLIENT_NONE)
		doors_leave(w, p->own[place].whose);
}

/* An address is under way. */
static bool
asks_for_doors(const struct doors_proc *p)
{
	for (uint32_t i = 0; i < p->client.owns; i++)
		if (p->own[i].state == DOOR_CLIENT_ASKED || p->own[i].state == DOOR_CLIENT_WAITS)
			return true;
	return false;
}

static void
say_anything(struct doors *w, struct doors_proc *p)
{
	struct base_prng *g = &w->prng;
	uint8_t buf[RELAY_DOOR_NOTE_MAX] = {RELAY_NOTE_DOOR};
	static const uint8_t ops[] = {RELAY_DOOR_LEAVE, RELAY_DOOR_HOLD, RELAY_DOOR_DROP,
				      RELAY_DOOR_GONE, RELAY_DOOR_ANSWER};
	/* What it answers with is for no door and no import of ours. */
	struct relay_door_note n = {.request = 0x7fffffff, .ok = true};
	n.op = ops[base_prng_below(g, sizeof ops)];
	n.label = (uint32_t)base_prng_below(g, w->conf.doors_max);
	/* Whose address is under way may be meant, too, and nobody could tell. */
	if (n.op == RELAY_DOOR_LEAVE && asks_for_doors(p))
		n.op = RELAY_DOOR_HOLD;
	size_t len = relay_door_encode(&n, buf);
	if (coin(g, 30))
		for (len = between(g, 1, sizeof buf); buf[1] <= RELAY_DOOR_DROP;)
			buf[1] = (uint8_t)base_prng_next(g);
	doors_note(p, buf, len);
	if (buf[1] == RELAY_DOOR_LEAVE)
		leave_as_well(w, p, n.label);
}

/* Within his own realm he may guess labels that others imported: they are one tenant. */
static void
ask_any(struct doors *w, struct doors_proc *p, uint32_t src)
{
	for (uint32_t i = 0; i < w->ndoors; i++)
		if (w->door[i].proc == p->index && w->door[i].realm == REALM_A &&
		    w->door[i].at.label == src)
			return;
	/* Nor is he known to have a door that both relays are still to confirm. */
	if (w->conf.relays > 1 && asks_for_doors(p))
		return;
	doors_ask_labels(p, (uint32_t)base_prng_below(&w->prng, w->conf.doors_max), src);
}

static void
act_evilly(struct doors *w, struct doors_proc *p)
{
	struct base_prng *g = &w->prng;
	if (!p->up)
		return;
	uint32_t own = draw_own(w, p, 0);
	if (own == DOORS_NONE || coin(g, 5)) {
		doors_register(p, 1, coin(g, 50) ? REALM_EVIL : REALM_A);
		return;
	}
	switch (base_prng_below(g, 6)) {
	case 0: /* a flood, which ends by its bounds */
		for (uint32_t i = 0; i < FLOOD && coin(g, 97); i++)
			import_forged(w, p);
		break;
	case 1:
		if (coin(g, 10))
			for (uint32_t i = 0; i < FLOOD; i++)
				doors_register(p, 4, REALM_EVIL);
		break;
	case 2:
		say_anything(w, p);
		break;
	case 3:
		import_forged(w, p);
		break;
	default:
		own = draw_own(w, p, REALM_EVIL);
		for (uint32_t i = 0; i < 16; i++)
			ask_any(w, p,
				own == DOORS_NONE || coin(g, 30)
					? (uint32_t)base_prng_below(g, w->conf.doors_max)
					: w->door[own].at.label);
	}
}

/* ---- faults ---------------------------------------------------------------------------- */

struct weather {
	bool proc_deaths, relay_deaths, cuts, evil;
	uint32_t deaths;
};

static void
make_fault(struct doors *w, struct weather *f)
{
	struct base_prng *g = &w->prng;
	struct doors_proc *p = draw_proc(w);
	struct doors_relay *r = &w->relay[base_prng_below(g, w->nrelays)];
	uint32_t a = (uint32_t)base_prng_below(g, w->conf.nclusters);
	uint32_t b = (a + 1) % w->conf.nclusters;
	if (f->proc_deaths && coin(g, 3)) {
		f->deaths += p->alive;
		if (p->alive)
			doors_kill_proc(p);
		else
			doors_start_proc(p);
	}
	if (f->relay_deaths && coin(g, 1)) {
		f->deaths += r->alive;
		if (r->alive)
			doors_kill_relay(r);
	}
	if (!r->alive && coin(g, 10))
		doors_start_relay(r);
	if (f->cuts && coin(g, 1))
		doors_cut(w, a, b, coin(g, 50));
}

static void
heal(struct doors *w)
{
	doors_lose(w, 0);
	for (uint32_t a = 0; a < w->conf.nclusters; a++)
		for (uint32_t b = 0; b < w->conf.nclusters; b++)
			if (a != b && w->s->link[w->wan[a][b]].down)
				doors_cut(w, a, b, false);
	for (uint32_t i = 0; i < w->nrelays; i++)
		if (!w->relay[i].alive)
			doors_start_relay(&w->relay[i]);
	for (uint32_t i = 0; i < w->nprocs; i++)
		if (w->proc[i].evil)
			doors_kill_proc(&w->proc[i]);
		else if (!w->proc[i].alive)
			doors_start_proc(&w->proc[i]);
	if (w->rogue)
		doors_rogue_stop(w->rogue);
}

static void
run_doors(uint64_t seed, uint32_t relays, bool verbose, struct outcome *o)
{
	struct base_prng g = base_prng_seed(seed);
	struct doors_conf c;
	uint64_t cold = 0;
	doors_conf_default(&c);
	c.relays = relays;
	c.claims = relays == 1;
	c.nclusters = (uint32_t)between(&g, 2, DOORS_CLUSTERS);
	c.procs = (uint32_t)between(&g, 2, 4);
	c.wan_ns = between(&g, 1, 40) * BASE_MS_NS;
	c.imports_max = (uint32_t)PICK(&g, 16, 64, 128);
	struct weather f = {.proc_deaths = coin(&g, 60)};
	f.relay_deaths = coin(&g, 40);
	f.cuts = coin(&g, 40);
	f.evil = coin(&g, 70);
	bool rogue = coin(&g, 60);
	uint32_t loss = coin(&g, 50) ? (uint32_t)PICK(&g, 1000000, 20000000, 100000000) : 0;
	struct doors *w = doors_new(seed, verbose, &c);
	uint64_t warm = check_prompt(w, &cold);
	doors_lose(w, loss);
	struct doors_proc *evil = &w->proc[w->nprocs - 1];
	evil->evil = f.evil;
	if (rogue)
		w->rogue = doors_rogue_new(w);
	uint32_t steps = (uint32_t)between(&g, 200, 900);
	for (uint32_t i = 0; i < steps && !w->s->failed; i++) {
		for (uint32_t k = 0; k < 6; k++)
			act_honestly(w);
		if (f.evil && coin(&w->prng, 30))
			act_evilly(w, evil);
		if (w->rogue && coin(&w->prng, 20))
			doors_rogue_act(w->rogue);
		make_fault(w, &f);
		doors_pass(w, between(&w->prng, 1, 20) * BASE_MS_NS);
		if (i % 8 == 0)
			doors_check(w);
	}
	heal(w);
	doors_pass(w, 14 * BASE_S_NS);
	doors_check(w);
	doors_settle(w);
	drop_all(w);
	doors_empty(w);
	doors_check(w);
	snprintf(o->note, sizeof o->note,
		 "%u clusters: %u doors, %u of %u claims, %u imports (%llu refused, %llu told "
		 "gone), %llu answers, "
		 "%u deaths; first byte after %llu.%02llu round trips, %llu.%02llu without a trunk",
		 c.nclusters, w->ndoors, w->given, w->claims, w->nimports,
		 (unsigned long long)w->refused, (unsigned long long)w->told,
		 (unsigned long long)w->answers, f.deaths,
		 (unsigned long long)(warm * 100 / (2 * c.wan_ns) / 100),
		 (unsigned long long)(warm * 100 / (2 * c.wan_ns) % 100),
		 (unsigned long long)(cold * 100 / (2 * c.wan_ns) / 100),
		 (unsigned long long)(cold * 100 / (2 * c.wan_ns) % 100));
	doors_finish(w, o);
}

void
doors_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run_doors(seed, 1, verbose, o);
}

void
doors_pairs_run(uint64_t seed, bool verbose, struct outcome *o)
{
	run_doors(seed, 2, verbose, o);
}
