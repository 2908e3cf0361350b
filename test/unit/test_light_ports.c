/* SPDX-License-Identifier: BSD-2-Clause */
/* The controller where somebody works at ports of the switch. */
#include "cmocka_all.h"

#include "light_controller_kit.h"

static bool
easy_lit(const struct kit *k, uint32_t port)
{
	bool some = k->easy.out_of[port] != OCS_NO_PORT;
	for (uint32_t p = 0; p < EASY_PORTS; p++)
		some |= k->easy.out_of[p] == port;
	return some;
}

static uint32_t
easy_circuits(const struct kit *k)
{
	uint32_t n = 0;
	for (uint32_t p = 0; p < EASY_PORTS; p++)
		n += k->easy.out_of[p] != OCS_NO_PORT;
	return n;
}

/* In mid-call: what is lit over it goes, its message takes packets, the other is not touched. */
static void
withdrawn_in_mid_call(void **state)
{
	struct kit k;
	struct light_away_row row;
	(void)state;
	begin(&k);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_int_equal(easy_circuits(&k), 4);
	uint32_t port = k.easy.out_of[0], other = k.easy.out_of[1];
	assert_true(light_controller_withdraw(k.c, port, true, k.now_ns));
	assert_true(light_controller_withdraw(k.c, port, true, k.now_ns));
	assert_true(light_controller_away(k.c, 0, &row));
	assert_int_equal(row.port, port);
	assert_false(row.dark);
	turns(&k, 5);
	assert_false(easy_lit(&k, port));
	assert_true(easy_lit(&k, other));
	assert_true(light_controller_away(k.c, 0, &row));
	assert_true(row.dark);
	assert_false(light_controller_away(k.c, 1, &row));
	assert_int_equal(k.downs, 2);
	over(&k, KEY, 1, 0, 1);
	over(&k, KEY, 1, 0, 2);
	turns(&k, 5);
	assert_int_equal(k.any, 0);
	/* The next one is planned with the other port of that relay. */
	call(&k, 0, KEY, 2, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_false(easy_lit(&k, port));
	assert_int_equal(easy_circuits(&k), 4);
	over(&k, KEY, 2, 0, 1);
	over(&k, KEY, 2, 0, 2);
	turns(&k, 5);
	assert_int_equal(counters(&k)->by_packets, 0);
	finish(&k);
}

/* Both ports of a relay: its messages take packets at once, and it has light again afterwards. */
static void
none_is_left(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	for (uint32_t p = 2; p < 4; p++)
		assert_true(light_controller_withdraw(k.c, p, true, k.now_ns));
	call(&k, 0, KEY, 1, CIRC_MODE_PIPELINED, 1000);
	turns(&k, 5);
	assert_int_equal(k.go[0][1], 1);
	assert_int_equal(k.go[0][2], 1);
	assert_int_equal(counters(&k)->by_packets, 1);
	assert_int_equal(counters(&k)->by_light, 1);
	over(&k, KEY, 1, 0, 1);
	over(&k, KEY, 1, 0, 2);
	turns(&k, 5);
	for (uint32_t p = 2; p < 4; p++)
		assert_true(light_controller_withdraw(k.c, p, false, k.now_ns));
	call(&k, 0, KEY, 2, CIRC_MODE_PIPELINED, 1000);
	turns(&k, 5);
	assert_true(easy_lit(&k, 2) || easy_lit(&k, 3));
	assert_int_equal(counters(&k)->by_packets, 1);
	finish(&k);
}

/* The lower port of the root goes and comes back: its slots change places, what is lit at the other
 * stays there. */
static void
slots_change_places(void **state)
{
	struct kit k;
	(void)state;
	begin(&k);
	call(&k, 0, KEY, 1, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	over(&k, KEY, 1, 0, 1);
	over(&k, KEY, 1, 0, 2);
	turns(&k, 5);
	uint32_t stays = k.easy.out_of[1];
	uint64_t misses = counters(&k)->misses;
	assert_true(light_controller_withdraw(k.c, 0, true, k.now_ns));
	turns(&k, 5);
	assert_false(easy_lit(&k, 0));
	assert_int_equal(k.easy.out_of[1], stays);
	/* One port for two destinations, the first of which may be lit already. */
	call(&k, 0, KEY, 2, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_int_equal(k.go[0][1], 1);
	over(&k, KEY, 2, 0, 1);
	turns(&k, 20);
	assert_int_equal(counters(&k)->misses, misses + stays / 2);
	assert_int_equal(k.go[0][2], 1);
	over(&k, KEY, 2, 0, 2);
	turns(&k, 5);
	assert_true(light_controller_withdraw(k.c, 0, false, k.now_ns));
	call(&k, 0, KEY, 3, CIRC_MODE_CACHED, 1000);
	turns(&k, 5);
	assert_true(easy_lit(&k, 0));
	assert_int_equal(easy_circuits(&k), 4);
	assert_int_equal(counters(&k)->by_packets, 0);
	finish(&k);
}

static void
no_such_port(void **state)
{
	struct kit k;
	struct light_away_row row;
	(void)state;
	begin(&k);
	assert_false(light_controller_withdraw(k.c, EASY_PORTS, true, k.now_ns));
	assert_false(light_controller_away(k.c, 0, &row));
	assert_true(light_controller_withdraw(k.c, 9, false, k.now_ns));
	assert_false(light_controller_away(k.c, 0, &row));
	finish(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(withdrawn_in_mid_call),
		cmocka_unit_test(none_is_left),
		cmocka_unit_test(slots_change_places),
		cmocka_unit_test(no_such_port),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
