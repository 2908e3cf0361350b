/* SPDX-License-Identifier: BSD-2-Clause */
/* ports.h - what the files of this room share; engine/others.h has what libmpi/dyn calls.
 *
 *   port.c     ports: sockets, and doors at a relay, where the roots of two jobs meet
 *   guests.c   who connects to a socket, until a conversation begins
 *   spawn.c    what the launcher does while the job runs: names of ports, starting programs
 *   alone.c    the same start where no launcher does it, by our mpirun
 *
 * Threads  the lock is held. */
#ifndef LMPI_PORTS_H
#define LMPI_PORTS_H

#include "others.h"

#include <stdbool.h>
#include <stdint.h>

#define LMPI_SETTINGS_MAX 4u

/* What a program that is spawned finds in its environment. */
struct lmpi_settings {
	uint32_t n;
	const char *name[LMPI_SETTINGS_MAX], *value[LMPI_SETTINGS_MAX];
	char relay[LMPI_RELAY_NAME];
};

/* --- spawn.c */
/* The port is closed: nobody is expected there any more. */
void lmpi_spawn_forget(const char *port);
/* What was started by that name has ended.  It is news to who waits for it, and to nobody else.
 * From any thread, without the lock. */
void lmpi_spawn_ended(const char *name, const char *why);

/* --- alone.c */
/* lmpi_spawn_ended(name) follows, once.  False, with why[]: nothing was started. */
bool lmpi_alone_start(const struct lmpi_program *program, uint32_t n, const struct lmpi_settings *s,
		      const char *name, char why[LMPI_WHY]);

/* --- port.c */
/* Who did not knock as one should, if anybody (LIBMPI_STATS=1). */
void lmpi_port_print_stats(void);

#endif
