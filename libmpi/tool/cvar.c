/* SPDX-License-Identifier: BSD-2-Clause */
/* Start and end of the tool interface; control variables. */
#include "tool.h"

#include <stdio.h>
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

/* ---- control variables: every row of lmpi/knobs.h ----------------------------- */

/* What a tool has to have for a text, its end included. */
#define TEXT_BYTES 1024

/* The handle of one is the address of its entry here; its index is the row's. */
static struct MPI_ABI_T_cvar_handle {
	unsigned handles;
} vars[LMPI_KNOB_COUNT];

static bool
is_number(enum lmpi_knob k)
{
	return lmpi_knob_rows[k].kind == LMPI_KNOB_NUMBER;
}

static int
check_index(int i)
{
	return !lmpi_tool_up()		       ? MPI_T_ERR_NOT_INITIALIZED
	       : i < 0 || i >= LMPI_KNOB_COUNT ? MPI_T_ERR_INVALID_INDEX
					       : MPI_SUCCESS;
}

int
impl_T_cvar_get_num(int *num_cvar)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	*num_cvar = LMPI_KNOB_COUNT;
	return MPI_SUCCESS;
}

int
impl_T_cvar_get_index(const char *name, int *cvar_index)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (name == NULL || cvar_index == NULL)
		return MPI_T_ERR_INVALID;
	for (int i = 0; i < LMPI_KNOB_COUNT; i++)
		if (strcmp(lmpi_knob_rows[i].name, name) == 0) {
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
	int err = check_index(cvar_index);

	if (err)
		return err;
	enum lmpi_knob k = (enum lmpi_knob)cvar_index;
	lmpi_tool_text(lmpi_knob_rows[k].name, name, name_len);
	lmpi_tool_text(lmpi_knob_rows[k].text, desc, desc_len);
	if (verbosity != NULL)
		*verbosity = MPI_T_VERBOSITY_TUNER_BASIC;
	if (datatype != NULL)
		*datatype = is_number(k) ? MPI_UNSIGNED_LONG_LONG : MPI_CHAR;
	if (enumtype != NULL)
		*enumtype = MPI_T_ENUM_NULL;
	if (bind != NULL)
		*bind = MPI_T_BIND_NO_OBJECT;
	if (scope != NULL)
		*scope = lmpi_live_knob(k) ? MPI_T_SCOPE_LOCAL : MPI_T_SCOPE_CONSTANT;
	return MPI_SUCCESS;
}

int
impl_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
	int err = check_index(cvar_index);

	(void)obj_handle;
	if (err)
		return err;
	vars[cvar_index].handles++;
	*handle = &vars[cvar_index];
	*count = is_number((enum lmpi_knob)cvar_index) ? 1 : TEXT_BYTES;
	return MPI_SUCCESS;
}

static int
check_handle(MPI_T_cvar_handle h)
{
	return !lmpi_tool_up() ? MPI_T_ERR_NOT_INITIALIZED
	       : h >= vars && h < vars + LMPI_KNOB_COUNT && h->handles > 0
		       ? MPI_SUCCESS
		       : MPI_T_ERR_INVALID_HANDLE;
}

int
impl_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
	int err = !lmpi_tool_up()  ? MPI_T_ERR_NOT_INITIALIZED
		  : handle == NULL ? MPI_T_ERR_INVALID_HANDLE
				   : check_handle(*handle);

	if (err)
		return err;
	(*handle)->handles--;
	*handle = MPI_T_CVAR_HANDLE_NULL;
	return MPI_SUCCESS;
}

/* As the environment says it, else the default. */
static void
read_text(enum lmpi_knob k, char *out)
{
	const struct lmpi_knob_row *row = &lmpi_knob_rows[k];
	const char *set = lmpi_knob_text(k);
	char word[32] = "";

	if (!set && lmpi_knob_word_at(k, 0, word, sizeof word))
		set = word;
	if (set && row->kind == LMPI_KNOB_SECRET)
		set = "(hidden)";
	snprintf(out, TEXT_BYTES, "%s", set ? set : row->fallback);
}

int
impl_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
	int err = check_handle(handle);

	if (err)
		return err;
	enum lmpi_knob k = (enum lmpi_knob)(handle - vars);
	const struct lmpi_live_knob *live = lmpi_live_knob(k);
	if (is_number(k)) {
		unsigned long long v = live ? live->get() : lmpi_knob_number(k);
		memcpy(buf, &v, sizeof(v));
	} else {
		read_text(k, buf);
	}
	return MPI_SUCCESS;
}

int
impl_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
	int err = check_handle(handle);
	unsigned long long v;

	if (err)
		return err;
	enum lmpi_knob k = (enum lmpi_knob)(handle - vars);
	const struct lmpi_live_knob *live = lmpi_live_knob(k);
	if (!live)
		return MPI_T_ERR_CVAR_SET_NEVER;
	memcpy(&v, buf, sizeof(v));
	if (v < lmpi_knob_rows[k].least || v > lmpi_knob_rows[k].most)
		return MPI_T_ERR_INVALID;
	live->set(v);
	return MPI_SUCCESS;
}
