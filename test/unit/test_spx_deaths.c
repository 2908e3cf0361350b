/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of lib/spx in memory: what is left of frames when processes and stages die. */
#include "spx_kit.h"

/* What a spare makes; again: somebody may have made it before. */
static void
pass_one_of(uint32_t spare, uint64_t expected, bool again)
{
	uint64_t number;
	bool is;

	assert_true(spx_next(w.x[spare], &number, &is));
	assert_int_equal(number, expected);
	assert_int_equal(is, again);
	assert_true(spx_put(w.x[spare], ORIGIN, number, &number, sizeof number, w.now_ns));
	pass_time(20 * BASE_MS_NS);
	take_one(FILTER, number, again, true);
	take_one(SINK, number, again, false);
}

/* An I/O process dies, then the source.  heard: it put a frame at the other one in between. */
static void
take_source_over(bool heard)
{
	uint64_t first = heard ? 3 : 2;

	for (uint64_t n = 0; n < first; n++) {
		w.dead[IO_A] = n == 2;
		if (n == 2)
			show_view_to_all();
		pass_time(20 * BASE_MS_NS);
		assert_true(make_one(n));
		pass_time(20 * BASE_MS_NS);
		take_one(FILTER, n, false, true);
		take_one(SINK, n, false, false);
	}
	w.dead[IO_A] = w.dead[SOURCE] = true;
	w.proc[SPARE - 1].takeovers = 1;
	w.view.nproc = SPARE;
	show_view_to_all();
	pass_time(50 * BASE_MS_NS);
	for (uint64_t n = first; n < first + 6; n++)
		pass_one_of(SPARE, n, !heard || n < first + 4);
}

static void
a_window_is_told_again(void **state)
{
	(void)state;
	take_source_over(true);
}

static void
all_is_told_again_if_nobody_may_know(void **state)
{
	(void)state;
	take_source_over(false);
}

/* An I/O process heard of the one that took over first, which does not know all itself. */
static void
who_does_not_know_teaches_nobody(void **state)
{
	(void)state;
	take_source_over(false); /* up to number 7 */
	w.dead[SPARE] = true;
	w.proc[SPARE2 - 1].takeovers = 2;
	w.view.nproc = SPARE2;
	show_view_to_all();
	pass_time(50 * BASE_MS_NS);
	for (uint64_t n = 8; n < 8 + 6; n++)
		pass_one_of(SPARE2, n, true);
}

/* The I/O process that has it dies while the filter is in it: the filter keeps it. */
static void
dead_io_process(void **state)
{
	struct spx_frame f;

	(void)state;
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_begin(w.x[FILTER], &f, w.now_ns));
	w.dead[f.from] = true;
	show_view_to_all();
	pass_time(50 * BASE_MS_NS);
	uint32_t other = f.from == IO_A ? IO_B : IO_A;
	assert_int_equal(spx_counters(w.x[SOURCE])->put_again, 1);
	assert_int_equal(spx_counters(w.x[other])->adopted, 1);
	assert_true(spx_put(w.x[FILTER], ORIGIN, 0, f.bytes, f.len, w.now_ns));
	assert_true(spx_finish(w.x[FILTER], ORIGIN, 0, w.now_ns));
	pass_time(20 * BASE_MS_NS);
	take_one(SINK, 0, false, false);
	assert_int_equal(w.done[SOURCE], 1);
	assert_int_equal(spx_counters(w.x[FILTER])->begun, 1);
}

/* KNOWS of number 0, of the filter, which died since: who asks anew has to hear of the others. */
static void
what_the_dead_knew_is_not_believed(void **state)
{
	uint8_t knows[SPX_HEAD] = {0xf6, 12};
	struct spx_frame f;

	(void)state;
	be32_store(knows + 32, ORIGIN);
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_begin(w.x[FILTER], &f, w.now_ns));
	uint32_t asker = f.from == IO_A ? IO_B : IO_A;
	w.dead[f.from] = true;
	show_view_to_all();
	pass_time(20 * BASE_MS_NS);
	assert_int_equal(spx_counters(w.x[asker])->adopted, 1);
	w.dead[FILTER] = true;
	w.proc[SPARE - 1] = w.proc[FILTER - 1];
	w.proc[SPARE - 1].id = SPARE;
	w.view.nproc = SPARE;
	w.deaf[SPARE] = true;
	for (uint64_t late = 0; late < 2; late++) { /* sent before the view, and in it */
		be64_store(knows + 8, w.view.number);
		if (!late)
			show_view_to_all();
		pass_time(20 * BASE_MS_NS);
		assert_true(spx_on_message(w.x[asker], FILTER, knows, sizeof knows, w.now_ns));
	}
	assert_int_equal(spx_counters(w.x[asker])->epoch, 1);
	assert_int_equal(spx_counters(w.x[asker])->stranger, 1);
	assert_int_equal(spx_counters(w.x[asker])->adopted, 1);
	w.deaf[SPARE] = false;
	pass_time(50 * BASE_MS_NS);
	take_one(SPARE, 0, true, true);
	take_one(SINK, 0, true, false);
	assert_int_equal(w.done[SOURCE], 1);
}

/* Two filters; who has frame 0 dies in it, and the other one gets it. */
static void
a_frame_of_the_dead_is_given_up(void **state)
{
	struct spx_frame f;

	(void)state;
	end_test(NULL);
	in_flight = SPX_DROP;
	make_pipeline(4);
	show_view_to_all();
	in_flight = SPX_EPOCH;
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_begin(w.x[FILTER], &f, w.now_ns));
	assert_false(f.lost);
	w.dead[FILTER] = true;
	w.proc[SPARE - 1] = w.proc[FILTER - 1];
	w.proc[SPARE - 1].id = SPARE;
	w.proc[SPARE - 1].takeovers = 1;
	w.view.nproc = SPARE;
	show_view_to_all();
	pass_time(50 * BASE_MS_NS);
	assert_false(spx_begin(w.x[SPARE], &f, w.now_ns));
	assert_false(spx_begin(w.x[SINK], &f, w.now_ns));
	assert_int_equal(spx_counters(w.x[SPARE])->dropped, 1);
	assert_int_equal(w.done[SOURCE], 1); /* committed all the same */
	assert_true(make_one(1));
	pass_time(20 * BASE_MS_NS);
	take_one(SPARE, 1, false, true);
	take_one(SINK, 1, false, false);
}

/* It takes the filter's rank over. */
static void
replace_filter(uint32_t by, uint32_t dead)
{
	w.dead[dead] = true;
	w.proc[by - 1] = w.proc[FILTER - 1];
	w.proc[by - 1].id = by;
	w.proc[by - 1].state = SPX_ALIVE;
	w.proc[by - 1].takeovers = (uint16_t)(by - SINK);
	w.view.nproc = by;
	show_view_to_all();
	pass_time(50 * BASE_MS_NS);
}

/* Two die in frame 0, with frame 1 beside it: the first is set aside, the other one is done. */
static void
a_frame_that_kills_is_set_aside(void **state)
{
	struct spx_frame f;

	(void)state;
	end_test(NULL);
	set_aside = 2;
	make_pipeline(4);
	set_aside = 0;
	show_view_to_all();
	assert_true(make_one(0) && make_one(1));
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_begin(w.x[FILTER], &f, w.now_ns));
	pass_time(20 * BASE_MS_NS);
	replace_filter(SPARE, FILTER);
	assert_true(spx_begin(w.x[SPARE], &f, w.now_ns));
	assert_true(f.number == 0 && f.lost);
	pass_time(20 * BASE_MS_NS);
	w.events = 0;
	replace_filter(SPARE2, SPARE);
	uint64_t aside = 0;
	for (uint32_t i = IO_A; i <= IO_B; i++)
		aside += spx_counters(w.x[i])->aside;
	assert_int_equal(aside, 1);
	assert_true(w.events > 0 && w.event[0].kind == SPX_EVENT_ASIDE);
	assert_int_equal(w.event[0].proc, SPARE);
	assert_string_equal(w.event[0].text,
			    "frame 0 of source rank 0 is set aside: 2 processes died in it");
	take_one(SPARE2, 1, true, true);
	assert_int_equal(w.done[SOURCE], 1); /* the empty one */
	take_one(SINK, 1, true, false);
	assert_int_equal(w.done[SOURCE], 2);
}

/* Who has ended a frame did not die of it, whatever became of it behind that. */
static void
an_ended_frame_killed_nobody(void **state)
{
	(void)state;
	end_test(NULL);
	set_aside = 2;
	make_pipeline(4);
	set_aside = 0;
	show_view_to_all();
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	w.deaf[SINK] = true; /* so it is not committed, and given again */
	take_one(FILTER, 0, false, true);
	replace_filter(SPARE, FILTER);
	take_one(SPARE, 0, true, true);
	replace_filter(SPARE2, SPARE);
	take_one(SPARE2, 0, true, true);
	for (uint32_t i = IO_A; i <= IO_B; i++)
		assert_int_equal(spx_counters(w.x[i])->aside, 0);
}

/* Who has a frame of a dead process did not get it for that one's want, though its own may have
 * the same number. */
static void
a_want_of_the_dead_is_nobodys(void **state)
{
	struct spx_frame f;

	(void)state;
	w.dead[IO_B] = true;
	w.chain[0].on_lost = SPX_BYPASS;
	show_view_to_all();
	for (uint64_t i = 0; i < 3; i++)
		assert_true(make_one(i));
	pass_time(20 * BASE_MS_NS);
	take_one(FILTER, 0, false, true);
	take_one(SINK, 0, false, false);
	take_one(FILTER, 1, false, true); /* its second want */
	w.dead[SINK] = true;
	w.proc[SPARE - 1] = w.proc[SINK - 1];
	w.proc[SPARE - 1].id = SPARE;
	w.view.nproc = SPARE;
	show_view_to_all();
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_begin(w.x[SPARE], &f, w.now_ns)); /* by its first want */
	assert_int_equal(f.number, 1);
	w.dead[FILTER] = w.cluster[1].lost = true;
	show_view_to_all();
	pass_time(100 * BASE_MS_NS);
	take_one(SPARE, 2, true, false); /* by its second, while it is in the first */
	assert_true(spx_finish(w.x[SPARE], f.origin, f.number, w.now_ns));
	pass_time(20 * BASE_MS_NS);
	assert_int_equal(spx_busy(w.x[SOURCE]), 0);
}

/* A stage is passed by for a moment: another I/O process asks who has a frame, and is told when it
 * is done.  The one that gave it is told, too. */
static void
who_gave_it_is_told_as_well(void **state)
{
	struct spx_frame f;

	(void)state;
	w.chain[0].on_lost = SPX_BYPASS;
	w.dead[IO_B] = true;
	show_view_to_all();
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	take_one(FILTER, 0, false, true);
	assert_true(spx_begin(w.x[SINK], &f, w.now_ns));
	w.proc[SPARE - 1] = w.proc[IO_A - 1];
	w.proc[SPARE - 1].id = SPARE;
	w.view.nproc = SPARE;
	w.dead[IO_A] = w.cluster[1].lost = true;
	show_view_to_all();
	pass_time(50 * BASE_MS_NS);
	assert_true(spx_finish(w.x[SINK], f.origin, f.number, w.now_ns));
	pass_time(50 * BASE_MS_NS);
	assert_int_equal(w.done[SOURCE], 1);
	assert_int_equal(w.done[SINK], 1);
	for (uint32_t i = 1; i <= PROCS; i++)
		if (!w.dead[i] && spx_busy(w.x[i]))
			fail_msg("process %u still has the frame", i);
}

/* A frame comes from a second I/O process, while the first one lives: both wait for its end. */
static void
who_gives_what_is_there_is_told(void **state)
{
	uint8_t give[SPX_HEAD + 8] = {0xf6, 6}; /* GIVE: number 0 */

	(void)state;
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	take_one(FILTER, 0, false, true);
	uint32_t giver = spx_busy(w.x[IO_A]) ? IO_A : IO_B;
	assert_int_equal(spx_busy(w.x[giver]), 1);
	be64_store(give + 8, w.view.number);
	be32_store(give + 32, ORIGIN);
	be32_store(give + 44, sizeof give - SPX_HEAD);
	assert_true(spx_on_message(w.x[SINK], giver, give, sizeof give, w.now_ns));
	w.deaf[FILTER] = true; /* nothing comes this way */
	take_one(SINK, 0, false, false);
	assert_int_equal(w.done[SOURCE], 1);
}

/* What waits for its turn, and is done elsewhere, is done for who gave it. */
static void
done_elsewhere_is_told_to_who_gave_it(void **state)
{
	uint8_t said[SPX_HEAD + 4] = {0xf6, 15}; /* STATE: number 1 is done */
	struct spx_frame f, g;

	(void)state;
	assert_true(make_one(0));
	assert_true(make_one(1));
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_begin(w.x[FILTER], &f, w.now_ns));
	pass_time(20 * BASE_MS_NS);
	assert_true(spx_begin(w.x[FILTER], &g, w.now_ns));
	assert_true(spx_put(w.x[FILTER], g.origin, g.number, g.bytes, g.len, w.now_ns));
	assert_true(spx_finish(w.x[FILTER], g.origin, g.number, w.now_ns));
	pass_time(20 * BASE_MS_NS);
	assert_int_equal(spx_busy(w.x[SINK]), 1);
	be64_store(said + 8, w.view.number);
	be32_store(said + 32, ORIGIN);
	said[47] = 4;
	said[SPX_HEAD + 2] = 0x40;
	assert_true(spx_on_message(w.x[SINK], SOURCE, said, sizeof said, w.now_ns));
	pass_time(50 * BASE_MS_NS);
	assert_int_equal(w.done[SOURCE], 1);
	assert_int_equal(spx_busy(w.x[IO_C]), 0);
}

/* A stage dies, and is passed by only later: who is behind it is asked before a frame goes there.
 */
static void
who_is_behind_is_asked_too(void **state)
{
	struct spx_frame f;

	(void)state;
	w.proc[SPARE - 1] = w.proc[SINK - 1];
	w.proc[SPARE - 1].id = SPARE;
	w.proc[SPARE - 1].rank = 1;
	w.cluster[2].compute = 2;
	w.view.nproc = SPARE;
	w.dead[IO_B] = true;
	w.chain[0].on_lost = SPX_BYPASS;
	w.chain[0].ordered = false;
	show_view_to_all();
	assert_true(make_one(0));
	pass_time(20 * BASE_MS_NS);
	w.deaf[FILTER] = true; /* it never hears that the frame is done */
	take_one(FILTER, 0, false, true);
	take_one(SINK, 0, false, false);
	w.dead[FILTER] = w.deaf[SINK] = true;
	show_view_to_all();
	pass_time(20 * BASE_MS_NS);
	w.cluster[1].lost = true;
	show_view_to_all();
	pass_time(50 * BASE_MS_NS);
	assert_false(spx_begin(w.x[SPARE], &f, w.now_ns));
	assert_int_equal(w.done[SOURCE], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_is_told_again),
		TEST(all_is_told_again_if_nobody_may_know),
		TEST(who_does_not_know_teaches_nobody),
		TEST(dead_io_process),
		TEST(what_the_dead_knew_is_not_believed),
		TEST(a_frame_of_the_dead_is_given_up),
		TEST(a_frame_that_kills_is_set_aside),
		TEST(an_ended_frame_killed_nobody),
		TEST(a_want_of_the_dead_is_nobodys),
		TEST(who_gave_it_is_told_as_well),
		TEST(who_gives_what_is_there_is_told),
		TEST(done_elsewhere_is_told_to_who_gave_it),
		TEST(who_is_behind_is_asked_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
