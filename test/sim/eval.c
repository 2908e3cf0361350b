/* SPDX-License-Identifier: BSD-2-Clause */
/* A small part of the evaluation (doc/evaluation.md, make eval-relay) as assertions: 2 x 16
 * processes, no delay. */
#include "eval.h"

#include <stdio.h>

#define US(ns) (unsigned long long)((ns) / 1000)

bool
eval_point(struct eval_conf *c, struct eval_result *r, struct outcome *o)
{
	const char *why;
	if (!eval_costs_read(EVAL_COSTS_FILE, &c->costs, &why)) {
		o->ok = false;
		snprintf(o->why, sizeof o->why, "%s: %s", EVAL_COSTS_FILE, why);
		return false;
	}
	eval_alltoall(c, r);
	o->hash = o->hash * 31 + r->hash;
	o->events += r->events;
	o->virtual_ns += r->virtual_ns;
	o->ok = r->ok;
	if (!r->ok)
		snprintf(o->why, sizeof o->why, "%.380s", r->why);
	return r->ok;
}

static void
base_conf(struct eval_conf *c, uint64_t seed, bool verbose)
{
	eval_conf_default(c);
	c->algorithm = "linear";
	c->seed = seed;
	c->verbose = verbose;
}

static void
want(struct outcome *o, bool yes, const char *what)
{
	if (!o->ok || yes)
		return;
	o->ok = false;
	snprintf(o->why, sizeof o->why, "%s; wanted %s", o->note, what);
}

/* Each doubling of the trunks halves the time, within 5 %. */
void
eval_trunks(uint64_t seed, bool verbose, struct outcome *o)
{
	static const uint64_t bytes[] = {4096, 16384};
	int at = snprintf(o->note, sizeof o->note, "1, 2, 4, 8 trunks:");
	bool halves = true;
	for (uint32_t b = 0; b < 2; b++) {
		uint64_t before = 0;
		at += snprintf(o->note + at, sizeof o->note - (size_t)at, " %llu KB",
			       (unsigned long long)bytes[b] / 1024);
		for (uint32_t k = 1; k <= 8; k *= 2) {
			struct eval_conf c;
			struct eval_result r;
			base_conf(&c, seed, verbose);
			c.bytes = bytes[b];
			c.relays = k;
			if (!eval_point(&c, &r, o))
				return;
			at += snprintf(o->note + at, sizeof o->note - (size_t)at, " %llu",
				       US(r.call_ns));
			halves = halves && (!before || r.call_ns * 200 <= before * 105);
			before = r.call_ns;
		}
		at += snprintf(o->note + at, sizeof o->note - (size_t)at, " us%s", b ? "" : ",");
	}
	want(o, halves, "half the time each, within 5 %");
}

/* More trunks are no harm to small messages. */
void
eval_small(uint64_t seed, bool verbose, struct outcome *o)
{
	static const uint64_t bytes[] = {8, 64, 512};
	int at = snprintf(o->note, sizeof o->note, "1 and 8 trunks:");
	bool good = true;
	for (uint32_t b = 0; b < 3; b++) {
		uint64_t took[2];
		for (uint32_t k = 0; k < 2; k++) {
			struct eval_conf c;
			struct eval_result r;
			base_conf(&c, seed, verbose);
			c.bytes = bytes[b];
			c.relays = k ? 8 : 1;
			if (!eval_point(&c, &r, o))
				return;
			took[k] = r.call_ns;
		}
		at += snprintf(o->note + at, sizeof o->note - (size_t)at,
			       " %llu B %llu and %llu us", (unsigned long long)bytes[b],
			       US(took[0]), US(took[1]));
		good = good && took[1] <= took[0];
	}
	want(o, good, "no more with 8");
}

/* IS: blocks of about 128 KB, 8 trunks against kernel TCP without relays, which runs into
 * its timeouts as the paper saw. */
void
eval_is(uint64_t seed, bool verbose, struct outcome *o)
{
	struct eval_conf c;
	struct eval_result r[3];
	for (uint32_t k = 0; k < 3; k++) {
		base_conf(&c, seed, verbose);
		c.bytes = 131072;
		c.vary_pc = 12;
		c.pause_ns = BASE_MS_NS;
		c.warm = 1;
		c.iterations = 2;
		c.relays = k ? 0 : 8;
		c.transport = k == 1 ? EVAL_TCP : EVAL_SUCI;
		if (!eval_point(&c, &r[k], o))
			return;
	}
	snprintf(o->note, sizeof o->note,
		 "8 trunks %llu us, no relay TCP %llu us (%llu timeouts), no relay Suci %llu us; "
		 "idle at most %llu us, round trip %llu us, %llu probes",
		 US(r[0].call_ns), US(r[1].call_ns), (unsigned long long)r[1].timeouts,
		 US(r[2].call_ns), US(r[0].idle_ns), US(r[0].rtt_ns),
		 (unsigned long long)r[0].timeouts);
	want(o, r[1].call_ns * 10 >= r[0].call_ns * 22, "2.2 times the TCP of no relay");
	want(o, r[0].idle_ns <= 2 * r[0].rtt_ns, "no more than two round trips idle");
}

/* 256 KB by the long protocol over two relays: the paper has 67 % of direct. */
void
eval_long(uint64_t seed, bool verbose, struct outcome *o)
{
	struct eval_result r[2];
	for (uint32_t k = 0; k < 2; k++) {
		struct eval_conf c;
		const char *why = "";
		base_conf(&c, seed, verbose);
		c.ranks = 1;
		c.relays = k;
		c.bytes = 262144;
		if (!eval_costs_read(EVAL_COSTS_FILE, &c.costs, &why)) {
			snprintf(o->why, sizeof o->why, "%s: %s", EVAL_COSTS_FILE, why);
			return;
		}
		eval_pingpong(&c, &r[k]);
		o->ok = r[k].ok;
		o->hash = o->hash * 31 + r[k].hash;
		o->events += r[k].events;
		if (!o->ok) {
			snprintf(o->why, sizeof o->why, "%.380s", r[k].why);
			return;
		}
	}
	uint64_t permille = r[0].call_ns * 1000 / r[1].call_ns;
	snprintf(o->note, sizeof o->note,
		 "256 KB ping-pong: direct %llu us, over two relays %llu us: %llu.%llu %%",
		 US(r[0].call_ns), US(r[1].call_ns), (unsigned long long)permille / 10,
		 (unsigned long long)permille % 10);
	want(o, permille >= 900, "90 %");
}
