/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/trace/trace.h - the event trace of a rank: libmpitrace.so writes it, mpitrace reads it.
 *
 * The library stands between the program and any libmpi_abi.so.1 (PMPI): LD_PRELOAD it, or
 * link it in front.  One file a rank, LIBMPI_TRACE/RANK (default ./mpitrace/RANK):
 *
 *     "LMPITRC1"
 *     rank, size, start (ns since 1970)
 *     names: how many; each its length and its letters         calls by number
 *     records, one after another, until END
 *
 * All numbers are unsigned LEB128; those marked ~ may be negative and are zigzag
 * coded (0, -1, 1, -2 ... = 0, 1, 2, 3).
 *
 *     CALL   number of the name, ns since the last call ended (the program computes),
 *            ns inside, communicator, peer or root~, tag~, bytes given, bytes wanted
 *     COMM   number, size, world ranks of its processes, size of the remote group (0: none),
 *            theirs                                              before its first use
 *     START  number of a request: the call before this record has begun a non-blocking collective
 *     DONE   number of a request: the call before has completed it (MPI_Wait..., MPI_Test...)
 *     END    ns since the last call
 *
 * Requests are numbered from 1 in the order of their STARTs; those of other calls are not noted,
 * nor are those of persistent collectives.  Communicators are numbered as they are first used;
 * TRACE_NO_COMM: the call has none.  Bytes are those of the arguments: of a receive the room, of a
 * collective the rank's own part. */
#ifndef LMPI_TRACE_H
#define LMPI_TRACE_H

#define TRACE_MAGIC   "LMPITRC1"
#define TRACE_NO_COMM 0 /* the first communicator is 1 */

enum trace_record {
	TRACE_CALL = 1,
	TRACE_COMM = 2,
	TRACE_END = 3,
	TRACE_START = 4,
	TRACE_DONE = 5
};

/* ---- for the generated wrappers -------------------------------------------- */

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

struct trace_call {
	int name;
	uint64_t begin_ns;
	MPI_Comm comm; /* MPI_COMM_NULL: none */
	int peer, tag;
	uint64_t out, in;
	MPI_Request began; /* MPI_REQUEST_NULL: none */
	struct trace_watch *watch;
	int watched;
};

extern const char *const trace_names[];
extern const int trace_nnames;

void trace_begin(struct trace_call *c, int name);
void trace_end(struct trace_call *c);
/* Around a call that completes requests: those of non-blocking collectives among them. */
void trace_watch(struct trace_call *c, int n, const MPI_Request request[]);
void trace_completed(struct trace_call *c, const MPI_Request request[]);
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
