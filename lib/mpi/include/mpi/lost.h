/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/lost.h - a process is lost, a context is void: the engine goes on.
 *
 * Loss     has one way, lmpi_engine_lost().  Nothing from that process is delivered any more:
 *	    what waits for it or has come from it goes.  Sends to it and receives that name it
 *	    end with LMPI_ERR_PROC_FAILED, also those that are posted later.
 * Any      a receive from any source goes on.  It is pending (lmpi_is_pending()) while its
 *	    context has a lost process that the program has not acknowledged; who waits for it
 *	    may say LMPI_ERR_PROC_FAILED_PENDING.
 * Void     are the contexts that were revoked (lmpi_engine_revoke()), and all of earlier epochs
 *	    (lmpi_engine_epoch()).  Receives that have not ended end with LMPI_ERR_REVOKED.  So
 *	    do sends that have not left, or when the receiver has answered; those of later posts
 *	    at once.  What arrives goes nowhere: its sender is answered as ever, so that it ends.
 * Epoch    the top 16 bits of a context id.  The library's own contexts have the last one.
 * Order    who drives calls lmpi_engine_lost() when it has stopped reading from that process, or
 *	    before anything else is read: begun packets of it are forgotten, and no sink of them
 *	    is to be touched again.  Packets that a transport has in hand come back as ever.
 * Threads  those of the engine; may be called from a transport's callback.
 * Memory   8 bytes for each context that was revoked, until the engine is dropped. */
#ifndef MPI_LOST_H
#define MPI_LOST_H

#include "mpi/request.h"

struct lmpi_engine;
struct lmpi_peer;

/* What the engine asks the driver about contexts.  Those that it does not know have nobody. */
struct lmpi_contexts {
	/* World rank of the process that source is in context cid; UINT32_MAX: nobody. */
	uint32_t (*world_of)(const struct lmpi_engine *e, uint64_t cid, int source);
	/* Has cid a lost process that the program has not acknowledged? */
	bool (*unacked)(const struct lmpi_engine *e, uint64_t cid);
	/* A transport found that peer has gone.  The driver calls lmpi_engine_lost() for it soon,
	 * but not in here. */
	void (*gone)(struct lmpi_engine *e, struct lmpi_peer *peer);
};

struct lmpi_voids {
	uint64_t *cid; /* sorted */
	uint32_t n, room;
	uint32_t epoch; /* contexts of earlier ones are void */
};

#define LMPI_EPOCH_SHIFT 48

/* That process is lost.  Again: nothing happens. */
void lmpi_engine_lost(struct lmpi_engine *e, struct lmpi_peer *peer);
/* What the program acknowledged has changed. */
void lmpi_engine_acked(struct lmpi_engine *e);
/* Context cid is void.  Again: nothing happens. */
void lmpi_engine_revoke(struct lmpi_engine *e, uint64_t cid);
/* All contexts of epochs before this one are void; it never goes back. */
void lmpi_engine_epoch(struct lmpi_engine *e, uint16_t epoch);
bool lmpi_is_void(const struct lmpi_engine *e, uint64_t cid);
/* req is posted, and has to report LMPI_ERR_PROC_FAILED_PENDING. */
bool lmpi_is_pending(const struct lmpi_engine *e, const struct lmpi_req *req);

#endif
