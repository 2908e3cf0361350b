/* SPDX-License-Identifier: BSD-2-Clause */
#include "circ/run.h"

#include "base/assert.h"
#include "base/carve.h"

#include <string.h>

enum { WAITING, ORDERED, LIT, ENDED, FAILED };

/* Who may wait for the end of a circuit: for a port at each end, for each of its places. */
#define NEXTS (2 + CIRC_POOLS)

static uint32_t
nodes(const struct circ_plan *p)
{
	uint32_t n = 0;
	for (uint32_t j = 0; j < p->setups; j++)
		n = p->setup[j].b >= n ? p->setup[j].b + 1 : n;
	return n;
}

size_t
circ_run_bound(uint32_t setups, uint32_t batches, uint32_t n)
{
	return 2 * base_carved(setups) + 2 * base_carved((size_t)setups * 4) +
	       5 * base_carved((size_t)setups * 8) + base_carved((size_t)setups * 4 * NEXTS) +
	       base_carved((size_t)batches * 4) + base_carved((size_t)n * 4) + BASE_CARVE_ALIGN;
}

/* An extra link of a pair: messages do not wait for it. */
static bool
is_extra(const struct circ_run *r, uint32_t j)
{
	return r->plan->setup[j].first != CIRC_NONE;
}

static bool
helps(const struct circ_run *r, uint32_t extra, uint32_t message)
{
	const struct circ_setup *u = &r->plan->setup[extra];
	return r->plan->nth[message] >= u->from && r->plan->nth[message] < u->until;
}

static void
enqueue_run(struct circ_run *r, uint32_t j)
{
	r->queue[r->tail++] = j;
}

/* The ports of set-up j are free: those that wait for them may go. */
static void
end_run(struct circ_run *r, uint32_t j)
{
	for (uint32_t i = 0; i < NEXTS; i++) {
		uint32_t n = r->next[NEXTS * j + i];
		r->next[NEXTS * j + i] = CIRC_NONE;
		if (n != CIRC_NONE && --r->waits[n] == 0)
			enqueue_run(r, n);
	}
}

static void
end_if_idle(struct circ_run *r, uint32_t j)
{
	if (r->state[j] == LIT && r->left[j] == 0) {
		r->state[j] = ENDED;
		end_run(r, j);
	}
}

static void
free_one(struct circ_run *r, uint32_t j)
{
	if (--r->waits[j] == 0)
		enqueue_run(r, j);
}

/* Turns begin when all messages of the batches before are over. */
static void
open_turns(struct circ_run *r)
{
	const struct circ_plan *p = r->plan;
	while (r->batch < p->batches) {
		for (; r->batch_setup < p->setups && p->setup[r->batch_setup].batch == r->batch;
		     r->batch_setup++)
			if (p->setup[r->batch_setup].turn)
				free_one(r, r->batch_setup);
		if (r->batch_left[r->batch])
			return;
		r->batch++;
	}
}

/* A node is through with a batch: its part in what waits for that, and its next stay. */
static void
leave_circuits_run(struct circ_run *r, uint32_t stay)
{
	while (stay != CIRC_NONE && --r->stay_left[stay] == 0) {
		for (uint32_t e = r->stay_first[stay]; e != CIRC_NONE; e = r->stay_more[e])
			free_one(r, e / 2);
		stay = r->stay_next[stay];
	}
}

/* Number the stays of all nodes in all batches, in the order of the plan: a stay is named by
 * the first end of a set-up in it; next[] has the node's stay before. */
static void
count_stays(struct circ_run *r, uint32_t *last, uint32_t n)
{
	const struct circ_plan *p = r->plan;
	memset(last, 0xff, (size_t)n * 4);
	for (uint32_t e = 0; e < 2 * p->setups; e++) {
		const struct circ_setup *u = &p->setup[e / 2];
		uint32_t node = e & 1 ? u->b : u->a, s = last[node];
		if (s == CIRC_NONE || p->setup[s / 2].batch != u->batch) {
			r->stay_left[e] = s != CIRC_NONE;
			r->stay_first[e] = r->stay_next[e] = CIRC_NONE;
			r->next[e] = s;
			if (s != CIRC_NONE)
				r->stay_next[s] = e;
			last[node] = s = e;
		}
		r->stay[e] = s;
		r->stay_left[s] += u->messages;
	}
}

static void
start_batches(struct circ_run *r, uint32_t *last, uint32_t n)
{
	const struct circ_plan *p = r->plan;
	count_stays(r, last, n);
	for (uint32_t e = 0; e < 2 * p->setups; e++) {
		uint32_t before = r->next[r->stay[e]];
		if (!(e & 1) && p->setup[e / 2].turn)
			r->waits[e / 2]++;
		if (before == CIRC_NONE)
			continue;
		r->waits[e / 2]++;
		r->stay_more[e] = r->stay_first[before];
		r->stay_first[before] = e;
	}
	for (uint32_t j = 0; j < p->setups; j++)
		if (!r->waits[j])
			enqueue_run(r, j);
	for (uint32_t m = 0; m < p->demands; m++)
		r->batch_left[p->batch[m]]++;
	open_turns(r);
}

static void
wait_for(struct circ_run *r, uint32_t j, uint32_t before)
{
	if (before == CIRC_NONE)
		return;
	r->waits[j]++;
	/* One circuit has two ends and some places; one set-up at most takes over each. */
	uint32_t i = 0;
	while (r->next[NEXTS * before + i] != CIRC_NONE) {
		i++;
		BASE_ASSERT(i < NEXTS);
	}
	r->next[NEXTS * before + i] = j;
}

static bool
waits_for_none(const struct circ_setup *u)
{
	bool none = u->before_a == CIRC_NONE && u->before_b == CIRC_NONE;
	for (uint32_t i = 0; i < CIRC_POOLS; i++)
		none &= u->before_place[i] == CIRC_NONE;
	return none;
}

void
circ_run_start(struct circ_run *r, const struct circ_plan *p, void *mem)
{
	uint8_t *at = base_carve_from(mem);
	*r = (struct circ_run){.plan = p};
	r->state = base_carve(&at, p->setups);
	r->waits = base_carve(&at, p->setups);
	r->left = base_carve(&at, (size_t)p->setups * 4);
	r->queue = base_carve(&at, (size_t)p->setups * 4);
	r->next = base_carve(&at, (size_t)p->setups * 4 * NEXTS);
	r->stay = base_carve(&at, (size_t)p->setups * 8);
	r->stay_left = base_carve(&at, (size_t)p->setups * 8);
	r->stay_next = base_carve(&at, (size_t)p->setups * 8);
	r->stay_first = base_carve(&at, (size_t)p->setups * 8);
	r->stay_more = base_carve(&at, (size_t)p->setups * 8);
	r->batch_left = base_carve(&at, (size_t)p->batches * 4);
	uint32_t n = nodes(p), *last = base_carve(&at, (size_t)n * 4);
	memset(r->state, WAITING, p->setups);
	memset(r->waits, 0, p->setups);
	memset(r->next, 0xff, (size_t)p->setups * 4 * NEXTS);
	memset(r->batch_left, 0, (size_t)p->batches * 4);
	for (uint32_t j = 0; j < p->setups; j++) {
		r->left[j] = is_extra(r, j) ? p->setup[j].until - p->setup[j].from
					    : p->setup[j].messages;
		if (p->setup[j].kept)
			r->state[j] = LIT;
	}
	if (circ_mode_batches(r->plan->mode)) {
		start_batches(r, last, n);
		return;
	}
	for (uint32_t j = 0; j < p->setups; j++) {
		wait_for(r, j, p->setup[j].before_a);
		wait_for(r, j, p->setup[j].before_b);
		for (uint32_t i = 0; i < CIRC_POOLS; i++)
			wait_for(r, j, p->setup[j].before_place[i]);
	}
	for (uint32_t j = 0; j < p->setups; j++) {
		if (p->setup[j].kept)
			end_if_idle(r, j);
		else if (waits_for_none(&p->setup[j]))
			enqueue_run(r, j);
	}
}

/* An extra link whose messages are over before its ports were free: nobody needs it. */
static bool
comes_too_late(const struct circ_run *r, uint32_t j)
{
	return is_extra(r, j) && r->state[j] == WAITING && r->left[j] == 0 &&
	       !circ_mode_batches(r->plan->mode);
}

uint32_t
circ_run_order(struct circ_run *r)
{
	while (r->head != r->tail) {
		uint32_t j = r->queue[r->head++];
		if (comes_too_late(r, j)) {
			r->state[j] = ENDED;
			end_run(r, j);
			continue;
		}
		if (r->state[j] == WAITING)
			r->state[j] = ORDERED;
		return j;
	}
	return CIRC_NONE;
}

void
circ_run_comes(struct circ_run *r, uint32_t j)
{
	if (r->state[j] == LIT)
		r->state[j] = ORDERED;
}

void
circ_run_lit(struct circ_run *r, uint32_t j)
{
	if (r->state[j] != ORDERED)
		return;
	r->state[j] = LIT;
	if (!circ_mode_batches(r->plan->mode))
		end_if_idle(r, j);
}

void
circ_run_failed(struct circ_run *r, uint32_t j)
{
	uint8_t was = r->state[j];
	r->state[j] = FAILED;
	if (!circ_mode_batches(r->plan->mode) && was != ENDED && was != FAILED)
		end_run(r, j);
}

enum circ_way
circ_run_way(const struct circ_run *r, uint32_t m)
{
	uint32_t j = r->plan->by[m];
	if (j == CIRC_NONE)
		return CIRC_WAY_PACKET;
	if (circ_run_link(r, m, 0) != CIRC_NONE)
		return CIRC_WAY_LIGHT;
	return r->state[j] == FAILED ? CIRC_WAY_PACKET : CIRC_WAY_WAIT;
}

uint32_t
circ_run_link(const struct circ_run *r, uint32_t m, uint32_t i)
{
	const struct circ_setup *u = r->plan->setup;
	uint32_t j = r->plan->by[m];
	for (uint32_t x = j; x != CIRC_NONE; x = u[x].more)
		if (r->state[x] == LIT && (x == j || helps(r, x, m)) && i-- == 0)
			return x;
	return CIRC_NONE;
}

uint32_t
circ_run_links(const struct circ_run *r, uint32_t m)
{
	uint32_t n = 0;
	while (circ_run_link(r, m, n) != CIRC_NONE)
		n++;
	return n;
}

void
circ_run_over(struct circ_run *r, uint32_t m)
{
	uint32_t j = r->plan->by[m];
	if (j != CIRC_NONE) {
		BASE_ASSERT(r->left[j] > 0);
		r->left[j]--;
	}
	for (uint32_t x = j == CIRC_NONE ? j : r->plan->setup[j].more; x != CIRC_NONE;
	     x = r->plan->setup[x].more) {
		if (!helps(r, x, m))
			continue;
		r->left[x]--;
		if (!circ_mode_batches(r->plan->mode))
			end_if_idle(r, x);
	}
	if (circ_mode_batches(r->plan->mode)) {
		if (j != CIRC_NONE) {
			leave_circuits_run(r, r->stay[2 * j]);
			leave_circuits_run(r, r->stay[2 * j + 1]);
		}
		r->batch_left[r->plan->batch[m]]--;
		open_turns(r);
	} else if (j != CIRC_NONE) {
		end_if_idle(r, j);
	}
}
