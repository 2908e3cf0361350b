/* SPDX-License-Identifier: BSD-2-Clause */
#include "errors.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "impl.h"
#include "tables.h"

#include "mpi/request.h"

_Thread_local struct lmpi_call *lmpi_call_top;
volatile enum lmpi_state lmpi_state;
int lmpi_last_used_code = MPI_ERR_LASTCODE;
int (*lmpi_epoch_code)(const struct lmpi_call *call, int code);
int (*lmpi_epoch_ended)(const char *fn);

static _Thread_local struct {
	int code;
	char text[MPI_MAX_ERROR_STRING];
} last_failure;

#undef lmpi_error
int
lmpi_error(int code, const char *fmt, ...)
{
	char text[sizeof(last_failure.text)]; /* the arguments may quote the failure before */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(last_failure.text, text, sizeof(text));
	last_failure.code = code;
	return code;
}

const char *
lmpi_error_text(int code)
{
	return last_failure.code == code ? last_failure.text : "";
}

int
lmpi_null_argument(const char *name)
{
	return lmpi_error(MPI_ERR_ARG, "%s is a null pointer", name);
}

int
lmpi_not_running(void)
{
	return lmpi_error(MPI_ERR_OTHER, "called %s",
			  lmpi_state == LMPI_FINALIZED ? "after MPI_Finalize" : "before MPI_Init");
}

int
lmpi_unsupported(const char *instead)
{
	return lmpi_error(MPI_ERR_UNSUPPORTED_OPERATION, "libmpi does not offer %s%s%s",
			  lmpi_call_top->fn, instead ? ": " : "", instead ? instead : "");
}

static _Thread_local struct {
	const struct lmpi_call *call;
	int code;
} settled;

void
lmpi_blame_stays(int code)
{
	settled.call = lmpi_call_top;
	settled.code = code;
}

bool
lmpi_blame_is_settled(void)
{
	return lmpi_call_top == NULL || settled.call == lmpi_call_top;
}

int
lmpi_blame_code(const struct lmpi_call *call, int code)
{
	if (settled.call != call)
		return code;
	settled.call = NULL;
	return code == MPI_ERR_IN_STATUS ? settled.code : code;
}

void
lmpi_blame_file(MPI_File file)
{
	if (!lmpi_blame_is_settled()) {
		lmpi_call_top->kind = LMPI_ON_FILE;
		lmpi_call_top->handle = file;
	}
}

void
lmpi_blame_win(MPI_Win win)
{
	if (!lmpi_blame_is_settled()) {
		lmpi_call_top->kind = LMPI_ON_WIN;
		lmpi_call_top->handle = win;
	}
}

/* ---- the library's own classes */

static const struct {
	int value;
	const char *name;
} classes[] = {
#define X(name, value) {value, #name},
	LMPI_ERROR_CLASSES(X)
#undef X
	/* mpi-ext.h */
	{LMPI_ERR_PROC_FAILED, "MPIX_ERR_PROC_FAILED"},
	{LMPI_ERR_PROC_FAILED_PENDING, "MPIX_ERR_PROC_FAILED_PENDING"},
	{LMPI_ERR_REVOKED, "MPIX_ERR_REVOKED"},
	{LMPI_ERR_AGAIN, "MPISP_ERR_AGAIN"},
};

static const struct {
	int value;
	const char *text;
} texts[] = {
	{MPI_SUCCESS, "no error"},
	{MPI_ERR_BUFFER, "invalid buffer"},
	{MPI_ERR_COUNT, "invalid count"},
	{MPI_ERR_TYPE, "invalid datatype"},
	{MPI_ERR_TAG, "invalid tag"},
	{MPI_ERR_COMM, "invalid communicator"},
	{MPI_ERR_RANK, "invalid rank"},
	{MPI_ERR_REQUEST, "invalid request"},
	{MPI_ERR_ROOT, "invalid root"},
	{MPI_ERR_GROUP, "invalid group"},
	{MPI_ERR_OP, "invalid reduction operation"},
	{MPI_ERR_TOPOLOGY, "invalid topology"},
	{MPI_ERR_DIMS, "invalid dimensions"},
	{MPI_ERR_ARG, "invalid argument"},
	{MPI_ERR_TRUNCATE, "message longer than the receive buffer"},
	{MPI_ERR_OTHER, "other error"},
	{MPI_ERR_INTERN, "internal error"},
	{MPI_ERR_PENDING, "request still pending"},
	{MPI_ERR_IN_STATUS, "error code is in the status"},
	{MPI_ERR_INFO_KEY, "info key longer than MPI_MAX_INFO_KEY"},
	{MPI_ERR_INFO_NOKEY, "no such info key"},
	{MPI_ERR_INFO_VALUE, "info value too long or not valid"},
	{MPI_ERR_INFO, "invalid info object"},
	{MPI_ERR_KEYVAL, "invalid attribute key"},
	{MPI_ERR_NO_MEM, "out of memory"},
	{MPI_ERR_UNSUPPORTED_OPERATION, "operation not supported"},
	{MPI_ERR_PROC_ABORTED, "a process of the job ended"},
	{MPI_ERR_VALUE_TOO_LARGE, "value too large for its type"},
	{MPI_ERR_SESSION, "invalid session"},
	{MPI_ERR_ERRHANDLER, "invalid error handler"},
	{MPI_ERR_ABI, "invalid ABI registration"},
	{MPI_ERR_FILE, "invalid file handle"},
	{MPI_ERR_NOT_SAME, "arguments differ between processes"},
	{MPI_ERR_AMODE, "invalid access mode"},
	{MPI_ERR_UNSUPPORTED_DATAREP, "unknown data representation"},
	{MPI_ERR_NO_SUCH_FILE, "no such file"},
	{MPI_ERR_FILE_EXISTS, "file exists"},
	{MPI_ERR_BAD_FILE, "invalid file name"},
	{MPI_ERR_ACCESS, "permission denied"},
	{MPI_ERR_NO_SPACE, "not enough space"},
	{MPI_ERR_QUOTA, "quota exceeded"},
	{MPI_ERR_READ_ONLY, "read-only file or file system"},
	{MPI_ERR_FILE_IN_USE, "file in use"},
	{MPI_ERR_DUP_DATAREP, "data representation is known already"},
	{MPI_ERR_CONVERSION, "data conversion failed"},
	{MPI_ERR_DISP, "invalid displacement"},
	{MPI_ERR_IO, "input or output failed"},
	{MPI_ERR_WIN, "invalid window"},
	{MPI_ERR_BASE, "invalid base of a window"},
	{MPI_ERR_LOCKTYPE, "invalid type of lock"},
	{MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"},
	{MPI_ERR_RMA_SYNC, "wrong synchronisation of calls on a window"},
	{MPI_ERR_SIZE, "invalid size"},
	{MPI_ERR_ASSERT, "invalid assert"},
	{MPI_ERR_RMA_RANGE, "memory outside the window"},
	{MPI_ERR_RMA_ATTACH, "memory cannot be attached"},
	{MPI_ERR_RMA_SHARED, "memory cannot be shared"},
	{LMPI_ERR_PROC_FAILED, "a process has failed"},
	{LMPI_ERR_PROC_FAILED_PENDING, "a process has failed, the receive goes on"},
	{LMPI_ERR_REVOKED, "the communicator was revoked"},
	{LMPI_ERR_AGAIN, "a rank went to another process, this is to be done again"},
	{MPI_ERR_RMA_FLAVOR, "wrong kind of window for this call"},
};

/* ---- classes and codes added by the user, from MPI_ERR_LASTCODE + 1 */

static struct added {
	bool used;
	int class; /* of a class: its own number */
	char *text;
} * added;
static int added_n;

static struct added *
added_code(int code)
{
	int i = code - MPI_ERR_LASTCODE - 1;

	return i >= 0 && i < added_n && added[i].used ? &added[i] : NULL;
}

static const char *
class_name(int class)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].value == class)
			return classes[i].name;
	return NULL;
}

const char *
lmpi_error_name(int code)
{
	const char *name = class_name(code);

	if (name != NULL)
		return name;
	if (added_code(code) != NULL && added_code(code)->text != NULL)
		return added_code(code)->text;
	return "unknown error code";
}

static int
add_code(int class, int *code)
{
	int i = 0;

	while (i < added_n && added[i].used)
		i++;
	if (i == added_n) {
		struct added *more = realloc(added, (size_t)(added_n + 1) * sizeof(*added));

		if (more == NULL)
			return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
		added = more;
		added_n++;
	}
	*code = MPI_ERR_LASTCODE + 1 + i;
	added[i] = (struct added){true, class < 0 ? *code : class, NULL};
	lmpi_last_used_code = MPI_ERR_LASTCODE + added_n;
	return MPI_SUCCESS;
}

static int
still_has_string(int code)
{
	return lmpi_error(MPI_ERR_OTHER, "%d still has a string: MPI_Remove_error_string first",
			  code);
}

static void
discard_code(struct added *a)
{
	*a = (struct added){0};
	while (added_n > 0 && !added[added_n - 1].used)
		added_n--;
	lmpi_last_used_code = MPI_ERR_LASTCODE + added_n;
}

int
impl_Remove_error_class(int errorclass)
{
	struct added *a = added_code(errorclass);

	if (a == NULL || a->class != errorclass)
		return lmpi_error(MPI_ERR_ARG, "%d is not a class added by the program",
				  errorclass);
	if (a->text != NULL)
		return still_has_string(errorclass);
	for (int i = 0; i < added_n; i++)
		if (added[i].used && &added[i] != a && added[i].class == errorclass)
			return lmpi_error(MPI_ERR_OTHER, "class %d still has the code %d",
					  errorclass, MPI_ERR_LASTCODE + 1 + i);
	discard_code(a);
	return MPI_SUCCESS;
}

int
impl_Remove_error_code(int errorcode)
{
	struct added *a = added_code(errorcode);

	if (a == NULL || a->class == errorcode)
		return lmpi_error(MPI_ERR_ARG, "%d is not a code added by the program", errorcode);
	if (a->text != NULL)
		return still_has_string(errorcode);
	discard_code(a);
	return MPI_SUCCESS;
}

int
impl_Remove_error_string(int errorcode)
{
	struct added *a = added_code(errorcode);

	if (a == NULL || a->text == NULL)
		return lmpi_error(MPI_ERR_ARG, "the program gave no string to %d", errorcode);
	free(a->text);
	a->text = NULL;
	return MPI_SUCCESS;
}

int
impl_Add_error_class(int *errorclass)
{
	return add_code(-1, errorclass);
}

int
impl_Add_error_code(int errorclass, int *errorcode)
{
	if (class_name(errorclass) == NULL && added_code(errorclass) == NULL)
		return lmpi_error(MPI_ERR_ARG, "%d is not an error class", errorclass);
	return add_code(errorclass, errorcode);
}

int
impl_Add_error_string(int errorcode, const char *string)
{
	struct added *a = added_code(errorcode);
	char *copy;

	if (a == NULL)
		return lmpi_error(MPI_ERR_ARG, "%d is not a code or class added by the program",
				  errorcode);
	copy = strndup(string, MPI_MAX_ERROR_STRING - 1);
	if (copy == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	free(a->text);
	a->text = copy;
	return MPI_SUCCESS;
}

int
impl_Error_class(int errorcode, int *errorclass)
{
	struct added *a = added_code(errorcode);

	if (a != NULL)
		*errorclass = a->class;
	else if (class_name(errorcode) != NULL)
		*errorclass = errorcode;
	else
		return lmpi_error(MPI_ERR_ARG, "%d is not an error code", errorcode);
	return MPI_SUCCESS;
}

int
impl_Error_string(int errorcode, char *string, int *resultlen)
{
	struct added *a = added_code(errorcode);
	const char *name = class_name(errorcode), *text = NULL, *more;

	if (a != NULL) {
		*resultlen = snprintf(string, MPI_MAX_ERROR_STRING, "%s", a->text ? a->text : "");
		return MPI_SUCCESS;
	}
	if (name == NULL)
		return lmpi_error(MPI_ERR_ARG, "%d is not an error code", errorcode);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].value == errorcode)
			text = texts[i].text;
	more = errorcode == MPI_SUCCESS ? "" : lmpi_error_text(errorcode);
	*resultlen = snprintf(string, MPI_MAX_ERROR_STRING, "%s%s%s%s%s", name, text ? ": " : "",
			      text ? text : "", more[0] ? ": " : "", more);
	if (*resultlen >= MPI_MAX_ERROR_STRING)
		*resultlen = MPI_MAX_ERROR_STRING - 1;
	return MPI_SUCCESS;
}
