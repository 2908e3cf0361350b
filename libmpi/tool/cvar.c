/* Start and end of the tool interface; control variables. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#include "impl.h"
#include "lock.h"

static unsigned users;

bool
lmpi_tool_up(void)
{
	return users > 0;
}

int
impl_T_init_thread(int required, int *provided)
{
	users++;
	*provided = required < MPI_THREAD_SINGLE ? MPI_THREAD_SINGLE
		    : lmpi_lock_shared || required < MPI_THREAD_MULTIPLE
			    ? required
			    : MPI_THREAD_SERIALIZED; /* until MPI_Init_thread gives more */
	return MPI_SUCCESS;
}

int
impl_T_finalize(void)
{
	if (!users)
		return MPI_T_ERR_NOT_INITIALIZED;
	users--;
	return MPI_SUCCESS;
}

void
lmpi_tool_text(const char *text, char *out, int *len)
{
	size_t need = strlen(text) + 1;

	if (len == NULL)
		return;
	if (out != NULL && *len > 0) {
		size_t n = need <= (size_t)*len ? need - 1 : (size_t)*len - 1;

		memcpy(out, text, n);
		out[n] = '\0';
	}
	*len = (int)need;
}

/* ---- control variables -------------------------------------------------------- */

/* The handle of one is the address of its entry here. */
static struct MPI_ABI_T_cvar_handle {
	const struct lmpi_knob *knob;
	unsigned handles;
} vars[32];
static int nvars;

static const struct lmpi_knob *
knob(int i)
{
	const struct lmpi_knob *all;
	size_t n = lmpi_knobs(&all);

	nvars = (int)n;
	return i >= 0 && (size_t)i < n ? &all[i] : NULL;
}

int
impl_T_cvar_get_num(int *num_cvar)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	(void)knob(0);
	*num_cvar = nvars;
	return MPI_SUCCESS;
}

int
impl_T_cvar_get_index(const char *name, int *cvar_index)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (name == NULL || cvar_index == NULL)
		return MPI_T_ERR_INVALID;
	for (int i = 0; knob(i) != NULL; i++)
		if (strcmp(knob(i)->name, name) == 0) {
			*cvar_index = i;
			return MPI_SUCCESS;
		}
	return MPI_T_ERR_INVALID_NAME;
}

int
impl_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
		     MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
		     int *bind, int *scope)
{
	const struct lmpi_knob *k;

	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	k = knob(cvar_index);
	if (k == NULL)
		return MPI_T_ERR_INVALID_INDEX;
	lmpi_tool_text(k->name, name, name_len);
	lmpi_tool_text(k->help, desc, desc_len);
	if (verbosity != NULL)
		*verbosity = MPI_T_VERBOSITY_TUNER_BASIC;
	if (datatype != NULL)
		*datatype = MPI_UNSIGNED_LONG_LONG;
	if (enumtype != NULL)
		*enumtype = MPI_T_ENUM_NULL;
	if (bind != NULL)
		*bind = MPI_T_BIND_NO_OBJECT;
	if (scope != NULL)
		*scope = MPI_T_SCOPE_LOCAL;
	return MPI_SUCCESS;
}

int
impl_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
	const struct lmpi_knob *k;

	(void)obj_handle;
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	k = knob(cvar_index);
	if (k == NULL)
		return MPI_T_ERR_INVALID_INDEX;
	if ((size_t)cvar_index >= sizeof(vars) / sizeof(vars[0]))
		return MPI_T_ERR_OUT_OF_HANDLES;
	vars[cvar_index].knob = k;
	vars[cvar_index].handles++;
	*handle = &vars[cvar_index];
	*count = 1;
	return MPI_SUCCESS;
}

static bool
valid(MPI_T_cvar_handle h)
{
	return h >= vars && h < vars + sizeof(vars) / sizeof(vars[0]) && h->handles > 0;
}

int
impl_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (handle == NULL || !valid(*handle))
		return MPI_T_ERR_INVALID_HANDLE;
	(*handle)->handles--;
	*handle = MPI_T_CVAR_HANDLE_NULL;
	return MPI_SUCCESS;
}

int
impl_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
	unsigned long long v;

	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!valid(handle))
		return MPI_T_ERR_INVALID_HANDLE;
	v = handle->knob->get();
	memcpy(buf, &v, sizeof(v));
	return MPI_SUCCESS;
}

int
impl_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
	unsigned long long v;

	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!valid(handle))
		return MPI_T_ERR_INVALID_HANDLE;
	memcpy(&v, buf, sizeof(v));
	if (v > handle->knob->max)
		return MPI_T_ERR_INVALID;
	handle->knob->set(v);
	return MPI_SUCCESS;
}
