/* libmpi/coll/meet.h - a barrier that ends whoever dies.
 *
 * Threads  the lock is held. */
#ifndef LMPI_MEET_H
#define LMPI_MEET_H

struct lmpi_comm;

/* All members that live have come; of an intra-communicator.  A barrier, where no job survives
 * deaths.  LMPI_ERR_PROC_FAILED, for all: one has failed. */
int lmpi_comm_meet(struct lmpi_comm *c);

#endif
