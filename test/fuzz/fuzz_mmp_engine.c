/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are what a hostile peer of three sends to an engine, as heads of fragments with data or as
 * slots of a shared ring, and when the program posts, turns and frees meanwhile.  Nothing it
 * says may write outside of posted buffers, leak a piece of the area, or be held beyond the credit.
 */
#include "fuzz_mmp_rank.h"

#include "mmp/pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct rank r;
	struct mmp_pair *pair;
	void *tx, *rx;
	uint8_t *peer_half;
	uint32_t record;
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
		return mmp_pair_send(w->pair, w->r.e, h, data, name);
	if (name != MMP_NONE)
		mmp_engine_sent(w->r.e, name);
	return true;
}

static void
release(void *user, uint32_t peer, uint32_t cookie)
{
	struct world *w = user;
	if (peer == 2)
		mmp_pair_release(w->pair, cookie);
}

static void
begin(struct world *w)
{
	static const struct mmp_engine_ops ops = {.send = send_nothing, .release = release};
	rank_make(&w->r, 3, &ops, w);
	w->tx = rank_zeros(mmp_ring_bytes(MMP_RING_SLOTS));
	w->rx = rank_zeros(mmp_ring_bytes(MMP_RING_SLOTS));
	w->peer_half = rank_zeros(HALF);
	w->pair = calloc(1, sizeof *w->pair);
	mmp_pair_init(w->pair, w->tx, w->rx, w->r.send, w->peer_half, HALF);
	w->peer_tx = mmp_ring_end(w->rx, MMP_RING_SLOTS);
	w->record = MMP_NONE;
	mmp_engine_up(w->r.e, 1, false, 4096);
	mmp_engine_up(w->r.e, 2, true, 0);
}

static void
peer_goes(struct world *w, uint32_t peer)
{
	if (w->gone[peer])
		return;
	w->gone[peer] = true;
	if (peer == 1 && w->record != MMP_NONE)
		mmp_engine_abort(w->r.e, w->record);
	w->record = peer == 1 ? MMP_NONE : w->record;
	if (peer == 2)
		mmp_pair_down(w->pair, w->r.e);
	mmp_engine_down(w->r.e, peer, 0);
	mmp_port_down(w->r.p, peer, 0);
}

/* A fragment over the wire. */
static void
far_head(struct world *w, const uint8_t head[MMP_HEAD_BYTES])
{
	struct mmp_head h;
	const char *what;
	if (w->gone[1] || w->record != MMP_NONE || !mmp_head_get(head, &h, &what))
		return;
	if (!mmp_engine_room(w->r.e, h.bytes))
		return;
	uint32_t r = mmp_engine_begin(w->r.e, 1, &h);
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
	mmp_engine_data(w->r.e, w->record, w->done, some, len);
	w->done += len;
	/* What is long is not filled: its end comes early, which only hurts its sender. */
	if (w->done == w->begun_bytes || n == 255) {
		mmp_engine_end(w->r.e, w->record);
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
turn(struct world *w)
{
	if (!w->gone[2] && mmp_pair_turn(w->pair, w->r.e, 2) < 0)
		peer_goes(w, 2);
	(void)mmp_engine_turn(w->r.e);
	BASE_ASSERT(mmp_engine_area(w->r.e)->used <= HALF);
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
			rank_post(&w.r, arg);
		} else if (what % 8 == 4) {
			(void)mmp_port_send(w.r.p, arg % 3, 0, 0, w.peer_half, arg);
		} else if (what % 8 == 5) {
			(void)mmp_port_turn(w.r.p);
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
		(void)mmp_port_turn(w.r.p);
	}
	rank_free(&w.r);
	free(w.tx);
	free(w.rx);
	free(w.peer_half);
	free(w.pair);
	return 0;
}
