/* SPDX-License-Identifier: BSD-2-Clause */
/* Who unmaps memory waits for who may be using it. */
#include "cmocka_all.h"

#include "driver/poller.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define LEN   4096u
#define YIELD 200

/* A thread reads a page for as long as its turn lasts, as a burst does. */
static struct {
	const volatile uint8_t *page;
	_Atomic int stage; /* 1: in its turn; 2: somebody is about to unmap */
	_Atomic int ended;
	_Atomic int stop;
	uint32_t sum;
} it;

static void *
poll_a_page(void *arg)
{
	(void)arg;
	struct rd_poller *p = rd_poller_new();
	rd_poll_begin(p);
	atomic_store(&it.stage, 1);
	while (atomic_load(&it.stage) < 2)
		sched_yield();
	for (int i = 0; i < YIELD; i++) {
		it.sum += it.page[i]; /* which is not gone */
		sched_yield();
	}
	atomic_store(&it.ended, 1);
	rd_poll_end(p);
	while (!atomic_load(&it.stop))
		sched_yield();
	return NULL;
}

static void *
map_page(void)
{
	void *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	return p;
}

/* No port takes memory away: a turn is none, and nobody waits. */
static void
nobody_is_guarded(void **state)
{
	(void)state;
	struct rd_poller *p = rd_poller_new();
	rd_poll_begin(p);
	assert_int_equal(atomic_load(&p->turn), 0);
	/* In the middle of it there is one. */
	rd_poller_guard();
	rd_poll_end(p);
	assert_int_equal(atomic_load(&p->turn), 0);
	rd_poll_begin(p);
	assert_int_equal(atomic_load(&p->turn), 1);
	rd_poll_end(p);
	assert_int_equal(atomic_load(&p->turn), 2);
}

static void
a_turn_is_waited_for(void **state)
{
	(void)state;
	pthread_t t;
	void *page = map_page(), *other = map_page();
	it.page = page;
	assert_int_equal(pthread_create(&t, NULL, poll_a_page, NULL), 0);
	while (atomic_load(&it.stage) < 1)
		sched_yield();
	atomic_store(&it.stage, 2);
	assert_int_equal(munmap(page, LEN), 0);
	assert_int_equal(atomic_load(&it.ended), 1);
	/* Outside of its turns nobody waits for it, though it lives. */
	assert_int_equal(munmap(other, LEN), 0);
	atomic_store(&it.stop, 1);
	pthread_join(t, NULL);
}

static void
not_for_oneself(void **state)
{
	(void)state;
	struct rd_poller *p = rd_poller_new();
	assert_ptr_equal(rd_poller_new(), p);
	void *page = map_page();
	rd_poll_begin(p);
	assert_int_equal(munmap(page, LEN), 0);
	rd_poll_end(p);
	assert_int_equal(munmap((void *)1, LEN), -1); /* not a page's address */
}

/* The drivers are shared objects: what they find under the name has to be ours. */
static void
drivers_find_ours(void **state)
{
	(void)state;
	int (*ours)(void *, size_t) = munmap;
	void *here, *found = dlsym(RTLD_DEFAULT, "munmap"), *libc = dlsym(RTLD_NEXT, "munmap");
	memcpy(&here, &ours, sizeof here);
	assert_ptr_equal(found, here);
	assert_true(libc && libc != here);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_guarded),
		cmocka_unit_test(a_turn_is_waited_for),
		cmocka_unit_test(not_for_oneself),
		cmocka_unit_test(drivers_find_ours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
