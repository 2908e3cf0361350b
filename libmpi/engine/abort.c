/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a job that cannot go on, as far as this process has to do with it. */
#include "internal.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

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
	if (lmpi_loop.end_job)
		lmpi_loop.end_job(code, why);
	_exit(code & 0xff ? code & 0xff : 1);
}
