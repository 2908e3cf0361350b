/* SPDX-License-Identifier: BSD-2-Clause */
/* guests.h - the sockets of who has come to a port and has not begun a conversation yet.  Who is
 * heard, taken and hung up on is said by meet/port.h.
 *
 * Units    ns of the caller's monotonic clock.
 * Threads  one owner; a turn waits for nothing.
 * Limits   MEET_GUESTS_MAX connections at a time; what waits waits in the kernel.
 * Counted  in lmpi_stats (engine.h): knocks_wrong, knocks_silent, knocks_evicted. */
#ifndef LMPI_GUESTS_H
#define LMPI_GUESTS_H

#include "meet/port.h"

#include <stdbool.h>
#include <stdint.h>

struct lmpi_guests;

/* NULL: no memory. */
struct lmpi_guests *lmpi_guests_new(uint64_t token);
/* Hangs up on all of them; accepts NULL. */
void lmpi_guests_free(struct lmpi_guests *g);
/* Hears all and lets in who waits at the listening socket, which does not block.  *fd: the one
 * whose conversation begins, which is the caller's now, or -1.  Else *turn, but for NEAR: that is
 * told here.  far, due_ns: as for meet_port_turn().  0, or why nobody can be let in (errno). */
int lmpi_guests_turn(struct lmpi_guests *g, int listening, bool far, uint64_t now_ns,
		     uint64_t due_ns, int *fd, enum meet_turn *turn);

#endif
