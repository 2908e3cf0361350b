/* SPDX-License-Identifier: BSD-2-Clause */
#include "impi_attr.h"

#include <stdlib.h>

#include "call.h"
#include "engine.h"

static int
by_attrs_value(const void *a, const void *b)
{
	uint64_t x, y;

	x = *(const uint64_t *)a;
	y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* How many different keys there are, and how many are smaller than mine. */
static void
count_attrs(uint64_t *key, int n, uint64_t mine, int *different, int *smaller)
{
	*different = *smaller = 0;
	qsort(key, (size_t)n, sizeof(*key), by_attrs_value);
	for (int i = 0; i < n; i++) {
		if (i > 0 && key[i] == key[i - 1])
			continue;
		(*different)++;
		*smaller += key[i] < mine;
	}
}

static uint64_t
client_key(uint32_t world)
{
	return lmpi_world.proc[world].client;
}

static uint64_t
host_key(uint32_t world)
{
	const struct lmpi_proc *p = &lmpi_world.proc[world];
	bool told_apart = lmpi_proc_foreign(world) && p->reach == LMPI_REACH_TCP;

	return (uint64_t)p->client << 32 | (told_apart ? p->host : 0);
}

/* Of a communicator, once somebody has asked. */
struct impi_attrs {
	struct lmpi_attached attached;
	int value[4];
};

static int
find_out(struct lmpi_comm *c)
{
	const uint32_t *world = c->group->world;
	uint64_t *key = malloc((size_t)c->size * sizeof(*key));
	struct impi_attrs *attrs;
	int *v;

	attrs = key == NULL ? NULL
			    : (struct impi_attrs *)(void *)lmpi_comm_attach(c, LMPI_COMM_IMPI,
									    sizeof(*attrs), NULL);
	if (attrs == NULL) {
		free(key);
		return lmpi_error(MPI_ERR_NO_MEM, "no memory to count clients and hosts");
	}
	v = attrs->value;
	for (int i = 0; i < c->size; i++)
		key[i] = client_key(world[i]);
	count_attrs(key, c->size, client_key(lmpi_world.rank), &v[0], &v[1]);
	for (int i = 0; i < c->size; i++)
		key[i] = host_key(world[i]);
	count_attrs(key, c->size, host_key(lmpi_world.rank), &v[2], &v[3]);
	free(key);
	return MPI_SUCCESS;
}

int
lmpi_impi_attr(struct lmpi_comm *c, int keyval, int **value)
{
	int rc = MPI_SUCCESS;

	*value = NULL;
	if (!lmpi_is_impi_attr(keyval) || c->remote != NULL)
		return MPI_SUCCESS;
	if (c->slot[LMPI_COMM_IMPI] == NULL)
		rc = find_out(c);
	if (rc == MPI_SUCCESS)
		*value = &((struct impi_attrs *)(void *)c->slot[LMPI_COMM_IMPI])
				  ->value[keyval - IMPI_CLIENT_SIZE];
	return rc;
}
