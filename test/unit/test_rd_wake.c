/* SPDX-License-Identifier: BSD-2-Clause */
/* The handshake of a thread that sleeps in epoll with threads that fill its rings: no
 * message waits for a sleeper, however the two interleave; and a poller's naps. */
#include "cmocka_all.h"

#include "base/ring.h"
#include "wake.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define WAKERS	 3
#define MESSAGES 20000
#define NAP_NS	 30000
#define LOST_MS	 2000 /* a sleep that long with a message waiting is a lost wake-up */

struct post {
	struct rd_wake wake;
	struct base_ring ring[WAKERS];
	void *slot[WAKERS][64];
	pthread_barrier_t begin;
	bool naps; /* for 30 us at most, as a worker does */
	uint32_t sleeps, woken, lost, disorder;
};

struct waker {
	struct post *post;
	uint32_t index, seed;
};

static bool
anything(struct post *p)
{
	for (int i = 0; i < WAKERS; i++)
		if (base_ring_count(&p->ring[i]))
			return true;
	return false;
}

static void
doze(struct post *p)
{
	struct pollfd f = {.fd = p->wake.fd, .events = POLLIN};
	rd_wake_sleep(&p->wake);
	if (!anything(p)) {
		struct timespec ts = {.tv_sec = p->naps ? 0 : LOST_MS / 1000,
				      .tv_nsec = p->naps ? NAP_NS : 0};
		p->sleeps++;
		if (ppoll(&f, 1, &ts, NULL) > 0)
			p->woken++;
		else if (!p->naps && anything(p))
			p->lost++;
	}
	rd_wake_awake(&p->wake);
}

static void *
sleeper(void *arg)
{
	struct post *p = arg;
	uintptr_t next[WAKERS] = {0};
	uint32_t left = WAKERS * MESSAGES;
	(void)pthread_barrier_wait(&p->begin);
	while (left) {
		bool got = false;
		for (int i = 0; i < WAKERS; i++) {
			uintptr_t m;
			while ((m = (uintptr_t)base_ring_pop(&p->ring[i]))) {
				p->disorder += m != ++next[i];
				left--;
				got = true;
			}
		}
		if (!got && left)
			doze(p);
	}
	return NULL;
}

/* Bursts of random length with random pauses, so that the sleeper is met everywhere. */
static void *
waker(void *arg)
{
	struct waker *w = arg;
	struct post *p = w->post;
	(void)pthread_barrier_wait(&p->begin);
	for (uintptr_t m = 1; m <= MESSAGES;) {
		if (!base_ring_push(&p->ring[w->index], (void *)m)) {
			sched_yield();
			continue;
		}
		rd_wake_up(&p->wake);
		m++;
		w->seed = w->seed * 1664525u + 1013904223u;
		if (w->seed >> 28 == 0)
			usleep(w->seed >> 24 & 15);
	}
	return NULL;
}

static void
exchange(bool naps)
{
	struct post *p = aligned_alloc(64, (sizeof *p + 63) & ~(size_t)63);
	assert_non_null(p);
	p->naps = naps;
	p->sleeps = p->woken = p->lost = p->disorder = 0;
	assert_int_equal(rd_wake_init(&p->wake), 0);
	assert_int_equal(pthread_barrier_init(&p->begin, NULL, WAKERS + 1), 0);
	for (int i = 0; i < WAKERS; i++)
		base_ring_init(&p->ring[i], p->slot[i], 64);
	pthread_t thread[WAKERS + 1];
	struct waker w[WAKERS];
	assert_int_equal(pthread_create(&thread[WAKERS], NULL, sleeper, p), 0);
	for (uint32_t i = 0; i < WAKERS; i++) {
		w[i] = (struct waker){.post = p, .index = i, .seed = i + 1};
		assert_int_equal(pthread_create(&thread[i], NULL, waker, &w[i]), 0);
	}
	for (int i = 0; i < WAKERS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(pthread_join(thread[WAKERS], NULL), 0);
	print_message("  %u sleeps, woken from %u\n", p->sleeps, p->woken);
	assert_int_equal(p->disorder, 0);
	assert_int_equal(p->lost, 0);
	assert_true(p->woken > 0);
	rd_wake_fini(&p->wake);
	(void)pthread_barrier_destroy(&p->begin);
	free(p);
}

static void
no_wake_up_is_lost(void **state)
{
	(void)state;
	exchange(false);
}

/* The worker: it would look again by itself, and wakers meet the ends of its naps too. */
static void
naps_are_ended(void **state)
{
	(void)state;
	exchange(true);
}

/* Nobody sleeps: no system call is made, and none is owed afterwards. */
static void
awake_costs_nothing(void **state)
{
	struct rd_wake w;
	struct pollfd f = {.events = POLLIN};
	(void)state;
	assert_int_equal(rd_wake_init(&w), 0);
	f.fd = w.fd;
	rd_wake_up(&w);
	assert_int_equal(poll(&f, 1, 0), 0);
	rd_wake_sleep(&w);
	rd_wake_up(&w);
	rd_wake_up(&w); /* the second finds it woken */
	assert_int_equal(poll(&f, 1, 0), 1);
	rd_wake_awake(&w);
	assert_int_equal(poll(&f, 1, 0), 0);
	rd_wake_awake(&w); /* an empty eventfd does not block */
	rd_wake_fini(&w);
	assert_int_equal(w.fd, -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(awake_costs_nothing),
		cmocka_unit_test(no_wake_up_is_lost),
		cmocka_unit_test(naps_are_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
