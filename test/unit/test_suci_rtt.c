/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "rtt.h"

static void
test_samples(void **state)
{
	(void)state;
	struct suci_rtt r;
	suci_rtt_init(&r, 0);
	assert_int_equal(suci_rtt_pto_ns(&r, BASE_MS_NS, 0), 21 * BASE_MS_NS);
	suci_rtt_sample(&r, 100000, 0);
	assert_int_equal(r.smoothed_ns, 100000);
	assert_int_equal(r.var_ns, 50000);
	assert_int_equal(suci_rtt_pto_ns(&r, BASE_MS_NS, 0), 1300000);
	assert_int_equal(suci_rtt_pto_ns(&r, BASE_MS_NS, 2), 4 * 1300000);
	suci_rtt_sample(&r, 300000, 100000); /* 200 us after the peer's wait */
	assert_int_equal(r.smoothed_ns, (7 * 100000 + 200000) / 8);
	assert_int_equal(r.var_ns, (3 * 50000 + 100000) / 4);
	assert_int_equal(r.min_ns, 100000);
	assert_int_equal(suci_rtt_loss_ns(&r, 1), 300000 / 8 * 9);
	assert_int_equal(suci_rtt_loss_ns(&r, 8), 300000 / 8 * 16);
}

/* What the handshake took is a guess: no probe before it, none later than without for a
 * short way. */
static void
test_guess(void **state)
{
	(void)state;
	struct suci_rtt r;
	suci_rtt_init(&r, 100 * BASE_MS_NS);
	assert_false(r.sampled);
	assert_int_equal(suci_rtt_pto_ns(&r, BASE_MS_NS, 0), 151 * BASE_MS_NS);
	suci_rtt_init(&r, 100000);
	assert_int_equal(suci_rtt_pto_ns(&r, BASE_MS_NS, 0), 21 * BASE_MS_NS);
	suci_rtt_init(&r, 100 * BASE_MS_NS);
	suci_rtt_sample(&r, 100000, 0);
	assert_int_equal(r.smoothed_ns, 100000);
}

static void
test_liar_cannot_shrink_it(void **state)
{
	(void)state;
	struct suci_rtt r;
	suci_rtt_init(&r, 0);
	suci_rtt_sample(&r, 100000, 99999);
	assert_int_equal(r.smoothed_ns, 100000);
	for (int i = 0; i < 100; i++)
		suci_rtt_sample(&r, 100000, 65000000);
	assert_int_equal(r.smoothed_ns, 100000);
	assert_int_equal(r.min_ns, 100000);
}

static void
test_no_floor_no_overflow(void **state)
{
	(void)state;
	struct suci_rtt r;
	suci_rtt_init(&r, 0);
	for (int i = 0; i < 100; i++)
		suci_rtt_sample(&r, 10000, 0);
	assert_true(suci_rtt_loss_ns(&r, 1) <= 20000);
	assert_true(suci_rtt_pto_ns(&r, 0, 0) < 50000);
	for (uint32_t n = 0; n < 200; n++)
		assert_true(suci_rtt_pto_ns(&r, BASE_MS_NS, n) <= SUCI_PTO_MAX_NS);
	suci_rtt_sample(&r, 0, 0);
	assert_true(r.latest_ns > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_guess),
		cmocka_unit_test(test_liar_cannot_shrink_it),
		cmocka_unit_test(test_no_floor_no_overflow),
	};
	return cmocka_run_group_tests_name("suci rtt", tests, NULL, NULL);
}
