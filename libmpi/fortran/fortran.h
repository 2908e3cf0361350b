/* SPDX-License-Identifier: BSD-2-Clause */
/* libmpi/fortran/fortran.h - what the Fortran wrappers share.
 *
 * The wrappers are a library of their own on top of the ABI (libmpifort_abi.so.1):
 * they know nothing of libmpi's inside and work over any libmpi_abi.so.1.
 *
 *   mpi_x_(..., int *ierror)    calls MPI_X, which a C profiling library may replace
 *   pmpi_x_(..., int *ierror)   calls PMPI_X
 *
 * Both come from one text, compiled twice (LMPI_PROFILE).  Everything is by
 * reference, handles are INTEGERs (MPI_X_toint), a status is the C struct seen as
 * eight INTEGERs, .TRUE. is 1 (gfortran, flang), lengths of CHARACTER arguments
 * follow the last argument as size_t.
 *
 * Module mpi_f08 passes the same (its handles are structures of one INTEGER), so its
 * procedures without choice buffers are other names, mpi_x_f08_; ierror may be
 * absent there.  mpi_x_f08ts_, with choice buffers, goes through section.h. */
#ifndef LMPI_FORTRAN_H
#define LMPI_FORTRAN_H

#include <mpi.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef LMPI_PROFILE
#define F(name)	   pmpi_##name##_
#define F_08(name) pmpi_##name##_f08_
#define C(name)	   PMPI_##name
#define S(name)	   "pmpi_" #name "_"
#else
#define F(name)	   mpi_##name##_
#define F_08(name) mpi_##name##_f08_
#define C(name)	   MPI_##name
#define S(name)	   "mpi_" #name "_"
#endif

#define F_ALSO_08(name) extern __typeof__(F(name)) F_08(name) __attribute__((alias(S(name))))

/* Point to something if the argument is absent. */
#define F_OPTIONAL(ierror)   \
	int absent_##ierror; \
	if (!(ierror))       \
	(ierror) = &absent_##ierror

/* Raise an error that no function of MPI found: the error handler of MPI_COMM_WORLD
 * decides, as for any call without an object.  Returns the code. */
static inline int
f_fail(int code)
{
	int running = 0, over = 0;

	if (PMPI_Initialized(&running) || !running || PMPI_Finalized(&over) || over)
		return code;
	PMPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
	return code;
}

/* Calls that are not MPI's, so another libmpi_abi.so.1 may not have them: fn is weak. */
#define F_IF_THERE(fn, ...) ((fn) ? (fn)(__VA_ARGS__) : f_fail(MPI_ERR_UNSUPPORTED_OPERATION))

/* Handles converted on the stack; more take memory. */
#define F_FEW 32

/* Room for n elements: few, or memory; NULL if there is none. */
void *f_room(void *few, MPI_Count n, size_t size);
void f_done(void *room, void *few);

/* Sentinels are COMMON blocks, known by their addresses. */
void *f_buffer(void *buf);
bool f_in_place(const void *buf);
MPI_Status *f_status(int *status);
const int *f_weights(const int *weights);
int *f_errcodes(int *codes);

/* Without blanks around it, with a NUL; to be freed.  NULL: no memory. */
char *f_string(const char *s, size_t len);
/* Strings of len characters that are `apart` bytes from each other, up to a blank one; and so many
 * strings side by side.  NULL-terminated, to be freed; NULL: no memory. */
char **f_words(const char *s, size_t len, size_t apart);
char **f_commands(const char *s, size_t len, int count);
void f_words_free(char **words);
/* Rows of a two-dimensional array of strings, each up to a blank one. */
char ***f_argvs(const char *s, size_t len, int count);
void f_argvs_free(char ***argvs, int count);
/* The other way: cut or filled up with blanks. */
void f_put(char *to, size_t len, const char *from);

/* Processes whose types MPI_Alltoallw wants: of the other group, if there is one. */
int f_width(MPI_Comm comm);
/* Neighbours of a process: those it sends to (out) or gets from. */
int f_neighbors(MPI_Comm comm, bool out);

/* ---- requests of staged calls (section.h) ------------------------------ */

extern atomic_int f_laters_n; /* how many there are */

/* Request `was`, now `now`, was looked at by a call that may have found it complete. */
void f_request_seen(int was, MPI_Request now);
/* Persistent ones are about to be started. */
void f_requests_start(MPI_Count n, const int requests[]);

static inline void
f_seen(int was, MPI_Request now)
{
	if (f_laters_n)
		f_request_seen(was, now);
}

static inline void
f_starting(MPI_Count n, const int requests[])
{
	if (f_laters_n)
		f_requests_start(n, requests);
}

static inline void
f_request_back(int *request, MPI_Request now)
{
	int was = *request;

	*request = MPI_Request_toint(now);
	f_seen(was, now);
}

/* ---- callbacks: C procedures that call Fortran ones -------------------- */

typedef void f_op(void *in, void *inout, int *len, int *datatype);
typedef void f_errhandler(int *handle, int *code);
enum f_on { F_ON_COMM, F_ON_FILE, F_ON_WIN, F_ON_SESSION };

/* A procedure that calls fn.  There is one for each Fortran procedure, however often
 * it is used, and F_OPS, F_ERRHANDLERS at most; NULL: too many. */
#define F_OPS	      256
#define F_ERRHANDLERS 64
MPI_User_function *f_op_of(f_op *fn);
/* Those of MPI_Op_create_c. */
#define F_OPS_C 64
typedef void f_op_c(void *in, void *inout, MPI_Count *len, int *datatype);
MPI_User_function_c *f_op_c_of(f_op_c *fn);
void (*f_errhandler_of(enum f_on on, f_errhandler *fn))(void);

/* Attribute keys made in Fortran; the old ones hold INTEGERs. */
typedef void f_copy(int *object, int *keyval, MPI_Aint *extra, MPI_Aint *in, MPI_Aint *out,
		    int *flag, int *ierror);
typedef void f_delete(int *object, int *keyval, MPI_Aint *value, MPI_Aint *extra, int *ierror);
typedef void f_copy_old(int *object, int *keyval, int *extra, int *in, int *out, int *flag,
			int *ierror);
typedef void f_delete_old(int *object, int *keyval, int *value, int *extra, int *ierror);
struct f_keyval {
	union {
		f_copy *copy;
		f_copy_old *copy_old;
	};
	union {
		f_delete *del;
		f_delete_old *del_old;
	};
	MPI_Aint extra;
	bool old;
};
/* What to give MPI_<kind>_create_keyval as extra state, beside f_<kind>_copy and
 * _delete.  It is kept as long as the program runs: a key may be used after it was
 * freed.  Equal ones are kept once.  NULL: no memory. */
void *f_keyval_of(const struct f_keyval *k);
int f_comm_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag);
int f_comm_delete(MPI_Comm comm, int keyval, void *value, void *extra);
int f_type_copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag);
int f_type_delete(MPI_Datatype type, int keyval, void *value, void *extra);
int f_win_copy(MPI_Win win, int keyval, void *extra, void *in, void *out, int *flag);
int f_win_delete(MPI_Win win, int keyval, void *value, void *extra);

/* What C is given for an integer of Fortran's: where that lies; NULL: no memory.
 * attributes.c */
void *f_cell_new(MPI_Aint value);
void f_cell_free(void *v);
/* The integer that Fortran gets for what C has. */
MPI_Aint f_cell_value(const void *v);

/* Generalized requests. */
typedef void f_query(MPI_Aint *extra, int *status, int *ierror);
typedef void f_free(MPI_Aint *extra, int *ierror);
typedef void f_cancel(MPI_Aint *extra, int *complete, int *ierror);
struct f_grequest {
	f_query *query;
	f_free *free;
	f_cancel *cancel;
	MPI_Aint extra, *variable; /* the program's */
};
int f_grequest_query(void *extra, MPI_Status *status);
int f_grequest_free(void *extra);
int f_grequest_cancel(void *extra, int complete);

/* Data representations of files. */
typedef void f_convert(void *userbuf, int *datatype, int *count, void *filebuf,
		       MPI_Offset *position, MPI_Aint *extra, int *ierror);
typedef void f_convert_c(void *userbuf, int *datatype, MPI_Count *count, void *filebuf,
			 MPI_Offset *position, MPI_Aint *extra, int *ierror);
typedef void f_extent(int *datatype, MPI_Aint *extent, MPI_Aint *extra, int *ierror);
struct f_datarep {
	union {
		f_convert *read;
		f_convert_c *read_c;
	};
	union {
		f_convert *write;
		f_convert_c *write_c;
	};
	f_extent *extent;
	MPI_Aint extra;
};
int f_datarep_read(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
		   MPI_Offset position, void *extra);
int f_datarep_write(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
		    MPI_Offset position, void *extra);
int f_datarep_read_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
		     MPI_Offset position, void *extra);
int f_datarep_write_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
		      MPI_Offset position, void *extra);
int f_datarep_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra);

#endif
