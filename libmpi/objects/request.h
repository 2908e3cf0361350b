/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/request.h - requests: everything a user can wait for.
 *
 * The engine's request is embedded first; its `done` is the completion of all
 * kinds, whoever sets it.  A request is
 *
 *	inactive   persistent, not started: behaves like MPI_REQUEST_NULL when waited for
 *	active     under way, done == false
 *	complete   done == true, the user has not looked yet
 *
 * Waiting for a complete one fills the status and frees it (not persistent) or
 * makes it inactive.  MPI_Request_free on an active one detaches it: it frees
 * itself on completion.
 *
 * Threads  the lock is held. */
#ifndef LMPI_REQUEST_H
#define LMPI_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "comm.h"
#include "engine.h"
#include "object.h"
#include "type.h"

enum lmpi_request_kind {
	LMPI_RQ_SEND,
	LMPI_RQ_RECV,
	LMPI_RQ_COLL,
	LMPI_RQ_GENERAL, /* MPI_Grequest_start */
	LMPI_RQ_PAIR,	 /* MPI_Isendrecv: two requests behind one */
	LMPI_RQ_FILE,	 /* staging: the text of its error */
	LMPI_RQ_NOTHING, /* complete from the start */
	LMPI_RQ_RMA,	 /* an operation on a window */
	LMPI_RQ_PART,	 /* partitioned, either side */
};

enum lmpi_send_mode { LMPI_SEND_STANDARD, LMPI_SEND_SYNC, LMPI_SEND_READY, LMPI_SEND_BUFFERED };

struct lmpi_coll;
struct lmpi_partitioned;
struct lmpi_request;

/* What a room does for requests of its kind. */
struct lmpi_request_ops {
	/* Start what a persistent one describes; an error code. */
	int (*start)(struct lmpi_request *r);
	/* It goes. */
	void (*release)(struct lmpi_request *r);
};

struct lmpi_request {
	struct lmpi_req e;
	struct lmpi_obj obj;
	enum lmpi_request_kind kind;
	const struct lmpi_request_ops *ops; /* NULL: a message, or nothing to start */
	bool persistent, active, detached;
	bool empty_status;	/* completes with the empty status, whatever e says */
	struct lmpi_comm *comm; /* NULL for generalised ones */
	struct lmpi_type *type;
	enum lmpi_send_mode mode;
	void *buf;
	int64_t count;
	int peer, tag;
	void *staging; /* packed bytes of a message that does not lie contiguous */
	int64_t staging_len;
	union {
		struct lmpi_coll *coll;
		MPI_File file;
		MPI_Win win;
		struct lmpi_partitioned *part;
		struct {
			MPI_Grequest_query_function *query;
			MPI_Grequest_free_function *free;
			MPI_Grequest_cancel_function *cancel;
			void *extra_state;
		} general;
		struct {
			struct lmpi_request *recv;
			int left;
			struct lmpi_request *of; /* of the halves: the pair */
		} pair;
	};
};

static inline MPI_Request
lmpi_request_handle(struct lmpi_request *r)
{
	return (MPI_Request)r;
}

/* That of every send that was over when the call returned: complete for ever, never freed. */
extern struct lmpi_request lmpi_request_sent;

/* NULL: the handle is not a live request. */
struct lmpi_request *lmpi_request_find(MPI_Request handle);
/* NULL: out of memory.  Holds comm and type (either may be NULL). */
struct lmpi_request *lmpi_request_new(enum lmpi_request_kind kind, struct lmpi_comm *comm,
				      struct lmpi_type *type);
void lmpi_request_free(struct lmpi_request *r);
/* Mark complete a request that the engine does not complete by itself. */
void lmpi_request_complete(struct lmpi_request *r);
/* What on_done has to do last: a detached request goes. */
void lmpi_request_settle(struct lmpi_request *r);
/* Wait for one of the library's own; returns its error and frees it. */
int lmpi_request_finish(struct lmpi_request *r, MPI_Status *status);

/* ---- status
 * Its private words hold the bytes of the message as they were on the wire and the
 * representation they had there, which counting elements by a datatype needs: a probe
 * does not know the type, and the message may be received as any. */
enum { LMPI_STATUS_BYTES = 0 /* and 1 */, LMPI_STATUS_CANCELLED = 2, LMPI_STATUS_REP = 3 };
#define LMPI_STATUS_WORDS 5
void lmpi_status_empty(MPI_Status *status);
void lmpi_status_set_bytes(MPI_Status *status, int64_t bytes, enum lmpi_rep rep);
/* Of a message from rank source of comm; comm may be NULL with no such source. */
void lmpi_status_set(MPI_Status *status, const struct lmpi_comm *comm, int source, int tag,
		     int64_t bytes, bool cancelled);

/* ---- argument checks, naming the argument and its value */
int lmpi_check_count(MPI_Count count);
int lmpi_check_type(MPI_Datatype handle, struct lmpi_type **type);
/* buf may be NULL only for no data, or absolute displacements. */
int lmpi_check_buffer(const void *buf, MPI_Count count, const struct lmpi_type *type);

#endif
