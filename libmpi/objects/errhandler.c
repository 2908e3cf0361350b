#include "errhandler.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm.h"
#include "engine.h"
#include "errors.h"
#include "impl.h"
#include "io.h"
#include "rma.h"
#include "session.h"

struct lmpi_pool lmpi_errhandler_pool = {.what = "error handler",
					 .magic = 0x45525248,
					 .size = sizeof(struct lmpi_errhandler),
					 .offset = offsetof(struct lmpi_errhandler, obj)};

/* For errors that belong to no file: the standard's default is to return. */
MPI_Errhandler lmpi_file_null_handler = MPI_ERRORS_RETURN;

static struct lmpi_errhandler *
find(MPI_Errhandler handle)
{
	return lmpi_object_valid(&lmpi_errhandler_pool, handle) ? (void *)handle : NULL;
}

static bool
predefined(MPI_Errhandler h)
{
	return h == MPI_ERRORS_ARE_FATAL || h == MPI_ERRORS_RETURN || h == MPI_ERRORS_ABORT;
}

bool
lmpi_errhandler_valid(MPI_Errhandler handle)
{
	return predefined(handle) || find(handle) != NULL;
}

void
lmpi_errhandler_ref(MPI_Errhandler handle)
{
	struct lmpi_errhandler *e = find(handle);

	if (e != NULL)
		e->obj.refs++;
}

void
lmpi_errhandler_unref(MPI_Errhandler handle)
{
	struct lmpi_errhandler *e = find(handle);

	if (e != NULL && --e->obj.refs == 0)
		lmpi_object_delete(&lmpi_errhandler_pool, e);
}

static void
object_name(enum lmpi_on kind, void *object, char *name, size_t len)
{
	struct lmpi_comm *comm = kind == LMPI_ON_COMM ? lmpi_comm_find(object) : NULL;

	if (comm != NULL && comm->name[0] != '\0')
		snprintf(name, len, " on %s", comm->name);
	else
		name[0] = '\0';
}

/* The standard's "abort": one line that says what, where and why, then the end. */
static _Noreturn void
die(enum lmpi_on kind, void *object, int code, const char *fn)
{
	char where[MPI_MAX_OBJECT_NAME + 8], why[1200];
	const char *text = lmpi_error_text(code);

	object_name(kind, object, where, sizeof(where));
	snprintf(why, sizeof(why), "%s%s: %s%s%s [rank %u of MPI_COMM_WORLD, %s]", fn, where,
		 lmpi_error_name(code), text[0] ? ": " : "", text, lmpi_world.rank,
		 lmpi_world.node_name[0] ? lmpi_world.node_name : "before MPI_Init");
	if (lmpi_state != LMPI_RUNNING) {
		fprintf(stderr, "libmpi: %s\n", why);
		exit(1);
	}
	lmpi_engine_abort(code, why);
}

int
lmpi_errhandler_run(MPI_Errhandler handle, enum lmpi_on kind, void *object, int code,
		    const char *fn)
{
	struct lmpi_errhandler *e = find(handle);

	if (handle == MPI_ERRORS_RETURN)
		return code;
	if (e == NULL)
		die(kind, object, code, fn);
	switch (kind) {
	case LMPI_ON_COMM: {
		MPI_Comm comm = object;

		((MPI_Comm_errhandler_function *)e->fn)(&comm, &code);
		break;
	}
	case LMPI_ON_WIN: {
		MPI_Win win = object;

		((MPI_Win_errhandler_function *)e->fn)(&win, &code);
		break;
	}
	case LMPI_ON_FILE: {
		MPI_File file = object;

		((MPI_File_errhandler_function *)e->fn)(&file, &code);
		break;
	}
	case LMPI_ON_SESSION:
	case LMPI_ON_NONE: {
		MPI_Session session = object;

		((MPI_Session_errhandler_function *)e->fn)(&session, &code);
		break;
	}
	}
	return code;
}

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

int
lmpi_leave_failed(struct lmpi_call *call, int code)
{
	MPI_Errhandler handler = handler_of(call);

	lmpi_errhandler_ref(handler);
	lmpi_call_top = call->up;
	lmpi_unlock();
	code = lmpi_errhandler_run(handler, call->kind, call->handle, code, call->fn);
	lmpi_lock();
	lmpi_errhandler_unref(handler);
	lmpi_unlock();
	return code;
}

int
lmpi_errhandler_set(MPI_Errhandler *slot, enum lmpi_on kind, MPI_Errhandler handle)
{
	struct lmpi_errhandler *e = find(handle);

	if (!predefined(handle) && e == NULL)
		return lmpi_error(MPI_ERR_ERRHANDLER, "the error handler %p is not a valid one",
				  (void *)handle);
	if (e != NULL && e->kind != kind)
		return lmpi_error(MPI_ERR_ERRHANDLER, "the error handler was made for another "
						      "kind of object");
	lmpi_errhandler_ref(handle);
	lmpi_errhandler_unref(*slot);
	*slot = handle;
	return MPI_SUCCESS;
}

int
lmpi_errhandler_get(MPI_Errhandler slot, MPI_Errhandler *handle)
{
	if (handle == NULL)
		return lmpi_error(MPI_ERR_ARG, "errhandler is a null pointer");
	lmpi_errhandler_ref(slot);
	*handle = slot;
	return MPI_SUCCESS;
}

static int
create(enum lmpi_on kind, void (*fn)(void), MPI_Errhandler *errhandler)
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
	return create(LMPI_ON_COMM, (void (*)(void))comm_errhandler_fn, errhandler);
}

int
impl_Win_create_errhandler(MPI_Win_errhandler_function *win_errhandler_fn,
			   MPI_Errhandler *errhandler)
{
	return create(LMPI_ON_WIN, (void (*)(void))win_errhandler_fn, errhandler);
}

int
impl_File_create_errhandler(MPI_File_errhandler_function *file_errhandler_fn,
			    MPI_Errhandler *errhandler)
{
	return create(LMPI_ON_FILE, (void (*)(void))file_errhandler_fn, errhandler);
}

int
impl_Session_create_errhandler(MPI_Session_errhandler_function *session_errhandler_fn,
			       MPI_Errhandler *errhandler)
{
	return create(LMPI_ON_SESSION, (void (*)(void))session_errhandler_fn, errhandler);
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

void
lmpi_errhandler_call(MPI_Errhandler handle, enum lmpi_on kind, void *object, int code,
		     const char *fn)
{
	unsigned depth;

	lmpi_errhandler_ref(handle);
	depth = lmpi_lock_drop();
	(void)lmpi_errhandler_run(handle, kind, object, code, fn);
	lmpi_lock_retake(depth);
	lmpi_errhandler_unref(handle);
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
