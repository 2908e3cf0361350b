/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/io/runs.h - lists of pieces of a file, in the form in which processes tell each
 * other what they want: rows of equal pieces at equal distances.
 *
 * Offsets rise from piece to piece and from run to run, and pieces do not overlap (only
 * such views take part in two-phase I/O). */
#ifndef LMPI_RUNS_H
#define LMPI_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct lmpi_run {
	int64_t off, len, stride, n; /* stride counts only if n > 1 */
};

struct lmpi_io_runs {
	struct lmpi_run *run;
	int64_t n, room;
	int64_t pieces, bytes;
};

/* False: out of memory. */
bool lmpi_runs_add(struct lmpi_io_runs *list, int64_t off, int64_t len);
/* Append what of a list lies in [lo, hi). */
bool lmpi_runs_cut(const struct lmpi_io_runs *from, int64_t lo, int64_t hi,
		   struct lmpi_io_runs *to);
/* At most this many runs come out of lmpi_runs_cut() of n runs. */
static inline int64_t
lmpi_runs_cut_max(int64_t n)
{
	return n + 2;
}
/* Lists of other processes are checked before they are used. */
bool lmpi_runs_valid(const struct lmpi_run *run, int64_t n, int64_t lo, int64_t hi);

/* A place in a list. */
struct lmpi_runs_at {
	const struct lmpi_run *run, *end;
	int64_t k;  /* piece of the run */
	int64_t in; /* bytes of it that are behind us */
};
static inline void
lmpi_runs_begin(struct lmpi_runs_at *at, const struct lmpi_run *run, int64_t n)
{
	*at = (struct lmpi_runs_at){.run = run, .end = run + n};
}
static inline bool
lmpi_runs_more(const struct lmpi_runs_at *at)
{
	return at->run != at->end;
}
/* File offset of the next byte; there is one. */
static inline int64_t
lmpi_runs_offset(const struct lmpi_runs_at *at)
{
	return at->run->off + at->k * at->run->stride + at->in;
}
/* The next piece as far as it lies below hi: its offset and length.  False: none does. */
static inline bool
lmpi_runs_next(struct lmpi_runs_at *at, int64_t hi, int64_t *off, int64_t *len)
{
	if (at->run == at->end)
		return false;
	*off = lmpi_runs_offset(at);
	if (*off >= hi)
		return false;
	*len = at->run->len - at->in;
	if (*len > hi - *off) {
		*len = hi - *off;
		at->in += *len;
		return true;
	}
	at->in = 0;
	if (++at->k == at->run->n) {
		at->k = 0;
		at->run++;
	}
	return true;
}
/* Go on to the first byte at or behind lo; the bytes passed over. */
int64_t lmpi_runs_skip(struct lmpi_runs_at *at, int64_t lo);

#endif
