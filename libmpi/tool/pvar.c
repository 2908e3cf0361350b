/* SPDX-License-Identifier: BSD-2-Clause */
/* Performance variables: sessions, handles, values. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#include "impl.h"

struct MPI_ABI_T_pvar_handle {
	struct MPI_ABI_T_pvar_handle *next; /* of its session */
	const struct lmpi_gauge *gauge;
	uint64_t base; /* a counter was reset at this */
};

struct MPI_ABI_T_pvar_session {
	struct MPI_ABI_T_pvar_session *next;
	MPI_T_pvar_handle handles;
};
static MPI_T_pvar_session sessions;

static const struct lmpi_gauge *
gauge(int i)
{
	const struct lmpi_gauge *all;
	size_t n = lmpi_gauges(&all);

	return i >= 0 && (size_t)i < n ? &all[i] : NULL;
}

static int
pvar_class_of(const struct lmpi_gauge *g)
{
	switch (g->class) {
	case LMPI_COUNTER:
		return MPI_T_PVAR_CLASS_COUNTER;
	case LMPI_LEVEL:
		return MPI_T_PVAR_CLASS_LEVEL;
	case LMPI_HIGHWATER:
		break;
	}
	return MPI_T_PVAR_CLASS_HIGHWATERMARK;
}

int
impl_T_pvar_get_num(int *num_pvar)
{
	const struct lmpi_gauge *all;

	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	*num_pvar = (int)lmpi_gauges(&all);
	return MPI_SUCCESS;
}

int
impl_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (name == NULL || pvar_index == NULL)
		return MPI_T_ERR_INVALID;
	for (int i = 0; gauge(i) != NULL; i++)
		if (pvar_class_of(gauge(i)) == var_class && strcmp(gauge(i)->name, name) == 0) {
			*pvar_index = i;
			return MPI_SUCCESS;
		}
	return MPI_T_ERR_INVALID_NAME;
}

static void
set_pvar(int *out, int v)
{
	if (out != NULL)
		*out = v;
}

int
impl_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
		     MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
		     int *bind, int *readonly, int *continuous, int *atomic)
{
	const struct lmpi_gauge *g;

	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	g = gauge(pvar_index);
	if (g == NULL)
		return MPI_T_ERR_INVALID_INDEX;
	lmpi_tool_text(g->name, name, name_len);
	lmpi_tool_text(g->help, desc, desc_len);
	set_pvar(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
	set_pvar(var_class, pvar_class_of(g));
	if (datatype != NULL)
		*datatype = MPI_UNSIGNED_LONG_LONG;
	if (enumtype != NULL)
		*enumtype = MPI_T_ENUM_NULL;
	set_pvar(bind, MPI_T_BIND_NO_OBJECT);
	set_pvar(readonly, g->class != LMPI_COUNTER);
	set_pvar(continuous, 1);
	set_pvar(atomic, 0);
	return MPI_SUCCESS;
}

/* ---- sessions and handles --------------------------------------------------------- */

static bool
is_session(MPI_T_pvar_session s)
{
	MPI_T_pvar_session at = sessions;

	while (at != NULL && at != s)
		at = at->next;
	return s != NULL && at == s;
}

/* The handle of that session; or why it is not one. */
static int
check_pvar(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	MPI_T_pvar_handle at;

	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_session(session))
		return MPI_T_ERR_INVALID_SESSION;
	for (at = session->handles; at != NULL && at != handle; at = at->next)
		;
	return at == NULL ? MPI_T_ERR_INVALID_HANDLE : MPI_SUCCESS;
}

int
impl_T_pvar_session_create(MPI_T_pvar_session *session)
{
	MPI_T_pvar_session s;

	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return MPI_T_ERR_OUT_OF_SESSIONS;
	s->next = sessions;
	sessions = s;
	*session = s;
	return MPI_SUCCESS;
}

int
impl_T_pvar_session_free(MPI_T_pvar_session *session)
{
	MPI_T_pvar_session s, *at = &sessions;

	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (session == NULL || !is_session(*session))
		return MPI_T_ERR_INVALID_SESSION;
	s = *session;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	while (s->handles != NULL) {
		MPI_T_pvar_handle h = s->handles;

		s->handles = h->next;
		free(h);
	}
	free(s);
	*session = MPI_T_PVAR_SESSION_NULL;
	return MPI_SUCCESS;
}

int
impl_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
			 MPI_T_pvar_handle *handle, int *count)
{
	MPI_T_pvar_handle h;

	(void)obj_handle;
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_session(session))
		return MPI_T_ERR_INVALID_SESSION;
	if (gauge(pvar_index) == NULL)
		return MPI_T_ERR_INVALID_INDEX;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return MPI_T_ERR_OUT_OF_HANDLES;
	h->gauge = gauge(pvar_index);
	h->next = session->handles;
	session->handles = h;
	*handle = h;
	*count = 1;
	return MPI_SUCCESS;
}

int
impl_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
	MPI_T_pvar_handle *at, h;
	int rc = check_pvar(session, handle != NULL ? *handle : NULL);

	if (rc)
		return rc;
	h = *handle;
	for (at = &session->handles; *at != h; at = &(*at)->next)
		;
	*at = h->next;
	free(h);
	*handle = MPI_T_PVAR_HANDLE_NULL;
	return MPI_SUCCESS;
}

/* ---- values --------------------------------------------------------------------------- */

/* They run all the time: starting and stopping is for others, and for all at once
 * nothing has to be done. */
static int
start_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	int rc;

	if (handle == MPI_T_PVAR_ALL_HANDLES)
		return !lmpi_tool_up()	     ? MPI_T_ERR_NOT_INITIALIZED
		       : is_session(session) ? MPI_SUCCESS
					     : MPI_T_ERR_INVALID_SESSION;
	rc = check_pvar(session, handle);
	return rc ? rc : MPI_T_ERR_PVAR_NO_STARTSTOP;
}

int
impl_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	return start_stop(session, handle);
}

int
impl_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	return start_stop(session, handle);
}

int
impl_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
	unsigned long long v;
	int rc = check_pvar(session, handle);

	if (rc)
		return rc;
	v = handle->gauge->read(handle->gauge) - handle->base;
	memcpy(buf, &v, sizeof(v));
	return MPI_SUCCESS;
}

/* From now on the variable counts from v. */
static int
count_from(MPI_T_pvar_session session, MPI_T_pvar_handle handle, unsigned long long v)
{
	int rc = check_pvar(session, handle);

	if (rc)
		return rc;
	if (handle->gauge->class != LMPI_COUNTER)
		return MPI_T_ERR_PVAR_NO_WRITE;
	handle->base = handle->gauge->read(handle->gauge) - v;
	return MPI_SUCCESS;
}

int
impl_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
	unsigned long long v;

	memcpy(&v, buf, sizeof(v));
	return count_from(session, handle, v);
}

int
impl_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	MPI_T_pvar_handle at;

	if (handle != MPI_T_PVAR_ALL_HANDLES)
		return count_from(session, handle, 0);
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_session(session))
		return MPI_T_ERR_INVALID_SESSION;
	for (at = session->handles; at != NULL; at = at->next)
		(void)count_from(session, at, 0); /* what is read-only is passed over */
	return MPI_SUCCESS;
}

int
impl_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
	int rc = check_pvar(session, handle);

	if (rc)
		return rc;
	if (handle->gauge->class != LMPI_COUNTER)
		return MPI_T_ERR_PVAR_NO_WRITE;
	rc = impl_T_pvar_read(session, handle, buf);
	return rc ? rc : count_from(session, handle, 0);
}
