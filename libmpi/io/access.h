/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/io/access.h - one read or write, in whatever form it was called. */
#ifndef LMPI_ACCESS_H
#define LMPI_ACCESS_H

#include <stdbool.h>

#include "mpi.h"

/* By explicit offset, by the process's own pointer, by the one all share. */
enum lmpi_io_place { LMPI_IO_AT, LMPI_IO_OWN, LMPI_IO_POOLED };

/* A call, as far as they are alike. */
struct lmpi_access {
	bool write;
	enum lmpi_io_place place;
	MPI_Offset offset;
	void *buf;
	MPI_Count count;
	MPI_Datatype datatype;
};

/* Independent: blocking, non-blocking. */
int lmpi_io_now(MPI_File fh, const struct lmpi_access *c, MPI_Status *status);
int lmpi_io_soon(MPI_File fh, const struct lmpi_access *c, MPI_Request *request);
/* Collective: the same, and in two halves.  With LMPI_IO_POOLED: in the order of ranks. */
int lmpi_io_together(MPI_File fh, const struct lmpi_access *c, MPI_Status *status);
int lmpi_io_together_soon(MPI_File fh, const struct lmpi_access *c, MPI_Request *request);
int lmpi_io_begin(MPI_File fh, const struct lmpi_access *c);
/* fn: the name of the begin that has to have been. */
int lmpi_io_end(MPI_File fh, const char *fn, const void *buf, MPI_Status *status);

#endif
