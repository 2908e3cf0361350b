/* SPDX-License-Identifier: BSD-2-Clause */
/* C procedures that call Fortran ones.
 *
 * Reductions and error handlers have no place for a state, so there is a pool of
 * small procedures, each of which knows its number.  What a program defines are few
 * procedures, however many operations it makes of them. */
#include "fortran.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- operations ---------------------------------------------------------- */

static f_op *ops[F_OPS];

static void
call_op(unsigned i, void *in, void *inout, int *len, MPI_Datatype *datatype)
{
	int type = PMPI_Type_toint(*datatype);

	ops[i](in, inout, len, &type);
}

#define OP(x, y)                                                                   \
	static void op_##x##y(void *in, void *inout, int *len, MPI_Datatype *type) \
	{                                                                          \
		call_op(0x##x##y, in, inout, len, type);                           \
	}
#define OP_NAME(x, y) op_##x##y,
#define ROW(M, x) \
	M(x, 0)   \
	M(x, 1)   \
	M(x, 2)   \
	M(x, 3)   \
	M(x, 4)   \
	M(x, 5) M(x, 6) M(x, 7) M(x, 8) M(x, 9) M(x, a) M(x, b) M(x, c) M(x, d) M(x, e) M(x, f)
#define ROWS_4(M) ROW(M, 0) ROW(M, 1) ROW(M, 2) ROW(M, 3)
#define ROWS_16(M) \
	ROWS_4(M)  \
	ROW(M, 4)  \
	ROW(M, 5)  \
	ROW(M, 6)  \
	ROW(M, 7) ROW(M, 8) ROW(M, 9) ROW(M, a) ROW(M, b) ROW(M, c) ROW(M, d) ROW(M, e) ROW(M, f)

ROWS_16(OP)
static MPI_User_function *const op_fns[F_OPS] = {ROWS_16(OP_NAME)};

MPI_User_function *
f_op_of(f_op *fn)
{
	MPI_User_function *found = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < F_OPS && !found; i++) {
		if (ops[i] == NULL)
			ops[i] = fn;
		if (ops[i] == fn)
			found = op_fns[i];
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static f_op_c *ops_c[F_OPS_C];

static void
call_op_c(unsigned i, void *in, void *inout, MPI_Count *len, MPI_Datatype *datatype)
{
	int type = PMPI_Type_toint(*datatype);

	ops_c[i](in, inout, len, &type);
}

#define OP_C(x, y)                                                                         \
	static void op_c_##x##y(void *in, void *inout, MPI_Count *len, MPI_Datatype *type) \
	{                                                                                  \
		call_op_c(0x##x##y, in, inout, len, type);                                 \
	}
#define OP_C_NAME(x, y) op_c_##x##y,
ROWS_4(OP_C)
static MPI_User_function_c *const op_c_fns[F_OPS_C] = {ROWS_4(OP_C_NAME)};

MPI_User_function_c *
f_op_c_of(f_op_c *fn)
{
	MPI_User_function_c *found = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < F_OPS_C && !found; i++) {
		if (ops_c[i] == NULL)
			ops_c[i] = fn;
		if (ops_c[i] == fn)
			found = op_c_fns[i];
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* ---- error handlers ------------------------------------------------------- */

static struct {
	f_errhandler *fn;
	enum f_on on;
} handlers[F_ERRHANDLERS];

static void
call_handler(unsigned i, const void *object, int *code)
{
	int handle = 0;

	switch (handlers[i].on) {
	case F_ON_COMM:
		handle = PMPI_Comm_toint(*(const MPI_Comm *)object);
		break;
	case F_ON_FILE:
		handle = PMPI_File_toint(*(const MPI_File *)object);
		break;
	case F_ON_WIN:
		handle = PMPI_Win_toint(*(const MPI_Win *)object);
		break;
	case F_ON_SESSION:
		handle = PMPI_Session_toint(*(const MPI_Session *)object);
		break;
	}
	handlers[i].fn(&handle, code);
}

/* One shape for the four kinds: the first argument is a pointer to a handle. */
#define HANDLER(x, y)                                            \
	static void handler_##x##y(void *object, int *code, ...) \
	{                                                        \
		call_handler(0x##x##y, object, code);            \
	}
#define HANDLER_NAME(x, y) handler_##x##y,
ROWS_4(HANDLER)
static void (*const handler_fns[F_ERRHANDLERS])(void *, int *, ...) = {ROWS_4(HANDLER_NAME)};

void (*f_errhandler_of(enum f_on on, f_errhandler *fn))(void)
{
	void (*found)(void) = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < F_ERRHANDLERS && !found; i++) {
		if (handlers[i].fn == NULL) {
			handlers[i].fn = fn;
			handlers[i].on = on;
		}
		if (handlers[i].fn == fn && handlers[i].on == on)
			found = (void (*)(void))handler_fns[i];
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* ---- generalized requests ---------------------------------------------------- */

/* Callbacks get a copy, so that the program's variable may go; what one of them changes is
 * meant for that variable, for which callbacks of other MPIs get its address. */
static void
hand_over_callbacks(const struct f_grequest *g, MPI_Aint before)
{
	if (g->extra != before)
		*g->variable = g->extra;
}

int
f_grequest_query(void *extra, MPI_Status *status)
{
	struct f_grequest *g = extra;
	MPI_Aint before = g->extra;
	int f[sizeof(MPI_Status) / sizeof(int)], ierror = MPI_SUCCESS;

	memcpy(f, status, sizeof(f));
	g->query(&g->extra, f, &ierror);
	memcpy(status, f, sizeof(f));
	hand_over_callbacks(g, before);
	return ierror;
}

int
f_grequest_free(void *extra)
{
	struct f_grequest *g = extra;
	MPI_Aint before = g->extra;
	int ierror = MPI_SUCCESS;

	g->free(&g->extra, &ierror);
	hand_over_callbacks(g, before);
	free(g);
	return ierror;
}

int
f_grequest_cancel(void *extra, int complete)
{
	struct f_grequest *g = extra;
	MPI_Aint before = g->extra;
	int ierror = MPI_SUCCESS;

	complete = complete != 0;
	g->cancel(&g->extra, &complete, &ierror);
	hand_over_callbacks(g, before);
	return ierror;
}

/* ---- data representations ---------------------------------------------------- */

static int
convert_callbacks(struct f_datarep *d, f_convert *fn, void *userbuf, MPI_Datatype datatype,
		  int count, void *filebuf, MPI_Offset position)
{
	int type = PMPI_Type_toint(datatype), ierror = MPI_SUCCESS;

	fn(userbuf, &type, &count, filebuf, &position, &d->extra, &ierror);
	return ierror;
}

int
f_datarep_read(void *userbuf, MPI_Datatype datatype, int count, void *filebuf, MPI_Offset position,
	       void *extra)
{
	struct f_datarep *d = extra;

	return convert_callbacks(d, d->read, userbuf, datatype, count, filebuf, position);
}

int
f_datarep_write(void *userbuf, MPI_Datatype datatype, int count, void *filebuf, MPI_Offset position,
		void *extra)
{
	struct f_datarep *d = extra;

	return convert_callbacks(d, d->write, userbuf, datatype, count, filebuf, position);
}

static int
convert_c(struct f_datarep *d, f_convert_c *fn, void *userbuf, MPI_Datatype datatype,
	  MPI_Count count, void *filebuf, MPI_Offset position)
{
	int type = PMPI_Type_toint(datatype), ierror = MPI_SUCCESS;

	fn(userbuf, &type, &count, filebuf, &position, &d->extra, &ierror);
	return ierror;
}

int
f_datarep_read_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
		 MPI_Offset position, void *extra)
{
	struct f_datarep *d = extra;

	return convert_c(d, d->read_c, userbuf, datatype, count, filebuf, position);
}

int
f_datarep_write_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
		  MPI_Offset position, void *extra)
{
	struct f_datarep *d = extra;

	return convert_c(d, d->write_c, userbuf, datatype, count, filebuf, position);
}

int
f_datarep_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
	struct f_datarep *d = extra;
	int type = PMPI_Type_toint(datatype), ierror = MPI_SUCCESS;

	d->extent(&type, extent, &d->extra, &ierror);
	return ierror;
}
