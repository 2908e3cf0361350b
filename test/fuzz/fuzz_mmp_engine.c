/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are what a hostile peer of three sends to an engine, as heads of fragments with data or as
 * slots of a shared ring, and when the program posts, turns and frees meanwhile.  Nothing it
 * says may write outside of posted buffers, leak a piece of the area, or be held beyond the credit.
 */
#include "base/assert.h"
#include "mmp/pair.h"
#include "mmp/port.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HALF  (1u << 14)
#define POSTS 16

struct world {
	struct mmp_engine *e;
	struct mmp_port *p;
	struct mmp_pair *pair;
	void *ring[4], *tx, *rx, *mem[2];
	uint8_t *send, *recv, *peer_half;
	uint8_t *buf[POSTS];
	uint32_t posts, record;
	uint64_t begun_bytes, done;
	struct mmp_ring_end peer_tx;
	bool gone[3];
};

static bool
send_nothing(void *user, uint32_t peer, const struct mmp_head *h, const void *data, uint32_t name)
{
	struct world *w = user;
	(void)data;
	if (peer == 2)
		return mmp_pair_send(w->pair, w->e, h, data, name);
	if (name != MMP_NONE)
		mmp_engine_sent(w->e, name);
	return true;
}

static void
release(void *user, uint32_t peer, uint32_t cookie)
{
	struct world *w = user;
	if (peer == 2)
		mmp_pair_release(w->pair, cookie);
}

static void *
zeros(size_t n)
{
	void *p = aligned_alloc(64, (n + 63) / 64 * 64);
	memset(p, 0, (n + 63) / 64 * 64);
	return p;
}

static void
begin(struct world *w)
{
	static const struct mmp_engine_ops ops = {.send = send_nothing, .release = release};
	for (int i = 0; i < 4; i++)
		w->ring[i] = zeros(mmp_ring_bytes(MMP_RING_SLOTS));
	w->tx = zeros(mmp_ring_bytes(MMP_RING_SLOTS));
	w->rx = zeros(mmp_ring_bytes(MMP_RING_SLOTS));
	w->send = zeros(HALF);
	w->recv = zeros(HALF);
	w->peer_half = zeros(HALF);
	struct mmp_rings rings = {w->ring[0], w->ring[1], w->ring[2], w->ring[3]};
	struct mmp_engine_config e = {.rank = 0,
				      .size = 3,
				      .rings = rings,
				      .send_half = w->send,
				      .recv_half = w->recv,
				      .recv_bytes = HALF,
				      .ops = &ops,
				      .user = w};
	struct mmp_port_config p = {.rank = 0,
				    .size = 3,
				    .rings = rings,
				    .send_half = w->send,
				    .send_bytes = HALF,
				    .fragment = 512};
	w->mem[0] = calloc(1, mmp_engine_footprint(3));
	w->mem[1] = calloc(1, mmp_port_footprint(3));
	w->e = mmp_engine_new(w->mem[0], &e);
	w->p = mmp_port_new(w->mem[1], &p);
	w->pair = calloc(1, sizeof *w->pair);
	mmp_pair_init(w->pair, w->tx, w->rx, w->send, w->peer_half, HALF);
	w->peer_tx = mmp_ring_end(w->rx, MMP_RING_SLOTS);
	w->record = MMP_NONE;
	mmp_engine_up(w->e, 1, false, 4096);
	mmp_engine_up(w->e, 2, true, 0);
}

static void
peer_goes(struct world *w, uint32_t peer)
{
	if (w->gone[peer])
		return;
	w->gone[peer] = true;
	if (peer == 1 && w->record != MMP_NONE)
		mmp_engine_abort(w->e, w->record);
	w->record = peer == 1 ? MMP_NONE : w->record;
	if (peer == 2)
		mmp_pair_down(w->pair, w->e);
	mmp_engine_down(w->e, peer, 0);
	mmp_port_down(w->p, peer, 0);
}

/* A fragment over the wire. */
static void
far_head(struct world *w, const uint8_t head[MMP_HEAD_BYTES])
{
	struct mmp_head h;
	const char *what;
	if (w->gone[1] || w->record != MMP_NONE || !mmp_head_get(head, &h, &what))
		return;
	if (!mmp_engine_room(w->e, h.bytes))
		return;
	uint32_t r = mmp_engine_begin(w->e, 1, &h);
	if (r == MMP_BAD) {
		peer_goes(w, 1);
	} else if (r != MMP_NONE) {
		w->record = r;
		w->begun_bytes = h.bytes;
		w->done = 0;
	}
}

static void
far_data(struct world *w, uint8_t n)
{
	static const uint8_t some[256];
	if (w->record == MMP_NONE)
		return;
	uint64_t left = w->begun_bytes - w->done, len = left < n ? left : n;
	mmp_engine_data(w->e, w->record, w->done, some, len);
	w->done += len;
	/* What is long is not filled: its end comes early, which only hurts its sender. */
	if (w->done == w->begun_bytes || n == 255) {
		mmp_engine_end(w->e, w->record);
		w->record = MMP_NONE;
	}
}

static void
near_slot(struct world *w, const uint8_t slot[MMP_SLOT_DATA])
{
	void *s = mmp_ring_room(&w->peer_tx);
	if (!s)
		return;
	memcpy(s, slot, MMP_SLOT_DATA);
	mmp_ring_push(&w->peer_tx);
}

static void
post(struct world *w, uint8_t what)
{
	if (w->posts == POSTS)
		return;
	size_t n = (size_t)(what >> 3) * 40;
	w->buf[w->posts] = malloc(n + 1);
	(void)mmp_port_receive(w->p, (what & 3) - 1, 0, what & 4 ? -1 : 0, w->buf[w->posts], n);
	w->posts++;
}

static void
turn(struct world *w)
{
	if (!w->gone[2] && mmp_pair_turn(w->pair, w->e, 2) < 0)
		peer_goes(w, 2);
	(void)mmp_engine_turn(w->e);
	BASE_ASSERT(mmp_engine_area(w->e)->used <= HALF);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {0};
	begin(&w);
	while (size >= 2) {
		uint8_t what = data[0], arg = data[1];
		size_t took = 2;
		if (what % 8 == 0 && size >= 2 + MMP_HEAD_BYTES) {
			far_head(&w, data + 2);
			took += MMP_HEAD_BYTES;
		} else if (what % 8 == 1 && size >= 2 + MMP_SLOT_DATA) {
			near_slot(&w, data + 2);
			took += MMP_SLOT_DATA;
		} else if (what % 8 == 2) {
			far_data(&w, arg);
		} else if (what % 8 == 3) {
			post(&w, arg);
		} else if (what % 8 == 4) {
			(void)mmp_port_send(w.p, arg % 3, 0, 0, w.peer_half, arg);
		} else if (what % 8 == 5) {
			(void)mmp_port_turn(w.p);
		} else if (what == 255) {
			peer_goes(&w, 1 + arg % 2);
		} else {
			turn(&w);
		}
		data += took;
		size -= took;
	}
	peer_goes(&w, 1);
	peer_goes(&w, 2);
	for (int i = 0; i < 40; i++) {
		turn(&w);
		(void)mmp_port_turn(w.p);
	}
	BASE_ASSERT(mmp_area_check(mmp_engine_area(w.e)) && mmp_area_check(mmp_port_area(w.p)));
	for (uint32_t i = 0; i < w.posts; i++)
		free(w.buf[i]);
	void *all[] = {w.ring[0], w.ring[1], w.ring[2], w.ring[3], w.tx,	w.rx,
		       w.mem[0],  w.mem[1],  w.send,	w.recv,	   w.peer_half, w.pair};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		free(all[i]);
	return 0;
}
