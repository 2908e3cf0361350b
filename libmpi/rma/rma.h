/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/rma/rma.h - windows and one-sided communication (MPI 5.0, chapter 12).
 *
 *	win.c          window objects: life, names, attributes, hints, error handlers
 *	memory.c       their memory, shared by the processes of a node where that can be
 *	active.c       fence, post/start/complete/wait; completing what is under way
 *	passive.c      locks and flushes
 *	ops.c          Put, Get, Accumulate and their kin: checks, and which way they go
 *	place.c        reading, writing, combining memory by datatype
 *	origin.c       operations that go as packets: sending, answers
 *	target.c       my part of a window (mpi/window.h), as datatypes and operators see it
 *	layout_wire.c  datatypes in packets
 *
 * Two ways lead to the memory of another process:
 *
 *	direct   it is mapped here: my own, and that of processes of my node in windows
 *		 of MPI_Win_allocate and _allocate_shared.  Loads and stores, done when
 *		 the call returns.  Accumulates hold a spin lock in the segment.  For one
 *		 contiguous piece of a window of MPI_Win_create within the node the system
 *		 copies (process_vm_writev); the rest goes by
 *	packets  on LMPI_CID_SERVICE: handled at the target in sending order by any call
 *		 that makes progress.  Data up to RMA_INLINE_MAX bytes travels in the
 *		 packet; longer data goes beside it on LMPI_CID_BULK, from the origin's
 *		 memory to the window without a copy when both are contiguous.
 *
 * Order at the target: mpi/window.h.  What is under way at a target: mpi/target.h.
 *
 * Locks of passive target are one word per window and process (mpi/lock_word.h), in the
 * segment or in the target's memory.  Who cannot reach or get it asks the target.  Who asks
 * a process of another node does not wait for the answer: operations and the FLUSH follow at
 * once, and the target keeps them until the lock is theirs.  So an epoch takes one round
 * trip, not two.
 *
 * Packets are in the byte order of the host: both ends run this library.  Windows with
 * processes of foreign MPIs are refused.
 *
 * Threads  the lock is held. */
#ifndef LMPI_RMA_H
#define LMPI_RMA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attr.h"
#include "comm.h"
#include "engine.h"
#include "info.h"
#include "object.h"
#include "op.h"
#include "request.h"
#include "type.h"

#include "mpi/target.h"

/* What the processes of a node know of one process's part of a window. */
struct rma_ctl {
	_Atomic uint32_t lock; /* mpi/lock_word.h */
	_Atomic uint32_t busy; /* held while accumulating */
	uint8_t fill[56];
};
_Static_assert(sizeof(struct rma_ctl) == 64, "a cache line");

/* One process of a window, as a target of mine. */
struct rma_peer {
	uint8_t *base;	     /* where its part lies in my memory, NULL: only packets go there */
	struct rma_ctl *ctl; /* NULL likewise */
	int64_t size, unit;
	uint64_t address; /* of its part in its own memory */
	struct lmpi_target t;
	bool no_copy; /* the system does not copy into its memory */
	bool started; /* in the group of MPI_Win_start */
};

struct rma_region { /* attached memory of a dynamic window */
	struct rma_region *next;
	uintptr_t base;
	uint64_t size;
};

enum rma_fence { RMA_NO_FENCE, RMA_FENCED, RMA_FENCE_USED };

struct lmpi_win {
	struct lmpi_obj obj;
	struct lmpi_win *next;	/* in its bucket of windows by context id */
	struct lmpi_comm *comm; /* of its own */
	int flavor;
	void *base; /* of my part */
	MPI_Aint size;
	int disp_unit, model;	     /* as attributes show them */
	struct lmpi_segment segment; /* shared by the node */
	void *memory;		     /* allocated, to be freed */
	struct rma_ctl own_ctl;	     /* when there is no segment */
	struct rma_peer *peer;	     /* [comm->size] */
	struct rma_region *regions;
	struct lmpi_exposed mine;
	bool open; /* my part may be used: before, nobody knows where it is */
	/* epochs */
	enum rma_fence fence;
	int *start, starts; /* ranks; starts -1: no such epoch */
	int *post, posts;
	int locks; /* MPI_Win_lock held */
	bool lock_all;
	/* what the user hangs on it */
	MPI_Errhandler errhandler;
	struct lmpi_attr *attrs;
	struct lmpi_info *info;
	char name[MPI_MAX_OBJECT_NAME];
};

/* ---- win.c */
extern struct lmpi_pool lmpi_win_pool;
struct lmpi_win *lmpi_win_find(MPI_Win handle);
/* An error code with a text. */
int lmpi_win_get(MPI_Win handle, struct lmpi_win **win);
struct lmpi_win *lmpi_rma_win_of(uint64_t cid);
/* A window without memory, known to arriving packets; comm is the window's from now on,
 * also if there is an error. */
int lmpi_rma_win_new(struct lmpi_comm *comm, int flavor, const struct lmpi_info *info,
		     struct lmpi_win **out);
void lmpi_rma_win_destroy(struct lmpi_win *win);
static inline struct rma_peer *
rma_me(struct lmpi_win *win)
{
	return &win->peer[win->comm->rank];
}
static inline uint32_t
rma_world(const struct lmpi_win *win, int rank)
{
	return win->comm->group->world[rank];
}
int lmpi_rma_no_memory(void);
/* A process of it has failed. */
static inline bool
rma_is_void(const struct lmpi_win *win)
{
	return lmpi_revoked(win->comm->cid);
}
/* What a call that synchronises returns: rc, or that the window is void. */
int lmpi_rma_outcome(const struct lmpi_win *win, int rc);

/* ---- memory.c: fill in base, size, unit, ctl of all peers; collective.  An error code,
 * the same at all processes. */
int lmpi_rma_memory_setup(struct lmpi_win *win, bool contiguous);
void lmpi_rma_memory_release(struct lmpi_win *win);
/* In a dynamic window: is that memory attached? */
bool lmpi_rma_attached(const struct lmpi_win *win, uintptr_t at, uint64_t bytes);

/* ---- place.c: n bytes, or count elements of a type, at an address */
struct rma_place {
	void *at;
	const struct lmpi_type *type; /* NULL: bytes as they lie */
	int64_t count;
	int64_t bytes; /* packed */
};
/* count elements of type at buf, as one piece of memory if they are one. */
struct rma_place lmpi_rma_place_of(const void *buf, int64_t count, const struct lmpi_type *type);
/* Packed data out of it, into it, from one to another.  false: out of memory. */
void lmpi_rma_load(const struct rma_place *p, void *packed);
void lmpi_rma_store(const struct rma_place *p, const void *packed);
bool lmpi_rma_move(const struct rma_place *from, const struct rma_place *to);
/* What an accumulate does. */
struct rma_combine {
	MPI_Op op;
	struct lmpi_type *element; /* predefined; bytes for MPI_REPLACE, MPI_NO_OP */
};
/* place = place op data, the old content to old first if that is not NULL; atomic for each
 * element among all that use ctl. */
bool lmpi_rma_accumulate(struct rma_ctl *ctl, const struct rma_place *p,
			 const struct rma_combine *how, const void *data, void *old);
/* Compare and swap one element. */
void lmpi_rma_swap(struct rma_ctl *ctl, void *at, const void *compare, const void *with, void *old,
		   int64_t size);

/* ---- origin.c */
/* A checked operation. */
struct rma_args {
	enum rma_kind kind;
	struct lmpi_win *win;
	int target;
	uint64_t at;		      /* as in the packet */
	struct rma_place from, to;    /* data of the origin; result at the origin */
	struct lmpi_type *to_type;    /* type of `to` as a handle keeps it */
	const struct lmpi_type *type; /* at the target */
	int64_t count;
	int64_t bytes;
	struct rma_combine how;
	const void *compare;	      /* CAS */
	struct lmpi_request *request; /* to be completed, or NULL */
};
/* Send it on its way; the request may complete later.  An error code. */
int lmpi_rma_send_op(const struct rma_args *a);
/* A packet of that kind without data. */
void lmpi_rma_send_note(struct lmpi_win *win, int target, enum rma_kind kind, uint8_t flags,
			int error);
void lmpi_rma_send_reply(struct lmpi_win *win, int target, const struct rma_packet *to, int error,
			 const void *data, uint64_t bytes);
/* The result of an operation, beside the packets; owned: to be freed when it has gone, NULL: data
 * lies in the window. */
void lmpi_rma_send_bulk(struct lmpi_win *win, int target, uint32_t tag, const void *data,
			uint64_t bytes, void *owned);
/* What operations have under way, of all windows. */
extern struct lmpi_acting lmpi_rma_acting;
/* Wait until all results have gone, so that the window's memory may go, and the window: who asked
 * may have all of it while the engine still waits to be told so. */
void lmpi_rma_settle(struct lmpi_win *win);
/* Wait until little enough is under way. */
void lmpi_rma_throttle(void);

/* ---- target.c */
/* Memory, or the program ends. */
void *lmpi_rma_take(void *user, size_t bytes);
void lmpi_rma_give(void *user, void *p);
void lmpi_rma_on_packet(uint32_t from_world, const void *data, uint64_t len);
/* Of a new window: win->mine.  False: no memory. */
bool lmpi_rma_expose(struct lmpi_win *win);

/* ---- active.c, passive.c */
/* May operations go to that rank now?  An error code. */
int lmpi_rma_may_access(struct lmpi_win *win, int target);
/* Wait until all operations to rank, -1: all ranks, are complete at the target (or only
 * here).  An error code that a target reported. */
int lmpi_rma_flush(struct lmpi_win *win, int rank);
void lmpi_rma_flush_local(struct lmpi_win *win, int rank);
/* Wait until rank has room for an operation (lmpi_target_is_full()). */
void lmpi_rma_make_room(struct lmpi_win *win, int rank);
/* For calls that have nothing to wait for: a program that looks again and again at memory
 * which another process is to write must let its packets in, and give it the core. */
void lmpi_rma_poke(void);
/* What other processes of the node wrote, I can read, and the other way round. */
static inline void
rma_barrier(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}
/* Wait for a lock that was asked for. */
void lmpi_rma_lock_await(struct rma_peer *peer);

#endif
