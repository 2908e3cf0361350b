/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario "doors-many": 10^5 members in four clusters, 10^3 of them new each second and 10^3 gone.
 * Each one that comes is imported by a process of another cluster, is asked, and leaves a second
 * later.  Pairs that stand all the time ask each other as fast as answers come.  The wide area has
 * 1 Gb/s and takes 20 ms one way, so what comes and goes competes with what stands. */
#include "doors.h"
#include "draw.h"

#include "base/assert.h"
#include "relay/core.h"

#include <stdio.h>
#include <stdlib.h>

#define REALM	 0x1111222233334444u
#define PROCS	 26u
#define EACH	 970u /* doors of a process that stand: 4 * 26 * 970 = 100 880 */
#define A_BATCH	 10u  /* registered each millisecond by each, while the world fills */
#define IMPORTED 48u  /* of a process: doors elsewhere that it keeps */
#define PAIRS	 104u /* standing ones that talk: one import of each process */
#define A_SECOND 1000u
#define SECONDS	 5u
#define LIFE_NS	 BASE_S_NS
#define WAN_NS	 (20 * BASE_MS_NS)
#define GIGABIT	 125000000u

struct comer {
	uint32_t door, import; /* NONE: not yet */
	bool asked;
	uint64_t leaves_ns;
};

struct crowd {
	struct doors *w;
	uint32_t pair[PAIRS]; /* imports */
	struct comer comer[A_SECOND * SECONDS];
	uint32_t n, gone;  /* comers that came; the first of them have left */
	uint64_t first_ns; /* longest from REGISTER to the first byte */
	uint64_t alone_ns; /* longest answer to a standing pair before anybody came */
};

/* ---- what stands ---- */

static void
fill_world(struct doors *w)
{
	for (uint32_t n = 0; n < EACH && !w->s->failed; n += A_BATCH) {
		for (uint32_t i = 0; i < w->nprocs * A_BATCH; i++)
			(void)doors_register(&w->proc[i % w->nprocs], 1, REALM);
		doors_pass(w, BASE_MS_NS);
	}
	doors_pass(w, BASE_S_NS);
	uint32_t open = 0;
	for (uint32_t i = 0; i < w->ndoors; i++)
		open += w->door[i].state == DOOR_STATE_OPEN;
	INVARIANT(w->s, COMPLETE, open == w->nprocs * EACH, "%u of %u doors are open", open,
		  w->nprocs * EACH);
}

/* A door of the process, and one of another cluster: doors were registered in turn. */
static uint32_t
import_one(struct doors *w, struct doors_proc *p, uint32_t k)
{
	uint32_t own = p->index + k % EACH * w->nprocs, to;
	do {
		to = (uint32_t)base_prng_below(&w->prng, w->nprocs * EACH);
	} while (w->proc[w->door[to].proc].g.cluster == p->g.cluster);
	return doors_import(p, own, to, &w->door[to].at);
}

static void
import_standing(struct crowd *c)
{
	struct doors *w = c->w;
	for (uint32_t k = 0; k < IMPORTED && !w->s->failed; k++) {
		for (uint32_t i = 0; i < w->nprocs; i++) {
			uint32_t m = import_one(w, &w->proc[i], k);
			if (k == 0)
				c->pair[i] = m;
		}
		doors_pass(w, BASE_MS_NS);
	}
	doors_pass(w, 4 * BASE_S_NS);
	uint32_t held = 0;
	for (uint32_t i = 0; i < w->nimports; i++)
		held += w->import[i].state == IMPORT_HELD;
	INVARIANT(w->s, COMPLETE, held == w->nprocs * IMPORTED, "%u of %u imports are held", held,
		  w->nprocs * IMPORTED);
}

static void
talk(struct crowd *c)
{
	for (uint32_t i = 0; i < PAIRS; i++) {
		const struct doors_import *m = &c->w->import[c->pair[i]];
		if (m->answered == m->asked)
			doors_ask(c->w, c->pair[i]);
	}
}

/* Also of the answer that is still to come. */
static uint64_t
longest_answer(const struct crowd *c)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < PAIRS; i++) {
		const struct doors_import *m = &c->w->import[c->pair[i]];
		most = base_max_ns(most, m->wait_ns);
		if (m->answered != m->asked)
			most = base_max_ns(most, c->w->s->now_ns - m->asked_ns);
	}
	return most;
}

/* ---- who comes and goes ---- */

static void
join_one(struct crowd *c)
{
	struct doors *w = c->w;
	struct doors_proc *p = &w->proc[base_prng_below(&w->prng, w->nprocs)];
	uint32_t door = doors_register(p, 1, REALM);
	INVARIANT(w->s, COMPLETE, door != DOORS_NONE, "process %u has no place for a door",
		  p->index);
	if (door != DOORS_NONE)
		c->comer[c->n++] = (struct comer){
			.door = door, .import = DOORS_NONE, .leaves_ns = w->s->now_ns + LIFE_NS};
}

/* Imported as soon as it has its address, asked as soon as it has a name. */
static void
drive_comer(struct crowd *c, struct comer *x)
{
	struct doors *w = c->w;
	const struct doors_door *d = &w->door[x->door];
	if (d->state != DOOR_STATE_OPEN || x->asked)
		return;
	if (x->import == DOORS_NONE) {
		uint32_t i = (d->proc + 1) % w->nprocs; /* the next cluster's */
		x->import = doors_import(&w->proc[i], i, x->door, &d->at);
		return;
	}
	const struct doors_import *m = &w->import[x->import];
	if (m->state != IMPORT_HELD && !m->named)
		return;
	doors_ask(w, x->import);
	x->asked = true;
}

static void
leave_one(struct crowd *c, const struct comer *x)
{
	struct doors *w = c->w;
	const struct doors_door *d = &w->door[x->door];
	INVARIANT(w->s, COMPLETE, d->first_ns, "door %u stood for a second and nobody reached it",
		  x->door);
	if (d->first_ns)
		c->first_ns = base_max_ns(c->first_ns, d->first_ns - d->asked_ns);
	doors_leave(w, x->door);
}

static void
come_and_go(struct crowd *c)
{
	struct doors *w = c->w;
	for (uint32_t ms = 0; c->gone < A_SECOND * SECONDS && !w->s->failed; ms++) {
		if (c->n < A_SECOND * SECONDS)
			join_one(c);
		for (uint32_t i = c->gone; i < c->n; i++)
			drive_comer(c, &c->comer[i]);
		while (c->gone < c->n && c->comer[c->gone].leaves_ns <= w->s->now_ns)
			leave_one(c, &c->comer[c->gone++]);
		talk(c);
		doors_pass(w, BASE_MS_NS);
		if (ms % 256 == 0)
			doors_check(w);
	}
}

/* ---- what must hold ---- */

static void
check_crowd(struct crowd *c)
{
	struct doors *w = c->w;
	uint64_t trip = 2 * WAN_NS, wait = longest_answer(c);
	uint32_t members = 0;
	INVARIANT(w->s, PROMPT, wait <= c->alone_ns + trip,
		  "a pair that stands waited for %llu us, alone for %llu",
		  (unsigned long long)wait / 1000, (unsigned long long)c->alone_ns / 1000);
	INVARIANT(w->s, PROMPT, c->first_ns <= 2 * trip, "first byte after %llu us, may be %llu",
		  (unsigned long long)c->first_ns / 1000, (unsigned long long)2 * trip / 1000);
	doors_pass(w, 2 * BASE_S_NS);
	for (uint32_t i = 0; i < c->n && !w->s->failed; i++) {
		const struct doors_import *m = &w->import[c->comer[i].import];
		INVARIANT(w->s, TOLD, m->state == IMPORT_GONE,
			  "process %u was not told that door %u left", m->proc, m->target);
	}
	for (uint32_t i = 0; i < w->nrelays; i++) {
		struct relay_door_info d;
		relay_core_doors(w->relay[i].core, &d);
		members += d.own;
	}
	INVARIANT(w->s, EMPTY, members == w->nprocs * EACH, "relays have %u doors and %u stand",
		  members, w->nprocs * EACH);
	doors_check(w);
}

void
doors_many_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct doors_conf conf;
	doors_conf_default(&conf);
	conf.nclusters = DOORS_CLUSTERS;
	conf.procs = PROCS;
	conf.wan_ns = WAN_NS;
	conf.wan_bytes_s = GIGABIT;
	conf.doors_max = 2 * PROCS * EACH;
	conf.imports_max = 2 * PROCS * (IMPORTED + A_SECOND / 4);
	conf.per_proc_max = DOORS_OWN;
	conf.asks_per_s = 100000;
	conf.most = DOORS_CLUSTERS * PROCS * (EACH + IMPORTED) + A_SECOND * SECONDS;
	struct crowd *c = calloc(1, sizeof *c);
	BASE_ASSERT(c);
	struct doors *w = c->w = doors_new(seed, verbose, &conf);
	doors_pass(w, BASE_S_NS);
	fill_world(w);
	if (!w->s->failed)
		import_standing(c);
	for (uint32_t ms = 0; ms < 1000 && !w->s->failed; ms++) {
		talk(c);
		doors_pass(w, BASE_MS_NS);
	}
	c->alone_ns = longest_answer(c);
	come_and_go(c);
	if (!w->s->failed)
		check_crowd(c);
	snprintf(o->note, sizeof o->note,
		 "%u members, %u imports, %u came and left in %u s; first byte after %llu.%02llu "
		 "round trips at most; a standing pair's answer %llu us, %llu before",
		 w->nprocs * EACH, w->nprocs * IMPORTED, c->gone, SECONDS + 1,
		 (unsigned long long)(c->first_ns * 100 / (2 * WAN_NS) / 100),
		 (unsigned long long)(c->first_ns * 100 / (2 * WAN_NS) % 100),
		 (unsigned long long)longest_answer(c) / 1000,
		 (unsigned long long)c->alone_ns / 1000);
	doors_finish(w, o);
	free(c);
}
