/* SPDX-License-Identifier: BSD-2-Clause */
/* Request objects, what a status holds, checks of arguments. */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "rep.h"

#define MAGIC 0x52455155

struct lmpi_pool lmpi_request_pool = {.what = "request",
				      .magic = MAGIC,
				      .size = sizeof(struct lmpi_request),
				      .offset = offsetof(struct lmpi_request, obj)};

struct lmpi_request lmpi_request_sent = {.e.done = true,
					 .obj = {.magic = MAGIC, .refs = 1},
					 .kind = LMPI_RQ_NOTHING,
					 .active = true};

struct lmpi_request *
lmpi_request_find(MPI_Request handle)
{
	return lmpi_object_valid(&lmpi_request_pool, handle) ? (void *)handle : NULL;
}

struct lmpi_request *
lmpi_request_new(enum lmpi_request_kind kind, struct lmpi_comm *comm, struct lmpi_type *type)
{
	struct lmpi_request *r = lmpi_object_new(&lmpi_request_pool);

	if (r == NULL)
		return NULL;
	r->kind = kind;
	r->comm = comm;
	r->type = type;
	if (comm != NULL)
		lmpi_comm_ref(comm);
	if (type != NULL)
		lmpi_type_ref(type);
	return r;
}

void
lmpi_request_free(struct lmpi_request *r)
{
	if (r == &lmpi_request_sent)
		return;
	free(r->staging);
	if (r->ops != NULL)
		r->ops->release(r);
	if (r->type != NULL)
		lmpi_type_unref(r->type);
	if (r->comm != NULL)
		lmpi_comm_unref(r->comm);
	lmpi_object_delete(&lmpi_request_pool, r);
}

void
lmpi_request_settle(struct lmpi_request *r)
{
	if (r->detached)
		lmpi_request_free(r);
}

void
lmpi_request_complete(struct lmpi_request *r)
{
	r->e.done = true;
	lmpi_request_settle(r);
}

int
lmpi_request_finish(struct lmpi_request *r, MPI_Status *status)
{
	int rc;

	lmpi_wait(&r->e.done);
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, r->comm, r->e.source, r->e.tag, (int64_t)r->e.bytes,
				r->e.cancelled);
	rc = r->e.error;
	lmpi_request_free(r);
	return rc;
}

/* ---- status */

void
lmpi_status_set_bytes(MPI_Status *status, int64_t bytes, enum lmpi_rep rep)
{
	memcpy(&status->MPI_internal[LMPI_STATUS_BYTES], &bytes, sizeof(bytes));
	status->MPI_internal[LMPI_STATUS_REP] = (int)rep;
}

void
lmpi_status_set(MPI_Status *status, const struct lmpi_comm *comm, int source, int tag,
		int64_t bytes, bool cancelled)
{
	status->MPI_SOURCE = source;
	status->MPI_TAG = tag;
	lmpi_status_set_bytes(status, bytes, comm ? lmpi_comm_rep(comm, source) : LMPI_REP_NATIVE);
	status->MPI_internal[LMPI_STATUS_CANCELLED] = cancelled;
	status->MPI_internal[LMPI_STATUS_WORDS - 1] = 0;
}

void
lmpi_status_empty(MPI_Status *status)
{
	if (status == MPI_STATUS_IGNORE)
		return;
	lmpi_status_set(status, NULL, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
	status->MPI_ERROR = MPI_SUCCESS; /* of an empty one, unlike the others, it is defined */
}

/* ---- argument checks */

int
lmpi_check_count(MPI_Count count)
{
	if (__builtin_expect(count < 0, 0))
		return lmpi_error(MPI_ERR_COUNT, "count is %lld", (long long)count);
	return MPI_SUCCESS;
}

int
lmpi_check_type(MPI_Datatype handle, struct lmpi_type **type)
{
	*type = lmpi_type_find(handle);
	if (__builtin_expect(*type == NULL, 0))
		return lmpi_error(MPI_ERR_TYPE, "%s (%p)",
				  handle == MPI_DATATYPE_NULL ? "the datatype is MPI_DATATYPE_NULL"
							      : "the datatype is not a valid one",
				  (void *)handle);
	if (__builtin_expect(!(*type)->committed, 0))
		return lmpi_error(MPI_ERR_TYPE, "the datatype %s was not committed", (*type)->name);
	return MPI_SUCCESS;
}

int
lmpi_check_buffer(const void *buf, MPI_Count count, const struct lmpi_type *type)
{
	/* NULL is MPI_BOTTOM: fine with absolute displacements, which are never
	 * as small as the true lower bound of a type meant for a buffer. */
	if (__builtin_expect(buf == NULL && count > 0 && type->size > 0 &&
				     type->basic != LMPI_BASIC_NONE,
			     0))
		return lmpi_error(MPI_ERR_BUFFER, "the buffer is a null pointer, count is %lld",
				  (long long)count);
	return MPI_SUCCESS;
}
