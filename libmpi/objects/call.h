/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/objects/call.h - the frame around every MPI call, and how errors leave it.
 *
 * An entry point (generated) is
 *
 *	lmpi_enter(&call, "MPI_Send", LMPI_ON_COMM, comm);
 *	rc = impl_Send(...);
 *	return lmpi_leave(&call, rc);
 *
 * An implementation reports an error by `return lmpi_error(MPI_ERR_RANK, "rank %d ...", r)`:
 * the text is kept, and lmpi_leave() hands the code to the error handler of the
 * call's object after giving up the lock.  The object is the first communicator,
 * window, file or session among the arguments; lmpi_blame_comm() changes it (a request
 * belongs to the communicator it was made on).  Errors of calls without any object
 * go to MPI_COMM_SELF, or to MPI_COMM_WORLD if SELF never got a handler of its own.
 *
 * Threads  frames and texts are per thread. */
#ifndef LMPI_CALL_H
#define LMPI_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "lock.h"
#include "mpi.h"

#define LMPI_EXPORT __attribute__((visibility("default")))
/* MPI_X: what a profiling library may put its own function in front of. */
#define LMPI_ALIAS(of) __attribute__((weak, alias(of)))

enum lmpi_on { LMPI_ON_NONE, LMPI_ON_COMM, LMPI_ON_WIN, LMPI_ON_FILE, LMPI_ON_SESSION };

struct lmpi_call {
	const char *fn;
	enum lmpi_on kind;
	void *handle;	      /* ABI handle of the object errors go to */
	struct lmpi_call *up; /* the call whose callback made this one */
};
extern _Thread_local struct lmpi_call *lmpi_call_top;

enum lmpi_state { LMPI_BEFORE_INIT, LMPI_RUNNING, LMPI_FINALIZED };
extern volatile enum lmpi_state lmpi_state;

static inline bool
lmpi_running(void)
{
	return __builtin_expect(lmpi_state == LMPI_RUNNING, 1);
}

static inline void
lmpi_enter(struct lmpi_call *call, const char *fn, enum lmpi_on kind, void *handle)
{
	call->fn = fn;
	call->kind = kind;
	call->handle = handle;
	call->up = lmpi_call_top;
	lmpi_call_top = call;
	lmpi_lock();
}

/* The way out with an error: pops the frame, unlocks, calls the error handler;
 * returns the code the caller of MPI sees. */
int lmpi_leave_failed(struct lmpi_call *call, int code);

static inline int
lmpi_leave(struct lmpi_call *call, int code)
{
	if (__builtin_expect(code != MPI_SUCCESS, 0))
		return lmpi_leave_failed(call, code);
	lmpi_call_top = call->up;
	lmpi_unlock();
	return MPI_SUCCESS;
}

/* In a cluster that goes on (../sp): what a failing call is to return, LMPI_ERR_AGAIN if the epoch
 * is over; NULL elsewhere.  Then lmpi_epoch_ended() is called, without the lock, in place of an
 * error handler: what the call returns is what that says. */
extern int (*lmpi_epoch_code)(const struct lmpi_call *call, int code);
extern int (*lmpi_epoch_ended)(const char *fn);

/* Note what is wrong; returns code. */
int lmpi_error(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
#ifdef __clang_analyzer__
/* No caller hands in MPI_SUCCESS, which the analyzer cannot see. */
#define lmpi_error(code, ...) (lmpi_error(code, __VA_ARGS__), MPI_ERR_OTHER)
#endif
/* The call came before MPI_Init or after MPI_Finalize. */
int lmpi_not_running(void) __attribute__((cold));
/* What the call is to write to is a null pointer. */
int lmpi_null_argument(const char *name) __attribute__((cold));
/* The function is one libmpi does not offer; what to do instead, or NULL. */
int lmpi_unsupported(const char *instead) __attribute__((cold));
/* The text of the last lmpi_error() of this thread if it was for that code, else "". */
const char *lmpi_error_text(int code);
/* Errors of this call go to the communicator of that handle. */
void lmpi_blame_comm(MPI_Comm comm);
void lmpi_blame_file(MPI_File file);
void lmpi_blame_win(MPI_Win win);
/* Of several requests one has failed with that code: errors of this call go to what was blamed for
 * it, whatever is blamed later.  Where the call returns MPI_ERR_IN_STATUS its error handler is told
 * that code (MPI-4, 9.3.1). */
void lmpi_blame_stays(int code);
bool lmpi_blame_is_settled(void);
/* What an error handler of the call is told that returns code; once. */
int lmpi_blame_code(const struct lmpi_call *call, int code);

#endif
