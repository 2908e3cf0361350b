/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/spx/spx.h - stages of pipelines: what calls/ needs of it.
 *
 * A message to or from a special rank is a record of the frame that the program is in
 * (spx/record.h); none of these calls waits.
 *
 * Threads  the lock is held. */
#ifndef LMPI_SPX_H
#define LMPI_SPX_H

#include <stdbool.h>

#include "comm.h"
#include "type.h"

/* MPI_Init is nearly over: a place in the pipeline, if somebody manages one.  An error code. */
int lmpi_spx_begin(void);
/* MPI_Finalize begins: what was made here is committed first.  An error code. */
int lmpi_spx_finish(void);

struct lmpi_spx_got {
	int tag;
	int64_t bytes;
};
/* Appends a message to the frame. */
int lmpi_spx_send(const struct lmpi_type *type, const void *buf, int64_t count, int tag);
/* Takes the first message with that tag, which may be MPI_ANY_TAG, and was not taken. */
int lmpi_spx_recv(const struct lmpi_type *type, void *buf, int64_t count, int tag,
		  struct lmpi_spx_got *got);
/* Is there one?  With must it is an error if not. */
int lmpi_spx_probe(int tag, bool must, bool *flag, struct lmpi_spx_got *got);

#endif
