/* Request objects, status contents, and the calls on a single request that are
 * not about completion. */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "errors.h"
#include "impl.h"
#include "partitioned.h"
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
	if (r->kind == LMPI_RQ_COLL && r->coll != NULL)
		lmpi_coll_release(r->coll);
	if (r->kind == LMPI_RQ_PART && r->part != NULL)
		lmpi_part_release(r->part);
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

/* Private words of a status. */
enum { WORD_BYTES = 0 /* and 1 */, WORD_CANCELLED = 2, WORD_REP = 3, WORDS = 5 };

static void
set_bytes(MPI_Status *status, int64_t bytes, enum lmpi_rep rep)
{
	memcpy(&status->MPI_internal[WORD_BYTES], &bytes, sizeof(bytes));
	status->MPI_internal[WORD_REP] = (int)rep;
}

static int64_t
bytes_of(const MPI_Status *status)
{
	int64_t bytes;

	memcpy(&bytes, &status->MPI_internal[WORD_BYTES], sizeof(bytes));
	return bytes;
}

/* The program may have filled the status with anything. */
static enum lmpi_rep
rep_of(const MPI_Status *status)
{
	int rep = status->MPI_internal[WORD_REP];

	return rep >= 0 && rep < LMPI_REPS ? (enum lmpi_rep)rep : LMPI_REP_NATIVE;
}

void
lmpi_status_set(MPI_Status *status, const struct lmpi_comm *comm, int source, int tag,
		int64_t bytes, bool cancelled)
{
	status->MPI_SOURCE = source;
	status->MPI_TAG = tag;
	set_bytes(status, bytes, comm ? lmpi_comm_rep(comm, source) : LMPI_REP_NATIVE);
	status->MPI_internal[WORD_CANCELLED] = cancelled;
	status->MPI_internal[WORDS - 1] = 0;
}

void
lmpi_status_empty(MPI_Status *status)
{
	if (status == MPI_STATUS_IGNORE)
		return;
	lmpi_status_set(status, NULL, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
	status->MPI_ERROR = MPI_SUCCESS; /* of an empty one, unlike the others, it is defined */
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
	bytes = bytes_of(status);
	size = t->rep[rep_of(status)].size;
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
	*count = lmpi_type_elements_in(t, rep_of(status), bytes_of(status), &left);
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
	set_bytes(status, lmpi_type_bytes_of(t, count), LMPI_REP_NATIVE);
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
		status->MPI_internal[WORD_CANCELLED] = flag != 0;
	return rc;
}

int
impl_Test_cancelled(const MPI_Status *status, int *flag)
{
	int rc = check_status(status);

	if (rc == MPI_SUCCESS)
		*flag = status->MPI_internal[WORD_CANCELLED] != 0;
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

/* ---- generalised requests */

int
impl_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
		    MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
		    MPI_Request *request)
{
	struct lmpi_request *r = lmpi_request_new(LMPI_RQ_GENERAL, NULL, NULL);

	if (r == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	r->general.query = query_fn;
	r->general.free = free_fn;
	r->general.cancel = cancel_fn;
	r->general.extra_state = extra_state;
	r->active = true;
	*request = lmpi_request_handle(r);
	return MPI_SUCCESS;
}

int
impl_Grequest_complete(MPI_Request request)
{
	struct lmpi_request *r = lmpi_request_find(request);

	if (r == NULL || r->kind != LMPI_RQ_GENERAL)
		return lmpi_error(MPI_ERR_REQUEST, "the request is not a generalised one");
	if (r->detached && r->general.free != NULL)
		r->general.free(r->general.extra_state);
	lmpi_request_complete(r);
	return MPI_SUCCESS;
}

/* ---- freeing, cancelling, starting */

static int
get(MPI_Request handle, struct lmpi_request **r)
{
	*r = lmpi_request_find(handle);
	if (*r == NULL)
		return lmpi_error(MPI_ERR_REQUEST, "%s",
				  handle == MPI_REQUEST_NULL ? "the request is MPI_REQUEST_NULL"
							     : "the request is not a valid one");
	if ((*r)->comm != NULL)
		lmpi_blame_comm((*r)->comm->handle);
	return MPI_SUCCESS;
}

int
impl_Request_free(MPI_Request *request)
{
	struct lmpi_request *r;
	int rc = get(*request, &r);

	if (rc)
		return rc;
	*request = MPI_REQUEST_NULL;
	if (r->kind == LMPI_RQ_GENERAL && r->e.done && r->general.free != NULL)
		rc = r->general.free(r->general.extra_state);
	if (r->active && !r->e.done)
		r->detached = true;
	else
		lmpi_request_free(r);
	return rc ? lmpi_error(rc, "the free callback of the request returned %d", rc) : rc;
}

int
impl_Cancel(MPI_Request *request)
{
	struct lmpi_request *r;
	int rc = get(*request, &r);

	if (rc)
		return rc;
	if (!r->active)
		return lmpi_error(MPI_ERR_REQUEST, "the request is not active");
	if (r->kind == LMPI_RQ_COLL || r->kind == LMPI_RQ_PART)
		return lmpi_error(MPI_ERR_REQUEST, "%s operations cannot be cancelled",
				  r->kind == LMPI_RQ_COLL ? "collective" : "partitioned");
	if (r->kind == LMPI_RQ_GENERAL && r->general.cancel != NULL) {
		rc = r->general.cancel(r->general.extra_state, r->e.done);
		return rc ? lmpi_error(rc, "the cancel callback returned %d", rc) : rc;
	}
	if (r->kind == LMPI_RQ_RECV && !r->e.done)
		lmpi_cancel_recv(&r->e);
	else if (r->kind == LMPI_RQ_SEND)
		lmpi_cancel_send(&r->e);
	return MPI_SUCCESS;
}

static int
start(MPI_Request handle)
{
	struct lmpi_request *r;
	int rc = get(handle, &r);

	if (rc)
		return rc;
	if (!r->persistent)
		return lmpi_error(MPI_ERR_REQUEST, "the request is not a persistent one");
	if (r->active)
		return lmpi_error(MPI_ERR_REQUEST, "the request is already active");
	if (r->kind == LMPI_RQ_PART)
		return lmpi_part_start(r);
	return r->kind == LMPI_RQ_COLL ? lmpi_coll_restart(r) : lmpi_p2p_start(r);
}

int
impl_Start(MPI_Request *request)
{
	return start(*request);
}

int
impl_Startall(int count, MPI_Request array_of_requests[])
{
	int rc = MPI_SUCCESS;

	if (count < 0)
		return lmpi_error(MPI_ERR_COUNT, "count is %d", count);
	for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
		rc = start(array_of_requests[i]);
	return rc;
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
