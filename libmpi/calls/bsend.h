/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/calls/bsend.h - the buffers of buffered mode.
 *
 * A buffer belongs to a communicator, to a session or to the process; the first of them
 * that has one is used (MPI-4.1).  Messages are cut from it first-fit; the bookkeeping of each lies
 * in front of it inside the buffer and fits in MPI_BSEND_OVERHEAD. */
#ifndef LMPI_BSEND_H
#define LMPI_BSEND_H

#include "p2p.h"

/* Copy the message of a into the buffer, in the representation of its destination,
 * and send it; the room is given back when it is out.  An error code when there is no
 * buffer or no room, or a value has no external form.  as: zeroed, gets what
 * lmpi_cancel_send() needs to know of it, to be called when as->done is set; or NULL. */
int lmpi_bsend(const struct lmpi_p2p *a, struct lmpi_req *as);
/* What is in a buffer leaves, then it is detached; there may be none. */
void lmpi_bsend_end(struct lmpi_bsend **slot);

#endif
