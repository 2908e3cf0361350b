/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ring.h"

#include "cmocka_all.h"

#include <pthread.h>
#include <sched.h>

static int items[64];

static void
refuses_when_full_and_keeps_order(void **state)
{
	(void)state;
	struct base_ring r;
	void *slots[8];
	base_ring_init(&r, slots, 8);
	assert_null(base_ring_pop(&r));
	/* Go around several times with every fill level. */
	for (int round = 0; round < 40; round++) {
		int n = round % 9;
		for (int i = 0; i < n; i++)
			assert_true(base_ring_push(&r, &items[i]));
		assert_int_equal(base_ring_count(&r), n);
		if (n == 8)
			assert_false(base_ring_push(&r, &items[9]));
		for (int i = 0; i < n; i++)
			assert_ptr_equal(base_ring_pop(&r), &items[i]);
		assert_null(base_ring_pop(&r));
	}
}

static void
indices_wrap(void **state)
{
	(void)state;
	struct base_ring r;
	void *slots[4];
	base_ring_init(&r, slots, 4);
	atomic_store(&r.head, UINT32_MAX - 1);
	atomic_store(&r.tail, UINT32_MAX - 1);
	for (int i = 0; i < 4; i++)
		assert_true(base_ring_push(&r, &items[i]));
	assert_false(base_ring_push(&r, &items[4]));
	assert_int_equal(base_ring_count(&r), 4);
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(base_ring_pop(&r), &items[i]);
	assert_int_equal(base_ring_count(&r), 0);
	assert_null(base_ring_pop(&r));
}

enum { PASSED_N = 200000, MSGS = 64 };

struct shared {
	struct base_ring ring;
	void *slots[16];
	uint32_t msg[MSGS]; /* plain: the ring's order alone makes it safe to read */
};

static void *
produce(void *arg)
{
	struct shared *s = arg;
	for (uint32_t i = 0; i < PASSED_N; i++) {
		/* 64 messages, 16 slots: the one written here was read long ago. */
		s->msg[i % MSGS] = i;
		while (!base_ring_push(&s->ring, &s->msg[i % MSGS]))
			sched_yield();
	}
	return NULL;
}

/* Under EXTRAS=tsan this proves the memory order, not only the result. */
static void
two_threads_pass_messages(void **state)
{
	(void)state;
	static struct shared s;
	base_ring_init(&s.ring, s.slots, 16);
	pthread_t t;
	assert_int_equal(pthread_create(&t, NULL, produce, &s), 0);
	uint32_t bad = 0;
	for (uint32_t i = 0; i < PASSED_N; i++) {
		uint32_t *m;
		while (!(m = base_ring_pop(&s.ring)))
			sched_yield();
		bad += *m != i;
	}
	pthread_join(t, NULL);
	assert_int_equal(bad, 0);
	assert_int_equal(base_ring_count(&s.ring), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_when_full_and_keeps_order),
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(two_threads_pass_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
