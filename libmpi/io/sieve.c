/* SPDX-License-Identifier: BSD-2-Clause */
/* Independent access: straight where the range lies in one piece, else by data sieving.
 *
 * Sieving moves a window of the file that holds several pieces at once.  Reading, the
 * pieces are picked out; writing, the window is read, changed and written back under a
 * lock.  Where pieces are large or far apart each goes by itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "io.h"

#define STAGE (INT64_C(1) << 20) /* of memory that has to be packed */

struct sieve {
	struct lmpi_io_op *op;
	struct lmpi_file *f;
	char *room; /* window */
	int64_t room_len;
	int64_t done;  /* bytes of the stream */
	bool ended;    /* the file has */
	bool no_sieve; /* by hint, or because the file system does not lock */
};

static int
sieve_no_memory(int64_t bytes)
{
	return lmpi_error(MPI_ERR_NO_MEM, "no memory for %lld bytes of a file access",
			  (long long)bytes);
}

static int
make_sieve_room(struct sieve *s, int64_t bytes)
{
	if (s->room_len >= bytes)
		return MPI_SUCCESS;
	free(s->room);
	s->room = malloc((size_t)bytes);
	s->room_len = s->room ? bytes : 0;
	return s->room ? MPI_SUCCESS : sieve_no_memory(bytes);
}

static int
sieve_failed(const struct sieve *s, int err)
{
	return lmpi_io_error(-err, s->op->write ? "cannot write" : "cannot read", s->f->name);
}

/* Stream bytes [done, done + len) lie at `offset` in one piece. */
static int
straight(struct sieve *s, int64_t offset, int64_t len)
{
	const struct lmpi_io_mem *m = &s->op->mem;
	int64_t moved = 0;
	int err, rc;

	while (len > 0 && !s->ended) {
		int64_t part = m->flat || len < STAGE ? len : STAGE;
		char *at = m->flat ? m->flat + s->done : NULL;

		if (at == NULL) {
			rc = make_sieve_room(s, part);
			if (rc)
				return rc;
			at = s->room;
			if (s->op->write)
				lmpi_io_mem_get(m, s->done, part, at);
		}
		err = s->op->write ? lmpi_io_pwrite(s->f->fd, at, part, offset, &moved)
				   : lmpi_io_pread(s->f->fd, at, part, offset, &moved);
		if (!s->op->write && m->flat == NULL)
			lmpi_io_mem_put(m, s->done, moved, at);
		s->done += moved;
		if (err)
			return sieve_failed(s, err);
		s->ended = moved < part;
		offset += part;
		len -= part;
	}
	return MPI_SUCCESS;
}

/* A window: stream bytes [done, done + data) in the file's [from, to). */
struct window {
	int64_t from, to, data, pieces;
	struct lmpi_walk walk; /* at its beginning */
};

/* As many pieces as fit into `most` bytes of the file, at least one. */
static void
next_window(const struct sieve *s, int64_t most, struct window *w)
{
	int64_t left = s->op->len - s->done, len, at;
	struct lmpi_walk walk;

	lmpi_walk_start(&walk, &s->f->view, s->op->pos + s->done);
	w->walk = walk;
	w->from = w->to = -1;
	w->data = w->pieces = 0;
	while (left > 0) {
		at = lmpi_walk_next(&walk, left, &len);
		if (w->pieces > 0 && (at + len - w->from > most || at < w->to))
			break;
		if (w->pieces++ == 0)
			w->from = at;
		w->to = at + len;
		w->data += len;
		left -= len;
	}
}

static int
one_by_one(struct sieve *s, const struct window *w)
{
	struct lmpi_walk walk = w->walk;
	int64_t left = w->data, len, at;
	int rc = MPI_SUCCESS;

	while (left > 0 && rc == MPI_SUCCESS && !s->ended) {
		at = lmpi_walk_next(&walk, left, &len);
		rc = straight(s, at, len);
		left -= len;
	}
	return rc;
}

/* Between the window in memory, of which the first `valid` bytes are there, and the
 * user's. */
static void
pick_sieve(struct sieve *s, const struct window *w, int64_t valid)
{
	struct lmpi_walk walk = w->walk;
	int64_t left = w->data, len, at;

	while (left > 0) {
		at = lmpi_walk_next(&walk, left, &len) - w->from;
		left -= len;
		if (s->op->write) {
			lmpi_io_mem_get(&s->op->mem, s->done, len, s->room + at);
		} else {
			if (at + len > valid) {
				len = at < valid ? valid - at : 0;
				s->ended = true;
			}
			lmpi_io_mem_put(&s->op->mem, s->done, len, s->room + at);
		}
		s->done += len;
		if (s->ended)
			break;
	}
}

static int
sieve_read(struct sieve *s, const struct window *w)
{
	int64_t moved;
	int err = lmpi_io_pread(s->f->fd, s->room, w->to - w->from, w->from, &moved);

	if (err)
		return sieve_failed(s, err);
	pick_sieve(s, w, moved);
	return MPI_SUCCESS;
}

/* The caller holds the lock. */
static int
sieve_write(struct sieve *s, const struct window *w)
{
	int64_t span = w->to - w->from, moved, before = s->done;
	int err = lmpi_io_pread(s->f->fd, s->room, span, w->from, &moved);

	if (err)
		return sieve_failed(s, err);
	memset(s->room + moved, 0, (size_t)(span - moved));
	pick_sieve(s, w, span);
	err = lmpi_io_pwrite(s->f->fd, s->room, span, w->from, &moved);
	if (err) {
		s->done = before;
		return sieve_failed(s, err);
	}
	return MPI_SUCCESS;
}

static bool
worth_it(const struct sieve *s, const struct window *w)
{
	int32_t choice = s->op->write ? s->f->hints.ds_write : s->f->hints.ds_read;

	if (s->no_sieve || w->pieces < 2 || choice == LMPI_IO_DISABLE || !s->f->readable)
		return false;
	return choice == LMPI_IO_ENABLE || lmpi_io_one_piece(w->to - w->from, w->data, w->pieces);
}

/* Do one window, locked if writers lock. */
static int
do_window(struct sieve *s, const struct window *w)
{
	bool sieve = worth_it(s, w), lock;
	int rc = sieve ? make_sieve_room(s, w->to - w->from) : MPI_SUCCESS, err;

	if (rc)
		return rc;
	lock = s->op->write && !s->f->atomic && (s->f->locking || sieve);
	if (lock) {
		err = lmpi_io_lock(s->f->fd, LMPI_IO_EXCLUSIVE, w->from, w->to - w->from);
		if (err) { /* without locks nobody may sieve, and nobody has to lock */
			s->no_sieve = true;
			sieve = lock = false;
		}
	}
	if (!sieve)
		rc = one_by_one(s, w);
	else
		rc = s->op->write ? sieve_write(s, w) : sieve_read(s, w);
	if (lock)
		lmpi_io_unlock(s->f->fd, w->from, w->to - w->from);
	return rc;
}

static int
all_windows(struct sieve *s)
{
	const struct lmpi_io_hints *h = &s->f->hints;
	struct window w;
	int rc = MPI_SUCCESS;

	while (s->done < s->op->len && rc == MPI_SUCCESS && !s->ended) {
		next_window(s, s->op->write ? h->ind_wr : h->ind_rd, &w);
		rc = do_window(s, &w);
	}
	return rc;
}

void
lmpi_io_independent(struct lmpi_io_op *op)
{
	struct lmpi_file *f = op->file;
	struct sieve s = {.op = op, .f = f};
	int64_t first = 0, last = 0;
	int rc = MPI_SUCCESS, err;

	if (op->len == 0)
		return;
	if (f->atomic) {
		first = lmpi_view_offset(&f->view, op->pos);
		last = lmpi_view_offset(&f->view, op->pos + op->len - 1) + 1;
		if (f->view.odd) { /* anything may be anywhere */
			first = 0;
			last = 0;
		}
		err = lmpi_io_lock(f->fd, op->write ? LMPI_IO_EXCLUSIVE : LMPI_IO_SHARED, first,
				   last - first);
		if (err)
			rc = lmpi_io_error(-err, "cannot lock", f->name);
	}
	if (rc == MPI_SUCCESS && f->view.dense && !(op->write && f->locking))
		rc = straight(&s, lmpi_view_offset(&f->view, op->pos), op->len);
	else if (rc == MPI_SUCCESS)
		rc = all_windows(&s);
	if (f->atomic)
		lmpi_io_unlock(f->fd, first, last - first);
	free(s.room);
	op->moved = s.done;
	op->error = rc;
}
