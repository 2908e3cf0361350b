/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is told that a job cannot go on: see lmpi_engine_abort(). */
#include "boot.h"
#include "end.h"
#include "transports.h"

#include "base/clock.h"

#include <pthread.h>

#define ABORT_NS (500 * BASE_MS_NS)

void
lmpi_end_job(int code, const char *why)
{
	if (lmpi_loop.up && !lmpi_eng.in_transport &&
	    pthread_equal(pthread_self(), lmpi_boot_main_thread()))
		lmpi_tp_tell_abort(why, ABORT_NS);
	lmpi_boot_abort(code, why);
}
