/* SPDX-License-Identifier: BSD-2-Clause */
/* Error handlers: which one an error of a call goes to, and the calls on them. */
#include "errhandler.h"

#include "comm.h"
#include "impl.h"
#include "io.h"
#include "rma.h"
#include "session.h"

/* Which handler an error of this call goes to; may move the blame. */
static MPI_Errhandler
handler_of(struct lmpi_call *call)
{
	struct lmpi_comm *comm;

	switch (call->kind) {
	case LMPI_ON_COMM:
		comm = lmpi_comm_find(call->handle);
		if (comm != NULL)
			return comm->errhandler;
		break;
	case LMPI_ON_FILE: {
		struct lmpi_file *f = lmpi_file_find(call->handle);

		return f ? f->errhandler : lmpi_file_null_handler;
	}
	case LMPI_ON_SESSION: {
		struct lmpi_session *s = lmpi_session_find(call->handle);

		if (s != NULL)
			return s->errhandler;
		break;
	}
	case LMPI_ON_WIN: {
		struct lmpi_win *w = lmpi_win_find(call->handle);

		if (w != NULL)
			return w->errhandler;
		break;
	}
	case LMPI_ON_NONE:
		break;
	}
	call->kind = LMPI_ON_COMM;
	comm = lmpi_comm_self;
	if (comm == NULL || lmpi_comm_world == NULL)
		return MPI_ERRORS_ARE_FATAL;
	/* Programs written before MPI-4 set the handler of MPI_COMM_WORLD only. */
	if (comm->errhandler == MPI_ERRORS_ARE_FATAL)
		comm = lmpi_comm_world;
	call->handle = comm->handle;
	return comm->errhandler;
}

/* The communicator that was blamed last, if the program has freed it: the request that went may
 * have been all that kept it, and its error handler is still to run. */
static _Thread_local struct lmpi_comm *blamed_freed;

void
lmpi_blame_comm(MPI_Comm comm)
{
	struct lmpi_comm *c = lmpi_comm_find(comm);

	if (lmpi_blame_is_settled())
		return;
	lmpi_call_top->kind = LMPI_ON_COMM;
	lmpi_call_top->handle = comm;
	if (c == NULL || !c->user_freed)
		return;
	lmpi_comm_ref(c);
	if (blamed_freed != NULL)
		lmpi_comm_unref(blamed_freed);
	blamed_freed = c;
}

/* A handler may call MPI with the communicator that it is given, freed before or not. */
static struct lmpi_comm *
lend_freed(void)
{
	struct lmpi_comm *c = blamed_freed;

	blamed_freed = NULL;
	if (c != NULL && c->user_freed) {
		lmpi_comm_ref(c);
		c->user_freed = false;
	}
	return c;
}

static void
take_freed(struct lmpi_comm *c)
{
	if (c == NULL)
		return;
	if (!c->user_freed) { /* nor did the handler */
		c->user_freed = true;
		lmpi_comm_unref(c);
	}
	lmpi_comm_unref(c);
}

int
lmpi_leave_failed(struct lmpi_call *call, int code)
{
	MPI_Errhandler handler = handler_of(call);
	struct lmpi_comm *freed = lend_freed();
	int told = lmpi_blame_code(call, code);
	int of_epoch = lmpi_epoch_code != NULL ? lmpi_epoch_code(call, code) : code;

	if (of_epoch == LMPI_ERR_AGAIN) {
		take_freed(freed);
		lmpi_call_top = call->up;
		lmpi_unlock();
		return lmpi_epoch_ended(call->fn);
	}
	/* Nobody revokes these: their own communicator is void, for a process has failed. */
	if (code == LMPI_ERR_REVOKED && (call->kind == LMPI_ON_WIN || call->kind == LMPI_ON_FILE))
		code = lmpi_error(LMPI_ERR_PROC_FAILED, "a process that opened it has failed");
	if (code == LMPI_ERR_PROC_FAILED && lmpi_running())
		lmpi_poke(); /* who calls again and again hears of a revocation */
	lmpi_errhandler_ref(handler);
	lmpi_call_top = call->up;
	lmpi_unlock();
	if (code == MPI_ERR_IN_STATUS && lmpi_errhandler_is_made(handler))
		(void)lmpi_errhandler_run(handler, call->kind, call->handle, told, call->fn);
	else
		code = lmpi_errhandler_run(handler, call->kind, call->handle, code, call->fn);
	lmpi_lock();
	lmpi_errhandler_unref(handler);
	take_freed(freed);
	lmpi_unlock();
	return code;
}

static int
create_handler(enum lmpi_on kind, void (*fn)(void), MPI_Errhandler *errhandler)
{
	struct lmpi_errhandler *e;

	if (fn == NULL || errhandler == NULL)
		return lmpi_error(MPI_ERR_ARG, "%s is a null pointer",
				  fn == NULL ? "the handler function" : "errhandler");
	e = lmpi_object_new(&lmpi_errhandler_pool);
	if (e == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	e->kind = kind;
	e->fn = fn;
	*errhandler = (MPI_Errhandler)e;
	return MPI_SUCCESS;
}

int
impl_Comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn,
			    MPI_Errhandler *errhandler)
{
	return create_handler(LMPI_ON_COMM, (void (*)(void))comm_errhandler_fn, errhandler);
}

int
impl_Win_create_errhandler(MPI_Win_errhandler_function *win_errhandler_fn,
			   MPI_Errhandler *errhandler)
{
	return create_handler(LMPI_ON_WIN, (void (*)(void))win_errhandler_fn, errhandler);
}

int
impl_File_create_errhandler(MPI_File_errhandler_function *file_errhandler_fn,
			    MPI_Errhandler *errhandler)
{
	return create_handler(LMPI_ON_FILE, (void (*)(void))file_errhandler_fn, errhandler);
}

int
impl_Session_create_errhandler(MPI_Session_errhandler_function *session_errhandler_fn,
			       MPI_Errhandler *errhandler)
{
	return create_handler(LMPI_ON_SESSION, (void (*)(void))session_errhandler_fn, errhandler);
}

int
impl_Errhandler_free(MPI_Errhandler *errhandler)
{
	if (errhandler == NULL || !lmpi_errhandler_valid(*errhandler))
		return lmpi_error(MPI_ERR_ERRHANDLER, "the error handler is not a valid one");
	lmpi_errhandler_unref(*errhandler);
	*errhandler = MPI_ERRHANDLER_NULL;
	return MPI_SUCCESS;
}

int
impl_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	return rc ? rc : lmpi_errhandler_set(&c->errhandler, LMPI_ON_COMM, errhandler);
}

int
impl_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	return rc ? rc : lmpi_errhandler_get(c->errhandler, errhandler);
}

int
impl_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
	struct lmpi_comm *c;
	int rc = lmpi_comm_get(comm, &c);

	if (rc == MPI_SUCCESS)
		lmpi_errhandler_call(c->errhandler, LMPI_ON_COMM, comm, errorcode,
				     "MPI_Comm_call_errhandler");
	return rc;
}
