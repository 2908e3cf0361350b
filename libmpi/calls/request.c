/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls on a request that are not about its completion. */
#include "request.h"

#include "call.h"
#include "impl.h"
#include "p2p.h"

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
get_request(MPI_Request handle, struct lmpi_request **r)
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
	int rc = get_request(*request, &r);

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
	int rc = get_request(*request, &r);

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
start_request(MPI_Request handle)
{
	struct lmpi_request *r;
	int rc = get_request(handle, &r);

	if (rc)
		return rc;
	if (!r->persistent)
		return lmpi_error(MPI_ERR_REQUEST, "the request is not a persistent one");
	if (r->active)
		return lmpi_error(MPI_ERR_REQUEST, "the request is already active");
	return r->ops != NULL ? r->ops->start(r) : lmpi_p2p_start(r);
}

int
impl_Start(MPI_Request *request)
{
	return start_request(*request);
}

int
impl_Startall(int count, MPI_Request array_of_requests[])
{
	int rc = MPI_SUCCESS;

	if (count < 0)
		return lmpi_error(MPI_ERR_COUNT, "count is %d", count);
	for (int i = 0; i < count && rc == MPI_SUCCESS; i++)
		rc = start_request(array_of_requests[i]);
	return rc;
}
