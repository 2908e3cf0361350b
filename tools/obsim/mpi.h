/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/obsim/mpi.h - between the files of libmpitrace and messages: each end of one as its rank's
 * file has it, and which ends belong together. */
#ifndef OBSIM_MPI_H
#define OBSIM_MPI_H

#include "read.h"
#include "trace.h"

#define OBS_HALF       (1u << 31) /* of a step's call: the number of a half */
#define OBS_HALVES_MAX (2 * OBS_CALLS_MAX)

struct obs_half {
	uint32_t group, number; /* of the communicator */
	int64_t tag;		/* -1 of a receive: any */
	uint32_t mine, other;	/* ranks of all; OBS_NO_CALL: any */
	uint64_t bytes;		/* of a receive the room */
	int64_t had;		/* bytes it really had, or -1 */
	uint32_t peers, npeers; /* whom numbers of the communicator mean */
	uint32_t line, call;
	bool sends, synchronous, buffered;
	bool known;   /* a receive: the file says what it had */
	bool nothing; /* cancelled */
};

struct obs_halves {
	struct obs_half *half;
	uint32_t n, room;
};

/* False: too many. */
bool obs_halves_add(struct obs_halves *h, const struct obs_half *half);
/* Messages out of halves, and steps of messages out of steps of halves; false: why. */
bool obs_halves_match(struct obs_halves *h, struct obs_trace *t);

#endif
