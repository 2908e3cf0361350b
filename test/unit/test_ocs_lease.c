/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocs/gamma.h"
#include "ocs/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Ports 0-3 lead to node 0, 4-7 to node 1, 8-9 to node 2. */
static const uint32_t node_of[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2};
#define PORTS 10

static struct ocs_leases *
table(void)
{
	return ocs_leases_new(malloc(ocs_leases_footprint(PORTS, 4, 3)), PORTS, node_of, 4, 3);
}

static uint32_t
held(const struct ocs_leases *t, uint64_t job, uint32_t node)
{
	uint32_t n = 0;
	while (ocs_lease_port(t, job, node, n) != UINT32_MAX)
		n++;
	return n;
}

static void
test_all_or_nothing(void **state)
{
	(void)state;
	struct ocs_leases *t = table();
	static const struct ocs_ask one[] = {{0, 2, 3}, {1, 1, 1}}, two[] = {{0, 2, 2}, {1, 3, 3}},
				    three[] = {{2, 1, 2}};
	assert_true(ocs_lease_ask(t, 1, one, 2, 100, 0));
	assert_int_equal(ocs_lease_state(t, 1), OCS_LEASE_HELD);
	assert_int_equal(held(t, 1, 0), 3);
	assert_int_equal(held(t, 1, 1), 1);
	/* node 1 has what the second wants, node 0 has not: it gets nothing of either */
	assert_true(ocs_lease_ask(t, 2, two, 2, 100, 0));
	assert_int_equal(ocs_lease_state(t, 2), OCS_LEASE_WAITING);
	assert_int_equal(held(t, 2, 1), 0);
	/* no node in common: this one may pass */
	assert_true(ocs_lease_ask(t, 3, three, 1, 100, 0));
	assert_int_equal(ocs_lease_state(t, 3), OCS_LEASE_HELD);
	assert_true(ocs_lease_confirm(t, 1));
	assert_false(ocs_lease_confirm(t, 1));
	ocs_lease_release(t, 1, 10);
	assert_int_equal(ocs_lease_state(t, 2), OCS_LEASE_HELD);
	assert_int_equal(held(t, 2, 1), 3);
	free(t);
}

static void
test_nobody_starves(void **state)
{
	(void)state;
	struct ocs_leases *t = table();
	static const struct ocs_ask large[] = {{0, 4, 4}}, small[] = {{0, 1, 1}};
	assert_true(ocs_lease_ask(t, 1, small, 1, 100, 0));
	assert_true(ocs_lease_ask(t, 2, large, 1, 100, 0));
	/* there is a port for it, but the large one asked first */
	assert_true(ocs_lease_ask(t, 3, small, 1, 100, 0));
	assert_int_equal(ocs_lease_state(t, 3), OCS_LEASE_WAITING);
	ocs_lease_release(t, 1, 1);
	assert_int_equal(ocs_lease_state(t, 2), OCS_LEASE_HELD);
	assert_int_equal(ocs_lease_state(t, 3), OCS_LEASE_WAITING);
	/* a hold that nobody confirms goes to the next */
	assert_int_equal(ocs_leases_tick(t, 50), 101);
	ocs_leases_tick(t, 101);
	assert_int_equal(ocs_lease_state(t, 2), OCS_LEASE_NONE);
	assert_int_equal(ocs_lease_state(t, 3), OCS_LEASE_HELD);
	assert_false(ocs_lease_confirm(t, 2));
	free(t);
}

static void
test_refusals(void **state)
{
	(void)state;
	struct ocs_leases *t = table();
	static const struct ocs_ask rows[][2] = {
		{{2, 3, 3}, {0, 0, 0}}, /* never so many */
		{{0, 2, 1}, {1, 0, 0}}, /* more at least than at most */
		{{0, 1, 1}, {0, 1, 1}}, /* a node twice */
		{{7, 1, 1}, {0, 0, 0}}, /* no such node */
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_false(ocs_lease_ask(t, 1, rows[i], 2, 1, 0));
	static const struct ocs_ask all[] = {{2, 1, 2}};
	assert_true(ocs_lease_ask(t, 1, all, 1, 1, 0));
	assert_false(ocs_lease_ask(t, 1, all, 1, 1, 0)); /* twice */
	assert_true(ocs_lease_confirm(t, 1));
	assert_int_equal(held(t, 1, 2), 2);
	assert_int_equal(ocs_lease_port(t, 1, 2, 0), 8);
	assert_int_equal(ocs_lease_port(t, 1, 2, 1), 9);
	static const struct ocs_ask both[] = {{2, 2, 2}};
	assert_true(ocs_lease_ask(t, 2, both, 1, 1, 0));
	assert_int_equal(ocs_lease_state(t, 2), OCS_LEASE_WAITING);
	ocs_lease_release(t, 1, 0);
	assert_int_equal(ocs_lease_state(t, 2), OCS_LEASE_HELD);
	free(t);
}

static void
test_gamma(void **state)
{
	(void)state;
	static struct ocs_gamma g;
	ocs_gamma_init(&g, 10);
	assert_int_equal(ocs_gamma_mean_ns(&g, 7), 10);
	assert_int_equal(ocs_gamma_p99_ns(&g, 7), 10);
	for (int i = 0; i < 200; i++) {
		ocs_gamma_add(&g, 1, i == 150 ? 9000 : 1000);
		ocs_gamma_add(&g, 16, 8000);
	}
	assert_in_range(ocs_gamma_mean_ns(&g, 1), 990, 1010);
	assert_int_equal(ocs_gamma_p99_ns(&g, 1), 1000); /* one of 128 is beyond it */
	assert_int_equal(ocs_gamma_mean_ns(&g, 9), 8000);
	assert_int_equal(ocs_gamma_mean_ns(&g, 8), ocs_gamma_mean_ns(&g, 1)); /* the next smaller */
	assert_int_equal(ocs_gamma_mean_ns(&g, 4096), 8000);
	ocs_gamma_init(&g, 10);
	ocs_gamma_add(&g, 64, 500);
	assert_int_equal(ocs_gamma_mean_ns(&g, 1), 500); /* none smaller: the next larger */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test(test_nobody_starves),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_gamma),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
