/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of equal pieces. */
#include "runs.h"

#include <stdlib.h>

static bool
push_runs(struct lmpi_io_runs *list, struct lmpi_run r)
{
	if (list->run == NULL || list->n == list->room) {
		int64_t room = list->room ? 2 * list->room : 8;
		struct lmpi_run *more = realloc(list->run, (size_t)room * sizeof(*more));

		if (more == NULL)
			return false;
		list->run = more;
		list->room = room;
	}
	list->run[list->n++] = r;
	list->pieces += r.n;
	list->bytes += r.n * r.len;
	return true;
}

bool
lmpi_runs_add(struct lmpi_io_runs *list, int64_t off, int64_t len)
{
	struct lmpi_run *last = list->n ? &list->run[list->n - 1] : NULL;

	if (len == 0)
		return true;
	if (last != NULL && last->n == 1 && last->off + last->len == off) {
		last->len += len; /* pieces that touch are one */
		list->bytes += len;
		return true;
	}
	if (last != NULL && last->len == len &&
	    (last->n == 1 || last->off + last->n * last->stride == off)) {
		last->stride = last->n == 1 ? off - last->off : last->stride;
		last->n++;
		list->pieces++;
		list->bytes += len;
		return true;
	}
	return push_runs(list, (struct lmpi_run){off, len, 0, 1});
}

/* The first piece of a run that ends behind lo. */
static int64_t
first_behind(const struct lmpi_run *r, int64_t lo)
{
	int64_t k;

	if (r->off + r->len > lo)
		return 0;
	if (r->n == 1)
		return 1;
	k = (lo - r->off - r->len) / r->stride + 1;
	return k < r->n ? k : r->n;
}

int64_t
lmpi_runs_skip(struct lmpi_runs_at *at, int64_t lo)
{
	int64_t bytes = 0;

	while (lmpi_runs_more(at)) {
		const struct lmpi_run *r = at->run;
		int64_t k = first_behind(r, lo);

		if (k > at->k) {
			bytes += (k - at->k) * r->len - at->in;
			at->k = k;
			at->in = 0;
		}
		if (at->k < r->n) {
			int64_t behind = lo - lmpi_runs_offset(at);

			if (behind > 0) {
				at->in += behind;
				bytes += behind;
			}
			break;
		}
		at->run++;
		at->k = 0;
	}
	return bytes;
}

/* The rest of a run from a place in it, up to hi, as at most three runs. */
static bool
cut_run(struct lmpi_runs_at *at, int64_t hi, struct lmpi_io_runs *to)
{
	const struct lmpi_run *r = at->run;
	int64_t off, len, whole;

	if (at->in > 0) {
		if (!lmpi_runs_next(at, hi, &off, &len))
			return true;
		if (!push_runs(to, (struct lmpi_run){off, len, 0, 1}))
			return false;
	}
	if (at->run != r || lmpi_runs_offset(at) >= hi || at->in > 0)
		return true;
	/* pieces from k on that end at or below hi */
	whole = r->n == 1	       ? r->off + r->len <= hi
		: r->off + r->len > hi ? 0
				       : (hi - r->off - r->len) / r->stride + 1;
	if (whole > r->n)
		whole = r->n;
	if (whole > at->k) {
		struct lmpi_run part = {lmpi_runs_offset(at), r->len, r->stride, whole - at->k};

		if (!push_runs(to, part))
			return false;
		at->k = whole;
		if (whole == r->n) {
			at->run++;
			at->k = 0;
			return true;
		}
	}
	if (lmpi_runs_next(at, hi, &off, &len))
		return push_runs(to, (struct lmpi_run){off, len, 0, 1});
	return true;
}

bool
lmpi_runs_cut(const struct lmpi_io_runs *from, int64_t lo, int64_t hi, struct lmpi_io_runs *to)
{
	struct lmpi_runs_at at;

	lmpi_runs_begin(&at, from->run, from->n);
	(void)lmpi_runs_skip(&at, lo);
	while (lmpi_runs_more(&at) && lmpi_runs_offset(&at) < hi)
		if (!cut_run(&at, hi, to))
			return false;
	return true;
}

bool
lmpi_runs_valid(const struct lmpi_run *run, int64_t n, int64_t lo, int64_t hi)
{
	int64_t end = lo, span;

	for (int64_t i = 0; i < n; i++) {
		const struct lmpi_run *r = &run[i];

		if (r->off < end || r->len < 1 || r->n < 1 || r->len > hi - r->off ||
		    (r->n > 1 && r->stride < r->len))
			return false;
		if (__builtin_mul_overflow(r->n - 1, r->n > 1 ? r->stride : 0, &span) ||
		    span > hi - r->off - r->len)
			return false;
		end = r->off + span + r->len;
	}
	return true;
}
