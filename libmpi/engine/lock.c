/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock.h"

#include <pthread.h>

bool lmpi_lock_shared;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* How often this thread holds the mutex; the mutex itself is taken once. */
static _Thread_local unsigned held;

void
lmpi_lock_slow(void)
{
	if (held++ == 0)
		pthread_mutex_lock(&mutex);
}

void
lmpi_unlock_slow(void)
{
	if (held == 0)
		return; /* entered before MPI_Init_thread made the lock shared */
	if (--held == 0)
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
	if (depth != 0) {
		pthread_mutex_lock(&mutex);
		held = depth;
	}
}
