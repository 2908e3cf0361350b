/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrappers that no table describes: callbacks, attributes, strings with a length,
 * functions, and the names that MPI-3 removed.  Compiled twice, see fortran.h. */
#include "fortran.h"

#include <limits.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- functions --------------------------------------------------------------- */

double
F(wtime)(void)
{
	return C(Wtime)();
}

double
F(wtick)(void)
{
	return C(Wtick)();
}

MPI_Aint
F(aint_add)(MPI_Aint *base, MPI_Aint *disp)
{
	return C(Aint_add)(*base, *disp);
}

MPI_Aint
F(aint_diff)(MPI_Aint *addr1, MPI_Aint *addr2)
{
	return C(Aint_diff)(*addr1, *addr2);
}

void
F(pcontrol)(int *level)
{
	C(Pcontrol)(*level);
}

/* ---- callbacks ---------------------------------------------------------------- */

void
F(op_create)(f_op *user_fn, int *commute, int *op, int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_User_function *fn = f_op_of(user_fn);
	MPI_Op c_op = MPI_OP_NULL;

	*ierror = fn ? C(Op_create)(fn, *commute, &c_op) : f_fail(MPI_ERR_NO_MEM);
	if (!*ierror)
		*op = MPI_Op_toint(c_op);
}

void
F(op_create_c)(f_op_c *user_fn, int *commute, int *op, int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_User_function_c *fn = f_op_c_of(user_fn);
	MPI_Op c_op = MPI_OP_NULL;

	*ierror = fn ? C(Op_create_c)(fn, *commute, &c_op) : f_fail(MPI_ERR_NO_MEM);
	if (!*ierror)
		*op = MPI_Op_toint(c_op);
}

#define CREATE_ERRHANDLER(kind, Kind, KIND)                                               \
	void F(kind##_create_errhandler)(f_errhandler * fn, int *errhandler, int *ierror) \
	{                                                                                 \
		F_OPTIONAL(ierror);                                                       \
		void (*c_fn)(void) = f_errhandler_of(F_ON_##KIND, fn);                    \
		MPI_Errhandler e = MPI_ERRHANDLER_NULL;                                   \
                                                                                          \
		*ierror = c_fn ? C(Kind##_create_errhandler)(                             \
					 (MPI_##Kind##_errhandler_function *)c_fn, &e)    \
			       : f_fail(MPI_ERR_NO_MEM);                                  \
		if (!*ierror)                                                             \
			*errhandler = MPI_Errhandler_toint(e);                            \
	}
CREATE_ERRHANDLER(comm, Comm, COMM)
CREATE_ERRHANDLER(file, File, FILE)
CREATE_ERRHANDLER(win, Win, WIN)
CREATE_ERRHANDLER(session, Session, SESSION)

void
F(grequest_start)(f_query *query, f_free *free_fn, f_cancel *cancel, MPI_Aint *extra, int *request,
		  int *ierror)
{
	F_OPTIONAL(ierror);
	struct f_grequest *g = malloc(sizeof(*g));
	MPI_Request r = MPI_REQUEST_NULL;

	if (g == NULL) {
		*ierror = f_fail(MPI_ERR_NO_MEM);
		return;
	}
	*g = (struct f_grequest){query, free_fn, cancel, *extra, extra};
	*ierror = C(Grequest_start)(f_grequest_query, f_grequest_free, f_grequest_cancel, g, &r);
	if (*ierror)
		free(g);
	else
		*request = MPI_Request_toint(r);
}

/* MPI_CONVERSION_FN_NULL is known by its address. */
void mpi_conversion_fn_null_(void);
void mpi_conversion_fn_null_c_(void);

/* The name for C, and what the callbacks get; nothing if there is no memory. */
static struct f_datarep *
datarep_of(const struct f_datarep *with, const char *datarep, size_t len, char **name)
{
	struct f_datarep *d = malloc(sizeof(*d)); /* as a representation, for ever */

	*name = f_string(datarep, len);
	if (*name == NULL || d == NULL) {
		free(*name);
		free(d);
		f_fail(MPI_ERR_NO_MEM);
		return NULL;
	}
	*d = *with;
	return d;
}

void
F(register_datarep)(const char *datarep, f_convert *read, f_convert *write, f_extent *extent,
		    MPI_Aint *extra, int *ierror, size_t len_datarep)
{
	F_OPTIONAL(ierror);
	const struct f_datarep with = {
		.read = read, .write = write, .extent = extent, .extra = *extra};
	char *name;
	struct f_datarep *d = datarep_of(&with, datarep, len_datarep, &name);

	*ierror = MPI_ERR_NO_MEM;
	if (d == NULL)
		return;
	*ierror = C(Register_datarep)(
		name, read == (f_convert *)mpi_conversion_fn_null_ ? NULL : f_datarep_read,
		write == (f_convert *)mpi_conversion_fn_null_ ? NULL : f_datarep_write,
		f_datarep_extent, d);
	free(name);
	if (*ierror)
		free(d);
}

void
F(register_datarep_c)(const char *datarep, f_convert_c *read, f_convert_c *write, f_extent *extent,
		      MPI_Aint *extra, int *ierror, size_t len_datarep)
{
	F_OPTIONAL(ierror);
	const struct f_datarep with = {
		.read_c = read, .write_c = write, .extent = extent, .extra = *extra};
	char *name;
	struct f_datarep *d = datarep_of(&with, datarep, len_datarep, &name);

	*ierror = MPI_ERR_NO_MEM;
	if (d == NULL)
		return;
	*ierror = C(Register_datarep_c)(
		name, read == (f_convert_c *)mpi_conversion_fn_null_c_ ? NULL : f_datarep_read_c,
		write == (f_convert_c *)mpi_conversion_fn_null_c_ ? NULL : f_datarep_write_c,
		f_datarep_extent, d);
	free(name);
	if (*ierror)
		free(d);
}

/* ---- attributes ----------------------------------------------------------------- */

/* Predefined keys are below; those of programs above. */
#define KEYVAL_FIRST 1000

#define CREATE_KEYVAL(kind, Kind)                                                                 \
	void F(kind##_create_keyval)(f_copy * copy, f_delete * del, int *keyval, MPI_Aint *extra, \
				     int *ierror)                                                 \
	{                                                                                         \
		F_OPTIONAL(ierror);                                                               \
		struct f_keyval k = {.copy = copy, .del = del, .extra = *extra};                  \
		void *state = f_keyval_of(&k);                                                    \
                                                                                                  \
		*ierror = state ? C(Kind##_create_keyval)(f_##kind##_copy, f_##kind##_delete,     \
							  keyval, state)                          \
				: f_fail(MPI_ERR_NO_MEM);                                         \
	}
CREATE_KEYVAL(comm, Comm)
CREATE_KEYVAL(type, Type)
CREATE_KEYVAL(win, Win)

#define SET_ATTR(kind, Kind, Handle)                                                          \
	void F(kind##_set_attr)(int *object, int *keyval, MPI_Aint *value, int *ierror)       \
	{                                                                                     \
		F_OPTIONAL(ierror);                                                           \
		void *v = f_cell_new(*value);                                                 \
                                                                                              \
		*ierror = v ? C(Kind##_set_attr)(MPI_##Handle##_fromint(*object), *keyval, v) \
			    : f_fail(MPI_ERR_NO_MEM);                                         \
		if (*ierror)                                                                  \
			f_cell_free(v);                                                       \
	}
SET_ATTR(comm, Comm, Comm)
SET_ATTR(type, Type, Type)
SET_ATTR(win, Win, Win)

void
F(type_get_attr)(int *object, int *keyval, MPI_Aint *value, int *flag, int *ierror)
{
	F_OPTIONAL(ierror);
	void *v = NULL;

	*ierror = C(Type_get_attr)(MPI_Type_fromint(*object), *keyval, &v, flag);
	if (!*ierror && *flag)
		*value = f_cell_value(v);
}

/* Predefined attributes of communicators are pointers to int in C, and the integer in
 * Fortran (MPI-4.1 19.3.7). */
void
F(comm_get_attr)(int *object, int *keyval, MPI_Aint *value, int *flag, int *ierror)
{
	F_OPTIONAL(ierror);
	void *v = NULL;

	*ierror = C(Comm_get_attr)(MPI_Comm_fromint(*object), *keyval, &v, flag);
	if (!*ierror && *flag)
		*value = *keyval < KEYVAL_FIRST ? *(int *)v : f_cell_value(v);
}

void
F(win_get_attr)(int *object, int *keyval, MPI_Aint *value, int *flag, int *ierror)
{
	F_OPTIONAL(ierror);
	void *v = NULL;

	*ierror = C(Win_get_attr)(MPI_Win_fromint(*object), *keyval, &v, flag);
	if (*ierror || !*flag)
		return;
	if (*keyval == MPI_WIN_SIZE)
		*value = *(MPI_Aint *)v;
	else if (*keyval < KEYVAL_FIRST && *keyval != MPI_WIN_BASE)
		*value = *(int *)v;
	else
		*value = f_cell_value(v);
}

void
F(keyval_create)(f_copy_old *copy, f_delete_old *del, int *keyval, int *extra, int *ierror)
{
	struct f_keyval k = {.copy_old = copy, .del_old = del, .extra = *extra, .old = true};
	void *state = f_keyval_of(&k);

	*ierror = state ? C(Comm_create_keyval)(f_comm_copy, f_comm_delete, keyval, state)
			: f_fail(MPI_ERR_NO_MEM);
}

void
F(attr_put)(int *comm, int *keyval, int *value, int *ierror)
{
	MPI_Aint v = *value;

	F(comm_set_attr)(comm, keyval, &v, ierror);
}

void
F(attr_get)(int *comm, int *keyval, int *value, int *flag, int *ierror)
{
	MPI_Aint v = 0;

	F(comm_get_attr)(comm, keyval, &v, flag, ierror);
	if (!*ierror && *flag)
		*value = (int)v;
}

/* The predefined callbacks are procedures like any other. */
#define PREDEFINED(kind, type)                                                                  \
	void F(kind##_null_copy_fn)(int *object, int *keyval, type *extra, type *in, type *out, \
				    int *flag, int *ierror)                                     \
	{                                                                                       \
		(void)object, (void)keyval, (void)extra, (void)in, (void)out;                   \
		*flag = 0;                                                                      \
		*ierror = MPI_SUCCESS;                                                          \
	}                                                                                       \
	void F(kind##_dup_fn)(int *object, int *keyval, type *extra, type *in, type *out,       \
			      int *flag, int *ierror)                                           \
	{                                                                                       \
		(void)object, (void)keyval, (void)extra;                                        \
		*out = *in;                                                                     \
		*flag = 1;                                                                      \
		*ierror = MPI_SUCCESS;                                                          \
	}                                                                                       \
	void F(kind##_null_delete_fn)(int *object, int *keyval, type *value, type *extra,       \
				      int *ierror)                                              \
	{                                                                                       \
		(void)object, (void)keyval, (void)value, (void)extra;                           \
		*ierror = MPI_SUCCESS;                                                          \
	}
PREDEFINED(comm, MPI_Aint)
PREDEFINED(type, MPI_Aint)
PREDEFINED(win, MPI_Aint)

#ifndef LMPI_PROFILE
#define mpi_old_null_copy_fn_	mpi_null_copy_fn_
#define mpi_old_dup_fn_		mpi_dup_fn_
#define mpi_old_null_delete_fn_ mpi_null_delete_fn_
PREDEFINED(old, int)

/* Only its address means something. */
void
mpi_conversion_fn_null_(void)
{
}

void
mpi_conversion_fn_null_c_(void)
{
}
#endif

/* ---- strings with a length --------------------------------------------------------- */

void
F(info_get)(int *info, const char *key, int *valuelen, char *value, int *flag, int *ierror,
	    size_t len_key, size_t len_value)
{
	F_OPTIONAL(ierror);
	char *c_key = f_string(key, len_key), *c_value = NULL;
	size_t n = *valuelen < 0 ? 0 : (size_t)*valuelen;

	if (c_key != NULL)
		c_value = calloc(1, n + 1);
	*ierror = c_value ? C(Info_get)(MPI_Info_fromint(*info), c_key, *valuelen, c_value, flag)
			  : f_fail(MPI_ERR_NO_MEM);
	if (!*ierror && *flag)
		f_put(value, len_value, c_value);
	free(c_value);
	free(c_key);
}

/* Lengths do not count a NUL in Fortran. */
void
F(info_get_string)(int *info, const char *key, int *buflen, char *value, int *flag, int *ierror,
		   size_t len_key, size_t len_value)
{
	F_OPTIONAL(ierror);
	char *c_key = f_string(key, len_key), *c_value = NULL;
	int n = *buflen > 0 ? *buflen + 1 : 0;

	if (c_key != NULL)
		c_value = calloc(1, (size_t)n + 1);
	*ierror = c_value ? C(Info_get_string)(MPI_Info_fromint(*info), c_key, &n, c_value, flag)
			  : f_fail(MPI_ERR_NO_MEM);
	if (!*ierror && *flag) {
		if (*buflen > 0)
			f_put(value, len_value, c_value);
		*buflen = n - 1;
	}
	free(c_value);
	free(c_key);
}

void
F(session_get_nth_pset)(int *session, int *info, int *n, int *pset_len, char *pset_name,
			int *ierror, size_t len_pset_name)
{
	F_OPTIONAL(ierror);
	char c_name[MPI_MAX_PSET_NAME_LEN] = "";
	int room = *pset_len > 0 ? *pset_len + 1 : 0;

	if (room > (int)sizeof(c_name))
		room = (int)sizeof(c_name);
	*ierror = C(Session_get_nth_pset)(MPI_Session_fromint(*session), MPI_Info_fromint(*info),
					  *n, &room, c_name);
	if (*ierror)
		return;
	if (*pset_len > 0)
		f_put(pset_name, len_pset_name, c_name);
	*pset_len = room - 1;
}

/* ---- handles in an array that is not always filled ------------------------------------ */

/* The first n of an array of handles that C fills, or NULL and an error. */
static MPI_Datatype *
room_for(MPI_Count n, int *ierror)
{
	MPI_Datatype *types = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof(MPI_Datatype));

	if (types == NULL)
		*ierror = f_fail(MPI_ERR_NO_MEM);
	return types;
}

static void
give_back_special(MPI_Datatype *types, MPI_Count n, const int *ierror, int datatypes[])
{
	for (MPI_Count i = 0; i < n && !*ierror; i++)
		if (types[i] != NULL)
			datatypes[i] = MPI_Type_toint(types[i]);
	free(types);
}

void
F(type_get_contents)(int *datatype, int *max_integers, int *max_addresses, int *max_datatypes,
		     int integers[], MPI_Aint addresses[], int datatypes[], int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_Datatype *types = room_for(*max_datatypes, ierror);

	if (types == NULL)
		return;
	*ierror = C(Type_get_contents)(MPI_Type_fromint(*datatype), *max_integers, *max_addresses,
				       *max_datatypes, integers, addresses, types);
	give_back_special(types, *max_datatypes, ierror, datatypes);
}

void
F(type_get_contents_c)(int *datatype, MPI_Count *max_integers, MPI_Count *max_addresses,
		       MPI_Count *max_large_counts, MPI_Count *max_datatypes, int integers[],
		       MPI_Aint addresses[], MPI_Count large_counts[], int datatypes[], int *ierror)
{
	F_OPTIONAL(ierror);
	MPI_Datatype *types = room_for(*max_datatypes, ierror);

	if (types == NULL)
		return;
	*ierror = C(Type_get_contents_c)(MPI_Type_fromint(*datatype), *max_integers, *max_addresses,
					 *max_large_counts, *max_datatypes, integers, addresses,
					 large_counts, types);
	give_back_special(types, *max_datatypes, ierror, datatypes);
}

/* ---- a status is the same eight integers everywhere --------------------------------------- */

static void
copy_status(const int from[], int to[], int *ierror)
{
	memcpy(to, from, sizeof(MPI_Status));
	if (ierror)
		*ierror = MPI_SUCCESS;
}

void
F(status_f2f08)(const int f_status[], int f08_status[], int *ierror)
{
	copy_status(f_status, f08_status, ierror);
}
F_ALSO_08(status_f2f08);

void
F(status_f082f)(const int f08_status[], int f_status[], int *ierror)
{
	copy_status(f08_status, f_status, ierror);
}
F_ALSO_08(status_f082f);

/* The call is what counts: the compiler takes the variable for changed. */
void
F(f_sync_reg)(void *buf)
{
	(void)buf;
}

#ifdef LMPI_PROFILE
void pmpi_f_sync_reg_f08ts_(void *descriptor) __attribute__((alias("pmpi_f_sync_reg_")));
#else
void mpi_f_sync_reg_f08ts_(void *descriptor) __attribute__((alias("mpi_f_sync_reg_")));
#endif

#include "special.h" /* generated: F_ALSO_08 for what is above */

/* ---- names that MPI-3 removed ----------------------------------------------------------- */

#ifndef LMPI_PROFILE
static void
narrow_special(MPI_Aint value, int *out, int *ierror)
{
	if (value < INT_MIN || value > INT_MAX)
		*ierror = f_fail(MPI_ERR_ARG);
	else
		*out = (int)value;
}

/* An address that does not fit an INTEGER is an error: MPI_GET_ADDRESS is the call. */
void
mpi_address_(void *location, int *address, int *ierror)
{
	MPI_Aint a = 0;

	*ierror = MPI_Get_address(f_buffer(location), &a);
	if (!*ierror)
		narrow_special(a, address, ierror);
}

static void
extent(int *datatype, bool want_ub, bool want_lb, int *out, int *ierror)
{
	MPI_Aint lb = 0, e = 0;

	*ierror = MPI_Type_get_extent(MPI_Type_fromint(*datatype), &lb, &e);
	if (!*ierror)
		narrow_special(want_lb ? lb : want_ub ? lb + e : e, out, ierror);
}

void
mpi_type_extent_(int *datatype, int *out, int *ierror)
{
	extent(datatype, false, false, out, ierror);
}

void
mpi_type_lb_(int *datatype, int *out, int *ierror)
{
	extent(datatype, false, true, out, ierror);
}

void
mpi_type_ub_(int *datatype, int *out, int *ierror)
{
	extent(datatype, true, false, out, ierror);
}

void
mpi_type_hvector_(int *count, int *blocklength, int *stride, int *oldtype, int *newtype,
		  int *ierror)
{
	MPI_Datatype t = MPI_DATATYPE_NULL;

	*ierror = MPI_Type_create_hvector(*count, *blocklength, *stride, MPI_Type_fromint(*oldtype),
					  &t);
	if (!*ierror)
		*newtype = MPI_Type_toint(t);
}

/* types NULL: all are oldtype */
static void
structure(int n, const int *blocklengths, const int *displacements, const int *types, int oldtype,
	  int *newtype, int *ierror)
{
	size_t room = n > 0 ? (size_t)n : 1;
	MPI_Aint *d = malloc(room * sizeof(*d));
	MPI_Datatype *c_types = malloc(room * sizeof(MPI_Datatype)), t = MPI_DATATYPE_NULL;

	*ierror = d && c_types ? MPI_SUCCESS : f_fail(MPI_ERR_NO_MEM);
	for (int i = 0; i < n && !*ierror; i++) {
		d[i] = displacements[i];
		c_types[i] = MPI_Type_fromint(types ? types[i] : oldtype);
	}
	if (!*ierror)
		*ierror = types ? MPI_Type_create_struct(n, blocklengths, d, c_types, &t)
				: MPI_Type_create_hindexed(n, blocklengths, d,
							   MPI_Type_fromint(oldtype), &t);
	if (!*ierror)
		*newtype = MPI_Type_toint(t);
	free(d);
	free(c_types);
}

void
mpi_type_struct_(int *count, int *blocklengths, int *displacements, int *types, int *newtype,
		 int *ierror)
{
	structure(*count, blocklengths, displacements, types, 0, newtype, ierror);
}

void
mpi_type_hindexed_(int *count, int *blocklengths, int *displacements, int *oldtype, int *newtype,
		   int *ierror)
{
	structure(*count, blocklengths, displacements, NULL, *oldtype, newtype, ierror);
}

void
mpi_errhandler_create_(f_errhandler *fn, int *errhandler, int *ierror)
{
	mpi_comm_create_errhandler_(fn, errhandler, ierror);
}

void
mpi_errhandler_set_(int *comm, int *errhandler, int *ierror)
{
	*ierror = MPI_Comm_set_errhandler(MPI_Comm_fromint(*comm),
					  MPI_Errhandler_fromint(*errhandler));
}

void
mpi_errhandler_get_(int *comm, int *errhandler, int *ierror)
{
	MPI_Errhandler e = MPI_ERRHANDLER_NULL;

	*ierror = MPI_Comm_get_errhandler(MPI_Comm_fromint(*comm), &e);
	if (!*ierror)
		*errhandler = MPI_Errhandler_toint(e);
}
#endif
