/* SPDX-License-Identifier: BSD-2-Clause */
/* Several engines and ports joined by a network that delivers fragments in pieces and, between
 * far processes, in any order; and the model of matching they are held against. */
#ifndef TEST_MMP_KIT_H
#define TEST_MMP_KIT_H

#include "base/prng.h"
#include "mmp/engine.h"
#include "mmp/port.h"

#include <stdlib.h>
#include <string.h>

#define KIT_SIZE_MAX 4
#define KIT_WIRE_MAX 8192

struct kit_item {
	uint32_t from, to, name;
	struct mmp_head head;
	const uint8_t *data;
	uint32_t record; /* begun there, or MMP_NONE */
	uint64_t done;
	bool begun;
};
struct kit_proc {
	struct kit *kit;
	uint32_t rank;
	struct mmp_engine *engine;
	struct mmp_port *port;
	uint8_t *send_half, *recv_half;
	void *ring[4], *memory[2];
	uint8_t lent[MMP_SENDS_MAX]; /* near: 1 + the peer that has that fragment of ours */
	bool dead;
};
struct kit {
	uint32_t size;
	bool near, in_order;
	uint64_t half;
	struct base_prng rng;
	struct kit_proc proc[KIT_SIZE_MAX];
	struct kit_item wire[KIT_WIRE_MAX];
	uint32_t items;
	uint64_t bad;	  /* fragments an engine found bad */
	uint64_t refused; /* times there was no room */
};

static bool
kit_send(void *user, uint32_t peer, const struct mmp_head *h, const void *data, uint32_t name)
{
	struct kit_proc *p = user;
	struct kit *k = p->kit;
	/* Full now and then, for no reason. */
	if (k->items == KIT_WIRE_MAX || base_prng_below(&k->rng, 16) == 0)
		return false;
	k->wire[k->items++] = (struct kit_item){.from = p->rank,
						.to = peer,
						.name = name,
						.head = *h,
						.data = data,
						.record = MMP_NONE};
	return true;
}

static void
kit_release(void *user, uint32_t peer, uint32_t cookie)
{
	struct kit_proc *p = user;
	p->kit->proc[peer].lent[cookie] = 0;
	if (!p->kit->proc[peer].dead)
		mmp_engine_sent(p->kit->proc[peer].engine, cookie);
}

static const struct mmp_engine_ops kit_ops = {.send = kit_send, .release = kit_release};

static void
kit_init(struct kit *k, uint32_t size, bool near, uint64_t half, uint64_t fragment, uint64_t seed)
{
	memset(k, 0, sizeof *k);
	k->size = size;
	k->near = near;
	k->half = half;
	k->rng = base_prng_seed(seed);
	for (uint32_t i = 0; i < size; i++) {
		struct kit_proc *p = &k->proc[i];
		p->kit = k;
		p->rank = i;
		p->send_half = aligned_alloc(64, half);
		p->recv_half = aligned_alloc(64, half);
		for (int r = 0; r < 4; r++)
			p->ring[r] = calloc(1, mmp_ring_bytes(MMP_RING_SLOTS));
		struct mmp_rings rings = {p->ring[0], p->ring[1], p->ring[2], p->ring[3]};
		struct mmp_engine_config e = {.rank = i,
					      .size = size,
					      .rings = rings,
					      .send_half = p->send_half,
					      .recv_half = p->recv_half,
					      .recv_bytes = half,
					      .ops = &kit_ops,
					      .user = p};
		struct mmp_port_config c = {.rank = i,
					    .size = size,
					    .rings = rings,
					    .send_half = p->send_half,
					    .send_bytes = half,
					    .fragment = fragment};
		p->memory[0] = calloc(1, mmp_engine_footprint(size));
		p->memory[1] = calloc(1, mmp_port_footprint(size));
		p->engine = mmp_engine_new(p->memory[0], &e);
		p->port = mmp_port_new(p->memory[1], &c);
	}
	for (uint32_t i = 0; i < size; i++)
		for (uint32_t j = 0; j < size; j++)
			if (i != j)
				mmp_engine_up(k->proc[i].engine, j, near,
					      mmp_engine_share(k->proc[j].engine));
}

static void
kit_fini(struct kit *k)
{
	for (uint32_t i = 0; i < k->size; i++) {
		struct kit_proc *p = &k->proc[i];
		free(p->memory[0]);
		free(p->memory[1]);
		for (int r = 0; r < 4; r++)
			free(p->ring[r]);
		free(p->send_half);
		free(p->recv_half);
	}
}

/* Deliver a piece of a random fragment on its way.  In order: of each pair the oldest. */
static void
kit_deliver(struct kit *k)
{
	if (!k->items)
		return;
	uint32_t i = (uint32_t)base_prng_below(&k->rng, k->items);
	if (k->near || k->in_order)
		for (uint32_t j = 0; j < i; j++)
			if (k->wire[j].from == k->wire[i].from && k->wire[j].to == k->wire[i].to)
				i = j;
	struct kit_item *w = &k->wire[i];
	struct mmp_engine *to = k->proc[w->to].engine;
	bool over = false;
	if (k->proc[w->to].dead || k->proc[w->from].dead) {
		over = true;
	} else if (k->near) {
		bool in = w->head.bytes <= MMP_INLINE;
		if (!mmp_engine_room(to, w->head.bytes)) {
			k->refused++;
			return;
		}
		if (!in)
			k->proc[w->from].lent[w->name] = (uint8_t)(w->to + 1);
		if (mmp_engine_offer(to, w->from, &w->head, w->data, in ? MMP_NONE : w->name) ==
		    MMP_BAD)
			k->bad++;
		/* Released later, if it is kept there. */
		if (!in)
			w->name = MMP_NONE;
		over = true;
	} else if (!w->begun) {
		if (!mmp_engine_room(to, w->head.bytes)) {
			k->refused++;
			return;
		}
		w->record = mmp_engine_begin(to, w->from, &w->head);
		w->begun = true;
		over = w->record == MMP_NONE || w->record == MMP_BAD;
		k->bad += w->record == MMP_BAD;
	} else {
		uint64_t left = w->head.bytes - w->done, n = 1 + base_prng_below(&k->rng, left);
		mmp_engine_data(to, w->record, w->done, w->data + w->done, n);
		w->done += n;
		over = w->done == w->head.bytes;
		if (over)
			mmp_engine_end(to, w->record);
	}
	if (!over)
		return;
	if (w->name != MMP_NONE && !k->proc[w->from].dead)
		mmp_engine_sent(k->proc[w->from].engine, w->name);
	memmove(w, w + 1, (--k->items - i) * sizeof *w);
}

/* A step of somebody. */
static inline void
kit_step(struct kit *k)
{
	struct kit_proc *p = &k->proc[base_prng_below(&k->rng, k->size)];
	if (!p->dead && base_prng_below(&k->rng, 2))
		mmp_engine_turn(p->engine);
	if (!p->dead && base_prng_below(&k->rng, 4) == 0)
		mmp_port_turn(p->port);
	for (uint64_t n = base_prng_below(&k->rng, 4); n; n--)
		kit_deliver(k);
}

/* Process dies: what is on its way to or from it is lost, then everybody hears of it. */
static inline void
kit_kill(struct kit *k, uint32_t rank)
{
	k->proc[rank].dead = true;
	for (uint32_t i = 0; i < k->items;) {
		struct kit_item *w = &k->wire[i];
		if (w->from != rank && w->to != rank) {
			i++;
			continue;
		}
		if (w->begun && w->record < MMP_BAD && w->from == rank)
			mmp_engine_abort(k->proc[w->to].engine, w->record);
		if (w->name != MMP_NONE && w->from != rank)
			mmp_engine_sent(k->proc[w->from].engine, w->name);
		memmove(w, w + 1, (--k->items - i) * sizeof *w);
	}
	for (uint32_t i = 0; i < k->size; i++) {
		if (i == rank || k->proc[i].dead)
			continue;
		for (uint32_t n = 0; n < MMP_SENDS_MAX; n++)
			if (k->proc[i].lent[n] == rank + 1)
				mmp_engine_sent(k->proc[i].engine, n);
		mmp_engine_down(k->proc[i].engine, rank, 0);
		mmp_port_down(k->proc[i].port, rank, 0);
	}
}

#endif
