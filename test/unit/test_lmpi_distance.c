/* SPDX-License-Identifier: BSD-2-Clause */
/* Near or far: on machines that this one is not, and with what disturbs. */
#include "cmocka_all.h"

#include "distance.h"

/* Cycles of the system call for 4 and 16 KiB, of a KiB into a ring; and what that is. */
static const struct {
	const char *what;
	uint32_t few, many, ring;
	bool far;
} machines[] = {
	{"near, as measured", 4342, 6526, 320, false},
	{"near, slow clock", 6370, 9932, 494, false},
	{"far, as measured", 5798, 9204, 1308, true},
	{"far, twice as fast a system call", 2200, 3300, 600, true},
	{"a far socket", 5000, 7600, 4000, true},
	{"not measured", 5000, 4000, 4000, false},
	{"measured as nothing", 0, 0, 4000, false},
	{"measured beyond belief", 1, 1u << 31, 4000, false},
};

static void
send_records(struct lmpi_distance *d, int n, uint32_t per_kib)
{
	for (int i = 0; i < n; i++)
		lmpi_distance_copied(d, 16384, (uint64_t)per_kib * 16);
}

static void
test_machines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		struct lmpi_distance d;

		lmpi_distance_init(&d, 4096, machines[i].few, 16384, machines[i].many);
		assert_false(d.far);
		send_records(&d, 40, machines[i].ring);
		if (d.far != machines[i].far)
			fail_msg("%s: taken for %s", machines[i].what, d.far ? "far" : "near");
	}
}

/* The process is moved, there and back: each time it is told once. */
static void
test_moves(void **state)
{
	struct lmpi_distance d;
	int told = 0;

	(void)state;
	lmpi_distance_init(&d, 4096, 4342, 16384, 6526);
	for (int move = 0; move < 4; move++)
		for (int i = 0; i < 100; i++)
			if (lmpi_distance_copied(&d, 16384, move % 2 ? 300 * 16 : 1300 * 16)) {
				told++;
				assert_int_equal(d.far, move % 2 == 0);
				assert_in_range(i, 20, 30);
			}
	assert_int_equal(told, 4);
}

/* One record of three takes ten times as long: interrupts; and the first time round the ring all
 * do. */
static void
test_disturbed(void **state)
{
	struct lmpi_distance d;

	(void)state;
	lmpi_distance_init(&d, 4096, 4342, 16384, 6526);
	send_records(&d, 16, 3000);
	assert_false(d.far);
	for (int i = 0; i < 3000; i++)
		assert_false(lmpi_distance_copied(&d, 16384, i % 3 ? 300 * 16 : 3000 * 16));
	for (int i = 0; i < 3000; i++)
		lmpi_distance_copied(&d, 16384, i % 3 ? 1300 * 16 : 300 * 16);
	assert_true(d.far);
}

/* What a short record takes says little of the lines. */
static void
test_short_records(void **state)
{
	struct lmpi_distance d;

	(void)state;
	lmpi_distance_init(&d, 4096, 4342, 16384, 6526);
	for (int i = 0; i < 100; i++)
		assert_false(lmpi_distance_copied(&d, LMPI_DISTANCE_BYTES - 1, 1u << 20));
	send_records(&d, 40, 1300);
	assert_true(d.far);
	for (int i = 0; i < 100; i++)
		assert_false(lmpi_distance_copied(&d, 64, 1));
	assert_true(d.far);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_disturbed),
		cmocka_unit_test(test_short_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
