/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/coll/small_exec.h - blocking calls of few steps, without a request.
 *
 * The executor (mpi/steps.h) keeps lists and counts so that any number of steps costs no more than
 * each step does, and goes on from whatever call of MPI is made.  A blocking call of a few steps
 * needs none of that: what a step waits for fits in a word, and the caller stays until the end.
 * The messages are the same, so each process may take either way.
 *
 * Threads  the lock is held; it is given up while waiting. */
#ifndef LMPI_SMALL_EXEC_H
#define LMPI_SMALL_EXEC_H

#include "coll.h"

/* May this call, prepared, be run so?  Not with other MPIs, groups that face each other, or light,
 * all of which have things to say about each message. */
bool lmpi_coll_is_quick(const struct lmpi_coll *c);
/* Run it, tags taken, to its end: c->run.error, and what comes after the last step is left to do.
 */
void lmpi_coll_run_quick(struct lmpi_coll *c);

#endif
