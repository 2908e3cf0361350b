/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of lib/spx in memory: what one test each is about.  Where processes die it is
 * test_spx_deaths.c; what many of them do then is test/sim/spx.c. */
#include "spx_kit.h"

static const char *
find_event(uint32_t of, enum spx_event_kind kind)
{
	for (uint32_t i = 0; i < w.events; i++)
		if (w.event[i].of == of && w.event[i].kind == kind)
			return w.event[i].text;
	return NULL;
}

static void
expect_event(uint32_t of, enum spx_event_kind kind, const char *text)
{
	const char *is = find_event(of, kind);

	if (!is || !strstr(is, text))
		fail_msg("process %u: \"%s\", wanted \"%s\"", of, is ? is : "nothing", text);
}

/* --- tests ------------------------------------------------------------------------ */

static void
one_frame(void **state)
{
	struct spx_frame f;

	(void)state;
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	assert_false(spx_begin(w.x[SINK], &f, w.now_ns));
	take_one(FILTER, 0, false, true);
	assert_int_equal(w.done[SOURCE], 0); /* not before the last stage has it done */
	take_one(SINK, 0, false, false);
	assert_int_equal(w.done[SOURCE], 1);
	assert_int_equal(w.done[SINK], 1);
	for (uint32_t i = 1; i <= PROCS; i++)
		assert_int_equal(spx_busy(w.x[i]), 0);
	assert_int_equal(w.pieces, 0);
}

static void
window_holds_back(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 4; n++)
		assert_true(make_one(n));
	assert_false(make_one(4));
	pass_time(20 * BASE_MS_NS);
	take_one(FILTER, 0, false, true);
	assert_false(make_one(4)); /* put is not committed */
	take_one(SINK, 0, false, false);
	assert_true(make_one(4));
	assert_false(make_one(5));
}

static void
empty_frames_are_not_seen(void **state)
{
	struct spx_frame f;

	(void)state;
	assert_true(make_one(0) && make_one(1));
	pass_time(20 * BASE_MS_NS);
	take_one(FILTER, 0, false, false);
	assert_false(spx_begin(w.x[SINK], &f, w.now_ns));
	assert_int_equal(w.done[SOURCE], 1);
	take_one(FILTER, 1, false, true);
	take_one(SINK, 1, false, false);
	assert_int_equal(w.done[SOURCE], 2);
}

static void
abandoned_is_begun_again(void **state)
{
	struct spx_frame f;

	(void)state;
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_begin(w.x[FILTER], &f, w.now_ns));
	assert_true(spx_put(w.x[FILTER], f.origin, f.number, "wrong", 5, w.now_ns));
	assert_true(spx_abandon(w.x[FILTER], f.origin, f.number, w.now_ns));
	assert_false(spx_finish(w.x[FILTER], f.origin, f.number, w.now_ns));
	take_one(FILTER, 0, true, true);
	take_one(SINK, 0, true, false); /* for all that anybody knows */
}

static void
old_row_costs_a_refusal(void **state)
{
	(void)state;
	end_world();
	make_pipeline(1);
	show_view_to_all();
	pass_time(20 * BASE_MS_NS); /* rows are known: room for one at each */
	for (uint64_t n = 0; n < 4; n++)
		assert_true(make_one(n));
	pass_time(50 * BASE_MS_NS);
	for (uint64_t n = 0; n < 4; n++) {
		take_one(FILTER, n, false, true);
		take_one(SINK, n, false, false);
	}
	assert_int_equal(w.done[SOURCE], 4);
	/* A row that is too good: made up by hand. */
	uint8_t row[SPX_HEAD] = {0xf6, 17};
	be64_store(row + 8, w.view.number);
	be32_store(row + 36, 9);
	for (uint64_t n = 4; n < 8; n++)
		assert_true(make_one(n));
	deliver_all();
	assert_true(spx_on_message(w.x[SOURCE], IO_A, row, sizeof row, w.now_ns));
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_counters(w.x[SOURCE])->refused > 0);
	for (uint64_t n = 4; n < 8; n++) {
		take_one(FILTER, n, false, true);
		take_one(SINK, n, false, false);
	}
	assert_int_equal(w.done[SOURCE], 8);
}

static void
user_policy_is_asked(void **state)
{
	(void)state;
	w.chain[0].policy = SPX_USER;
	show_view_to_all();
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS); /* rows are known now */
	assert_true(make_one(1));
	pass_time(20 * BASE_MS_NS);
	assert_true(w.picks > 0);
	assert_int_equal(spx_busy(w.x[IO_B]), 1); /* the last one is picked */
}

/* A program that ignores frames, seen from itself and from the source. */
static void
ignored_frames(void **state)
{
	(void)state;
	assert_true(make_one(0));
	pass_time(3 * STALL_NS);
	expect_event(FILTER, SPX_EVENT_IGNORED, "frame 0 of source rank 0: for 0.1");
	expect_event(FILTER, SPX_EVENT_IGNORED, "the program does not begin it");
	expect_event(SOURCE, SPX_EVENT_AWAITED, "rank 0 of filter has it");
	struct spx_frame f;
	assert_true(spx_begin(w.x[FILTER], &f, w.now_ns));
	w.events = 0;
	pass_time(3 * STALL_NS);
	expect_event(FILTER, SPX_EVENT_IGNORED, "its program does not end the frame");
	assert_true(spx_finish(w.x[FILTER], ORIGIN, 0, w.now_ns));
}

/* What waits behind a frame that is told of is not told of. */
static void
one_of_many_is_told(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 4; n++)
		assert_true(make_one(n));
	w.events = 0;
	pass_time(3 * STALL_NS);
	for (uint32_t i = 0; i < w.events; i++)
		if (strncmp(w.event[i].text, "frame 0 ", 8) != 0)
			fail_msg("process %u: %s", w.event[i].of, w.event[i].text);
	expect_event(FILTER, SPX_EVENT_IGNORED, "frame 0 of source rank 0: for 0.1");
	expect_event(SOURCE, SPX_EVENT_AWAITED, "frame 0 of source rank 0: for 0.1");
	take_one(FILTER, 0, false, true);
	take_one(SINK, 0, false, false);
	w.events = 0;
	pass_time(4 * STALL_NS);
	expect_event(FILTER, SPX_EVENT_IGNORED, "frame 1 of source rank 0: for ");
}

/* An I/O process that takes frames and gives them to nobody. */
static void
hoarded_frames(void **state)
{
	(void)state;
	w.dead[IO_B] = true;
	show_view_to_all();
	assert_true(make_one(0));
	w.deaf[FILTER] = true; /* it hears of nothing, and what it asks for is not given */
	pass_time(3 * STALL_NS);
	expect_event(SOURCE, SPX_EVENT_HOARDED, "I/O process 2 has it and gives it to nobody");
	assert_int_equal(w.event[w.events - 1].proc, IO_A);
	w.deaf[FILTER] = false;
	pass_time(STALL_NS);
	take_one(FILTER, 0, false, true);
	take_one(SINK, 0, false, false);
}

static void
no_room_is_said(void **state)
{
	(void)state;
	w.dead[IO_A] = w.dead[IO_B] = true;
	show_view_to_all();
	assert_true(make_one(0));
	pass_time(3 * STALL_NS);
	expect_event(SOURCE, SPX_EVENT_AWAITED, "no I/O process has had room for it");
}

static void
start_waits_for_all(void **state)
{
	struct spx_frame f;

	(void)state;
	end_world();
	make_pipeline(4);
	w.proc[SINK - 1].ready = false;
	show_view_to_all();
	pass_time(200 * BASE_MS_NS);
	assert_false(make_one(0));
	assert_false(spx_begin(w.x[FILTER], &f, w.now_ns));
	expect_event(IO_A, SPX_EVENT_MISSING, "cluster sink: rank 0 of 1 has not called");
	assert_null(find_event(SOURCE, SPX_EVENT_RUNNING));
	w.proc[SINK - 1].ready = true;
	show_view_to_all();
	expect_event(SOURCE, SPX_EVENT_RUNNING, "all of the pipeline");
	assert_true(make_one(0));
}

static void
lost_cluster_stops(void **state)
{
	static const struct row {
		const char *name, *text;
		enum spx_on_lost on_lost;
		bool goes_on; /* a frame is taken by the sink */
	} rows[] = {
		{"wait", "frames for it wait (on_lost=wait)", SPX_WAIT, false},
		{"bypass", "frames go past it, as they are (on_lost=bypass)", SPX_BYPASS, true},
		{"stop", "no frame is begun any more (on_lost=stop)", SPX_STOP, false},
		{"restart", "it should be started again (on_lost=restart)", SPX_RESTART, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct spx_frame f;
		end_world();
		make_pipeline(4);
		w.chain[0].on_lost = rows[i].on_lost;
		show_view_to_all();
		pass_time(20 * BASE_MS_NS);
		w.dead[FILTER] = true;
		w.cluster[1].lost = true;
		show_view_to_all();
		expect_event(SINK, SPX_EVENT_LOST, rows[i].text);
		assert_int_equal(make_one(0), rows[i].on_lost != SPX_STOP);
		pass_time(50 * BASE_MS_NS);
		bool begun = spx_begin(w.x[SINK], &f, w.now_ns);
		if (begun != rows[i].goes_on)
			fail_msg("%s: the sink has %s", rows[i].name, begun ? "one" : "none");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_frame),
		TEST(window_holds_back),
		TEST(empty_frames_are_not_seen),
		TEST(abandoned_is_begun_again),
		TEST(old_row_costs_a_refusal),
		TEST(user_policy_is_asked),
		TEST(ignored_frames),
		TEST(one_of_many_is_told),
		TEST(hoarded_frames),
		TEST(no_room_is_said),
		TEST(start_waits_for_all),
		TEST(lost_cluster_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
