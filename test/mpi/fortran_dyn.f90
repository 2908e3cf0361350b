! SPDX-License-Identifier: BSD-2-Clause
! Spawning, ports and names from Fortran: mpi_f08, and module mpi in a subroutine of its own.  Who is
! started is this program again.
module seen_dyn
  implicit none
  integer :: bad = 0
contains
  include 'fortran_check.inc'
end module

program fortran_dyn
  use mpi_f08
  use seen_dyn
  implicit none
  type(MPI_Comm) :: parent, inter
  integer :: rank, n, total, codes(2), remote
  character(len=200) :: self, arg
  character(len=MPI_MAX_PORT_NAME) :: port, found
  character(len=64) :: name
  character(len=12) :: words(3)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call get_command_argument(0, self)
  call MPI_Comm_get_parent(parent)
  if (parent /= MPI_COMM_NULL) then
    call get_command_argument(2, arg)
    ! 2: two words, the second with a blank inside; 1 and 0: spawned by the other module
    if (command_argument_count() == 2) call check(arg == 'two words', 'arguments of a child')
    codes(1) = command_argument_count()
    call MPI_Reduce(codes(1), total, 1, MPI_INTEGER, MPI_SUM, 0, parent)
    call MPI_Comm_disconnect(parent)
    call check(parent == MPI_COMM_NULL, 'MPI_Comm_disconnect')
    call MPI_Finalize()
    if (bad > 0) stop 1
    stop
  end if

  words = [character(len=12) :: 'one', 'two words', ' ']
  codes = -1
  call MPI_Comm_spawn(trim(self), words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes)
  call check(all(codes == MPI_SUCCESS), 'codes of MPI_Comm_spawn')
  call MPI_Comm_remote_size(inter, remote)
  call check(remote == 2, 'MPI_Comm_spawn')
  call receive_sum(inter%MPI_VAL, 4)
  call MPI_Comm_disconnect(inter)
  call several(trim(self))

  if (rank == 0) then
    call MPI_Open_port(MPI_INFO_NULL, port)
    call check(port(1:5) == 'door:', 'MPI_Open_port')
    write (name, '(a,i0)') 'fortran dyn ', n
    call MPI_Publish_name(trim(name), MPI_INFO_NULL, port)
    call MPI_Lookup_name(trim(name), MPI_INFO_NULL, found)
    call check(found == port, 'MPI_Lookup_name')
    call MPI_Unpublish_name(trim(name), MPI_INFO_NULL, port)
    call MPI_Close_port(port)
  end if
  total = bad
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (rank == 0 .and. total == 0) print '(a)', 'ok'
  if (total > 0) stop 1
end program

subroutine receive_sum(inter, wanted)
  use mpi
  use seen_dyn
  implicit none
  integer :: inter, wanted, total, rank, root, ierror
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  root = merge(MPI_ROOT, MPI_PROC_NULL, rank == 0)
  total = 0
  call MPI_Reduce(0, total, 1, MPI_INTEGER, MPI_SUM, root, inter, ierror)
  call check(total == wanted .or. rank /= 0, 'what children say')
end subroutine

subroutine several(self)
  use mpi
  use seen_dyn
  implicit none
  character(len=*) :: self
  character(len=200) :: commands(2)
  character(len=12) :: words(2, 3)
  integer :: inter, codes(3), ierror, remote
  commands = self
  words(1, :) = [character(len=12) :: 'a', 'two words', ' ']
  words(2, :) = [character(len=12) :: 'b', ' ', ' ']
  call MPI_Comm_spawn_multiple(2, commands, words, [1, 2], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_WORLD, &
    inter, codes, ierror)
  call check(ierror == MPI_SUCCESS .and. all(codes == MPI_SUCCESS), 'MPI_Comm_spawn_multiple')
  call MPI_Comm_remote_size(inter, remote, ierror)
  call check(remote == 3, 'its size')
  call receive_sum(inter, 4)
  call MPI_Comm_disconnect(inter, ierror)
  call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
    MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE, ierror)
  call receive_sum(inter, 0)
  call MPI_Comm_disconnect(inter, ierror)
  call MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE, ierror)
  call receive_sum(inter, 0)
  call MPI_Comm_disconnect(inter, ierror)
end subroutine
