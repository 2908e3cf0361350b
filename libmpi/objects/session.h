/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/session.h - sessions, and who keeps the library up.
 *
 * The engine is one per process.  MPI_COMM_WORLD (MPI_Init to MPI_Finalize) and every
 * session use it; it begins with the first user.  It ends in MPI_Finalize, or with the
 * last session after that.  A process that only ever had sessions may open another
 * one, so there the engine ends when the process does, by exit().  The job begins at
 * all of its processes together: MPI_Session_init waits for them like MPI_Init does.
 *
 * Threads  the lock is held. */
#ifndef LMPI_SESSION_H
#define LMPI_SESSION_H

#include <stdint.h>

#include "mpi.h"
#include "object.h"

struct lmpi_session {
	struct lmpi_obj obj;
	struct lmpi_session *next; /* of all live ones */
	MPI_Errhandler errhandler;
	int thread_level;
	uint64_t serial; /* never used again */
	struct lmpi_bsend *bsend;
};
struct lmpi_comm;
/* The live one that a communicator was made from, NULL: none. */
struct lmpi_session *lmpi_session_of(const struct lmpi_comm *comm);

/* NULL if the handle is not one. */
struct lmpi_session *lmpi_session_find(MPI_Session handle);

/* One more user, which wants that level of threads; an error code. */
int lmpi_runtime_use(int thread_level);
/* One user less. */
int lmpi_runtime_drop(void);

#endif
