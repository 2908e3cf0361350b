/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of a window whose origins do what they may not, or die: nothing is done with memory that
 * was not sent, no lock goes that was not granted, nothing arrives where the window was.  And
 * targets that answer what nobody has asked. */
#include "cmocka_all.h"

#include "mpi/lock_word.h"
#include "mpi/target.h"

#include <setjmp.h>
#include <string.h>

enum { ORIGIN = 1, OTHER = 2, RANKS = 3, BULK = 100000, SIZE = 4096 };

static struct lmpi_exposed x;
static struct lmpi_origin origins[RANKS];
static struct lmpi_bulks bulks;
static _Atomic uint32_t word;
static struct lmpi_req *receive; /* the last that was posted */
static _Alignas(16) uint8_t room[2 << 20];
static size_t used;
static uint64_t taken;	/* the longest memory that was asked for */
static uint64_t result; /* what each GET takes, until the test says that it has gone */
static int performed, outside, stored, acks, grants;
static jmp_buf refused;

/* What is refused leaves what it has in hand.  Long bulk data never comes here. */
static void *
take_counted(void *user, size_t bytes)
{
	void *p = room + used;

	(void)user;
	taken = bytes > taken ? bytes : taken;
	if (bytes > (uint64_t)RMA_PIECE)
		return room;
	used += (bytes + 15) / 16 * 16;
	assert_true(used <= sizeof room);
	return p;
}

static void
give_none(void *user, void *p)
{
	(void)user, (void)p;
}

static int
place_here(const struct lmpi_job *j, void **at)
{
	*at = NULL;
	return j->p.at < SIZE ? LMPI_OK : LMPI_ERR_OTHER;
}

static int
store_here(const struct lmpi_job *j, const void *data)
{
	(void)j, (void)data;
	stored++;
	return LMPI_OK;
}

static int
perform_here(const struct lmpi_job *j)
{
	performed++;
	outside += j->outside;
	if (j->p.kind == RMA_GET && result > 0)
		lmpi_exposed_owe(j->x, j->origin, result);
	return LMPI_OK;
}

static void
hear_here(const struct lmpi_job *j)
{
	(void)j;
}

static void
note_here(struct lmpi_exposed *part, int origin, enum rma_kind kind, int error)
{
	(void)part, (void)origin, (void)error;
	acks += kind == RMA_ACK;
	grants += kind == RMA_GRANT;
}

static void
post_here(struct lmpi_exposed *part, struct lmpi_req *req, void *into, uint64_t cap, int origin,
	  uint32_t tag)
{
	(void)part, (void)origin, (void)tag;
	req->buf = into;
	req->cap = cap;
	receive = req;
}

static bool
is_whole(const struct lmpi_exposed *part)
{
	(void)part;
	return false;
}

static __attribute__((noreturn)) void
refuse_it(const struct lmpi_job *j, const char *what)
{
	(void)j, (void)what;
	longjmp(refused, 1);
}

static const struct lmpi_exposed_ops ops = {.place = place_here,
					    .put = store_here,
					    .perform = perform_here,
					    .hear = hear_here,
					    .note = note_here,
					    .receive = post_here,
					    .is_void = is_whole,
					    .malformed = refuse_it};

static int
open_part(void **state)
{
	(void)state;
	memset(origins, 0, sizeof origins);
	word = 0;
	receive = NULL;
	used = taken = result = 0;
	bulks = (struct lmpi_bulks){0};
	performed = outside = stored = acks = grants = 0;
	x = (struct lmpi_exposed){.ops = &ops,
				  .memory = {.get = take_counted, .put = give_none},
				  .room = LMPI_ROOM,
				  .bulks = &bulks,
				  .lock = &word,
				  .origin = origins};
	return 0;
}

/* The job comes; true: it was refused. */
static bool
arrive(int origin, struct rma_packet p)
{
	struct lmpi_job j;

	if (!lmpi_job_read(&j, &p, sizeof p))
		return true;
	j.x = &x;
	j.origin = origin;
	if (setjmp(refused))
		return true;
	lmpi_exposed_arrive(&j);
	return false;
}

/* The receive that was posted last ends. */
static bool
end_receive(int error, uint64_t bytes)
{
	struct lmpi_req *req = receive;

	req->done = true;
	req->error = error;
	req->bytes = bytes;
	if (setjmp(refused))
		return true;
	req->on_done(req);
	return false;
}

static bool
send_bulk_op(enum rma_kind kind, uint64_t at)
{
	return arrive(
		ORIGIN,
		(struct rma_packet){.kind = (uint8_t)kind, .at = at, .bytes = BULK, .data_tag = 7});
}

static void
test_packets(void **state)
{
	struct lmpi_job j;
	static const struct rma_packet bad[] = {
		{.kind = 0},
		{.kind = RMA_KINDS},
		{.kind = RMA_PUT, .bytes = UINT64_MAX},
		{.kind = RMA_PUT, .layout = 8},
		{.kind = RMA_GET, .data_tag = 1, .bytes = 8},
		{.kind = RMA_CAS, .reply_tag = 1, .bytes = 8},
		{.kind = RMA_PUT, .reply_tag = 1, .bytes = BULK},
		{.kind = RMA_GET, .reply_tag = 1, .bytes = RMA_INLINE_MAX},
		{.kind = RMA_GET, .bytes = RMA_INLINE_MAX + 1},
	};
	static const struct rma_packet good[] = {
		{.kind = RMA_GET, .bytes = RMA_INLINE_MAX},
		{.kind = RMA_GET, .reply_tag = 1, .bytes = RMA_INLINE_MAX + 1},
		{.kind = RMA_GET_ACC, .reply_tag = 1, .data_tag = 2, .bytes = BULK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (lmpi_job_read(&j, &bad[i], sizeof bad[i]))
			fail_msg("row %zu is taken", i);
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		if (!lmpi_job_read(&j, &good[i], sizeof good[i]))
			fail_msg("row %zu is refused", i);
	assert_false(lmpi_job_read(&j, &good[0], sizeof good[0] - 1));
}

/* What is behind it goes on, itself is not done. */
static void
test_lost(void **state)
{
	(void)state;
	assert_false(send_bulk_op(RMA_ACC, 0));
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_FLUSH}));
	assert_false(end_receive(LMPI_ERR_PROC_FAILED, 0));
	assert_int_equal(performed, 0);
	assert_int_equal(acks, 1);
	assert_false(send_bulk_op(RMA_PUT, 0));
	assert_false(end_receive(LMPI_ERR_PROC_FAILED, 0));
	assert_int_equal(stored, 0);
	lmpi_exposed_drop(&x);
}

/* Less than was announced would leave memory as it was. */
static void
test_length(void **state)
{
	static const enum rma_kind kinds[] = {RMA_PUT, RMA_ACC};

	for (int i = 0; i < 2; i++) {
		open_part(state);
		assert_false(send_bulk_op(kinds[i], 0));
		assert_true(end_receive(LMPI_OK, BULK - 1));
		open_part(state);
		assert_false(send_bulk_op(kinds[i], 0));
		assert_true(end_receive(LMPI_ERR_TRUNCATE, BULK + 1));
		open_part(state);
		assert_false(send_bulk_op(kinds[i], 0));
		assert_false(end_receive(LMPI_OK, BULK));
		assert_int_equal(performed + stored, 1);
	}
}

/* Whatever length it says, what goes nowhere takes no memory. */
static void
test_outside(void **state)
{
	(void)state;
	assert_false(send_bulk_op(RMA_PUT, SIZE));
	assert_int_equal(receive->cap, 0);
	assert_true(taken < BULK);
	assert_false(end_receive(LMPI_ERR_TRUNCATE, BULK));
	assert_int_equal(stored, 0);
	assert_int_equal(origins[ORIGIN].fault, LMPI_ERR_OTHER);
	assert_false(send_bulk_op(RMA_ACC, SIZE));
	assert_int_equal(receive->cap, 0);
	assert_true(taken < BULK);
	assert_false(end_receive(LMPI_ERR_TRUNCATE, BULK));
	assert_int_equal(performed, 1);
	assert_int_equal(outside, 1);
}

static bool
lock_or_unlock(int origin, enum rma_kind kind, bool exclusive)
{
	return arrive(origin, (struct rma_packet){.kind = (uint8_t)kind,
						  .flags = exclusive ? RMA_EXCLUSIVE : 0});
}

/* Nobody gives back what another one has. */
static void
test_unlock(void **state)
{
	for (int exclusive = 0; exclusive < 2; exclusive++) {
		open_part(state);
		assert_true(lock_or_unlock(ORIGIN, RMA_UNLOCK, exclusive));
		assert_int_equal(word, 0);
		assert_false(lock_or_unlock(OTHER, RMA_LOCK, exclusive));
		assert_int_equal(grants, 1);
		uint32_t held = word;
		assert_true(lock_or_unlock(ORIGIN, RMA_UNLOCK, exclusive));
		assert_true(lock_or_unlock(OTHER, RMA_UNLOCK, !exclusive));
		assert_int_equal(word, held);
		assert_false(lock_or_unlock(OTHER, RMA_UNLOCK, exclusive));
		assert_int_equal(word, 0);
		assert_true(lock_or_unlock(OTHER, RMA_UNLOCK, exclusive));
		assert_int_equal(word, 0);
	}
}

/* What an origin may send behind a LOCK that is not granted, and no more. */
static void
test_behind_lock(void **state)
{
	static const enum rma_kind never[] = {RMA_LOCK, RMA_UNLOCK, RMA_COMPLETE};
	const uint32_t most = (uint32_t)(RMA_EARLY_MAX / sizeof(struct rma_packet)) + 1;

	(void)state;
	assert_false(lock_or_unlock(OTHER, RMA_LOCK, true));
	assert_false(lock_or_unlock(ORIGIN, RMA_LOCK, true));
	for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
		if (!arrive(ORIGIN, (struct rma_packet){.kind = (uint8_t)never[i]}))
			fail_msg("row %zu is kept", i);
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_FLUSH}));
	assert_true(arrive(ORIGIN, (struct rma_packet){.kind = RMA_FLUSH}));
	for (uint32_t i = 1; i < most; i++)
		assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_GET, .bytes = 8}));
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_GET, .bytes = 8}));
	assert_true(arrive(ORIGIN, (struct rma_packet){.kind = RMA_GET, .bytes = 8}));
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_FLUSH}));
	assert_int_equal(performed, 0);
	/* It is all done when the lock is free, and there is room again behind the next one. */
	assert_false(lock_or_unlock(OTHER, RMA_UNLOCK, true));
	assert_int_equal(performed, most);
	assert_int_equal(acks, 2);
	assert_false(lock_or_unlock(ORIGIN, RMA_UNLOCK, true));
	assert_false(lock_or_unlock(OTHER, RMA_LOCK, true));
	assert_false(lock_or_unlock(ORIGIN, RMA_LOCK, true));
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_GET, .bytes = 8}));
	lmpi_exposed_drop(&x);
}

static bool
announce(enum rma_kind kind, uint64_t bytes)
{
	return arrive(ORIGIN,
		      (struct rma_packet){.kind = (uint8_t)kind, .bytes = bytes, .data_tag = 7});
}

/* Bulk data that never comes: what is announced, and what waits behind it, has an end. */
static void
test_behind_bulk(void **state)
{
	static const enum rma_kind kinds[] = {RMA_ACC, RMA_PUT}; /* a put of pieces */
	struct lmpi_req *receives[5]; /* RMA_BEHIND_MOST(), in the longest operations */
	uint32_t n = 0;

	for (int i = 0; i < 2; i++) {
		open_part(state);
		for (n = 0; n < sizeof receives / sizeof receives[0]; n++) {
			assert_false(announce(kinds[i], INT64_MAX));
			receives[n] = receive;
		}
		assert_true(announce(kinds[i], INT64_MAX));
		assert_true(arrive(ORIGIN, (struct rma_packet){.kind = RMA_FLUSH}));
		/* Of another origin all is done. */
		assert_false(arrive(OTHER, (struct rma_packet){.kind = RMA_FLUSH}));
		assert_int_equal(acks, 1);
		/* What has come has room for others. */
		receive = receives[0];
		assert_false(end_receive(LMPI_OK, INT64_MAX));
		assert_false(announce(kinds[i], INT64_MAX));
	}
	for (n = 1; n < sizeof receives / sizeof receives[0]; n++) {
		receive = receives[n];
		assert_false(end_receive(LMPI_OK, INT64_MAX));
	}
	assert_int_equal(origins[ORIGIN].behind, RMA_BEHIND_MAX);
}

/* Short data that never comes takes no more memory than its weight: few have long pieces. */
static void
test_short_bulk(void **state)
{
	uint32_t n = 0;

	(void)state;
	x.room = (struct lmpi_room){.early = 4000, .behind = 10000};
	while (!announce(RMA_ACC, 8))
		n++;
	assert_in_range(n, 1, RMA_BEHIND_MOST(&x.room) / RMA_ENTRY);
	assert_int_equal(bulks.made, LMPI_BULKS_MAX);
	assert_true(used <= RMA_BEHIND_MOST(&x.room) + LMPI_BULKS_MAX * (uint64_t)RMA_PIECE);
}

static bool
get_from(int origin)
{
	return !arrive(origin, (struct rma_packet){.kind = RMA_GET, .bytes = 8});
}

/* Results that are not taken: the next one waits, and what is behind it; others and puts do not. */
static void
test_untaken(void **state)
{
	(void)state;
	x.room.results = 1000;
	result = 600;
	for (int i = 0; i < 3; i++)
		assert_true(get_from(ORIGIN));
	assert_int_equal(performed, 2);
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_ACC}));
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_FLUSH}));
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_PUT}));
	assert_int_equal(performed, 2);
	assert_int_equal(acks, 0);
	assert_int_equal(stored, 1);
	assert_true(get_from(OTHER));
	assert_int_equal(performed, 3);
	lmpi_exposed_paid(&x, ORIGIN, 600);
	assert_int_equal(performed, 5);
	assert_int_equal(acks, 1);
	assert_int_equal(origins[ORIGIN].behind, 0);
	/* What waits has an end. */
	int n = 0;
	x.room.behind = 10000;
	while (get_from(ORIGIN))
		n++;
	assert_in_range(n, 1, RMA_BEHIND_MOST(&x.room) / RMA_ENTRY);
	assert_int_equal(performed, 5);
	result = 0;
	lmpi_exposed_paid(&x, ORIGIN, 1200);
	lmpi_exposed_paid(&x, OTHER, 600);
	assert_int_equal(performed, 5 + n);
	assert_int_equal(x.owing, 0);
	lmpi_exposed_drop(&x);
}

static struct lmpi_acting origin_side; /* its target is x */
static struct lmpi_target there;

/* The longest accumulate goes there, and its data does not. */
static bool
act_there(uint64_t bytes)
{
	struct lmpi_act act = {0};

	lmpi_act_begin(&origin_side, &act, &there, RMA_ACC);
	lmpi_target_note_early(&there, sizeof(struct rma_packet));
	lmpi_target_note_beside(&there, bytes);
	return !announce(RMA_ACC, bytes);
}

static bool
flush_there(void)
{
	return lmpi_target_flush(&there, false) &&
	       !arrive(ORIGIN, (struct rma_packet){.kind = RMA_FLUSH});
}

/* As many as just do not fill it, then the longest that there is. */
static bool
fill_there(void)
{
	bool taken_all = true;

	while (taken_all && !lmpi_target_is_full(&origin_side, &there))
		taken_all =
			act_there(there.early + there.beside + RMA_BEHIND_MAX / 3 > RMA_BEHIND_MAX
					  ? INT64_MAX
					  : RMA_BEHIND_MAX / 3);
	return taken_all;
}

static int
open_both(void **state)
{
	origin_side = (struct lmpi_acting){.memory = {.get = take_counted, .put = give_none},
					   .room = LMPI_ROOM};
	there = (struct lmpi_target){0};
	return open_part(state);
}

/* An origin that waits when it is told to is never refused, however long its operations are and
 * however late their data. */
static void
test_waits_in_time(void **state)
{
	struct lmpi_job ack = {.x = &x, .p = {.kind = RMA_ACK}};

	(void)state;
	assert_true(fill_there());
	assert_true(flush_there());
	assert_true(fill_there());
	/* Others of its threads flush, and nobody may send the more for it. */
	for (int i = 0; i < 3; i++) {
		(void)flush_there();
		assert_true(lmpi_target_is_full(&origin_side, &there));
	}
	assert_int_equal(acks, 0);
	while (there.acks > 0)
		assert_true(lmpi_target_hear(&origin_side, &there, &ack));
	assert_false(lmpi_target_is_full(&origin_side, &there));
}

/* What was under way at a COMPLETE is not forgotten, unless it is little. */
static void
test_room_completed(void **state)
{
	(void)state;
	assert_true(fill_there());
	lmpi_target_complete(&origin_side, &there);
	assert_true(lmpi_target_ask(&there, false, false));
	there.held = LMPI_LOCK_HELD;
	assert_true(lmpi_target_is_full(&origin_side, &there));
	assert_true(flush_there());
	assert_true(fill_there());
	open_both(state);
	lmpi_target_note_early(&there, RMA_EARLY_MAX / 2);
	lmpi_target_complete(&origin_side, &there);
	assert_false(lmpi_target_flush(&there, false));
	assert_int_equal(there.early, 0);
}

/* Nobody waits for few, but for the lock. */
static void
test_room_asked(void **state)
{
	(void)state;
	there.held = LMPI_LOCK_ASKED;
	lmpi_target_note_early(&there, RMA_EARLY_MAX);
	assert_false(lmpi_target_is_full(&origin_side, &there));
	lmpi_target_note_early(&there, 1);
	assert_true(lmpi_target_is_full(&origin_side, &there));
	there.held = LMPI_LOCK_HELD;
	assert_false(lmpi_target_is_full(&origin_side, &there));
}

static void
test_drop(void **state)
{
	volatile bool went = false;

	/* Who waits for a lock, and what it sent behind, goes with the window. */
	assert_false(lock_or_unlock(OTHER, RMA_LOCK, true));
	assert_false(lock_or_unlock(ORIGIN, RMA_LOCK, true));
	assert_false(arrive(ORIGIN, (struct rma_packet){.kind = RMA_FLUSH}));
	lmpi_exposed_drop(&x);
	assert_null(origins[ORIGIN].kept_first);
	/* Bulk data that is still to come keeps it. */
	open_part(state);
	assert_false(send_bulk_op(RMA_PUT, 0));
	if (!setjmp(refused)) {
		lmpi_exposed_drop(&x);
		went = true;
	}
	assert_false(went);
	assert_false(end_receive(LMPI_OK, BULK));
	lmpi_exposed_drop(&x);
}

/* ---- what a target says to an origin */

static void
end_quietly(struct lmpi_act *act)
{
	(void)act;
}

static void
test_answers(void **state)
{
	static const struct lmpi_acting_ops acting_ops = {.ended = end_quietly};
	static const enum rma_kind unasked[] = {RMA_ACK, RMA_GRANT, RMA_REPLY, RMA_PUT};
	struct lmpi_acting all = {.ops = &acting_ops,
				  .memory = {.get = take_counted, .put = give_none}};
	struct lmpi_target t = {0}, other = {0};
	struct lmpi_act act = {0};
	struct rma_packet p;
	struct lmpi_job j = {.x = &x};

	(void)state;
	lmpi_act_begin(&all, &act, &t, RMA_GET);
	assert_true(lmpi_act_want(&act, &p, 8));
	for (size_t i = 0; i < sizeof unasked / sizeof unasked[0]; i++) {
		j.p = (struct rma_packet){.kind = (uint8_t)unasked[i]};
		if (lmpi_target_hear(&all, &t, &j))
			fail_msg("row %zu is taken", i);
	}
	assert_int_equal(t.held, LMPI_LOCK_FREE);
	/* A reply from somebody else, one with an error that no part tells; one that is short. */
	j.p = (struct rma_packet){.kind = RMA_REPLY, .id = act.id};
	assert_false(lmpi_target_hear(&all, &other, &j));
	j.p.error = LMPI_ERR_INTERN;
	assert_false(lmpi_target_hear(&all, &t, &j));
	j.p.error = LMPI_OK;
	lmpi_act_event(&act);
	assert_int_equal(t.pending, 1);
	assert_true(lmpi_target_hear(&all, &t, &j));
	assert_int_equal(t.pending, 0);
	assert_int_equal(lmpi_target_take_error(&t), LMPI_ERR_RMA_RANGE);
	assert_false(lmpi_target_hear(&all, &t, &j)); /* a second time */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_packets, open_part),
		cmocka_unit_test_setup(test_lost, open_part),
		cmocka_unit_test_setup(test_length, open_part),
		cmocka_unit_test_setup(test_outside, open_part),
		cmocka_unit_test_setup(test_unlock, open_part),
		cmocka_unit_test_setup(test_behind_lock, open_part),
		cmocka_unit_test_setup(test_behind_bulk, open_part),
		cmocka_unit_test_setup(test_short_bulk, open_part),
		cmocka_unit_test_setup(test_untaken, open_part),
		cmocka_unit_test_setup(test_waits_in_time, open_both),
		cmocka_unit_test_setup(test_room_completed, open_both),
		cmocka_unit_test_setup(test_room_asked, open_both),
		cmocka_unit_test_setup(test_drop, open_part),
		cmocka_unit_test_setup(test_answers, open_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
