/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of a stream as fragments, as mmp/far.h says. */
#include "mmp/far.h"

#include "canary.h"

#include "base/carve.h"

#include <stdio.h>

/* A block that is not wanted; others are 2 + their record. */
#define NO_RECORD ((void *)1)

static void
carve_far(struct mmp_far *f, uint32_t size, uint8_t **at)
{
	f->coming = base_carve(at, (size_t)size * MMP_PEER_FRAGMENTS * sizeof *f->coming);
	f->number = base_carve(at, (size_t)size * MMP_PEER_FRAGMENTS * sizeof *f->number);
	f->peer = base_carve(at, size * sizeof *f->peer);
}

size_t
mmp_far_footprint(uint32_t size)
{
	struct mmp_far f;
	uint8_t *at = (uint8_t *)base_carved(sizeof f);
	carve_far(&f, size, &at);
	return (size_t)at + BASE_CARVE_ALIGN;
}

struct mmp_far *
mmp_far_new(void *mem, struct mmp_engine *e, uint32_t size, uint64_t half)
{
	uint8_t *at = base_carve_from(mem);
	struct mmp_far *f = base_carve(&at, sizeof *f);
	carve_far(f, size, &at);
	f->engine = e;
	f->size = size;
	f->half = half;
	return f;
}

bool
mmp_far_room(struct mmp_far *f, uint32_t peer, uint64_t bytes)
{
	if (peer == MMP_NONE || bytes <= MMP_HEAD_BYTES || bytes > f->half ||
	    mmp_engine_room(f->engine, bytes - MMP_HEAD_BYTES))
		return true;
	struct mmp_far_peer *p = &f->peer[peer];
	/* What is dropped needs none, and what makes room may be behind it. */
	if (p->link && mmp_link_is_here(p->link))
		return true;
	f->begs += !p->begs;
	p->begs = true;
	p->beg_bytes = bytes;
	return false;
}

bool
mmp_far_has(const struct mmp_far *f, uint32_t peer)
{
	return peer == MMP_NONE || !f->peer[peer].begs ||
	       mmp_engine_room(f->engine, f->peer[peer].beg_bytes);
}

uint32_t
mmp_far_next(struct mmp_far *f)
{
	for (uint32_t i = 0; f->begs && i < f->size; i++) {
		if (!f->peer[i].begs || !mmp_far_has(f, i))
			continue;
		f->peer[i].begs = false;
		f->begs--;
		return i;
	}
	return MMP_NONE;
}

static void *
deaf(struct mmp_far *f, uint32_t peer, const char *what, const char *field)
{
	struct mmp_far_peer *p = &f->peer[peer];
	/* Not from within: the caller ends it behind the call. */
	p->deaf = p->broken = true;
	f->broken++;
	snprintf(p->why, sizeof p->why, "%s%.20s", what, field);
	return NO_RECORD;
}

/* false: nothing of it is for the engine; *block says what it is. */
static bool
begin_linked(struct mmp_far *f, uint32_t peer, const struct mmp_head *h, uint64_t *number,
	     void **block)
{
	struct mmp_link *l = f->peer[peer].link;
	enum mmp_link_is is = MMP_LINK_HERE;
	bool good = true;
	if (h->kind == MMP_FIRST)
		good = mmp_link_first(l, h->offset);
	else
		is = mmp_link_begin(l, number);
	*block = NO_RECORD;
	if (!good || is == MMP_LINK_BAD)
		*block = deaf(f, peer, "sent a block whose number cannot be", "");
	return is == MMP_LINK_NEW;
}

void *
mmp_far_begin(struct mmp_far *f, uint32_t peer, uint64_t bytes, const uint8_t *first,
	      size_t first_len)
{
	struct mmp_head h;
	const char *what = "length";
	if (peer == MMP_NONE || f->peer[peer].deaf)
		return NO_RECORD;
	if (first_len < MMP_HEAD_BYTES || !mmp_head_get(first, &h, &what) ||
	    bytes != (uint64_t)h.bytes + MMP_HEAD_BYTES)
		return deaf(f, peer, "sent a fragment whose head is wrong: ", what);
	struct mmp_link *l = f->peer[peer].link;
	uint64_t number = 0;
	void *block;
	if (l && !begin_linked(f, peer, &h, &number, &block))
		return block;
	uint32_t r = mmp_engine_begin(f->engine, peer, &h);
	if (r == MMP_BAD)
		return deaf(f, peer, "sent a fragment that cannot be", "");
	if (r == MMP_NONE) {
		if (l)
			mmp_link_end(l, number);
		return NO_RECORD;
	}
	f->number[r] = number;
	f->coming[r] = (uint16_t)(peer + 1);
	return (void *)(uintptr_t)(r + 2);
}

void
mmp_far_data(struct mmp_far *f, void *block, uint64_t off, const uint8_t *data, size_t len)
{
	uint64_t skip = off < MMP_HEAD_BYTES ? MMP_HEAD_BYTES - off : 0;
	if (block == NO_RECORD || skip >= len)
		return;
	uint32_t r = (uint32_t)((uintptr_t)block - 2);
	if (f->coming[r])
		mmp_engine_data(f->engine, r, off + skip - MMP_HEAD_BYTES, data + skip, len - skip);
}

void
mmp_far_end(struct mmp_far *f, void *block)
{
	if (block == NO_RECORD)
		return;
	uint32_t r = (uint32_t)((uintptr_t)block - 2);
	if (f->coming[r]) {
		struct mmp_link *l = f->peer[f->coming[r] - 1].link;
		mmp_engine_end(f->engine, r);
		if (l)
			mmp_link_end(l, f->number[r]);
	}
	f->coming[r] = 0;
}

void
mmp_far_sent(struct mmp_far *f, uint64_t name)
{
	if (name != MMP_FAR_WORD)
		mmp_engine_sent(f->engine, (uint32_t)name);
}

uint32_t
mmp_far_broken(struct mmp_far *f)
{
	for (uint32_t i = 0; f->broken && i < f->size; i++) {
		struct mmp_far_peer *p = &f->peer[i];
		if (!p->broken)
			continue;
		p->broken = false;
		f->broken--;
		return i;
	}
	return MMP_NONE;
}

void
mmp_far_pause(struct mmp_far *f, uint32_t peer)
{
	struct mmp_far_peer *p = &f->peer[peer];
	for (uint32_t i = 0; i < f->size * MMP_PEER_FRAGMENTS; i++)
		if (f->coming[i] == peer + 1 && !MMP_BUG(STALE)) {
			mmp_engine_take_back(f->engine, i);
			f->coming[i] = 0;
		}
	f->begs -= p->begs;
	p->begs = false;
	mmp_engine_pause(f->engine, peer);
}

void
mmp_far_down(struct mmp_far *f, uint32_t peer, int err)
{
	struct mmp_far_peer *p = &f->peer[peer];
	for (uint32_t i = 0; i < f->size * MMP_PEER_FRAGMENTS; i++)
		if (f->coming[i] == peer + 1) {
			mmp_engine_abort(f->engine, i);
			f->coming[i] = 0;
		}
	f->begs -= p->begs;
	f->broken -= p->broken;
	p->begs = p->broken = false;
	p->deaf = true;
	uint32_t name;
	while (p->link && mmp_link_acked(p->link, UINT64_MAX, &name))
		mmp_far_sent(f, name == MMP_NONE ? MMP_FAR_WORD : name);
	mmp_engine_down(f->engine, peer, err);
}
