/* SPDX-License-Identifier: BSD-2-Clause */
/* MPI_Pack and its kin: the packed form of messages, in user buffers. */
#include <string.h>

#include "call.h"
#include "comm.h"
#include "impl.h"
#include "rep.h"
#include "request.h"

static int
packed_room(const char *what, MPI_Count size, MPI_Count position, MPI_Count len)
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

static int
pack_packed(const void *inbuf, MPI_Count incount, const struct lmpi_type *t, enum lmpi_rep rep,
	    void *outbuf, MPI_Count outsize, MPI_Count *position)
{
	MPI_Count len = incount * t->rep[rep].size;
	int rc = lmpi_check_buffer(inbuf, incount, t);

	if (rc == MPI_SUCCESS)
		rc = packed_room("outsize", outsize, *position, len);
	if (rc == MPI_SUCCESS)
		rc = lmpi_rep_pack(t, inbuf, incount, rep, (char *)outbuf + *position);
	if (rc == MPI_SUCCESS)
		*position += len;
	return rc;
}

static int
unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
       const struct lmpi_type *t, enum lmpi_rep rep)
{
	MPI_Count len = outcount * t->rep[rep].size;
	int rc = lmpi_check_buffer(outbuf, outcount, t);

	if (rc == MPI_SUCCESS)
		rc = packed_room("insize", insize, *position, len);
	if (rc)
		return rc;
	lmpi_rep_unpack(t, outbuf, outcount, rep, (const char *)inbuf + *position, len);
	*position += len;
	return MPI_SUCCESS;
}

/* ---- for messages on a communicator */

static int
args(MPI_Comm comm, MPI_Count count, MPI_Datatype datatype, struct lmpi_comm **c,
     struct lmpi_type **t)
{
	int rc = lmpi_comm_get(comm, c);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_count(count);
	return rc ? rc : lmpi_check_type(datatype, t);
}

int
impl_Pack(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
	  MPI_Count outsize, MPI_Count *position, MPI_Comm comm)
{
	struct lmpi_comm *c;
	struct lmpi_type *t;
	enum lmpi_rep rep = LMPI_REP_NATIVE;
	int rc = args(comm, incount, datatype, &c, &t);

	if (rc == MPI_SUCCESS)
		rc = lmpi_comm_pack_rep(c, t, &rep);
	return rc ? rc : pack_packed(inbuf, incount, t, rep, outbuf, outsize, position);
}

int
impl_Unpack(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
	    MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm)
{
	struct lmpi_comm *c;
	struct lmpi_type *t;
	enum lmpi_rep rep = LMPI_REP_NATIVE;
	int rc = args(comm, outcount, datatype, &c, &t);

	if (rc == MPI_SUCCESS)
		rc = lmpi_comm_pack_rep(c, t, &rep);
	return rc ? rc : unpack(inbuf, insize, position, outbuf, outcount, t, rep);
}

/* Also what a buffered send of the elements needs, which goes to a native or to a
 * foreign member: the larger of all forms. */
int
impl_Pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
	struct lmpi_comm *c;
	struct lmpi_type *t;
	enum lmpi_rep rep = LMPI_REP_NATIVE;
	int rc = args(comm, incount, datatype, &c, &t);

	if (rc == MPI_SUCCESS)
		rc = lmpi_comm_pack_rep(c, t, &rep);
	if (rc)
		return rc;
	*size = incount * (t->rep[rep].size > t->size ? t->rep[rep].size : t->size);
	return MPI_SUCCESS;
}

/* ---- external32, for anybody */

static int
external_args(const char *datarep, MPI_Count count, MPI_Datatype datatype, struct lmpi_type **t)
{
	int rc;

	if (datarep == NULL)
		return lmpi_error(MPI_ERR_ARG, "datarep is a null pointer");
	if (strcmp(datarep, "external32") != 0)
		return lmpi_error(
			MPI_ERR_UNSUPPORTED_DATAREP,
			"the data representation \"%s\" is not known, only \"external32\"",
			datarep);
	rc = lmpi_check_count(count);
	return rc ? rc : lmpi_check_type(datatype, t);
}

int
impl_Pack_external(const char *datarep, const void *inbuf, MPI_Count incount, MPI_Datatype datatype,
		   void *outbuf, MPI_Count outsize, MPI_Count *position)
{
	struct lmpi_type *t;
	int rc = external_args(datarep, incount, datatype, &t);

	return rc ? rc
		  : pack_packed(inbuf, incount, t, LMPI_REP_EXTERNAL32, outbuf, outsize, position);
}

int
impl_Unpack_external(const char datarep[], const void *inbuf, MPI_Count insize, MPI_Count *position,
		     void *outbuf, MPI_Count outcount, MPI_Datatype datatype)
{
	struct lmpi_type *t;
	int rc = external_args(datarep, outcount, datatype, &t);

	return rc ? rc : unpack(inbuf, insize, position, outbuf, outcount, t, LMPI_REP_EXTERNAL32);
}

int
impl_Pack_external_size(const char *datarep, MPI_Count incount, MPI_Datatype datatype,
			MPI_Count *size)
{
	struct lmpi_type *t;
	int rc = external_args(datarep, incount, datatype, &t);

	if (rc == MPI_SUCCESS)
		*size = incount * t->rep[LMPI_REP_EXTERNAL32].size;
	return rc;
}
