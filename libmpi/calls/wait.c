/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion: the Wait and Test families, and MPI_Request_get_status*. */
#include <stdlib.h>

#include "call.h"
#include "impl.h"
#include "p2p.h"
#include "request.h"

static int
find_all(int count, const MPI_Request *requests)
{
	if (count < 0)
		return lmpi_error(MPI_ERR_COUNT, "count is %d", count);
	if (count > 0 && requests == NULL)
		return lmpi_error(MPI_ERR_ARG, "the array of requests is a null pointer");
	for (int i = 0; i < count; i++)
		if (requests[i] != MPI_REQUEST_NULL && lmpi_request_find(requests[i]) == NULL)
			return lmpi_error(MPI_ERR_REQUEST, "request %d (%p) is not a valid one", i,
					  (void *)requests[i]);
	return MPI_SUCCESS;
}

/* The request if there is something to wait for: not null, not inactive. */
static struct lmpi_request *
pending(MPI_Request handle)
{
	struct lmpi_request *r;

	if (handle == MPI_REQUEST_NULL)
		return NULL;
	r = (struct lmpi_request *)(void *)handle;
	return r->active ? r : NULL;
}

/* Nothing is to be waited for: it is complete, or a receive from any source that a failure holds
 * up until it is acknowledged (mpi-ext.h). */
static bool
has_outcome(const struct lmpi_request *r)
{
	return r->e.done || lmpi_pending(&r->e);
}

/* For who looks without retiring: a receive that is held up is not complete. */
static bool
is_complete(const struct lmpi_request *r)
{
	return r->e.done;
}

static bool
has_outcome_at(void *arg)
{
	return has_outcome(arg);
}

/* The status has the bytes; what went wrong was noted then. */
static int
report_file(const struct lmpi_request *r, MPI_Status *status)
{
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, NULL, MPI_ANY_SOURCE, MPI_ANY_TAG, (int64_t)r->e.bytes,
				false);
	if (r->e.error != MPI_SUCCESS) {
		lmpi_error(r->e.error, "%s", r->staging ? (const char *)r->staging : "");
		lmpi_blame_file(r->file);
	}
	return r->e.error;
}

/* Fill the status of a complete request without touching the request. */
static int
report_request(struct lmpi_request *r, MPI_Status *status)
{
	int rc = r->e.error;

	if (r->kind == LMPI_RQ_GENERAL) {
		MPI_Status own = {0};

		lmpi_status_empty(&own);
		rc = r->general.query ? r->general.query(r->general.extra_state, &own) : 0;
		if (status != MPI_STATUS_IGNORE) {
			own.MPI_ERROR = status->MPI_ERROR;
			*status = own;
		}
		if (rc)
			lmpi_error(rc, "the query callback of a generalised request returned %d",
				   rc);
		return rc;
	}
	if (r->kind == LMPI_RQ_FILE)
		return report_file(r, status);
	if (status != MPI_STATUS_IGNORE) {
		if (r->kind == LMPI_RQ_RECV || r->kind == LMPI_RQ_PAIR ||
		    (r->kind == LMPI_RQ_PART && !r->empty_status))
			lmpi_status_set(status, r->comm, r->e.source, r->e.tag, (int64_t)r->e.bytes,
					r->e.cancelled);
		else /* empty, but for a send that was called back */
			lmpi_status_set(status, NULL, MPI_ANY_SOURCE, MPI_ANY_TAG, 0,
					r->e.cancelled);
	}
	if (rc == MPI_ERR_TRUNCATE) {
		int64_t room =
			r->type ? lmpi_p2p_room(r->comm, r->type, r->count, r->e.source) : r->count;

		lmpi_error(rc,
			   "a message of %llu bytes from rank %d with tag %d does not fit a "
			   "receive buffer of %lld bytes",
			   (unsigned long long)r->e.bytes, r->e.source, r->e.tag, (long long)room);
	} else if (rc) {
		lmpi_error(rc, "the operation with rank %d, tag %d failed", r->peer, r->tag);
	}
	if (rc && r->kind == LMPI_RQ_RMA)
		lmpi_blame_win(r->win);
	else if (rc && r->comm != NULL)
		lmpi_blame_comm(r->comm->handle);
	return rc;
}

/* Report a complete request and let it go. */
static int
retire(MPI_Request *handle, MPI_Status *status)
{
	struct lmpi_request *r = (struct lmpi_request *)(void *)*handle;
	int rc = MPI_SUCCESS, rc2 = MPI_SUCCESS;

	if (!r->e.done) {
		lmpi_blame_comm(r->comm->handle);
		return lmpi_error(LMPI_ERR_PROC_FAILED_PENDING,
				  "a process has failed that may have been the source; the "
				  "receive goes on");
	}
	rc = report_request(r, status);

	if (r->kind == LMPI_RQ_GENERAL && r->general.free != NULL)
		rc2 = r->general.free(r->general.extra_state);
	if (r->persistent) {
		r->active = false;
		r->e.done = false;
	} else {
		lmpi_request_free(r);
		*handle = MPI_REQUEST_NULL;
	}
	if (rc == MPI_SUCCESS && rc2 != MPI_SUCCESS)
		rc = lmpi_error(rc2, "the free callback of a generalised request returned %d", rc2);
	return rc;
}

int
impl_Wait(MPI_Request *request, MPI_Status *status)
{
	struct lmpi_request *r;
	int rc = find_all(1, request);

	if (rc)
		return rc;
	r = pending(*request);
	if (r == NULL) {
		lmpi_status_empty(status);
		return MPI_SUCCESS;
	}
	lmpi_wait_done(has_outcome_at, r);
	return retire(request, status);
}

int
impl_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	struct lmpi_request *r;
	int rc = find_all(1, request);

	if (rc)
		return rc;
	r = pending(*request);
	if (r == NULL) {
		*flag = 1;
		lmpi_status_empty(status);
		return MPI_SUCCESS;
	}
	if (!r->e.done)
		lmpi_poke();
	*flag = r->e.done;
	return has_outcome(r) ? retire(request, status) : MPI_SUCCESS;
}

/* ---- several */

typedef bool over_fn(const struct lmpi_request *);

struct many {
	int count;
	const MPI_Request *requests;
	over_fn *over;
	int from; /* all of: everything before is over */
};

static bool
request_all_done(void *arg)
{
	struct many *m = arg;

	for (; m->from < m->count; m->from++) {
		const struct lmpi_request *r = pending(m->requests[m->from]);

		if (r != NULL && !m->over(r))
			return false;
	}
	return true;
}

/* Index of one that is over, -1: none yet, MPI_UNDEFINED: none is active. */
static int
any_over(int count, const MPI_Request *requests, over_fn *over)
{
	bool active = false;

	for (int i = 0; i < count; i++) {
		const struct lmpi_request *r = pending(requests[i]);

		if (r != NULL && over(r))
			return i;
		active |= r != NULL;
	}
	return active ? -1 : MPI_UNDEFINED;
}

static bool
some_done(void *arg)
{
	struct many *m = arg;

	return any_over(m->count, m->requests, m->over) != -1;
}

/* The same after a turn of the engine, if there is none yet. */
static int
look_for_any(int count, const MPI_Request *requests, over_fn *over)
{
	int i = any_over(count, requests, over);

	if (i != -1)
		return i;
	lmpi_poke();
	return any_over(count, requests, over);
}

/* All of them, after a turn of the engine if need be. */
static bool
look_for_all(int count, const MPI_Request *requests, over_fn *over)
{
	struct many m = {count, requests, over, 0};

	if (request_all_done(&m))
		return true;
	lmpi_poke();
	return request_all_done(&m);
}

static MPI_Status *
status_at(MPI_Status *statuses, int i)
{
	return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* All are complete: retire them.  An error shows in the statuses. */
static int
retire_all(int count, MPI_Request *requests, MPI_Status *statuses)
{
	bool failed = false;
	int first = MPI_SUCCESS;

	for (int i = 0; i < count; i++) {
		const struct lmpi_request *r = pending(requests[i]);

		failed |= r != NULL && (r->e.error != MPI_SUCCESS || !r->e.done);
	}
	for (int i = 0; i < count; i++) {
		MPI_Status *s = status_at(statuses, i);
		int rc = MPI_SUCCESS;

		if (pending(requests[i]) == NULL)
			lmpi_status_empty(s);
		else
			rc = retire(&requests[i], s);
		if (rc && first == MPI_SUCCESS) {
			first = rc;
			lmpi_blame_stays(rc);
		}
		if (s != MPI_STATUS_IGNORE && (failed || first))
			s->MPI_ERROR = rc;
	}
	if (first == MPI_SUCCESS)
		return MPI_SUCCESS;
	if (statuses == MPI_STATUSES_IGNORE)
		return first;
	return lmpi_error(MPI_ERR_IN_STATUS, "at least one of %d requests failed: %s", count,
			  lmpi_error_text(first));
}

int
impl_Waitall(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses)
{
	struct many m = {count, array_of_requests, has_outcome, 0};
	int rc = find_all(count, array_of_requests);

	if (rc)
		return rc;
	if (!request_all_done(&m))
		lmpi_wait_done(request_all_done, &m);
	return retire_all(count, array_of_requests, array_of_statuses);
}

int
impl_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses)
{
	int rc = find_all(count, array_of_requests);

	if (rc)
		return rc;
	*flag = look_for_all(count, array_of_requests, has_outcome);
	return *flag ? retire_all(count, array_of_requests, array_of_statuses) : MPI_SUCCESS;
}

int
impl_Waitany(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status)
{
	struct many m = {count, array_of_requests, has_outcome, 0};
	int rc = find_all(count, array_of_requests);

	if (rc)
		return rc;
	if (!some_done(&m))
		lmpi_wait_done(some_done, &m);
	*indx = any_over(count, array_of_requests, has_outcome);
	if (*indx == MPI_UNDEFINED) {
		lmpi_status_empty(status);
		return MPI_SUCCESS;
	}
	return retire(&array_of_requests[*indx], status);
}

int
impl_Testany(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status)
{
	int i, rc = find_all(count, array_of_requests);

	if (rc)
		return rc;
	i = look_for_any(count, array_of_requests, has_outcome);
	*flag = i != -1;
	*indx = i == -1 ? MPI_UNDEFINED : i;
	if (i == MPI_UNDEFINED)
		lmpi_status_empty(status);
	return i >= 0 ? retire(&array_of_requests[i], status) : MPI_SUCCESS;
}

/* Retire every complete request; -> how many and which. */
static int
retire_some(int incount, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses)
{
	int n = 0, first = MPI_SUCCESS;

	for (int i = 0; i < incount; i++) {
		struct lmpi_request *r = pending(requests[i]);
		MPI_Status *s = status_at(statuses, n);
		int rc;

		if (r == NULL || !has_outcome(r))
			continue;
		indices[n++] = i;
		rc = retire(&requests[i], s);
		if (s != MPI_STATUS_IGNORE)
			s->MPI_ERROR = rc;
		if (rc && first == MPI_SUCCESS) {
			first = rc;
			lmpi_blame_stays(rc);
		}
	}
	*outcount = n;
	if (first == MPI_SUCCESS || statuses == MPI_STATUSES_IGNORE)
		return first;
	return lmpi_error(MPI_ERR_IN_STATUS, "at least one of %d requests failed: %s", n,
			  lmpi_error_text(first));
}

int
impl_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
	      MPI_Status *array_of_statuses)
{
	struct many m = {incount, array_of_requests, has_outcome, 0};
	int rc = find_all(incount, array_of_requests);

	if (rc)
		return rc;
	if (!some_done(&m))
		lmpi_wait_done(some_done, &m);
	if (any_over(incount, array_of_requests, has_outcome) == MPI_UNDEFINED) {
		*outcount = MPI_UNDEFINED;
		return MPI_SUCCESS;
	}
	return retire_some(incount, array_of_requests, outcount, array_of_indices,
			   array_of_statuses);
}

int
impl_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
	      MPI_Status *array_of_statuses)
{
	int i, rc = find_all(incount, array_of_requests);

	if (rc)
		return rc;
	i = look_for_any(incount, array_of_requests, has_outcome);
	if (i == MPI_UNDEFINED) {
		*outcount = MPI_UNDEFINED;
		return MPI_SUCCESS;
	}
	return retire_some(incount, array_of_requests, outcount, array_of_indices,
			   array_of_statuses);
}

/* ---- looking without retiring */

int
impl_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	struct lmpi_request *r;
	int rc = find_all(1, &request);

	if (rc)
		return rc;
	r = pending(request);
	if (r == NULL) {
		*flag = 1;
		lmpi_status_empty(status);
		return MPI_SUCCESS;
	}
	if (!r->e.done)
		lmpi_poke();
	*flag = r->e.done;
	if (r->e.done)
		(void)report_request(r, status);
	return MPI_SUCCESS;
}

int
impl_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
			    MPI_Status *array_of_statuses)
{
	int rc = find_all(count, array_of_requests);

	if (rc)
		return rc;
	*flag = look_for_all(count, array_of_requests, is_complete);
	for (int i = 0; *flag && i < count; i++) {
		struct lmpi_request *r = pending(array_of_requests[i]);

		if (r == NULL)
			lmpi_status_empty(status_at(array_of_statuses, i));
		else
			(void)report_request(r, status_at(array_of_statuses, i));
	}
	return MPI_SUCCESS;
}

int
impl_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *indx, int *flag,
			    MPI_Status *status)
{
	int i, rc = find_all(count, array_of_requests);

	if (rc)
		return rc;
	i = look_for_any(count, array_of_requests, is_complete);
	*flag = i != -1;
	*indx = i == -1 ? MPI_UNDEFINED : i;
	if (i == MPI_UNDEFINED)
		lmpi_status_empty(status);
	else if (i >= 0)
		(void)report_request(pending(array_of_requests[i]), status);
	return MPI_SUCCESS;
}

int
impl_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
			     int array_of_indices[], MPI_Status *array_of_statuses)
{
	int n = 0, rc = find_all(incount, array_of_requests);

	if (rc)
		return rc;
	if (look_for_any(incount, array_of_requests, is_complete) == MPI_UNDEFINED) {
		*outcount = MPI_UNDEFINED;
		return MPI_SUCCESS;
	}
	for (int i = 0; i < incount; i++) {
		struct lmpi_request *r = pending(array_of_requests[i]);

		if (r == NULL || !r->e.done)
			continue;
		(void)report_request(r, status_at(array_of_statuses, n));
		array_of_indices[n++] = i;
	}
	*outcount = n;
	return MPI_SUCCESS;
}
