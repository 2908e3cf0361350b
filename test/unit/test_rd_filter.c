/* SPDX-License-Identifier: BSD-2-Clause */
/* Which frames a capture takes: by leg, direction, the other end's address and port. */
#include "cmocka_all.h"

#include "base/bytes.h"
#include "rd/filter.h"

#include <string.h>

enum { ETH = 14, UDP = 17, TCP = 6, MOST = 100 };
static const uint8_t from6[16] = {0x20, 1, 0xd, 0xb8, [15] = 1},
		     to6[16] = {0x20, 1, 0xd, 0xb8, [15] = 9};
static const uint8_t from4[4] = {192, 0, 2, 1}, to4[4] = {192, 0, 2, 9};
static const struct rd_filter any = {.legs = 3,
				     .directions = 3,
				     .job = RD_FILTER_ANY,
				     .src = RD_FILTER_ANY,
				     .dst = RD_FILTER_ANY};

/* From port 1000 to port 2000; returns its length. */
static size_t
make_frame(uint8_t f[MOST], bool six, uint8_t protocol)
{
	size_t header = six ? 40 : 24; /* with an option */
	memset(f, 0, MOST);
	be16_store(f + 12, six ? 0x86dd : 0x0800);
	f[ETH] = six ? 0x60 : 0x46;
	f[ETH + (six ? 6 : 9)] = protocol;
	memcpy(f + ETH + (six ? 8 : 12), six ? from6 : from4, six ? 16 : 4);
	memcpy(f + ETH + (six ? 24 : 16), six ? to6 : to4, six ? 16 : 4);
	be16_store(f + ETH + header, 1000);
	be16_store(f + ETH + header + 2, 2000);
	return ETH + header + 8;
}

static struct rd_filter
with_peer(bool six, bool to, uint32_t port)
{
	struct rd_filter f = any;
	f.peer_family = six ? 6 : 4;
	f.peer_port = port;
	if (six)
		memcpy(f.peer_ip, to ? to6 : from6, 16);
	else
		memcpy(f.peer_ip + 12, to ? to4 : from4, 4);
	return f;
}

static void
peers_of_both_kinds(void **state)
{
	uint8_t frame[MOST];
	(void)state;
	for (int six = 0; six < 2; six++)
		for (int wants = 0; wants < 2; wants++)
			for (int to = 0; to < 2; to++)
				for (int out = 0; out < 2; out++) {
					size_t n = make_frame(frame, six, UDP);
					struct rd_filter f = with_peer(wants, to, 0);
					enum rd_direction dir = out ? RD_OUT : RD_IN;
					bool good = six == wants && to == out;
					assert_int_equal(rd_filter_frame(&f, 0, dir, frame, n),
							 good);
					f.peer_port = out ? 2000 : 1000;
					assert_int_equal(rd_filter_frame(&f, 0, dir, frame, n),
							 good);
					f.peer_port = 1500;
					assert_false(rd_filter_frame(&f, 0, dir, frame, n));
				}
}

static void
ports_are_of_datagrams(void **state)
{
	uint8_t frame[MOST];
	(void)state;
	for (int six = 0; six < 2; six++) {
		struct rd_filter f = any;
		f.peer_port = 2000;
		size_t n = make_frame(frame, six, UDP);
		assert_true(rd_filter_frame(&f, 0, RD_OUT, frame, n));
		assert_false(rd_filter_frame(&f, 0, RD_OUT, frame, n - 5));
		make_frame(frame, six, TCP);
		assert_false(rd_filter_frame(&f, 0, RD_OUT, frame, n));
		f = with_peer(six, true, 0);
		assert_true(rd_filter_frame(&f, 0, RD_OUT, frame, n));
		/* Cut inside the header, another version in it. */
		assert_false(rd_filter_frame(&f, 0, RD_OUT, frame, ETH + 10));
		frame[ETH] = 0x50;
		assert_false(rd_filter_frame(&f, 0, RD_OUT, frame, n));
	}
}

static void
legs_and_directions(void **state)
{
	uint8_t frame[MOST] = {0};
	struct rd_filter f = any;
	(void)state;
	assert_true(rd_filter_frame(&f, 1, RD_IN, frame, 60)); /* whatever it is */
	f.legs = 1;
	assert_true(rd_filter_frame(&f, 0, RD_IN, frame, 60));
	assert_false(rd_filter_frame(&f, 1, RD_IN, frame, 60));
	f.directions = 1u << RD_OUT;
	assert_false(rd_filter_frame(&f, 0, RD_IN, frame, 60));
	/* Segments of chosen processes are in datagrams. */
	f = any;
	f.src = 3;
	assert_true(rd_filter_wants_segments(&f));
	assert_false(rd_filter_frame(&f, 0, RD_IN, frame, 60));
	for (int six = 0; six < 2; six++)
		assert_true(rd_filter_frame(&f, 0, RD_IN, frame, make_frame(frame, six, UDP)));
	assert_true(rd_filter_segment(&f, 9, 3, 1));
	assert_false(rd_filter_segment(&f, 9, 4, 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers_of_both_kinds),
		cmocka_unit_test(ports_are_of_datagrams),
		cmocka_unit_test(legs_and_directions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
