/* SPDX-License-Identifier: BSD-2-Clause */
/* The plans of collective file accesses, as another process would have sent them: what is taken
 * for valid lies in the domain, rises, and gives the same pieces and bytes however an
 * aggregator goes through it - piece by piece, window by window, or cut in two. */
#include "runs.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MAX   64
#define STEPS_MAX  200 /* pieces or windows looked at one by one */
#define WINDOW_MIN 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct head {
	int64_t lo, hi, window, cut;
};

static void
must(bool ok)
{
	if (!ok)
		abort();
}

static int64_t
bytes_of(const struct lmpi_run *run, int64_t n)
{
	int64_t sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += run[i].n * run[i].len;
	return sum;
}

/* Piece by piece: in the domain, rising, none empty. */
static void
pieces(const struct lmpi_run *run, int64_t n, const struct head *h, int64_t all)
{
	struct lmpi_runs_at at;
	int64_t off, len, end = h->lo, sum = 0;
	int steps = 0;
	lmpi_runs_begin(&at, run, n);
	while (steps++ < STEPS_MAX && lmpi_runs_next(&at, h->hi, &off, &len)) {
		must(off >= end && len > 0 && len <= h->hi - off);
		end = off + len;
		sum += len;
	}
	must(lmpi_runs_more(&at) ? sum < all : sum == all);
}

/* As an aggregator does: window after window, in each piece by piece what skipping passes. */
static void
windows(const struct lmpi_run *run, int64_t n, const struct head *h, int64_t all)
{
	struct lmpi_runs_at at, here;
	int64_t sum = 0;
	lmpi_runs_begin(&at, run, n);
	for (int steps = 0; steps < STEPS_MAX && lmpi_runs_more(&at); steps++) {
		int64_t from = lmpi_runs_offset(&at), off, len, counted = 0;
		int64_t to = h->window < h->hi - from ? from + h->window : h->hi;
		int inside = 0;
		here = at;
		int64_t bytes = lmpi_runs_skip(&at, to);
		must(bytes > 0 && bytes <= to - from);
		while (inside++ < STEPS_MAX && lmpi_runs_next(&here, to, &off, &len)) {
			must(off >= from && len <= to - off);
			counted += len;
		}
		must(inside > STEPS_MAX ? counted <= bytes : counted == bytes);
		sum += bytes;
	}
	must(lmpi_runs_more(&at) ? sum < all : sum == all);
}

/* Both halves are valid plans, not longer than promised, and all bytes are in one of them. */
static void
halves(const struct lmpi_run *run, int64_t n, const struct head *h, int64_t all)
{
	struct lmpi_run copy[RUNS_MAX];
	memcpy(copy, run, (size_t)n * sizeof *run);
	struct lmpi_io_runs list = {.run = copy, .n = n, .room = n}, low = {0}, high = {0};
	must(lmpi_runs_cut(&list, h->lo, h->cut, &low));
	must(lmpi_runs_cut(&list, h->cut, h->hi, &high));
	must(low.n <= lmpi_runs_cut_max(n) && high.n <= lmpi_runs_cut_max(n));
	must(lmpi_runs_valid(low.run, low.n, h->lo, h->cut));
	must(lmpi_runs_valid(high.run, high.n, h->cut, h->hi));
	must(low.bytes + high.bytes == all);
	must(low.bytes == bytes_of(low.run, low.n) && high.bytes == bytes_of(high.run, high.n));
	free(low.run);
	free(high.run);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lmpi_run run[RUNS_MAX];
	struct head h;
	if (size < sizeof h)
		return 0;
	memcpy(&h, data, sizeof h);
	int64_t n = (int64_t)((size - sizeof h) / sizeof *run);
	/* A domain is the reader's own: it is sound. */
	if (n > RUNS_MAX || h.lo < 0 || h.hi <= h.lo)
		return 0;
	memcpy(run, data + sizeof h, (size_t)n * sizeof *run);
	if (!lmpi_runs_valid(run, n, h.lo, h.hi))
		return 0;
	if (h.window < WINDOW_MIN)
		h.window = WINDOW_MIN;
	if (h.cut < h.lo || h.cut > h.hi)
		h.cut = h.lo + (h.hi - h.lo) / 2;
	int64_t all = bytes_of(run, n);
	must(all <= h.hi - h.lo);
	pieces(run, n, &h, all);
	windows(run, n, &h, all);
	halves(run, n, &h, all);
	return 0;
}
