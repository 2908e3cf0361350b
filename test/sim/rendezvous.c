/* SPDX-License-Identifier: BSD-2-Clause */
/* Long messages over relays and without: 256 KB with DATALEN 64 KB, the IMPI long
 * protocol (reference 5.3) as libmpi runs it.  The relay paper lost a third of the
 * throughput here; the bound is 95 % of what two hosts with global addresses get over
 * the same WAN.  Both in one run, in virtual time, so the ratio is exact. */
#include "scenario.h"

#include <stdio.h>

#define MESSAGES 60u
#define PACKETS	 4u /* of a message: DATASYNC and three DATA */
#define DATALEN	 65536ull

/* DATASYNC and DATA one way, SYNCACK the other. */
struct dance {
	struct stream *there, *back;
	uint64_t begun_ns, ended_ns;
};

static uint64_t
data_bytes(void *arg, uint32_t i)
{
	(void)arg;
	(void)i;
	return HEAD_BYTES + DATALEN;
}

static uint64_t
ack_bytes(void *arg, uint32_t i)
{
	(void)arg;
	(void)i;
	return HEAD_BYTES;
}

static void
drive_later(struct sim *s, void *who, uint64_t arg)
{
	(void)s;
	(void)arg;
	end_drive(who);
}

static void
may_send(struct stream *st, uint32_t n)
{
	struct world *w = st->w;
	stream_allow(st, st->allowed + n);
	sim_at(w->s, w->s->now_ns, drive_later, &w->end[st->src], 0);
}

/* A receive is posted for every message, so each DATASYNC is answered at once.  After the
 * answer the rest goes out, and behind it the next message begins: MPI_Send in a loop. */
static void
placed(struct stream *st, uint32_t i)
{
	struct dance *d = st->w->scenario;

	if (st == d->there && i % PACKETS == 0)
		may_send(d->back, 1);
	if (st == d->back)
		may_send(d->there, i + 1 < MESSAGES ? PACKETS : PACKETS - 1);
	/* The first messages open path, lane and window. */
	if (st == d->there && i + 1 == 10 * PACKETS)
		d->begun_ns = st->w->s->now_ns;
	if (st == d->there && i + 1 == MESSAGES * PACKETS)
		d->ended_ns = st->w->s->now_ns;
}

/* Nanoseconds of the last MESSAGES - 10 messages; 0 if the run failed (o says why). */
static uint64_t
run(uint32_t relays, uint64_t seed, bool verbose, struct outcome *o)
{
	struct world_conf c;
	struct dance d = {0};

	world_conf_default(&c);
	if (relays) {
		c.nclusters = 2;
		c.cluster[0] = c.cluster[1] = (struct cluster_conf){1, relays};
	} else {
		/* Two hosts on the WAN's own links. */
		c.private_mtu = c.global_mtu;
		c.private_nic = c.global_nic;
		c.private_nic.delay_ns += c.trunk.delay_ns;
	}
	c.start_ns = 100 * BASE_MS_NS;
	c.end.limits.segments_max = 16384;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	struct world *w = world_new(s, &c);
	world_stream(w, 0, 1, MESSAGES * PACKETS, data_bytes, NULL);
	world_stream(w, 1, 0, MESSAGES, ack_bytes, NULL);
	d.there = &w->stream[0];
	d.back = &w->stream[1];
	d.there->manual = d.back->manual = true;
	d.there->outstanding_max = 2 * PACKETS;
	stream_allow(d.there, 1);
	w->scenario = &d;
	w->on_placed = placed;
	world_start(w);
	sim_run(s, s->now_ns + 60 * BASE_S_NS, world_quiet, w);
	SIM_CHECK(s, world_quiet(w), "not complete after 60 s");
	uint64_t took = d.ended_ns - d.begun_ns;
	scenario_end(w, o);
	return o->ok ? took : 0;
}

void
speed_rendezvous(uint64_t seed, bool verbose, struct outcome *o)
{
	struct outcome direct = {0};
	uint64_t without = run(0, seed, verbose, &direct);
	uint64_t with = run(1, seed, verbose, o);

	if (!direct.ok || !o->ok) {
		if (!direct.ok)
			*o = direct;
		return;
	}
	uint64_t permille = without * 1000 / with;
	snprintf(o->note, sizeof o->note,
		 "256 KB messages, DATALEN 64 KB: %llu us each over two relays, %llu us without: "
		 "%llu.%llu %% of the throughput",
		 (unsigned long long)with / 1000 / (MESSAGES - 10),
		 (unsigned long long)without / 1000 / (MESSAGES - 10),
		 (unsigned long long)permille / 10, (unsigned long long)permille % 10);
	if (permille < 950) {
		o->ok = false;
		snprintf(o->why, sizeof o->why, "%s; wanted 95 %%", o->note);
	}
}
