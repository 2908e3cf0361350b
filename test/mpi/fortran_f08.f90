! SPDX-License-Identifier: BSD-2-Clause
! Module mpi_f08: handles and statuses, absent ierror, callbacks, attributes, strings, large counts,
! windows, files, addresses as C pointers; MPI_Barrier and MPI_Send are replaced by the program's.
module seen_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: copies = 0, deletes = 0, queries = 0, frees = 0, bad = 0, errors = 0, barriers = 0, sends = 0
contains
  include 'fortran_check.inc'

  subroutine copy(comm, keyval, extra, from, to, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, from, to
    logical :: flag
    copies = copies + 1
    to = from + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine remove(comm, keyval, val, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: val, extra
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine count_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_SELF .and. code /= MPI_SUCCESS) errors = errors + 1
  end subroutine

  subroutine query(extra, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 5
    ierror = MPI_SUCCESS
  end subroutine

  subroutine release(extra, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    frees = frees + 1
    extra = extra + 100
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine

  subroutine larger(in, inout, n, datatype)
    type(c_ptr), value :: in, inout
    integer :: n
    type(MPI_Datatype) :: datatype
    real(8), pointer :: a(:), b(:)
    call c_f_pointer(in, a, [n])
    call c_f_pointer(inout, b, [n])
    call check(datatype == MPI_REAL8, 'datatype of an operation')
    b = max(a, b)
  end subroutine

  subroutine larger_c(in, inout, n, datatype)
    type(c_ptr), value :: in, inout
    integer(kind=MPI_COUNT_KIND) :: n
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [n])
    call c_f_pointer(inout, b, [n])
    b = max(a, b)
  end subroutine
end module

program f08
  use mpi_f08
  use seen_f08
  implicit none
  integer :: ierror, rank, n, provided
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  call check(provided >= MPI_THREAD_FUNNELED, 'thread level')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call check(ierror == MPI_SUCCESS, 'ierror')
  call check(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'what is supported')
  call handles()
  call messages()
  call large()
  call operations()
  call attributes()
  call requests()
  call strings()
  call topologies()
  call datatypes()
  call memory()
  call files()
  call MPI_Barrier(MPI_COMM_WORLD)
  call check(barriers == 1 .and. sends == 1, 'procedures replaced by the program')
  call both_modules(MPI_COMM_WORLD%MPI_VAL, n)
  call MPI_Allreduce(MPI_IN_PLACE, bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. bad == 0) print '(a)', 'ok'
  call MPI_Finalize()
  if (bad /= 0) error stop
contains
  subroutine handles()
    type(MPI_Comm) :: comm, none
    type(MPI_Group) :: group, same
    type(MPI_Request) :: reqs(3)
    type(MPI_Info) :: info
    integer :: result
    none%MPI_VAL = MPI_COMM_NULL%MPI_VAL
    call check(none == MPI_COMM_NULL .and. MPI_COMM_WORLD /= MPI_COMM_SELF, 'comparisons')
    reqs = MPI_REQUEST_NULL
    call check(all(reqs == MPI_REQUEST_NULL) .and. .not. any(reqs /= MPI_REQUEST_NULL), 'arrays of handles')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, result)
    call check(result == MPI_CONGRUENT .and. comm /= MPI_COMM_WORLD, 'MPI_Comm_dup')
    call MPI_Comm_group(comm, group)
    call MPI_Group_incl(group, 1, [rank], same)
    call MPI_Group_size(same, result)
    call check(result == 1, 'MPI_Group_incl')
    call MPI_Group_free(group)
    call MPI_Group_free(same)
    call MPI_Comm_free(comm)
    call check(comm == MPI_COMM_NULL .and. group == MPI_GROUP_NULL, 'freed')
    call MPI_Info_create(info)
    call MPI_Info_free(info)
    call check(info == MPI_INFO_NULL, 'info')
  end subroutine

  subroutine messages()
    integer, asynchronous :: to(4)
    integer :: from(4), count, f_status(MPI_STATUS_SIZE), i
    type(MPI_Request) :: reqs(2)
    type(MPI_Status) :: statuses(2), status
    logical :: flag
    from = [(rank * 10 + i, i = 1, 4)]
    call MPI_Irecv(to, 4, MPI_INTEGER, modulo(rank - 1, n), 7, MPI_COMM_WORLD, reqs(1))
    call MPI_Isend(from, 4, MPI_INTEGER, modulo(rank + 1, n), 7, MPI_COMM_WORLD, reqs(2))
    call MPI_Waitall(2, reqs, statuses)
    call MPI_F_sync_reg(to)
    call MPI_Get_count(statuses(1), MPI_INTEGER, count)
    call check(count == 4 .and. statuses(1)%MPI_SOURCE == modulo(rank - 1, n) .and. statuses(1)%MPI_TAG == 7, 'statuses')
    call check(all(to == from + 10 * (modulo(rank - 1, n) - rank)) .and. all(reqs == MPI_REQUEST_NULL), 'messages')
    call MPI_Status_f082f(statuses(1), f_status)
    call check(f_status(MPI_SOURCE) == statuses(1)%MPI_SOURCE .and. f_status(MPI_TAG) == 7, 'MPI_Status_f082f')
    call MPI_Status_f2f08(f_status, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 4 .and. ierror == 0, 'MPI_Status_f2f08')
    call MPI_Irecv(to, 4, MPI_INTEGER, rank, 8, MPI_COMM_WORLD, reqs(1))
    call MPI_Send(from, 2, MPI_INTEGER, rank, 8, MPI_COMM_WORLD)
    reqs(2) = MPI_REQUEST_NULL
    call MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE)
    call MPI_Isend(from, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, reqs(2))
    call MPI_Recv(to, 1, MPI_INTEGER, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Waitany(2, reqs, i, MPI_STATUS_IGNORE)
    call check(i == 2, 'an index begins with 1')
    call MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, flag, status)
    call check(.not. flag, 'MPI_Iprobe')
  end subroutine

  subroutine large()
    integer :: to(6), from(6), i, small
    integer(kind=MPI_COUNT_KIND) :: count, size, lb, extent
    type(MPI_Request) :: req
    type(MPI_Status) :: status
    type(MPI_Datatype) :: t
    from = [(i, i = 1, 6)]
    count = 6
    call MPI_Isend(from, count, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, req)
    call MPI_Recv(to, count, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 6 .and. all(to == from), 'large count of a message')
    call MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_REAL8, t)
    call MPI_Type_size(t, size)
    call check(size == 24000000000_8, 'size of a large datatype')
    call MPI_Type_get_extent(t, lb, extent)
    call check(lb == 0 .and. extent == size, 'extent of a large datatype')
    call MPI_Type_size(t, small)
    call check(small == MPI_UNDEFINED, 'a size that does not fit')
    call MPI_Status_set_elements(status, MPI_BYTE, 5000000000_MPI_COUNT_KIND)
    call MPI_Get_elements(status, MPI_BYTE, count)
    call check(count == 5000000000_8, 'elements of a large message')
    call MPI_Type_free(t)
    call MPI_Allgather(rank, 1_MPI_COUNT_KIND, MPI_INTEGER, to, 1_MPI_COUNT_KIND, MPI_INTEGER, MPI_COMM_SELF)
    call check(to(1) == rank, 'large count of a collective')
  end subroutine

  subroutine operations()
    type(MPI_Op) :: op
    real(8) :: a(2), b(2)
    integer :: i(3)
    logical :: commute, flag
    call MPI_Op_create(larger, .true., op)
    a = [real(rank, 8), -real(rank, 8)]
    call MPI_Allreduce(a, b, 2, MPI_REAL8, op, MPI_COMM_WORLD)
    call check(all(b == [real(n - 1, 8), 0d0]), 'an operation of the program')
    call MPI_Op_commutative(op, commute)
    call check(commute, 'MPI_Op_commutative')
    call MPI_Op_free(op)
    call check(op == MPI_OP_NULL, 'MPI_Op_free')
    call MPI_Op_create_c(larger_c, .true., op)
    i = rank * [1, 2, 3]
    call MPI_Allreduce(MPI_IN_PLACE, i, 3_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(i == (n - 1) * [1, 2, 3]), 'an operation of large counts')
    call MPI_Op_free(op)
    flag = rank == n - 1
    call MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD)
    call check(flag, 'MPI_LOR')
  end subroutine

  subroutine attributes()
    type(MPI_Comm) :: comm
    type(MPI_Errhandler) :: handler
    integer :: keyval, class
    integer(kind=MPI_ADDRESS_KIND) :: val
    integer, target :: of_c
    integer(kind=MPI_ADDRESS_KIND), pointer :: in_c
    integer(c_int) :: c_flag
    type(c_ptr) :: at
    logical :: flag
    interface
      integer(c_int) function c_get(comm, keyval, at, flag) bind(C, name='MPI_Comm_get_attr')
        import :: c_int, c_intptr_t, c_ptr
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: keyval
        type(c_ptr) :: at
        integer(c_int) :: flag
      end function
      integer(c_int) function c_set(comm, keyval, at) bind(C, name='MPI_Comm_set_attr')
        import :: c_int, c_intptr_t, c_ptr
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: keyval
        type(c_ptr), value :: at
      end function
    end interface
    call MPI_Comm_create_keyval(copy, remove, keyval, 3_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 40_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_get_attr(comm, keyval, val, flag)
    call check(flag .and. val == 43 .and. copies == 1, 'attributes are copied')
    call MPI_Comm_free(comm)
    call check(c_get(int(MPI_COMM_SELF%MPI_VAL, c_intptr_t), keyval, at, c_flag) == 0 .and. c_flag == 1, 'an attribute in C')
    call c_f_pointer(at, in_c)
    call check(in_c == 40, 'in C an integer of Fortran''s has an address')
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
    call check(deletes == 2, 'attributes are deleted')
    call MPI_Comm_free_keyval(keyval)
    call check(keyval == MPI_KEYVAL_INVALID, 'keyval freed')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 41_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_get_attr(comm, keyval, val, flag)
    call check(flag .and. val == 41, 'MPI_COMM_DUP_FN')
    call MPI_Comm_free(comm)
    call check(c_set(int(MPI_COMM_SELF%MPI_VAL, c_intptr_t), keyval, c_loc(of_c)) == 0, 'set in C')
    call MPI_Comm_get_attr(MPI_COMM_SELF, keyval, val, flag)
    call check(flag .and. val == transfer(c_loc(of_c), val), 'in Fortran a pointer of C''s is an integer')
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
    call MPI_Comm_free_keyval(keyval)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, val, flag)
    call check(flag .and. val >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_create_errhandler(count_error, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
    call MPI_Comm_rank(MPI_COMM_SELF, class)
    call PMPI_Send(val, -1, MPI_BYTE, 0, 0, MPI_COMM_SELF)
    call MPI_Bcast(val, 1, MPI_AINT, 5, MPI_COMM_SELF, ierror)
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_ROOT .and. errors == 2, 'an error handler, with and without ierror')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)
  end subroutine

  subroutine requests()
    type(MPI_Request) :: req, reqs(1)
    type(MPI_Status) :: status
    integer(kind=MPI_ADDRESS_KIND), volatile :: extra
    integer :: count, outcount, indices(1)
    logical :: flag
    extra = 9
    call MPI_Grequest_start(query, release, cancel, extra, req)
    call MPI_Test(req, flag, status)
    call check(.not. flag, 'a request that is not complete')
    call MPI_Grequest_complete(req)
    call MPI_Wait(req, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 9 .and. status%MPI_SOURCE == 5 .and. queries == 1 .and. frees == 1, 'generalized request')
    call check(extra == 109, 'what a callback leaves in its extra state')
    call MPI_Recv_init(count, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, reqs(1))
    call MPI_Start(reqs(1))
    call MPI_Waitsome(1, reqs, outcount, indices, MPI_STATUSES_IGNORE)
    call check(outcount == 1 .and. indices(1) == 1, 'MPI_Waitsome')
    call MPI_Request_free(reqs(1))
    call check(reqs(1) == MPI_REQUEST_NULL, 'MPI_Request_free')
  end subroutine

  subroutine strings()
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_OBJECT_NAME) :: object
    character(len=MPI_MAX_ERROR_STRING) :: text
    character(len=12) :: val
    type(MPI_Info) :: info
    integer :: length
    logical :: flag
    call MPI_Get_processor_name(name, length)
    call check(length > 0 .and. len_trim(name) == length, 'MPI_Get_processor_name')
    call MPI_Type_get_name(MPI_REAL8, object, length)
    call check(object == 'MPI_REAL8' .and. length == 9, 'MPI_Type_get_name')
    call MPI_Error_string(MPI_ERR_TAG, text, length)
    call check(len_trim(text) == length, 'MPI_Error_string')
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', ' some value ')
    call MPI_Info_get(info, 'key', 12, val, flag)
    call check(flag .and. val == 'some value', 'MPI_Info_get')
    length = 12
    call MPI_Info_get_string(info, 'key', length, val, flag)
    call check(flag .and. length == 10, 'MPI_Info_get_string')
    call MPI_Info_free(info)
  end subroutine

  subroutine topologies()
    type(MPI_Comm) :: cart, graph
    integer :: dims(2), coords(2), from, to, in, out, sources(2), targets(2)
    logical :: periods(2), weighted
    dims = 0
    call MPI_Dims_create(n, 2, dims)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., cart)
    call MPI_Cart_get(cart, 2, dims, periods, coords)
    call check(periods(1) .and. .not. periods(2) .and. product(dims) == n, 'MPI_Cart_get')
    call MPI_Cart_shift(cart, 1, dims(2), from, to)
    call check(from == MPI_PROC_NULL .and. to == MPI_PROC_NULL, 'MPI_Cart_shift')
    call MPI_Comm_free(cart)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [modulo(rank - 1, n)], MPI_UNWEIGHTED, 1, &
      [modulo(rank + 1, n)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted)
    call check(in == 1 .and. out == 1 .and. .not. weighted, 'MPI_Dist_graph_neighbors_count')
    call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED)
    call check(sources(1) == modulo(rank - 1, n) .and. targets(1) == modulo(rank + 1, n), 'MPI_Dist_graph_neighbors')
    call MPI_Neighbor_alltoall(rank, 1, MPI_INTEGER, from, 1, MPI_INTEGER, graph)
    call check(from == modulo(rank - 1, n), 'MPI_Neighbor_alltoall')
    call MPI_Comm_free(graph)
  end subroutine

  subroutine datatypes()
    type particle
      sequence
      integer :: id
      real(8) :: x(3)
    end type
    type(particle), target :: p, q
    type(MPI_Datatype) :: t, old(2)
    integer(kind=MPI_ADDRESS_KIND) :: at(2), addresses(2)
    integer(kind=MPI_COUNT_KIND) :: counts(4), ints_n, addresses_n, counts_n, types_n
    integer :: combiner, ints(9), size
    type(MPI_Datatype) :: types(2)
    call MPI_Get_address(p%id, at(1))
    call MPI_Get_address(p%x, at(2))
    at(2) = MPI_Aint_diff(at(2), at(1))
    at(1) = 0
    old = [MPI_INTEGER, MPI_REAL8]
    call MPI_Type_create_struct(2, [1, 3], at, old, t)
    call MPI_Type_commit(t)
    p = particle(rank, [1d0, 2d0, 3d0])
    q = particle(-1, 0d0)
    call MPI_Sendrecv(p, 1, t, rank, 0, q, 1, t, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(q%id == rank .and. all(q%x == p%x), 'a structure')
    call MPI_Type_get_contents(t, 9, 2, 2, ints, addresses, types)
    call check(all(types == old) .and. all(addresses == at), 'MPI_Type_get_contents')
    call MPI_Type_free(t)
    call MPI_Type_vector(2_MPI_COUNT_KIND, 1_MPI_COUNT_KIND, 3_MPI_COUNT_KIND, MPI_INTEGER, t)
    call MPI_Type_get_envelope(t, ints_n, addresses_n, counts_n, types_n, combiner)
    call check(combiner == MPI_COMBINER_VECTOR .and. counts_n == 3 .and. types_n == 1, 'MPI_Type_get_envelope')
    call MPI_Type_get_contents(t, ints_n, addresses_n, counts_n, types_n, ints, addresses, counts, types)
    call check(types(1) == MPI_INTEGER .and. all(counts(1:3) == [2, 1, 3]), 'MPI_Type_get_contents, large')
    call MPI_Type_free(t)
    call MPI_Type_create_f90_real(15, 200, t)
    call MPI_Type_size(t, size)
    call check(size == 8, 'MPI_Type_create_f90_real')
    call MPI_Sizeof(p%x, size)
    call check(size == 8, 'MPI_Sizeof')
  end subroutine

  subroutine memory()
    type(c_ptr) :: at
    integer, pointer :: a(:)
    integer, target :: room(4096)
    type(MPI_Win) :: win
    integer(kind=MPI_ADDRESS_KIND) :: size, base
    integer :: unit, bytes, old, mine
    logical :: flag
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, at)
    call c_f_pointer(at, a, [10])
    a = 1
    call MPI_Free_mem(a)
    call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, at, win)
    call c_f_pointer(at, a, [2])
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win)
    a = 0
    call MPI_Win_unlock(rank, win)
    call PMPI_Barrier(MPI_COMM_WORLD)
    mine = 1
    call MPI_Win_lock_all(0, win)
    call MPI_Fetch_and_op(mine, old, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_flush(0, win)
    call check(old >= 0 .and. old < n, 'MPI_Fetch_and_op')
    call MPI_Win_unlock_all(win)
    call PMPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_fence(0, win)
    call MPI_Get(old, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(old == n, 'MPI_Get')
    call MPI_Win_get_attr(win, MPI_WIN_BASE, base, flag)
    call check(flag .and. base == transfer(at, base), 'MPI_WIN_BASE')
    call MPI_Win_free(win)
    call MPI_Win_allocate_shared(4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, at, win)
    call MPI_Win_shared_query(win, 0, size, unit, at)
    call check(size == 4 .and. unit == 4 .and. c_associated(at), 'MPI_Win_shared_query')
    call MPI_Win_free(win)
    call MPI_Buffer_attach(room, 4 * size_of_room())
    call MPI_Bsend(mine, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD)
    call MPI_Recv(old, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(at, bytes)
    call check(bytes == 4 * size_of_room() .and. c_associated(at, c_loc(room)), 'MPI_Buffer_detach')
  end subroutine

  integer function size_of_room()
    size_of_room = 4096
  end function

  subroutine files()
    type(MPI_File) :: fh
    type(MPI_Status) :: status
    integer :: got(3), count
    character(len=40) :: name
    write (name, '(a,i0)') 'fortran_f08.data.', n
    call MPI_File_open(MPI_COMM_WORLD, '/tmp/' // trim(name), ior(ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
      MPI_MODE_DELETE_ON_CLOSE), MPI_INFO_NULL, fh)
    call MPI_File_write_at_all(fh, int(12 * rank, MPI_OFFSET_KIND), [rank, rank + 1, rank + 2], 3, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 3, 'MPI_File_write_at_all')
    call MPI_File_sync(fh)
    call PMPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_sync(fh)
    call MPI_File_set_view(fh, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    call MPI_File_read_at_all(fh, 3_MPI_OFFSET_KIND * modulo(rank + 1, n), got, 3_MPI_COUNT_KIND, MPI_INTEGER, &
      MPI_STATUS_IGNORE)
    call check(all(got == modulo(rank + 1, n) + [0, 1, 2]), 'MPI_File_read_at_all')
    call MPI_File_close(fh)
    call check(fh == MPI_FILE_NULL, 'MPI_File_close')
  end subroutine
end program

! Sees handles as INTEGERs, in the same file.
subroutine both_modules(world, n)
  use mpi
  use seen_f08, only: check
  implicit none
  integer :: world, n, size, ierror, to(2), status(MPI_STATUS_SIZE)
  type(MPI_Status) :: f08_status
  call MPI_Comm_size(world, size, ierror)
  call check(size == n, 'a handle of the other module')
  call MPI_Sendrecv([1, 2], 2, MPI_INTEGER, 0, 0, to, 2, MPI_INTEGER, 0, 0, MPI_COMM_SELF, status, ierror)
  call MPI_Status_f2f08(status, f08_status, ierror)
  call check(f08_status%MPI_SOURCE == 0 .and. all(to == [1, 2]), 'a status in module mpi')
end subroutine

subroutine MPI_Barrier_f08(comm, ierror)
  use mpi_f08, dont_mind => MPI_Barrier_f08
  use seen_f08, only: barriers
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  if (comm == MPI_COMM_WORLD) barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine

subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror)
  use mpi_f08, dont_mind => MPI_Send_f08ts
  use seen_f08, only: sends
  implicit none
  type(*), dimension(..), intent(in) :: buf
  integer, intent(in) :: count, dest, tag
  type(MPI_Datatype), intent(in) :: datatype
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  sends = sends + 1
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine
