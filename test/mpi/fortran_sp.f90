! SPDX-License-Identifier: BSD-2-Clause
! mpisp.h from Fortran: without a pipeline; and as `front` (mpisp_f08) and `back` (mpisp) of one,
! which the smoke scenario pipeline runs under mpisprun.
module seen_sp
  implicit none
  integer, parameter :: frames = 20
  integer :: bad = 0, done = 0, setups = 0, heard = 0
contains
  include 'fortran_check.inc'
end module

module back_stage
  use mpi
  use mpisp
  use seen_sp
  implicit none
contains
  subroutine setup(world, ierror)
    integer :: world, ierror
    setups = setups + 1
    call check(world == MPI_COMM_WORLD, 'the world that setup gets')
    ierror = MPI_SUCCESS
  end subroutine

  subroutine take(frame, again, ierror)
    integer(selected_int_kind(18)) :: frame
    logical :: again
    integer :: ierror, n
    call MPI_Recv(n, 1, MPI_INTEGER, MPISP_CLUSTER_IN, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call check(n == MPISP_Frame_number(frame), 'what the stage before sent')
    call check(MPISP_Frame_rank(frame) == 0 .and. MPISP_Frame_cluster(frame) >= 0, 'who made it')
    if (.not. again) done = done + 1
  end subroutine

  subroutine hear(kind, frame, text)
    integer :: kind
    integer(selected_int_kind(18)) :: frame
    character(len=*) :: text
    call check(kind >= MPISP_EVENT_MISSING .and. kind <= MPISP_EVENT_ASIDE, 'the kind of an event')
    call check(frame >= -1 .and. len(text) >= 0, 'what an event says')
    heard = heard + 1
  end subroutine

  subroutine run_back()
    integer :: ierror, kind, takeovers
    character(len=64) :: cluster
    call MPISP_Init(ierror)
    call MPISP_Self(kind, takeovers, cluster, ierror)
    call check(kind == MPISP_COMPUTE .and. takeovers == 0, 'MPISP_Self')
    call check(cluster == 'back', 'the cluster that MPISP_Self names')
    call MPISP_On_event(hear, ierror)
    call check(ierror == MPI_SUCCESS, 'MPISP_On_event')
    call MPISP_Run(MPI_COMM_WORLD, setup, take, ierror)
    call check(ierror == MPI_SUCCESS, 'MPISP_Run')
    call check(setups == 1 .and. done == frames, 'one setup and all frames')
    call MPI_Finalize(ierror)
  end subroutine
end module

module front_stage
  use mpi_f08
  use mpisp_f08
  use seen_sp
  implicit none
contains
  ! Always the last one.
  subroutine pick(c, n, out, bytes, tag, picked)
    integer :: n, tag, picked
    type(MPISP_Candidate) :: c(n)
    logical :: out
    integer(selected_int_kind(18)) :: bytes
    call check(out .and. n >= 1 .and. n <= 2 .and. bytes == 0 .and. tag == 0, 'what pick is asked')
    call check(all(c%weight >= 0), 'candidates')
    heard = heard + 1
    picked = n
  end subroutine

  subroutine run_front()
    integer(selected_int_kind(18)) :: frame
    integer :: n, rc
    logical :: again
    character(len=64) :: name
    type(MPI_Comm) :: world
    call MPISP_Init()
    call MPISP_World_count(n)
    call check(n == 1, 'MPISP_World_count')
    call MPISP_World(0, world, name)
    call check(world == MPI_COMM_WORLD .and. name == 'front', 'MPISP_World')
    call MPISP_World_use(MPISP_WORLD_AUTO)
    call MPISP_Policy(MPI_COMM_WORLD, pick)
    call MPISP_Alive()
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPISP_Chain('add front back and more', rc)
    call check(rc /= MPI_SUCCESS, 'a chain that cannot be')
    do
      call MPISP_Frame_begin(MPI_COMM_WORLD, frame, again)
      if (frame == MPISP_FRAMES_END) exit
      n = int(MPISP_Frame_number(frame))
      call MPI_Send(n, 1, MPI_INTEGER, MPISP_CLUSTER_OUT, 7, MPI_COMM_WORLD)
      call MPISP_Frame_end(MPI_COMM_WORLD, frame)
      if (n == frames - 1) exit
    end do
    call check(heard > 0, 'pick was asked')
    call MPI_Finalize()
  end subroutine

  subroutine run_alone()
    integer :: kind, takeovers, n, rc, rank
    character(len=8) :: cluster
    type(MPI_Comm) :: world
    logical :: new
    call MPISP_Init()
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    cluster = 'nothing'
    call MPISP_Self(kind, takeovers, cluster)
    call check(kind == MPISP_ALONE .and. takeovers == 0 .and. cluster == '', 'MPISP_Self alone')
    call MPISP_World_count(n, rc)
    call check(rc == MPI_ERR_OTHER, 'MPISP_World_count alone')
    call MPISP_World_use(MPISP_WORLD_PREV, rc)
    call check(rc == MPI_ERR_UNSUPPORTED_OPERATION, 'MPISP_World_use alone')
    call MPISP_Comm_repair(MPI_COMM_WORLD, world, new, rc)
    call check(rc == MPI_ERR_UNSUPPORTED_OPERATION, 'MPISP_Comm_repair alone')
    call MPISP_Run(MPI_COMM_WORLD, ierror=rc)
    call check(rc == MPI_ERR_OTHER, 'MPISP_Run alone')
    call MPI_Allreduce(bad, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    bad = n
    if (rank > 0) done = -1
    call MPI_Finalize()
  end subroutine
end module

program fortran_sp
  use back_stage, only: run_back
  use front_stage, only: run_front, run_alone
  use seen_sp
  implicit none
  character(len=8) :: stage
  call get_command_argument(1, stage)
  if (stage == 'front') then
    call run_front()
  else if (stage == 'back') then
    call run_back()
  else
    call run_alone()
  end if
  if (bad == 0 .and. done >= 0) print '(a)', 'ok'
  if (bad > 0) stop 1
end program
