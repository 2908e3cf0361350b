/* SPDX-License-Identifier: BSD-2-Clause */
/* Fragments between two processes of a node, as mmp/pair.h says. */
#include "mmp/pair.h"

#include "canary.h"

#include <string.h>

#define AT_ONCE 64u /* slots of a peer before others are looked at */

enum kind { IN_AREA = 1, IN_SLOT = 2, NAMES = 3 };
struct slot {
	uint32_t kind;
	union {
		struct {
			struct mmp_head head;
			uint32_t name;
			union {
				uint8_t in[MMP_INLINE];
				struct {
					uint32_t at_high, at_low;
				};
			};
		};
		struct mmp_names names;
	};
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct slot) <= MMP_SLOT_DATA, "fits a slot");

void
mmp_pair_init(struct mmp_pair *p, void *tx_ring, void *rx_ring, const uint8_t *own_half,
	      const uint8_t *peer_half, uint64_t peer_bytes)
{
	*p = (struct mmp_pair){.tx = mmp_ring_end(tx_ring, MMP_RING_SLOTS),
			       .rx = mmp_ring_end(rx_ring, MMP_RING_SLOTS),
			       .own_half = own_half,
			       .peer_half = peer_half,
			       .peer_bytes = peer_bytes};
}

bool
mmp_pair_send(struct mmp_pair *p, struct mmp_engine *e, const struct mmp_head *h, const void *data,
	      uint32_t name)
{
	struct slot *s = mmp_ring_room(&p->tx);
	if (!s)
		return false;
	s->head = *h;
	s->name = name;
	if (h->bytes <= MMP_INLINE) {
		s->kind = IN_SLOT;
		if (h->bytes)
			memcpy(s->in, data, h->bytes);
	} else {
		uint64_t at = (uint64_t)((const uint8_t *)data - p->own_half);
		s->kind = IN_AREA;
		s->at_high = (uint32_t)(at >> 32);
		s->at_low = (uint32_t)at;
		p->lent[name] = 1;
	}
	mmp_ring_push(&p->tx);
	p->pushed = true;
	if (h->bytes <= MMP_INLINE && name != MMP_NONE)
		mmp_engine_sent(e, name);
	return true;
}

static void
flush_pair(struct mmp_pair *p)
{
	struct slot *s;
	while (p->dones && (s = mmp_ring_room(&p->tx))) {
		s->kind = NAMES;
		s->names.n = p->dones < MMP_NAMES ? p->dones : MMP_NAMES;
		for (uint32_t i = 0; i < s->names.n; i++)
			s->names.name[i] = p->done[--p->dones];
		mmp_ring_push(&p->tx);
		p->pushed = true;
	}
}

void
mmp_pair_release(struct mmp_pair *p, uint32_t name)
{
	if (MMP_BUG(LENT) && name % 16 == 15)
		return;
	/* An honest peer lends no more names than there are places. */
	if (p->dones < MMP_SENDS_MAX)
		p->done[p->dones++] = name;
}

static int
pair_names(struct mmp_pair *p, struct mmp_engine *e, const struct mmp_names *n)
{
	if (n->n > MMP_NAMES)
		return -1;
	for (uint32_t i = 0; i < n->n; i++) {
		uint32_t name = n->name[i];
		if (name >= MMP_SENDS_MAX || !p->lent[name])
			return -1;
		p->lent[name] = 0;
		mmp_engine_sent(e, name);
	}
	return 1;
}

/* 1: taken; 0: no room now; -1: cannot be. */
static int
take_copy(struct mmp_pair *p, struct mmp_engine *e, uint32_t peer, const struct slot *s)
{
	uint64_t at = (uint64_t)s->at_high << 32 | s->at_low;
	uint32_t bytes = s->head.bytes, got;
	struct mmp_head h = s->head;
	if (s->kind == NAMES) {
		struct mmp_names n = s->names;
		return pair_names(p, e, &n);
	}
	if (s->kind == IN_SLOT ? bytes > MMP_INLINE
			       : s->kind != IN_AREA || at > p->peer_bytes ||
					 bytes > p->peer_bytes - at || bytes <= MMP_INLINE)
		return -1;
	if (!mmp_engine_room(e, s->kind == IN_SLOT ? bytes : 0))
		return 0;
	if (s->kind == IN_SLOT)
		got = mmp_engine_offer(e, peer, &h, s->in, MMP_NONE);
	else
		got = mmp_engine_offer(e, peer, &h, p->peer_half + at, s->name);
	return got == MMP_BAD ? -1 : 1;
}

int
mmp_pair_turn(struct mmp_pair *p, struct mmp_engine *e, uint32_t peer)
{
	const void *there;
	int moved = 0;
	for (unsigned i = 0; i < AT_ONCE && (there = mmp_ring_peek(&p->rx)); i++) {
		struct slot s;
		memcpy(&s, there, sizeof s);
		int r = take_copy(p, e, peer, &s);
		if (r < 0)
			return -1;
		if (!r)
			break;
		mmp_ring_pop(&p->rx);
		moved = 1;
	}
	if (p->dones)
		flush_pair(p);
	return moved;
}

bool
mmp_pair_is_empty(const struct mmp_pair *p)
{
	return mmp_ring_is_empty(&p->rx) && !p->dones;
}

void
mmp_pair_down(struct mmp_pair *p, struct mmp_engine *e)
{
	for (uint32_t i = 0; i < MMP_SENDS_MAX; i++) {
		if (p->lent[i])
			mmp_engine_sent(e, i);
		p->lent[i] = 0;
	}
}
