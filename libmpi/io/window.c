/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of an aggregator: which bytes are wanted, and moving them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "io.h"
#include "runs.h"
#include "twophase.h"

#include "base/copy.h"

static int
window_failed(const struct lmpi_aggregator *g, int err)
{
	return lmpi_io_error(-err, g->t->op->write ? "cannot write" : "cannot read",
			     g->t->op->file->name);
}

/* ---- the next window */

static bool
window_room(char **buf, int64_t *have, int64_t want)
{
	if (*have >= want)
		return true;
	free(*buf);
	*buf = malloc((size_t)want);
	*have = *buf ? want : 0;
	return *buf != NULL;
}

bool
lmpi_window_next(struct lmpi_aggregator *g)
{
	int64_t lowest = INT64_MAX, hi, staged = 0;

	for (int i = 0; i < g->sources; i++)
		if (lmpi_runs_more(&g->source[i].at) && lmpi_runs_offset(&g->source[i].at) < lowest)
			lowest = lmpi_runs_offset(&g->source[i].at);
	if (lowest == INT64_MAX)
		return false;
	hi = lmpi_window_end(g->t, g->lo, lowest, g->hi);
	g->from = lowest;
	g->wanted = 0;
	for (int i = 0; i < g->sources; i++) {
		struct lmpi_source *s = &g->source[i];

		s->here = s->at;
		s->wants = s->bytes = s->valid = lmpi_runs_skip(&s->at, hi);
		g->wanted += s->wants;
	}
	g->to = hi;
	if (!window_room(&g->staging, &g->staging_len, g->wanted))
		lmpi_engine_abort(1, "no memory for a window of a collective file access");
	for (int i = 0; i < g->sources; i++) {
		g->source[i].data = g->staging + staged;
		staged += g->source[i].wants;
	}
	return true;
}

/* ---- merging what all want, to see the holes */

static int64_t
heap_key(const struct lmpi_source *s)
{
	return lmpi_runs_offset(&s->here);
}

static void
sift(struct lmpi_source **heap, int n, int i)
{
	for (;;) {
		int least = i, l = 2 * i + 1;
		struct lmpi_source *swap;

		if (l < n && heap_key(heap[l]) < heap_key(heap[least]))
			least = l;
		if (l + 1 < n && heap_key(heap[l + 1]) < heap_key(heap[least]))
			least = l + 1;
		if (least == i)
			return;
		swap = heap[i];
		heap[i] = heap[least];
		heap[least] = swap;
		i = least;
	}
}

static bool
cover(struct lmpi_aggregator *g, int64_t off, int64_t len)
{
	struct lmpi_covered *last = g->pieces ? &g->covered[g->pieces - 1] : NULL;

	if (last != NULL && off <= last->to) {
		if (off + len > last->to)
			last->to = off + len;
		return true;
	}
	if (g->pieces == g->covered_room) {
		int64_t more = g->covered_room ? 2 * g->covered_room : 64;
		struct lmpi_covered *c = realloc(g->covered, (size_t)more * sizeof(*c));

		if (c == NULL)
			return false;
		g->covered = c;
		g->covered_room = more;
	}
	g->covered[g->pieces++] = (struct lmpi_covered){off, off + len};
	return true;
}

/* Fills covered; sets from and to to its ends. */
static int
merge(struct lmpi_aggregator *g)
{
	int64_t off, len;
	int n = 0;

	if (g->heap == NULL)
		g->heap = malloc((size_t)g->sources * sizeof(*g->heap));
	if (g->heap == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	g->pieces = 0;
	for (int i = 0; i < g->sources; i++)
		if (g->source[i].bytes > 0)
			g->heap[n++] = &g->source[i];
	for (int i = n / 2; i-- > 0;)
		sift(g->heap, n, i);
	while (n > 0) {
		struct lmpi_source *s = g->heap[0];
		struct lmpi_runs_at *at = &s->here;

		if (lmpi_runs_next(at, g->to, &off, &len) && !cover(g, off, len))
			return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
		if (!lmpi_runs_more(at) || lmpi_runs_offset(at) >= g->to)
			g->heap[0] = g->heap[--n];
		sift(g->heap, n, 0);
	}
	if (g->pieces > 0) {
		g->from = g->covered[0].from;
		g->to = g->covered[g->pieces - 1].to;
	}
	return MPI_SUCCESS;
}

/* ---- moving */

static int
make_window(struct lmpi_aggregator *g)
{
	if (!window_room(&g->window, &g->window_len, g->to - g->from))
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for a window of %lld bytes",
				  (long long)(g->to - g->from));
	return MPI_SUCCESS;
}

/* Between the staging of a source and the window, as far as offsets lie below end. */
static void
spread_window(struct lmpi_aggregator *g, struct lmpi_source *s, struct lmpi_runs_at at, int64_t end,
	      bool into_window)
{
	char *data = s->data;
	int64_t off, len;

	while (lmpi_runs_next(&at, end, &off, &len)) {
		if (into_window)
			base_copy(g->window + (off - g->from), data, (size_t)len);
		else
			base_copy(data, g->window + (off - g->from), (size_t)len);
		data += len;
	}
	s->valid = data - s->data;
}

/* A window with holes as one piece, under a lock: somebody else may write the holes. */
static int
write_over(struct lmpi_aggregator *g, const struct lmpi_runs_at *begin)
{
	int fd = g->t->op->file->fd;
	int64_t span = g->to - g->from, moved;
	int err = lmpi_io_lock(fd, LMPI_IO_EXCLUSIVE, g->from, span);

	if (err)
		return err;
	err = lmpi_io_pread(fd, g->window, span, g->from, &moved);
	if (err == 0) {
		memset(g->window + moved, 0, (size_t)(span - moved));
		for (int i = 0; i < g->sources; i++)
			if (g->source[i].bytes > 0)
				spread_window(g, &g->source[i], begin[i], g->to, true);
		err = lmpi_io_pwrite(fd, g->window, span, g->from, &moved);
	}
	lmpi_io_unlock(fd, g->from, span);
	return err;
}

/* Locked piece by piece if others sieve. */
static int
write_pieces(struct lmpi_aggregator *g)
{
	const struct lmpi_file *f = g->t->op->file;
	int64_t moved;
	int err = 0;

	for (int64_t i = 0; i < g->pieces && err == 0; i++) {
		const struct lmpi_covered *c = &g->covered[i];
		bool lock = f->locking &&
			    lmpi_io_lock(f->fd, LMPI_IO_EXCLUSIVE, c->from, c->to - c->from) == 0;

		err = lmpi_io_pwrite(f->fd, g->window + (c->from - g->from), c->to - c->from,
				     c->from, &moved);
		if (lock)
			lmpi_io_unlock(f->fd, c->from, c->to - c->from);
	}
	return err;
}

/* May a window with holes be read, changed and written? */
static bool
may_write_over(const struct lmpi_file *f)
{
	return f->readable && f->locking && f->hints.ds_write != LMPI_IO_DISABLE;
}

int
lmpi_window_write(struct lmpi_aggregator *g)
{
	const struct lmpi_file *f = g->t->op->file;
	struct lmpi_runs_at *begin = malloc((size_t)g->sources * sizeof(*begin));
	int rc = MPI_SUCCESS, err = -ENOLCK;

	if (begin == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	for (int i = 0; i < g->sources; i++)
		begin[i] = g->source[i].here;
	rc = merge(g);
	if (rc == MPI_SUCCESS)
		rc = make_window(g);
	if (rc == MPI_SUCCESS && g->pieces > 0) {
		if (may_write_over(f) && lmpi_io_one_piece(g->to - g->from, g->wanted, g->pieces))
			err = write_over(g, begin);
		if (err == -ENOLCK || err == -ENOSYS || err == -EOPNOTSUPP) {
			for (int i = 0; i < g->sources; i++)
				if (g->source[i].bytes > 0)
					spread_window(g, &g->source[i], begin[i], g->to, true);
			err = write_pieces(g);
		}
		if (err)
			rc = window_failed(g, err);
	}
	free(begin);
	return rc;
}

/* Read what is covered, in one piece or in several; *end: where the file ends, if that
 * was met, else INT64_MAX. */
static int
read_covered(struct lmpi_aggregator *g, int64_t *end)
{
	const struct lmpi_file *f = g->t->op->file;
	bool one = g->pieces == 1 || lmpi_io_one_piece(g->to - g->from, g->wanted, g->pieces);
	int64_t moved;
	int err = 0;

	*end = INT64_MAX;
	if (one) {
		err = lmpi_io_pread(f->fd, g->window, g->to - g->from, g->from, &moved);
		if (err == 0 && moved < g->to - g->from)
			*end = g->from + moved;
	}
	for (int64_t i = 0; !one && i < g->pieces && err == 0; i++) {
		const struct lmpi_covered *c = &g->covered[i];

		err = lmpi_io_pread(f->fd, g->window + (c->from - g->from), c->to - c->from,
				    c->from, &moved);
		if (err == 0 && moved < c->to - c->from) {
			*end = c->from + moved;
			break;
		}
	}
	return err;
}

int
lmpi_window_read(struct lmpi_aggregator *g)
{
	struct lmpi_runs_at *begin = malloc((size_t)g->sources * sizeof(*begin));
	int64_t end = INT64_MAX;
	int rc = MPI_SUCCESS, err;

	for (int i = 0; begin != NULL && i < g->sources; i++)
		begin[i] = g->source[i].here;
	if (begin == NULL)
		rc = lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	if (rc == MPI_SUCCESS)
		rc = merge(g);
	if (rc == MPI_SUCCESS)
		rc = make_window(g);
	if (rc == MPI_SUCCESS) {
		err = read_covered(g, &end);
		if (err)
			rc = window_failed(g, err);
	}
	for (int i = 0; i < g->sources; i++) {
		struct lmpi_source *s = &g->source[i];

		if (rc)
			s->valid = 0;
		else if (s->wants > 0)
			spread_window(g, s, begin[i], end < g->to ? end : g->to, false);
	}
	free(begin);
	return rc;
}
