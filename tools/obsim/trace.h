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
 * ones, by the processes of their communicator; the time in all others counts as computing.  Time
 * inside a call that completes a non-blocking one is waiting, and not counted; that of a test in
 * vain is computing.  Messages between two, persistent collectives, those between neighbours or
 * two groups count as computing.
 *
 * Files come from anywhere: whatever does not hold is an error that says where. */
#ifndef OBSIM_TRACE_H
#define OBSIM_TRACE_H

#include "coll/schedule.h"

#define OBS_RANKS_MAX	4096
#define OBS_STEPS_MAX	1000000
#define OBS_MEMBERS_MAX (1u << 22) /* of all calls that not all ranks make */
#define OBS_BYTES_MAX	(1ull << 40)
#define OBS_EVERY	UINT32_MAX

#define OBS_OPEN_MAX 1024 /* non-blocking calls at a time */

enum obs_kind {
	OBS_COMPUTE,
	OBS_CALL,  /* all ranks, or its members */
	OBS_START, /* the same, non-blocking */
	OBS_WAIT
};

struct obs_step {
	enum obs_kind kind;
	uint32_t rank;	 /* COMPUTE, WAIT: whose, or OBS_EVERY */
	uint32_t number; /* START: from 0 on, in their order; WAIT: for which */
	double s;	 /* COMPUTE */
	enum coll_op op;
	uint64_t bytes;
	uint32_t root;			/* of its members, from 0 on */
	uint32_t first_member, members; /* of a call: member[first_member ..]; 0: all ranks */
	char algorithm[32];		/* "": the mode's choice */
};

struct obs_trace {
	uint32_t ranks;
	struct obs_step *step;
	size_t steps, room;
	uint32_t *member; /* ranks, of the calls that not all make */
	uint32_t nmembers, member_room;
	uint32_t starts;
	char why[160];
};

/* False: why.  obs_trace_free() in any case. */
bool obs_trace_text(struct obs_trace *t, const char *text, size_t len);
/* The files of all ranks, in any order. */
bool obs_trace_mpi(struct obs_trace *t, const void *const data[], const size_t len[],
		   uint32_t files);
/* For the two: a step, or a rank of calls of some, at the end; false: too many. */
bool obs_trace_add(struct obs_trace *t, const struct obs_step *s);
bool obs_trace_member(struct obs_trace *t, uint32_t rank);
void obs_trace_free(struct obs_trace *t);

#endif
