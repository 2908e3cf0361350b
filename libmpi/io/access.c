/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and writing: what is common to all calls. */
#include "access.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "io.h"

static int
check_mode(const struct lmpi_file *f, const struct lmpi_access *c)
{
	if (c->write && (f->amode & MPI_MODE_RDONLY))
		return lmpi_error(MPI_ERR_READ_ONLY, "%s was opened with MPI_MODE_RDONLY", f->name);
	if (!c->write && (f->amode & MPI_MODE_WRONLY))
		return lmpi_error(MPI_ERR_ACCESS, "%s was opened with MPI_MODE_WRONLY", f->name);
	if (c->place != LMPI_IO_POOLED && (f->amode & MPI_MODE_SEQUENTIAL))
		return lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION,
				  "%s was opened with MPI_MODE_SEQUENTIAL: only the shared file "
				  "pointer can be used",
				  f->name);
	if (c->place == LMPI_IO_AT && c->offset < 0)
		return lmpi_error(MPI_ERR_ARG, "offset is %lld", (long long)c->offset);
	return MPI_SUCCESS;
}

/* Fills in everything but the position. */
static int
describe_access(struct lmpi_file *f, const struct lmpi_access *c, struct lmpi_io_op *op)
{
	int64_t one;
	int rc = lmpi_check_count(c->count);

	op->file = f;
	op->write = c->write;
	if (rc == MPI_SUCCESS)
		rc = lmpi_check_type(c->datatype, &op->type);
	if (rc == MPI_SUCCESS)
		rc = lmpi_check_buffer(c->buf, c->count, op->type);
	if (rc == MPI_SUCCESS)
		rc = check_mode(f, c);
	if (rc == MPI_SUCCESS)
		rc = lmpi_datarep_size(f->view.rep, op->type, &one);
	if (rc)
		return rc;
	op->buf = c->buf;
	op->count = c->count;
	if (__builtin_mul_overflow(c->count, one, &op->len))
		return lmpi_error(MPI_ERR_COUNT, "count is %lld", (long long)c->count);
	if (op->len > 0 && (f->view.esize == 0 || op->len % f->view.esize != 0))
		return lmpi_error(MPI_ERR_ARG,
				  "%lld bytes are no whole number of etypes, which have %lld",
				  (long long)op->len, (long long)f->view.esize);
	if (op->len > 0 && f->view.segs == 0)
		return lmpi_error(MPI_ERR_ARG, "the filetype of the view holds no data");
	return MPI_SUCCESS;
}

/* Where the access goes; moves the pointer. */
static int
take_place(struct lmpi_io_op *op, const struct lmpi_access *c)
{
	struct lmpi_file *f = op->file;
	int64_t at;
	int rc;

	switch (c->place) {
	case LMPI_IO_AT:
		op->pos = c->offset * f->view.esize;
		break;
	case LMPI_IO_OWN:
		op->pos = f->pos;
		f->pos += op->len;
		break;
	case LMPI_IO_POOLED:
		rc = lmpi_shared_add(f, f->view.esize ? op->len / f->view.esize : 0, &at);
		if (rc)
			return rc;
		op->pos = at * f->view.esize;
		break;
	}
	return MPI_SUCCESS;
}

/* In the order of the ranks, all from one place of the shared pointer. */
static int
take_ordered(struct lmpi_io_op *op, int rc)
{
	struct lmpi_file *f = op->file;
	int64_t mine[2] = {rc ? 0 : op->len, rc}, *all, total = 0, at = 0, base[2] = {0};
	int n = f->comm->size, rc2;

	lmpi_file_drain(f);
	all = calloc(2 * (size_t)n, sizeof(*all));
	if (all == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	rc2 = lmpi_coll_allgather_ints(f->comm, (int *)mine, (int *)all, 4);
	for (int i = 0; i < n; i++) {
		if (i == f->comm->rank)
			at = total;
		total += all[2 * i];
	}
	free(all);
	if (rc2 == MPI_SUCCESS && f->comm->rank == 0)
		base[1] = lmpi_shared_add(f, f->view.esize ? total / f->view.esize : 0, &base[0]);
	if (rc2 == MPI_SUCCESS)
		rc2 = lmpi_coll_bcast_bytes(f->comm, base, sizeof(base), 0);
	if (rc2 == MPI_SUCCESS && base[1] != MPI_SUCCESS && f->comm->rank != 0)
		rc2 = lmpi_error((int)base[1], "rank 0 cannot move the shared file pointer");
	else if (rc2 == MPI_SUCCESS)
		rc2 = (int)base[1];
	op->pos = base[0] * f->view.esize + at;
	return rc ? rc : rc2;
}

/* ---- independent */

static int
independent(struct lmpi_file *f, const struct lmpi_access *c, int64_t *bytes)
{
	struct lmpi_io_op op = {0};
	int rc = describe_access(f, c, &op);

	*bytes = 0;
	if (rc == MPI_SUCCESS)
		rc = lmpi_io_op_prepare(&op);
	if (rc == MPI_SUCCESS)
		rc = take_place(&op, c);
	if (rc == MPI_SUCCESS) {
		lmpi_io_independent(&op);
		*bytes = lmpi_io_op_finish(&op);
		rc = op.error;
	} else {
		free(op.copy);
	}
	return rc;
}

int
lmpi_io_now(MPI_File fh, const struct lmpi_access *c, MPI_Status *status)
{
	struct lmpi_file *f;
	int64_t bytes;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	rc = independent(f, c, &bytes);
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, NULL, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes, false);
	return rc;
}

static struct lmpi_request *
access_new_request(struct lmpi_file *f, struct lmpi_type *type)
{
	struct lmpi_request *r = lmpi_request_new(LMPI_RQ_FILE, NULL, type);

	if (r != NULL) {
		r->active = true;
		r->file = f->handle;
	}
	return r;
}

/* Local I/O waits for nobody, so that it can as well be done at once. */
int
lmpi_io_soon(MPI_File fh, const struct lmpi_access *c, MPI_Request *request)
{
	struct lmpi_request *r;
	struct lmpi_file *f;
	int64_t bytes;
	int rc = lmpi_file_get(fh, &f);

	*request = MPI_REQUEST_NULL;
	if (rc)
		return rc;
	r = access_new_request(f, NULL);
	if (r == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	rc = independent(f, c, &bytes);
	if (rc) {
		lmpi_request_free(r);
		return rc;
	}
	r->e.bytes = (uint64_t)bytes;
	lmpi_request_complete(r);
	*request = lmpi_request_handle(r);
	return MPI_SUCCESS;
}

/* ---- collective */

/* Errors of arguments do not keep a process away from the others, who wait for it: it
 * takes part with nothing, and is told in the end. */
static int
start_all(struct lmpi_file *f, const struct lmpi_access *c, struct lmpi_request **request)
{
	struct lmpi_io_op *op = calloc(1, sizeof(*op));
	int rc = op ? describe_access(f, c, op) : lmpi_error(MPI_ERR_NO_MEM, "out of memory");

	if (op == NULL)
		return rc;
	if (rc == MPI_SUCCESS)
		rc = lmpi_io_op_prepare(op);
	if (c->place == LMPI_IO_POOLED)
		rc = take_ordered(op, rc);
	else if (rc == MPI_SUCCESS)
		rc = take_place(op, c);
	if (rc) {
		free(op->copy);
		op->copy = NULL;
		op->error = rc;
		op->len = 0;
	}
	op->request = *request = access_new_request(f, op->type);
	if (*request == NULL)
		rc = lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	else
		rc = lmpi_io_collective(op);
	if (rc) {
		if (*request != NULL)
			lmpi_request_free(*request);
		free(op->copy);
		free(op);
	}
	return rc;
}

/* Wait for a request of ours and let it go. */
static int
finish_all(struct lmpi_request *r, MPI_Status *status)
{
	int rc;

	lmpi_wait(&r->e.done);
	if (status != MPI_STATUS_IGNORE)
		lmpi_status_set(status, NULL, MPI_ANY_SOURCE, MPI_ANY_TAG, (int64_t)r->e.bytes,
				false);
	rc = r->e.error;
	if (rc)
		lmpi_error(rc, "%s", r->staging ? (char *)r->staging : "");
	lmpi_request_free(r);
	return rc;
}

int
lmpi_io_together(MPI_File fh, const struct lmpi_access *c, MPI_Status *status)
{
	struct lmpi_request *r = NULL;
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc == MPI_SUCCESS && f->split != NULL)
		rc = lmpi_error(MPI_ERR_OTHER, "%s was not ended", f->split_fn);
	if (rc == MPI_SUCCESS)
		rc = start_all(f, c, &r);
	return rc ? rc : finish_all(r, status);
}

int
lmpi_io_together_soon(MPI_File fh, const struct lmpi_access *c, MPI_Request *request)
{
	struct lmpi_request *r;
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	*request = MPI_REQUEST_NULL;
	if (rc == MPI_SUCCESS)
		rc = start_all(f, c, &r);
	if (rc == MPI_SUCCESS)
		*request = lmpi_request_handle(r);
	return rc;
}

int
lmpi_io_begin(MPI_File fh, const struct lmpi_access *c)
{
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	if (f->split != NULL)
		return lmpi_error(MPI_ERR_OTHER, "%s was not ended", f->split_fn);
	rc = start_all(f, c, &f->split);
	if (rc) {
		f->split = NULL;
		return rc;
	}
	f->split_fn = lmpi_call_top->fn;
	f->split_buf = c->buf;
	return MPI_SUCCESS;
}

int
lmpi_io_end(MPI_File fh, const char *fn, const void *buf, MPI_Status *status)
{
	struct lmpi_request *r;
	struct lmpi_file *f;
	int rc = lmpi_file_get(fh, &f);

	if (rc)
		return rc;
	if (f->split == NULL || strncmp(f->split_fn, fn, strlen(fn)) != 0)
		return lmpi_error(MPI_ERR_OTHER, "there was no %s before", fn);
	if (buf != f->split_buf)
		return lmpi_error(MPI_ERR_BUFFER, "the buffer is not the one of %s", fn);
	r = f->split;
	f->split = NULL;
	return finish_all(r, status);
}
