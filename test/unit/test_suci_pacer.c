/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pacer.h"
#include "suci/endpoint.h"

static const struct {
	const char *name;
	uint32_t sent_bytes;
	uint64_t idle_ns, want_wait_ns;
} next_cases[] = {
	/* rate 1 GB/s, so 1 byte is 1 ns; burst 9000 bytes */
	{"full bucket leaves at once", 0, 0, 0},
	{"exactly spent waits one byte", 9000, 0, 1},
	{"overdraft waits it off", 10000, 400, 601},
	{"idling never exceeds burst", 9000, 1u << 30, 0},
};

static void
test_next(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof next_cases / sizeof *next_cases; i++) {
		print_message("  %s\n", next_cases[i].name);
		struct suci_pacer p;
		assert_int_equal(suci_pacer_init(&p, 1000000000, 9000, 0), 0);
		suci_pacer_sent(&p, next_cases[i].sent_bytes, 0);
		uint64_t now = next_cases[i].idle_ns;
		assert_int_equal(suci_pacer_next_ns(&p, now) - now, next_cases[i].want_wait_ns);
		suci_pacer_sent(&p, 0, now); /* refill */
		assert_true(p.credit_bytes <= 9000);
	}
}

static void
test_rate_is_kept(void **state)
{
	(void)state;
	static const uint64_t rates[] = {3, 1000, 12345678, 99999999999ull};
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct suci_pacer p;
		uint64_t now = 77, sent = 0;
		assert_int_equal(suci_pacer_init(&p, rates[i], 3000, now), 0);
		for (int k = 0; k < 10000; k++) {
			now = suci_pacer_next_ns(&p, now);
			suci_pacer_sent(&p, 1000, now);
			sent += 1000;
		}
		/* Never more than burst + one datagram ahead, never more than a byte
		 * per datagram behind. */
		__extension__ typedef unsigned __int128 wide;
		uint64_t may = (uint64_t)((wide)rates[i] * (now - 77) / 1000000000u);
		assert_true(sent <= may + 3000 + 1000);
		assert_true(sent + 10000 >= may);
	}
}

static void
test_limits(void **state)
{
	(void)state;
	struct suci_pacer p = {.burst_bytes = 7};
	assert_int_equal(suci_pacer_init(&p, SUCI_PACER_RATE_MAX + 1, 1, 0), SUCI_ERR_INVAL);
	assert_int_equal(suci_pacer_init(&p, 1, 0, 0), SUCI_ERR_INVAL);
	assert_int_equal(suci_pacer_init(&p, 1, SUCI_PACER_BURST_MAX + 1, 0), SUCI_ERR_INVAL);
	assert_int_equal(p.burst_bytes, 7);
	assert_int_equal(suci_pacer_init(&p, 0, 1, 0), 0);
	suci_pacer_sent(&p, 1u << 30, 5);
	assert_int_equal(suci_pacer_next_ns(&p, 5), 5); /* unpaced */
	suci_pacer_set_rate(&p, 1000, 5);
	suci_pacer_sent(&p, 1, 5);
	assert_int_equal(suci_pacer_next_ns(&p, 5), 1000005);
}

/* Slow write: whatever congestion control asks for, also nothing at all. */
static void
test_slow_write(void **state)
{
	(void)state;
	static const uint64_t asked[] = {0, 1000000000, 5000, 10000};
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		struct suci_pacer p;
		uint64_t now = 0, sent = 0;
		assert_int_equal(suci_pacer_init(&p, 0, 1u << 20, now), 0);
		p.burst_ns = 200000;
		suci_pacer_set_limit(&p, 10000, 3000, now);
		for (int k = 0; k < 1000; k++) {
			suci_pacer_set_rate(&p, asked[i], now); /* as after each ack */
			now = suci_pacer_next_ns(&p, now);
			suci_pacer_sent(&p, 100, now);
			sent += 100;
		}
		uint64_t rate = asked[i] && asked[i] < 10000 ? asked[i] : 10000;
		uint64_t may = rate * now / 1000000000u;
		assert_true(sent <= may + 3000 + 100);
		assert_true(sent + 100 >= may);
		/* Taken away: as asked again. */
		suci_pacer_set_limit(&p, 0, 0, now);
		assert_int_equal(p.rate_bytes_per_s, asked[i]);
	}
}

/* A burst that is cut short is not made up for later. */
static void
test_cap(void **state)
{
	(void)state;
	struct suci_pacer p;
	assert_int_equal(suci_pacer_init(&p, 1000000000, 10000, 0), 0);
	suci_pacer_cap(&p, 20000); /* more than there is */
	assert_int_equal(p.credit_bytes, 10000);
	suci_pacer_cap(&p, 1);
	suci_pacer_sent(&p, 1000, 0);
	assert_int_equal(suci_pacer_next_ns(&p, 0), 1000);
	suci_pacer_cap(&p, 1); /* a debt stays */
	assert_int_equal(suci_pacer_next_ns(&p, 0), 1000);
	suci_pacer_sent(&p, 1000, 1000);
	assert_int_equal(suci_pacer_next_ns(&p, 1000), 2000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next),   cmocka_unit_test(test_rate_is_kept),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_slow_write),
		cmocka_unit_test(test_cap),
	};
	return cmocka_run_group_tests_name("suci pacer", tests, NULL, NULL);
}
