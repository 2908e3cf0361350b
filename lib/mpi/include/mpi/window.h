/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/window.h - a process's part of a window: what others do to it, in which order, and its lock.
 *
 * Packets come as messages of the library to itself.  Who owns the part knows datatypes and
 * operators: it stores, loads and combines.  When that happens is decided here.
 *
 * Order    per origin: all but puts keeps the sending order, and waits for the bulk data of what
 *	    was sent before it, puts too.  So a FLUSH is answered when everything before it is done,
 *	    no operation needs an acknowledgement of its own, and who reads sees what it wrote
 *	    before without a flush between: MPI promises that of accumulates only, but libraries
 *	    rely on it.  Puts wait for nothing: of two that overlap, or of one that overlaps with an
 *	    operation before it, a flush must separate them.
 * Results  that an origin does not take stay here.  While they are too many the next operation that
 *	    has one waits, and what is behind it.
 * Lock     one word (mpi/lock_word.h), which processes that have it mapped take themselves.
 *	    Others ask, and wait here in a queue.  What an origin sends behind its LOCK is kept
 *	    until it has it.
 *
 * Shape    struct rma_packet, then the datatype's layout (a multiple of 8 bytes), padded to 16,
 *	    then data; longer data goes beside it on LMPI_CID_BULK.  In the byte order of the host.
 * Memory   from memory.get(), which never fails, or does not return.
 * Threads  one at a time for one engine; the word may change at any time.
 * Errors   MPI error classes, to be told with the next answer.  What no process of a window sends
 *	    ends in malformed(): what is no packet, bulk data of another length than was
 *	    announced, a lock given back that was not granted, a window that goes before the
 *	    bulk data that was announced to it has come, more behind a LOCK than RMA_EARLY_MAX
 *	    and what an origin cannot send while it waits for the lock, more behind bulk data
 *	    or results than RMA_BEHIND_MOST().
 * Epochs   whether one is open is looked at by the origin.  A target cannot know: a lock with
 *	    MPI_MODE_NOCHECK, and one that is taken in memory of the node, send it nothing.
 * Death    what an origin has announced and not sent ends with LMPI_ERR_PROC_FAILED, and is not
 *	    done; what came whole is.
 */
#ifndef MPI_WINDOW_H
#define MPI_WINDOW_H

#include "mpi/idtab.h"
#include "mpi/request.h"

#include <stdatomic.h>

/* Longer data to be accumulated goes in pieces if it can be cut. */
#define RMA_PIECE      (INT64_C(256) << 10)
#define RMA_INLINE_MAX 7680 /* packets stay below what goes without asking within a node */
/* A target has so much memory for what one origin sends, in bytes; both keep to the same. */
struct lmpi_room {
	/* May follow a LOCK before it is granted, and one operation more.  Origins wait then
	 * (mpi/target.h); a target takes no more.  At most half of behind. */
	uint64_t early;
	/* Weight of operations that an origin sends between two FLUSH, and one operation more; it
	 * waits for the answer to one before it sends the next.  No operation weighs more. */
	uint64_t behind;
	/* Results for an origin that have not gone, and one more: its next operation with a result
	 * waits.  The target's alone. */
	uint64_t results;
};
#define RMA_EARLY_MAX	(UINT64_C(64) << 10)
#define RMA_BEHIND_MAX	LMPI_SERVICE_ENTRY_MAX
#define RMA_RESULTS_MAX (UINT64_C(16) << 20)
#define LMPI_ROOM                                                                            \
	{                                                                                    \
		.early = RMA_EARLY_MAX, .behind = RMA_BEHIND_MAX, .results = RMA_RESULTS_MAX \
	}
/* The weight of what waits at a target: twice what goes between two FLUSH, each with an operation
 * that passes the bound.  And what origins do not count: notes, and few operations before a
 * COMPLETE. */
#define RMA_BEHIND_MOST(room) (5 * (room)->behind)
/* An operation weighs as much as its packet, as data that has no other place at the target than
 * beside it, and as what the target keeps to know of it. */
#define RMA_ENTRY LMPI_SERVICE_ENTRY
/* The layout of a packet has at most so many bytes. */
#define RMA_LAYOUT_MAX (UINT64_C(256) << 20)

enum rma_kind {
	RMA_PUT = 1,
	RMA_GET,
	RMA_ACC,
	RMA_GET_ACC,
	RMA_CAS,
	RMA_REPLY,
	RMA_FLUSH,
	RMA_ACK,
	RMA_LOCK,
	RMA_GRANT,
	RMA_UNLOCK,
	RMA_KICK, /* whoever held your lock word has gone and you are to look at it */
	RMA_POST,
	RMA_COMPLETE,
	RMA_KINDS
};
#define RMA_EXCLUSIVE 1 /* flag of LOCK */

struct rma_packet {
	uint8_t kind, flags;
	uint16_t op;	    /* MPI_Op_toint() */
	uint32_t element;   /* MPI_Type_toint() */
	uint64_t win;	    /* context id */
	uint32_t rank;	    /* of the sender in the window */
	uint32_t error;	    /* ACK, REPLY */
	uint64_t id;	    /* the origin's name for the operation whose result it wants */
	uint64_t at;	    /* byte displacement in the window; an address if it is dynamic */
	uint64_t count;	    /* elements of the layout */
	uint64_t bytes;	    /* packed data at the target */
	uint32_t layout;    /* bytes of layout that follow, 0: the data lies in one piece */
	uint32_t data_tag;  /* of data that goes beside it, 0: the data follows the layout */
	uint32_t reply_tag; /* of a result beyond RMA_INLINE_MAX, beside its REPLY; 0: in it */
	uint32_t reserved[3];
};
_Static_assert(sizeof(struct rma_packet) == 80, "goes over the wire");
_Static_assert(sizeof(struct rma_packet) + RMA_LAYOUT_MAX + 16 + RMA_INLINE_MAX <= LMPI_SERVICE_MAX,
	       "the longest packet may come");
/* Data begins at a multiple of what the strictest element wants. */
static inline uint64_t
rma_padded(uint32_t layout)
{
	return ((uint64_t)layout + 15) & ~UINT64_C(15);
}

struct lmpi_exposed;
struct lmpi_later;
struct lmpi_filling;
struct lmpi_kept;
struct lmpi_waiter;

/* A packet with what it speaks of. */
struct lmpi_job {
	struct lmpi_exposed *x;
	int origin;
	struct rma_packet p;
	const char *layout;
	const char *data;
	uint64_t bytes; /* of data */
	bool outside;	/* where the data was to go when it was announced: there is none */
};

struct lmpi_exposed_ops {
	/* Where the data of a put goes, if it lies there as it is sent; else *at is NULL and put()
	 * is to be called.  An error class: it is outside. */
	int (*place)(const struct lmpi_job *j, void **at);
	/* Store data, packed. */
	int (*put)(const struct lmpi_job *j, const void *data);
	/* GET, ACC, GET_ACC, CAS: j->data is all there.  Those with a result have it sent, or the
	 * error, between lmpi_exposed_owe() and _paid(); of others an error is returned. */
	int (*perform)(const struct lmpi_job *j);
	/* What is for the origin's side of this process: REPLY, ACK, GRANT, POST. */
	void (*hear)(const struct lmpi_job *j);
	/* Send a packet without data. */
	void (*note)(struct lmpi_exposed *x, int origin, enum rma_kind kind, int error);
	/* This process has its own lock that it had asked for. */
	void (*granted)(struct lmpi_exposed *x);
	/* Post a receive of bulk data. */
	void (*receive)(struct lmpi_exposed *x, struct lmpi_req *req, void *into, uint64_t cap,
			int origin, uint32_t tag);
	/* A process of the window has failed: whoever waits for the lock has it. */
	bool (*is_void)(const struct lmpi_exposed *x);
	/* j: the packet at fault, or NULL; a text that says what it is. */
	void (*malformed)(const struct lmpi_job *j, const char *what) __attribute__((noreturn));
};

/* A process of the window as an origin of operations here. */
struct lmpi_origin {
	uint32_t completed; /* its MPI_Win_complete calls that no MPI_Win_wait has used */
	int fault;	    /* of its operations, to be reported with the next answer */
	bool waits;	    /* for the lock */
	bool exclusive;	    /* it was granted, and has not given it back by a packet */
	uint32_t shared;    /* likewise, so often */
	uint64_t early;	    /* bytes of operations that it has sent behind its last LOCK */
	uint64_t behind;    /* weight of what waits */
	uint64_t owing;	    /* bytes that results for it take until they have gone */
	bool held;	    /* the next operation waits for that */
	uint64_t turn;	    /* of its last bulk put */
	struct lmpi_filling *filling_first, *filling_last; /* bulk puts that are arriving */
	struct lmpi_later *later_first, *later_last;
	struct lmpi_kept *kept_first, *kept_last; /* its packets behind LOCK */
};

/* Memory for data to be accumulated; giving it back to the system each time would cost more
 * than the work.  What needs more of them at once takes as much as it is. */
#define LMPI_BULKS_MAX 4
struct lmpi_bulks {
	void *spare[LMPI_BULKS_MAX]; /* of RMA_PIECE bytes */
	int n;
	int made; /* spare ones, and those in use */
};

struct lmpi_exposed {
	/* Set by its owner. */
	const struct lmpi_exposed_ops *ops;
	struct lmpi_memory memory;
	struct lmpi_room room;
	struct lmpi_bulks *bulks; /* of all windows */
	_Atomic uint32_t *lock;
	int me;			    /* rank in the window */
	struct lmpi_origin *origin; /* [ranks] zero */

	struct lmpi_waiter *waiters, *waiters_last;
	bool serving;	 /* them */
	uint32_t coming; /* receives of bulk data that are posted */
	uint64_t owing;	 /* to all */
};

/* A message as a packet; its window, p.win, is to be found, and that p.rank is who sent it.
 * False: it is none. */
bool lmpi_job_read(struct lmpi_job *j, const void *data, uint64_t len);
/* It has come. */
void lmpi_exposed_arrive(const struct lmpi_job *j);
/* A result that takes so many bytes is sent to an origin; it has gone. */
static inline void
lmpi_exposed_owe(struct lmpi_exposed *x, int origin, uint64_t bytes)
{
	x->origin[origin].owing += bytes;
	x->owing += bytes;
}
void lmpi_exposed_paid(struct lmpi_exposed *x, int origin, uint64_t bytes);
/* Somebody asks for the lock, or gives it back. */
void lmpi_exposed_ask(struct lmpi_exposed *x, int rank, bool exclusive);
void lmpi_exposed_return(struct lmpi_exposed *x, bool exclusive);
/* Look whether who waits can have it. */
void lmpi_exposed_serve(struct lmpi_exposed *x);
/* The window goes: forget who waits. */
void lmpi_exposed_drop(struct lmpi_exposed *x);

#endif
