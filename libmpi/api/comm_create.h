/* libmpi/api/comm_create.h - constructors other files use. */
#ifndef LMPI_COMM_CREATE_H
#define LMPI_COMM_CREATE_H

#include "comm.h"

/* *comm is NULL for processes with MPI_UNDEFINED.  Collective; an error code. */
int lmpi_comm_split(struct lmpi_comm *c, int color, int key, struct lmpi_comm **comm);

#endif
