/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes about light: golden bytes both ways, and what is refused. */
#include "cmocka_all.h"

#include "light/note.h"

#include "coll/schedule.h"

#include <string.h>

#define HEAD(kind) 7, 0, 0, 1, 0, kind

/* Written from the header's layout, not from the encoder. */
static const uint8_t comm[] = {HEAD(1), 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 5, 0,
			       0,	0, 1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 6};
static const uint8_t call[] = {HEAD(7), 0, 0, 0, 9, 0, 0, 0, 2, 0, 0,  1, 0, 1, 1, 4, 5, 3,
			       2,	0, 0, 0, 3, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 8, 4};
/* As releases before LIGHT_VERSION have it; what follows seq says nothing. */
static const uint8_t by_index[] = {HEAD(2), 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 1, 0};
static const uint8_t over[] = {HEAD(3), 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 1,
			       0,	0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 2, 0,
			       0,	1, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 1};
static const uint8_t end[] = {HEAD(4), 0, 0, 0, 9, 0, 0, 0, 2};
static const uint8_t offer[] = {HEAD(5), 1, 2, 5, 0, 0, 0, 0, 0, 1, 0, 0, 2};
static const uint8_t old_offer[] = {HEAD(5), 1, 2, 5, 0, 0, 0, 0, 0, 1, 0, 0};
static const uint8_t go[] = {HEAD(6), 0,    0,	  0,	9,    0,    0,	  0,	2,
			     0,	      0,    1,	  0,	0xff, 0xff, 0xff, 0xff, 0xff,
			     0xff,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static const struct {
	const char *name;
	const uint8_t *bytes;
	size_t len;
} golden[] = {
	{"comm", comm, sizeof comm},
	{"call", call, sizeof call},
	{"over", over, sizeof over},
	{"free", end, sizeof end},
	{"offer", offer, sizeof offer},
	{"go", go, sizeof go},
	{"by index", by_index, sizeof by_index},
	{"old offer", old_offer, sizeof old_offer},
};
#define GOLDEN (sizeof golden / sizeof golden[0])

static struct light_note
decoded(const void *bytes, size_t len)
{
	struct light_note n;
	assert_int_equal(light_note_decode(bytes, len, &n), LIGHT_ERR_OK);
	assert_int_equal(n.label_base, 256);
	return n;
}

static void
fields(void **state)
{
	(void)state;
	struct light_note n = decoded(comm, sizeof comm);
	assert_int_equal(n.u.piece.comm, 9);
	assert_int_equal(n.u.piece.leader, 2);
	assert_int_equal(n.u.piece.p, 5);
	assert_int_equal(n.u.piece.at, 1);
	assert_int_equal(n.u.piece.n, 2);
	assert_int_equal(n.u.piece.rank[1], 6);
	n = decoded(call, sizeof call);
	assert_int_equal(n.u.call.seq, 256);
	assert_int_equal(n.u.call.op, COLL_BCAST);
	assert_int_equal(n.u.call.algorithm, 260);
	assert_int_equal(n.u.call.algorithm_version, 5);
	assert_int_equal(n.u.call.mode, CIRC_MODE_PIPELINED);
	assert_int_equal(n.u.call.flags, LIGHT_CALL_REVERSED);
	assert_int_equal(n.u.call.root, 3);
	assert_int_equal(n.u.call.bytes, 1 << 20);
	assert_int_equal(n.u.call.elem, 8);
	assert_int_equal(n.u.call.degree, 4);
	n = decoded(over, sizeof over);
	assert_int_equal(n.counts, 2);
	assert_int_equal(n.u.count[0].count, 7);
	assert_int_equal(n.u.count[1].from, 3);
	assert_int_equal(n.u.count[1].to, 4);
	n = decoded(end, sizeof end);
	assert_int_equal(n.comm, 9);
	assert_int_equal(n.leader, 2);
	n = decoded(offer, sizeof offer);
	assert_true(n.u.offer.on);
	assert_int_equal(n.u.offer.ports, 2);
	assert_int_equal(n.u.offer.mode, CIRC_MODE_HYBRID);
	assert_int_equal(n.u.offer.light_from, 65536);
	assert_int_equal(n.u.offer.version, LIGHT_VERSION);
	assert_int_equal(decoded(old_offer, sizeof old_offer).u.offer.version, 0);
	n = decoded(by_index, sizeof by_index);
	assert_int_equal(n.kind, LIGHT_NOTE_CALL_BY_INDEX);
	assert_int_equal(n.u.call.seq, 256);
	n = decoded(go, sizeof go);
	assert_int_equal(n.u.count[0].from, LIGHT_ANY);
	assert_int_equal(n.u.count[0].count, UINT32_MAX);
}

static void
round_trip_and_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < GOLDEN; i++) {
		print_message("%s\n", golden[i].name);
		struct light_note n = decoded(golden[i].bytes, golden[i].len), kept = n;
		uint8_t out[LIGHT_NOTE_MAX];
		assert_int_equal(light_note_encode(&n, out), golden[i].len);
		assert_memory_equal(out, golden[i].bytes, golden[i].len);
		for (size_t cut = 0; cut < golden[i].len; cut++) {
			bool whole = (golden[i].bytes == over && cut == 6 + 24) ||
				     (golden[i].bytes == offer && cut == sizeof old_offer);
			assert_int_equal(light_note_decode(out, cut, &n),
					 whole ? LIGHT_ERR_OK : LIGHT_ERR_MALFORMED);
			if (!whole)
				assert_memory_equal(&n, &kept, sizeof n);
			n = kept;
		}
	}
}

static void
bad_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t of, at;
		uint8_t value;
	} cases[] = {
		{"another type", 0, 0, 6}, {"kind 0", 0, 5, 0},
		{"kind 8", 0, 5, 8},	   {"piece beyond p", 0, 21, 4},
		{"empty piece", 0, 23, 0}, {"piece too long", 0, 22, 9},
		{"no such op", 1, 18, 12}, {"no such mode", 1, 22, 6},
		{"offered mode", 4, 8, 6},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		print_message("%s\n", cases[i].name);
		uint8_t in[LIGHT_NOTE_MAX];
		struct light_note n;
		memcpy(in, golden[cases[i].of].bytes, golden[cases[i].of].len);
		in[cases[i].at] = cases[i].value;
		assert_int_equal(light_note_decode(in, golden[cases[i].of].len, &n),
				 LIGHT_ERR_MALFORMED);
	}
}

/* The most that one note holds fits, and one more does not decode. */
static void
full(void **state)
{
	(void)state;
	struct light_note n = {.kind = LIGHT_NOTE_COMM}, back;
	uint8_t out[LIGHT_NOTE_MAX + 24] = {0};
	n.u.piece.p = n.u.piece.n = LIGHT_NOTE_RANKS;
	size_t len = light_note_encode(&n, out);
	assert_true(len <= LIGHT_NOTE_MAX && len + 4 > LIGHT_NOTE_MAX);
	assert_int_equal(light_note_decode(out, len, &back), LIGHT_ERR_OK);
	n = (struct light_note){.kind = LIGHT_NOTE_CLEAR_TO_SEND, .counts = LIGHT_NOTE_COUNTS};
	len = light_note_encode(&n, out);
	assert_int_equal(len, LIGHT_NOTE_HEAD + 24 * LIGHT_NOTE_COUNTS);
	assert_int_equal(light_note_decode(out, len, &back), LIGHT_ERR_OK);
	assert_int_equal(back.counts, LIGHT_NOTE_COUNTS);
	assert_int_equal(light_note_decode(out, len + 24, &back), LIGHT_ERR_MALFORMED);
}

static void
modes(void **state)
{
	(void)state;
	for (uint32_t m = 0; m < CIRC_MODE_COUNT; m++)
		assert_int_equal(circ_mode_of(circ_mode_name(m)), m);
	assert_int_equal(circ_mode_of("lazy"), CIRC_MODE_COUNT);
	assert_null(circ_mode_name(CIRC_MODE_COUNT));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),	  cmocka_unit_test(round_trip_and_cut),
		cmocka_unit_test(bad_is_refused), cmocka_unit_test(full),
		cmocka_unit_test(modes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
