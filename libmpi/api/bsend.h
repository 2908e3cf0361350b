/* libmpi/api/bsend.h - the buffers of buffered mode.
 *
 * A buffer belongs to the process, or to a communicator that has one of its own
 * (MPI-4.1).  Messages are cut from it first-fit; the bookkeeping of each lies in
 * front of it inside the buffer and fits in MPI_BSEND_OVERHEAD. */
#ifndef LMPI_BSEND_H
#define LMPI_BSEND_H

#include <stdint.h>

#include "comm.h"

/* Room for len bytes of a message on comm; an error code when there is none. */
int lmpi_bsend_take(struct lmpi_comm *comm, int64_t len, void **data);
/* Send what was written into data and give the room back when it is out. */
void lmpi_bsend_start(struct lmpi_comm *comm, void *data, int64_t len, int dest, int tag);

#endif
