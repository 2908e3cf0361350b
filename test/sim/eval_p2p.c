/* SPDX-License-Identifier: BSD-2-Clause */
/* Ping-pong between a process of each cluster: the paper's figure 5.  A message above
 * DATALEN goes by the IMPI long protocol, as in libmpi over relays: the first packet, the
 * answer, the rest. */
#include "eval.h"

#include "base/assert.h"
#include "impi/wire.h"

#include <stdio.h>
#include <stdlib.h>

struct pingpong {
	const struct eval_conf *c;
	struct world *w;
	struct stream *st[2];	  /* from 0, from 1 */
	uint32_t packets, rounds; /* packets of a message */
	uint32_t got[2];	  /* packets of the message that comes in at that side */
	uint32_t done;		  /* round trips */
	uint64_t begun_ns, took_ns;
};

/* Of one side: each message is its packets, and one answer to each of the other side's. */
static uint32_t
blocks_of_message(const struct pingpong *p)
{
	return p->packets + (p->packets > 1);
}

/* In both directions the packets of a message go first, then the answer to the
 * other side's first packet; side 1 begins with the answer. */
static uint64_t
block_bytes(const struct pingpong *p, uint32_t side, uint32_t i)
{
	uint32_t k = i % blocks_of_message(p);
	uint64_t last = p->c->bytes - (uint64_t)(p->packets - 1) * p->c->datalen;
	if (p->packets > 1 && k == (side ? 0 : p->packets))
		return IMPI_PACKET_BYTES;
	k -= side && p->packets > 1;
	return IMPI_PACKET_BYTES + (k + 1 < p->packets ? p->c->datalen : last);
}

struct size_arg {
	const struct pingpong *p;
	uint32_t side;
};

static uint64_t
size_of(void *arg, uint32_t i)
{
	const struct size_arg *a = arg;
	return block_bytes(a->p, a->side, i);
}

static void
drive_later(struct sim *s, void *who, uint64_t arg)
{
	(void)s;
	(void)arg;
	end_drive(who);
}

static void
may_send(struct pingpong *p, uint32_t side, uint32_t n)
{
	struct stream *st = p->st[side];
	stream_allow(st, st->allowed + n);
	sim_at(p->w->s, p->w->s->now_ns, drive_later, &p->w->end[st->src], 0);
}

static void
came_back(struct pingpong *p)
{
	uint64_t now = p->w->s->now_ns;
	p->done++;
	if (p->done == p->c->warm)
		p->begun_ns = now;
	if (p->done == p->rounds)
		p->took_ns = now - p->begun_ns;
	else
		may_send(p, 0, 1);
}

/* Block i has come to the side that st does not begin at. */
static void
placed(struct stream *st, uint32_t i)
{
	struct pingpong *p = st->w->scenario;
	uint32_t from = st == p->st[1], to = !from;
	uint32_t k = i % blocks_of_message(p);
	if (p->packets > 1 && k == (from ? 0 : p->packets)) {
		may_send(p, to, p->packets - 1); /* the answer */
		return;
	}
	if (++p->got[to] == 1 && p->packets > 1)
		may_send(p, to, 1);
	if (p->got[to] < p->packets)
		return;
	p->got[to] = 0;
	if (to)
		may_send(p, 1, 1);
	else
		came_back(p);
}

static void
take(struct pingpong *p, struct eval_result *o)
{
	struct outcome end = {0};
	scenario_end(p->w, &end);
	o->ok = end.ok;
	snprintf(o->why, sizeof o->why, "%s", end.why);
	o->hash = end.hash;
	o->events = end.events;
	o->virtual_ns = end.virtual_ns;
	o->call_ns = p->took_ns / (p->c->iterations * 2ull);
	o->rtt_ns = eval_rtt(p->c);
}

void
eval_pingpong(const struct eval_conf *c, struct eval_result *o)
{
	struct world_conf wc;
	struct pingpong p = {.c = c};
	BASE_ASSERT(c->clusters == 2 && c->warm >= 1 && c->bytes >= 1);
	*o = (struct eval_result){0};
	p.packets = (uint32_t)((c->bytes + c->datalen - 1) / c->datalen);
	p.rounds = c->warm + c->iterations;
	eval_world_conf(c, &wc);
	struct sim *s = sim_new(c->seed);
	s->verbose = c->verbose;
	s->events_max = UINT64_MAX;
	p.w = world_new(s, &wc);
	p.w->scenario = &p;
	struct eval_net net = {.c = c, .s = s};
	eval_wire_suci(&net, p.w);
	uint32_t n = p.rounds * blocks_of_message(&p);
	struct size_arg a[2] = {{&p, 0}, {&p, 1}};
	world_stream(p.w, 0, c->ranks, n, size_of, &a[0]);
	world_stream(p.w, c->ranks, 0, n, size_of, &a[1]);
	for (uint32_t k = 0; k < 2; k++) {
		p.st[k] = &p.w->stream[k];
		p.st[k]->manual = true;
		p.st[k]->wait = true;
		p.st[k]->outstanding_max = UINT32_MAX;
	}
	p.w->on_placed = placed;
	stream_allow(p.st[0], 1);
	world_start(p.w);
	sim_run(s, s->now_ns + 600 * BASE_S_NS, world_quiet, p.w);
	SIM_CHECK(s, p.done == p.rounds, "%u of %u round trips after 600 s", p.done, p.rounds);
	take(&p, o);
}
