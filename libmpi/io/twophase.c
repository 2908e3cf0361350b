/* SPDX-License-Identifier: BSD-2-Clause */
/* Two-phase I/O: aggregators move windows of the file, messages carry the pieces.
 *
 * The range from the lowest to the highest byte that anybody wants is shared out among
 * the aggregators as domains; each goes through its own in windows of cb_buffer_size.
 *
 *	every process    to every aggregator whose domain its range meets: the plan, its
 *	(client)         pieces there; then for each window in which it has bytes one
 *	                 message, to the aggregator (write) or from it (read)
 *	aggregator       with all plans at hand, window by window: receive and write, or
 *	                 read and send.  A message shorter than expected: the file ended
 *
 * No message has a header: both sides work out from the plan what is in a window, and
 * data goes between the user's memory and the aggregator's staging buffer, packed aside
 * only if it does not lie in one piece.  A process is served by itself without messages.
 *
 * Cost per byte written: one message, one copy into the window, one write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "engine.h"
#include "io.h"
#include "runs.h"
#include "twophase.h"

enum { TAG_PLAN, TAG_DATA, TAG_REPLY };

static void
fail_phase(struct lmpi_io_op *op, int rc)
{
	if (op->error == MPI_SUCCESS)
		op->error = rc;
}

static void
send_to_phase(struct lmpi_twophase *t, struct lmpi_req *e, void (*done)(struct lmpi_req *),
	      int rank, int tag, const void *data, int64_t bytes)
{
	const struct lmpi_comm *comm = t->op->file->comm;

	memset(e, 0, sizeof(*e));
	e->on_done = done;
	lmpi_isend(e, data, (uint64_t)bytes, comm->group->world[rank], comm->rank, t->op->tag + tag,
		   comm->cid, LMPI_STANDARD);
}

static void
receive_from(struct lmpi_twophase *t, struct lmpi_req *e, void (*done)(struct lmpi_req *), int rank,
	     int tag, void *data, int64_t bytes)
{
	memset(e, 0, sizeof(*e));
	e->on_done = done;
	lmpi_irecv(e, data, (uint64_t)bytes, rank, t->op->tag + tag, t->op->file->comm->cid);
}

/* One of the things this process has to do is done. */
static void
part_done(struct lmpi_twophase *t)
{
	if (--t->left == 0)
		lmpi_io_local_done(t->op);
}

/* ---- domains */

static int64_t
domain_begin(const struct lmpi_twophase *t, int a)
{
	int64_t at = t->base + a * t->domain;

	return a == 0 ? t->first : at < t->last ? at : t->last;
}

static void
share_out(struct lmpi_twophase *t)
{
	const struct lmpi_file *f = t->op->file;
	int64_t unit = f->hints.unit, span, each;

	t->first = INT64_MAX;
	t->last = 0;
	for (int i = 0; i < f->comm->size; i++) {
		const struct lmpi_io_span *s = &t->op->spans->all[i];

		if (s->bytes == 0)
			continue;
		if (s->first < t->first)
			t->first = s->first;
		if (s->last > t->last)
			t->last = s->last;
	}
	t->base = t->first - t->first % unit;
	span = t->last - t->base;
	each = span / f->aggs + (span % f->aggs != 0);
	if (each < LMPI_DOMAIN_MIN) /* one process is as good as several for so little */
		each = LMPI_DOMAIN_MIN;
	t->domain = each / unit * unit + (each % unit ? unit : 0);
}

/* ---- clients */

static void client_next(struct lmpi_client_side *c);

static struct lmpi_client_side *
client_of(struct lmpi_req *e)
{
	return (struct lmpi_client_side *)(void *)e;
}

static void
client_done(struct lmpi_req *e)
{
	struct lmpi_client_side *c = client_of(e);
	struct lmpi_io_op *op = c->t->op;

	if (e->error != MPI_SUCCESS)
		fail_phase(op, e->error);
	if (c->planned) {
		if (op->write) {
			op->moved += c->chunk;
		} else {
			int64_t got = e->error ? 0 : (int64_t)e->bytes;

			if (c->staging != NULL)
				lmpi_io_mem_put(&op->mem, c->pos, got, c->staging);
			op->moved += got;
		}
		c->pos += c->chunk;
	}
	c->planned = true;
	client_next(c);
}

/* Where the bytes of the chunk are, or come to. */
static char *
client_buffer(struct lmpi_client_side *c)
{
	struct lmpi_io_op *op = c->t->op;

	if (op->mem.flat != NULL)
		return op->mem.flat + c->pos;
	if (c->staging_len < c->chunk) {
		free(c->staging);
		c->staging = malloc((size_t)c->chunk);
		c->staging_len = c->staging ? c->chunk : 0;
	}
	if (c->staging != NULL && op->write)
		lmpi_io_mem_get(&op->mem, c->pos, c->chunk, c->staging);
	return c->staging;
}

/* The next window in which we have bytes. */
static void
client_next(struct lmpi_client_side *c)
{
	struct lmpi_twophase *t = c->t;
	int64_t hi;
	char *buf;

	if (!lmpi_runs_more(&c->at)) {
		free(c->staging);
		c->staging = NULL;
		part_done(t);
		return;
	}
	hi = lmpi_window_end(t, c->lo, lmpi_runs_offset(&c->at), c->hi);
	c->chunk = lmpi_runs_skip(&c->at, hi);
	buf = client_buffer(c);
	if (buf == NULL) {
		/* The aggregator counts on this message: it gets none of our bytes, and
		 * everybody hears of the error. */
		fail_phase(t->op, lmpi_error(MPI_ERR_NO_MEM, "no memory to pack %lld bytes",
					     (long long)c->chunk));
		c->chunk = 0;
		buf = (char *)&c->chunk;
	}
	if (t->op->write)
		send_to_phase(t, &c->e, client_done, c->rank, TAG_DATA, buf, c->chunk);
	else
		receive_from(t, &c->e, client_done, c->rank, TAG_REPLY, buf, c->chunk);
}

static int
client_start(struct lmpi_twophase *t, int a)
{
	struct lmpi_io_op *op = t->op;
	struct lmpi_client_side *c = &t->client[a];

	c->t = t;
	c->rank = op->file->agg[a];
	c->lo = domain_begin(t, a);
	c->hi = domain_begin(t, a + 1);
	if (!lmpi_meets(&op->spans->mine, c->lo, c->hi))
		return MPI_SUCCESS;
	if (!lmpi_runs_cut(op->spans->runs, c->lo, c->hi, &c->plan))
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for a collective access");
	c->pos = lmpi_view_below(&op->file->view, c->lo) - op->pos;
	if (c->pos < 0)
		c->pos = 0;
	lmpi_runs_begin(&c->at, c->plan.run, c->plan.n);
	if (c->rank == op->file->comm->rank)
		return MPI_SUCCESS; /* the aggregator here takes it from there */
	t->left++;
	send_to_phase(t, &c->e, client_done, c->rank, TAG_PLAN, c->plan.run,
		      c->plan.n * (int64_t)sizeof(struct lmpi_run));
	return MPI_SUCCESS;
}

/* ---- aggregators: messages; window.c has the windows */

static void window_start(struct lmpi_aggregator *g);
static void window_go(struct lmpi_aggregator *g);

static struct lmpi_source *
phase_source_of(struct lmpi_req *e)
{
	return (struct lmpi_source *)(void *)e;
}

static void
plan_done(struct lmpi_req *e)
{
	struct lmpi_source *s = phase_source_of(e);
	struct lmpi_aggregator *g = s->g;

	s->n = (int64_t)(e->bytes / sizeof(struct lmpi_run));
	if (e->error != MPI_SUCCESS || !lmpi_runs_valid(s->run, s->n, g->lo, g->hi))
		lmpi_engine_abort(1, "the plan of a collective file access came damaged");
	lmpi_runs_begin(&s->at, s->run, s->n);
	if (--g->waits == 0)
		window_start(g);
}

static void
data_done(struct lmpi_req *e)
{
	struct lmpi_source *s = phase_source_of(e);
	struct lmpi_aggregator *g = s->g;

	if (e->error != MPI_SUCCESS)
		fail_phase(g->t->op, e->error);
	else if (g->t->op->write && (int64_t)e->bytes != s->bytes)
		s->bytes = s->valid = 0; /* it failed there: nothing of it is written */
	if (--g->waits == 0)
		window_go(g);
}

/* Our own pieces: no message, and no copy where memory is flat. */
static void
take_own(struct lmpi_aggregator *g, struct lmpi_source *s)
{
	struct lmpi_io_op *op = g->t->op;
	struct lmpi_client_side *c = &g->t->client[g->index];

	if (op->mem.flat != NULL)
		s->data = op->mem.flat + c->pos;
	else if (op->write)
		lmpi_io_mem_get(&op->mem, c->pos, s->bytes, s->data);
}

static void
give_phase_own(struct lmpi_aggregator *g, struct lmpi_source *s)
{
	struct lmpi_io_op *op = g->t->op;
	struct lmpi_client_side *c = &g->t->client[g->index];

	if (!op->write && op->mem.flat == NULL)
		lmpi_io_mem_put(&op->mem, c->pos, s->valid, s->data);
	op->moved += s->valid;
	c->pos += s->bytes;
}

/* All data of the window is here (write), or all replies are out (read). */
static void
window_go(struct lmpi_aggregator *g)
{
	struct lmpi_twophase *t = g->t;

	if (t->op->write && t->op->error == MPI_SUCCESS)
		fail_phase(t->op, lmpi_window_write(g));
	for (int i = 0; i < g->sources; i++)
		if (g->source[i].own && g->source[i].wants > 0)
			give_phase_own(g, &g->source[i]);
	g->turn++;
	if (!g->starting)
		window_start(g);
}

static void
replies(struct lmpi_aggregator *g)
{
	for (int i = 0; i < g->sources; i++) {
		struct lmpi_source *s = &g->source[i];

		if (s->own || s->wants == 0)
			continue;
		g->waits++;
		send_to_phase(g->t, &s->e, data_done, s->rank, TAG_REPLY, s->data, s->valid);
	}
}

static void
requests(struct lmpi_aggregator *g)
{
	for (int i = 0; i < g->sources; i++) {
		struct lmpi_source *s = &g->source[i];

		if (s->own || s->wants == 0)
			continue;
		g->waits++;
		receive_from(g->t, &s->e, data_done, s->rank, TAG_DATA, s->data, s->bytes);
	}
}

/* Windows one after another; those whose messages are all done at once do not recurse. */
static void
window_start(struct lmpi_aggregator *g)
{
	struct lmpi_twophase *t = g->t;
	int64_t turn;

	g->starting = true;
	do {
		turn = g->turn;
		if (!lmpi_window_next(g)) {
			g->starting = false;
			part_done(t);
			return;
		}
		for (int i = 0; i < g->sources; i++)
			if (g->source[i].own && g->source[i].wants > 0)
				take_own(g, &g->source[i]);
		g->waits = 1; /* so that it does not end before all have begun */
		if (t->op->write) {
			requests(g);
		} else {
			if (t->op->error == MPI_SUCCESS)
				fail_phase(t->op, lmpi_window_read(g));
			replies(g);
		}
		if (--g->waits == 0)
			window_go(g);
	} while (g->turn != turn);
	g->starting = false;
}

static int
aggregator_start(struct lmpi_twophase *t, int a)
{
	struct lmpi_io_op *op = t->op;
	const struct lmpi_comm *comm = op->file->comm;
	struct lmpi_aggregator *g = &t->agg;
	int n = 0;

	g->t = t;
	g->index = a;
	g->lo = domain_begin(t, a);
	g->hi = domain_begin(t, a + 1);
	for (int i = 0; i < comm->size; i++)
		n += lmpi_meets(&op->spans->all[i], g->lo, g->hi);
	if (n == 0)
		return MPI_SUCCESS;
	g->source = calloc((size_t)n, sizeof(*g->source));
	if (g->source == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for a collective access");
	t->left++;
	g->waits = 1;
	for (int i = 0; i < comm->size; i++) {
		struct lmpi_source *s = &g->source[g->sources];
		int64_t most = lmpi_runs_cut_max(op->spans->all[i].runs);

		if (!lmpi_meets(&op->spans->all[i], g->lo, g->hi))
			continue;
		g->sources++;
		s->g = g;
		s->rank = i;
		s->own = i == comm->rank;
		if (s->own) {
			s->run = t->client[a].plan.run;
			s->n = t->client[a].plan.n;
			lmpi_runs_begin(&s->at, s->run, s->n);
			continue;
		}
		s->run = s->memory = malloc((size_t)most * sizeof(struct lmpi_run));
		if (s->memory == NULL)
			return lmpi_error(MPI_ERR_NO_MEM, "no memory for a collective access");
		g->waits++;
		receive_from(t, &s->e, plan_done, i, TAG_PLAN, s->memory,
			     most * (int64_t)sizeof(struct lmpi_run));
	}
	if (--g->waits == 0)
		window_start(g);
	return MPI_SUCCESS;
}

/* ---- both */

void
lmpi_twophase_start(struct lmpi_io_op *op)
{
	struct lmpi_file *f = op->file;
	struct lmpi_twophase *t = calloc(1, sizeof(*t));
	int rc = MPI_SUCCESS;

	op->two = t;
	if (t != NULL)
		t->client = calloc((size_t)f->aggs, sizeof(*t->client));
	if (t == NULL || t->client == NULL)
		lmpi_engine_abort(1, "no memory for a collective file access");
	t->op = op;
	t->left = 1;
	share_out(t);
	for (int a = 0; a < f->aggs && rc == MPI_SUCCESS; a++)
		rc = client_start(t, a);
	for (int a = 0; a < f->aggs && rc == MPI_SUCCESS; a++)
		if (f->agg[a] == f->comm->rank)
			rc = aggregator_start(t, a);
	/* Others count on our messages: there is no way back from here. */
	if (rc)
		lmpi_engine_abort(1, lmpi_error_text(rc));
	part_done(t);
}

void
lmpi_twophase_free(struct lmpi_io_op *op)
{
	struct lmpi_twophase *t = op->two;

	if (t == NULL)
		return;
	for (int a = 0; a < op->file->aggs; a++) {
		free(t->client[a].plan.run);
		free(t->client[a].staging);
	}
	for (int i = 0; i < t->agg.sources; i++)
		free(t->agg.source[i].memory);
	free(t->agg.source);
	free(t->agg.window);
	free(t->agg.staging);
	free(t->agg.covered);
	free(t->agg.heap);
	free(t->client);
	free(t);
	op->two = NULL;
}
