/* SPDX-License-Identifier: BSD-2-Clause */
/* child.h - the launcher as a child of impirun, and what is said when it has ended.
 *
 * Threads  one. */
#ifndef IMPIRUN_CHILD_H
#define IMPIRUN_CHILD_H

#include <stdint.h>

#include "impi/auth.h"

/* Runs argv and waits for its end.  Signals that somebody sends to impirun go on to it; those of
 * the terminal reach it by themselves.  It gets SIGTERM if impirun is killed.
 * Returns its wait status, -1 and errno if it could not be begun. */
int child_run(char *const *argv);
/* Ends impirun as the launcher ended. */
_Noreturn void child_end_alike(int status);
/* "LAUNCHER ended with status 1": what it came to, for people. */
void child_say(int status, const char *argv0, char *out, uint32_t cap);

/* gone.c.  Tells the server at HOST:PORT, or the relay that plays it, that the client of this
 * rank will not come (impi/gone.h); nothing happens if it had come.  began_ns: of the launcher,
 * CLOCK_MONOTONIC.  Takes two seconds at most, and no failure is told: nobody may be there any
 * more. */
void gone_tell(const char *server, const struct impi_auth *auth, uint32_t rank, uint64_t began_ns,
	       const char *why);

#endif
