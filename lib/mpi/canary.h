/* SPDX-License-Identifier: BSD-2-Clause */
/* canary.h - bugs planted on purpose in lib/mpi, for the simulator to catch: as
 * lib/suci/internal/suci/canary.h has them, in the same builds (EXTRAS=canary) and for the same
 * reason. */
#ifndef MPI_CANARY_H
#define MPI_CANARY_H

#include <stdbool.h>

/* X(id, what it does) */
#define LMPI_BUGS(X)                                                               \
	X(POSTED, "a receive of one source goes before an earlier one of any")     \
	X(SYNC, "a synchronous send is done as soon as its bytes have gone")       \
	X(TAKEN, "a message is said to be taken back, and waits for its receive")  \
	X(CREDIT, "packets that were taken are not acknowledged")                  \
	X(BUFFER, "memory of unexpected messages is not counted back")             \
	X(WAITS, "a receive goes on waiting for a process that is lost")           \
	X(HALF, "messages of a lost process stay, and are received")               \
	X(PENDING, "a receive from any source does not say that one is lost")      \
	X(EPOCH, "what an earlier epoch sent is kept for its receive")             \
	X(STREAM_EARLY, "a packet is over when a part of it has gone on a stream") \
	X(STREAM_ASTRAY, "what comes over a stream begins at the front again")     \
	X(STEPS_STAY, "a collective operation that breaks takes nothing back")     \
	X(STEPS_EARLY, "a step does not wait for the last that it needs")          \
	X(STEPS_MIXED, "messages to one peer are issued in any order")             \
	X(WIN_HASTY, "operations do not wait for bulk data of earlier puts")       \
	X(WIN_UNLOCKED, "what follows a LOCK is done before it is granted")        \
	X(WIN_SHARED, "a lock that is asked for exclusively is shared")            \
	X(WIN_GARBAGE, "bulk data that a lost process never sent is used")         \
	X(WIN_COMPLETE, "a COMPLETE does not wait for bulk data of earlier puts")  \
	X(WIN_FULL, "what waits for bulk data has no bound")                       \
	X(WIN_RESULTS, "results that nobody takes hold nothing up")                \
	X(TARGET_POST, "a POST is not counted")                                    \
	X(TARGET_ACKS, "answers of a lost process to a FLUSH are waited for")      \
	X(TARGET_REPLY, "a result that a lost process would send is waited for")   \
	X(TARGET_LOCK, "a lock of a lost process is waited for")                   \
	X(TARGET_DEAD, "a process that is lost is asked for a FLUSH")              \
	X(TARGET_FULL, "an origin does not wait for room at its target")           \
	X(TARGET_LOOSE, "a window goes although notes are on their way to it")

enum lmpi_bug {
	LMPI_BUG_NONE,
#define X(id, what) LMPI_BUG_##id,
	LMPI_BUGS(X)
#undef X
};

#ifdef SUCI_CANARY
extern enum lmpi_bug lmpi_canary;
#define LMPI_BUG(id) (lmpi_canary == LMPI_BUG_##id)
#else
#define LMPI_BUG(id) false
#endif

#endif
