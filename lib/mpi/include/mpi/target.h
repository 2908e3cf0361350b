/* SPDX-License-Identifier: BSD-2-Clause */
/* mpi/target.h - parts of others in windows, as targets of this process's operations: what is under
 * way there, when it is done, what a death ends.
 *
 * Who owns the window makes packets (mpi/window.h) and sends them, knows datatypes and where a
 * result goes.  Waiting is the owner's, too: for lmpi_target_is_still(), for the lock, for room.
 *
 *     lmpi_act_begin() --> lmpi_act_want(), if it has a result --> the packet is sent
 *	    --> lmpi_act_event() for what happens, as often as left says --> ops->ended()
 *     lmpi_target_flush()   true: a FLUSH is to be sent; its ACK says that all before is done
 *     lmpi_target_hear()    what a target sends: REPLY, ACK, GRANT, POST
 *     lmpi_target_is_full() the next operation waits
 *
 * Death    lmpi_target_lost(): no answer is waited for any more.  Operations whose result would
 *	    come by a REPLY end with LMPI_ERR_PROC_FAILED; receives and sends of the engine end by
 *	    themselves (mpi/lost.h).
 * Memory   of names from memory.get(), which never fails, or does not return.
 * Threads  one at a time for one struct lmpi_acting.
 * Errors   MPI error classes: of an operation with an owner of its own in act->error, else in
 *	    target->error until the next synchronisation takes it. */
#ifndef MPI_TARGET_H
#define MPI_TARGET_H

#include "mpi/window.h"

enum lmpi_held { LMPI_LOCK_FREE, LMPI_LOCK_ASKED, LMPI_LOCK_HELD, LMPI_LOCK_NOCHECK };

/* One process of a window. */
struct lmpi_target {
	uint32_t pending; /* operations whose buffers are still in use */
	uint32_t acks;	  /* answers to FLUSH to come */
	bool dirty;	  /* operations are under way since the last FLUSH */
	bool wrote;	  /* some of these write; means something only with dirty */
	bool loose;	  /* so is something else that nobody will wait for: set by who sends it */
	bool heavy;	  /* so is much that a COMPLETE went behind */
	bool exclusive;	  /* the lock that is asked for or held */
	uint8_t held;	  /* enum lmpi_held */
	/* Of operations since the last FLUSH that went when no answer was to come: */
	uint64_t early;	 /* bytes of packets */
	uint64_t beside; /* what they weigh more (mpi/window.h) */
	uint32_t posted; /* its MPI_Win_post calls that no MPI_Win_start has used */
	int error;	 /* that it reported, for the next synchronisation */
};

struct lmpi_acting;

/* An operation with something still to happen. */
struct lmpi_act {
	struct lmpi_req recv; /* first: its result, when that comes beside its reply */
	struct lmpi_acting *all;
	struct lmpi_target *target;
	uint64_t id; /* its name in packets, 0: none */
	uint64_t expected;
	uint32_t left; /* events to come; the owner adds its own */
	bool owned;    /* somebody waits for this one: its error is not the target's */
	int error;
};

struct lmpi_acting_ops {
	/* Post the receive act->recv of act->expected bytes on LMPI_CID_BULK; false: no memory. */
	bool (*receive)(struct lmpi_act *act, uint32_t tag);
	/* All of its result is here: data from a REPLY, or what was received if data is NULL. */
	void (*result)(struct lmpi_act *act, const void *data);
	/* Nothing of it is to come: it is the owner's again. */
	void (*ended)(struct lmpi_act *act);
};

/* Operations of one process on all its windows. */
struct lmpi_acting {
	const struct lmpi_acting_ops *ops;
	struct lmpi_memory memory;
	struct lmpi_room room;	 /* that of targets */
	struct lmpi_idtab names; /* of struct lmpi_act that wait for a REPLY */
	uint32_t results;	 /* to come, of either kind */
	uint32_t last_tag;
};

/* ---- operations */
/* Of bulk data that goes beside a packet.  Bulk data towards a process is named by its sender (what
 * an operation carries) or by itself (what it asked for): a bit keeps these apart.  Never 0. */
uint32_t lmpi_acting_tag(struct lmpi_acting *all);
/* act is zero but for owned; its own event is to come. */
void lmpi_act_begin(struct lmpi_acting *all, struct lmpi_act *act, struct lmpi_target *t,
		    enum rma_kind kind);
/* A result of so many bytes: fills in how packet p asks for it.  False: no memory; the operation
 * has not begun. */
bool lmpi_act_want(struct lmpi_act *act, struct rma_packet *p, uint64_t bytes);
void lmpi_act_event(struct lmpi_act *act);

/* ---- targets */
/* False: malformed. */
bool lmpi_target_hear(struct lmpi_acting *all, struct lmpi_target *t, const struct lmpi_job *j);
/* That process has failed. */
void lmpi_target_lost(struct lmpi_acting *all, struct lmpi_target *t);
/* Is a FLUSH to be sent?  failed: nobody would answer. */
bool lmpi_target_flush(struct lmpi_target *t, bool failed);
/* The window goes: whatever was sent and nobody waited for must have come before. */
void lmpi_target_leave(struct lmpi_target *t);
static inline bool
lmpi_target_is_still(const struct lmpi_target *t)
{
	return t->pending == 0 && t->acks == 0;
}
static inline int
lmpi_target_take_error(struct lmpi_target *t)
{
	int error = t->error;

	t->error = LMPI_OK;
	return error;
}

/* ---- its lock */
/* Is nothing under way there any more? */
static inline void
lmpi_target_lighten(struct lmpi_target *t)
{
	if (t->acks == 0 && !t->dirty && !t->heavy)
		t->early = t->beside = 0;
}
/* It is wanted: true if it is to be asked for.  failed: nobody would answer. */
static inline bool
lmpi_target_ask(struct lmpi_target *t, bool exclusive, bool failed)
{
	t->exclusive = exclusive;
	t->held = failed ? LMPI_LOCK_NOCHECK : LMPI_LOCK_ASKED;
	lmpi_target_lighten(t);
	return !failed;
}

/* ---- its memory */
/* An operation's packet of so many bytes goes there. */
static inline void
lmpi_target_note_early(struct lmpi_target *t, uint64_t bytes)
{
	t->early += bytes;
	t->beside += RMA_ENTRY;
}
/* Data beside it, that the target keeps until the operation is done. */
static inline void
lmpi_target_note_beside(struct lmpi_target *t, uint64_t bytes)
{
	t->beside += bytes;
}
bool lmpi_target_fills(const struct lmpi_acting *all, const struct lmpi_target *t);
/* The next operation is to wait, for what precedes it fills the target's memory: while the lock is
 * asked for until that is granted; then until acks is 0; and then a FLUSH goes before it.  Whoever
 * has waited asks again: another thread may have sent something. */
static inline bool
lmpi_target_is_full(const struct lmpi_acting *all, const struct lmpi_target *t)
{
	return t->early + t->beside > all->room.early && lmpi_target_fills(all, t);
}
/* A COMPLETE goes there, and nobody waits for what is before it.  Much of that still fills the
 * target's memory until a FLUSH is answered. */
static inline void
lmpi_target_complete(const struct lmpi_acting *all, struct lmpi_target *t)
{
	t->heavy |= t->dirty && t->early + t->beside > all->room.early;
	t->dirty = false;
}

#endif
