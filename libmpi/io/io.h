/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/io/io.h - MPI-IO on POSIX files.
 *
 * How an access goes
 *
 *	1. access.c checks the call and makes a struct lmpi_io_op of it: a range of the
 *	   *stream* - the bytes of the file that the view shows, numbered without the
 *	   holes - and the user's memory, packed form or converted copy (datarep.c).
 *	2. An independent access is done at once (sieve.c): one pread or pwrite where the
 *	   range lies in one piece, data sieving where it does not.
 *	3. A collective one (collective.c) exchanges who wants what, and either every
 *	   process goes by itself, or the range is shared out among aggregators who do
 *	   the I/O for all, window by window (twophase.c).  It is a chain of callbacks:
 *	   blocking, split and non-blocking forms differ in who waits for its request.
 *
 * A view's filetype is flattened to the segments of one tile (view.c).  Stream
 * positions rise with file offsets (MPI demands it of filetypes), so what an
 * aggregator's window takes of a process is one range of its stream.
 *
 * Writers that sieve read, change and write back: they lock what they touch, and while
 * any process of the file has a view with holes all its writers lock (locking).
 *
 * Shared file pointers are numbers in a hidden file (shared.c).
 *
 * Units    bytes; offsets of MPI calls are in etypes and become bytes in access.c.
 * Threads  the lock is held.  I/O is done with it held: it does not wait for other
 *          processes, but for locks, whose holders wait for nobody. */
#ifndef LMPI_IO_H
#define LMPI_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "comm.h"
#include "object.h"
#include "request.h"
#include "type.h"

struct lmpi_info;

/* ---- hints.c: the hints of a file, the same in all its processes */
enum lmpi_io_choice { LMPI_IO_AUTO, LMPI_IO_ENABLE, LMPI_IO_DISABLE };
struct lmpi_io_hints {
	int64_t cb_buffer, cb_nodes, per_node; /* cb_nodes, per_node: 0: the library chooses */
	int64_t ind_rd, ind_wr;
	int64_t unit; /* domains of aggregators begin at multiples of this */
	int32_t cb_read, cb_write, ds_read, ds_write; /* enum lmpi_io_choice */
	int32_t perm;				      /* of a file that is created */
};
void lmpi_io_hints_default(struct lmpi_io_hints *h);
/* Take over what the info says; unknown keys and nonsense are passed over, as MPI wants. */
void lmpi_io_hints_take(struct lmpi_io_hints *h, const struct lmpi_info *info);

/* ---- datarep.c: representations of data in files */
enum lmpi_io_form { LMPI_IO_NATIVE, LMPI_IO_EXTERNAL32, LMPI_IO_USER };
struct lmpi_datarep {
	struct lmpi_datarep *next;
	enum lmpi_io_form form;
	char name[MPI_MAX_DATAREP_STRING];
	bool wide;			    /* the functions are of the _c kind */
	void (*read)(void), (*write)(void); /* NULL: as in memory */
	MPI_Datarep_extent_function *extent;
	void *extra;
};
/* NULL: there is none of that name. */
const struct lmpi_datarep *lmpi_datarep_find(const char *name);
/* Bytes that one element of the type takes in a stream; an error code. */
int lmpi_datarep_size(const struct lmpi_datarep *rep, const struct lmpi_type *t, int64_t *size);
/* The type as the file has it: its elements are runs of bytes.  A reference is handed
 * out, which may be to t itself. */
int lmpi_datarep_form(const struct lmpi_datarep *rep, struct lmpi_type *t, struct lmpi_type **form);

/* ---- view.c */
struct lmpi_view {
	int64_t disp;
	struct lmpi_type *etype, *filetype; /* what the user gave; references */
	const struct lmpi_datarep *rep;
	int64_t esize;		/* bytes of an etype in the file */
	struct lmpi_block *seg; /* [segs] of a tile, in the order of the stream */
	int64_t segs;
	int64_t size, extent; /* of a tile: stream bytes; bytes of the file */
	bool dense;	      /* no holes: stream position and offset differ by a constant */
	bool odd;	      /* segments or tiles overlap: offsets do not rise with positions */
};
/* Checks and flattens; takes references.  An error code. */
int lmpi_view_make(struct lmpi_view *v, int64_t disp, struct lmpi_type *etype,
		   struct lmpi_type *filetype, const struct lmpi_datarep *rep, bool writable);
void lmpi_view_drop(struct lmpi_view *v);
/* The file offset of a stream position. */
int64_t lmpi_view_offset(const struct lmpi_view *v, int64_t pos);
/* How many bytes of the stream lie below a file offset.  Not of odd views. */
int64_t lmpi_view_below(const struct lmpi_view *v, int64_t offset);

/* A walk over pieces of the stream, from a position on. */
struct lmpi_walk {
	const struct lmpi_view *v;
	int64_t base; /* file offset of the tile */
	int64_t i;    /* segment */
	int64_t in;   /* bytes of it that are behind us */
};
void lmpi_walk_start(struct lmpi_walk *w, const struct lmpi_view *v, int64_t pos);
/* The next piece, at most `most` bytes long: its file offset; *len its length. */
static inline int64_t
lmpi_walk_next(struct lmpi_walk *w, int64_t most, int64_t *len)
{
	const struct lmpi_view *v = w->v;
	const struct lmpi_block *s = &v->seg[w->i];
	int64_t at = w->base + s->off + w->in;

	if (s->len - w->in > most) {
		*len = most;
		w->in += most;
		return at;
	}
	*len = s->len - w->in;
	w->in = 0;
	if (++w->i == v->segs) {
		w->i = 0;
		w->base += v->extent;
	}
	return at;
}

/* ---- the user's memory, seen as a stream */
struct lmpi_io_mem {
	struct lmpi_type *type;
	void *buf;
	int64_t count;
	char *flat; /* the stream lies here, NULL: it has to be packed */
};
void lmpi_io_mem_get(const struct lmpi_io_mem *m, int64_t skip, int64_t len, void *out);
void lmpi_io_mem_put(const struct lmpi_io_mem *m, int64_t skip, int64_t len, const void *in);

/* ---- a file */
struct lmpi_io_op;
struct lmpi_file {
	struct lmpi_obj obj;
	MPI_File handle;
	struct lmpi_comm *comm; /* its own */
	MPI_Errhandler errhandler;
	char *name, *hidden; /* hidden: holds the shared file pointer */
	int fd, hidden_fd;   /* hidden_fd: -1 until it is used */
	int amode;
	bool readable; /* the descriptor; amode says what the program may */
	bool atomic, locking;
	struct lmpi_io_hints hints;
	uint64_t *node; /* [comm size] equal numbers: the same node */
	uint64_t token; /* for names of files beside this one */
	int *agg;	/* [aggs] ranks that do the I/O of collectives */
	int aggs;
	struct lmpi_view view;
	int64_t pos;	      /* individual pointer: stream bytes */
	int64_t shared_start; /* of the shared pointer, in etypes, while nobody moved it */
	struct lmpi_request *split;
	void *split_buf;
	const char *split_fn;
	uint32_t seq;			       /* collective accesses so far */
	struct lmpi_io_op *queue, *queue_last; /* collective accesses, the first one running */
};
extern struct lmpi_pool lmpi_file_pool;
struct lmpi_file *lmpi_file_find(MPI_File handle);
int lmpi_file_get(MPI_File handle, struct lmpi_file **f);
/* Wait until no collective access is under way. */
void lmpi_file_drain(struct lmpi_file *f);
/* Choose the aggregators by the hints. */
int lmpi_file_choose_aggregators(struct lmpi_file *f);
/* All processes of the file say how it went: the worst, for all.  An error of this
 * process is kept with its text. */
int lmpi_file_agree(struct lmpi_file *f, int rc, const char *what);

/* ---- posix.c: errors are -errno */
/* Bytes moved, fewer only at the end of the file, or -errno (then *moved counts). */
int lmpi_io_pread(int fd, void *buf, int64_t len, int64_t offset, int64_t *moved);
int lmpi_io_pwrite(int fd, const void *buf, int64_t len, int64_t offset, int64_t *moved);
enum lmpi_io_lock { LMPI_IO_SHARED, LMPI_IO_EXCLUSIVE };
int lmpi_io_lock(int fd, enum lmpi_io_lock how, int64_t offset, int64_t len);
void lmpi_io_unlock(int fd, int64_t offset, int64_t len);
int lmpi_io_class(int err); /* of errno */
/* An MPI error with a text: "what name: why". */
int lmpi_io_error(int err, const char *what, const char *name);

/* ---- an access */
struct lmpi_io_op {
	struct lmpi_io_op *next;
	struct lmpi_file *file;
	bool write;
	int64_t pos, len; /* of the stream */
	struct lmpi_io_mem mem;
	struct lmpi_type *type; /* of the user's buffer */
	void *buf;
	int64_t count;
	char *copy;    /* the converted form, to be freed */
	int64_t moved; /* stream bytes so far */
	int error;     /* MPI class; its text was left in lmpi_error_text() */
	int tag;
	int worst;		      /* error of all processes */
	struct lmpi_request *request; /* of a collective one */
	struct lmpi_io_spans *spans;
	struct lmpi_twophase *two;
};
/* Convert what is to be written, or make room for what is to be converted. */
int lmpi_io_op_prepare(struct lmpi_io_op *op);
/* Convert what was read; memory bytes of what was moved, for the status.  Frees the
 * copy. */
int64_t lmpi_io_op_finish(struct lmpi_io_op *op);

/* sieve.c: do the access here and now; sets moved and error. */
void lmpi_io_independent(struct lmpi_io_op *op);

/* Is it cheaper to move `span` bytes in one piece than `data` bytes in `pieces`? */
static inline bool
lmpi_io_one_piece(int64_t span, int64_t data, int64_t pieces)
{
	/* a system call costs about as much as copying this many bytes */
	return pieces > 1 && (span - data) / pieces < 4096;
}

/* collective.c: start op, which was allocated; its request completes when it is done. */
int lmpi_io_collective(struct lmpi_io_op *op);
/* The op is done in all respects but its conversion: complete its request. */
void lmpi_io_op_done(struct lmpi_io_op *op);

/* What the processes of a collective access told each other. */
struct lmpi_io_span {
	int64_t first, last; /* file offsets; last is behind the end */
	int64_t bytes, pieces, runs;
	int64_t wish; /* enum lmpi_io_choice; DISABLE wins */
};
struct lmpi_io_runs;
struct lmpi_io_spans {
	struct lmpi_io_span mine;
	struct lmpi_io_runs *runs; /* of this process */
	struct lmpi_io_span all[]; /* [comm size] */
};

/* twophase.c: calls lmpi_io_agreed() when this process has done its part. */
void lmpi_twophase_start(struct lmpi_io_op *op);
void lmpi_twophase_free(struct lmpi_io_op *op);
void lmpi_io_local_done(struct lmpi_io_op *op);

/* ---- shared.c: the shared pointer, in etypes */
/* Add to it; *old is what it was. */
int lmpi_shared_add(struct lmpi_file *f, int64_t add, int64_t *old);
/* Collective: put it somewhere. */
int lmpi_shared_set(struct lmpi_file *f, int64_t to);
/* Make or open that file.  It must be a regular one of this user with one name that nobody else
 * may write.  The descriptor; or -1 with what to say in why, which is not errno's text alone. */
int lmpi_shared_open(const char *name, const char **why);
/* One process: the hidden file goes. */
void lmpi_shared_remove(struct lmpi_file *f);

#endif
