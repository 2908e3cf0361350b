/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a job that cannot go on. */
#include "boot.h"
#include "transports.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define ABORT_NS (500 * BASE_MS_NS)

void
lmpi_engine_abort(int code, const char *why)
{
	static _Atomic int begun;
	static _Thread_local bool here;

	if (here)
		_exit(1);
	here = true;
	if (atomic_exchange(&begun, 1)) {
		/* Another thread is at it. */
		struct timespec ts = {.tv_sec = 10};
		nanosleep(&ts, NULL);
		_exit(1);
	}
	fprintf(stderr, "libmpi: rank %u of %u%s%s: %s; ending the job\n", lmpi_world.rank,
		lmpi_world.size, lmpi_world.node_name[0] ? " on " : "", lmpi_world.node_name, why);
	fflush(stderr);
	if (lmpi_loop.up && !lmpi_eng.in_transport &&
	    pthread_equal(pthread_self(), lmpi_boot_main_thread()))
		lmpi_tp_tell_abort(why, ABORT_NS);
	lmpi_boot_abort(code, why);
	_exit(code & 0xff ? code & 0xff : 1);
}
