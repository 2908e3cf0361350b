/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring, alone and between two threads (`make check` runs it under ThreadSanitizer). */
#include "mmp/ring.h"

#include "cmocka_all.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define SLOTS 16u
#define COUNT 300000u

static void *
new_ring(void)
{
	void *mem = aligned_alloc(64, mmp_ring_bytes(SLOTS));
	memset(mem, 0, mmp_ring_bytes(SLOTS));
	return mem;
}

static void
fills_and_empties(void **state)
{
	(void)state;
	void *mem = new_ring();
	struct mmp_ring_end tx = mmp_ring_end(mem, SLOTS), rx = mmp_ring_end(mem, SLOTS);
	uint32_t put = 0, got = 0;
	assert_null(mmp_ring_peek(&rx));
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < round % 20; i++) {
			void *s = mmp_ring_room(&tx);
			if (!s) {
				/* The consumer tells of a quarter at a time. */
				assert_true(put - got > SLOTS - SLOTS / 4 - 1);
				break;
			}
			memcpy(s, &put, sizeof put);
			mmp_ring_push(&tx);
			put++;
		}
		const void *s;
		while ((s = mmp_ring_peek(&rx))) {
			assert_memory_equal(s, &got, sizeof got);
			mmp_ring_pop(&rx);
			got++;
		}
		assert_int_equal(put, got);
	}
	free(mem);
}

/* Around the end of the 32-bit count: 16 slots go into it evenly. */
static void
wraps(void **state)
{
	(void)state;
	void *mem = new_ring();
	struct mmp_ring_end tx = mmp_ring_end(mem, SLOTS), rx = mmp_ring_end(mem, SLOTS);
	tx.at = tx.seen = rx.at = rx.seen = UINT32_MAX - 40 + 1;
	atomic_store(&tx.ring->head, tx.at);
	for (uint32_t i = 0; i < 100; i++) {
		void *s = mmp_ring_room(&tx);
		assert_non_null(s);
		assert_null(mmp_ring_peek(&rx));
		memcpy(s, &i, sizeof i);
		mmp_ring_push(&tx);
		const void *g = mmp_ring_peek(&rx);
		assert_non_null(g);
		assert_memory_equal(g, &i, sizeof i);
		mmp_ring_pop(&rx);
	}
	free(mem);
}

static void
a_wrong_head_stops_the_producer(void **state)
{
	(void)state;
	void *mem = new_ring();
	struct mmp_ring_end tx = mmp_ring_end(mem, SLOTS);
	for (unsigned i = 0; i < SLOTS; i++) {
		assert_non_null(mmp_ring_room(&tx));
		mmp_ring_push(&tx);
	}
	atomic_store(&tx.ring->head, 1000);
	assert_null(mmp_ring_room(&tx));
	free(mem);
}

static void *
produce(void *arg)
{
	struct mmp_ring_end tx = mmp_ring_end(arg, SLOTS);
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t *s;
		while (!(s = mmp_ring_room(&tx)))
			sched_yield();
		for (unsigned k = 0; k < MMP_SLOT_DATA / 4; k++)
			s[k] = i + k;
		mmp_ring_push(&tx);
	}
	return NULL;
}

static void
between_threads(void **state)
{
	(void)state;
	void *mem = new_ring();
	struct mmp_ring_end rx = mmp_ring_end(mem, SLOTS);
	pthread_t t;
	assert_int_equal(pthread_create(&t, NULL, produce, mem), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		const uint32_t *s;
		while (!(s = mmp_ring_peek(&rx)))
			sched_yield();
		for (unsigned k = 0; k < MMP_SLOT_DATA / 4; k++)
			assert_int_equal(s[k], i + k);
		mmp_ring_pop(&rx);
	}
	pthread_join(t, NULL);
	free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_and_empties),
		cmocka_unit_test(wraps),
		cmocka_unit_test(a_wrong_head_stops_the_producer),
		cmocka_unit_test(between_threads),
	};
	return cmocka_run_group_tests_name("mmp_ring", tests, NULL, NULL);
}
