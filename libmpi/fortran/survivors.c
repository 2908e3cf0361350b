/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi-ext.h from Fortran: what modules mpi_ext and mpi_f08_ext, and mpif-ext.h, declare.  Another
 * libmpi_abi.so.1 may not have these calls: then they fail. */
#include "section.h"

#include <mpi-ext.h>

#pragma weak MPIX_Comm_revoke
#pragma weak MPIX_Comm_is_revoked
#pragma weak MPIX_Comm_get_failed
#pragma weak MPIX_Comm_ack_failed
#pragma weak MPIX_Comm_agree
#pragma weak MPIX_Comm_iagree
#pragma weak MPIX_Comm_shrink
#pragma weak MPIX_Comm_ishrink
#pragma weak MPIX_Comm_failure_ack
#pragma weak MPIX_Comm_failure_get_acked
#pragma weak MPIX_Comm_repair

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define CALL(name, ...) F_IF_THERE(MPIX_Comm_##name, __VA_ARGS__)
#define ALSO(name, other) \
	extern __typeof__(mpix_comm_##name##_) other __attribute__((alias("mpix_comm_" #name "_")))
#define ALSO_08(name) ALSO(name, mpix_comm_##name##_f08_)
/* Names that the Forum has taken are MPI_ and MPIX_. */
#define ALSO_MPI(name)                  \
	ALSO_08(name);                  \
	ALSO(name, mpi_comm_##name##_); \
	ALSO(name, mpi_comm_##name##_f08_)

void
mpix_comm_revoke_(int *comm, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(revoke, MPI_Comm_fromint(*comm));
}
ALSO_MPI(revoke);

void
mpix_comm_is_revoked_(int *comm, int *flag, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(is_revoked, MPI_Comm_fromint(*comm), flag);
}
ALSO_MPI(is_revoked);

void
mpix_comm_get_failed_(int *comm, int *failedgrp, int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_Group group = MPI_GROUP_NULL;

	*ierror = CALL(get_failed, MPI_Comm_fromint(*comm), &group);
	if (!*ierror)
		*failedgrp = MPI_Group_toint(group);
}
ALSO_MPI(get_failed);

void
mpix_comm_ack_failed_(int *comm, int *num_to_ack, int *num_acked, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(ack_failed, MPI_Comm_fromint(*comm), *num_to_ack, num_acked);
}
ALSO_MPI(ack_failed);

void
mpix_comm_agree_(int *comm, int *flag, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(agree, MPI_Comm_fromint(*comm), flag);
}
ALSO_08(agree);

void
mpix_comm_iagree_(int *comm, int *flag, int *request, int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_Request r = MPI_REQUEST_NULL;

	*ierror = CALL(iagree, MPI_Comm_fromint(*comm), flag, &r);
	if (!*ierror)
		*request = MPI_Request_toint(r);
}
ALSO_08(iagree);

void
mpix_comm_shrink_(int *comm, int *newcomm, int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_Comm made = MPI_COMM_NULL;

	*ierror = CALL(shrink, MPI_Comm_fromint(*comm), &made);
	if (!*ierror)
		*newcomm = MPI_Comm_toint(made);
}
ALSO_08(shrink);

void
mpix_comm_failure_ack_(int *comm, int *ierror)
{
	F_OPTIONAL(ierror);
	*ierror = CALL(failure_ack, MPI_Comm_fromint(*comm));
}
ALSO_08(failure_ack);

void
mpix_comm_failure_get_acked_(int *comm, int *failedgrp, int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_Group group = MPI_GROUP_NULL;

	*ierror = CALL(failure_get_acked, MPI_Comm_fromint(*comm), &group);
	if (!*ierror)
		*failedgrp = MPI_Group_toint(group);
}
ALSO_08(failure_get_acked);

void
mpix_comm_ishrink_(int *comm, int *newcomm, int *request, int *ierror)
{
	F_OPTIONAL(ierror);
	struct f_call call = {0};
	MPI_Comm *made = f_made_later(&call, newcomm);
	MPI_Request r = MPI_REQUEST_NULL;

	*ierror = made ? CALL(ishrink, MPI_Comm_fromint(*comm), made, &r) : f_fail(MPI_ERR_NO_MEM);
	if (!*ierror)
		*request = MPI_Request_toint(r);
	f_call_later(&call, *ierror, *request, false);
}
ALSO_08(ishrink);

void
mpix_comm_repair_(int *comm, int *same_size, int *i_am_new, int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_Comm same = MPI_COMM_NULL;

	*ierror = CALL(repair, MPI_Comm_fromint(*comm), &same, i_am_new);
	if (!*ierror)
		*same_size = MPI_Comm_toint(same);
}
ALSO_08(repair);
