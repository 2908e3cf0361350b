! SPDX-License-Identifier: BSD-2-Clause
! Module mpi_f08: sections of arrays with gaps as buffers, in every kind of call.  What a call
! must not touch is looked at each time: arrays are filled with -1 between the elements.
module expect
  use mpi_f08
  implicit none
  integer :: bad = 0
contains
  include 'fortran_check.inc'
end module

program sections
  use mpi_f08
  use expect
  implicit none
  integer :: rank, n, i
  integer :: a(12, 10, 4), b(12, 10, 4)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  a = reshape([(i + 1000 * rank, i = 1, size(a))], shape(a))
  call shapes()
  call partly()
  call own_types()
  call persistent()
  call collectives()
  call reductions()
  call later()
  call started_again()
  call windows()
  call files()
  call packed()
  call partitions()
  call refused()
  call MPI_Allreduce(MPI_IN_PLACE, bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. bad == 0) print '(a)', 'ok'
  call MPI_Finalize()
  if (bad /= 0) error stop
contains
  ! One section to another of the same size but another shape.
  subroutine shapes()
    type(MPI_Request) :: reqs(2)
    complex(8) :: z(9), y(3)
    character(len=5) :: s(6), r(6)
    b = -1
    call MPI_Irecv(b(2:11:3, 10:1:-4, ::3), 24, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, reqs(1))
    call MPI_Isend(a(12:1:-2, 3:9:4, 2:3), 24, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, reqs(2))
    call MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE)
    call check(all(reshape(b(2:11:3, 10:1:-4, ::3), [24]) == reshape(a(12:1:-2, 3:9:4, 2:3), [24])), 'three dimensions')
    call check(count(b == -1) == size(b) - 24, 'between three dimensions')
    b = -1
    call MPI_Sendrecv(a(5, :, 2), 10, MPI_INTEGER, rank, 2, b(:10, 1, 1), 10, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(all(b(:10, 1, 1) == a(5, :, 2)) .and. count(b /= -1) == 10, 'a row')
    z = [(cmplx(i, -i, 8), i = 1, 9)]
    call MPI_Sendrecv(z(9:1:-4), 6, MPI_REAL8, rank, 3, y, 3, MPI_COMPLEX16, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(y == z(9:1:-4)), 'two numbers in an element')
    s = ['abcde', 'fghij', 'klmno', 'pqrst', 'uvwxy', 'z    ']
    r = '-'
    call MPI_Sendrecv(s(1:5:2), 15, MPI_CHARACTER, rank, 4, r(6:1:-2), 15, MPI_CHARACTER, rank, 4, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(all(r == ['-    ', 'uvwxy', '-    ', 'klmno', '-    ', 'abcde']), 'strings')
    b = -1
    if (rank == 0) b(::5, 2, 2) = 7
    call MPI_Bcast(b(::5, 2, 2), 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(b(::5, 2, 2) == 7) .and. count(b /= -1) == 3, 'MPI_Bcast')
    b = a
    call MPI_Sendrecv_replace(b(1, :, 1), 10_MPI_COUNT_KIND, MPI_INTEGER, modulo(rank + 1, n), 5, modulo(rank - 1, n), 5, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b(1, :, 1) == a(1, :, 1) + 1000 * (modulo(rank - 1, n) - rank)), 'MPI_Sendrecv_replace')
    call check(all(b(2:, :, :) == a(2:, :, :)), 'around MPI_Sendrecv_replace')
  end subroutine

  ! Fewer elements than the section has, in any shape of a rest.
  subroutine partly()
    integer :: m, flat(24), want(24)
    type(MPI_Status) :: status
    do m = 0, 24
      b = -1
      flat = -1
      want = reshape(a(2:8:2, 1:9:4, 1:4:3), [24])
      call MPI_Sendrecv(a(2:8:2, 1:9:4, 1:4:3), m, MPI_INTEGER, rank, 1, flat, 24, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status)
      call check(all(flat(:m) == want(:m)) .and. all(flat(m + 1:) == -1), 'a part of a section sent')
      call MPI_Sendrecv(want, m, MPI_INTEGER, rank, 1, b(2:8:2, 1:9:4, 1:4:3), 24, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status)
      flat = reshape(b(2:8:2, 1:9:4, 1:4:3), [24])
      call check(all(flat(:m) == want(:m)) .and. count(b /= -1) == m, 'a part of a section received')
      call MPI_Get_count(status, MPI_INTEGER, i)
      call check(i == m, 'a status of a section')
    end do
  end subroutine

  ! Datatypes of the program's, and pairs, over what a section names.
  subroutine own_types()
    type(MPI_Datatype) :: t, u
    integer :: flat(40), to(40), pair(4, 3)
    real(8) :: x(4, 6)
    integer :: high
    call MPI_Type_vector(3, 2, 3, MPI_INTEGER, t)
    call MPI_Type_create_resized(t, 0_MPI_ADDRESS_KIND, 40_MPI_ADDRESS_KIND, u)
    call MPI_Type_commit(u)
    flat = reshape(a(1:8:2, 1:10, 2), [40])
    to = -1
    call MPI_Sendrecv(flat, 4, u, rank, 1, to, 4, u, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    b = -1
    call MPI_Sendrecv(a(1:8:2, 1:10, 2), 4, u, rank, 1, b(3:12:3, 10:1:-1, 1), 4, u, rank, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(all(reshape(b(3:12:3, 10:1:-1, 1), [40]) == to) .and. count(b /= -1) == 24, 'a vector over a section')
    call MPI_Type_free(t)
    call MPI_Type_free(u)
    pair = -1
    call MPI_Sendrecv(a(1:12:5, 1, 1), 1, MPI_2INTEGER, rank, 1, pair(2, :), 1, MPI_2INTEGER, rank, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(all(pair(2, :) == [a(1, 1, 1), a(6, 1, 1), -1]), 'a datatype larger than an element')
    call MPI_Type_create_struct(2, [1, 1], [0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND], [MPI_REAL8, MPI_INTEGER], t)
    call MPI_Type_commit(t)
    x = -1
    high = int(shiftr(transfer(x(1, 1), 0_8), 32))
    call MPI_Sendrecv(a(1:12:2, 1, 1), 1, t, rank, 1, x(3, :), 1, t, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(transfer(x(3, 1), [0, 0]) == a(1:3:2, 1, 1)), 'a structure over a section')
    call check(all(transfer(x(3, 3), [0, 0]) == [a(9, 1, 1), high]) .and. all(x(3, 4:) == -1) .and. x(3, 2) == -1, &
      'the rest of a structure')
    call MPI_Type_free(t)
  end subroutine

  subroutine persistent()
    type(MPI_Request) :: reqs(2)
    integer :: round
    call MPI_Recv_init(b(7, 1:10:3, 3), 4, MPI_INTEGER, rank, 6, MPI_COMM_WORLD, reqs(1))
    call MPI_Send_init(a(1:10:3, 4, 4), 4, MPI_INTEGER, rank, 6, MPI_COMM_WORLD, reqs(2))
    do round = 1, 2
      b = -1
      a(1, 4, 4) = a(1, 4, 4) + 1
      call MPI_Startall(2, reqs)
      call MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE)
      call check(all(b(7, 1:10:3, 3) == a(1:10:3, 4, 4)) .and. count(b /= -1) == 4, 'persistent')
    end do
    a(1, 4, 4) = a(1, 4, 4) - 2
    call MPI_Request_free(reqs(1))
    call MPI_Request_free(reqs(2))
  end subroutine

  subroutine collectives()
    integer :: all_of(3, 2 * n), mine(2, 5), displs(n), counts(n), p, got(3, 4)
    all_of = -1
    call MPI_Allgather(a(1:4:3, 2, 1), 2, MPI_INTEGER, all_of(2, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(all_of(2, :) == [(a(1:4:3, 2, 1) + 1000 * (p - rank), p = 0, n - 1)]), 'MPI_Allgather')
    call check(all(all_of(1::2, :) == -1), 'around MPI_Allgather')
    all_of = -1
    counts = 1
    displs = [(2 * (n - 1 - p), p = 0, n - 1)]
    call MPI_Gatherv(rank, 1, MPI_INTEGER, all_of(3, :), counts, displs, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 0) call check(all(all_of(3, 1::2) == [(n - 1 - p, p = 0, n - 1)]) .and. count(all_of /= -1) == n, 'MPI_Gatherv')
    all_of(1, :) = [(p, p = 1, 2 * n)]
    mine = -1
    call MPI_Scatter(all_of(1, :), 2, MPI_INTEGER, mine(1, 2:5:3), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(mine(1, 2:5:3) == 2 * rank + [1, 2]) .and. count(mine /= -1) == 2, 'MPI_Scatter')
    all_of(1, :) = [(100 * rank + p / 2, p = 0, 2 * n - 1)]
    all_of(2:, :) = -1
    call MPI_Alltoall(all_of(1, :), 2, MPI_INTEGER, all_of(3, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(all_of(3, :) == [(100 * (p / 2) + rank, p = 0, 2 * n - 1)]) .and. all(all_of(2, :) == -1), 'MPI_Alltoall')
    got = -1
    call MPI_Sendrecv(a(3, 1:4, 1), 4, MPI_INTEGER, rank, 0, got(1, :), 4, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(all(got(1, :) == a(3, 1:4, 1)) .and. all(got(2:, :) == -1), 'an automatic array')
  end subroutine

  integer function total(x)
    integer, intent(in) :: x
    total = n * (x - 1000 * rank) + 1000 * n * (n - 1) / 2
  end function

  subroutine reductions()
    integer :: j
    b = -1
    call MPI_Allreduce(a(1:12:4, 1, 1), b(2, 2:6:2, 2), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(b(2, 2:6:2, 2) == [(total(a(j, 1, 1)), j = 1, 9, 4)]) .and. count(b /= -1) == 3, 'MPI_Allreduce')
    b(2, 2:6:2, 2) = rank
    call MPI_Allreduce(MPI_IN_PLACE, b(2, 2:6:2, 2), 2_MPI_COUNT_KIND, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call check(all(b(2, 2:6:2, 2) == [n - 1, n - 1, rank]), 'MPI_Allreduce in place')
    call MPI_Scan(a(12:1:-6, 1, 1), b(4:5, 1, 1), 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call check(all(b(4:5, 1, 1) == a(12:1:-6, 1, 1)), 'MPI_Scan')
    b(1, 1:3, 1) = [1, 2, 3]
    b(3, 1:3, 1) = [3, 2, 1]
    call MPI_Reduce_local(b(1, 1:3, 1), b(3, 1:3, 1), 3, MPI_INTEGER, MPI_PROD)
    call check(all(b(3, 1:3, 1) == [3, 4, 3]) .and. b(2, 1, 1) == -1, 'MPI_Reduce_local')
  end subroutine

  ! Non-blocking: what is not part of the call may be used meanwhile, of the same section too.
  subroutine later()
    type(MPI_Request) :: reqs(3)
    integer :: j, index, counts(n), displs(n)
    integer, asynchronous :: rows(4, 3 * n)
    logical :: flag
    b = -1
    call MPI_Iallreduce(a(1, 1:9:2, 1), b(1, 1:9:2, 1), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, reqs(1))
    b(1, 9, 1) = 55
    b(2, :, 1) = 66
    call MPI_Iallreduce(a(3, 1:9:2, 1), b(3, 1:9:2, 1), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, reqs(2))
    reqs(3) = MPI_REQUEST_NULL
    call MPI_Waitany(3, reqs, index, MPI_STATUS_IGNORE)
    call MPI_Waitall(3, reqs, MPI_STATUSES_IGNORE)
    call check(all(b(1, 1:9:2, 1) == [(total(a(1, j, 1)), j = 1, 7, 2), 55]), 'MPI_Iallreduce')
    call check(all(b(3, 1:9:2, 1) == [(total(a(3, j, 1)), j = 1, 9, 2)]) .and. all(b(2, :, 1) == 66), 'two MPI_Iallreduces')
    rows = -1
    counts = 2
    displs = [(3 * j, j = 0, n - 1)]
    call MPI_Iallgatherv(a(1:2, 1, 1), 2, MPI_INTEGER, rows(2, :), counts, displs, MPI_INTEGER, MPI_COMM_WORLD, reqs(1))
    rows(2, 3::3) = 77
    do
      call MPI_Request_get_status(reqs(1), flag, MPI_STATUS_IGNORE)
      if (flag) exit
    end do
    call check(all(rows(2, 1::3) == [(1 + 1000 * j, j = 0, n - 1)]), 'MPI_Request_get_status')
    rows(2, 1) = 88
    call MPI_Test(reqs(1), flag, MPI_STATUS_IGNORE)
    call check(flag .and. rows(2, 1) == 88 .and. all(rows(2, 2::3) == [(2 + 1000 * j, j = 0, n - 1)]), 'MPI_Iallgatherv')
    call check(all(rows(2, 3::3) == 77) .and. all(rows(1, :) == -1) .and. all(rows(3:, :) == -1), 'between MPI_Iallgatherv')
  end subroutine

  subroutine started_again()
    type(MPI_Request) :: req
    integer :: x(2, 3), y(2, 3), round
    logical :: flag
    y = -1
    call MPI_Allreduce_init(x(1, :), y(2, :), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    do round = 1, 3
      x = round
      call MPI_Start(req)
      if (round == 2) then
        flag = .false.
        do while (.not. flag)
          call MPI_Test(req, flag, MPI_STATUS_IGNORE)
        end do
      else
        call MPI_Wait(req, MPI_STATUS_IGNORE)
      end if
      call check(all(y(2, :) == n * round) .and. all(y(1, :) == -1), 'MPI_Allreduce_init')
      y(2, :) = 0
      call MPI_Wait(req, MPI_STATUS_IGNORE)
      call check(all(y(2, :) == 0), 'a request that is not active')
    end do
    call MPI_Request_free(req)
  end subroutine

  subroutine windows()
    type(MPI_Win) :: win
    type(MPI_Request) :: req
    type(MPI_Datatype) :: t
    integer :: memory(10), next
    memory = 0
    next = modulo(rank + 1, n)
    call MPI_Win_create(memory, 40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(2, 1:9:4, 1), 3, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(all(memory(2:4) == a(2, 1:9:4, 1) + 1000 * (modulo(rank - 1, n) - rank)), 'MPI_Put')
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(a(2, 1:9:4, 1), 3_MPI_COUNT_KIND, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 3_MPI_COUNT_KIND, &
      MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(all(memory(2:4) == 2 * (a(2, 1:9:4, 1) + 1000 * (modulo(rank - 1, n) - rank))), 'MPI_Accumulate')
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, t)
    call MPI_Type_commit(t)
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(a(2, 1:9:4, 1), 1, t, rank, 6_MPI_ADDRESS_KIND, 2, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(all(memory(7:8) == a(2, 1:9:8, 1)), 'MPI_Accumulate of a datatype over a section')
    call MPI_Type_free(t)
    b = -1
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)
    call MPI_Rget(b(3, 8:1:-3, 4), 3, MPI_INTEGER, rank, 1_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win, req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call MPI_Win_unlock(rank, win)
    call check(all(b(3, 8:1:-3, 4) == memory(2:4)) .and. count(b /= -1) == 3, 'MPI_Rget')
    call MPI_Win_free(win)
  end subroutine

  subroutine files()
    type(MPI_File) :: fh
    character(len=40) :: name
    write (name, '(a,i0)') '/tmp/fortran_f08_sections.data.', n
    call MPI_File_open(MPI_COMM_WORLD, name, ior(ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_MODE_DELETE_ON_CLOSE), &
      MPI_INFO_NULL, fh)
    call MPI_File_set_view(fh, 40_MPI_OFFSET_KIND * rank, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    call MPI_File_write_all_begin(fh, a(4, :, 1), 10, MPI_INTEGER)
    call MPI_File_write_all_end(fh, a(4, :, 1), MPI_STATUS_IGNORE)
    b = -1
    call MPI_File_read_at_all(fh, 2_MPI_OFFSET_KIND, b(11:1:-5, 6, 2:3), 6, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(reshape(b(11:1:-5, 6, 2:3), [6]) == a(4, 3:8, 1)) .and. count(b /= -1) == 6, 'files')
    call MPI_File_close(fh)
  end subroutine

  subroutine packed()
    integer :: at, room(2, 6)
    integer(kind=MPI_ADDRESS_KIND) :: place
    room = -1
    at = 4
    call MPI_Pack(a(1:9:4, 1, 1), 3, MPI_INTEGER, room(1, :), 24, at, MPI_COMM_WORLD)
    call check(at == 16 .and. all(room(1, :) == [-1, a(1:9:4, 1, 1), -1, -1]) .and. all(room(2, :) == -1), 'MPI_Pack')
    at = 8
    b = -1
    call MPI_Unpack(room(1, :), 24, at, b(1, 3:1:-2, 1), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(b(1, 3:1:-2, 1) == a(5:9:4, 1, 1)) .and. count(b /= -1) == 2, 'MPI_Unpack')
    place = 0
    call MPI_Pack_external('external32', a(1:9:4, 1, 1), 3, MPI_INTEGER, room(2, :), 24_MPI_ADDRESS_KIND, place)
    place = 0
    call MPI_Unpack_external('external32', room(2, :), 24_MPI_ADDRESS_KIND, place, b(5, 1:3, 1), 3, MPI_INTEGER)
    call check(all(b(5, 1:3, 1) == a(1:9:4, 1, 1)), 'MPI_Pack_external')
  end subroutine

  subroutine partitions()
    type(MPI_Request) :: reqs(2)
    b = -1
    call MPI_Psend_init(a(2, 1:10, 1), 5, 2_MPI_COUNT_KIND, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, reqs(1))
    call MPI_Precv_init(b(4, 10:1:-1, 2), 2, 5_MPI_COUNT_KIND, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, reqs(2))
    call MPI_Startall(2, reqs)
    call MPI_Pready_range(0, 4, reqs(1))
    call MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE)
    call check(all(b(4, 10:1:-1, 2) == a(2, 1:10, 1)) .and. count(b /= -1) == 10, 'partitions')
    call MPI_Request_free(reqs(1))
    call MPI_Request_free(reqs(2))
  end subroutine

  ! What goes beyond a section, and partitions that lie at different distances.
  subroutine refused()
    type(MPI_Request) :: req
    integer :: ierror, class
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Send(a(1:5:2, 1, 1), 4, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_BUFFER, 'more than a section')
    call MPI_Send(a(1:5:2, 1, 1), 2, MPI_2INTEGER, rank, 0, MPI_COMM_WORLD, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_BUFFER, 'pairs beyond a section')
    call MPI_Psend_init(a(1:5:2, 1:2, 1), 2, 3_MPI_COUNT_KIND, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, req, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_BUFFER, 'partitions at different distances')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine
end program
