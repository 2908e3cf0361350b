/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/comms/introduce.h - two groups of processes that have no world ranks in common.
 *
 * World ranks are each job's own (engine/others.h).  All of both groups come to this call; their
 * leaders have a way to tell each other something.  Each side's cards go to the other side, and
 * become world ranks there.  When it returns well, everybody of both sides may send to everybody.
 *
 * Threads  the lock is held.  Errors  an error code, the same on both sides; said. */
#ifndef LMPI_INTRODUCE_H
#define LMPI_INTRODUCE_H

#include "comm.h"

/* Both leaders say len bytes and hear their_len.  phase: what that is, for texts. */
typedef int lmpi_swap_fn(void *arg, const char *phase, const void *mine, size_t len, void *theirs,
			 size_t their_len);

/* n: processes of the other side.  swap and arg count at the leader.  *remote: a reference. */
int lmpi_introduce(struct lmpi_comm *c, int leader, lmpi_swap_fn *swap, void *arg, uint32_t n,
		   struct lmpi_group **remote);

#endif
