/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock of a window's part, in one word. */
#include "cmocka_all.h"

#include "mpi/lock_word.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static void
rules(void **state)
{
	_Atomic uint32_t w = 0;

	(void)state;
	assert_true(lock_word_try(&w, false, false));
	assert_true(lock_word_try(&w, false, false));
	assert_false(lock_word_try(&w, true, false));
	assert_false(lock_word_drop(&w, false));
	assert_false(lock_word_try(&w, true, false));
	assert_false(lock_word_drop(&w, false));
	assert_true(lock_word_try(&w, true, false));
	assert_false(lock_word_try(&w, false, false));
	assert_false(lock_word_try(&w, true, true));
	/* who waits is told, and goes first */
	lock_word_wait(&w);
	assert_true(lock_word_drop(&w, true));
	assert_false(lock_word_try(&w, false, false));
	assert_false(lock_word_try(&w, true, false));
	assert_true(lock_word_try(&w, true, true));
	lock_word_nobody_waits(&w);
	assert_false(lock_word_drop(&w, true));
	assert_int_equal(w, 0);
}

enum { THREADS = 4, TURNS = 20000 };
static _Atomic uint32_t word;
static long writes;
static _Atomic int inside;

static void *
work(void *arg)
{
	bool writer = *(bool *)arg;

	for (int i = 0; i < TURNS; i++) {
		while (!lock_word_try(&word, writer, false))
			sched_yield();
		if (writer) {
			writes++;
			if (atomic_fetch_add(&inside, 1) != 0)
				abort();
			atomic_fetch_sub(&inside, 1);
		} else if (atomic_load(&inside) != 0) {
			abort();
		}
		(void)lock_word_drop(&word, writer);
	}
	return NULL;
}

static void
contended(void **state)
{
	static bool writer[THREADS] = {true, false, true, false};
	pthread_t t[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, work, &writer[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(writes, 2 * TURNS);
	assert_int_equal(word, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rules), cmocka_unit_test(contended)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
