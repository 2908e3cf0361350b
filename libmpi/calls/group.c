/* SPDX-License-Identifier: BSD-2-Clause */
/* The MPI_Group_* calls. */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "engine.h"
#include "impl.h"

/* Hand a group to the user; an empty one becomes MPI_GROUP_EMPTY. */
static int
hand_out(struct lmpi_group *g, MPI_Group *handle)
{
	if (g == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	if (g->size == 0) {
		lmpi_group_unref(g);
		*handle = MPI_GROUP_EMPTY;
		return MPI_SUCCESS;
	}
	lmpi_group_ready(g);
	*handle = lmpi_group_handle(g);
	return MPI_SUCCESS;
}

int
impl_Group_size(MPI_Group group, int *size)
{
	struct lmpi_group *g;
	int rc = lmpi_group_get(group, &g);

	if (rc == MPI_SUCCESS)
		*size = g->size;
	return rc;
}

int
impl_Group_rank(MPI_Group group, int *rank)
{
	struct lmpi_group *g;
	int rc = lmpi_group_get(group, &g);

	if (rc == MPI_SUCCESS)
		*rank = g->rank;
	return rc;
}

int
impl_Group_free(MPI_Group *group)
{
	struct lmpi_group *g;
	int rc = lmpi_group_get(*group, &g);

	if (rc)
		return rc;
	if (g != lmpi_group_empty)
		lmpi_group_unref(g);
	*group = MPI_GROUP_NULL;
	return MPI_SUCCESS;
}

int
impl_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
	struct lmpi_group *a, *b;
	int rc = lmpi_group_get(group1, &a);

	if (rc == MPI_SUCCESS)
		rc = lmpi_group_get(group2, &b);
	if (rc == MPI_SUCCESS)
		*result = lmpi_group_compare(a, b);
	return rc;
}

/* World rank -> rank in g, for all processes known; NULL: out of memory. */
static int *
inverse_of(const struct lmpi_group *g)
{
	int *inverse = malloc((size_t)(lmpi_world.slots + 1) * sizeof(*inverse));

	if (inverse == NULL)
		return NULL;
	for (uint32_t w = 0; w < lmpi_world.slots; w++)
		inverse[w] = MPI_UNDEFINED;
	for (int i = 0; i < g->size; i++)
		inverse[g->world[i]] = i;
	return inverse;
}

int
impl_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
			   int ranks2[])
{
	struct lmpi_group *a, *b;
	int *inverse = NULL;
	int rc = lmpi_group_get(group1, &a);

	if (rc == MPI_SUCCESS)
		rc = lmpi_group_get(group2, &b);
	if (rc)
		return rc;
	if (n < 0)
		return lmpi_error(MPI_ERR_ARG, "n is %d", n);
	if (n > 0 && (ranks1 == NULL || ranks2 == NULL))
		return lmpi_error(MPI_ERR_ARG, "%s is a null pointer",
				  ranks1 == NULL ? "ranks1" : "ranks2");
	for (int i = 0; i < n; i++)
		if ((ranks1[i] < 0 || ranks1[i] >= a->size) && ranks1[i] != MPI_PROC_NULL)
			return lmpi_error(MPI_ERR_RANK,
					  "ranks1[%d] is %d, the group has %d "
					  "processes",
					  i, ranks1[i], a->size);
	if (n > 8) {
		inverse = inverse_of(b);
		if (inverse == NULL)
			return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	}
	for (int i = 0; i < n; i++) {
		if (ranks1[i] == MPI_PROC_NULL)
			ranks2[i] = MPI_PROC_NULL;
		else if (inverse != NULL)
			ranks2[i] = inverse[a->world[ranks1[i]]];
		else
			ranks2[i] = lmpi_group_rank_of(b, a->world[ranks1[i]]);
	}
	free(inverse);
	return MPI_SUCCESS;
}

/* Members of a that are (not) in b, then, with both, those of b that are not in a. */
enum set_op { SET_AND, SET_MINUS, SET_OR };

static int
combine_group(MPI_Group group1, MPI_Group group2, enum set_op op, MPI_Group *newgroup)
{
	struct lmpi_group *a, *b, *g = NULL;
	int *in_a = NULL, *in_b = NULL;
	int rc = lmpi_group_get(group1, &a), n = 0;

	if (rc == MPI_SUCCESS)
		rc = lmpi_group_get(group2, &b);
	if (rc)
		return rc;
	in_a = inverse_of(a);
	in_b = inverse_of(b);
	if (in_a != NULL && in_b != NULL)
		g = lmpi_group_new(a->size + b->size);
	if (g != NULL) {
		g->session = a->session;
		for (int i = 0; i < a->size; i++)
			if (op == SET_OR || (in_b[a->world[i]] != MPI_UNDEFINED) == (op == SET_AND))
				g->world[n++] = a->world[i];
		for (int i = 0; i < b->size && op == SET_OR; i++)
			if (in_a[b->world[i]] == MPI_UNDEFINED)
				g->world[n++] = b->world[i];
		g->size = n;
	}
	free(in_a);
	free(in_b);
	return hand_out(g, newgroup);
}

int
impl_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
	return combine_group(group1, group2, SET_OR, newgroup);
}

int
impl_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
	return combine_group(group1, group2, SET_AND, newgroup);
}

int
impl_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
	return combine_group(group1, group2, SET_MINUS, newgroup);
}

/* The ranks listed, or all others; each may be listed once. */
static int
select_ranks(const struct lmpi_group *from, int n, const int *ranks, bool listed,
	     MPI_Group *newgroup)
{
	struct lmpi_group *g;
	bool *seen = calloc((size_t)from->size + 1, sizeof(*seen));
	int k = 0;

	if (seen == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	for (int i = 0; i < n; i++) {
		if (ranks[i] < 0 || ranks[i] >= from->size || seen[ranks[i]]) {
			bool twice = ranks[i] >= 0 && ranks[i] < from->size;

			free(seen);
			return lmpi_error(MPI_ERR_RANK,
					  twice ? "rank %d is listed twice"
						: "rank %d is not in the group of %d processes",
					  ranks[i], from->size);
		}
		seen[ranks[i]] = true;
	}
	g = lmpi_group_new(listed ? n : from->size - n);
	for (int i = 0; g != NULL && listed && i < n; i++)
		g->world[i] = from->world[ranks[i]];
	for (int i = 0; g != NULL && !listed && i < from->size; i++)
		if (!seen[i])
			g->world[k++] = from->world[i];
	free(seen);
	if (g != NULL)
		g->session = from->session;
	return hand_out(g, newgroup);
}

static int
by_list(MPI_Group group, int n, const int *ranks, bool listed, MPI_Group *newgroup)
{
	struct lmpi_group *g;
	int rc = lmpi_group_get(group, &g);

	if (rc)
		return rc;
	if (n < 0)
		return lmpi_error(MPI_ERR_ARG, "n is %d", n);
	return select_ranks(g, n, ranks, listed, newgroup);
}

static int
by_ranges(MPI_Group group, int n, int ranges[][3], bool listed, MPI_Group *newgroup)
{
	struct lmpi_group *g;
	int *ranks, k = 0, rc = lmpi_group_get(group, &g);

	if (rc)
		return rc;
	if (n < 0)
		return lmpi_error(MPI_ERR_ARG, "n is %d", n);
	ranks = malloc((size_t)(g->size + 1) * sizeof(*ranks));
	if (ranks == NULL)
		return lmpi_error(MPI_ERR_NO_MEM, "out of memory");
	for (int i = 0; i < n; i++) {
		int64_t first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];

		if (stride == 0 || first < 0 || first >= g->size || last < 0 || last >= g->size) {
			free(ranks);
			return lmpi_error(stride == 0 ? MPI_ERR_ARG : MPI_ERR_RANK,
					  "range %d is (%d, %d, %d), the group has %d processes", i,
					  ranges[i][0], ranges[i][1], ranges[i][2], g->size);
		}
		for (int64_t r = first; stride > 0 ? r <= last : r >= last; r += stride) {
			if (k == g->size) {
				free(ranks);
				return lmpi_error(MPI_ERR_RANK, "the ranges overlap");
			}
			ranks[k++] = (int)r;
		}
	}
	rc = select_ranks(g, k, ranks, listed, newgroup);
	free(ranks);
	return rc;
}

int
impl_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
	return by_list(group, n, ranks, true, newgroup);
}

int
impl_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
	return by_list(group, n, ranks, false, newgroup);
}

int
impl_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
	return by_ranges(group, n, ranges, true, newgroup);
}

int
impl_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
	return by_ranges(group, n, ranges, false, newgroup);
}
