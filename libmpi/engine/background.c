/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress while the program computes, where LIBMPI_PROGRESS=thread asks for it: a thread
 * that sleeps like a waiting rank and, when there is news or a while has passed, takes turns
 * of the loop - unless the program has taken some since it last looked.  Everything under
 * the lock, which it makes shared. */
#include "internal.h"

#include "lock.h"
#include "transports.h"

#include "base/clock.h"
#include "driver/suci_udp.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS BASE_MS_NS /* at least so often: news may wake another thread instead */
#define BURST	64	   /* turns without giving the lock up */

static pthread_t thread;
static bool running;
static bool stop; /* under the lock */

bool
lmpi_background_wanted(void)
{
	return lmpi_knob_word(LMPI_KNOB_PROGRESS) == 1; /* calls, thread */
}

static void *
run_background(void *arg)
{
	uint64_t seen = 0;

	(void)arg;
	lmpi_lock();
	while (!stop) {
		if (lmpi_stats.progress_turns == seen)
			for (int i = 0; i < BURST && lmpi_progress(); i++)
				;
		seen = lmpi_stats.progress_turns;
		lmpi_tp_sleep(suci_udp_now_ns() + LOOK_NS);
	}
	lmpi_unlock();
	return NULL;
}

void
lmpi_background_start(void)
{
	sigset_t all, old;

	stop = false;
	/* Signals are the program's, in its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	running = pthread_create(&thread, NULL, run_background, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!running)
		fprintf(stderr, "libmpi: LIBMPI_PROGRESS=thread: no thread could be started; "
				"progress is made in calls\n");
}

void
lmpi_background_stop(void)
{
	if (!running)
		return;
	stop = true;
	running = false;
	unsigned depth = lmpi_lock_drop();
	lmpi_tp_wake();
	pthread_join(thread, NULL);
	lmpi_lock_retake(depth);
}
