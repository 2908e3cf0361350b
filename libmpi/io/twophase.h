/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/io/twophase.h - state of two-phase I/O; see twophase.c. */
#ifndef LMPI_TWOPHASE_H
#define LMPI_TWOPHASE_H

#include "io.h"
#include "runs.h"

#define LMPI_DOMAIN_MIN (64 << 10)

struct lmpi_twophase;

/* What this process has to do with one aggregator. */
struct lmpi_client_side {
	struct lmpi_req e; /* first */
	struct lmpi_twophase *t;
	int rank;
	bool planned;	/* the plan is out */
	int64_t lo, hi; /* the domain */
	struct lmpi_io_runs plan;
	struct lmpi_runs_at at;
	int64_t pos;   /* of the next chunk in the user's stream, from op->pos on */
	int64_t chunk; /* bytes in the window */
	char *staging;
	int64_t staging_len;
};

struct lmpi_aggregator;
/* A process as its aggregator sees it. */
struct lmpi_source {
	struct lmpi_req e; /* first */
	struct lmpi_aggregator *g;
	int rank;
	bool own;
	const struct lmpi_run *run;
	struct lmpi_run *memory;
	int64_t n;
	struct lmpi_runs_at at;	     /* behind the window */
	struct lmpi_runs_at here;    /* where the window begins */
	int64_t wants, bytes, valid; /* of the window: by plan; that came; that are there */
	char *data;
};

/* A piece of the window that somebody wants. */
struct lmpi_covered {
	int64_t from, to;
};

struct lmpi_aggregator {
	struct lmpi_twophase *t;
	int index;	/* of the domain */
	int64_t lo, hi; /* the domain */
	struct lmpi_source *source;
	int sources;
	int waits;	  /* messages under way */
	bool starting;	  /* in window_start() */
	int64_t turn;	  /* windows done */
	int64_t from, to; /* window: what is wanted of it */
	int64_t wanted;	  /* bytes by all */
	int64_t pieces;	  /* runs of bytes without a hole */
	char *window, *staging;
	int64_t window_len, staging_len;
	struct lmpi_covered *covered;
	int64_t covered_room;
	struct lmpi_source **heap;
};

struct lmpi_twophase {
	struct lmpi_io_op *op;
	int left;			 /* parts of the work that are not done */
	int64_t first, last;		 /* of all processes */
	int64_t base, domain;		 /* domain a begins at base + a * domain */
	struct lmpi_client_side *client; /* [aggs] */
	struct lmpi_aggregator agg;
};

/* Does a process have bytes in the range, as far as its span tells? */
static inline bool
lmpi_meets(const struct lmpi_io_span *s, int64_t lo, int64_t hi)
{
	return s->bytes > 0 && s->first < hi && s->last > lo;
}

/* The end of the window of the domain [lo, hi) that `at` lies in.  Both sides count from
 * the beginning of the domain. */
static inline int64_t
lmpi_window_end(const struct lmpi_twophase *t, int64_t lo, int64_t at, int64_t hi)
{
	int64_t size = t->op->file->hints.cb_buffer;
	int64_t end = lo + ((at - lo) / size + 1) * size;

	return end < hi ? end : hi;
}

/* ---- window.c */
/* Find the next window anybody has bytes in; what they want of it, buffers.  False: there
 * is none. */
bool lmpi_window_next(struct lmpi_aggregator *g);
/* Put the data of all sources into the file; an error code. */
int lmpi_window_write(struct lmpi_aggregator *g);
/* Get the data of all sources from the file: sets what is valid; an error code. */
int lmpi_window_read(struct lmpi_aggregator *g);

#endif
