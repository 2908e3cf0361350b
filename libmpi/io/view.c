/* SPDX-License-Identifier: BSD-2-Clause */
/* Views: flattening a filetype, and where stream positions lie in the file. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "io.h"

/* ---- flattening */

struct flat {
	struct lmpi_block *seg;
	int64_t n, room;
	int64_t bytes;
	bool no_memory, falls, overlaps;
};

static void
put_view(struct flat *f, int64_t off, int64_t len)
{
	struct lmpi_block *last = f->n ? &f->seg[f->n - 1] : NULL;

	if (len == 0 || f->no_memory)
		return;
	f->bytes += len;
	if (last != NULL) {
		f->falls |= off < last->off;
		f->overlaps |= off < last->off + last->len;
		if (last->off + last->len == off) {
			last->len += len;
			return;
		}
	}
	if (f->n == f->room) {
		int64_t room = f->room ? f->room * 2 : 16;
		struct lmpi_block *more = realloc(f->seg, (size_t)room * sizeof(*more));

		if (more == NULL) {
			f->no_memory = true;
			return;
		}
		f->seg = more;
		f->room = room;
	}
	f->seg[f->n++] = (struct lmpi_block){.off = off, .len = len, .before = f->bytes - len};
}

static void
flatten_view(struct flat *f, const struct lmpi_node *node, int64_t at)
{
	at += node->off;
	switch (node->kind) {
	case LMPI_RUN:
		for (int64_t i = 0; i < node->n; i++)
			put_view(f, at + i * node->stride, node->len);
		break;
	case LMPI_BLOCKS:
		for (int64_t i = 0; i < node->n; i++)
			put_view(f, at + node->blocks[i].off, node->blocks[i].len);
		break;
	case LMPI_LOOP:
		for (int64_t i = 0; i < node->n && !f->no_memory; i++)
			flatten_view(f, node->child, at + i * node->stride);
		break;
	case LMPI_LIST:
		for (int64_t i = 0; i < node->n && !f->no_memory; i++)
			flatten_view(f, node->items[i].node, at);
		break;
	}
}

/* ---- making */

/* What MPI asks of etypes and filetypes. */
static int
check_io_view(const struct flat *f, const char *what, bool writable)
{
	if (f->no_memory)
		return lmpi_error(MPI_ERR_NO_MEM, "no memory for the %s, %lld pieces so far", what,
				  (long long)f->n);
	if (f->n > 0 && f->seg[0].off < 0)
		return lmpi_error(MPI_ERR_IO, "the %s has a negative displacement", what);
	if (f->falls)
		return lmpi_error(MPI_ERR_IO,
				  "the displacements of the %s do not rise monotonically", what);
	if (f->overlaps && writable)
		return lmpi_error(MPI_ERR_IO,
				  "the %s has parts that overlap, and the file can be written",
				  what);
	return MPI_SUCCESS;
}

static int
check_etype(struct lmpi_type *etype, bool writable)
{
	struct flat f = {0};
	int rc;

	flatten_view(&f, etype->layout, 0);
	rc = check_io_view(&f, "etype", writable);
	free(f.seg);
	return rc;
}

static int
fill_view(struct lmpi_view *v, const struct lmpi_type *form, bool writable)
{
	struct flat f = {0};
	int64_t span;
	int rc;

	flatten_view(&f, form->layout, 0);
	v->seg = f.seg;
	v->segs = f.n;
	v->size = f.bytes;
	v->extent = lmpi_type_extent(form);
	rc = check_io_view(&f, "filetype", writable);
	if (rc)
		return rc;
	if (v->extent <= 0 && f.n > 0)
		return lmpi_error(MPI_ERR_IO, "the filetype has the extent %lld",
				  (long long)v->extent);
	span = f.n > 0 ? f.seg[f.n - 1].off + f.seg[f.n - 1].len - f.seg[0].off : 0;
	v->odd = f.overlaps || span > v->extent;
	v->dense = f.n == 1 && v->size == v->extent;
	if (v->esize == 0 ? v->size != 0 : v->size % v->esize != 0)
		return lmpi_error(MPI_ERR_IO,
				  "the filetype has %lld bytes, which is no multiple of the "
				  "etype's %lld",
				  (long long)v->size, (long long)v->esize);
	return MPI_SUCCESS;
}

int
lmpi_view_make(struct lmpi_view *v, int64_t disp, struct lmpi_type *etype,
	       struct lmpi_type *filetype, const struct lmpi_datarep *rep, bool writable)
{
	struct lmpi_type *form;
	int rc;

	*v = (struct lmpi_view){.disp = disp, .rep = rep};
	rc = check_etype(etype, writable);
	if (rc == MPI_SUCCESS)
		rc = lmpi_datarep_size(rep, etype, &v->esize);
	if (rc == MPI_SUCCESS)
		rc = lmpi_datarep_form(rep, filetype, &form);
	if (rc)
		return rc;
	rc = fill_view(v, form, writable);
	lmpi_type_unref(form);
	if (rc) {
		free(v->seg);
		v->seg = NULL;
		return rc;
	}
	v->etype = etype;
	v->filetype = filetype;
	lmpi_type_ref(etype);
	lmpi_type_ref(filetype);
	return MPI_SUCCESS;
}

void
lmpi_view_drop(struct lmpi_view *v)
{
	free(v->seg);
	if (v->etype != NULL)
		lmpi_type_unref(v->etype);
	if (v->filetype != NULL)
		lmpi_type_unref(v->filetype);
	*v = (struct lmpi_view){0};
}

/* ---- positions */

void
lmpi_walk_start(struct lmpi_walk *w, const struct lmpi_view *v, int64_t pos)
{
	int64_t tile = v->size ? pos / v->size : 0, in = v->size ? pos % v->size : 0;
	int64_t lo = 0, hi = v->segs - 1;

	while (lo < hi) { /* the last segment that begins at or before the position */
		int64_t mid = (lo + hi + 1) / 2;

		if (v->seg[mid].before <= in)
			lo = mid;
		else
			hi = mid - 1;
	}
	*w = (struct lmpi_walk){.v = v,
				.base = v->disp + tile * v->extent,
				.i = lo,
				.in = v->segs ? in - v->seg[lo].before : 0};
}

int64_t
lmpi_view_offset(const struct lmpi_view *v, int64_t pos)
{
	struct lmpi_walk w;

	if (v->segs == 0)
		return v->disp;
	lmpi_walk_start(&w, v, pos);
	return w.base + v->seg[w.i].off + w.in;
}

int64_t
lmpi_view_below(const struct lmpi_view *v, int64_t offset)
{
	int64_t x, in, lo = 0, hi = v->segs - 1, inside;

	if (v->segs == 0)
		return 0;
	x = offset - v->disp - v->seg[0].off;
	if (x <= 0)
		return 0;
	in = x % v->extent + v->seg[0].off;
	while (lo < hi) {
		int64_t mid = (lo + hi + 1) / 2;

		if (v->seg[mid].off <= in)
			lo = mid;
		else
			hi = mid - 1;
	}
	inside = in - v->seg[lo].off;
	if (inside > v->seg[lo].len)
		inside = v->seg[lo].len;
	return x / v->extent * v->size + v->seg[lo].before + inside;
}
