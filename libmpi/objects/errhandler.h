/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/errhandler.h - error handler objects.
 *
 * Threads  the lock is held, except in lmpi_errhandler_run(). */
#ifndef LMPI_ERRHANDLER_H
#define LMPI_ERRHANDLER_H

#include "call.h"
#include "object.h"

struct lmpi_errhandler {
	struct lmpi_obj obj;
	enum lmpi_on kind;
	void (*fn)(void); /* MPI_<Kind>_errhandler_function */
};

/* Of MPI_FILE_NULL: errors of calls that have no file, and of files to be opened. */
extern MPI_Errhandler lmpi_file_null_handler;

bool lmpi_errhandler_valid(MPI_Errhandler handle);
/* The program has made it. */
bool lmpi_errhandler_is_made(MPI_Errhandler handle);
/* References count only for handlers the user made. */
void lmpi_errhandler_ref(MPI_Errhandler handle);
void lmpi_errhandler_unref(MPI_Errhandler handle);

/* Call the handler for an error of `fn`; returns the code for the caller of MPI
 * unless the handler ends the job.  object is the ABI handle. */
int lmpi_errhandler_run(MPI_Errhandler handle, enum lmpi_on kind, void *object, int code,
			const char *fn);

/* MPI_<Kind>_call_errhandler: the same with the lock given up meanwhile, and the handler
 * kept alive: it may free the object it hangs on. */
void lmpi_errhandler_call(MPI_Errhandler handle, enum lmpi_on kind, void *object, int code,
			  const char *fn);

/* MPI_Errhandler_fn names of the handler kinds' set and get, for one object. */
int lmpi_errhandler_set(MPI_Errhandler *slot, enum lmpi_on kind, MPI_Errhandler handle);
int lmpi_errhandler_get(MPI_Errhandler slot, MPI_Errhandler *handle);

#endif
