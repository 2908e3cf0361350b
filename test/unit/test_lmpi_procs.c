/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of two jobs, one of them over two clusters: all sort each other alike. */
#include "cmocka_all.h"

#include "internal.h"
#include "others.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 4, SECOND = 3, ALL = FIRST + SECOND };

/* What a process of a job knows: its own, then those of the other, which came in any order. */
struct view {
	struct lmpi_proc proc[ALL];
	uint32_t own;
};

/* first: the first job's four processes know it by that name, or one of their cluster. */
static struct view
make_view(bool of_first, uint64_t own, const uint64_t other[], uint32_t turn)
{
	struct view v = {.own = of_first ? FIRST : SECOND};

	for (uint32_t i = 0; i < v.own; i++)
		v.proc[i] = (struct lmpi_proc){.job = 99, .number = i};
	for (uint32_t i = v.own; i < ALL; i++) {
		uint32_t number = (i - v.own + turn) % (ALL - v.own);
		v.proc[i] = (struct lmpi_proc){.job = other[number], .number = number};
	}
	lmpi_world.proc = v.proc;
	lmpi_world.size = v.own;
	lmpi_job_called(own);
	return v;
}

/* Who comes in which place: processes of the first job are 0 .., those of the second 10 ... */
static void
sort_all(const struct view *v, bool of_first, uint32_t out[ALL])
{
	uint32_t slot[ALL];

	lmpi_world.proc = v->proc;
	lmpi_world.size = v->own;
	lmpi_world.slots = ALL;
	for (uint32_t i = 0; i < ALL; i++)
		slot[i] = i;
	qsort(slot, ALL, sizeof slot[0], lmpi_proc_order);
	for (uint32_t i = 0; i < ALL; i++)
		out[i] = v->proc[slot[i]].number + (of_first == (slot[i] < v->own) ? 0 : 10);
}

/* Names that clusters of the first job give it, and its cards say. */
static bool
sorts_alike(const uint64_t name[2], uint64_t second)
{
	const uint64_t cards[FIRST] = {name[0], name[0], name[1], name[1]};
	const uint64_t seconds[SECOND] = {second, second, second};
	struct view v[3] = {make_view(true, name[0], seconds, 0),
			    make_view(true, name[1], seconds, 2),
			    make_view(false, second, cards, 1)};
	uint32_t out[3][ALL];

	for (int i = 0; i < 3; i++)
		sort_all(&v[i], i < 2, out[i]);
	return !memcmp(out[0], out[1], sizeof out[0]) && !memcmp(out[0], out[2], sizeof out[0]);
}

static void
test_one_name_one_order(void **state)
{
	(void)state;
	assert_true(sorts_alike((const uint64_t[]){5, 5}, 7));
	assert_true(sorts_alike((const uint64_t[]){9, 9}, 7));
	/* A name for each cluster is none. */
	assert_false(sorts_alike((const uint64_t[]){5, 9}, 7));
}

static void
test_names_are_found(void **state)
{
	const uint64_t seconds[SECOND] = {7, 7, 7};
	struct view v = make_view(true, 5, seconds, 1);

	(void)state;
	lmpi_world.proc = v.proc;
	lmpi_world.size = v.own;
	lmpi_world.slots = ALL;
	for (uint32_t i = 0; i < ALL; i++)
		assert_int_equal(lmpi_proc_find(v.proc[i].job, v.proc[i].number), i);
	assert_int_equal(lmpi_proc_find(99, 0), UINT32_MAX);
	assert_int_equal(lmpi_proc_find(5, FIRST), UINT32_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_name_one_order),
					   cmocka_unit_test(test_names_are_found)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
