/* SPDX-License-Identifier: BSD-2-Clause */
/* The MPI_Abi_* queries, and handles as integers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "comm.h"
#include "errhandler.h"
#include "impl.h"
#include "info.h"
#include "io.h"
#include "message.h"
#include "op.h"
#include "request.h"
#include "rma.h"
#include "session.h"

int
impl_Abi_get_version(int *abi_major, int *abi_minor)
{
	*abi_major = MPI_ABI_VERSION;
	*abi_minor = MPI_ABI_SUBVERSION;
	return MPI_SUCCESS;
}

static bool
put_size(struct lmpi_info *info, const char *key, size_t size)
{
	char text[16];

	snprintf(text, sizeof(text), "%zu", size);
	return lmpi_info_put(info, key, text);
}

int
impl_Abi_get_info(MPI_Info *info)
{
	struct lmpi_info *i = lmpi_info_new();

	if (i == NULL || !put_size(i, "mpi_aint_size", sizeof(MPI_Aint)) ||
	    !put_size(i, "mpi_count_size", sizeof(MPI_Count)) ||
	    !put_size(i, "mpi_offset_size", sizeof(MPI_Offset)))
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	*info = (MPI_Info)i;
	return MPI_SUCCESS;
}

/* ---- the Fortran side: what a Fortran layer registered, once */

static struct lmpi_info *fortran_info;
static struct {
	bool set;
	unsigned char t[16], f[16];
} fortran_booleans[5]; /* by log2 of the size */

int
impl_Abi_get_fortran_info(MPI_Info *info)
{
	struct lmpi_info *copy;

	*info = MPI_INFO_NULL;
	if (fortran_info == NULL)
		return MPI_SUCCESS;
	copy = lmpi_info_copy(fortran_info);
	if (copy == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	*info = (MPI_Info)copy;
	return MPI_SUCCESS;
}

int
impl_Abi_set_fortran_info(MPI_Info info)
{
	struct lmpi_info *i = lmpi_info_find(info);

	if (i == NULL)
		return lmpi_error(MPI_ERR_INFO, "info is not a valid info object");
	if (fortran_info != NULL)
		return lmpi_error(MPI_ERR_ABI, "the Fortran properties were registered before");
	fortran_info = lmpi_info_copy(i);
	return fortran_info ? MPI_SUCCESS : lmpi_error(MPI_ERR_NO_MEM, "out of memory");
}

static int
boolean_slot(int logical_size, int *slot)
{
	for (*slot = 0; *slot < 5; (*slot)++)
		if (logical_size == 1 << *slot)
			return MPI_SUCCESS;
	return lmpi_error(MPI_ERR_ARG, "%d bytes is no size of a LOGICAL", logical_size);
}

int
impl_Abi_set_fortran_booleans(int logical_size, void *logical_true, void *logical_false)
{
	int slot, rc = boolean_slot(logical_size, &slot);

	if (rc)
		return rc;
	if (fortran_booleans[slot].set)
		return lmpi_error(MPI_ERR_ABI, "the values of LOGICAL*%d were registered before",
				  logical_size);
	memcpy(fortran_booleans[slot].t, logical_true, (size_t)logical_size);
	memcpy(fortran_booleans[slot].f, logical_false, (size_t)logical_size);
	fortran_booleans[slot].set = true;
	return MPI_SUCCESS;
}

int
impl_Abi_get_fortran_booleans(int logical_size, void *logical_true, void *logical_false,
			      int *is_set)
{
	int slot, rc = boolean_slot(logical_size, &slot);

	if (rc)
		return rc;
	*is_set = fortran_booleans[slot].set;
	if (*is_set) {
		memcpy(logical_true, fortran_booleans[slot].t, (size_t)logical_size);
		memcpy(logical_false, fortran_booleans[slot].f, (size_t)logical_size);
	}
	return MPI_SUCCESS;
}

/* ---- handles as integers */

static int
to_int(struct lmpi_pool *pool, void *handle)
{
	int n;

	if ((uintptr_t)handle <= LMPI_PREDEFINED_MAX)
		return (int)(uintptr_t)handle;
	if (!lmpi_object_valid(pool, handle))
		return 0; /* never a valid handle */
	lmpi_lock();
	n = lmpi_object_number(pool, handle);
	lmpi_unlock();
	return n < 0 ? 0 : n;
}

static void *
from_int(struct lmpi_pool *pool, int n)
{
	void *object;

	if (n <= LMPI_PREDEFINED_MAX)
		return (void *)(uintptr_t)(unsigned)n;
	lmpi_lock();
	object = lmpi_object_numbered(pool, n);
	lmpi_unlock();
	return object;
}

int
impl_Comm_toint(MPI_Comm comm)
{
	return to_int(&lmpi_comm_pool, comm);
}

MPI_Comm
impl_Comm_fromint(int comm)
{
	return from_int(&lmpi_comm_pool, comm);
}

int
impl_Errhandler_toint(MPI_Errhandler errhandler)
{
	return to_int(&lmpi_errhandler_pool, errhandler);
}

MPI_Errhandler
impl_Errhandler_fromint(int errhandler)
{
	return from_int(&lmpi_errhandler_pool, errhandler);
}

int
impl_File_toint(MPI_File file)
{
	return to_int(&lmpi_file_pool, file);
}

MPI_File
impl_File_fromint(int file)
{
	return from_int(&lmpi_file_pool, file);
}

int
impl_Group_toint(MPI_Group group)
{
	return to_int(&lmpi_group_pool, group);
}

MPI_Group
impl_Group_fromint(int group)
{
	return from_int(&lmpi_group_pool, group);
}

int
impl_Info_toint(MPI_Info info)
{
	return to_int(&lmpi_info_pool, info);
}

MPI_Info
impl_Info_fromint(int info)
{
	return from_int(&lmpi_info_pool, info);
}

int
impl_Message_toint(MPI_Message message)
{
	return to_int(&lmpi_message_pool, message);
}

MPI_Message
impl_Message_fromint(int message)
{
	return from_int(&lmpi_message_pool, message);
}

int
impl_Op_toint(MPI_Op op)
{
	return to_int(&lmpi_op_pool, op);
}

MPI_Op
impl_Op_fromint(int op)
{
	return from_int(&lmpi_op_pool, op);
}

int
impl_Request_toint(MPI_Request request)
{
	return to_int(&lmpi_request_pool, request);
}

MPI_Request
impl_Request_fromint(int request)
{
	return from_int(&lmpi_request_pool, request);
}

int
impl_Session_toint(MPI_Session session)
{
	return to_int(&lmpi_session_pool, session);
}

MPI_Session
impl_Session_fromint(int session)
{
	return from_int(&lmpi_session_pool, session);
}

int
impl_Type_toint(MPI_Datatype datatype)
{
	return to_int(&lmpi_type_pool, datatype);
}

MPI_Datatype
impl_Type_fromint(int datatype)
{
	return from_int(&lmpi_type_pool, datatype);
}

int
impl_Win_toint(MPI_Win win)
{
	return to_int(&lmpi_win_pool, win);
}

MPI_Win
impl_Win_fromint(int win)
{
	return from_int(&lmpi_win_pool, win);
}
