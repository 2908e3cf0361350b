/* SPDX-License-Identifier: BSD-2-Clause */
/* A WAN that loses packets by chance: what is left of an all-to-all with the blocks of NPB's IS,
 * class A, on 2 x 4 processes (512 KiB each) over one trunk of 1 Gb/s.  Bars are multiples of what
 * the same calls take without loss. */
#include "eval.h"

#include <stdio.h>

#define MS(ns) (unsigned long long)((ns) / BASE_MS_NS)

struct lossy {
	uint64_t delay_ns;
	uint32_t loss_ppb[2];
	uint32_t times10[2]; /* tenths */
};

static bool
run(const struct lossy *x, uint32_t loss_ppb, uint64_t seed, bool verbose, struct eval_result *r,
    struct outcome *o)
{
	struct eval_conf c;
	eval_conf_default(&c);
	c.ranks = 4;
	c.relays = 1;
	c.bytes = 524288;
	c.vary_pc = 2;
	c.warm = 1;
	c.iterations = 5;
	c.wan_delay_ns = x->delay_ns;
	c.wan_loss_ppb = loss_ppb;
	c.seed = seed;
	c.verbose = verbose;
	return eval_point(&c, r, o);
}

static void
compare(const struct lossy *x, uint64_t seed, bool verbose, struct outcome *o)
{
	struct eval_result none, r;
	if (!run(x, 0, seed, verbose, &none, o))
		return;
	int at = snprintf(o->note, sizeof o->note, "call %llu ms without loss (wires: %llu)",
			  MS(none.call_ns), MS(none.bound_ns));
	bool good = true;
	for (uint32_t k = 0; k < 2; k++) {
		if (!run(x, x->loss_ppb[k], seed, verbose, &r, o))
			return;
		at += snprintf(o->note + at, sizeof o->note - (size_t)at,
			       ", %llu (longest %llu) with %u in 100 000 lost", MS(r.call_ns),
			       MS(r.worst_ns), x->loss_ppb[k] / 10000);
		good = good && r.call_ns * 10 <= none.call_ns * x->times10[k];
	}
	if (good)
		return;
	o->ok = false;
	snprintf(o->why, sizeof o->why, "%s; wanted %u.%u and %u.%u times", o->note,
		 x->times10[0] / 10, x->times10[0] % 10, x->times10[1] / 10, x->times10[1] % 10);
}

void
chance_near(uint64_t seed, bool verbose, struct outcome *o)
{
	static const struct lossy x = {10 * BASE_MS_NS, {1000000, 10000000}, {25, 50}};
	compare(&x, seed, verbose, o);
}

void
chance_far(uint64_t seed, bool verbose, struct outcome *o)
{
	static const struct lossy x = {50 * BASE_MS_NS, {1000000, 10000000}, {30, 60}};
	compare(&x, seed, verbose, o);
}
