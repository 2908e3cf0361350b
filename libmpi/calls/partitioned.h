/* libmpi/calls/partitioned.h - partitioned communication (MPI 5.0, chapter 4).
 *
 * The k-th MPI_Psend_init to a process with some tag belongs to its k-th MPI_Precv_init from
 * here with that tag; both sides count, per communicator.  The sender tells how many
 * partitions it has, the receiver answers with as many tags of its own choice; both
 * messages go on context ids made of the communicator's and k.  From then on every
 * partition is a message by itself, sent when it is ready and received where it belongs,
 * in any order.
 *
 * Threads  the lock is held. */
#ifndef LMPI_PARTITIONED_H
#define LMPI_PARTITIONED_H

#include "request.h"

struct lmpi_part_count;

int lmpi_part_start(struct lmpi_request *r);
/* The request goes: what has not met its other side is given up. */
void lmpi_part_release(struct lmpi_partitioned *part);
void lmpi_part_forget_counts(struct lmpi_part_count *list);

#endif
