! SPDX-License-Identifier: BSD-2-Clause
! mpi-ext.h from Fortran: mpi_f08_ext, and mpi_ext in a subroutine of its own.  Nobody dies.
module seen_ft
  implicit none
  integer :: bad = 0
contains
  include 'fortran_check.inc'
end module

program fortran_ft
  use mpi_f08
  use mpi_f08_ext
  use seen_ft
  implicit none
  external :: with_mpi
  type(MPI_Comm) :: comm, comm_too, less
  type(MPI_Group) :: group
  type(MPI_Request) :: request
  integer :: n, size, flag, rc
  logical :: revoked
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  flag = 7
  call MPIX_Comm_agree(comm, flag)
  call check(flag == 7, 'MPIX_Comm_agree')
  call MPIX_Comm_iagree(comm, flag, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call check(flag == 7, 'MPIX_Comm_iagree')
  call MPIX_Comm_get_failed(comm, group)
  call MPI_Group_size(group, n)
  call check(n == 0, 'MPIX_Comm_get_failed')
  call MPI_Comm_ack_failed(comm, 3, n)
  call check(n == 0, 'MPI_Comm_ack_failed')
  call MPIX_Comm_failure_ack(comm)
  call MPIX_Comm_failure_get_acked(comm, group)
  call MPI_Group_size(group, n)
  call check(n == 0, 'MPIX_Comm_failure_get_acked')
  call MPI_Comm_is_revoked(comm, revoked)
  call check(.not. revoked, 'MPI_Comm_is_revoked before')
  call MPI_Barrier(MPI_COMM_WORLD) ! others revoke it
  call MPIX_Comm_revoke(comm)
  call MPIX_Comm_is_revoked(comm, revoked)
  call check(revoked, 'MPIX_Comm_is_revoked after')
  call MPI_Barrier(comm, rc)
  call check(rc == MPIX_ERR_REVOKED .and. rc == MPI_ERR_REVOKED, 'MPI_Barrier of a revoked one')
  less = MPI_COMM_NULL
  call MPIX_Comm_ishrink(comm, less, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Comm_size(less, n)
  call check(n == size, 'MPIX_Comm_ishrink')
  call with_mpi(less%MPI_VAL, size)
  call MPIX_Comm_repair(less, comm_too, revoked, rc)
  call check(rc == MPI_ERR_COMM, 'MPIX_Comm_repair of another communicator')
  call MPI_Comm_free(less)
  call MPI_Comm_free(comm)
  call MPI_Allreduce(bad, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Comm_rank(MPI_COMM_WORLD, size)
  if (size == 0 .and. n == 0) print '(a)', 'ok'
  call MPI_Finalize()
  if (n > 0) stop 1
end program

subroutine with_mpi(comm, size)
  use mpi
  use mpi_ext
  use seen_ft
  implicit none
  integer :: comm, size, less, n, ierror
  logical :: revoked
  call MPI_Comm_revoke(comm, ierror)
  call MPIX_Comm_is_revoked(comm, revoked, ierror)
  call check(revoked, 'MPIX_Comm_is_revoked of module mpi_ext')
  call MPIX_Comm_shrink(comm, less, ierror)
  call check(ierror == MPI_SUCCESS, 'MPIX_Comm_shrink of module mpi_ext')
  call MPI_Comm_size(less, n, ierror)
  call check(n == size, 'the size of what it made')
  call MPI_Comm_free(less, ierror)
  ! Nobody but mpispd has new processes for those that died.
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPIX_Comm_repair(MPI_COMM_WORLD, less, revoked, ierror)
  call check(ierror == MPI_ERR_UNSUPPORTED_OPERATION, 'MPIX_Comm_repair of module mpi_ext')
end subroutine
