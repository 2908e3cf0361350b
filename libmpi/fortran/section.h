/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/fortran/section.h - choice buffers of module mpi_f08: C descriptors become
 * address, count and datatype.
 *
 * A contiguous buffer, and a scalar, is its address.  A section with gaps (a(::2, 3:5))
 * stands for the elements it names, in array element order, as if they lay one after
 * the other (MPI-4.1 19.1.12), for blocking and non-blocking calls alike:
 *
 *   f_piece       one buffer with one count and datatype (point-to-point, MPI_BCAST,
 *                 one side of MPI_GATHER and MPI_SCATTER, windows, files): one element of a
 *                 datatype made for it.  Nothing is copied.
 *   f_staged      buffers of several pieces, and of reductions, whose datatype the operation
 *                 has to see: the call works on a contiguous copy.  What it changed there, and
 *                 nothing else, goes back when it is complete: at once, or, if it has a
 *                 request, by the call that completes that.
 *   f_partitions  partitions lie at one distance from each other or the call is refused
 *                 (MPI_ERR_BUFFER): there is nothing that holds a section and can be started
 *                 piece by piece.
 *
 * A datatype of the program's over a section with gaps keeps its basic datatype if there
 * is only one in it, else goes as bytes; between processes of libmpi that is the same.
 *
 * A call that goes beyond the end of a section with gaps raises MPI_ERR_BUFFER.
 *
 * Threads: any.  Requests of staged calls must be completed by Fortran's routines. */
#ifndef LMPI_FORTRAN_SECTION_H
#define LMPI_FORTRAN_SECTION_H

#include "fortran.h"

#include <ISO_Fortran_binding.h>

#ifdef LMPI_PROFILE
#define F_DESC(name) pmpi_##name##_desc_
#else
#define F_DESC(name) mpi_##name##_desc_
#endif

/* What is to be undone after a call. */
#define F_CALL_BUFFERS 2
struct f_stage;
struct f_call {
	int rc; /* of what came before the call */
	int made_n;
	MPI_Datatype made[F_CALL_BUFFERS];
	struct f_stage *stages;
};

/* The ABI's predefined handles. */
#define F_PREDEFINED(handle) ((handle) < 4096)

struct f_piece {
	void *at;
	MPI_Count count;
	int datatype;
};

/* These never fail by themselves: f_call_error says after them whether the call may be
 * made, and raises the error if not. */
struct f_piece f_piece(struct f_call *call, const CFI_cdesc_t *d, MPI_Count count, int datatype);
struct f_piece f_partitions(struct f_call *call, const CFI_cdesc_t *d, int datatype);
void *f_staged(struct f_call *call, const CFI_cdesc_t *d, bool only_read);
int f_call_error(const struct f_call *call);

/* Where a communicator is put that is there when the request is complete: newcomm gets it then.
 * NULL: no memory. */
MPI_Comm *f_made_later(struct f_call *call, int *newcomm);

/* After the call, and also if it was not made. */
void f_call_done(struct f_call *call);
/* The same for a call that gave a request, if rc is MPI_SUCCESS. */
void f_call_later(struct f_call *call, int rc, int request, bool persistent);

static inline void
f_return(int *ierror, int rc)
{
	if (ierror)
		*ierror = rc;
}

#endif
