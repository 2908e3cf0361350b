/* SPDX-License-Identifier: BSD-2-Clause */
/* Places for connections that have not said who they are. */
#include "base/lobby.h"

#include "base/prefix.h"
#include "base/prng.h"

#include <string.h>

#include "cmocka_all.h"

#define GRACE 1000u

static void
one_source_cannot_keep_others_out(void **state)
{
	(void)state;
	struct base_lobby l;
	base_lobby_init(&l, 8, GRACE);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(base_lobby_enter(&l, 666, i), (int)i);
	assert_int_equal(base_lobby_enter(&l, 7, 8), -1);
	/* At once: all of them are within their grace. */
	assert_int_equal(base_lobby_room_ns(&l), 0);
	assert_int_equal(base_lobby_victim(&l, 7, 8), 0);
	base_lobby_leave(&l, 0);
	assert_int_equal(base_lobby_victim(&l, 7, 8), -1);
	assert_int_equal(base_lobby_enter(&l, 7, 8), 0);
	/* And it is not the newcomer who goes next, whoever comes. */
	for (uint64_t i = 1; i < 8; i++)
		assert_int_equal(base_lobby_victim(&l, i % 2 ? 666 : 8, 9), 1);
}

static void
the_oldest_of_many_sources_has_a_grace(void **state)
{
	(void)state;
	struct base_lobby l;
	base_lobby_init(&l, 4, GRACE);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(base_lobby_enter(&l, 100 + i, 50 + (i ^ 2)), (int)i);
	assert_int_equal(base_lobby_room_ns(&l), 50 + GRACE);
	assert_int_equal(base_lobby_victim(&l, 7, 50 + GRACE - 1), -1);
	assert_int_equal(base_lobby_victim(&l, 7, 50 + GRACE), 2);
	/* Its own second connection takes the place of its first. */
	assert_int_equal(base_lobby_victim(&l, 101, 60), 1);
	/* Sources that are not known are not the same one. */
	base_lobby_init(&l, 2, GRACE);
	assert_int_equal(base_lobby_enter(&l, 0, 5), 0);
	assert_int_equal(base_lobby_enter(&l, 0, 6), 1);
	assert_int_equal(base_lobby_victim(&l, 0, 7), -1);
	assert_int_equal(base_lobby_room_ns(&l), 5 + GRACE);
	base_lobby_leave(&l, -1);
	base_lobby_leave(&l, 0);
	base_lobby_leave(&l, 0);
	assert_int_equal(l.taken, 1);
}

/* A flood from few sources never takes the place of the only connection of another. */
static void
a_flood_never_evicts_the_only_one(void **state)
{
	(void)state;
	struct base_prng p = base_prng_seed(23);
	struct base_lobby l;
	base_lobby_init(&l, 16, GRACE);
	int mine = base_lobby_enter(&l, 7, 0);
	for (uint64_t t = 1; t < 100000; t++) {
		uint64_t source = 1000 + base_prng_below(&p, 5);
		int go = base_lobby_victim(&l, source, t);
		assert_int_not_equal(go, mine);
		base_lobby_leave(&l, go);
		assert_true(base_lobby_enter(&l, source, t) >= 0);
	}
}

static void
networks_of_ipv6_are_sources(void **state)
{
	(void)state;
	static const uint8_t host[16] = {0xfd, 0, 1, [7] = 2, [15] = 3};
	uint8_t near[16], far[16], v4[16], other[16], loopback[16] = {[15] = 1};
	memcpy(near, host, sizeof near);
	near[8] = 0xff;
	memcpy(far, host, sizeof far);
	far[7] = 3;
	base_prefix_v4(0x0a000001, v4);
	base_prefix_v4(0x0a000002, other);
	assert_true(base_lobby_source(host) == base_lobby_source(near));
	assert_true(base_lobby_source(host) != base_lobby_source(far));
	assert_true(base_lobby_source(v4) != base_lobby_source(other));
	assert_true(base_lobby_source(loopback) &&
		    base_lobby_source(v4) != base_lobby_source(host));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_source_cannot_keep_others_out),
		cmocka_unit_test(the_oldest_of_many_sources_has_a_grace),
		cmocka_unit_test(networks_of_ipv6_are_sources),
		cmocka_unit_test(a_flood_never_evicts_the_only_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
