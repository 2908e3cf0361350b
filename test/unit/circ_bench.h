/* SPDX-License-Identifier: BSD-2-Clause */
/* circ_bench.h - nodes with as many ports each, on which a call is played, and what then happens.
 */
#ifndef TEST_CIRC_BENCH_H
#define TEST_CIRC_BENCH_H

#include "call.h"
#include "cmocka_all.h"
#include "model.h"
#include "sanitized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define P_MAX 64
#define K_MAX 8

static const struct circ_costs paper = {1e-4, 8e-9, 0.01, 2e-4, 8e-8, 0, 0};

struct bench {
	struct circ_slots slots;
	struct circ_slot slot[P_MAX * K_MAX];
	uint32_t ports[P_MAX];
	double zero[P_MAX], finish[P_MAX];
	double last_s; /* of the last play: the last event of its end */
	uint32_t orders, ends;
	struct circ_plan plan;
	void *mem, *run_mem;
	struct circ_run run;
};

/* links: of a pair, at most; 0: one. */
static void
bench_init(struct bench *b, uint32_t p, uint32_t k, uint32_t links)
{
	memset(b, 0, sizeof *b);
	for (uint32_t n = 0; n < p; n++)
		b->ports[n] = k;
	b->slots = (struct circ_slots){
		.nodes = p, .stride = K_MAX, .ports = b->ports, .slot = b->slot, .links = links};
	circ_slots_clear(&b->slots);
}

static void
bench_event(void *arg, double at_s, enum circ_event h, uint32_t what)
{
	struct bench *b = arg;
	(void)what;
	b->orders += h == CIRC_EVENT_ORDERED;
	if (h == CIRC_EVENT_ENDED) {
		b->ends++;
		b->last_s = at_s;
	}
}

static struct obs_result
play(struct bench *b, struct obs_call *c, enum circ_mode mode, const struct circ_costs *costs)
{
	struct circ_call_mode m = {.mode = mode, .links = b->slots.links};
	struct obs_when w = {b->zero, b->zero, b->finish, bench_event, b};
	b->orders = b->ends = 0;
	b->last_s = 0;
	return obs_call_run(c, &m, &b->slots, costs, NULL, &w);
}

#endif
