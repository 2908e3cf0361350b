/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls on what a status holds. */
#include "call.h"
#include "impl.h"
#include "request.h"

#include <string.h>

static int64_t
status_bytes_of(const MPI_Status *status)
{
	int64_t bytes;

	memcpy(&bytes, &status->MPI_internal[LMPI_STATUS_BYTES], sizeof(bytes));
	return bytes;
}

/* The program may have filled the status with anything. */
static enum lmpi_rep
status_rep_of(const MPI_Status *status)
{
	int rep = status->MPI_internal[LMPI_STATUS_REP];

	return rep >= 0 && rep < LMPI_REPS ? (enum lmpi_rep)rep : LMPI_REP_NATIVE;
}

static int
check_status(const MPI_Status *status)
{
	if (status == MPI_STATUS_IGNORE)
		return lmpi_error(MPI_ERR_ARG, "status is MPI_STATUS_IGNORE");
	return MPI_SUCCESS;
}

int
impl_Get_count(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
	struct lmpi_type *t;
	int64_t bytes, size;
	int rc = check_status(status);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &t);
	if (rc)
		return rc;
	bytes = status_bytes_of(status);
	size = t->rep[status_rep_of(status)].size;
	if (size == 0)
		*count = bytes == 0 ? 0 : MPI_UNDEFINED;
	else
		*count = bytes % size == 0 ? bytes / size : MPI_UNDEFINED;
	return MPI_SUCCESS;
}

int
impl_Get_elements(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
	struct lmpi_type *t;
	int64_t left;
	int rc = check_status(status);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &t);
	if (rc)
		return rc;
	*count = lmpi_type_elements_in(t, status_rep_of(status), status_bytes_of(status), &left);
	if (left != 0)
		*count = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

int
impl_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
	return impl_Get_elements(status, datatype, count);
}

int
impl_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
	struct lmpi_type *t;
	int rc = check_status(status);

	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(datatype, &t);
	if (rc == MPI_SUCCESS)
		rc = lmpi_check_count(count);
	if (rc)
		return rc;
	lmpi_status_set_bytes(status, lmpi_type_bytes_of(t, count), LMPI_REP_NATIVE);
	return MPI_SUCCESS;
}

int
impl_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
	return impl_Status_set_elements(status, datatype, count);
}

int
impl_Status_set_cancelled(MPI_Status *status, int flag)
{
	int rc = check_status(status);

	if (rc == MPI_SUCCESS)
		status->MPI_internal[LMPI_STATUS_CANCELLED] = flag != 0;
	return rc;
}

int
impl_Test_cancelled(const MPI_Status *status, int *flag)
{
	int rc = check_status(status);

	if (rc == MPI_SUCCESS)
		*flag = status->MPI_internal[LMPI_STATUS_CANCELLED] != 0;
	return rc;
}

int
impl_Status_get_source(const MPI_Status *status, int *source)
{
	*source = status->MPI_SOURCE;
	return MPI_SUCCESS;
}

int
impl_Status_get_tag(const MPI_Status *status, int *tag)
{
	*tag = status->MPI_TAG;
	return MPI_SUCCESS;
}

int
impl_Status_get_error(const MPI_Status *status, int *error)
{
	*error = status->MPI_ERROR;
	return MPI_SUCCESS;
}

int
impl_Status_set_source(MPI_Status *status, int source)
{
	status->MPI_SOURCE = source;
	return MPI_SUCCESS;
}

int
impl_Status_set_tag(MPI_Status *status, int tag)
{
	status->MPI_TAG = tag;
	return MPI_SUCCESS;
}

int
impl_Status_set_error(MPI_Status *status, int error)
{
	status->MPI_ERROR = error;
	return MPI_SUCCESS;
}
