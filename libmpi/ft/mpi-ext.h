/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi-ext.h - libmpi's extensions: failures of processes as errors (ULFM).
 *
 * Errors   beyond those of the ABI; their classes are the codes.
 *	MPIX_ERR_PROC_FAILED		a process that the call needs has failed
 *	MPIX_ERR_PROC_FAILED_PENDING	a receive from any source goes on, but a process has failed
 *					that was not acknowledged
 *	MPIX_ERR_REVOKED		the communicator was revoked
 *	MPIX_ERR_AGAIN			under mpispd: a rank went to another process; what was
 *					under way is undefined and is to be done again
 *
 * Key      MPIX_FT, an attribute of communicators, an int: 1 in a job that survives deaths, else 0.
 * Names    MPI_ aliases are of calls that the MPI Forum has taken.
 * Tools    Every call has a second name with P before it, as those of mpi.h (MPI-4.1, 15.2).
 * Manual   doc/changing-jobs.md. */
#ifndef MPI_EXT_H
#define MPI_EXT_H

#include <mpi.h>

#define MPIX_ERR_PROC_FAILED	     16129
#define MPIX_ERR_PROC_FAILED_PENDING 16130
#define MPIX_ERR_REVOKED	     16131
#define MPIX_ERR_AGAIN		     16132
#define MPI_ERR_PROC_FAILED	     MPIX_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED_PENDING  MPIX_ERR_PROC_FAILED_PENDING
#define MPI_ERR_REVOKED		     MPIX_ERR_REVOKED

#define MPIX_FT 905
#define MPI_FT	MPIX_FT

/* What programs for Open MPI ask for. */
#define OMPI_HAVE_MPI_EXT_FTMPI	       1
#define OMPI_HAVE_MPIX_COMM_GET_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ACK_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ISHRINK    1

#ifdef __cplusplus
extern "C" {
#endif

int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);

/* Under mpispd (doc/sp.md): leave what is broken and join the others again.  broken is
 * MPI_COMM_WORLD, and so is same_size: all ranks are there, with new processes for those that
 * died.  Collective over all of them, but for a new process, whose MPI_Init has done it: there it
 * returns at once.  i_am_new: this process has taken a rank over, and has not called it before.
 * Requests that waited for others are over; other communicators, windows and files are void. */
int MPIX_Comm_repair(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new);

int MPI_Comm_revoke(MPI_Comm comm);
int MPI_Comm_is_revoked(MPI_Comm comm, int *flag);
int MPI_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int MPI_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);

/* What a tool calls that has put its own function in the place of one of these (PMPI). */
int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_repair(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new);
int PMPI_Comm_revoke(MPI_Comm comm);
int PMPI_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPI_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int PMPI_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);

#ifdef __cplusplus
}
#endif

#endif
