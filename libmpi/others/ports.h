/* SPDX-License-Identifier: BSD-2-Clause */
/* ports.h - what the files of this room share; engine/others.h has what libmpi/dyn calls.
 *
 *   port.c     ports: sockets, and doors at a relay, where the roots of two jobs meet
 *   guests.c   who connects to a socket, until a conversation begins
 *   spawn.c    what the launcher does while the job runs: names of ports, starting programs
 *
 * Threads  the lock is held. */
#ifndef LMPI_PORTS_H
#define LMPI_PORTS_H

/* --- spawn.c */
/* The port is closed: nobody is expected there any more. */
void lmpi_spawn_forget(const char *port);

/* --- port.c */
/* Who did not knock as one should, if anybody (LIBMPI_STATS=1). */
void lmpi_port_print_stats(void);

#endif
