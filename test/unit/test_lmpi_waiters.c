/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that wait at the same time: who leads, who is told, and what becomes of the others. */
#include "lock.h"
#include "waiters.h"

#include "base/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define SPIN_NS (20 * BASE_US_NS)

/* Changed with the lock. */
static bool done[2];
/* A thread is among the waiters; it has led; it is out. */
static _Atomic bool waits[2], led[2], out[2];

static bool
is_done(void *arg)
{
	return *(const bool *)arg;
}

/* As libmpi's loop, without progress. */
static void *
wait_in_thread(void *arg)
{
	size_t i = (size_t)((bool *)arg - done);
	struct lmpi_waiter w = {.ready = is_done, .arg = arg};

	lmpi_lock();
	lmpi_waiter_push(&w);
	waits[i] = true;
	while (!done[i]) {
		if (!lmpi_waiter_leads(&w)) {
			lmpi_waiter_rest(&w, SPIN_NS);
			continue;
		}
		led[i] = true;
		unsigned depth = lmpi_lock_drop();
		usleep(100);
		lmpi_lock_retake(depth);
	}
	lmpi_waiter_pop(&w);
	out[i] = true;
	lmpi_unlock();
	return NULL;
}

static void
forget(int i)
{
	done[i] = false;
	waits[i] = false;
	led[i] = false;
	out[i] = false;
}

static void
await(_Atomic bool *what)
{
	while (!*what)
		usleep(50);
}

static void
finish(bool *which)
{
	lmpi_lock();
	*which = true;
	lmpi_unlock(); /* tells */
}

static void
last_leads(void **state)
{
	struct lmpi_waiter a = {.ready = is_done, .arg = &done[0]};
	struct lmpi_waiter b = {.ready = is_done, .arg = &done[0]};
	struct lmpi_waiter c = {.ready = is_done, .arg = &done[1]};

	(void)state;
	done[0] = done[1] = false;
	lmpi_lock();
	lmpi_waiter_push(&a);
	assert_true(lmpi_waiter_leads(&a));
	lmpi_waiter_push(&b);
	lmpi_waiter_push(&c);
	assert_true(lmpi_waiter_leads(&c));
	assert_false(lmpi_waiter_leads(&a));
	/* From the middle, and from the top. */
	lmpi_waiter_pop(&b);
	assert_true(lmpi_waiter_leads(&c));
	lmpi_waiter_pop(&c);
	assert_true(lmpi_waiter_leads(&a));
	lmpi_waiter_pop(&a);
	assert_null(lmpi_waiters_top);
	lmpi_unlock();
}

/* Both spinning and asleep; the other one rests on. */
static void
who_is_done_is_told(void **state)
{
	pthread_t thread[2];

	(void)state;
	for (int round = 0; round < 40; round++) {
		struct lmpi_waiter top = {.ready = is_done, .arg = &done[1]};
		for (int i = 0; i < 2; i++) {
			forget(i);
			assert_int_equal(pthread_create(&thread[i], NULL, wait_in_thread, &done[i]),
					 0);
			await(&waits[i]);
		}
		lmpi_lock();
		led[0] = led[1] = false;
		lmpi_waiter_push(&top);
		lmpi_unlock();
		usleep(round % 2 ? 300 : 0);
		finish(&done[0]);
		await(&out[0]);
		assert_false(out[1] || led[1]);
		finish(&done[1]);
		await(&out[1]);
		lmpi_lock();
		lmpi_waiter_pop(&top);
		lmpi_unlock();
		for (int i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
	}
}

/* Nobody tells it: it finds out that it leads. */
static void
next_one_leads(void **state)
{
	pthread_t thread;

	(void)state;
	for (int round = 0; round < 40; round++) {
		struct lmpi_waiter top = {.ready = is_done, .arg = &done[1]};
		forget(0);
		forget(1);
		assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &done[0]), 0);
		await(&waits[0]);
		lmpi_lock();
		lmpi_waiter_push(&top);
		lmpi_unlock();
		usleep(round % 2 ? 300 : 0);
		lmpi_lock();
		lmpi_waiter_pop(&top);
		led[0] = false;
		lmpi_unlock();
		await(&led[0]);
		finish(&done[0]);
		await(&out[0]);
		pthread_join(thread, NULL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_leads),
		cmocka_unit_test(who_is_done_is_told),
		cmocka_unit_test(next_one_leads),
	};

	lmpi_lock_shared = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
