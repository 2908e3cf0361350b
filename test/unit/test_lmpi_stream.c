/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of lib/mpi, step by step: who keeps which, where bytes go, what makes no sense.  Random
 * programs over them are in test_lmpi_engine. */
#include "cmocka_all.h"
#include "lmpi_heap.h"

#include "mpi/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEN = 1000, CID = 3, TAG = 9 };

static struct lmpi_engine e;
static struct lmpi_peer peer[2];
static struct lmpi_hdr answered; /* the last packet that the engine sent */
static char failure[128];

static void
keep_failure(struct lmpi_engine *engine, const char *text)
{
	(void)engine;
	snprintf(failure, sizeof failure, "%s", text);
}

static bool
answer_packet(struct lmpi_engine *engine, struct lmpi_peer *to, struct lmpi_out *out)
{
	(void)to;
	answered = out->hdr;
	lmpi_out_done(engine, out, true);
	return true;
}

static bool
refuse_short(struct lmpi_engine *engine, struct lmpi_peer *to, const struct lmpi_hdr *h,
	     const void *data, uint64_t len)
{
	(void)engine, (void)to, (void)h, (void)data, (void)len;
	return false;
}

static const struct lmpi_transport transport = {.send = answer_packet, .try_short = refuse_short};

static int
begin_engine(void **state)
{
	(void)state;
	failure[0] = '\0';
	memset(peer, 0, sizeof peer);
	for (uint32_t r = 0; r < 2; r++)
		peer[r] = (struct lmpi_peer){.world = r,
					     .caps = r ? 0 : LMPI_CAP_SELF,
					     .tp = r ? &transport : NULL,
					     .eager_max = 10};
	e = (struct lmpi_engine){.size = 2,
				 .peer = peer,
				 .memory = lmpi_heap,
				 .fail = keep_failure,
				 .copied_bytes_max = 1000,
				 .unexpected_bytes_max = 1000};
	lmpi_engine_reset(&e);
	return 0;
}

static int
drop_engine(void **state)
{
	(void)state;
	lmpi_engine_drop(&e);
	return 0;
}

static struct lmpi_stream
stream_that_is_up(void)
{
	struct lmpi_stream s;
	uint8_t hello[LMPI_STREAM_HELLO] = {1};

	lmpi_stream_expect(&s);
	assert_int_equal(lmpi_stream_in(&e, &s, hello, sizeof hello), sizeof hello);
	assert_true(lmpi_stream_has_hello(&s));
	lmpi_stream_meet(&s, &peer[1], NULL);
	return s;
}

/* A message of rank 1 is announced and has a receive; the header of its data. */
static struct lmpi_hdr
announce_one(struct lmpi_req *req, void *buf, uint64_t cap)
{
	struct lmpi_hdr rts = {.magic = LMPI_HDR_MAGIC,
			       .type = LMPI_T_RTS,
			       .src = 1,
			       .tag = TAG,
			       .cid = CID,
			       .msglen = LEN,
			       .srq = 77};

	lmpi_engine_irecv(&e, req, buf, cap, 0, TAG, CID);
	assert_null(lmpi_arrive(&e, &peer[1], &rts, 0));
	lmpi_pump(&e);
	assert_int_equal(answered.type, LMPI_T_CTS);
	return (struct lmpi_hdr){.magic = LMPI_HDR_MAGIC,
				 .type = LMPI_T_DATA,
				 .src = 1,
				 .msglen = answered.msglen,
				 .drq = answered.drq};
}

static void
who_keeps_which(void **state)
{
	static const struct {
		enum lmpi_stream_state mine;
		uint32_t me, peer;
		bool takes;
	} row[] = {
		{LMPI_STREAM_NONE, 0, 1, true},	  {LMPI_STREAM_NONE, 1, 0, true},
		{LMPI_STREAM_OVER, 0, 1, true},	  {LMPI_STREAM_OVER, 1, 0, true},
		{LMPI_STREAM_ASKED, 0, 1, false}, {LMPI_STREAM_ASKED, 1, 0, true},
		{LMPI_STREAM_UP, 0, 1, false},	  {LMPI_STREAM_UP, 1, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (lmpi_stream_takes_other(row[i].mine, row[i].me, row[i].peer) != row[i].takes)
			fail_msg("row %zu", i);
}

/* Two that begin at the same time keep the same one, whichever hears of the other first. */
static void
both_agree(void **state)
{
	(void)state;
	for (uint32_t low = 0; low < 3; low++)
		for (uint32_t high = low + 1; high < 4; high++) {
			assert_false(lmpi_stream_takes_other(LMPI_STREAM_ASKED, low, high));
			assert_true(lmpi_stream_takes_other(LMPI_STREAM_ASKED, high, low));
		}
}

/* Bytes come in pieces of any size, and are where they belong without a copy. */
static void
in_pieces(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 300; piece += piece < 70 ? 1 : 37) {
		struct lmpi_stream s = stream_that_is_up();
		uint8_t frame[sizeof(struct lmpi_hdr) + LEN], buf[LEN] = {0};
		struct lmpi_req req = {0};
		size_t at = 0, placed = 0;
		struct lmpi_hdr h = announce_one(&req, buf, sizeof buf);

		memcpy(frame, &h, sizeof h);
		for (size_t i = 0; i < LEN; i++)
			frame[sizeof h + i] = (uint8_t)(i * 7);
		while (at < sizeof frame) {
			size_t room, n = sizeof frame - at < piece ? sizeof frame - at : piece;
			uint8_t *to = lmpi_stream_into(&s, &room);
			if (to) {
				n = n < room ? n : room;
				memcpy(to, frame + at, n);
				lmpi_stream_came(&e, &s, n);
				placed += n;
			} else {
				n = n < sizeof h - at ? n : sizeof h - at;
				assert_int_equal(lmpi_stream_in(&e, &s, frame + at, n), n);
			}
			at += n;
		}
		assert_int_equal(placed, LEN);
		lmpi_run_done(&e);
		if (!req.done)
			fail_msg("pieces of %zu: not done", piece);
		assert_memory_equal(buf, frame + sizeof h, LEN);
		assert_true(lmpi_stream_at_rest(&s));
	}
}

/* What a receive has no room for is not asked for, and what nobody wants any more goes nowhere. */
static void
nobody_wants_it(void **state)
{
	struct lmpi_stream s = stream_that_is_up();
	uint8_t buf[LEN], data[LEN];
	struct lmpi_req req = {0};
	size_t room;

	(void)state;
	memset(buf, 0x11, sizeof buf);
	memset(data, 0x22, sizeof data);
	struct lmpi_hdr h = announce_one(&req, buf, 600);
	assert_int_equal(h.msglen, 600);
	assert_int_equal(lmpi_stream_in(&e, &s, (const uint8_t *)&h, sizeof h), sizeof h);
	assert_ptr_equal(lmpi_stream_into(&s, &room), buf);
	assert_int_equal(room, 600);
	memcpy(buf, data, 100);
	lmpi_stream_came(&e, &s, 100);
	lmpi_engine_revoke(&e, CID);
	assert_int_equal(req.error, LMPI_ERR_REVOKED);
	assert_null(lmpi_stream_into(&s, &room));
	assert_int_equal(lmpi_stream_in(&e, &s, data, 500), 500);
	assert_int_equal(buf[99], 0x22);
	assert_int_equal(buf[100], 0x11);
	assert_true(lmpi_stream_at_rest(&s));
	assert_string_equal(failure, "");
}

static void
malformed_frames(void **state)
{
	static const struct {
		const char *name;
		size_t at;
		uint8_t byte;
		bool pays; /* it comes with data */
	} row[] = {
		{"magic", 0, 0, true},
		{"of another process", offsetof(struct lmpi_hdr, src), 0, true},
		{"EAGER", offsetof(struct lmpi_hdr, type), LMPI_T_EAGER, true},
		{"RTS", offsetof(struct lmpi_hdr, type), LMPI_T_RTS, true},
		{"CTS", offsetof(struct lmpi_hdr, type), LMPI_T_CTS, true},
		{"type 255", offsetof(struct lmpi_hdr, type), 255, true},
		{"not from the beginning", offsetof(struct lmpi_hdr, offset), 1, true},
		{"unknown receive", offsetof(struct lmpi_hdr, drq), 0xee, true},
		{"far too long", offsetof(struct lmpi_hdr, msglen) + 7, 0xff, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct lmpi_stream s = stream_that_is_up();
		uint8_t buf[LEN], frame[sizeof(struct lmpi_hdr) + LEN] = {0};
		struct lmpi_req req = {0};
		struct lmpi_hdr h = announce_one(&req, buf, sizeof buf);

		failure[0] = '\0';
		memcpy(frame, &h, sizeof h);
		frame[row[i].at] = row[i].byte;
		size_t n = lmpi_stream_in(&e, &s, frame, sizeof frame);
		if (n != sizeof h || s.state != LMPI_STREAM_OVER || !failure[0] || req.done)
			fail_msg("%s: took %zu, state %d, \"%s\"", row[i].name, n, s.state,
				 failure);
		lmpi_stream_end(&e, &s);
		drop_engine(NULL);
		begin_engine(NULL);
	}
}

/* Nothing is taken behind a HELLO until it is judged. */
static void
hello_is_judged_first(void **state)
{
	struct lmpi_stream s;
	uint8_t bytes[LMPI_STREAM_HELLO + 40] = {1};

	(void)state;
	lmpi_stream_expect(&s);
	assert_int_equal(lmpi_stream_in(&e, &s, bytes, 10), 10);
	assert_false(lmpi_stream_has_hello(&s));
	assert_int_equal(lmpi_stream_in(&e, &s, bytes + 10, sizeof bytes - 10),
			 LMPI_STREAM_HELLO - 10);
	assert_true(lmpi_stream_has_hello(&s));
	assert_int_equal(lmpi_stream_in(&e, &s, bytes, sizeof bytes), 0);
	lmpi_stream_end(&e, &s);
	assert_int_equal(lmpi_stream_in(&e, &s, bytes, sizeof bytes), 0);
}

/* HELLO and frames go out in order, whatever the socket takes. */
static void
going_out(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 200; piece++) {
		struct lmpi_stream s = stream_that_is_up();
		uint8_t data[LEN], out[3000];
		struct lmpi_req req = {0};
		size_t n = 0;

		memset(data, 0x33, sizeof data);
		s.hello_left = LMPI_STREAM_HELLO;
		memset(s.hello, 0x44, sizeof s.hello);
		struct lmpi_out *o = take_heap(NULL, sizeof *o);
		req = (struct lmpi_req){.placed = 1};
		e.sends = 1;
		e.outs++;
		*o = (struct lmpi_out){.hdr = {.magic = LMPI_HDR_MAGIC,
					       .type = LMPI_T_DATA,
					       .msglen = LEN,
					       .drq = 5},
				       .data = data,
				       .len = LEN,
				       .req = &req,
				       .peer = 1};
		lmpi_stream_send(&s, o);
		struct lmpi_stream_bytes p[2];
		for (int k; (k = lmpi_stream_out(&s, p)) > 0;) {
			size_t left = piece;
			for (int i = 0; i < k && left > 0; i++) {
				size_t m = p[i].n < left ? p[i].n : left;
				memcpy(out + n, p[i].at, m);
				n += m;
				left -= m;
			}
			assert_false(req.done);
			lmpi_stream_sent(&e, &s, piece - left);
		}
		assert_int_equal(n, LMPI_STREAM_HELLO + sizeof(struct lmpi_hdr) + LEN);
		assert_int_equal(out[0], 0x44);
		assert_int_equal(out[LMPI_STREAM_HELLO + offsetof(struct lmpi_hdr, drq)], 5);
		assert_memory_equal(out + n - LEN, data, LEN);
		assert_true(req.done);
		lmpi_run_done(&e);
	}
}

static void
habit(void **state)
{
	const struct lmpi_out alone = {0}, both = {.both = true};
	struct lmpi_stream_habit h = {0};
	int more = 0;

	(void)state;
	assert_false(lmpi_stream_wanted(&h, &alone));
	assert_true(lmpi_stream_wanted(&h, &both));
	while (lmpi_stream_wanted(&h, &alone))
		more++;
	assert_in_range(more, 1, 10);
	assert_false(lmpi_stream_wanted(&h, &alone));
	assert_true(lmpi_stream_wanted(&h, &both));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_engine, drop_engine)
	const struct CMUnitTest tests[] = {
		TEST(who_keeps_which),	TEST(both_agree),
		TEST(in_pieces),	TEST(nobody_wants_it),
		TEST(malformed_frames), TEST(hello_is_judged_first),
		TEST(going_out),	TEST(habit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
