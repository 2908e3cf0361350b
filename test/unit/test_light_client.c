/* SPDX-License-Identifier: BSD-2-Clause */
/* A process's announcements, reports and gate, against a relay that is a list of notes. */
#include "cmocka_all.h"

#include "light/client.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

struct rig {
	struct light_client *c;
	struct light_note said[64];
	uint32_t n, asked; /* notes, the relay that had the last one */
	bool deaf;
	struct light_gate gate[3];
	uint32_t go[3][8], arrived[3][8], told;
	struct light_wait wait[16];
	uint64_t placed[16];
	uint64_t now_ns;
};

static const uint32_t world[8] = {10, 11, 12, 13, 14, 15, 16, 17};

static bool
tell(void *user, uint32_t relay, struct light_note *n)
{
	struct rig *r = user;
	uint8_t bytes[LIGHT_NOTE_MAX];
	size_t len = light_note_encode(n, bytes);

	if (r->deaf || r->n == 64)
		return false;
	r->asked = relay;
	assert_int_equal(light_note_decode(bytes, len, &r->said[r->n++]), 0);
	return true;
}

static uint64_t
placed(void *user, const struct light_wait *w)
{
	const struct rig *r = user;

	return r->placed[w - r->wait];
}

static void
rig_new(struct rig *r, enum circ_mode mode)
{
	struct light_client_conf conf = {.mode = mode,
					 .patience_ns = 1000 * MS,
					 .early_max = 4,
					 .relays = 2,
					 .tell = tell,
					 .placed = placed,
					 .user = r};

	memset(r, 0, sizeof *r);
	r->c = light_client_new(malloc(light_client_footprint(&conf)), &conf);
	for (uint32_t i = 0; i < 3; i++)
		r->gate[i] = (struct light_gate){
			.call = {.comm = 7, .leader = 10, .seq = 100 + i, .bytes = 1000},
			.rank = 0,
			.p = 8,
			.world = world,
			.told = &r->told,
			.speaks = true,
			.go = r->go[i],
			.arrived = r->arrived[i]};
}

static void
rig_end(struct rig *r)
{
	free(r->c);
}

static void
offer_by(struct rig *r, uint32_t relay, bool on, uint64_t light_from)
{
	light_client_heard(r->c, relay,
			   &(struct light_note){.kind = LIGHT_NOTE_OFFER,
						.u.offer = {.on = on,
							    .ports = 2,
							    .light_from = light_from,
							    .version = LIGHT_VERSION}});
}

static void
offer(struct rig *r, bool on, uint64_t light_from)
{
	offer_by(r, 0, on, light_from);
}

static void
say_go(struct rig *r, uint32_t seq, uint32_t from, uint32_t to, uint32_t count)
{
	light_client_heard(r->c, 0,
			   &(struct light_note){.kind = LIGHT_NOTE_CLEAR_TO_SEND,
						.counts = 1,
						.u.count = {{7, 10, seq, from, to, count}}});
}

/* Message `count` of gate i to a rank, as wait[w]. */
static void
wait_for(struct rig *r, uint32_t w, uint32_t i, uint32_t to, uint32_t count, uint32_t step)
{
	r->wait[w] =
		(struct light_wait){.gate = &r->gate[i], .to = to, .count = count, .step = step};
	light_client_wait(r->c, &r->wait[w], r->now_ns);
}

/* Which one may go now, -1: none. */
static int
next(struct rig *r)
{
	struct light_wait *w = light_client_next(r->c, r->now_ns);

	return w ? (int)(w - r->wait) : -1;
}

static void
test_wants(void **state)
{
	static const struct {
		enum circ_mode mode;
		bool on;
		uint64_t light_from, bytes;
		bool wants;
	} row[] = {
		{CIRC_MODE_AUTO, false, 0, 1000, false},
		{CIRC_MODE_AUTO, true, 1000, 999, false},
		{CIRC_MODE_AUTO, true, 1000, 1000, true},
		{CIRC_MODE_HYBRID, true, 1000, 999, false},
		{CIRC_MODE_NAIVE, true, 1000, 1, true},
		{CIRC_MODE_PIPELINED, true, 1000, 0, false}, /* nothing to carry */
		{CIRC_MODE_CACHED, false, 0, 1000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct rig r;
		rig_new(&r, row[i].mode);
		offer(&r, row[i].on, row[i].light_from);
		assert_int_equal(light_client_wants(r.c, UINT64_MAX), row[i].on);
		assert_int_equal(light_client_wants(r.c, row[i].bytes), row[i].wants);
		rig_end(&r);
	}
}

/* Who plans by other numbers than ours plans nothing: as without light. */
static void
test_other_version(void **state)
{
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_CACHED);
	offer(&r, true, 0);
	assert_true(light_client_wants(r.c, 1));
	light_client_heard(r.c, 0,
			   &(struct light_note){.kind = LIGHT_NOTE_OFFER,
						.u.offer = {.on = true, .ports = 2}});
	assert_false(light_client_wants(r.c, 1));
	assert_int_equal(light_client_counters(r.c)->other_version, 1);
	rig_end(&r);
}

/* The ranks are told once for every relay, the call each time; only by who speaks. */
static void
test_announces(void **state)
{
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_CACHED);
	offer(&r, true, 0);
	light_client_begin(r.c, &r.gate[0]);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.said[0].kind, LIGHT_NOTE_COMM);
	assert_int_equal(r.said[0].u.piece.p, 8);
	assert_int_equal(r.said[0].u.piece.n, 8);
	assert_memory_equal(r.said[0].u.piece.rank, world, sizeof world);
	assert_int_equal(r.said[1].kind, LIGHT_NOTE_CALL);
	assert_int_equal(r.said[1].u.call.mode, CIRC_MODE_CACHED);
	light_client_begin(r.c, &r.gate[1]);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.said[2].u.call.seq, 101);
	light_client_end(r.c, &r.gate[0]);
	light_client_end(r.c, &r.gate[1]);
	/* Another relay, or the same one that has forgotten. */
	light_client_dark(r.c, 0);
	offer(&r, true, 0);
	r.gate[2].speaks = false;
	light_client_begin(r.c, &r.gate[2]);
	assert_int_equal(r.n, 3);
	r.gate[0].call.flags = LIGHT_CALL_FORECAST;
	assert_true(light_client_forecast(r.c, &r.gate[0]));
	assert_int_equal(r.n, 5);
	assert_int_equal(r.said[3].kind, LIGHT_NOTE_COMM);
	assert_int_equal(r.said[4].u.call.flags, LIGHT_CALL_FORECAST);
	assert_int_equal(light_client_counters(r.c)->announced, 2);
	light_client_free(r.c, 7, 10);
	assert_int_equal(r.said[5].kind, LIGHT_NOTE_FREE);
	rig_end(&r);
}

/* Each of two relays has light: one of them is told everything, and the other when that is gone. */
static void
test_other_relay(void **state)
{
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_CACHED);
	offer_by(&r, 1, true, 0);
	offer_by(&r, 0, true, 0);
	offer_by(&r, 2, true, 0); /* more than there may be */
	light_client_begin(r.c, &r.gate[0]);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.asked, 1);
	wait_for(&r, 0, 0, 4, 1, 0);
	assert_int_equal(light_client_next(r.c, 0) != NULL, false);
	/* Either may say it. */
	say_go(&r, 100, 0, 4, 1);
	assert_ptr_equal(light_client_next(r.c, 0), &r.wait[0]);
	light_client_sent(r.c, &r.wait[0]);
	wait_for(&r, 1, 0, 5, 1, 1);
	assert_null(light_client_next(r.c, 0));
	/* One that nobody listens to goes. */
	light_client_dark(r.c, 0);
	assert_null(light_client_next(r.c, 0));
	offer_by(&r, 0, true, 0);
	/* What the other one was told is lost: the call goes on without, the next is told. */
	light_client_dark(r.c, 1);
	assert_true(light_client_wants(r.c, UINT64_MAX));
	assert_ptr_equal(light_client_next(r.c, 0), &r.wait[1]);
	light_client_sent(r.c, &r.wait[1]);
	light_client_end(r.c, &r.gate[0]);
	light_client_begin(r.c, &r.gate[1]);
	assert_int_equal(r.n, 4);
	assert_int_equal(r.asked, 0);
	assert_int_equal(r.said[2].kind, LIGHT_NOTE_COMM);
	assert_int_equal(r.said[3].u.call.seq, 101);
	wait_for(&r, 2, 1, 4, 1, 0);
	assert_null(light_client_next(r.c, 0));
	light_client_dark(r.c, 0);
	assert_false(light_client_wants(r.c, UINT64_MAX));
	assert_ptr_equal(light_client_next(r.c, 0), &r.wait[2]);
	light_client_end(r.c, &r.gate[1]);
	rig_end(&r);
}

static void
test_told_again(void **state)
{
	static uint32_t many[600];
	struct rig r;

	(void)state;
	for (uint32_t i = 0; i < 600; i++)
		many[i] = i;
	rig_new(&r, CIRC_MODE_NAIVE);
	offer(&r, true, 0);
	r.deaf = true;
	r.gate[0].p = 600;
	r.gate[0].world = many;
	light_client_begin(r.c, &r.gate[0]);
	light_client_over(r.c, &r.gate[0], 3);
	assert_true(light_client_busy(r.c));
	light_client_turn(r.c);
	assert_int_equal(r.n, 0);
	r.deaf = false;
	light_client_turn(r.c);
	assert_int_equal(r.n, 5); /* RECEIVED, three pieces, CALL */
	assert_int_equal(r.said[0].kind, LIGHT_NOTE_RECEIVED);
	assert_int_equal(r.said[3].u.piece.at + r.said[3].u.piece.n, 600);
	assert_int_equal(r.said[4].kind, LIGHT_NOTE_CALL);
	assert_false(light_client_busy(r.c));
	rig_end(&r);
}

/* Messages go when they may, one at a time, in the order of calls and steps. */
static void
test_gate(void **state)
{
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_PIPELINED);
	offer(&r, true, 0);
	light_client_begin(r.c, &r.gate[0]);
	light_client_begin(r.c, &r.gate[1]);
	wait_for(&r, 0, 1, 4, 1, 0);
	wait_for(&r, 1, 0, 5, 1, 1);
	wait_for(&r, 2, 0, 4, 1, 0);
	wait_for(&r, 3, 0, 4, 2, 2);
	assert_int_equal(next(&r), -1);
	say_go(&r, 101, 0, 4, 1);
	say_go(&r, 100, 0, 4, 1);
	say_go(&r, 100, 1, 5, 9); /* somebody else's */
	r.now_ns += 5 * MS;
	assert_int_equal(next(&r), 2);
	assert_int_equal(next(&r), -1); /* one at a time */
	say_go(&r, 100, 0, 4, 1);
	assert_int_equal(next(&r), -1);
	light_client_sent(r.c, &r.wait[2]);
	assert_int_equal(next(&r), 0);
	light_client_sent(r.c, &r.wait[0]);
	assert_int_equal(next(&r), -1); /* the second to 4 may not yet */
	say_go(&r, 100, LIGHT_ANY, LIGHT_ANY, 0);
	assert_int_equal(next(&r), 1);
	light_client_sent(r.c, &r.wait[1]);
	assert_int_equal(next(&r), 3);
	assert_int_equal(light_client_expiry_ns(r.c), UINT64_MAX);
	assert_int_equal(light_client_counters(r.c)->gated, 4);
	assert_int_equal(light_client_counters(r.c)->waited_ns, 20 * MS);
	assert_int_equal(light_client_counters(r.c)->without_go, 0);
	rig_end(&r);
}

static void
test_patience(void **state)
{
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_PIPELINED);
	offer(&r, true, 0);
	light_client_begin(r.c, &r.gate[0]);
	wait_for(&r, 0, 0, 4, 1, 0);
	r.now_ns += 300 * MS;
	wait_for(&r, 1, 0, 5, 1, 1);
	assert_int_equal(next(&r), -1);
	assert_int_equal(light_client_expiry_ns(r.c), 1000 * MS);
	r.now_ns = 999 * MS;
	assert_int_equal(next(&r), -1);
	r.now_ns = 1000 * MS;
	assert_int_equal(next(&r), 0);
	/* That one does not get out: whoever takes it may wait for the one behind it. */
	assert_int_equal(light_client_expiry_ns(r.c), 2000 * MS);
	r.now_ns = 1999 * MS;
	assert_int_equal(next(&r), -1);
	r.now_ns = 2000 * MS;
	assert_int_equal(next(&r), 1);
	light_client_sent(r.c, &r.wait[0]); /* late: of no concern */
	assert_int_equal(light_client_counters(r.c)->without_go, 2);
	/* No light any more: nobody waits. */
	wait_for(&r, 2, 0, 6, 1, 2);
	wait_for(&r, 3, 0, 7, 1, 3);
	offer(&r, false, 0);
	assert_int_equal(next(&r), 2);
	assert_int_equal(next(&r), 3);
	assert_int_equal(light_client_counters(r.c)->without_go, 2);
	rig_end(&r);
}

/* CLEAR_TO_SEND before the call has begun here: the newest are kept. */
static void
test_order(void **state)
{
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_PIPELINED);
	offer(&r, true, 0);
	light_client_begin(r.c, &r.gate[0]);
	for (uint32_t i = 0; i < 4; i++)
		wait_for(&r, i, 0, 1 + i, 1, i);
	/* Nothing is known of how long one takes: who may go goes. */
	say_go(&r, 100, 0, 2, 1);
	assert_int_equal(next(&r), 1);
	r.now_ns += 10 * MS;
	light_client_sent(r.c, &r.wait[1]);
	/* One took 10 ms: the first is waited for, and comes. */
	say_go(&r, 100, 0, 3, 1);
	assert_int_equal(next(&r), -1);
	assert_int_equal(light_client_expiry_ns(r.c), r.now_ns + 10 * MS);
	r.now_ns += 9 * MS;
	assert_int_equal(next(&r), -1);
	say_go(&r, 100, 0, 1, 1);
	assert_int_equal(next(&r), 0);
	r.now_ns += 10 * MS;
	light_client_sent(r.c, &r.wait[0]);
	assert_int_equal(next(&r), 2);
	light_client_sent(r.c, &r.wait[2]);
	/* One that does not come is overtaken. */
	wait_for(&r, 4, 0, 5, 1, 4);
	say_go(&r, 100, 0, 5, 1);
	r.now_ns += 1;
	assert_int_equal(next(&r), -1);
	r.now_ns += 10 * MS;
	assert_int_equal(next(&r), 4);
	light_client_end(r.c, &r.gate[0]);
	rig_end(&r);
}

/* The next one goes when the receiver of one lacks no more than its last eighth, however long that
 * takes; a third waits until the first is out, and short ones have no lead. */
static void
test_lead(void **state)
{
	const uint64_t mib = 1u << 20;
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_PIPELINED);
	offer(&r, true, 0);
	light_client_begin(r.c, &r.gate[0]);
	for (uint32_t i = 0; i < 6; i++) {
		wait_for(&r, i, 0, 1 + i, 1, i);
		r.wait[i].bytes = i == 4 ? 1000 : mib;
		say_go(&r, 100, 0, 1 + i, 1);
	}
	assert_int_equal(next(&r), 0);
	r.now_ns += 15 * MS;
	r.placed[0] = mib / 8 * 7 - 1;
	assert_int_equal(next(&r), -1);
	r.placed[0]++;
	assert_int_equal(next(&r), 1);
	r.placed[1] = mib; /* the one before is not out */
	assert_int_equal(next(&r), -1);
	light_client_sent(r.c, &r.wait[0]);
	assert_int_equal(next(&r), 2);
	light_client_sent(r.c, &r.wait[1]);
	/* One that is slower than those before it. */
	r.now_ns += 500 * MS;
	r.placed[2] = mib / 2;
	assert_int_equal(next(&r), -1);
	assert_int_equal(light_client_expiry_ns(r.c), r.now_ns + 500 * MS);
	light_client_sent(r.c, &r.wait[2]);
	assert_int_equal(next(&r), 3);
	light_client_sent(r.c, &r.wait[3]);
	assert_int_equal(next(&r), 4);
	r.placed[4] = 1000;
	assert_int_equal(next(&r), -1);
	light_client_sent(r.c, &r.wait[4]);
	assert_int_equal(next(&r), 5);
	light_client_sent(r.c, &r.wait[5]);
	rig_end(&r);
}

static void
test_early(void **state)
{
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_PIPELINED);
	offer(&r, true, 0);
	say_go(&r, 102, 0, 3, 1); /* is forgotten */
	for (uint32_t to = 4; to < 6; to++)
		say_go(&r, 101, 0, to, 1);
	say_go(&r, 102, 0, 4, 1);
	say_go(&r, 101, 0, 6, 1);
	assert_int_equal(light_client_counters(r.c)->gos_dropped, 1);
	light_client_begin(r.c, &r.gate[1]);
	for (uint32_t to = 3; to < 7; to++)
		wait_for(&r, to, 1, to, 1, to);
	for (int to = 4; to < 7; to++) {
		assert_int_equal(next(&r), to);
		light_client_sent(r.c, &r.wait[to]);
	}
	assert_int_equal(next(&r), -1);
	light_client_begin(r.c, &r.gate[2]);
	wait_for(&r, 8, 2, 4, 1, 0);
	assert_int_equal(next(&r), 8);
	rig_end(&r);
}

/* Reports ride together; counts of a pair only grow. */
static void
test_over(void **state)
{
	struct rig r;

	(void)state;
	rig_new(&r, CIRC_MODE_PIPELINED);
	offer(&r, true, 0);
	r.gate[0].speaks = r.gate[1].speaks = false;
	light_client_begin(r.c, &r.gate[0]);
	light_client_begin(r.c, &r.gate[1]);
	light_client_over(r.c, &r.gate[0], 5);
	light_client_over(r.c, &r.gate[1], 5);
	light_client_over(r.c, &r.gate[0], 5);
	light_client_turn(r.c);
	light_client_over(r.c, &r.gate[0], 5);
	light_client_turn(r.c);
	light_client_turn(r.c);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.said[0].counts, 2);
	assert_int_equal(r.said[0].u.count[0].count, 2);
	assert_int_equal(r.said[0].u.count[1].seq, 101);
	assert_int_equal(r.said[1].u.count[0].count, 3);
	assert_int_equal(r.said[1].u.count[0].from, 5);
	assert_int_equal(r.said[1].u.count[0].to, 0);
	/* More than a note holds. */
	for (uint32_t i = 0; i < LIGHT_NOTE_COUNTS + 1; i++) {
		r.gate[0].call.seq = 500 + i;
		light_client_over(r.c, &r.gate[0], 6);
	}
	light_client_turn(r.c);
	assert_int_equal(r.n, 4);
	assert_int_equal(r.said[2].counts, LIGHT_NOTE_COUNTS);
	assert_int_equal(r.said[3].counts, 1);
	rig_end(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wants),	    cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_announces),   cmocka_unit_test(test_told_again),
		cmocka_unit_test(test_other_relay), cmocka_unit_test(test_gate),
		cmocka_unit_test(test_patience),    cmocka_unit_test(test_order),
		cmocka_unit_test(test_lead),	    cmocka_unit_test(test_early),
		cmocka_unit_test(test_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
