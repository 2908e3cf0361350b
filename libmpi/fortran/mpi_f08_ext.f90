! SPDX-License-Identifier: BSD-2-Clause
! use mpi_f08_ext: mpi-ext.h for programs with `use mpi_f08`.
module mpi_f08_ext
  use mpi_f08_types
  implicit none
  include 'mpif-ext.h'
  interface MPIX_Comm_revoke
    subroutine MPIX_Comm_revoke_f08(comm, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPI_Comm_revoke
    subroutine MPI_Comm_revoke_f08(comm, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_is_revoked
    subroutine MPIX_Comm_is_revoked_f08(comm, flag, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      logical, intent(out) :: flag
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPI_Comm_is_revoked
    subroutine MPI_Comm_is_revoked_f08(comm, flag, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      logical, intent(out) :: flag
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_get_failed
    subroutine MPIX_Comm_get_failed_f08(comm, failedgrp, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Group), intent(out) :: failedgrp
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPI_Comm_get_failed
    subroutine MPI_Comm_get_failed_f08(comm, failedgrp, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Group), intent(out) :: failedgrp
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_ack_failed
    subroutine MPIX_Comm_ack_failed_f08(comm, num_to_ack, num_acked, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, intent(in) :: num_to_ack
      integer, intent(out) :: num_acked
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPI_Comm_ack_failed
    subroutine MPI_Comm_ack_failed_f08(comm, num_to_ack, num_acked, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, intent(in) :: num_to_ack
      integer, intent(out) :: num_acked
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_agree
    subroutine MPIX_Comm_agree_f08(comm, flag, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, intent(inout) :: flag
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_iagree
    subroutine MPIX_Comm_iagree_f08(comm, flag, request, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, asynchronous :: flag
      type(MPI_Request), intent(out) :: request
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_shrink
    subroutine MPIX_Comm_shrink_f08(comm, newcomm, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Comm), intent(out) :: newcomm
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_ishrink
    subroutine MPIX_Comm_ishrink_f08(comm, newcomm, request, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Comm), asynchronous :: newcomm
      type(MPI_Request), intent(out) :: request
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_failure_ack
    subroutine MPIX_Comm_failure_ack_f08(comm, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface MPIX_Comm_failure_get_acked
    subroutine MPIX_Comm_failure_get_acked_f08(comm, failedgrp, ierror)
      import
      type(MPI_Comm), intent(in) :: comm
      type(MPI_Group), intent(out) :: failedgrp
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
end module
