/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/sp/sp.h - a rank that went to another process: what the surface does about it.
 *
 * Threads  the lock is held. */
#ifndef LMPI_SP_H
#define LMPI_SP_H

#include "mpi.h"

/* When communicators are there. */
void lmpi_sp_init(void);
/* MPIX_Comm_repair() of mpi-ext.h; an error code. */
int lmpi_sp_repair(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new);

#endif
