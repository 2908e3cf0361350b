/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/start/end.h - what start.c takes back when it cannot go on.
 *
 * Threads  the lock is held. */
#ifndef LMPI_END_H
#define LMPI_END_H

/* Close transports and give tables back, of a job or of an epoch of it, whatever there is. */
void lmpi_close_engine(void);
/* Tell relays and the launcher; any thread.  Of lmpi_loop. */
void lmpi_end_job(int code, const char *why);

#endif
