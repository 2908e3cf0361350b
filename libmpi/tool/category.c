/* SPDX-License-Identifier: BSD-2-Clause */
/* Categories: the control variables, and the performance variables by group.  Enumerations
 * and events: there are none. */
#include "tool.h"

#include <string.h>

#include "impl.h"

#define CONTROL 0 /* the first category */

/* Name of a category, and whether there is one. */
static const char *
category_group(int index)
{
	const struct lmpi_gauge *g;
	size_t n = lmpi_gauges(&g);
	int at = CONTROL;

	if (index == CONTROL)
		return "control";
	/* gauges of a group stand together */
	for (size_t i = 0; i < n; i++)
		if ((i == 0 || strcmp(g[i].group, g[i - 1].group) != 0) && ++at == index)
			return g[i].group;
	return NULL;
}

static int
in_group(const char *name, int len, int indices[])
{
	const struct lmpi_gauge *g;
	size_t n = lmpi_gauges(&g);
	int found = 0;

	for (size_t i = 0; i < n; i++)
		if (strcmp(g[i].group, name) == 0 && found++ < len)
			indices[found - 1] = (int)i;
	return found;
}

static int
check_category(int cat_index)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	return category_group(cat_index) != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}

int
impl_T_category_get_num(int *num_cat)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	for (*num_cat = 0; category_group(*num_cat) != NULL; ++*num_cat)
		;
	return MPI_SUCCESS;
}

int
impl_T_category_get_index(const char *name, int *cat_index)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (name == NULL || cat_index == NULL)
		return MPI_T_ERR_INVALID;
	for (int i = 0; category_group(i) != NULL; i++)
		if (strcmp(category_group(i), name) == 0) {
			*cat_index = i;
			return MPI_SUCCESS;
		}
	return MPI_T_ERR_INVALID_NAME;
}

int
impl_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
			 int *num_cvars, int *num_pvars, int *num_categories)
{
	static const struct {
		const char *name, *text;
	} texts[] = {
		{"control", "what can be set"},
		{"messages", "messages by transport"},
		{"queues", "what waits"},
		{"progress", "the progress loop"},
		{"suci", "datagrams and paths of the Suci endpoint"},
		{"lane", "lanes: segments and blocks between processes"},
		{"udp", "the socket and its system calls"},
		{"stream", "TCP connections for data of long messages"},
		{"light", "calls and messages that light paths are set up for"},
		{"ft", "failures, and how processes agree on them"},
	};
	const char *text = "";
	int rc = check_category(cat_index);

	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(texts[i].name, category_group(cat_index)) == 0)
			text = texts[i].text;
	lmpi_tool_text(category_group(cat_index), name, name_len);
	lmpi_tool_text(text, desc, desc_len);
	if (num_cvars != NULL)
		*num_cvars = cat_index == CONTROL ? LMPI_KNOB_COUNT : 0;
	if (num_pvars != NULL)
		*num_pvars =
			cat_index == CONTROL ? 0 : in_group(category_group(cat_index), 0, NULL);
	if (num_categories != NULL)
		*num_categories = 0;
	return MPI_SUCCESS;
}

int
impl_T_category_get_cvars(int cat_index, int len, int indices[])
{
	int rc = check_category(cat_index);

	for (int i = 0; !rc && cat_index == CONTROL && i < len && i < LMPI_KNOB_COUNT; i++)
		indices[i] = i;
	return rc;
}

int
impl_T_category_get_pvars(int cat_index, int len, int indices[])
{
	int rc = check_category(cat_index);

	if (!rc && cat_index != CONTROL)
		in_group(category_group(cat_index), len, indices);
	return rc;
}

int
impl_T_category_get_categories(int cat_index, int len, int indices[])
{
	(void)len, (void)indices;
	return check_category(cat_index);
}

/* Never: they are there from the start. */
int
impl_T_category_changed(int *update_number)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	*update_number = 1;
	return MPI_SUCCESS;
}

/* ---- none of these ----------------------------------------------------------------- */

static int
none(int error)
{
	return lmpi_tool_up() ? error : MPI_T_ERR_NOT_INITIALIZED;
}

static int
zero(int *n)
{
	if (!lmpi_tool_up())
		return MPI_T_ERR_NOT_INITIALIZED;
	*n = 0;
	return MPI_SUCCESS;
}

int
impl_T_category_get_num_events(int cat_index, int *num_events)
{
	int rc = check_category(cat_index);

	return rc ? rc : zero(num_events);
}

int
impl_T_category_get_events(int cat_index, int len, int indices[])
{
	(void)len, (void)indices;
	return check_category(cat_index);
}

int
impl_T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
	(void)enumtype, (void)num, (void)name, (void)name_len;
	return none(MPI_T_ERR_INVALID_HANDLE);
}

int
impl_T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
	(void)enumtype, (void)indx, (void)value, (void)name, (void)name_len;
	return none(MPI_T_ERR_INVALID_HANDLE);
}

int
impl_T_source_get_num(int *num_sources)
{
	return zero(num_sources);
}

int
impl_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
		       MPI_T_source_order *ordering, MPI_Count *ticks_per_second,
		       MPI_Count *max_ticks, MPI_Info *info)
{
	(void)source_index, (void)name, (void)name_len, (void)desc, (void)desc_len;
	(void)ordering, (void)ticks_per_second, (void)max_ticks, (void)info;
	return none(MPI_T_ERR_INVALID_INDEX);
}

int
impl_T_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
	(void)source_index, (void)timestamp;
	return none(MPI_T_ERR_INVALID_INDEX);
}

int
impl_T_event_get_num(int *num_events)
{
	return zero(num_events);
}

int
impl_T_event_get_index(const char *name, int *event_index)
{
	(void)name, (void)event_index;
	return none(MPI_T_ERR_INVALID_NAME);
}

int
impl_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
		      MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
		      int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc,
		      int *desc_len, int *bind)
{
	(void)event_index, (void)name, (void)name_len, (void)verbosity, (void)array_of_datatypes;
	(void)array_of_displacements, (void)num_elements, (void)enumtype, (void)info, (void)desc;
	(void)desc_len, (void)bind;
	return none(MPI_T_ERR_INVALID_INDEX);
}

int
impl_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
			  MPI_T_event_registration *event_registration)
{
	(void)event_index, (void)obj_handle, (void)info, (void)event_registration;
	return none(MPI_T_ERR_INVALID_INDEX);
}
