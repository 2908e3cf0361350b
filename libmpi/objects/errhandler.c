/* SPDX-License-Identifier: BSD-2-Clause */
#include "errhandler.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm.h"
#include "engine.h"
#include "errors.h"

struct lmpi_pool lmpi_errhandler_pool = {.what = "error handler",
					 .magic = 0x45525248,
					 .size = sizeof(struct lmpi_errhandler),
					 .offset = offsetof(struct lmpi_errhandler, obj)};

/* For errors that belong to no file: the standard's default is to return. */
MPI_Errhandler lmpi_file_null_handler = MPI_ERRORS_RETURN;

static struct lmpi_errhandler *
find_handler(MPI_Errhandler handle)
{
	return lmpi_object_valid(&lmpi_errhandler_pool, handle) ? (void *)handle : NULL;
}

static bool
handler_predefined(MPI_Errhandler h)
{
	return h == MPI_ERRORS_ARE_FATAL || h == MPI_ERRORS_RETURN || h == MPI_ERRORS_ABORT;
}

bool
lmpi_errhandler_valid(MPI_Errhandler handle)
{
	return handler_predefined(handle) || find_handler(handle) != NULL;
}

bool
lmpi_errhandler_is_made(MPI_Errhandler handle)
{
	return find_handler(handle) != NULL;
}

void
lmpi_errhandler_ref(MPI_Errhandler handle)
{
	struct lmpi_errhandler *e = find_handler(handle);

	if (e != NULL)
		e->obj.refs++;
}

void
lmpi_errhandler_unref(MPI_Errhandler handle)
{
	struct lmpi_errhandler *e = find_handler(handle);

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

/* Whose death it was, as far as that is known: "; failed: rank 3, 5 of MPI_COMM_WORLD". */
static void
name_failed(int code, char *text, size_t cap)
{
	const uint32_t *world;
	uint32_t n = lmpi_failures(&world);
	size_t at = 0;

	text[0] = '\0';
	if ((code != LMPI_ERR_PROC_FAILED && code != LMPI_ERR_PROC_FAILED_PENDING) || n == 0)
		return;
	for (uint32_t i = 0; i < n && at < cap / 2; i++)
		if (world[i] < lmpi_world.size)
			at += (size_t)snprintf(text + at, cap - at, "%s %u",
					       at ? "," : "; failed: rank", world[i]);
	snprintf(text + at, cap - at, "%s",
		 at ? " of MPI_COMM_WORLD" : "; failed: a process of another job");
}

/* The standard's "abort": one line that says what, where and why, then the end. */
static _Noreturn void
die_handler(enum lmpi_on kind, void *object, int code, const char *fn)
{
	char where[MPI_MAX_OBJECT_NAME + 8], failed[160], why[1200];
	const char *text = lmpi_error_text(code);

	object_name(kind, object, where, sizeof(where));
	name_failed(code, failed, sizeof(failed));
	snprintf(why, sizeof(why), "%s%s: %s%s%s%s [rank %u of MPI_COMM_WORLD, %s]", fn, where,
		 lmpi_error_name(code), text[0] ? ": " : "", text, failed, lmpi_world.rank,
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
	struct lmpi_errhandler *e = find_handler(handle);

	if (handle == MPI_ERRORS_RETURN)
		return code;
	if (e == NULL)
		die_handler(kind, object, code, fn);
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

int
lmpi_errhandler_set(MPI_Errhandler *slot, enum lmpi_on kind, MPI_Errhandler handle)
{
	struct lmpi_errhandler *e = find_handler(handle);

	if (!handler_predefined(handle) && e == NULL)
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
