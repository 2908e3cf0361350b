/* MPI_Pack and its kin: the packed form of messages, in user buffers. */
#include "call.h"
#include "comm.h"
#include "impl.h"
#include "request.h"
#include "type.h"

static int
args(MPI_Comm comm, MPI_Count count, MPI_Datatype datatype, struct lmpi_type **t)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_count(count);
	return rc ? rc : lmpi_check_type(datatype, t);
}

static int
room(const char *what, MPI_Count size, MPI_Count position, MPI_Count len)
{
	if (position < 0 || size < 0)
		return lmpi_error(MPI_ERR_ARG, "position is %lld, %s is %lld", (long long)position,
				  what, (long long)size);
	if (len > size - position)
		return lmpi_error(MPI_ERR_TRUNCATE,
				  "%lld bytes at position %lld do not fit %s %lld", (long long)len,
				  (long long)position, what, (long long)size);
	return MPI_SUCCESS;
}

int
impl_Pack(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
	  MPI_Count outsize, MPI_Count *position, MPI_Comm comm)
{
	struct lmpi_type *t;
	int rc = args(comm, incount, datatype, &t);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_buffer(inbuf, incount, t);
	if (rc == MPI_SUCCESS)
		rc = room("outsize", outsize, *position, incount * t->size);
	if (rc)
		return rc;
	lmpi_type_pack(t, inbuf, incount, (char *)outbuf + *position, 0, incount * t->size);
	*position += incount * t->size;
	return MPI_SUCCESS;
}

int
impl_Unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
	    MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm)
{
	struct lmpi_type *t;
	int rc = args(comm, outcount, datatype, &t);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_buffer(outbuf, outcount, t);
	if (rc == MPI_SUCCESS)
		rc = room("insize", insize, *position, outcount * t->size);
	if (rc)
		return rc;
	lmpi_type_unpack(t, outbuf, outcount, (const char *)inbuf + *position, 0,
			 outcount * t->size);
	*position += outcount * t->size;
	return MPI_SUCCESS;
}

int
impl_Pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
	struct lmpi_type *t;
	int rc = args(comm, incount, datatype, &t);

	if (rc == MPI_SUCCESS)
		*size = incount * t->size;
	return rc;
}
