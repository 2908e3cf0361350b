/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/trace/trace.h - the event trace of a rank: libmpitrace.so writes it, mpitrace reads it.
 *
 * The library stands between the program and any libmpi_abi.so.1 (PMPI): LD_PRELOAD it, or
 * link it in front.  One file a rank, LIBMPI_TRACE/RANK (default ./mpitrace/RANK):
 *
 *     "LMPITRC3"
 *     rank, size, start (ns since 1970)
 *     names: how many; each its length and its letters         calls by number
 *     records, one after another, until END
 *
 * All numbers are unsigned LEB128; those marked ~ may be negative and are zigzag
 * coded (0, -1, 1, -2 ... = 0, 1, 2, 3).
 *
 *     CALL   number of the name, ns since the last call ended (the program computes),
 *            ns inside, communicator, peer or root~, tag~, bytes given, bytes wanted,
 *            ns of the first and of the second of these in which it waited for a processor
 *     COMM   number, size, world ranks of its processes, size of the remote group (0: none),
 *            theirs                                              before its first use
 *     START  number of a request: the call before this record has begun it
 *     DONE   number of a request: the call before has completed it (MPI_Wait..., MPI_Test...)
 *     SEND   request or 0, communicator, to whom, tag~, bytes, enum trace_how
 *     RECV   request or 0, communicator, from whom~, tag~, bytes there is room for
 *     HAD    request or 0, from whom~, tag~, bytes~: what a receive really had
 *     END    ns since the last call, ns of these in which it waited for a processor
 *
 * Requests are those of non-blocking collectives and of point-to-point calls, not those of
 * persistent collectives and of partitioned calls.  They are numbered from 1 in the order of their
 * STARTs; a persistent one gets a number each time it is started.
 *
 * SEND and RECV belong to the START before them or, with request 0, to the call: it was over with
 * it.  MPI_Isendrecv has both under one number.  HAD stands behind the RECV of a call, or behind
 * the DONE of a request.  -1 is any source or tag in RECV; in HAD it is nothing: the request was
 * cancelled.  Messages with nobody (MPI_PROC_NULL) are not noted.  MPI_Mprobe begins the receive
 * that MPI_Mrecv completes.
 *
 * Communicators are numbered as they are made, or where that takes a request (MPI_Comm_idup), as
 * they are first used; MPI_COMM_WORLD is 1.  Those with the same processes thus come in one
 * order at all of them.
 *
 * What a thread waits for a processor the kernel tells (/proc/thread-self/schedstat); 0 where it
 * does not.  Versions before 3 have no such numbers.  Version 1 ("LMPITRC1") has no SEND, RECV,
 * HAD, no requests of point-to-point calls, and communicators as they are first used.  mpitrace and
 * obsim read it as before.
 *
 * TRACE_NO_COMM: the call has none.  Bytes are those of the arguments: of a receive the room, of a
 * collective the rank's own part.  Ranks in SEND, RECV and HAD are those of the communicator, of
 * its remote group if it has one. */
#ifndef LMPI_TRACE_H
#define LMPI_TRACE_H

#define TRACE_MAGIC   "LMPITRC3"
#define TRACE_NO_COMM 0 /* the first communicator is 1 */

enum trace_record {
	TRACE_CALL = 1,
	TRACE_COMM = 2,
	TRACE_END = 3,
	TRACE_START = 4,
	TRACE_DONE = 5,
	TRACE_SEND = 6,
	TRACE_RECV = 7,
	TRACE_HAD = 8
};

enum trace_how { TRACE_STANDARD, TRACE_BUFFERED, TRACE_SYNCHRONOUS, TRACE_READY };

/* ---- for the generated wrappers -------------------------------------------- */

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

/* A message that a call sends or takes. */
struct trace_part {
	bool receives;
	enum trace_how how;
	int peer, tag;
	uint64_t bytes;
};

/* What a receive had. */
struct trace_had {
	bool known;
	int peer, tag;
	int64_t bytes; /* -1: unknown */
};

struct trace_call {
	int name;
	uint64_t begin_ns, inside_from_ns;
	uint64_t waited_ns, inside_waited_ns; /* for a processor, by this thread */
	MPI_Comm comm;			      /* MPI_COMM_NULL: none */
	int peer, tag;
	uint64_t out, in;
	MPI_Comm made; /* MPI_COMM_NULL: none */
	struct trace_part part[2];
	int parts;
	struct trace_had had;
	MPI_Request began;	/* MPI_REQUEST_NULL: none */
	MPI_Request persistent; /* one that is not started yet, or MPI_REQUEST_NULL */
	const MPI_Request *started;
	int nstarted;
	struct trace_watch *watch;
	int watched;
};

extern const char *const trace_names[];
extern const int trace_nnames;

void trace_begin(struct trace_call *c, int name);
void trace_end(struct trace_call *c);
/* A message of this call, with the bytes that c says are given or wanted. */
void trace_sends(struct trace_call *c, enum trace_how how, int dest, int tag);
void trace_receives(struct trace_call *c, int source, int tag);
void trace_took(struct trace_call *c, const MPI_Status *status);
/* Around a call that completes requests: those that were noted among them; where statuses are
 * ignored, room for them. */
void trace_watch(struct trace_call *c, int n, const MPI_Request request[]);
MPI_Status *trace_statuses(const struct trace_call *c, MPI_Status *given, MPI_Status **own);
void trace_over(struct trace_call *c, int at, const MPI_Status *status);
/* The call has failed: what is no longer there is over, and what was cut is told by its status. */
void trace_over_failed(struct trace_call *c, const MPI_Request request[], const MPI_Status status[],
		       int rc);
/* Has it received?  Also what was longer than the buffer. */
bool trace_received(int rc);
/* MPI_Request_free().  One that was to be cancelled is waited for: else nobody knew whether it was
 * sent.  That is a local matter, as MPI has it, unless its receive has begun. */
int trace_request_free(struct trace_call *c, MPI_Request *request);
void trace_cancels(MPI_Request request);
/* A message that was probed stands for its receive. */
MPI_Request trace_message(MPI_Message message);
void trace_probed(struct trace_call *c, MPI_Message message, const MPI_Status *status);
void trace_renamed(MPI_Request from, MPI_Request to);
/* After MPI_Init: who am I; before MPI_Finalize: the file ends. */
void trace_open(void);
void trace_close(void);

uint64_t trace_bytes(MPI_Count count, MPI_Datatype type);
/* Of arrays with an element for every process (of the other group, if there is one). */
uint64_t trace_bytes_v(const int counts[], MPI_Datatype type, MPI_Comm comm);
uint64_t trace_bytes_vc(const MPI_Count counts[], MPI_Datatype type, MPI_Comm comm);
uint64_t trace_bytes_w(const int counts[], const MPI_Datatype types[], MPI_Comm comm);
uint64_t trace_bytes_wc(const MPI_Count counts[], const MPI_Datatype types[], MPI_Comm comm);
/* Does this rank have the root's arguments? */
bool trace_is_root(int root, MPI_Comm comm);

#endif
