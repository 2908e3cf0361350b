/* SPDX-License-Identifier: BSD-2-Clause */
/* Group objects. */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "engine.h"

struct lmpi_pool lmpi_group_pool = {.what = "group",
				    .magic = 0x47525550,
				    .size = sizeof(struct lmpi_group),
				    .offset = offsetof(struct lmpi_group, obj)};
struct lmpi_group *lmpi_group_empty;

struct lmpi_group *
lmpi_group_new(int size)
{
	struct lmpi_group *g = lmpi_object_new(&lmpi_group_pool);

	if (g == NULL)
		return NULL;
	g->world = malloc((size_t)(size > 0 ? size : 1) * sizeof(*g->world));
	if (g->world == NULL) {
		lmpi_object_delete(&lmpi_group_pool, g);
		return NULL;
	}
	g->size = size;
	g->rank = MPI_UNDEFINED;
	return g;
}

int
lmpi_group_rank_of(const struct lmpi_group *group, uint32_t world)
{
	/* in most groups world ranks ascend without holes */
	if (group->size > 0 && world >= group->world[0]) {
		uint32_t guess = world - group->world[0];

		if (guess < (uint32_t)group->size && group->world[guess] == world)
			return (int)guess;
	}
	for (int i = 0; i < group->size; i++)
		if (group->world[i] == world)
			return i;
	return MPI_UNDEFINED;
}

void
lmpi_group_ready(struct lmpi_group *group)
{
	group->rank = lmpi_group_rank_of(group, lmpi_world.rank);
}

struct lmpi_group *
lmpi_group_copy(const struct lmpi_group *group)
{
	struct lmpi_group *g = lmpi_group_new(group->size);

	if (g == NULL)
		return NULL;
	memcpy(g->world, group->world, (size_t)group->size * sizeof(*g->world));
	g->session = group->session;
	lmpi_group_ready(g);
	return g;
}

void
lmpi_group_ref(struct lmpi_group *group)
{
	group->obj.refs++;
}

void
lmpi_group_unref(struct lmpi_group *group)
{
	if (group == NULL || --group->obj.refs > 0)
		return;
	free(group->world);
	lmpi_object_delete(&lmpi_group_pool, group);
}

MPI_Group
lmpi_group_handle(struct lmpi_group *group)
{
	return group == lmpi_group_empty ? MPI_GROUP_EMPTY : (MPI_Group)group;
}

int
lmpi_group_get(MPI_Group handle, struct lmpi_group **group)
{
	*group = NULL;
	if (handle == MPI_GROUP_EMPTY && lmpi_group_empty != NULL)
		*group = lmpi_group_empty;
	else if (lmpi_object_valid(&lmpi_group_pool, handle))
		*group = (struct lmpi_group *)(void *)handle;
	else
		return lmpi_error(MPI_ERR_GROUP, "%s",
				  handle == MPI_GROUP_NULL ? "the group is MPI_GROUP_NULL"
							   : "the group is not a valid one");
	return MPI_SUCCESS;
}

int
lmpi_group_compare(const struct lmpi_group *a, const struct lmpi_group *b)
{
	if (a->size != b->size)
		return MPI_UNEQUAL;
	if (memcmp(a->world, b->world, (size_t)a->size * sizeof(*a->world)) == 0)
		return MPI_IDENT;
	for (int i = 0; i < a->size; i++)
		if (lmpi_group_rank_of(b, a->world[i]) == MPI_UNDEFINED)
			return MPI_UNEQUAL;
	return MPI_SIMILAR;
}
