! SPDX-License-Identifier: BSD-2-Clause
! use mpi_ext: mpi-ext.h for programs with `use mpi`.
module mpi_ext
  implicit none
  include 'mpif-ext.h'
  interface
    subroutine MPIX_Comm_revoke(comm, ierror)
      integer :: comm
      integer :: ierror
    end subroutine
    subroutine MPI_Comm_revoke(comm, ierror)
      integer :: comm
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_is_revoked(comm, flag, ierror)
      integer :: comm
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPI_Comm_is_revoked(comm, flag, ierror)
      integer :: comm
      logical :: flag
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_get_failed(comm, failedgrp, ierror)
      integer :: comm
      integer :: failedgrp
      integer :: ierror
    end subroutine
    subroutine MPI_Comm_get_failed(comm, failedgrp, ierror)
      integer :: comm
      integer :: failedgrp
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_ack_failed(comm, num_to_ack, num_acked, ierror)
      integer :: comm
      integer :: num_to_ack
      integer :: num_acked
      integer :: ierror
    end subroutine
    subroutine MPI_Comm_ack_failed(comm, num_to_ack, num_acked, ierror)
      integer :: comm
      integer :: num_to_ack
      integer :: num_acked
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_agree(comm, flag, ierror)
      integer :: comm
      integer :: flag
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_iagree(comm, flag, request, ierror)
      integer :: comm
      integer :: flag
      integer :: request
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_shrink(comm, newcomm, ierror)
      integer :: comm
      integer :: newcomm
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_ishrink(comm, newcomm, request, ierror)
      integer :: comm
      integer :: newcomm
      integer :: request
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_failure_ack(comm, ierror)
      integer :: comm
      integer :: ierror
    end subroutine
    subroutine MPIX_Comm_failure_get_acked(comm, failedgrp, ierror)
      integer :: comm
      integer :: failedgrp
      integer :: ierror
    end subroutine
  end interface
end module
