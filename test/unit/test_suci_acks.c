/* SPDX-License-Identifier: BSD-2-Clause */
/* Received packet numbers against a naive set of flags, also across the wrap
 * of 32 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "acks_rx.h"
#include "base/prng.h"

#define N 400

static void
test_against_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct base_prng r = base_prng_seed(seed);
		uint32_t first = seed & 1 ? 1 : UINT32_MAX - 150;
		struct suci_acks a;
		uint8_t got[N] = {0};
		uint32_t top = 0;
		suci_acks_init(&a, first);
		assert_int_equal(suci_acks_look(&a, first - 1), SUCI_ACKS_OLD);
		for (int step = 0; step < 600; step++) {
			uint32_t at = (uint32_t)base_prng_below(&r, 24);
			uint32_t k = top + 4 > at ? top + 4 - at : 0;
			if (k >= N)
				continue;
			enum suci_acks_seen s = suci_acks_look(&a, first + k);
			if (got[k]) {
				assert_int_not_equal(s, SUCI_ACKS_NEW);
				continue;
			}
			if (s == SUCI_ACKS_OLD) {
				assert_true(k + SUCI_ACKS_RANGES < top);
				continue;
			}
			assert_int_equal(s, SUCI_ACKS_NEW);
			bool next = k == (step && a.n ? top + 1 : 0);
			bool first_ever = a.n == 0;
			bool ooo = suci_acks_add(&a, first + k, k, (uint64_t)step);
			if (!first_ever)
				assert_int_equal(ooo, !next);
			got[k] = 1;
			if (k > top || first_ever)
				top = k;
			uint32_t missing = 0;
			for (uint32_t i = 0; i < top; i++)
				missing += !got[i];
			assert_int_equal(a.missing, missing);
			bool ripe = k == top && k > 2 && got[k - 1] && got[k - 2] && !got[k - 3];
			assert_int_equal(suci_acks_ripe(&a, first + k), ripe);
			/* What the block says is true. */
			struct suci_ack b;
			suci_acks_build(&a, 9, (uint64_t)step, &b);
			assert_int_equal(b.largest, first + top);
			assert_int_equal(b.echo_us, top);
			for (uint32_t i = 0; i < b.n; i++)
				for (uint32_t pn = b.range[i].lo;; pn++) {
					assert_int_equal(got[pn - first], 1);
					if (pn == b.range[i].hi)
						break;
				}
		}
		assert_true(top > 20);
	}
}

static void
test_reports_run_out(void **state)
{
	(void)state;
	struct suci_acks a;
	struct suci_ack b;
	suci_acks_init(&a, 1);
	suci_acks_add(&a, 1, 0, 0);
	assert_true(suci_acks_add(&a, 3, 0, 0));
	assert_int_equal(suci_acks_more(&a), 1);
	for (int i = 0; i < SUCI_ACKS_REPORTS; i++) {
		suci_acks_build(&a, 1, 5000, &b);
		assert_int_equal(b.n, 2);
		assert_int_equal(b.delay_us, 5);
	}
	suci_acks_build(&a, 1, 5000, &b);
	assert_int_equal(b.n, 1);
	assert_int_equal(suci_acks_look(&a, 1), SUCI_ACKS_DUPLICATE);
	/* News about it makes it worth reporting again. */
	suci_acks_add(&a, 7, 0, 0);
	suci_acks_add(&a, 6, 0, 0);
	assert_int_equal(suci_acks_more(&a), 0);
	assert_true(suci_acks_add(&a, 2, 0, 0));
	assert_int_equal(suci_acks_more(&a), 1);
}

static void
test_long_range_is_cut(void **state)
{
	(void)state;
	struct suci_acks a;
	struct suci_ack b;
	suci_acks_init(&a, 1);
	for (uint32_t pn = 1; pn <= 70000; pn++)
		suci_acks_add(&a, pn, 0, 0);
	suci_acks_build(&a, 1, 0, &b);
	assert_int_equal(b.n, 1);
	assert_int_equal(b.range[0].hi, 70000);
	assert_int_equal(b.range[0].lo, 70000 - 65534);
	uint8_t bytes[64];
	struct suci_ack again;
	assert_true(suci_ack_decode(&again, bytes, suci_ack_encode(&b, bytes)));
	assert_int_equal(again.range[0].lo, b.range[0].lo);
}

static void
test_refused(void **state)
{
	(void)state;
	struct suci_acks a;
	struct suci_ack b;
	suci_acks_init(&a, 1);
	/* Before anything was taken, and one range as long as it is in one piece. */
	for (uint32_t pn = 1; pn <= 5; pn++)
		suci_acks_refuse(&a, pn);
	suci_acks_build(&a, 9, 0, &b);
	assert_int_equal(b.n, 0);
	assert_int_equal(b.flags, SUCI_AF_REFUSED);
	assert_int_equal(b.nrefused, 1);
	assert_int_equal(b.refused[0].lo, 1);
	assert_int_equal(b.refused[0].hi, 5);
	/* Each is told twice, whenever the next one came. */
	suci_acks_refuse(&a, 6);
	suci_acks_build(&a, 9, 0, &b);
	assert_int_equal(b.nrefused, 2);
	suci_acks_build(&a, 9, 0, &b);
	assert_int_equal(b.nrefused, 1);
	assert_int_equal(b.refused[0].lo, 6);
	suci_acks_add(&a, 7, 0, 0);
	suci_acks_build(&a, 9, 0, &b);
	assert_int_equal(b.n, 1);
	assert_int_equal(b.nrefused, 0);
	assert_int_equal(b.flags, 0);
	/* Too many at once: none that was not told yet is pushed out. */
	for (uint32_t k = 0; k < SUCI_ACK_REFUSED_MAX + 3; k++)
		suci_acks_refuse(&a, 10 + 2 * k);
	suci_acks_build(&a, 9, 0, &b);
	assert_int_equal(b.nrefused, SUCI_ACK_REFUSED_MAX);
	assert_int_equal(b.refused[0].lo, 10);
	suci_acks_refuse(&a, 100);
	suci_acks_build(&a, 9, 0, &b);
	assert_int_equal(b.nrefused, SUCI_ACK_REFUSED_MAX);
	assert_int_equal(b.refused[SUCI_ACK_REFUSED_MAX - 1].lo, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_reports_run_out),
		cmocka_unit_test(test_long_range_is_cut),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests_name("suci acks", tests, NULL, NULL);
}
