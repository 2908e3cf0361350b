/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that carry conversations over doors (meet/lines.h): two processes, their lanes, their
 * clients of doors, and the relay that carries both. */
#include "meet_lines_kit.h"

#include "cmocka_all.h"

#define MS BASE_MS_NS
#define S  BASE_S_NS

static uint8_t said[300000], got[sizeof said];

/* The caller says len bytes on its line, some at a time. */
static void
say_all(struct kit *k, struct kit_end *e, uint32_t line, size_t len)
{
	for (size_t at = 0; at < len;) {
		int64_t n = meet_lines_say(&e->lines, line, said + at, len - at, k->l.now_ns);
		assert_true(n >= 0 && n <= (int64_t)MEET_LINE_SAY_BYTES);
		at += (size_t)n;
		kit_pass(k, 10 * MS);
	}
}

/* So many bytes have come, and then nothing yet (0) or never (-1). */
static void
hear_all_then(struct kit_end *e, uint32_t line, size_t len, int64_t then)
{
	size_t at = 0;
	int64_t n;

	while ((n = meet_lines_hear(&e->lines, line, got + at, 1000)) > 0)
		at += (size_t)n;
	assert_int_equal(n, then);
	assert_int_equal(at, len);
	assert_memory_equal(got, said, len);
}

static void
hear_all(struct kit_end *e, uint32_t line, size_t len)
{
	hear_all_then(e, line, len, 0);
}

static struct kit *
make_kit(const char *row)
{
	print_message("  %s\n", row);
	for (size_t i = 0; i < sizeof said; i++)
		said[i] = (uint8_t)(i * 31 + (i >> 8));
	return kit_new();
}

/* ---- calling, talking ---- */

static void
who_is_reached_how(void **state)
{
	static const struct {
		const char *row;
		bool ours;
		uint16_t theirs; /* labels of the door */
		struct door_relay at[2];
		bool by_door;
	} rows[] = {
		{"neither has a door", false, 0, {{0}}, false},
		{"they have none", true, 0, {{0}}, false},
		{"we have none", false, 1, {{0xc0000201, 7812}}, false},
		{"at our relay", true, 1, {{0xc0000201, 7812}}, false},
		{"at our relay, second", true, 1, {{0xc0000299, 7812}, {0xc0000201, 7812}}, false},
		{"at another relay", true, 1, {{0xc0000299, 7812}}, true},
		{"at another port of it", true, 1, {{0xc0000201, 7813}}, true},
		{"at two others", true, 1, {{0xc0000299, 7812}, {0xc0000298, 7812}}, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kit *k = make_kit(rows[i].row);
		const struct kit_end *b = &k->end[1];
		struct door_address to = {.n = rows[i].theirs,
					  .nrelays = rows[i].at[1].port ? 2 : 1,
					  .relay = {rows[i].at[0], rows[i].at[1]}};
		assert_int_equal(
			meet_lines_lead(&b->lines, rows[i].ours ? b->port : MEET_LINE_NONE, &to),
			rows[i].by_door);
		kit_free(k);
	}
}

static void
both_say_and_hear(void **state)
{
	static const struct {
		const char *row;
		size_t first, back, more;
	} rows[] = {
		{"a word each", 1, 1, 1},
		{"a knock that is just so", MEET_KNOCK_BYTES, 7, 0},
		{"more than is taken at a time", 40, MEET_LINE_SAY_BYTES + 1, 100},
		{"much, both ways", 100, 250000, 250000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kit *k = make_kit(rows[i].row);
		struct kit_end *a = &k->end[0], *b = &k->end[1];
		uint32_t from = kit_call(a);
		say_all(k, a, from, rows[i].first);
		uint32_t to = meet_lines_knock(&b->lines, b->port);
		assert_int_equal(b->lines.line[to].state, MEET_LINE_ON);
		hear_all(b, to, rows[i].first);
		say_all(k, b, to, rows[i].back);
		hear_all(a, from, rows[i].back);
		say_all(k, a, from, rows[i].more);
		hear_all(b, to, rows[i].more);
		meet_lines_hang_up(&a->lines, from, k->l.now_ns);
		meet_lines_hang_up(&b->lines, to, k->l.now_ns);
		kit_pass(k, S);
		assert_int_equal(kit_lines(a, MEET_LINE_FREE), MEET_LINES_MAX);
		assert_int_equal(kit_lines(b, MEET_LINE_FREE), MEET_LINES_MAX);
		assert_int_equal(kit_doors(a), 0);
		assert_int_equal(kit_doors(b), 1);
		kit_free(k);
	}
}

/* Who called first is first, also if it spoke last; who is silent is passed over. */
static void
first_come_first_taken(void **state)
{
	struct kit *k = make_kit("three calls");
	struct kit_end *a = &k->end[0], *b = &k->end[1];
	uint32_t line[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		line[i] = kit_call(a);
	assert_int_equal(meet_lines_knocks(&b->lines, b->port), MEET_LINE_NONE);
	say_all(k, a, line[1], 2);
	say_all(k, a, line[0], 1);
	/* The order is that in which they came here, which is by what they said. */
	uint32_t to = meet_lines_knock(&b->lines, b->port);
	hear_all(b, to, 2);
	to = meet_lines_knock(&b->lines, b->port);
	hear_all(b, to, 1);
	assert_int_equal(meet_lines_knock(&b->lines, b->port), MEET_LINE_NONE);
	assert_int_equal(meet_lines_knock(&b->lines, b->port + 1), MEET_LINE_NONE);
	kit_free(k);
}

/* The first at the door is the one who came first, though its place is behind that of the other. */
static void
turn_is_not_place(void **state)
{
	struct kit *k = make_kit("a place that was free again");
	struct kit_end *a = &k->end[0], *b = &k->end[1];
	uint32_t gone = kit_call(a), first, second;

	(void)state;
	say_all(k, a, gone, 1);
	first = kit_call(a);
	say_all(k, a, first, 2);
	meet_lines_hang_up(&a->lines, gone, k->l.now_ns);
	kit_pass(k, S); /* the place of the first one is free now */
	second = kit_call(a);
	say_all(k, a, second, 3);
	uint32_t to = meet_lines_knock(&b->lines, b->port);
	hear_all(b, to, 2);
	assert_true(meet_lines_knocks(&b->lines, b->port) < to);
	kit_free(k);
}

/* ---- how much is kept ---- */

static void
what_is_kept_has_an_end(void **state)
{
	static const struct {
		const char *row;
		bool accepted, hung_up;
		size_t says;
		bool kept, over;
	} rows[] = {
		{"a knock", false, false, MEET_KNOCK_BYTES, true, false},
		{"a knock that is too long", false, false, MEET_KNOCK_BYTES + 1, false, true},
		{"behind the knock", true, false, MEET_KNOCK_BYTES + 1, true, false},
		{"after hanging up", true, true, 60000, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kit *k = make_kit(rows[i].row);
		struct kit_end *a = &k->end[0], *b = &k->end[1];
		uint32_t from = kit_call(a), to = 0;
		if (rows[i].accepted) {
			say_all(k, a, from, 1);
			to = meet_lines_knock(&b->lines, b->port);
			hear_all(b, to, 1);
		}
		if (rows[i].hung_up) {
			say_all(k, a, from, 500); /* it is not heard */
			meet_lines_hang_up(&b->lines, to, k->l.now_ns);
		}
		say_all(k, a, from, rows[i].says);
		const struct meet_line *t = &b->lines.line[to];
		assert_int_equal(t->kept, rows[i].kept ? rows[i].says : 0);
		assert_int_equal(b->taken, rows[i].kept);
		assert_int_equal(t->over, rows[i].over);
		assert_true(t->state != MEET_LINE_FREE);
		/* What was not kept is not sent again. */
		assert_int_equal(a->lines.line[from].unacked, 0);
		kit_free(k);
	}
}

static void
no_memory_is_no_conversation(void **state)
{
	struct kit *k = make_kit("neither for what is said nor for what comes");
	struct kit_end *a = &k->end[0], *b = &k->end[1];
	uint32_t from = kit_call(a);

	(void)state;
	a->poor = true;
	assert_int_equal(meet_lines_say(&a->lines, from, said, 10, k->l.now_ns), 0);
	a->poor = false;
	b->poor = true;
	say_all(k, a, from, 10);
	assert_true(b->lines.line[0].over);
	assert_true(meet_lines_heard(&b->lines, 0));
	assert_int_equal(meet_lines_hear(&b->lines, 0, got, 10), -1);
	kit_free(k);
}

/* ---- who makes room ---- */

enum holds { SILENT, KNOCKS, TALKS, HUNG_UP, UNHEARD };

/* The other end gives one line of the kind. */
static void
make_line(struct kit *k, enum holds what)
{
	struct kit_end *a = &k->end[0], *b = &k->end[1];
	uint32_t from = kit_call(a), to;

	say_all(k, a, from, what == SILENT ? MEET_KNOCK_BYTES + 1 : 5);
	if (what < TALKS)
		return;
	to = meet_lines_knock(&b->lines, b->port);
	hear_all(b, to, 5);
	if (what == UNHEARD) {
		/* Its lane takes nothing any more, though its door is still there. */
		suci_lane_close(a->lanes, a->lines.line[from].lane, k->l.now_ns);
		meet_lines_lane_down(&a->lines, from);
		assert_int_equal(meet_lines_say(&b->lines, to, said, 9, k->l.now_ns), 9);
	}
	if (what != TALKS)
		meet_lines_hang_up(&b->lines, to, k->l.now_ns);
}

static void
who_makes_room(void **state)
{
	static const struct {
		const char *row;
		enum holds what;
		uint64_t after_ns;
		bool makes_room;
	} rows[] = {
		{"who has said nothing, yet", SILENT, MEET_LINE_SILENT_NS - S, false},
		{"who says nothing", SILENT, MEET_LINE_SILENT_NS + S, true},
		{"who has said something", KNOCKS, 10 * MEET_LINE_SILENT_NS, false},
		{"who talks", TALKS, 10 * MEET_LINE_LINGER_NS, false},
		{"who was hung up on", HUNG_UP, S, true},
		{"who may still hear", UNHEARD, MEET_LINE_LINGER_NS - S, false},
		{"who does not hear", UNHEARD, MEET_LINE_LINGER_NS + S, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kit *k = make_kit(rows[i].row);
		struct kit_end *a = &k->end[0], *b = &k->end[1];
		make_line(k, rows[i].what);
		for (uint32_t n = 1; n < MEET_LINES_MAX; n++)
			assert_true(meet_lines_keep(&b->lines, k->l.now_ns) != MEET_LINE_NONE);
		kit_pass(k, rows[i].after_ns);
		uint32_t opened = b->opened, from = kit_call(a);
		assert_int_equal(meet_lines_say(&a->lines, from, said, 3, k->l.now_ns), 3);
		kit_pass(k, 100 * MS);
		assert_int_equal(b->opened, opened + rows[i].makes_room);
		assert_int_equal(b->verdict, rows[i].makes_room ? SUCI_TAKEN : SUCI_REFUSED);
		assert_int_equal(meet_lines_knocks(&b->lines, b->port) != MEET_LINE_NONE &&
					 rows[i].what != KNOCKS,
				 rows[i].makes_room);
		kit_free(k);
	}
}

static void
no_place_is_said(void **state)
{
	struct kit *k = make_kit("all places are kept");
	struct kit_end *a = &k->end[0];

	(void)state;
	for (uint32_t n = 0; n < MEET_LINES_MAX; n++)
		assert_int_equal(meet_lines_keep(&a->lines, k->l.now_ns), n);
	assert_int_equal(meet_lines_keep(&a->lines, k->l.now_ns), MEET_LINE_NONE);
	/* It never called: the place is free at once. */
	meet_lines_hang_up(&a->lines, 17, k->l.now_ns);
	assert_int_equal(meet_lines_keep(&a->lines, k->l.now_ns), 17);
	kit_free(k);
}

/* ---- ending ---- */

enum event { CALLER_HANGS_UP, CALLED_HANGS_UP, CALLERS_RELAY, CALLEDS_RELAY, CALLERS_LANE };

/* What the other end does to one that talks, or knocks, and what is left of the line of who is
 * called: before it hangs up itself. */
static void
each_end_is_heard_of(void **state)
{
	static const struct {
		const char *row;
		bool talks;
		enum event event;
		enum meet_line_state called, calls;
		bool called_over, calls_over;
		bool still; /* what was said before is still heard */
	} rows[] = {
		{"a caller that knocks hangs up", false, CALLER_HANGS_UP, MEET_LINE_FREE,
		 MEET_LINE_FREE, false, false, false},
		{"a caller that talks hangs up", true, CALLER_HANGS_UP, MEET_LINE_ON,
		 MEET_LINE_FREE, true, false, true},
		{"who is called hangs up", true, CALLED_HANGS_UP, MEET_LINE_ENDS, MEET_LINE_ON,
		 false, false, false},
		{"the caller's relay dies", true, CALLERS_RELAY, MEET_LINE_ON, MEET_LINE_ON, true,
		 true, true},
		{"the caller's relay dies as it knocks", false, CALLERS_RELAY, MEET_LINE_FREE,
		 MEET_LINE_ON, false, true, false},
		{"the relay of who is called dies", true, CALLEDS_RELAY, MEET_LINE_ON, MEET_LINE_ON,
		 true, true, true},
		{"it dies before anybody accepts", false, CALLEDS_RELAY, MEET_LINE_FREE,
		 MEET_LINE_ON, false, true, false},
		{"the caller's lane breaks", true, CALLERS_LANE, MEET_LINE_ON, MEET_LINE_ON, false,
		 true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kit *k = make_kit(rows[i].row);
		struct kit_end *a = &k->end[0], *b = &k->end[1];
		uint32_t from = kit_call(a), to = 0, wakes;
		say_all(k, a, from, 6);
		if (rows[i].talks)
			to = meet_lines_knock(&b->lines, b->port);
		wakes = a->wakes + b->wakes;
		if (rows[i].event == CALLER_HANGS_UP)
			meet_lines_hang_up(&a->lines, from, k->l.now_ns);
		if (rows[i].event == CALLED_HANGS_UP)
			meet_lines_hang_up(&b->lines, to, k->l.now_ns);
		if (rows[i].event == CALLERS_RELAY)
			kit_relay_gone(a);
		if (rows[i].event == CALLEDS_RELAY)
			kit_relay_gone(b);
		if (rows[i].event == CALLERS_LANE) {
			suci_lane_close(a->lanes, a->lines.line[from].lane, k->l.now_ns);
			meet_lines_lane_down(&a->lines, from);
			assert_true(a->wakes + b->wakes > wakes);
		}
		kit_pass(k, S);
		const struct meet_line *called = &b->lines.line[to], *calls = &a->lines.line[from];
		assert_int_equal(called->state, rows[i].called);
		assert_int_equal(calls->state, rows[i].calls);
		assert_int_equal(called->state != MEET_LINE_FREE && called->over,
				 rows[i].called_over);
		assert_int_equal(calls->state != MEET_LINE_FREE && calls->over, rows[i].calls_over);
		if (rows[i].still)
			hear_all_then(b, to, 6, rows[i].called_over ? -1 : 0);
		if (rows[i].calls_over)
			assert_int_equal(meet_lines_say(&a->lines, from, said, 1, k->l.now_ns), -1);
		if (rows[i].called != MEET_LINE_FREE && rows[i].called != MEET_LINE_ENDS)
			meet_lines_hang_up(&b->lines, to, k->l.now_ns);
		if (rows[i].calls != MEET_LINE_FREE)
			meet_lines_hang_up(&a->lines, from, k->l.now_ns);
		kit_pass(k, S);
		assert_int_equal(kit_lines(a, MEET_LINE_FREE), MEET_LINES_MAX);
		assert_int_equal(kit_lines(b, MEET_LINE_FREE), MEET_LINES_MAX);
		assert_int_equal(kit_doors(a), 0);
		kit_free(k);
	}
}

/* Who has hung up waits until what it said has arrived, but not for ever. */
static void
what_was_said_still_arrives(void **state)
{
	static const struct {
		const char *row;
		uint64_t cut_ns;
		bool arrives;
	} rows[] = {
		{"at once", 0, true},
		{"after a while", 5 * S, true},
		{"never", MEET_LINE_LINGER_NS + S, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kit *k = make_kit(rows[i].row);
		struct kit_end *a = &k->end[0], *b = &k->end[1];
		uint32_t from = kit_call(a), to;
		say_all(k, a, from, 1);
		to = meet_lines_knock(&b->lines, b->port);
		hear_all(b, to, 1);
		k->l.cut = rows[i].cut_ns > 0;
		assert_int_equal(meet_lines_say(&a->lines, from, said, 4000, k->l.now_ns), 4000);
		meet_lines_hang_up(&a->lines, from, k->l.now_ns);
		assert_true(meet_lines_due(&a->lines) == k->l.now_ns + MEET_LINE_LINGER_NS);
		assert_int_equal(a->lines.line[from].state, MEET_LINE_ENDS);
		kit_pass(k, rows[i].cut_ns);
		assert_int_equal(a->lines.line[from].state == MEET_LINE_FREE,
				 rows[i].cut_ns > MEET_LINE_LINGER_NS);
		k->l.cut = false;
		kit_pass(k, 20 * S);
		assert_int_equal(a->lines.line[from].state, MEET_LINE_FREE);
		assert_true(meet_lines_due(&a->lines) == BASE_NEVER_NS);
		assert_int_equal(kit_doors(a), 0);
		if (rows[i].arrives)
			hear_all_then(b, to, 4000, -1);
		else
			assert_int_equal(meet_lines_hear(&b->lines, to, got, 1), -1);
		kit_free(k);
	}
}

/* ---- ports that close ---- */

static void
a_port_closes(void **state)
{
	struct kit *k = make_kit("two talk, one knocks, one comes later");
	struct kit_end *a = &k->end[0], *b = &k->end[1];
	uint32_t from[3], to[2], door = b->port;

	(void)state;
	for (int i = 0; i < 3; i++) {
		from[i] = kit_call(a);
		say_all(k, a, from[i], 5);
	}
	for (int i = 0; i < 2; i++) {
		to[i] = meet_lines_knock(&b->lines, door);
		hear_all(b, to[i], 5);
	}
	meet_lines_close(&b->lines, door, k->l.now_ns);
	kit_pass(k, S);
	assert_int_equal(kit_lines(b, MEET_LINE_KNOCKS), 0);
	assert_int_equal(kit_doors(b), 1);
	uint32_t late = kit_call(a);
	assert_int_equal(meet_lines_say(&a->lines, late, said, 5, k->l.now_ns), 5);
	kit_pass(k, S);
	assert_int_equal(b->verdict, SUCI_DROPPED);
	assert_int_equal(kit_lines(b, MEET_LINE_KNOCKS), 0);
	for (int i = 0; i < 2; i++) {
		say_all(k, b, to[i], 70000);
		hear_all(a, from[i], 70000);
		assert_int_equal(kit_doors(b), 1);
		meet_lines_hang_up(&b->lines, to[i], k->l.now_ns);
		kit_pass(k, S);
	}
	assert_int_equal(kit_doors(b), 0);
	/* Who called there hears of it. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(meet_lines_hear(&a->lines, from[i], got, 1), -1);
	b->port = DOOR_CLIENT_NONE;
	kit_free(k);
}

static void
nobody_is_there(void **state)
{
	struct kit *k = make_kit("no such door");
	struct kit_end *a = &k->end[0], *b = &k->end[1];

	(void)state;
	meet_lines_close(&b->lines, b->port, k->l.now_ns);
	b->port = DOOR_CLIENT_NONE;
	kit_pass(k, S);
	assert_int_equal(kit_doors(b), 0);
	assert_int_equal(kit_call(a), MEET_LINE_NONE);
	assert_true(a->lines.line[0].refused);
	kit_pass(k, S);
	assert_int_equal(kit_lines(a, MEET_LINE_FREE), MEET_LINES_MAX);
	assert_int_equal(kit_doors(a), 0);
	kit_free(k);
}

/* ---- relays die ---- */

static void
pass_turns(struct kit *k, uint32_t n)
{
	while (n--)
		kit_pass(k, MEET_REST_LOOK_NS);
}

/* Whatever becomes of the relays of a conversation: what is said comes once, or it is over. */
static void
a_line_moves(void **state)
{
	enum what { ANEW, RESTS, ALONE, REFUSED, NO_ROOM };
	static const struct {
		const char *row;
		enum what what;
		bool over;
	} rows[] = {
		{"all begins anew", ANEW, false},
		{"our relay dies, and the other one carries it", RESTS, false},
		{"we have no relay for a while", ALONE, false},
		{"nobody knows the other one any more", REFUSED, true},
		{"it is never reached again", NO_ROOM, true},
	};

	(void)state;
	kit_two = true;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kit *k = make_kit(rows[i].row);
		struct kit_end *a = &k->end[0], *b = &k->end[1];
		uint32_t from = kit_call(a), label = a->own[a->lines.line[from].door].at.label;
		say_all(k, a, from, 100);
		uint32_t to = meet_lines_knock(&b->lines, b->port);
		hear_all(b, to, 100);
		struct meet_line *t = &b->lines.line[to];
		assert_true(a->lines.line[from].moves && t->moves && t->rest.met);
		if (rows[i].what == ANEW)
			kit_turn(k);
		else
			meet_lines_over(&b->lines, 0, false, k->l.now_ns);
		if (rows[i].what == REFUSED)
			k->whose[label] = NULL;
		b->poor = rows[i].what == NO_ROOM;
		if (rows[i].what > RESTS)
			meet_lines_lost(&b->lines, t->import, DOOR_CLIENT_RELAY, k->l.now_ns);
		assert_int_equal(t->rest.rests, rows[i].what != ANEW);
		assert_int_equal(meet_lines_say(&a->lines, from, said, 300, k->l.now_ns), 300);
		pass_turns(k, 8);
		b->poor = false;
		if (rows[i].over) { /* not at once: it may come back */
			assert_int_equal(meet_lines_hear(&b->lines, to, got, 1), 0);
			b->poor = rows[i].what == NO_ROOM;
			pass_turns(k, 4);
			b->poor = false;
		}
		assert_int_equal(t->over, rows[i].over);
		assert_false(t->rest.rests);
		hear_all_then(b, to, rows[i].over ? 0 : 300, rows[i].over ? -1 : 0);
		assert_int_equal(b->lines.moved > 0, !rows[i].over);
		meet_lines_hang_up(&b->lines, to, k->l.now_ns);
		meet_lines_hang_up(&a->lines, from, k->l.now_ns);
		kit_free(k);
	}
	kit_two = false;
}

/* What is no address of who calls is said, and no more. */
static void
where_it_calls_from_is_proven(void **state)
{
	struct door_address at = {.realm = KIT_REALM,
				  .label = 9,
				  .n = 1,
				  .token = 5,
				  .nrelays = 1,
				  .relay = {{1, 1}}};
	uint8_t from[MEET_FROM_BYTES];
	size_t len;

	(void)state;
	for (uint64_t token = 4; token < 6; token++) {
		struct kit *k = make_kit(token == 5 ? "its address" : "a word that does not fit");
		struct kit_end *a = &k->end[0], *b = &k->end[1];
		uint32_t line = kit_call(a);
		assert_false(a->lines.line[line].moves); /* one relay each */
		meet_word_write(from, MEET_FROM, token);
		len = MEET_WORD_BYTES + door_address_encode(&at, from + MEET_WORD_BYTES);
		assert_int_equal(meet_lines_say(&a->lines, line, from, len, k->l.now_ns), len);
		kit_pass(k, 100 * MS);
		assert_int_equal(b->lines.line[0].kept, token == 5 ? 0 : len);
		assert_int_equal(meet_lines_knocks(&b->lines, b->port) != MEET_LINE_NONE,
				 token != 5);
		/* Nobody has that door: it lasts as long as its relay. */
		assert_false(b->lines.line[0].moves || b->lines.line[0].over);
		kit_free(k);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_reached_how),
		cmocka_unit_test(both_say_and_hear),
		cmocka_unit_test(first_come_first_taken),
		cmocka_unit_test(turn_is_not_place),
		cmocka_unit_test(what_is_kept_has_an_end),
		cmocka_unit_test(no_memory_is_no_conversation),
		cmocka_unit_test(who_makes_room),
		cmocka_unit_test(no_place_is_said),
		cmocka_unit_test(each_end_is_heard_of),
		cmocka_unit_test(what_was_said_still_arrives),
		cmocka_unit_test(a_port_closes),
		cmocka_unit_test(nobody_is_there),
		cmocka_unit_test(a_line_moves),
		cmocka_unit_test(where_it_calls_from_is_proven),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
