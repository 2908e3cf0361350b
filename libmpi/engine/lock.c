/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock.h"

#include "waiters.h"

#include "base/clock.h"
#include "driver/suci_udp.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

bool lmpi_lock_shared;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* How often this thread holds the mutex; the mutex itself is taken once. */
static _Thread_local unsigned held;
/* Threads that come in and found it taken. */
static _Atomic unsigned entering;

#define GIVE_WAY_NS (50 * BASE_US_NS) /* a thread is woken in less, or has no processor */
#define SHORT_NS    (5 * BASE_US_NS)  /* a turn of the engine is over in less, mostly */

static void
take_mutex(void)
{
	if (pthread_mutex_trylock(&mutex) == 0)
		return;
	atomic_fetch_add(&entering, 1);
	uint64_t end = suci_udp_now_ns() + SHORT_NS;
	bool taken = false;
	while (!taken && suci_udp_now_ns() < end) {
		__builtin_ia32_pause();
		taken = pthread_mutex_trylock(&mutex) == 0;
	}
	if (!taken)
		pthread_mutex_lock(&mutex);
	atomic_fetch_sub(&entering, 1);
}

void
lmpi_lock_slow(void)
{
	if (held++ == 0)
		take_mutex();
}

void
lmpi_unlock_slow(void)
{
	if (held == 0)
		return; /* entered before MPI_Init_thread made the lock shared */
	if (--held != 0)
		return;
	lmpi_waiters_tell();
	pthread_mutex_unlock(&mutex);
}

unsigned
lmpi_lock_drop(void)
{
	unsigned depth = held;

	if (depth != 0) {
		held = 0;
		pthread_mutex_unlock(&mutex);
	}
	return depth;
}

void
lmpi_lock_retake(unsigned depth)
{
	if (depth == 0)
		return;
	if (entering) {
		uint64_t end = suci_udp_now_ns() + GIVE_WAY_NS;
		while (entering && suci_udp_now_ns() < end)
			sched_yield();
	}
	pthread_mutex_lock(&mutex);
	held = depth;
}

void
lmpi_lock_enter(unsigned depth)
{
	if (depth == 0)
		return;
	take_mutex();
	held = depth;
}
