/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective access: the queue of a file, and whether to go together.
 *
 *	start     exchange spans
 *	decided   all by themselves, or two-phase
 *	local     this process has done its part: exchange errors
 *	done      the request completes, the next access of the file starts
 *
 * Accesses of one file run one after another, in the order of the calls, which is the
 * same everywhere: so are the tags of their messages, whatever the timing. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "coll.h"
#include "coll_impl.h"
#include "io.h"
#include "runs.h"

/* Above this many bytes per piece a process by itself is as fast as an aggregator. */
#define PIECE_LARGE (32 << 10)

static void start_collective(struct lmpi_io_op *op);

static void
fail_collective(struct lmpi_io_op *op, int rc)
{
	if (op->error == MPI_SUCCESS)
		op->error = rc;
}

/* ---- the end */

static void
release_collective(struct lmpi_io_op *op)
{
	lmpi_twophase_free(op);
	if (op->spans != NULL && op->spans->runs != NULL) {
		free(op->spans->runs->run);
		free(op->spans->runs);
	}
	free(op->spans);
	free(op);
}

void
lmpi_io_op_done(struct lmpi_io_op *op)
{
	struct lmpi_file *f = op->file;
	struct lmpi_request *r = op->request;

	r->e.bytes = (uint64_t)lmpi_io_op_finish(op);
	r->e.error = op->error;
	if (op->error != MPI_SUCCESS)
		r->staging = strdup(lmpi_error_text(op->error));
	f->queue = op->next;
	release_collective(op);
	lmpi_request_complete(r);
	if (f->queue != NULL)
		start_collective(f->queue);
}

/* ---- exchanges: collectives of the library's own that call back */

struct exchange {
	struct lmpi_io_op *op;
	void (*then)(struct lmpi_io_op *op);
};

static void
exchanged(struct lmpi_coll *c)
{
	struct exchange *x = c->finish_arg;

	x->then(x->op);
}

/* Start a collective that calls `then` when it is complete. */
static int
run_collective(struct lmpi_coll *c, int rc, struct lmpi_io_op *op,
	       void (*then)(struct lmpi_io_op *op))
{
	struct lmpi_request *r;
	struct exchange *x;
	MPI_Request handle;

	x = c ? lmpi_coll_alloc(c, 1, sizeof(*x)) : NULL;
	if (x == NULL && rc == MPI_SUCCESS)
		rc = lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	if (rc == MPI_SUCCESS) {
		*x = (struct exchange){.op = op, .then = then};
		c->finish = exchanged;
		c->finish_arg = x;
	}
	rc = lmpi_coll_go(c, rc, LMPI_COLL_NONBLOCKING, &handle);
	if (rc)
		return rc;
	r = lmpi_request_find(handle);
	if (r->e.done)
		lmpi_request_free(r);
	else
		r->detached = true;
	return MPI_SUCCESS;
}

/* ---- errors of all */

static void
agreed(struct lmpi_io_op *op)
{
	if (op->error == MPI_SUCCESS && op->worst != MPI_SUCCESS)
		op->error = lmpi_error(op->worst,
				       "a process that does I/O for others could not access "
				       "%s",
				       op->file->name);
	lmpi_io_op_done(op);
}

void
lmpi_io_local_done(struct lmpi_io_op *op)
{
	struct lmpi_coll *c = NULL;
	int rc;

	op->worst = op->error;
	rc = lmpi_coll_Allreduce(&c, MPI_IN_PLACE, &op->worst, 1, MPI_INT, MPI_MAX,
				 op->file->comm->handle);
	rc = run_collective(c, rc, op, agreed);
	if (rc) {
		fail_collective(op, rc);
		lmpi_io_op_done(op);
	}
}

/* ---- the decision */

static int
by_first(const void *a, const void *b)
{
	const struct lmpi_io_span *p = a, *q = b;

	return (p->first > q->first) - (p->first < q->first);
}

/* Do the ranges of two processes overlap? */
static bool
interleaved(struct lmpi_io_span *sorted, int n)
{
	int64_t end = INT64_MIN;

	qsort(sorted, (size_t)n, sizeof(*sorted), by_first);
	for (int i = 0; i < n; i++) {
		if (sorted[i].bytes == 0)
			continue;
		if (sorted[i].first < end)
			return true;
		if (sorted[i].last > end)
			end = sorted[i].last;
	}
	return false;
}

/* The same at all processes. */
static bool
together(const struct lmpi_io_op *op)
{
	int n = op->file->comm->size;
	int64_t bytes = 0, pieces = 0;
	bool wanted = false, yes;
	struct lmpi_io_span *sorted;

	for (int i = 0; i < n; i++) {
		const struct lmpi_io_span *s = &op->spans->all[i];

		if (s->wish == LMPI_IO_DISABLE)
			return false;
		wanted |= s->wish == LMPI_IO_ENABLE;
		bytes += s->bytes;
		pieces += s->pieces;
	}
	if (bytes == 0)
		return false;
	if (wanted)
		return true;
	if (bytes / pieces >= PIECE_LARGE)
		return false;
	sorted = malloc((size_t)n * sizeof(*sorted));
	if (sorted == NULL)
		return true; /* slower perhaps, but right */
	memcpy(sorted, op->spans->all, (size_t)n * sizeof(*sorted));
	yes = interleaved(sorted, n);
	free(sorted);
	return yes;
}

static void
decided(struct lmpi_io_op *op)
{
	if (together(op)) {
		lmpi_twophase_start(op);
		return;
	}
	if (op->error == MPI_SUCCESS)
		lmpi_io_independent(op);
	lmpi_io_op_done(op);
}

/* What this process wants; a view that two-phase cannot do, and atomic mode, whose
 * locks are per process, speak against it. */
static void
my_span(struct lmpi_io_op *op)
{
	const struct lmpi_file *f = op->file;
	struct lmpi_io_runs *runs = op->spans->runs;
	struct lmpi_io_span *s = &op->spans->mine;
	struct lmpi_walk w;
	int64_t left = op->len, len, at;

	s->wish = op->write ? f->hints.cb_write : f->hints.cb_read;
	if (f->atomic || f->view.odd || op->error != MPI_SUCCESS)
		s->wish = LMPI_IO_DISABLE;
	if (op->len == 0 || s->wish == LMPI_IO_DISABLE)
		return;
	lmpi_walk_start(&w, &f->view, op->pos);
	s->first = lmpi_view_offset(&f->view, op->pos);
	s->last = lmpi_view_offset(&f->view, op->pos + op->len - 1) + 1;
	if (f->view.dense) {
		if (!lmpi_runs_add(runs, s->first, op->len))
			left = -1;
	} else {
		for (; left > 0; left -= len) {
			at = lmpi_walk_next(&w, left, &len);
			if (!lmpi_runs_add(runs, at, len)) {
				left = -1;
				break;
			}
		}
	}
	if (left < 0) {
		s->wish = LMPI_IO_DISABLE;
		return;
	}
	s->bytes = op->len;
	s->pieces = runs->pieces;
	s->runs = runs->n;
}

static void
start_collective(struct lmpi_io_op *op)
{
	struct lmpi_comm *comm = op->file->comm;
	struct lmpi_coll *c = NULL;
	int rc;

	op->tag = (int)(op->file->seq++ & 0xffffff) * 4;
	if (comm->size == 1) {
		if (op->error == MPI_SUCCESS)
			lmpi_io_independent(op);
		lmpi_io_op_done(op);
		return;
	}
	my_span(op);
	rc = lmpi_coll_Allgather(&c, &op->spans->mine, sizeof(struct lmpi_io_span) / 8, MPI_INT64_T,
				 op->spans->all, sizeof(struct lmpi_io_span) / 8, MPI_INT64_T,
				 comm->handle);
	rc = run_collective(c, rc, op, decided);
	if (rc) {
		fail_collective(op, rc);
		lmpi_io_op_done(op);
	}
}

int
lmpi_io_collective(struct lmpi_io_op *op)
{
	struct lmpi_file *f = op->file;
	size_t n = (size_t)f->comm->size;
	bool alone = f->queue == NULL;

	op->spans = calloc(1, sizeof(*op->spans) + n * sizeof(struct lmpi_io_span));
	if (op->spans != NULL)
		op->spans->runs = calloc(1, sizeof(*op->spans->runs));
	if (op->spans == NULL || op->spans->runs == NULL) {
		free(op->spans);
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	op->next = NULL;
	if (alone)
		f->queue = op;
	else
		f->queue_last->next = op;
	f->queue_last = op;
	if (alone)
		start_collective(op);
	return MPI_SUCCESS;
}
