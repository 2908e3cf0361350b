/* libmpi/sp/sp.h - a rank that went to another process: what the surface does about it.
 *
 * Threads  the lock is held. */
#ifndef LMPI_SP_H
#define LMPI_SP_H

/* When communicators are there. */
void lmpi_sp_init(void);

#endif
