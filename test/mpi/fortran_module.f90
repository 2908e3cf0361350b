! SPDX-License-Identifier: BSD-2-Clause
! Module mpi: explicit interfaces, kinds, callbacks, strings, topologies, persistent and
! non-blocking collectives; and pmpi_: MPI_Barrier is replaced by one of the program.
module seen
  implicit none
  integer :: copies = 0, deletes = 0, queries = 0, frees = 0, bad = 0, win_errors = 0
contains
  include 'fortran_check.inc'

  subroutine copy(comm, keyval, extra, from, to, flag, ierror)
    use mpi
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, from, to
    logical :: flag
    copies = copies + 1
    to = from + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine remove(comm, keyval, val, extra, ierror)
    use mpi
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: val, extra
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine count_error(win, code)
    integer :: win, code
    if (win /= 0 .and. code /= 0) win_errors = win_errors + 1
  end subroutine

  subroutine query(extra, status, ierror)
    use mpi
    integer :: status(MPI_STATUS_SIZE), ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra
    queries = queries + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra), ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = 5
    status(MPI_TAG) = 6
  end subroutine

  subroutine release(extra, ierror)
    use mpi
    integer :: ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra
    frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra, complete, ierror)
    use mpi
    integer :: ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    ierror = MPI_SUCCESS
  end subroutine

  subroutine larger(a, b, n, t)
    integer :: n, t
    real(8) :: a(n), b(n)
    b = max(a, b)
  end subroutine
end module

program modules
  use mpi
  use seen
  implicit none
  integer :: ierror, rank, n, provided
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  call check(provided >= MPI_THREAD_FUNNELED, 'thread level')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call types()
  call attributes()
  call texts()
  call topologies()
  call collectives()
  call generalized()
  call windows()
  call MPI_Allreduce(MPI_IN_PLACE, bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. bad == 0) print '(a)', 'ok'
  call MPI_Finalize(ierror)
  if (bad /= 0) stop 1
contains

  subroutine types()
    type pair
      sequence
      integer :: i
      real(8) :: x(3)
    end type
    type(pair) :: p, q
    integer(kind=MPI_ADDRESS_KIND) :: at(2), lb, extent
    integer :: t, t2, blocks(2), kinds(2), size, ints(8), dts(8), ni, na, nd, combiner
    integer(kind=MPI_ADDRESS_KIND) :: addrs(8)
    complex(8) :: z(2)
    integer(8) :: big(3), sum8(3)

    p%i = 40 + rank
    p%x = [1d0, 2d0, 3d0] * rank
    call MPI_Get_address(p%i, at(1), ierror)
    call MPI_Get_address(p%x, at(2), ierror)
    blocks = [1, 3]
    kinds = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
    ! absolute addresses: what MPI_BOTTOM is for
    call MPI_Type_create_struct(2, blocks, at, kinds, t, ierror)
    call MPI_Type_commit(t, ierror)
    at(2) = MPI_Aint_diff(at(2), at(1))
    at(1) = 0
    call MPI_Type_create_struct(2, blocks, at, kinds, t2, ierror)
    call MPI_Type_commit(t2, ierror)
    call MPI_Sendrecv(MPI_BOTTOM, 1, t, mod(rank + 1, n), 1, q%i, 1, t2, mod(rank - 1 + n, n), 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call check(q%i == 40 + mod(rank - 1 + n, n) .and. q%x(3) == 3d0 * mod(rank - 1 + n, n), 'MPI_BOTTOM')
    call MPI_Type_get_envelope(t2, ni, na, nd, combiner, ierror)
    call check(ni == 3 .and. na == 2 .and. nd == 2 .and. combiner == MPI_COMBINER_STRUCT, 'envelope')
    call MPI_Type_get_contents(t2, 8, 8, 8, ints, addrs, dts, ierror)
    call check(ints(1) == 2 .and. dts(1) == MPI_INTEGER .and. dts(2) == MPI_DOUBLE_PRECISION, 'contents')
    call MPI_Type_free(t, ierror)
    call MPI_Type_free(t2, ierror)
    call check(t == MPI_DATATYPE_NULL, 'a freed type is null')
    call MPI_Type_create_f90_real(12, MPI_UNDEFINED, t, ierror)
    call MPI_Type_size(t, size, ierror)
    call check(size == 8, 'f90 real')
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, t, ierror)
    big = 2_8**40
    call MPI_Allreduce(big, sum8, 3, t, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(all(sum8 == n * 2_8**40), 'integer*8')
    z = (1d0, -1d0)
    call MPI_Allreduce(MPI_IN_PLACE, z, 2, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(real(z(2)) == n .and. aimag(z(2)) == -n, 'complex')
    call MPI_Sizeof(z, size, ierror)
    call check(size == 16, 'sizeof complex')
    call MPI_Sizeof(size, size, ierror)
    call check(size == 4, 'sizeof integer')
    call MPI_Type_get_extent(MPI_2DOUBLE_PRECISION, lb, extent, ierror)
    call check(lb == 0 .and. extent == 16, 'pair type')
  end subroutine

  subroutine attributes()
    integer :: key, comm
    integer(kind=MPI_ADDRESS_KIND) :: extra, val
    logical :: flag
    extra = 1000
    call MPI_Comm_create_keyval(copy, remove, key, extra, ierror)
    val = 2_8**40
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, val, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, key, val, flag, ierror)
    call check(flag .and. val == 2_8**40 + 1000 .and. copies == 1, 'attribute copied')
    call MPI_Comm_free(comm, ierror)
    call check(deletes == 1, 'attribute deleted')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, val, flag, ierror)
    call check(flag .and. val >= 32767, 'tag_ub')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
    call MPI_Comm_free_keyval(key, ierror)
    call check(key == MPI_KEYVAL_INVALID .and. deletes == 2, 'key freed')
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, extra, ierror)
    call MPI_Type_set_attr(MPI_REAL, key, 7_MPI_ADDRESS_KIND, ierror)
    call MPI_Type_get_attr(MPI_REAL, key, val, flag, ierror)
    call check(flag .and. val == 7, 'type attribute')
    call MPI_Type_delete_attr(MPI_REAL, key, ierror)
    call MPI_Type_free_keyval(key, ierror)
  end subroutine

  subroutine texts()
    integer :: info, length, comm, keys
    logical :: flag
    character(len=20) :: val
    character(len=4) :: short
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=MPI_MAX_INFO_KEY) :: key
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, ' colour ', ' deep blue ', ierror)
    call MPI_Info_get(info, 'colour', 20, val, flag, ierror)
    call check(flag .and. val == 'deep blue', 'info')
    call MPI_Info_get(info, 'colour', 4, short, flag, ierror)
    call check(flag .and. short == 'deep', 'info, cut')
    call MPI_Info_get_valuelen(info, 'colour', length, flag, ierror)
    call check(length == 9, 'valuelen')
    length = 20
    call MPI_Info_get_string(info, 'colour', length, val, flag, ierror)
    call check(flag .and. length == 9 .and. val == 'deep blue', 'info_get_string')
    call MPI_Info_get(info, 'taste', 20, val, flag, ierror)
    call check(.not. flag, 'no such key')
    call MPI_Info_get_nkeys(info, keys, ierror)
    call MPI_Info_get_nthkey(info, 0, key, ierror)
    call check(keys == 1 .and. key == 'colour', 'nth key')
    call MPI_Info_free(info, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_set_name(comm, 'my own', ierror)
    call MPI_Comm_get_name(comm, name, length, ierror)
    call check(length == 6 .and. name == 'my own', 'comm name')
    call MPI_Comm_free(comm, ierror)
    call MPI_Get_library_version(version, length, ierror)
    call check(length > 5 .and. len_trim(version) == length, 'library version')
  end subroutine

  subroutine topologies()
    integer :: cart, dims(1), coords(1), from, to, graph, ins, outs, neighbors(2)
    logical :: periods(1), weighted, back(1)
    integer :: got(2), mine(1), sendtypes(2), recvtypes(2), counts(2)
    integer(kind=MPI_ADDRESS_KIND) :: displs(2)
    dims = 0
    call MPI_Dims_create(n, 1, dims, ierror)
    periods = .true.
    call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., cart, ierror)
    call MPI_Cart_shift(cart, 0, 1, from, to, ierror)
    call check(to == mod(rank + 1, n), 'cart shift')
    call MPI_Cart_get(cart, 1, dims, back, coords, ierror)
    call check(back(1) .and. coords(1) == rank, 'cart get')
    counts = 1
    displs = [0, 4]
    sendtypes = MPI_INTEGER
    recvtypes = MPI_INTEGER
    neighbors = [rank * 10 + 1, rank * 10 + 2]
    call MPI_Neighbor_alltoallw(neighbors, counts, displs, sendtypes, got, counts, displs, recvtypes, cart, ierror)
    call check(mod(got(1), 10) >= 1 .and. got(1) / 10 == from .and. got(2) / 10 == to, 'neighbor_alltoallw')
    call MPI_Comm_free(cart, ierror)
    mine(1) = mod(rank + 1, n)
    coords(1) = mod(rank - 1 + n, n)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, coords, MPI_UNWEIGHTED, 1, mine, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph, ierror)
    call MPI_Dist_graph_neighbors_count(graph, ins, outs, weighted, ierror)
    call check(ins == 1 .and. outs == 1 .and. .not. weighted, 'dist graph')
    call MPI_Comm_free(graph, ierror)
  end subroutine

  subroutine collectives()
    integer :: req, op, i, types_of(n), counts(n), displs(n), statuses(MPI_STATUS_SIZE, 2), two(2)
    integer, allocatable :: all(:), to(:)
    real(8) :: x(4), y(4)
    logical :: flag
    allocate (all(n), to(n))
    call MPI_Iallgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, req, ierror)
    call MPI_Wait(req, MPI_STATUS_IGNORE, ierror)
    call check(all(n) == n - 1, 'iallgather')
    call MPI_Op_create(larger, .true., op, ierror)
    x = rank
    call MPI_Allreduce_init(x, y, 4, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD, MPI_INFO_NULL, req, ierror)
    do i = 1, 3
      x = rank + i
      call MPI_Start(req, ierror)
      call MPI_Wait(req, MPI_STATUS_IGNORE, ierror)
      call check(y(4) == n - 1 + i, 'persistent allreduce')
    end do
    call MPI_Request_free(req, ierror)
    call MPI_Op_free(op, ierror)
    types_of = MPI_INTEGER
    counts = 1
    displs = [(4 * i, i = 0, n - 1)]
    all = [(rank * 100 + i, i = 0, n - 1)]
    call MPI_Alltoallw(all, counts, displs, types_of, to, counts, displs, types_of, MPI_COMM_WORLD, ierror)
    call check(to(n) == (n - 1) * 100 + rank, 'alltoallw')
    call MPI_Alltoallw(MPI_IN_PLACE, counts, displs, types_of, to, counts, displs, types_of, MPI_COMM_WORLD, ierror)
    call check(to(n) == rank * 100 + n - 1, 'alltoallw in place')
    two = MPI_REQUEST_NULL
    if (rank == 0) then
      call MPI_Isend(rank, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, two(1), ierror)
      call MPI_Irecv(i, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, two(2), ierror)
    end if
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, two, flag, statuses, ierror)
    end do
    call check(rank /= 0 .or. statuses(MPI_SOURCE, 2) == 0, 'testall')
  end subroutine

  subroutine generalized()
    integer :: req, status(MPI_STATUS_SIZE), count
    integer(kind=MPI_ADDRESS_KIND) :: extra
    extra = 3
    call MPI_Grequest_start(query, release, cancel, extra, req, ierror)
    call MPI_Grequest_complete(req, ierror)
    call MPI_Wait(req, status, ierror)
    call MPI_Get_elements(status, MPI_INTEGER, count, ierror)
    call check(count == 3 .and. status(MPI_TAG) == 6 .and. queries == 1 .and. frees == 1, 'grequest')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call check(barriers() == 1, 'MPI_Barrier replaced, pmpi_barrier called')
  end subroutine

  subroutine windows()
    use, intrinsic :: iso_c_binding
    integer :: win, info, group, m, right, left, i, was, one, key, handler, unit, length
    integer, target :: mine(10)
    integer, pointer :: part(:)
    integer(kind=MPI_ADDRESS_KIND) :: bytes, val, disp, lowest
    type(c_ptr) :: base
    character(len=MPI_MAX_OBJECT_NAME) :: name
    logical :: flag
    right = mod(rank + 1, n)
    left = mod(rank + n - 1, n)
    bytes = 40
    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
    call c_f_pointer(base, part, [10])
    part = rank
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, val, flag, ierror)
    call check(flag .and. val == 40, 'MPI_WIN_SIZE')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, val, flag, ierror)
    call check(flag .and. val == 4, 'MPI_WIN_DISP_UNIT')
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, val, flag, ierror)
    call check(flag .and. val == MPI_WIN_FLAVOR_ALLOCATE, 'MPI_WIN_CREATE_FLAVOR')
    call MPI_Win_get_attr(win, MPI_WIN_BASE, val, flag, ierror)
    call check(flag .and. val == transfer(base, val), 'MPI_WIN_BASE')
    call MPI_Win_fence(0, win, ierror)
    mine = [(100 * rank + i, i = 1, 10)]
    disp = 2
    call MPI_Put(mine, 3, MPI_INTEGER, right, disp, 3, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call check(part(3) == 100 * left + 1 .and. part(5) == 100 * left + 3 .and. part(6) == rank, 'put')
    call MPI_Win_fence(0, win, ierror) ! nobody adds to it before all have looked
    call MPI_Accumulate(mine, 3, MPI_INTEGER, right, disp, 3, MPI_INTEGER, MPI_SUM, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call check(part(4) == 2 * (100 * left + 2), 'accumulate')
    one = 1
    disp = 0
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win, ierror)
    call MPI_Fetch_and_op(one, was, MPI_INTEGER, right, disp, MPI_SUM, win, ierror)
    call MPI_Win_unlock(right, win, ierror)
    call check(was == right, 'fetch_and_op')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call check(part(1) == rank + 1, 'what it left')
    call MPI_Win_set_name(win, 'part', ierror)
    call MPI_Win_get_name(win, name, length, ierror)
    call check(name == 'part' .and. length == 4, 'name of a window')
    call MPI_Win_get_group(win, group, ierror)
    call MPI_Group_size(group, m, ierror)
    call check(m == n, 'group of a window')
    call MPI_Group_free(group, ierror)
    call MPI_Win_get_info(win, info, ierror)
    call MPI_Info_free(info, ierror)
    deletes = 0
    val = 5
    call MPI_Win_create_keyval(MPI_WIN_DUP_FN, remove, key, val, ierror)
    call MPI_Win_set_attr(win, key, val, ierror)
    call MPI_Win_create_errhandler(count_error, handler, ierror)
    call MPI_Win_set_errhandler(win, handler, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Win_lock_all(0, win, ierror)
    disp = 9
    call MPI_Put(mine, 3, MPI_INTEGER, right, disp, 3, MPI_INTEGER, win, ierror)
    call MPI_Win_unlock_all(win, ierror)
    call check(win_errors == 1, 'error handler of a window')
    ! the lowest process, which may be on another node
    call MPI_Win_shared_query(win, 0, lowest, unit, base, ierror)
    call MPI_Win_shared_query(win, MPI_PROC_NULL, val, unit, base, ierror)
    call check(val == lowest .and. (val == 40 .or. (val == 0 .and. rank > 0)), 'shared_query of MPI_PROC_NULL')
    call MPI_Win_shared_query(win, rank, val, unit, base, ierror)
    call check(val == 40 .and. unit == 4, 'shared_query')
    call MPI_Win_free(win, ierror)
    call check(deletes == 1 .and. win == MPI_WIN_NULL, 'attributes of a window')
    bytes = 40
    call MPI_Win_create(mine, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  integer function barriers()
    integer :: count
    common /counted/ count
    barriers = count
  end function
end program

subroutine MPI_Barrier(comm, ierror)
  integer :: comm, ierror, count
  common /counted/ count
  count = count + 1
  call pmpi_barrier(comm, ierror)
end subroutine
