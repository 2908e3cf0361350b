! SPDX-License-Identifier: BSD-2-Clause
! Files from Fortran: views, every kind of access, error handlers, a data representation of
! the program.
module represent
  implicit none
  integer :: bad = 0, handled = 0, converted = 0
contains
  include 'fortran_check.inc'

  subroutine handler(file, code)
    integer :: file, code
    handled = handled + 1
  end subroutine

  ! integers take twice their room; what they hold is negated
  subroutine wide_extent(datatype, extent, extra, ierror)
    use mpi
    integer :: datatype, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra
    call check(datatype == MPI_INTEGER .and. extra == 4711, 'extent callback')
    extent = 8
    ierror = MPI_SUCCESS
  end subroutine

  subroutine wide_read(userbuf, datatype, count, filebuf, position, extra, ierror)
    use mpi
    integer :: userbuf(*), filebuf(*), datatype, count, ierror, i
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra
    do i = 1, count
      userbuf(position + i) = -filebuf(2 * i - 1)
    end do
    converted = converted + count
    ierror = MPI_SUCCESS
  end subroutine

  subroutine wide_write(userbuf, datatype, count, filebuf, position, extra, ierror)
    use mpi
    integer :: userbuf(*), filebuf(*), datatype, count, ierror, i
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra
    do i = 1, count
      filebuf(2 * i - 1) = -userbuf(position + i)
      filebuf(2 * i) = 0
    end do
    ierror = MPI_SUCCESS
  end subroutine
end module

program fortran_io
  use mpi
  use represent
  implicit none
  character(len=200) :: path
  integer :: rank, n, ierror, fh, total, clock

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call system_clock(clock)
  call get_environment_variable('TMPDIR', path)
  if (path == '') path = '/tmp'
  write (path, '(a, "/libmpi-fortran-io-", i0)') trim(path), clock
  call MPI_Bcast(path, len(path), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
  call MPI_File_open(MPI_COMM_WORLD, path, ior(MPI_MODE_RDWR, ior(MPI_MODE_CREATE, MPI_MODE_DELETE_ON_CLOSE)), &
                     MPI_INFO_NULL, fh, ierror)
  call check(ierror == MPI_SUCCESS, 'open')
  call access_forms()
  call errors()
  call representations()
  call MPI_File_close(fh, ierror)
  call check(ierror == MPI_SUCCESS .and. fh == MPI_FILE_NULL, 'close')
  call MPI_Reduce(bad, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (rank == 0 .and. total == 0) print '(a)', 'ok'
  if (bad /= 0) stop 1

contains
  subroutine access_forms()
    integer :: t, a(10), b(10), i, request, status(MPI_STATUS_SIZE), count, e, ft
    integer(kind=MPI_OFFSET_KIND) :: disp, at
    character(len=MPI_MAX_DATAREP_STRING) :: rep
    character(len=20) :: val
    integer :: info
    logical :: flag

    call MPI_Type_vector(10, 1, n, MPI_INTEGER, t, ierror)
    call MPI_Type_commit(t, ierror)
    disp = 4 * rank
    call MPI_File_set_view(fh, disp, MPI_INTEGER, t, 'native  ', MPI_INFO_NULL, ierror)
    call MPI_File_get_view(fh, at, e, ft, rep, ierror)
    call check(at == disp .and. e == MPI_INTEGER .and. rep == 'native', 'get_view')
    a = [(1000 * rank + i, i = 1, 10)]
    call MPI_File_write_all(fh, a, 10, MPI_INTEGER, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call check(count == 10, 'write_all')
    b = 0
    at = 4
    call MPI_File_read_at_all(fh, at, b, 6, MPI_INTEGER, status, ierror)
    call check(all(b(1:6) == a(5:10)), 'read_at_all')
    b = 0
    at = 0
    call MPI_File_iread_at(fh, at, b, 10, MPI_INTEGER, request, ierror)
    call MPI_Wait(request, status, ierror)
    call check(all(a == b), 'iread_at')
    call MPI_File_seek(fh, at, MPI_SEEK_SET, ierror)
    b = 0
    call MPI_File_read_all_begin(fh, b, 10, MPI_INTEGER, ierror)
    call MPI_File_read_all_end(fh, b, status, ierror)
    call check(all(a == b), 'split')
    call MPI_File_get_position(fh, at, ierror)
    call check(at == 10, 'position')
    call MPI_File_get_atomicity(fh, flag, ierror)
    call check(.not. flag, 'atomicity')
    call MPI_File_set_atomicity(fh, .true., ierror)
    call MPI_File_get_atomicity(fh, flag, ierror)
    call check(flag, 'atomic')
    call MPI_File_set_atomicity(fh, .false., ierror)
    disp = 0
    call MPI_File_set_view(fh, disp, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
    call MPI_File_write_ordered(fh, a, 2, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    at = 2 * mod(rank + 1, n)
    call MPI_File_read_at(fh, at, b, 2, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call check(b(1) == 1000 * mod(rank + 1, n) + 1, 'write_ordered')
    call MPI_File_get_info(fh, info, ierror)
    call MPI_Info_get(info, 'cb_buffer_size', 20, val, flag, ierror)
    call check(flag, 'hints')
    call MPI_Info_free(info, ierror)
    call MPI_Type_free(t, ierror)
  end subroutine

  subroutine errors()
    integer :: h, v(1), class, other
    call MPI_File_create_errhandler(handler, h, ierror)
    call MPI_File_set_errhandler(fh, h, ierror)
    v = 0
    call MPI_File_read(fh, v, -1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call MPI_Error_class(ierror, class, ierror)
    call check(handled == 1 .and. class == MPI_ERR_COUNT, 'handler')
    call MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN, ierror)
    call MPI_Errhandler_free(h, ierror)
    call MPI_File_open(MPI_COMM_SELF, '/nothing/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, other, ierror)
    call MPI_Error_class(ierror, class, ierror)
    call check(class == MPI_ERR_NO_SUCH_FILE, 'no such file')
    call MPI_File_delete('/nothing/at/all', MPI_INFO_NULL, ierror)
    call MPI_Error_class(ierror, class, ierror)
    call check(class == MPI_ERR_NO_SUCH_FILE, 'delete')
  end subroutine

  subroutine representations()
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer(kind=MPI_OFFSET_KIND) :: disp, at
    integer :: a(3), b(3), raw(2), status(MPI_STATUS_SIZE), count, class

    extra = 4711
    call MPI_Register_datarep('wide', wide_read, wide_write, wide_extent, extra, ierror)
    call check(ierror == MPI_SUCCESS, 'register')
    call MPI_Register_datarep('wide ', wide_read, wide_write, wide_extent, extra, ierror)
    call MPI_Error_class(ierror, class, ierror)
    call check(class == MPI_ERR_DUP_DATAREP, 'registered twice')
    call MPI_Register_datarep('plain', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, wide_extent, extra, ierror)
    call check(ierror == MPI_SUCCESS, 'register without conversion')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    disp = 24 * rank
    call MPI_File_set_view(fh, disp, MPI_INTEGER, MPI_INTEGER, 'wide', MPI_INFO_NULL, ierror)
    call check(ierror == MPI_SUCCESS, 'view')
    a = [rank + 1, rank + 2, rank + 3]
    call MPI_File_write_all(fh, a, 3, MPI_INTEGER, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call check(ierror == MPI_SUCCESS .and. count == 3, 'write wide')
    b = 0
    at = 1
    call MPI_File_read_at(fh, at, b, 2, MPI_INTEGER, status, ierror)
    call check(all(b(1:2) == a(2:3)) .and. converted == 2, 'read wide')
    call MPI_File_set_view(fh, disp, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
    at = 0
    call MPI_File_read_at(fh, at, raw, 2, MPI_INTEGER, status, ierror)
    call check(raw(1) == -(rank + 1) .and. raw(2) == 0, 'bytes of wide')
  end subroutine
end program
