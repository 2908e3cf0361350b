/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversations of two roots (meet/talk.h): both ends of one, over a stream of bytes that gives
 * what it likes at a time, and one end with bytes that are not what they should be. */
#include "meet/talk.h"

#include "cmocka_all.h"

#include "base/clock.h"
#include "base/prng.h"

#include <stdio.h>
#include <string.h>

#define TOKEN  0x1122334455667788u
#define SWAP   (300 * BASE_S_NS)
#define DUE    (50 * BASE_S_NS)
#define BYTES  65536u
#define OTHERS "greeting of the acceptor"
#define MINE   "greeting of a connector "

/* What one end has said and the other one has not heard yet. */
struct stream {
	uint8_t data[2 * BYTES];
	size_t len, at;
};

struct end {
	struct meet_talk t;
	struct stream *out, *in;
	uint8_t theirs[MEET_GREETING_BYTES + 1], knock[MEET_KNOCK_BYTES];
	uint8_t got[BYTES];
};

struct bench {
	struct end connector, acceptor;
	struct stream to, back;
	struct base_prng g;
	uint64_t now_ns;
};

static struct bench b;

static void
begin_bench(bool far)
{
	memset(&b, 0, sizeof b);
	b.g = base_prng_seed(7);
	b.connector.out = b.acceptor.in = &b.to;
	b.connector.in = b.acceptor.out = &b.back;
	meet_talk_init(&b.connector.t, far, TOKEN, SWAP, SWAP / 2);
	meet_talk_init(&b.acceptor.t, far, TOKEN, SWAP, SWAP / 2);
}

/* Some of what there is to say, and to hear.  whole: as blocks do. */
static void
move_end(struct end *e, bool whole)
{
	const uint8_t *from;
	uint8_t *to;
	size_t n = meet_talk_says(&e->t, &from);

	if (n && !whole)
		n = 1 + base_prng_below(&b.g, n);
	if (n) {
		memcpy(e->out->data + e->out->len, from, n);
		e->out->len += n;
		meet_talk_said(&e->t, n, b.now_ns);
	}
	n = meet_talk_hears(&e->t, &to);
	size_t there = e->in->len - e->in->at;
	n = n < there ? n : there;
	if (n && !whole)
		n = 1 + base_prng_below(&b.g, n);
	if (n) {
		memcpy(to, e->in->data + e->in->at, n);
		e->in->at += n;
		meet_talk_heard(&e->t, n, b.now_ns);
	}
}

static bool
is_over(struct end *e)
{
	return meet_talk_over(&e->t, b.now_ns);
}

/* The acceptor's port has heard KNOCK, said TAKEN, and heard GO, as meet/port.h has it. */
static void
play_port(void)
{
	uint8_t word[MEET_WORD_BYTES];

	while (b.to.len < MEET_WORD_BYTES)
		move_end(&b.connector, false);
	assert_true(meet_word_is(b.to.data, MEET_KNOCK, TOKEN));
	meet_word_write(word, MEET_TAKEN, TOKEN);
	memcpy(b.back.data, word, sizeof word);
	b.back.len = sizeof word;
	while (b.to.len < 2 * MEET_WORD_BYTES)
		move_end(&b.connector, false);
	assert_true(meet_word_is(b.to.data + MEET_WORD_BYTES, MEET_GO, TOKEN));
	b.to.at = 2 * MEET_WORD_BYTES;
}

static void
greet_both(bool far, const void *first, size_t len)
{
	meet_talk_knock(&b.connector.t, (const uint8_t *)MINE, b.connector.theirs, first, len,
			b.connector.knock, DUE);
	if (far) {
		move_end(&b.connector, true);
		meet_talk_take(&b.acceptor.t, (const uint8_t *)OTHERS, b.acceptor.theirs, b.now_ns);
		move_end(&b.acceptor, true);
		move_end(&b.acceptor, true);
		assert_true(is_over(&b.acceptor));
	} else {
		play_port();
		meet_talk_greet(&b.acceptor.t, (const uint8_t *)OTHERS, b.acceptor.theirs,
				b.now_ns);
	}
	while (!is_over(&b.connector) || !is_over(&b.acceptor)) {
		move_end(&b.connector, far);
		move_end(&b.acceptor, far);
	}
	assert_int_equal(b.connector.t.state, MEET_DONE);
	assert_int_equal(b.acceptor.t.state, MEET_DONE);
	assert_string_equal((char *)b.connector.theirs, OTHERS);
	assert_string_equal((char *)b.acceptor.theirs, MINE);
}

/* ---- what goes well ---- */

static void
both_greet_and_swap(void **state)
{
	static const struct {
		const char *row;
		bool far;
		size_t first, back; /* that either says then */
		bool ahead;
	} rows[] = {
		{"socket, nothing", false, 0, 0, false},
		{"socket, one way", false, 100, 0, false},
		{"socket, both", false, 20000, 7, false},
		{"door, nothing", true, 0, 1, true},
		{"door, along with the knock", true, 160, 320, true},
		{"door, just so", true, MEET_KNOCK_BYTES - MEET_FROM_BYTES - MEET_FAR_BYTES, 9,
		 true},
		{"door, too long for that", true,
		 MEET_KNOCK_BYTES - MEET_FROM_BYTES - MEET_FAR_BYTES + 1, 9, false},
	};
	static uint8_t first[BYTES], back[BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		print_message("  %s\n", rows[i].row);
		memset(first, 'f', sizeof first);
		memset(back, 'b', sizeof back);
		begin_bench(rows[i].far);
		greet_both(rows[i].far, first, rows[i].first);
		assert_int_equal(b.connector.t.ahead, rows[i].ahead);
		assert_int_equal(b.acceptor.t.unsure, rows[i].far);
		meet_talk_swap(&b.connector.t, first, rows[i].ahead ? 0 : rows[i].first,
			       b.connector.got, rows[i].back, b.now_ns);
		meet_talk_swap(&b.acceptor.t, back, rows[i].back, b.acceptor.got, rows[i].first,
			       b.now_ns);
		while (!is_over(&b.connector) || !is_over(&b.acceptor)) {
			move_end(&b.connector, false);
			move_end(&b.acceptor, false);
		}
		assert_int_equal(b.connector.t.state, MEET_DONE);
		assert_int_equal(b.acceptor.t.state, MEET_DONE);
		assert_memory_equal(b.acceptor.got, first, rows[i].first);
		assert_memory_equal(b.connector.got, back, rows[i].back);
		assert_int_equal(b.to.at, b.to.len);
		assert_int_equal(b.back.at, b.back.len);
		assert_true(meet_talk_due(&b.connector.t) == BASE_NEVER_NS);
	}
}

/* ---- what does not ---- */

enum act { CONNECTS, CONNECTS_FAR, TAKES, SWAPS };

static void
begin_act(struct end *e, enum act act)
{
	if (act == TAKES)
		meet_talk_take(&e->t, (const uint8_t *)OTHERS, e->theirs, b.now_ns);
	else if (act == SWAPS)
		meet_talk_swap(&e->t, "mine", 4, e->got, 6, b.now_ns);
	else
		meet_talk_knock(&e->t, (const uint8_t *)MINE, e->theirs, NULL, 0, e->knock, DUE);
}

static void
one_end_gives_up(void **state)
{
	static const struct {
		const char *row;
		enum act act;
		enum meet_word word; /* 0: six bytes that are none */
		uint64_t token;
		size_t says; /* of it, and of what follows */
		bool hangs_up;
		uint64_t after_ns;
		enum meet_state end;
		enum meet_phase phase;
	} rows[] = {
		{"nobody accepts yet", CONNECTS, 0, 0, 0, false, DUE - 1, MEET_UNDER_WAY,
		 MEET_PHASE_KNOCK},
		{"nobody accepts", CONNECTS, 0, 0, 0, false, DUE, MEET_LATE, MEET_PHASE_KNOCK},
		{"the port is closed", CONNECTS, 0, 0, 0, true, 0, MEET_GONE, MEET_PHASE_KNOCK},
		{"half of TAKEN", CONNECTS, MEET_TAKEN, TOKEN, 8, true, 0, MEET_GONE,
		 MEET_PHASE_KNOCK},
		{"another word", CONNECTS, MEET_GO, TOKEN, 16, false, 0, MEET_WRONG,
		 MEET_PHASE_KNOCK},
		{"another token", CONNECTS, MEET_TAKEN, TOKEN ^ 1, 16, false, 0, MEET_WRONG,
		 MEET_PHASE_KNOCK},
		{"taken, and no greeting", CONNECTS, MEET_TAKEN, TOKEN, 16, false, SWAP, MEET_LATE,
		 MEET_PHASE_SWAP},
		{"taken, and gone", CONNECTS, MEET_TAKEN, TOKEN, 16, true, 0, MEET_GONE,
		 MEET_PHASE_SWAP},
		{"far: another token", CONNECTS_FAR, MEET_TAKEN, TOKEN ^ 1, 40, false, 0,
		 MEET_WRONG, MEET_PHASE_KNOCK},
		{"far: TAKEN alone", CONNECTS_FAR, MEET_TAKEN, TOKEN, 16, false, DUE, MEET_LATE,
		 MEET_PHASE_KNOCK},
		{"far: taken", CONNECTS_FAR, MEET_TAKEN, TOKEN, 40, false, 0, MEET_DONE,
		 MEET_PHASE_KNOCK},
		{"knocks by half", TAKES, MEET_KNOCK_FAR, TOKEN, 20, false, 0, MEET_LATE,
		 MEET_PHASE_KNOCK},
		{"knocks as over a socket", TAKES, MEET_KNOCK, TOKEN, 40, false, 0, MEET_WRONG,
		 MEET_PHASE_KNOCK},
		{"knocks with another token", TAKES, MEET_KNOCK_FAR, TOKEN ^ 1, 40, false, 0,
		 MEET_WRONG, MEET_PHASE_KNOCK},
		{"knocks", TAKES, MEET_KNOCK_FAR, TOKEN, 40, false, 0, MEET_DONE, MEET_PHASE_GO},
		{"too few bytes yet", SWAPS, 0, 0, 5, false, SWAP - 1, MEET_UNDER_WAY,
		 MEET_PHASE_SWAP},
		{"too few bytes", SWAPS, 0, 0, 5, false, SWAP, MEET_LATE, MEET_PHASE_SWAP},
		{"too few bytes, and gone", SWAPS, 0, 0, 5, true, 0, MEET_GONE, MEET_PHASE_SWAP},
		{"all bytes", SWAPS, 0, 0, 6, false, 0, MEET_DONE, MEET_PHASE_SWAP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool far = rows[i].act == CONNECTS_FAR || rows[i].act == TAKES;
		struct end *e = &b.connector;
		print_message("  %s\n", rows[i].row);
		begin_bench(far);
		begin_act(e, rows[i].act);
		if (rows[i].word)
			meet_word_write(b.back.data, rows[i].word, rows[i].token);
		b.back.len = rows[i].says;
		for (int n = 0; n < 100; n++)
			move_end(e, far);
		if (rows[i].hangs_up)
			meet_talk_broke(&e->t);
		b.now_ns += rows[i].after_ns;
		(void)is_over(e);
		assert_int_equal(e->t.state, rows[i].end);
		assert_int_equal(e->t.phase, rows[i].phase);
		assert_true((meet_talk_due(&e->t) != BASE_NEVER_NS) ==
			    (e->t.state == MEET_UNDER_WAY));
	}
}

/* ---- what came of it ---- */

/* In steps of a second: who begins to decide when, and what comes of it. */
static void
both_decide_or_none(void **state)
{
	static const struct {
		const char *row;
		uint64_t connector, acceptor; /* outcomes */
		uint64_t from_s, at_s;	      /* the connector's, the acceptor's beginning */
		bool closes;		      /* the acceptor, when it gives up, is heard of */
		enum meet_state ends[2];
		bool connected;
	} rows[] = {
		{"at once", 0, 0, 0, 0, true, {MEET_DONE, MEET_DONE}, true},
		{"the acceptor is slow", 0, 0, 0, 140, true, {MEET_DONE, MEET_DONE}, true},
		{"it is too slow", 0, 0, 0, 200, true, {MEET_LATE, MEET_GONE}, false},
		{"the connector is slow", 0, 0, 140, 0, true, {MEET_DONE, MEET_DONE}, true},
		{"it is too slow, and hears all is well",
		 0,
		 0,
		 160,
		 0,
		 true,
		 {MEET_LATE, MEET_GONE},
		 false},
		{"it comes when nobody is there",
		 0,
		 0,
		 400,
		 0,
		 false,
		 {MEET_LATE, MEET_LATE},
		 false},
		{"the connector cannot", 16, 0, 0, 100, true, {MEET_DONE, MEET_DONE}, false},
		{"the acceptor cannot", 0, 17, 20, 0, true, {MEET_DONE, MEET_DONE}, false},
		{"neither can", 16, 17, 3, 5, true, {MEET_DONE, MEET_DONE}, false},
	};
	static uint8_t first[MEET_WORD_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct meet_talk *c = &b.connector.t, *a = &b.acceptor.t;
		print_message("  %s\n", rows[i].row);
		begin_bench(false);
		greet_both(false, first, 0);
		for (uint64_t s = 0; s < 900; s++) {
			if (s == rows[i].from_s)
				meet_talk_decide(c, rows[i].connector, b.now_ns);
			if (s == rows[i].at_s && a->state != MEET_GONE)
				meet_talk_decide(a, rows[i].acceptor, b.now_ns);
			for (int n = 0; n < 200; n++) {
				move_end(&b.acceptor, false);
				move_end(&b.connector, false);
			}
			(void)is_over(&b.connector);
			(void)is_over(&b.acceptor);
			if (rows[i].closes && c->state == MEET_LATE)
				meet_talk_broke(a);
			b.now_ns += BASE_S_NS;
		}
		assert_int_equal(c->state, rows[i].ends[0]);
		assert_int_equal(a->state, rows[i].ends[1]);
		assert_int_equal(c->state == MEET_DONE && !rows[i].connector && !c->outcome,
				 rows[i].connected);
		assert_int_equal(a->state == MEET_DONE && !rows[i].acceptor && !a->outcome,
				 rows[i].connected);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_greet_and_swap),
		cmocka_unit_test(one_end_gives_up),
		cmocka_unit_test(both_decide_or_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
