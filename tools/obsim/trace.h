/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/obsim/trace.h - what a program did, as obsim replays it.
 *
 * Hand-written traces, one event a line:
 *
 *     ranks 16                          first
 *     compute 0.043                     seconds, every rank
 *     compute 3 0.010                   rank 3
 *     alltoall 524288                   bytes as lib/collectives counts them: of one block for
 *     bcast 12 root=0                   gather, allgather, scatter, alltoall, reduce_scatter;
 *     barrier                           of the vector for the rest
 *     allreduce 8 algorithm=ring        this one and no other
 *     start allreduce 8                 non-blocking: goes on while ranks compute
 *     wait                              each rank waits for the first start not waited for
 *     send 3 7 1048576                  one message, from rank 3 to rank 7
 *     bcast 12 root=4 among=0,4,8-11    a call of these alone, which count upwards
 *     repeat 6 ... end                  not nested
 *     # ...                             a comment, also behind an event
 *
 * Traces of libmpitrace, one file a rank: collective calls are replayed, blocking and non-blocking
 * ones, by the processes of their communicator, and messages: the n-th send of a rank to another
 * with a tag on a communicator is what the n-th receive there had.  The time in all other calls
 * counts as computing.  Time inside what is replayed, in a call that completes it and in MPI_Probe
 * is not counted; that of a test in vain is computing.  Nor is time in which a rank waited for a
 * processor, in files of version 3 or later: more ranks than processors trace as well as few.
 * Partitioned calls, persistent collectives, those between neighbours or two groups count as
 * computing.  So do messages in files of version 1, which do not say enough of them.
 *
 * Files come from anywhere: whatever does not hold is an error that says where. */
#ifndef OBSIM_TRACE_H
#define OBSIM_TRACE_H

#include "coll/schedule.h"

#define OBS_RANKS_MAX 4096
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* "repeat" fills the others with a few words, which takes a tenth of a second each time. */
#define OBS_STEPS_MAX	(1u << 14)
#define OBS_CALLS_MAX	5000
#define OBS_MEMBERS_MAX (1u << 13)
#else
#define OBS_STEPS_MAX	(1u << 22)
#define OBS_CALLS_MAX	1000000
#define OBS_MEMBERS_MAX (1u << 22) /* of all calls that not all ranks make */
#endif
#define OBS_BYTES_MAX (1ull << 40)
#define OBS_EVERY     UINT32_MAX
#define OBS_NO_CALL   UINT32_MAX

#define OBS_OPEN_MAX 1024 /* non-blocking calls at a time, in a trace written by hand */

/* What ranks do together: a collective call, or one message. */
struct obs_trace_call {
	bool message; /* from, to, bytes and how it goes; the rest is of collectives */
	bool start;   /* non-blocking */
	bool synchronous, buffered;
	enum coll_op op;
	uint64_t bytes;
	uint32_t from, to;
	uint32_t root;			/* of its members, from 0 on */
	uint32_t first_member, members; /* member[first_member ..]; 0: all ranks */
	uint32_t next;			/* the collective that comes behind it, or OBS_NO_CALL */
	char algorithm[32];		/* "": the mode's choice */
};

enum obs_kind {
	OBS_COMPUTE,
	OBS_COME, /* to a call, and goes on */
	OBS_WAIT  /* until it is over here */
};

struct obs_step {
	enum obs_kind kind;
	uint32_t rank; /* whose, or OBS_EVERY: of all that take part */
	uint32_t call; /* COME, WAIT */
	double s;      /* COMPUTE */
};

struct obs_trace {
	uint32_t ranks;
	struct obs_step *step;
	size_t steps, room;
	size_t *first; /* [ranks + 1] steps of each rank from there on; NULL: all stand in one list
			*/
	struct obs_trace_call *call;
	uint32_t calls, call_room;
	uint32_t *member; /* ranks, of the calls that not all make */
	uint32_t nmembers, member_room;
	uint32_t starts;   /* non-blocking collectives */
	double measured_s; /* of the rank that took longest, as traced; 0: by hand */
	double waited_s;   /* between calls for a processor, of the rank that did most */
	char why[200];
};

/* False: why.  obs_trace_free() in any case. */
bool obs_trace_text(struct obs_trace *t, const char *text, size_t len);
/* The files of all ranks, in any order. */
bool obs_trace_mpi(struct obs_trace *t, const void *const data[], const size_t len[],
		   uint32_t files);
/* For the two: one more at the end; false: too many. */
bool obs_trace_add(struct obs_trace *t, const struct obs_step *s);
bool obs_trace_add_call(struct obs_trace *t, const struct obs_trace_call *c);
bool obs_trace_member(struct obs_trace *t, uint32_t rank);
void obs_trace_free(struct obs_trace *t);

#endif
