/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulator's own test: a fault it must notice, and the same fault where the
 * protocol must repair it. */
#include "scenario.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

static uint64_t
size(void *arg, uint32_t i)
{
	(void)arg;
	return 5000 + 100 * i;
}

struct flip {
	uint32_t seen, every, flipped;
};

/* Flips a bit of the last payload byte of every n-th datagram that has a payload: what
 * the UDP checksum did not see. */
static bool
flip_payload(void *who, const struct sim_buf *b)
{
	struct flip *f = who;
	if (b->len < SUCI_PATH_HDR + SUCI_LANE_HDR || (b->data[0] & 0x0f) != SUCI_T_DATA)
		return false;
	size_t head = SUCI_PATH_HDR + (size_t)be16_load(b->data + 2) + SUCI_LANE_HDR;
	/* The first link of its way only: a bit flipped twice is whole again. */
	if (b->len < head + 100 || b->hop || ++f->seen % f->every)
		return false;
	b->data[b->len - 1] ^= 0x10;
	f->flipped++;
	return false;
}

static struct world *
run(uint64_t seed, bool verbose, bool crc, bool relays, struct flip *f)
{
	struct world_conf c;
	struct sim *s = sim_new(seed);
	s->verbose = verbose;
	world_conf_default(&c);
	c.direct_crc = crc;
	if (relays) {
		c.nclusters = 2;
		c.cluster[0] = c.cluster[1] = (struct cluster_conf){1, 1};
	}
	c.forged = true;
	struct world *w = world_new(s, &c);
	world_stream(w, 0, 1, 50, size, NULL);
	for (uint32_t i = w->private_links_first; i < w->private_links_end; i++) {
		s->link[i].aim = flip_payload;
		s->link[i].aim_who = f;
	}
	world_start(w);
	sim_run(s, s->now_ns + 10 * BASE_S_NS, world_quiet, w);
	return w;
}

/* Without a CRC wrong bytes arrive, and must be found. */
void
canary_run(uint64_t seed, bool verbose, struct outcome *o)
{
	struct flip f = {.every = 7};
	struct world *w = run(seed, verbose, false, false, &f);
	bool noticed = w->s->failed && strstr(w->s->why, "wrong bytes");
	scenario_end(w, o);
	o->ok = noticed;
	if (!noticed)
		snprintf(o->why, sizeof o->why,
			 "a flipped bit went unnoticed: the simulator checks nothing");
	snprintf(o->note, sizeof o->note, "a flipped bit without CRC is noticed");
}

static void
crc(uint64_t seed, bool verbose, bool relays, struct outcome *o)
{
	struct flip f = {.every = 7};
	struct world *w = run(seed, verbose, true, relays, &f);
	INVARIANT(w->s, COMPLETE, world_quiet(w), "not complete");
	/* Over relays a bit may be flipped twice. */
	uint64_t found = suci_lane_counters(w->end[1].lanes)->drop_crc;
	SIM_CHECK(w->s, f.flipped && (relays ? found && found <= f.flipped : found == f.flipped),
		  "%u segments flipped, %llu counted as drop_crc", f.flipped,
		  (unsigned long long)found);
	snprintf(o->note, sizeof o->note, "%u flipped segments found by the CRC and sent again",
		 f.flipped);
	scenario_end(w, o);
}

/* With it they are refused and sent again. */
void
crc_run(uint64_t seed, bool verbose, struct outcome *o)
{
	crc(seed, verbose, false, o);
}

/* What is garbled on the way to a relay is garbled in the relay: only its sender can help. */
void
crc_relays_run(uint64_t seed, bool verbose, struct outcome *o)
{
	crc(seed, verbose, true, o);
}
