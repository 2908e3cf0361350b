! SPDX-License-Identifier: BSD-2-Clause
! mpi-ext.h for programs with mpif.h, and the numbers of the two modules.  As there.
      integer MPIX_ERR_PROC_FAILED
      parameter (MPIX_ERR_PROC_FAILED=16129)
      integer MPIX_ERR_PROC_FAILED_PENDING
      parameter (MPIX_ERR_PROC_FAILED_PENDING=16130)
      integer MPIX_ERR_REVOKED
      parameter (MPIX_ERR_REVOKED=16131)
      integer MPIX_ERR_AGAIN
      parameter (MPIX_ERR_AGAIN=16132)
      integer MPI_ERR_PROC_FAILED
      parameter (MPI_ERR_PROC_FAILED=MPIX_ERR_PROC_FAILED)
      integer MPI_ERR_PROC_FAILED_PENDING
      parameter (MPI_ERR_PROC_FAILED_PENDING=16130)
      integer MPI_ERR_REVOKED
      parameter (MPI_ERR_REVOKED=MPIX_ERR_REVOKED)
      integer MPIX_FT
      parameter (MPIX_FT=905)
      integer MPI_FT
      parameter (MPI_FT=MPIX_FT)
