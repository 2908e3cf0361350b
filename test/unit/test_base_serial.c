/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/serial.h"

#include "cmocka_all.h"

static const struct {
	const char *name;
	uint32_t a, b;
	int32_t diff; /* from a up to b */
} cases[] = {
	{"equal", 7, 7, 0},
	{"equal at the top", UINT32_MAX, UINT32_MAX, 0},
	{"one up", 7, 8, 1},
	{"one up over the wrap", UINT32_MAX, 0, 1},
	{"three up over the wrap", UINT32_MAX - 1, 1, 3},
	{"at the sign bit", 0x7fffffff, 0x80000000, 1},
	{"half a turn less one", 0, 0x7fffffff, INT32_MAX},
	{"half a turn less one over the wrap", 0xc0000000, 0x3fffffff, INT32_MAX},
	{"a window over the wrap", 0xfffffff0, 0x0000fff0, 65536},
};

static void
order_and_distance(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t a = cases[i].a, b = cases[i].b;
		int32_t d = cases[i].diff;
		print_message("%s\n", cases[i].name);
		assert_int_equal(serial_lt(a, b), d != 0);
		assert_false(serial_lt(b, a));
		assert_true(serial_le(a, b));
		assert_int_equal(serial_le(b, a), d == 0);
		assert_int_equal(serial_gt(b, a), d != 0);
		assert_false(serial_gt(a, b));
		assert_true(serial_ge(b, a));
		assert_int_equal(serial_ge(a, b), d == 0);
		assert_int_equal(serial_max(a, b), b);
		assert_int_equal(serial_max(b, a), b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_and_distance),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
