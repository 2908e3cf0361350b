/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry points of reading and writing: every form of the two. */
#include "access.h"
#include "impl.h"

/* From the arguments of the function it stands in. */
#define ACCESS(WRITE, PLACE, OFFSET)                          \
	(&(struct lmpi_access){.write = (WRITE),              \
			       .place = LMPI_IO_##PLACE,      \
			       .offset = (OFFSET),            \
			       .buf = (void *)(uintptr_t)buf, \
			       .count = count,                \
			       .datatype = datatype})

/* ---- read */

int
impl_File_read_at(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count, MPI_Datatype datatype,
		  MPI_Status *status)
{
	return lmpi_io_now(fh, ACCESS(false, AT, offset), status);
}

int
impl_File_iread_at(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
		   MPI_Datatype datatype, MPI_Request *request)
{
	return lmpi_io_soon(fh, ACCESS(false, AT, offset), request);
}

int
impl_File_read(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status)
{
	return lmpi_io_now(fh, ACCESS(false, OWN, 0), status);
}

int
impl_File_iread(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
		MPI_Request *request)
{
	return lmpi_io_soon(fh, ACCESS(false, OWN, 0), request);
}

int
impl_File_read_shared(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
		      MPI_Status *status)
{
	return lmpi_io_now(fh, ACCESS(false, POOLED, 0), status);
}

int
impl_File_iread_shared(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
		       MPI_Request *request)
{
	return lmpi_io_soon(fh, ACCESS(false, POOLED, 0), request);
}

int
impl_File_read_at_all(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
		      MPI_Datatype datatype, MPI_Status *status)
{
	return lmpi_io_together(fh, ACCESS(false, AT, offset), status);
}

int
impl_File_iread_at_all(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
		       MPI_Datatype datatype, MPI_Request *request)
{
	return lmpi_io_together_soon(fh, ACCESS(false, AT, offset), request);
}

int
impl_File_read_at_all_begin(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
			    MPI_Datatype datatype)
{
	return lmpi_io_begin(fh, ACCESS(false, AT, offset));
}

int
impl_File_read_at_all_end(MPI_File fh, void *buf, MPI_Status *status)
{
	return lmpi_io_end(fh, "MPI_File_read_at_all_begin", buf, status);
}

int
impl_File_read_all(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
		   MPI_Status *status)
{
	return lmpi_io_together(fh, ACCESS(false, OWN, 0), status);
}

int
impl_File_iread_all(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
		    MPI_Request *request)
{
	return lmpi_io_together_soon(fh, ACCESS(false, OWN, 0), request);
}

int
impl_File_read_all_begin(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype)
{
	return lmpi_io_begin(fh, ACCESS(false, OWN, 0));
}

int
impl_File_read_all_end(MPI_File fh, void *buf, MPI_Status *status)
{
	return lmpi_io_end(fh, "MPI_File_read_all_begin", buf, status);
}

int
impl_File_read_ordered(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
		       MPI_Status *status)
{
	return lmpi_io_together(fh, ACCESS(false, POOLED, 0), status);
}

int
impl_File_read_ordered_begin(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype)
{
	return lmpi_io_begin(fh, ACCESS(false, POOLED, 0));
}

int
impl_File_read_ordered_end(MPI_File fh, void *buf, MPI_Status *status)
{
	return lmpi_io_end(fh, "MPI_File_read_ordered_begin", buf, status);
}

/* ---- write */

int
impl_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
		   MPI_Datatype datatype, MPI_Status *status)
{
	return lmpi_io_now(fh, ACCESS(true, AT, offset), status);
}

int
impl_File_iwrite_at(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
		    MPI_Datatype datatype, MPI_Request *request)
{
	return lmpi_io_soon(fh, ACCESS(true, AT, offset), request);
}

int
impl_File_write(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
		MPI_Status *status)
{
	return lmpi_io_now(fh, ACCESS(true, OWN, 0), status);
}

int
impl_File_iwrite(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
		 MPI_Request *request)
{
	return lmpi_io_soon(fh, ACCESS(true, OWN, 0), request);
}

int
impl_File_write_shared(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
		       MPI_Status *status)
{
	return lmpi_io_now(fh, ACCESS(true, POOLED, 0), status);
}

int
impl_File_iwrite_shared(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
			MPI_Request *request)
{
	return lmpi_io_soon(fh, ACCESS(true, POOLED, 0), request);
}

int
impl_File_write_at_all(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
		       MPI_Datatype datatype, MPI_Status *status)
{
	return lmpi_io_together(fh, ACCESS(true, AT, offset), status);
}

int
impl_File_iwrite_at_all(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
			MPI_Datatype datatype, MPI_Request *request)
{
	return lmpi_io_together_soon(fh, ACCESS(true, AT, offset), request);
}

int
impl_File_write_at_all_begin(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
			     MPI_Datatype datatype)
{
	return lmpi_io_begin(fh, ACCESS(true, AT, offset));
}

int
impl_File_write_at_all_end(MPI_File fh, const void *buf, MPI_Status *status)
{
	return lmpi_io_end(fh, "MPI_File_write_at_all_begin", buf, status);
}

int
impl_File_write_all(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
		    MPI_Status *status)
{
	return lmpi_io_together(fh, ACCESS(true, OWN, 0), status);
}

int
impl_File_iwrite_all(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
		     MPI_Request *request)
{
	return lmpi_io_together_soon(fh, ACCESS(true, OWN, 0), request);
}

int
impl_File_write_all_begin(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype)
{
	return lmpi_io_begin(fh, ACCESS(true, OWN, 0));
}

int
impl_File_write_all_end(MPI_File fh, const void *buf, MPI_Status *status)
{
	return lmpi_io_end(fh, "MPI_File_write_all_begin", buf, status);
}

int
impl_File_write_ordered(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
			MPI_Status *status)
{
	return lmpi_io_together(fh, ACCESS(true, POOLED, 0), status);
}

int
impl_File_write_ordered_begin(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype)
{
	return lmpi_io_begin(fh, ACCESS(true, POOLED, 0));
}

int
impl_File_write_ordered_end(MPI_File fh, const void *buf, MPI_Status *status)
{
	return lmpi_io_end(fh, "MPI_File_write_ordered_begin", buf, status);
}
