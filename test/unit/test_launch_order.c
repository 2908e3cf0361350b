/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process asks its launcher for: fewer will do, error codes, jobs that are awaited. */
#include "launch/order.h"

#include "cmocka_all.h"

#include <string.h>

static uint64_t
fewer_of(const char *soft, uint64_t n)
{
	struct launch_count c = {n, n};

	return launch_order_fewer(&c, &soft, 1) ? c.n : 0;
}

static void
the_largest_that_will_do(void **state)
{
	(void)state;
	assert_true(fewer_of(NULL, 8) == 0);
	assert_true(fewer_of("", 8) == 0);
	assert_true(fewer_of("1:8", 8) == 7);
	assert_true(fewer_of("2,4,8", 8) == 4);
	assert_true(fewer_of("2,8:16:4", 16) == 12);
	assert_true(fewer_of("2,8:16:4", 8) == 2);
	assert_true(fewer_of("9:1:-3", 9) == 6);
	assert_true(fewer_of("9:1:-3", 20) == 9);
	assert_true(fewer_of("9:4:-3", 6) == 0);
	assert_true(fewer_of("4:2", 8) == 0);
	assert_true(fewer_of("-5:3", 3) == 2);
	assert_true(fewer_of("1:8:0", 8) == 0);
	assert_true(fewer_of("3,hello", 8) == 3);
	assert_true(fewer_of("4:9", 4) == 0);
}

/* Numbers that nobody can count to take no time. */
static void
hostile_lists(void **state)
{
	(void)state;
	assert_true(fewer_of("1:99999999999999999999", 3000000000u) == 999999999);
	assert_true(fewer_of("-99999999999999999999:5", 8) == 5);
	assert_true(fewer_of("99999999999999999999:1:-1", 8) == 7);
	assert_true(fewer_of("1:9:99999999999999999999", 8) == 1);
	assert_true(fewer_of("::::", 8) == 0);
	assert_true(fewer_of("1:2:3:4:5,7", 8) == 7 || fewer_of("1:2:3:4:5,7", 8) == 1);
}

static void
one_command_after_the_other(void **state)
{
	struct launch_count c[] = {{4, 4}, {3, 3}};
	const char *soft[] = {NULL, "1,2"};

	(void)state;
	assert_true(launch_order_fewer(c, soft, 2) && c[0].n == 4 && c[1].n == 2);
	assert_true(launch_order_fewer(c, soft, 2) && c[0].n == 4 && c[1].n == 1);
	assert_true(!launch_order_fewer(c, soft, 2));
}

/* MPI-4 11.8.3: those of a command are beside each other. */
static void
codes_of_each_command(void **state)
{
	struct launch_count c[] = {{3, 1}, {2, 2}};
	static const int some[] = {0, 9, 9, 0, 0};
	int codes[6] = {[5] = 77};

	(void)state;
	launch_order_codes(c, 2, 0, 9, codes);
	assert_true(memcmp(codes, some, sizeof some) == 0);
	assert_true(codes[5] == 77);
	launch_order_codes(c, 2, 5, 9, codes);
	for (int i = 0; i < 5; i++)
		assert_true(codes[i] == 5);
	assert_true(codes[5] == 77);
}

static void
a_job_that_does_not_come(void **state)
{
	struct launch_awaited l = {0};
	struct launch_await a, b;
	struct launch_early e;

	(void)state;
	launch_await(&l, &a, "port a");
	launch_await_answer(&l, &a, "job.1");
	launch_await(&l, &b, "port b");
	launch_await_answer(&l, &b, "job.2");
	assert_true(launch_await_why(&l, "port a") == NULL);
	assert_true(launch_await_unmet(&l, "job.2", "it died"));
	assert_true(launch_await_unmet(&l, "job.2", "again"));
	assert_true(launch_await_why(&l, "port a") == NULL);
	assert_true(strcmp(launch_await_why(&l, "port b"), "it died") == 0);
	assert_true(!launch_await_unmet(&l, "job.3", "not ours"));
	assert_true(!launch_await_unmet(&l, "", "of nobody"));
	assert_true(!launch_await_stray(&l, &e));
	assert_true(launch_await_forget(&l, "port b") == &b);
	assert_true(launch_await_forget(&l, "port b") == NULL);
	assert_true(!launch_await_unmet(&l, "job.2", "late"));
	/* Nobody waits, and its end is no news. */
	launch_await_give_up(&l, "port a");
	assert_true(launch_await_unmet(&l, "job.1", "it died"));
	assert_true(launch_await_why(&l, "port a") == NULL);
}

static void
the_word_comes_before_the_answer(void **state)
{
	struct launch_awaited l = {0};
	struct launch_await a, b;
	struct launch_early e;

	(void)state;
	launch_await(&l, &a, "port a");
	launch_await(&l, &b, "port b");
	assert_true(launch_await_unmet(&l, "job.2", "it died"));
	assert_true(launch_await_unmet(&l, "job.0", "another one, met long ago"));
	launch_await_answer(&l, &a, "job.1");
	assert_true(!launch_await_stray(&l, &e));
	assert_true(launch_await_why(&l, "port a") == NULL);
	launch_await_answer(&l, &b, "job.2");
	assert_true(strcmp(launch_await_why(&l, "port b"), "it died") == 0);
	assert_true(launch_await_stray(&l, &e) && strcmp(e.name, "job.0") == 0);
	assert_true(!launch_await_stray(&l, &e));
}

/* A launcher that tells of each job's end: of those that had come it is no news. */
static void
the_end_of_a_job(void **state)
{
	struct launch_awaited l = {0};
	struct launch_await a, b;
	struct launch_early e;

	(void)state;
	assert_true(!launch_await_ended(&l, "job.0", "over"));
	launch_await(&l, &a, "port a");
	launch_await_answer(&l, &a, "job.1");
	launch_await(&l, &b, "port b");
	assert_true(launch_await_ended(&l, "job.0", "over"));
	assert_true(launch_await_ended(&l, "job.2", "over"));
	assert_true(launch_await_why(&l, "port a") == NULL);
	assert_true(launch_await_ended(&l, "job.1", "over"));
	assert_true(strcmp(launch_await_why(&l, "port a"), "over") == 0);
	assert_true(launch_await_unmet(&l, "job.3", "it died"));
	launch_await_answer(&l, &b, "job.2");
	assert_true(strcmp(launch_await_why(&l, "port b"), "over") == 0);
	assert_true(launch_await_stray(&l, &e) && strcmp(e.name, "job.3") == 0);
	assert_true(!launch_await_stray(&l, &e));
}

static void
what_is_refused_is_not_outstanding(void **state)
{
	struct launch_awaited l = {0};
	struct launch_await a;

	(void)state;
	launch_await(&l, &a, "port a");
	launch_await_answer(&l, &a, NULL);
	assert_true(!launch_await_unmet(&l, "job.1", "it died"));
	assert_true(launch_await_why(&l, "port a") == NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_that_will_do),
		cmocka_unit_test(hostile_lists),
		cmocka_unit_test(one_command_after_the_other),
		cmocka_unit_test(codes_of_each_command),
		cmocka_unit_test(a_job_that_does_not_come),
		cmocka_unit_test(the_word_comes_before_the_answer),
		cmocka_unit_test(the_end_of_a_job),
		cmocka_unit_test(what_is_refused_is_not_outstanding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
