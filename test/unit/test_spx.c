/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of lib/spx that send each other messages in memory: what one test each is about.
 * What many of them do when others die is test/sim/spx.c. */
#include "cmocka_all.h"
#include "spx/spx.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 source --chain 0: I/O 2, 3--> 4 filter --chain 1: I/O 5--> 6 sink; 7 a spare of the source */
enum { PROCS = 7, SOURCE = 1, IO_A, IO_B, FILTER, IO_C, SINK, SPARE, LINE = 4096 };

#define STALL_NS (100 * BASE_MS_NS)
#define ORIGIN	 SPX_ROLE(0, 0)

struct message {
	uint32_t from, to;
	size_t len;
	uint8_t bytes[SPX_MESSAGE_MAX + 64];
};

static struct world {
	uint64_t now_ns;
	struct spx *x[PROCS + 1];
	void *mem[PROCS + 1];
	bool dead[PROCS + 1], deaf[PROCS + 1];
	struct spx_proc proc[PROCS];
	struct spx_cluster cluster[3];
	struct spx_chain chain[2];
	struct spx_view view;
	struct message line[LINE];
	uint32_t first, n;
	uint64_t pieces, done[PROCS + 1];
	uint32_t picks;
	struct {
		enum spx_event_kind kind;
		uint32_t of, proc;
		char text[SPX_TEXT_MAX];
	} event[64];
	uint32_t events;
	uint32_t room; /* of I/O processes */
} w;

static uint32_t
id_of_user(const void *user)
{
	return (uint32_t)(uintptr_t)user;
}

static void *
take_memory(void *user, size_t bytes)
{
	(void)user;
	w.pieces++;
	return malloc(bytes);
}

static void
give_memory(void *user, void *p)
{
	(void)user;
	w.pieces--;
	free(p);
}

static void
queue_message(void *user, uint32_t to, const void *head, size_t head_len, const void *frame,
	      size_t len)
{
	assert_true(w.n < LINE && head_len + len <= sizeof w.line[0].bytes);
	struct message *m = &w.line[(w.first + w.n++) % LINE];
	m->from = id_of_user(user);
	m->to = to;
	m->len = head_len + len;
	memcpy(m->bytes, head, head_len);
	if (len)
		memcpy(m->bytes + head_len, frame, len);
}

static void
ignore_program(void *user)
{
	(void)user;
}

static void
count_done(void *user, uint32_t origin, uint64_t number)
{
	(void)number;
	assert_int_equal(origin, ORIGIN);
	w.done[id_of_user(user)]++;
}

static void
keep_event(void *user, const struct spx_event *e)
{
	assert_true(w.events < 64);
	w.event[w.events].kind = e->kind;
	w.event[w.events].of = id_of_user(user);
	w.event[w.events].proc = e->proc;
	snprintf(w.event[w.events++].text, SPX_TEXT_MAX, "%s", e->text);
}

static uint32_t
pick_last(void *user, const struct spx_candidate *c, uint32_t n, bool out)
{
	(void)user, (void)c, (void)out;
	w.picks++;
	return n - 1;
}

static const struct spx_ops ops = {queue_message, ignore_program, ignore_program,
				   count_done,	  keep_event,	  pick_last};
static const struct spx_memory memory = {take_memory, give_memory, NULL};

/* The view as it is now, to all. */
static void
show_view_to_all(void)
{
	char why[SPX_TEXT_MAX];

	w.view.number++;
	for (uint32_t i = 1; i <= PROCS; i++)
		if (w.dead[i])
			w.proc[i - 1].state = SPX_DEAD;
	for (uint32_t i = 1; i <= PROCS; i++)
		if (!w.dead[i] && !spx_install(w.x[i], &w.view, w.now_ns, why))
			fail_msg("view: %s", why);
}

static void
deliver_all(void)
{
	const char *what;

	while (w.n) {
		struct message m = w.line[w.first];
		w.first = (w.first + 1) % LINE;
		w.n--;
		if (w.dead[m.to] || w.dead[m.from] || w.deaf[m.to])
			continue;
		assert_true(spx_on_message(w.x[m.to], m.from, m.bytes, m.len, w.now_ns));
		if (!spx_check(w.x[m.to], &what))
			fail_msg("process %u: %s", m.to, what);
	}
}

static void
pass_time(uint64_t ns)
{
	for (uint64_t end = w.now_ns + ns; w.now_ns < end;) {
		w.now_ns += BASE_MS_NS;
		for (uint32_t i = 1; i <= PROCS; i++)
			if (!w.dead[i] && spx_expiry_ns(w.x[i]) <= w.now_ns)
				spx_tick(w.x[i], w.now_ns);
		deliver_all();
	}
}

static enum spx_in_flight in_flight;

static struct spx_conf
conf_of_process(uint32_t id)
{
	return (struct spx_conf){.id = id,
				 .procs_max = PROCS,
				 .origins_max = 2,
				 .window_max = 16,
				 .room = w.room,
				 .ahead = 1,
				 .frame_max = 64,
				 .in_flight = in_flight,
				 .retry_ns = 2 * BASE_MS_NS,
				 .retry_max_ns = 16 * BASE_MS_NS,
				 .poll_ns = 3 * BASE_MS_NS,
				 .stall_ns = STALL_NS,
				 .start_ns = 50 * BASE_MS_NS};
}

static void
make_pipeline(uint32_t room)
{
	static const char *const names[] = {"source", "filter", "sink"};
	static const uint16_t cluster_of[] = {0, 0, 0, 1, 1, 2, 0};

	memset(&w, 0, sizeof w);
	w.now_ns = BASE_S_NS;
	w.room = room;
	for (uint32_t i = 1; i <= PROCS; i++) {
		bool io = i == IO_A || i == IO_B || i == IO_C;
		struct spx_conf c = conf_of_process(i);
		w.mem[i] = malloc(spx_bytes(&c));
		w.x[i] = spx_new(w.mem[i], &c, &ops, (void *)(uintptr_t)i, &memory, w.now_ns);
		w.proc[i - 1] = (struct spx_proc){.id = i,
						  .cluster = cluster_of[i - 1],
						  .kind = io ? SPX_IO : SPX_COMPUTE,
						  .ready = true,
						  .chains = !io		? 0
							    : i == IO_C ? 2
									: 1};
	}
	for (uint32_t k = 0; k < 3; k++) {
		snprintf(w.cluster[k].name, SPX_NAME_MAX, "%s", names[k]);
		w.cluster[k].compute = 1;
	}
	for (uint16_t c = 0; c < 2; c++)
		w.chain[c] = (struct spx_chain){.from = c,
						.to = (uint16_t)(c + 1),
						.state = SPX_CHAIN_ACTIVE,
						.window = 4,
						.ordered = true};
	w.view = (struct spx_view){.nproc = PROCS - 1,
				   .ncluster = 3,
				   .nchain = 2,
				   .proc = w.proc,
				   .cluster = w.cluster,
				   .chain = w.chain};
}

static void
end_world(void)
{
	for (uint32_t i = 1; i <= PROCS; i++) {
		spx_end(w.x[i]);
		free(w.mem[i]);
	}
	assert_int_equal(w.pieces, 0);
}

static int
begin_test(void **state)
{
	(void)state;
	make_pipeline(4);
	show_view_to_all();
	return 0;
}

static int
end_test(void **state)
{
	(void)state;
	end_world();
	return 0;
}

/* --- what programs do ----------------------------------------------------------- */

static bool
make_one(uint64_t expected)
{
	uint64_t number;
	bool again;

	if (!spx_next(w.x[SOURCE], &number, &again))
		return false;
	assert_int_equal(number, expected);
	assert_false(again);
	assert_true(spx_put(w.x[SOURCE], ORIGIN, number, &number, sizeof number, w.now_ns));
	return true;
}

/* The program there takes the frame and ends it; put: passes it on. */
static void
take_one(uint32_t who, uint64_t expected, bool again, bool passes)
{
	struct spx_frame f;
	uint64_t number;

	if (!spx_begin(w.x[who], &f, w.now_ns))
		fail_msg("process %u has nothing to begin, not %llu", who,
			 (unsigned long long)expected);
	assert_int_equal(f.number, expected);
	assert_int_equal(f.origin, ORIGIN);
	assert_int_equal(f.again, again);
	assert_int_equal(f.len, sizeof number);
	memcpy(&number, f.bytes, sizeof number);
	assert_int_equal(number, expected);
	if (passes)
		assert_true(spx_put(w.x[who], f.origin, f.number, f.bytes, f.len, w.now_ns));
	assert_true(spx_finish(w.x[who], f.origin, f.number, w.now_ns));
	pass_time(10 * BASE_MS_NS);
}

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
	uint8_t row[SPX_HEAD] = {0xf5, 17};
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

/* What the spare makes; again: somebody may have made it before. */
static void
pass_one_of_spare(uint64_t expected, bool again)
{
	uint64_t number;
	bool is;

	assert_true(spx_next(w.x[SPARE], &number, &is));
	assert_int_equal(number, expected);
	assert_int_equal(is, again);
	assert_true(spx_put(w.x[SPARE], ORIGIN, number, &number, sizeof number, w.now_ns));
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
	w.view.nproc = PROCS;
	show_view_to_all();
	pass_time(50 * BASE_MS_NS);
	for (uint64_t n = first; n < first + 6; n++)
		pass_one_of_spare(n, !heard || n < first + 4);
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

/* A program that ignores frames, seen from itself and from the source. */
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
	w.view.nproc = PROCS;
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
	w.view.nproc = PROCS;
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
	w.view.nproc = PROCS;
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

/* What waits for its turn, and is done elsewhere, is done for who gave it. */
static void
done_elsewhere_is_told_to_who_gave_it(void **state)
{
	uint8_t said[SPX_HEAD + 4] = {0xf5, 15}; /* STATE: number 1 is done */
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
	w.view.nproc = PROCS;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_frame),
		TEST(window_holds_back),
		TEST(empty_frames_are_not_seen),
		TEST(abandoned_is_begun_again),
		TEST(a_window_is_told_again),
		TEST(all_is_told_again_if_nobody_may_know),
		TEST(old_row_costs_a_refusal),
		TEST(user_policy_is_asked),
		TEST(dead_io_process),
		TEST(a_frame_of_the_dead_is_given_up),
		TEST(ignored_frames),
		TEST(hoarded_frames),
		TEST(no_room_is_said),
		TEST(start_waits_for_all),
		TEST(lost_cluster_stops),
		TEST(a_want_of_the_dead_is_nobodys),
		TEST(who_gave_it_is_told_as_well),
		TEST(done_elsewhere_is_told_to_who_gave_it),
		TEST(who_is_behind_is_asked_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
