/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ranks over lanes that break at any moment: each block once, whatever was under way; who is
 * ahead of whom; numbers that cannot be.  And fragments over such lanes: what had begun is taken
 * back, what is here needs no room. */
#include "mmp/far.h"
#include "mmp_kit.h"

#include "cmocka_all.h"

#include <errno.h>

/* ---- a model of lanes: blocks begin in order and end in any ---- */

#define WIRE 64u

struct end {
	struct mmp_link l;
	bool lane;
	uint32_t slot;
	uint64_t taken; /* blocks, in order of their numbers */
	bool is_taken[4096];
};
struct wire {
	uint32_t n, from, slot;
	struct mmp_link_block b[WIRE];
	uint64_t number[WIRE]; /* of the sender */
	bool begun[WIRE];
	uint64_t as[WIRE]; /* of the receiver; UINT64_MAX: dropped */
};
struct pair {
	struct end e[2];
	struct wire w[2]; /* from 0, from 1 */
	struct base_prng rng;
};

static struct pair p;

static void
open_end(struct end *e)
{
	e->lane = true;
	e->slot = mmp_link_slot(&e->l);
}

static void
break_end(uint32_t i)
{
	p.e[i].lane = false;
	p.w[i].n = p.w[!i].n = 0;
}

/* What the lane takes from the link. */
static void
push(uint32_t i)
{
	struct wire *w = &p.w[i];
	struct mmp_link_block b;
	while (p.e[i].lane && w->n < WIRE && mmp_link_next(&p.e[i].l, &b)) {
		w->number[w->n] = p.e[i].l.given;
		w->begun[w->n] = false;
		w->b[w->n++] = b;
		w->slot = p.e[i].slot;
		mmp_link_gave(&p.e[i].l);
	}
}

static void
take(struct end *to, uint64_t number, const struct mmp_link_block *b)
{
	assert_int_equal(number, b->head.number);
	assert_false(to->is_taken[number]);
	to->is_taken[number] = true;
	to->taken++;
}

/* One block of that direction begins, or one that has begun ends. */
static void
deliver(uint32_t i)
{
	struct wire *w = &p.w[i];
	struct end *to = &p.e[!i];
	uint32_t k = 0;
	if (!w->n)
		return;
	if (!to->lane || to->slot != w->slot) {
		if (!mmp_link_follow(&to->l, w->slot))
			return;
		p.w[!i].n = 0; /* what it said on the lane before */
		open_end(to);
		return;
	}
	while (k < w->n && w->begun[k])
		k++;
	if (k < w->n && (k == 0 || base_prng_below(&p.rng, 2))) {
		uint64_t number;
		w->begun[k] = true;
		w->as[k] = UINT64_MAX;
		if (w->b[k].head.kind == MMP_FIRST) {
			assert_true(mmp_link_first(&to->l, w->b[k].head.offset));
			return;
		}
		bool here = mmp_link_is_here(&to->l);
		enum mmp_link_is is = mmp_link_begin(&to->l, &number);
		assert_int_not_equal(is, MMP_LINK_BAD);
		assert_int_equal(here, is == MMP_LINK_HERE);
		if (is == MMP_LINK_NEW)
			w->as[k] = number;
		return;
	}
	/* Ends in any order; acknowledged in theirs. */
	uint32_t which = (uint32_t)base_prng_below(&p.rng, k);
	if (w->as[which] != UINT64_MAX) {
		mmp_link_end(&to->l, w->as[which]);
		take(to, w->as[which], &w->b[which]);
		w->as[which] = UINT64_MAX;
	}
	uint32_t done = 0, name;
	while (done < k && w->as[done] == UINT64_MAX)
		done++;
	if (base_prng_below(&p.rng, 3) == 0) { /* the acknowledgement comes */
		for (uint32_t d = 0; d < done; d++)
			while (w->b[d].head.kind != MMP_FIRST &&
			       mmp_link_acked(&p.e[i].l, w->number[d], &name))
				assert_int_equal(name, p.e[i].l.acked - 1);
		w->n -= done;
		memmove(w->b, w->b + done, w->n * sizeof w->b[0]);
		memmove(w->number, w->number + done, w->n * sizeof w->number[0]);
		memmove(w->begun, w->begun + done, w->n * sizeof w->begun[0]);
		memmove(w->as, w->as + done, w->n * sizeof w->as[0]);
	}
}

/* The way breaks: both ends see it at once, or one only, or one later. */
static void
break_way(void)
{
	uint32_t i = (uint32_t)base_prng_below(&p.rng, 2);
	bool both = base_prng_below(&p.rng, 2);
	break_end(i);
	if (both)
		break_end(!i);
	if (mmp_link_open(&p.e[i].l))
		open_end(&p.e[i]);
	if (both && mmp_link_open(&p.e[!i].l))
		open_end(&p.e[!i]);
}

static void
run(uint64_t seed, uint32_t blocks)
{
	memset(&p, 0, sizeof p);
	p.rng = base_prng_seed(seed);
	uint32_t put[2] = {0}, breaks = 0;
	assert_true(mmp_link_open(&p.e[0].l));
	open_end(&p.e[0]);
	for (uint32_t step = 0; p.e[0].taken < blocks || p.e[1].taken < blocks ||
				p.e[0].l.acked < blocks || p.e[1].l.acked < blocks;
	     step++) {
		uint32_t i = (uint32_t)base_prng_below(&p.rng, 2);
		struct mmp_head h = {.kind = MMP_FRAGMENT, .number = put[i]};
		assert_true(step < 1000000);
		if (put[i] < blocks && mmp_link_put(&p.e[i].l, &h, NULL, put[i]))
			put[i]++;
		push(i);
		deliver(i);
		deliver(i);
		if (breaks < 40 && base_prng_below(&p.rng, 60) == 0) {
			break_way();
			breaks++;
		}
		/* Who waits in vain tries again. */
		if (!p.e[i].lane && mmp_link_open(&p.e[i].l))
			open_end(&p.e[i]);
	}
	assert_int_equal(p.e[0].l.have, blocks);
	assert_int_equal(p.e[1].l.have, blocks);
}

static void
each_block_once(void **state)
{
	uint64_t again = 0, dropped = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		run(seed, 400);
		again += p.e[0].l.again + p.e[1].l.again;
		dropped += p.e[0].l.dropped + p.e[1].l.dropped;
	}
	/* Else nothing was tried. */
	assert_true(again > 1000 && dropped > 100);
}

static void
no_room(void **state)
{
	struct mmp_link *l = calloc(1, sizeof *l);
	struct mmp_head h = {.kind = MMP_WANT};
	uint32_t name;
	(void)state;
	assert_non_null(l);
	for (uint32_t i = 0; i < MMP_LINK_BLOCKS; i++)
		assert_true(mmp_link_put(l, &h, NULL, i));
	assert_false(mmp_link_put(l, &h, NULL, 0));
	assert_true(mmp_link_acked(l, 0, &name));
	assert_int_equal(name, 0);
	assert_false(mmp_link_acked(l, 0, &name));
	assert_true(mmp_link_put(l, &h, NULL, 7));
	/* The peer is gone: all are named. */
	for (uint32_t i = 1; i < MMP_LINK_BLOCKS; i++)
		assert_true(mmp_link_acked(l, UINT64_MAX, &name) && name == i);
	assert_true(mmp_link_acked(l, UINT64_MAX, &name) && name == 7);
	assert_false(mmp_link_acked(l, UINT64_MAX, &name));
	free(l);
}

static void
turns(void **state)
{
	struct mmp_link *l = calloc(1, sizeof *l);
	(void)state;
	assert_non_null(l);
	/* Nobody answers. */
	for (uint32_t i = 1; i <= MMP_LINK_AHEAD; i++) {
		assert_true(mmp_link_open(l));
		assert_int_equal(mmp_link_slot(l), i);
	}
	assert_false(mmp_link_open(l));
	/* An older lane, this one, and those that may be newer. */
	for (uint32_t back = 0; back < MMP_LINK_SLOTS - MMP_LINK_AHEAD; back++)
		assert_false(mmp_link_follow(l, (l->turn - back) % MMP_LINK_SLOTS));
	uint32_t was = l->turn;
	assert_true(mmp_link_follow(l, (l->turn + MMP_LINK_AHEAD) % MMP_LINK_SLOTS));
	assert_int_equal(l->turn, was + MMP_LINK_AHEAD);
	assert_false(mmp_link_is_heard(l));
	assert_true(mmp_link_first(l, 0));
	assert_true(mmp_link_open(l));
	free(l);
}

static void
numbers_that_cannot_be(void **state)
{
	struct mmp_link *l = calloc(1, sizeof *l);
	uint64_t number;
	(void)state;
	assert_non_null(l);
	assert_true(mmp_link_open(l));
	/* Before it was said where it begins; beyond what is here; twice. */
	assert_int_equal(mmp_link_begin(l, &number), MMP_LINK_BAD);
	assert_false(mmp_link_first(l, 1));
	assert_false(mmp_link_first(l, UINT64_MAX));
	assert_true(mmp_link_first(l, 0));
	assert_false(mmp_link_first(l, 0));
	/* More than a ring of blocks that have begun and not ended. */
	for (uint32_t i = 0; i < MMP_LINK_BLOCKS; i++)
		assert_int_equal(mmp_link_begin(l, &number), MMP_LINK_NEW);
	assert_int_equal(mmp_link_begin(l, &number), MMP_LINK_BAD);
	for (uint32_t i = 0; i < MMP_LINK_BLOCKS; i++)
		mmp_link_end(l, i);
	assert_int_equal(l->have, MMP_LINK_BLOCKS);
	assert_true(mmp_link_open(l));
	assert_true(mmp_link_first(l, 0));
	assert_int_equal(mmp_link_begin(l, &number), MMP_LINK_HERE);
	free(l);
}

/* ---- fragments ---- */

#define HALF  65536u
#define PEERS 3u

static size_t
fill(uint8_t *out, const struct mmp_head *h)
{
	mmp_head_put(out, h);
	for (uint32_t i = 0; i < h->bytes; i++)
		out[MMP_HEAD_BYTES + i] = (uint8_t)(h->number * 31 + i);
	return MMP_HEAD_BYTES + h->bytes;
}

/* A fragment of which half has come, and one that is held and fills the share: the lane breaks, and
 * both come again. */
static void
taken_back(void **state)
{
	struct kit *k = calloc(1, sizeof *k);
	struct mmp_link *l = calloc(1, sizeof *l);
	static uint8_t b[HALF], buf[16000];
	void *mem = calloc(1, mmp_far_footprint(PEERS));
	struct mmp_head first = {.kind = MMP_FIRST};
	struct mmp_head h = {.kind = MMP_FRAGMENT, .flags = MMP_EAGER, .bytes = 8000, .all = 8000};
	struct mmp_result r;
	(void)state;
	assert_true(k && l && mem);
	kit_init(k, PEERS, false, HALF, 1000, 7);
	struct mmp_far *f = mmp_far_new(mem, k->proc[0].engine, PEERS, HALF);
	f->peer[1].link = l;
	for (int turn = 0; turn < 3; turn++) {
		assert_true(mmp_link_open(l));
		size_t n = fill(b, &first);
		mmp_far_end(f, mmp_far_begin(f, 1, n, b, n));
		h.number = 0;
		n = fill(b, &h);
		assert_true(mmp_far_room(f, 1, n));
		void *held = mmp_far_begin(f, 1, n, b, n);
		mmp_far_data(f, held, 0, b, n);
		mmp_far_end(f, held);
		assert_int_equal(l->have, 1);
		assert_int_equal(l->dropped, turn);
		h.number = 1;
		n = fill(b, &h);
		void *half = mmp_far_begin(f, 1, n, b, n);
		mmp_far_data(f, half, 0, b, n / 2);
		if (turn == 2) {
			mmp_far_data(f, half, n / 2, b + n / 2, n - n / 2);
			mmp_far_end(f, half);
			break;
		}
		/* The rest of it, of the old lane, is nobody's. */
		mmp_far_pause(f, 1);
		mmp_far_data(f, half, n / 2, b + n / 2, n - n / 2);
		mmp_far_end(f, half);
		assert_int_equal(l->have, 1);
	}
	assert_int_equal(mmp_far_broken(f), MMP_NONE);
	/* All credit of the sender is used, and not more: it was given back for nothing. */
	h.number = 2;
	h.bytes = (uint32_t)(mmp_engine_share(k->proc[0].engine) - 16000 + 1);
	h.all = h.bytes;
	size_t n = fill(b, &h);
	(void)mmp_far_begin(f, 1, n, b, n);
	assert_int_equal(mmp_far_broken(f), 1);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t got = mmp_port_receive(k->proc[0].port, 1, 0, 0, buf, sizeof buf);
		for (int turn = 0; turn < 4; turn++) {
			(void)mmp_engine_turn(k->proc[0].engine);
			(void)mmp_port_turn(k->proc[0].port);
		}
		assert_true(mmp_port_done(k->proc[0].port, got, &r));
		assert_true(!r.error && r.bytes == 8000);
		for (uint32_t at = 0; at < 8000; at++)
			assert_int_equal(buf[at], (uint8_t)(i * 31 + at));
	}
	kit_fini(k);
	free(k);
	free(l);
	free(mem);
}

/* A first block that cannot be breaks the peer; a peer without a link knows none. */
static void
false_first(void **state)
{
	struct kit *k = calloc(1, sizeof *k);
	struct mmp_link *l = calloc(1, sizeof *l);
	void *mem = calloc(1, mmp_far_footprint(PEERS));
	struct mmp_head first = {.kind = MMP_FIRST, .offset = 9};
	uint8_t b[MMP_HEAD_BYTES];
	(void)state;
	assert_true(k && l && mem);
	kit_init(k, PEERS, false, HALF, 1000, 7);
	struct mmp_far *f = mmp_far_new(mem, k->proc[0].engine, PEERS, HALF);
	f->peer[1].link = l;
	assert_true(mmp_link_open(l));
	mmp_head_put(b, &first);
	for (uint32_t peer = 1; peer < PEERS; peer++) {
		mmp_far_end(f, mmp_far_begin(f, peer, sizeof b, b, sizeof b));
		assert_int_equal(mmp_far_broken(f), peer);
		mmp_far_down(f, peer, ECONNRESET);
	}
	kit_fini(k);
	free(k);
	free(l);
	free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_block_once), cmocka_unit_test(no_room),
		cmocka_unit_test(turns),	   cmocka_unit_test(numbers_that_cannot_be),
		cmocka_unit_test(taken_back),	   cmocka_unit_test(false_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
