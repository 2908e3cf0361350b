/* SPDX-License-Identifier: BSD-2-Clause */
/* Fragments as blocks of a stream: cut anywhere, without room, with heads that cannot be, of peers
 * that go while a block comes. */
#include "mmp/far.h"
#include "mmp_kit.h"

#include "cmocka_all.h"

#include <errno.h>

#define HALF  65536u
#define PEERS 3u

struct world {
	struct kit kit;
	struct mmp_far *far;
	void *mem;
};

static void
begin(struct world *w)
{
	kit_init(&w->kit, PEERS, false, HALF, 1000, 7);
	w->mem = calloc(1, mmp_far_footprint(PEERS));
	assert_non_null(w->mem);
	w->far = mmp_far_new(w->mem, w->kit.proc[0].engine, PEERS, HALF);
}

static void
finish(struct world *w)
{
	kit_fini(&w->kit);
	free(w->mem);
}

/* Bytes of a block: the head of a message of one fragment, and its data. */
static size_t
block(uint8_t *out, uint32_t number, uint32_t bytes)
{
	struct mmp_head h = {.kind = MMP_FRAGMENT,
			     .flags = MMP_EAGER,
			     .number = number,
			     .bytes = bytes,
			     .all = bytes};
	mmp_head_put(out, &h);
	for (uint32_t i = 0; i < bytes; i++)
		out[MMP_HEAD_BYTES + i] = (uint8_t)(number * 31 + i);
	return MMP_HEAD_BYTES + bytes;
}

static uint32_t
receive(struct world *w, uint8_t *buf, uint64_t n)
{
	return mmp_port_receive(w->kit.proc[0].port, 1, 0, 0, buf, n);
}

static void
turn(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		(void)mmp_engine_turn(w->kit.proc[0].engine);
		(void)mmp_port_turn(w->kit.proc[0].port);
	}
}

/* The transport shows the beginning, and then gives pieces that begin and end anywhere, also in
 * the head; straight into the buffer, and held. */
static void
blocks_cut_anywhere(void **state)
{
	static const size_t cuts[] = {1, 7, 31, 32, 33, 100, 1000};
	struct world w;
	uint8_t b[600], buf[600];
	struct mmp_result r;
	uint32_t number = 0;
	(void)state;
	begin(&w);
	for (size_t k = 0; k < 2 * sizeof cuts / sizeof *cuts; k++) {
		size_t cut = cuts[k / 2], n = block(b, number++, 500);
		bool early = k % 2;
		uint32_t got = MMP_NONE;
		memset(buf, 0, sizeof buf);
		if (early)
			got = receive(&w, buf, 500);
		turn(&w);
		assert_true(mmp_far_room(w.far, 1, n));
		void *at = mmp_far_begin(w.far, 1, n, b, n);
		assert_non_null(at);
		for (size_t off = 0; off < n; off += cut)
			mmp_far_data(w.far, at, off, b + off, n - off < cut ? n - off : cut);
		mmp_far_end(w.far, at);
		if (!early)
			got = receive(&w, buf, 500);
		turn(&w);
		assert_true(mmp_port_done(w.kit.proc[0].port, got, &r));
		assert_true(!r.error && r.rank == 1 && r.bytes == 500);
		assert_memory_equal(buf, b + MMP_HEAD_BYTES, 500);
		mmp_port_forget(w.kit.proc[0].port, got);
	}
	assert_int_equal(mmp_engine_counters(w.kit.proc[0].engine)->straight, 7);
	assert_int_equal(mmp_far_broken(w.far), MMP_NONE);
	finish(&w);
}

/* What finds no room waits, is asked for again when there is some, and each peer once. */
static void
without_room(void **state)
{
	struct world w;
	static uint8_t b[HALF];
	uint8_t buf[16000];
	uint32_t number = 0;
	(void)state;
	begin(&w);
	/* Each peer's share is a quarter of that half: all of peer 1's, then peer 2's. */
	while (mmp_engine_room(w.kit.proc[0].engine, 16000)) {
		uint32_t peer = number % 2 + 1;
		size_t n = block(b, number / 2, 16000);
		void *at = mmp_far_begin(w.far, peer, n, b, n);
		mmp_far_data(w.far, at, 0, b, n);
		mmp_far_end(w.far, at);
		if (mmp_far_broken(w.far) != MMP_NONE)
			break;
		number++;
	}
	uint64_t large = HALF - 100;
	assert_false(mmp_far_room(w.far, 1, large));
	assert_false(mmp_far_room(w.far, 1, large));
	assert_false(mmp_far_has(w.far, 1));
	assert_int_equal(w.far->begs, 1);
	assert_int_equal(mmp_far_next(w.far), MMP_NONE);
	/* Words, what no area could hold, and nobody's are let in, to be refused there. */
	assert_true(mmp_far_room(w.far, 2, MMP_HEAD_BYTES));
	assert_true(mmp_far_room(w.far, 2, HALF + 1));
	assert_true(mmp_far_room(w.far, MMP_NONE, large));
	assert_true(mmp_far_has(w.far, 2) && mmp_far_has(w.far, MMP_NONE));
	/* The program takes what is there. */
	w.far->peer[1].beg_bytes = 16000;
	for (uint32_t i = 0; i < number; i++) {
		uint32_t got = mmp_port_receive(w.kit.proc[0].port, -1, 0, -1, buf, sizeof buf);
		turn(&w);
		mmp_port_forget(w.kit.proc[0].port, got);
	}
	assert_true(mmp_far_has(w.far, 1));
	assert_int_equal(mmp_far_next(w.far), 1);
	assert_int_equal(mmp_far_next(w.far), MMP_NONE);
	assert_int_equal(w.far->begs, 0);
	finish(&w);
}

/* Broken once, with a text that says what; deaf from then on. */
static void
heads_that_cannot_be(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		size_t first;  /* bytes shown at the beginning */
		uint64_t more; /* the block is so much longer than its head says */
		const char *why;
	} bad[] = {
		{0, 0x11, 31, 0, "length"},
		{0, 0x21, 132, 0, "version"},
		{0, 0x17, 132, 0, "kind"},
		{1, 0x80, 132, 0, "flags"},
		{3, 9, 132, 0, "stream"},
		{4, 0x80, 132, 0, "tag"},
		{23, 99, 132, 0, "beyond"},
		{0, 0x11, 132, 1, "wrong"},
		{8, 0x70, 132, 0, "that cannot be"}, /* a message far ahead */
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct world w;
		uint8_t b[200];
		begin(&w);
		size_t n = block(b, 0, 100);
		b[bad[i].at] = bad[i].byte;
		void *at = mmp_far_begin(w.far, 1, n + bad[i].more, b, bad[i].first);
		mmp_far_data(w.far, at, 0, b, n);
		mmp_far_end(w.far, at);
		if (!strstr(w.far->peer[1].why, bad[i].why))
			fail_msg("row %zu: %s", i, w.far->peer[1].why);
		assert_int_equal(mmp_far_broken(w.far), 1);
		assert_int_equal(mmp_far_broken(w.far), MMP_NONE);
		/* Good ones of it are dropped, those of others are not. */
		for (uint32_t peer = 1; peer <= 2; peer++) {
			n = block(b, 0, 100);
			at = mmp_far_begin(w.far, peer, n, b, n);
			mmp_far_data(w.far, at, 0, b, n);
			mmp_far_end(w.far, at);
		}
		struct mmp_engine_peer p;
		mmp_engine_get_peer(w.kit.proc[0].engine, 1, &p);
		assert_int_equal(p.held, 0);
		mmp_engine_get_peer(w.kit.proc[0].engine, 2, &p);
		assert_int_equal(p.held, 1);
		/* Nobody's. */
		at = mmp_far_begin(w.far, MMP_NONE, n, b, n);
		mmp_far_data(w.far, at, 0, b, n);
		mmp_far_end(w.far, at);
		assert_int_equal(w.far->broken, 0);
		finish(&w);
	}
}

/* A peer goes in the middle of a block: nothing of it is kept, what still comes is dropped. */
static void
gone_in_the_middle(void **state)
{
	struct world w;
	uint8_t b[600], buf[600];
	struct mmp_result r;
	(void)state;
	begin(&w);
	size_t n = block(b, 0, 500);
	void *at = mmp_far_begin(w.far, 1, n, b, n);
	mmp_far_data(w.far, at, 0, b, 100);
	(void)mmp_far_room(w.far, 1, HALF);
	uint32_t got = receive(&w, buf, 500);
	mmp_far_down(w.far, 1, EPIPE);
	mmp_far_data(w.far, at, 100, b + 100, n - 100);
	mmp_far_end(w.far, at);
	turn(&w);
	assert_true(mmp_port_done(w.kit.proc[0].port, got, &r));
	assert_int_equal(r.error, EPIPE);
	assert_int_equal(mmp_engine_area(w.kit.proc[0].engine)->used, 0);
	assert_int_equal(w.far->begs, 0);
	assert_int_equal(mmp_far_broken(w.far), MMP_NONE);
	assert_true(mmp_far_begin(w.far, 1, n, b, n) != NULL);
	assert_int_equal(mmp_engine_area(w.kit.proc[0].engine)->used, 0);
	/* A word that was sent is nobody's. */
	mmp_far_sent(w.far, MMP_FAR_WORD);
	finish(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_cut_anywhere),
		cmocka_unit_test(without_room),
		cmocka_unit_test(heads_that_cannot_be),
		cmocka_unit_test(gone_in_the_middle),
	};
	return cmocka_run_group_tests_name("mmp_far", tests, NULL, NULL);
}
