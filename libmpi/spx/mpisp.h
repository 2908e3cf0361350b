/* SPDX-License-Identifier: BSD-2-Clause */
/* mpisp.h - MPI programs as stages of a pipeline that goes on: MPI/SP and MPI/SPx.
 *
 * A pipeline is made of clusters.  Each is a program with an MPI_COMM_WORLD of its own; I/O
 * processes stand between two of them and carry *frames* (doc/spx.md).  A stage is:
 *
 *	MPISP_Init(&argc, &argv, NULL);
 *	for (;;) {
 *		MPISP_Frame_begin(MPI_COMM_WORLD, &frame, &again);
 *		if (frame == MPISP_FRAME_END)
 *			break;
 *		MPI_Recv(in, n, MPI_FLOAT, MPISP_CLUSTER_IN, 0, MPI_COMM_WORLD, &status);
 *		filter(in, out);
 *		MPI_Send(out, n, MPI_FLOAT, MPISP_CLUSTER_OUT, 0, MPI_COMM_WORLD);
 *		MPISP_Frame_end(MPI_COMM_WORLD, frame);
 *	}
 *	MPI_Finalize();
 *
 * or MPISP_Run() with that loop inside.
 *
 * Ranks    MPISP_CLUSTER_OUT, a destination: the next stage.  MPISP_CLUSTER_IN, a source: the one
 *	    before.  They work in point-to-point calls, within a frame.	 Nobody else's rank
 *	    changes, ever.
 * Frame    belongs to one process: who begins it receives what the stage before sent in it and
 *	    sends what the next one gets.  All messages of a frame are there when it begins, so
 *	    a receive never waits; messages with one tag come in the order of their sends.  What
 *	    is sent leaves with MPISP_Frame_end(), all of it or nothing.
 * Who      makes frames: processes of a cluster that no chain leads to.  MPISP_Frame_begin() gives
 *	    them the number to make.  With `again` somebody may have made or taken that frame
 *	    before, and died.
 * Died	    A frame that a process died in goes to another one, with `again`.  What the cluster's
 *	    in_flight says (doc/spx.md) may be another thing: MPISP_Frame_begin() begins it and
 *	    returns MPIX_ERR_PROC_FAILED, and the program does it or ends it at once (ulfm;
 *	    MPISP_Run() only says `again`); or
 *	    nobody gets it (drop).
 * Promise  Frames that have ended are not lost, whoever dies, and nobody takes one twice as long
 *	    as anybody lives who knew that it was taken.  MPI_Finalize of who makes frames waits
 *	    until all are committed.
 * Time     Calls may wait for others, as MPI's do.  A process that computes answers meanwhile.
 * Errors   as of MPI calls: codes, texts, error handlers.  MPISP_Frame_begin() gives
 *	    MPISP_FRAME_END when the pipeline has ended.
 * Threads  as MPI's; a process has one frame at a time.
 * Limits   a frame's size: the manager's (mpisprun --frame-max).  Persistent and matched calls and
 *	    windows do not know the special ranks, nor do collective calls.
 * Who manages  mpisprun(1).  Without a manager MPISP_Init() is MPI_Init(), and the other calls
 *	    say that there is no pipeline. */
#ifndef MPISP_H
#define MPISP_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPISP_CLUSTER_IN  (-101)
#define MPISP_CLUSTER_OUT (-102)

#define MPISP_FRAME_END ((int64_t)-1)
/* Under mpispd (doc/sp.md): a rank went to another process, this is to be done again. */
#define MPISP_ERR_AGAIN 16132
/* A frame's name has where it was made: number, rank, cluster. */
#define MPISP_FRAME_NUMBER(frame)  ((frame) & (((int64_t)1 << 44) - 1))
#define MPISP_FRAME_RANK(frame)	   ((int)((frame) >> 44 & 0xfff))
#define MPISP_FRAME_CLUSTER(frame) ((int)((frame) >> 56 & 0x3f))

/* What a process is. */
#define MPISP_ALONE   0 /* no pipeline */
#define MPISP_COMPUTE 1
#define MPISP_IO      2

/* For MPISP_World_use(). */
#define MPISP_WORLD_AUTO 0 /* receive from the cluster before, send to the next one */
#define MPISP_WORLD_PREV 1
#define MPISP_WORLD_NEXT 2

/* MPI_Init, and a place in the pipeline: a spare returns when it takes a rank over.  config: NULL;
 * who manages knows it. */
int MPISP_Init(int *argc, char ***argv, const char *config);
/* takeovers: how often this rank went to another process before.  Any pointer may be NULL. */
int MPISP_Self(int *kind, int *takeovers, char cluster[64]);

/* Worlds of this process: its own cluster's, or of an I/O process those of the clusters on both
 * sides, in which it has the special ranks only. */
int MPISP_World_count(int *n);
int MPISP_World(int i, MPI_Comm *world, char name[64]);
/* Today only MPISP_WORLD_AUTO; else MPI_ERR_UNSUPPORTED_OPERATION. */
int MPISP_World_use(int which);

int MPISP_Frame_begin(MPI_Comm world, int64_t *frame, int *again);
int MPISP_Frame_end(MPI_Comm world, int64_t frame);
/* setup once, then frame for each: what it returns ends MPISP_Run() if it is not 0, and the frame
 * is done again by somebody.  Both may be NULL in an I/O process, which waits for the end. */
int MPISP_Run(MPI_Comm world, int (*setup)(MPI_Comm world, void *arg),
	      int (*frame)(int64_t frame, int again, void *arg), void *arg);
/* Under mpispd what MPIX_Comm_repair() of mpi-ext.h does, behind MPISP_ERR_AGAIN.  Under mpisprun
 * MPI_ERR_UNSUPPORTED_OPERATION today: ranks that were taken over have no messages among
 * themselves yet. */
int MPISP_Comm_repair(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new);

/* Of several I/O processes, on chains with policy=user: an index of c. */
struct MPISP_candidate {
	unsigned id;
	unsigned amount; /* frames it can take, or has */
	unsigned mine;	 /* of ours, under way with it */
	unsigned weight;
};
/* out: 1 for a frame that leaves.  bytes and tag are 0: a frame has several messages.  Called by a
 * thread of the library, so it may not call MPI. */
typedef int MPISP_pick_fn(const struct MPISP_candidate *c, int n, int out, MPI_Count bytes, int tag,
			  void *arg);
int MPISP_Policy(MPI_Comm world, MPISP_pick_fn *pick, void *arg);

/* What becomes of the pipeline; called inside MPISP_ calls of the program's. */
#define MPISP_EVENT_MISSING 0 /* it does not start: who is missing */
#define MPISP_EVENT_RUNNING 1
#define MPISP_EVENT_LOST    2 /* a cluster fell silent */
#define MPISP_EVENT_BACK    3
#define MPISP_EVENT_IGNORED 4 /* a program does not take or end a frame */
#define MPISP_EVENT_HOARDED 5 /* an I/O process gives a frame to nobody */
#define MPISP_EVENT_AWAITED 6 /* a frame waits for somebody */
#define MPISP_EVENT_ASIDE   7 /* a frame in which one after another died is given up */
typedef void MPISP_event_fn(int kind, int64_t frame, const char *text, void *arg);
int MPISP_On_event(MPISP_event_fn *fn, void *arg);

/* "add FROM TO [window=N] [policy=...] [ordered] [on_lost=...]", drain, remove, move; with ; or
 * line ends between them; all or nothing. */
int MPISP_Chain(const char *ops);
/* A sign of life, from a program that computes for long. */
int MPISP_Alive(void);

int PMPISP_Init(int *argc, char ***argv, const char *config);
int PMPISP_Self(int *kind, int *takeovers, char cluster[64]);
int PMPISP_World_count(int *n);
int PMPISP_World(int i, MPI_Comm *world, char name[64]);
int PMPISP_World_use(int which);
int PMPISP_Frame_begin(MPI_Comm world, int64_t *frame, int *again);
int PMPISP_Frame_end(MPI_Comm world, int64_t frame);
int PMPISP_Run(MPI_Comm world, int (*setup)(MPI_Comm world, void *arg),
	       int (*frame)(int64_t frame, int again, void *arg), void *arg);
int PMPISP_Comm_repair(MPI_Comm broken, MPI_Comm *same_size, int *i_am_new);
int PMPISP_Policy(MPI_Comm world, MPISP_pick_fn *pick, void *arg);
int PMPISP_On_event(MPISP_event_fn *fn, void *arg);
int PMPISP_Chain(const char *ops);
int PMPISP_Alive(void);

#ifdef __cplusplus
}
#endif

#endif
