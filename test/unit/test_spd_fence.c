/* SPDX-License-Identifier: BSD-2-Clause */
/* Fences over units: parts in any order, lost and twice, of the dead, and what is too much. */
#include "spd/fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UNITS 5u
#define SET   UINT64_C(0x77)

static struct spd_fences *unit[UNITS];
static bool takes[UNITS];
static uint32_t seed;

static uint32_t
draw_below(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static int
setup_units(void **state)
{
	(void)state;
	for (uint32_t u = 0; u < UNITS; u++) {
		unit[u] = spd_fences_new(UNITS, u);
		takes[u] = true;
	}
	return 0;
}

static int
drop_units(void **state)
{
	(void)state;
	for (uint32_t u = 0; u < UNITS; u++)
		spd_fences_free(unit[u]);
	return 0;
}

static size_t
part_text(uint32_t u, uint64_t number, char out[32])
{
	return (size_t)snprintf(out, 32, "%u:%llu;", u, (unsigned long long)number);
}

/* All that are missing ask; each answer is lost with one in `loss`, or comes twice. */
static void
ask_around(uint32_t u, uint32_t loss)
{
	uint32_t at = 0, from;
	uint64_t set, number;
	size_t len;

	while (spd_fences_missing(unit[u], &at, &from, &set, &number)) {
		const void *own = spd_fences_own(unit[from], set, number, &len);
		for (uint32_t i = draw_below(2) + 1; i-- > 0 && own && draw_below(loss);)
			(void)spd_fences_part(unit[u], from, set, number, own, len);
	}
}

static void
expect_all(uint32_t u, const struct spd_fence_done *done, uint64_t number)
{
	char want[UNITS * 32] = "";
	size_t n = 0;

	for (uint32_t k = 0; k < UNITS; k++)
		if (takes[k])
			n += part_text(k, number, want + n);
	assert_true(done->ok);
	assert_int_equal(done->number, number);
	assert_ptr_equal(done->ticket, &unit[u]);
	assert_int_equal(done->len, strlen(want));
	assert_memory_equal(done->data, want, done->len);
}

/* Each unit goes on as it likes, so some are one fence ahead of others; half of all is lost. */
static void
test_all_get_all(void **state)
{
	uint64_t begun[UNITS] = {0}, over[UNITS] = {0};

	(void)state;
	seed = 4711;
	takes[3] = false;
	for (uint32_t turn = 0; turn < 20000; turn++) {
		struct spd_fence_done done;
		uint32_t u = draw_below(UNITS);
		char text[32];

		if (!takes[u])
			continue;
		if (begun[u] == over[u] && begun[u] < 100) {
			size_t n = part_text(u, begun[u] + 1, text);
			begun[u]++;
			assert_int_equal(spd_fences_begin(unit[u], SET, takes, text, n, &unit[u]),
					 begun[u]);
			assert_int_equal(spd_fences_begin(unit[u], SET, takes, text, n, NULL), 0);
			for (uint32_t k = 0; k < UNITS; k++)
				if (k != u && takes[k] && draw_below(2))
					(void)spd_fences_part(unit[k], u, SET, begun[u], text, n);
		}
		ask_around(u, 2);
		while (spd_fences_done(unit[u], &done)) {
			over[u]++;
			expect_all(u, &done, over[u]);
			free(done.data);
		}
	}
	for (uint32_t u = 0; u < UNITS; u++) {
		assert_int_equal(over[u], takes[u] ? 100 : 0);
		assert_int_equal(spd_fences_counters(unit[u])->ahead, 0);
	}
}

static void
test_the_dead_are_not_waited_for(void **state)
{
	struct spd_fence_done done;

	(void)state;
	assert_int_equal(spd_fences_begin(unit[0], SET, takes, "a", 1, NULL), 1);
	for (uint32_t u = 1; u < UNITS - 1; u++)
		assert_true(spd_fences_part(unit[0], u, SET, 1, NULL, 0));
	assert_false(spd_fences_done(unit[0], &done));
	spd_fences_lost(unit[0], UNITS - 1);
	assert_true(spd_fences_done(unit[0], &done));
	assert_int_equal(done.len, 1);
	free(done.data);
	/* Nor in the next one. */
	assert_int_equal(spd_fences_begin(unit[0], SET, takes, NULL, 0, NULL), 2);
	for (uint32_t u = 1; u < UNITS - 1; u++)
		assert_true(spd_fences_part(unit[0], u, SET, 2, NULL, 0));
	assert_true(spd_fences_done(unit[0], &done));
	assert_null(done.data);
}

/* A unit with the key that is not as we are. */
static void
test_fence_bounds(void **state)
{
	const size_t piece = (size_t)1 << 20;
	uint8_t *bytes = calloc(1, piece);
	const struct spd_fence_counts *count = spd_fences_counters(unit[0]);
	struct spd_fence_done done;
	uint32_t kept = 0;

	(void)state;
	assert_non_null(bytes);
	assert_false(spd_fences_part(unit[0], 1, SET, 2, bytes, 1)); /* there was no first */
	assert_false(spd_fences_part(unit[0], 1, SET, 0, bytes, 1));
	assert_false(spd_fences_part(unit[0], UNITS, SET, 1, bytes, 1));
	assert_false(spd_fences_part(unit[0], 0, SET, 1, bytes, 1)); /* in our name */
	assert_int_equal(count->ahead, 4);
	for (uint64_t set = 0; set < 2 * SPD_FENCE_SETS; set++)
		for (uint32_t u = 1; u < UNITS; u++)
			kept += spd_fences_part(unit[0], u, set, 1, bytes, piece);
	assert_int_equal(kept, SPD_FENCE_KEPT / piece);
	assert_true(count->no_room > 0);
	/* A fence with more than is possible ends, and says so. */
	assert_int_equal(spd_fences_begin(unit[1], SET, takes, bytes, piece, NULL), 1);
	for (uint32_t u = 0; u < UNITS; u++)
		if (u != 1)
			assert_true(spd_fences_part(unit[1], u, SET, 1, bytes, piece));
	assert_true(spd_fences_done(unit[1], &done));
	assert_true(done.ok);
	free(done.data);
	uint8_t *much = calloc(1, SPD_FENCE_MOST);
	assert_non_null(much);
	assert_int_equal(spd_fences_begin(unit[1], SET, takes, much, SPD_FENCE_MOST, NULL), 2);
	for (uint32_t u = 0; u < UNITS; u++)
		if (u != 1)
			assert_true(spd_fences_part(unit[1], u, SET, 2, bytes, 1));
	assert_true(spd_fences_done(unit[1], &done));
	assert_false(done.ok);
	assert_null(done.data);
	free(much);
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_get_all, setup_units, drop_units),
		cmocka_unit_test_setup_teardown(test_the_dead_are_not_waited_for, setup_units,
						drop_units),
		cmocka_unit_test_setup_teardown(test_fence_bounds, setup_units, drop_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
