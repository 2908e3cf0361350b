/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between agents and the controller: round trips, cuts, what is refused; golden bytes. */
#include "cmocka_all.h"

#include "light/frame.h"

#include <string.h>

static const uint8_t note[] = {7, 0, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0, 2};
static const uint8_t clients[] = {0, 1, 31};

static const struct light_frame frames[] = {
	{.type = LIGHT_FRAME_HELLO,
	 .hello = {.relay = {0xc6336415, 7812},
		   .n = 2,
		   .port = {{4, {0x0a320005, 7812}}, {5, {0x0a320006, 7812}}}}},
	{.type = LIGHT_FRAME_JOB, .key = 0x1122334455667788, .client = 31},
	{.type = LIGHT_FRAME_JOB_END, .key = 0x1122334455667788},
	{.type = LIGHT_FRAME_NOTE,
	 .key = 5,
	 .rank = LIGHT_ANY,
	 .note = note,
	 .note_len = sizeof note,
	 .clients = clients,
	 .nclients = 3},
	{.type = LIGHT_FRAME_LINK_UP,
	 .link = 77,
	 .slot = 1,
	 .peer = {0xc6336415, 7812},
	 .light = {0x0a320005, 7813}},
	{.type = LIGHT_FRAME_LINK_DOWN, .link = 77, .slot = 15},
	{.type = LIGHT_FRAME_LINK, .link = 77, .slot = 0, .state = BASE_LIGHTPATH_FAILED},
	{.type = LIGHT_FRAME_OFFER, .offer = {true, 2, CIRC_MODE_CACHED, 1 << 20, LIGHT_VERSION}},
	{.type = LIGHT_FRAME_PING},
};
#define FRAMES (sizeof frames / sizeof frames[0])

static void
round_trip_and_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAMES; i++) {
		uint8_t out[LIGHT_FRAME_MAX], again[LIGHT_FRAME_MAX];
		struct light_frame f;
		size_t len = light_frame_encode(&frames[i], out);
		print_message("type %u\n", frames[i].type);
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(light_frame_decode(out, cut, &f), 0);
		assert_int_equal(light_frame_decode(out, len, &f), len);
		assert_int_equal(light_frame_encode(&f, again), len);
		assert_memory_equal(out, again, len);
		assert_int_equal(f.type, frames[i].type);
		assert_int_equal(f.key, frames[i].key);
		assert_int_equal(f.link, frames[i].link);
		/* the length says less than the body has */
		if (len > LIGHT_FRAME_HEAD && f.type != LIGHT_FRAME_NOTE &&
		    f.type != LIGHT_FRAME_OFFER) { /* older ones have no version */
			out[3]--;
			assert_int_equal(light_frame_decode(out, len, &f), LIGHT_ERR_MALFORMED);
		}
	}
}

static void
golden(void **state)
{
	(void)state;
	static const uint8_t up[] = {0,	   0,	 0,    18, 5,	 0,    0,    0, 77, 1,	0xc6,
				     0x33, 0x64, 0x15, 30, 0x84, 0x0a, 0x32, 0, 5,  30, 0x85};
	uint8_t out[LIGHT_FRAME_MAX];
	assert_int_equal(light_frame_encode(&frames[4], out), sizeof up);
	assert_memory_equal(out, up, sizeof up);
	static const uint8_t job[] = {0,    0,	  0,	10,   2,    0x11, 0x22,
				      0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 31};
	assert_int_equal(light_frame_encode(&frames[1], out), sizeof job);
	assert_memory_equal(out, job, sizeof job);
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
		{"too long", 0, 1, 1},	  {"type 0", 8, 4, 0},	     {"type 10", 8, 4, 10},
		{"magic", 0, 5, 'X'},	  {"version", 0, 9, 2},	     {"17 ports", 0, 16, 17},
		{"client 32", 1, 13, 32}, {"slot 16", 5, 9, 16},     {"state 0", 6, 10, 0},
		{"state 4", 6, 10, 4},	  {"no such mode", 7, 7, 6}, {"note too long", 3, 17, 5},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t out[LIGHT_FRAME_MAX];
		struct light_frame f = {.link = 3};
		print_message("%s\n", cases[i].name);
		size_t len = light_frame_encode(&frames[cases[i].of], out);
		out[cases[i].at] = cases[i].value;
		assert_int_equal(light_frame_decode(out, len, &f), LIGHT_ERR_MALFORMED);
		assert_int_equal(f.link, 3);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip_and_cut),
		cmocka_unit_test(golden),
		cmocka_unit_test(bad_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
