/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes are what a hostile rank of another site sends as blocks of lanes, when its lanes break and
 * which it opens anew, and what it acknowledges of ours.  Whatever it does, a block of ours is
 * named once, and nothing of it is kept here beyond the credit once it is gone. */
#include "fuzz_mmp_rank.h"

#include "mmp/far.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPEN 8 /* blocks that have begun */

struct world {
	struct rank r;
	struct mmp_far *f;
	struct mmp_link *l;
	void *far_mem;
	void *block[OPEN];
	uint64_t off[OPEN];
	uint64_t named, put; /* blocks of ours */
	bool gone;
};

static bool
send_linked(void *user, uint32_t peer, const struct mmp_head *h, const void *data, uint32_t name)
{
	struct world *w = user;
	(void)peer;
	if (!mmp_link_put(w->l, h, data, name))
		return false;
	w->put++;
	return true;
}

static void
release_nothing(void *user, uint32_t peer, uint32_t cookie)
{
	(void)user, (void)peer, (void)cookie;
	BASE_ASSERT(false);
}

static void
make_far(struct world *w)
{
	static const struct mmp_engine_ops ops = {.send = send_linked, .release = release_nothing};
	rank_make(&w->r, 2, &ops, w);
	w->far_mem = calloc(1, mmp_far_footprint(2));
	w->l = calloc(1, sizeof *w->l);
	w->f = mmp_far_new(w->far_mem, w->r.e, 2, HALF);
	w->f->peer[1].link = w->l;
	(void)mmp_link_open(w->l);
	mmp_engine_up(w->r.e, 1, false, 4096);
}

/* Its lane is no more: its blocks end nowhere. */
static void
new_lane(struct world *w, uint8_t arg)
{
	if (arg & 8 ? !mmp_link_open(w->l) : !mmp_link_follow(w->l, arg % MMP_LINK_SLOTS))
		return;
	mmp_far_pause(w->f, 1);
	memset(w->block, 0, sizeof w->block);
	mmp_engine_up(w->r.e, 1, false, 4096);
}

static void
block_begins(struct world *w, const uint8_t head[MMP_HEAD_BYTES], uint8_t arg)
{
	uint32_t i = arg % OPEN;
	struct mmp_head h;
	const char *what;
	uint64_t bytes = mmp_head_get(head, &h, &what) ? (uint64_t)h.bytes + MMP_HEAD_BYTES : arg;
	if (w->block[i] || w->gone || !mmp_far_room(w->f, 1, bytes))
		return;
	w->off[i] = 0;
	w->block[i] = mmp_far_begin(w->f, 1, bytes, head, MMP_HEAD_BYTES - (arg == 255));
}

static void
block_goes_on(struct world *w, uint8_t arg)
{
	static const uint8_t some[64];
	uint32_t i = arg % OPEN;
	if (!w->block[i])
		return;
	if (arg & 0x80) {
		mmp_far_end(w->f, w->block[i]);
		w->block[i] = NULL;
	} else if (w->off[i] < MMP_HEAD_BYTES) {
		/* The stream keeps to the bytes that its block was begun with. */
		mmp_far_data(w->f, w->block[i], w->off[i], some, MMP_HEAD_BYTES);
		w->off[i] = MMP_HEAD_BYTES;
	}
}

static void
lane_takes(struct world *w, uint8_t arg)
{
	struct mmp_link_block b;
	for (uint32_t i = 0; i < arg && mmp_link_next(w->l, &b); i++)
		mmp_link_gave(w->l);
}

static void
name_acked(struct world *w, uint64_t number)
{
	uint32_t name;
	while (mmp_link_acked(w->l, number, &name)) {
		w->named++;
		mmp_far_sent(w->f, name == MMP_NONE ? MMP_FAR_WORD : name);
	}
}

/* A lane acknowledges only what it was given. */
static void
ack_some(struct world *w, uint8_t arg)
{
	uint64_t kept = w->l->given - w->l->acked;
	if (w->l->began && kept)
		name_acked(w, w->l->acked + arg % kept);
}

static void
check_link(struct world *w)
{
	const struct mmp_link *l = w->l;
	BASE_ASSERT(l->acked <= l->given && l->given <= l->put);
	BASE_ASSERT(w->gone || l->given <= l->top);
	BASE_ASSERT(l->put - l->acked <= MMP_LINK_BLOCKS);
	BASE_ASSERT(l->next <= l->have + MMP_LINK_BLOCKS);
	BASE_ASSERT(mmp_engine_area(w->r.e)->used <= HALF);
}

static void
far_goes(struct world *w)
{
	if (w->gone)
		return;
	w->gone = true;
	w->named += w->l->put - w->l->acked;
	mmp_far_down(w->f, 1, 0);
	mmp_port_down(w->r.p, 1, 0);
	memset(w->block, 0, sizeof w->block);
}

static void
turn_link_world(struct world *w)
{
	(void)mmp_far_next(w->f);
	(void)mmp_engine_turn(w->r.e);
	if (mmp_far_broken(w->f) != MMP_NONE)
		far_goes(w);
	check_link(w);
}

static void
act_on_link(struct world *w, uint8_t what, uint8_t arg)
{
	switch (what % 8) {
	case 1:
		block_goes_on(w, arg);
		break;
	case 2:
		if (!w->gone)
			new_lane(w, arg);
		break;
	case 3:
		lane_takes(w, arg);
		break;
	case 4:
		ack_some(w, arg);
		break;
	case 5:
		rank_post(&w->r, arg);
		break;
	case 6:
		(void)mmp_port_send(w->r.p, 1, 0, 0, w->r.recv, (uint64_t)arg * 8);
		break;
	default:
		(void)mmp_port_turn(w->r.p);
		turn_link_world(w);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {0};
	make_far(&w);
	while (size >= 2) {
		size_t took = 2;
		if (data[0] % 8 == 0 && size >= 2 + MMP_HEAD_BYTES) {
			block_begins(&w, data + 2, data[1]);
			took += MMP_HEAD_BYTES;
		} else {
			act_on_link(&w, data[0], data[1]);
		}
		data += took;
		size -= took;
	}
	far_goes(&w);
	for (int i = 0; i < 40; i++) {
		turn_link_world(&w);
		(void)mmp_port_turn(w.r.p);
	}
	BASE_ASSERT(w.named == w.put);
	rank_free(&w.r);
	free(w.far_mem);
	free(w.l);
	return 0;
}
