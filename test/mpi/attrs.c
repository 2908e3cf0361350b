/* SPDX-License-Identifier: BSD-2-Clause */
/* IMPI_CLIENT_SIZE, IMPI_CLIENT_COLOR, IMPI_HOST_SIZE, IMPI_HOST_COLOR: whatever clusters
 * the job runs on. */
#include "check.h"

#ifndef IMPI_CLIENT_SIZE
#error "mpi.h does not have the attributes of IMPI"
#endif

static int
attr(MPI_Comm c, int key)
{
	int *v = NULL, *old = NULL, flag = 0;

	MPI_Comm_get_attr(c, key, &v, &flag);
	CHECKF(flag && v != NULL, "key %d is not set", key);
	MPI_Attr_get(c, key, &old, &flag);
	CHECK(flag && old == v);
	return v != NULL ? *v : -1;
}

/* Colors are 0 .. size-1, each in use, and everybody agrees on the size. */
static void
agreed(MPI_Comm c, int size_key, int color_key)
{
	int size = attr(c, size_key), color = attr(c, color_key), n, seen = 0;
	int *colors;
	MPI_Comm part;

	MPI_Comm_size(c, &n);
	colors = malloc((size_t)n * 2 * sizeof(*colors));
	MPI_Allgather((int[]){size, color}, 2, MPI_INT, colors, 2, MPI_INT, c);
	for (int i = 0; i < n; i++)
		CHECKF(colors[2 * i] == size, "rank %d says size %d, not %d", i, colors[2 * i],
		       size);
	for (int k = 0; k < size; k++)
		for (int i = 0; i < n; i++)
			if (colors[2 * i + 1] == k) {
				seen++;
				break;
			}
	CHECKF(seen == size, "%d of %d colors", seen, size);
	CHECK(color >= 0 && color < size);

	/* what they are for: a communicator for each */
	MPI_Comm_split(c, color, 0, &part);
	CHECK(attr(part, size_key) == 1);
	CHECK(attr(part, color_key) == 0);
	MPI_Comm_size(part, &n);
	seen = 0;
	MPI_Comm_size(c, &size);
	for (int i = 0; i < size; i++)
		seen += colors[2 * i + 1] == color;
	CHECK(n == seen);
	MPI_Comm_free(&part);
	free(colors);
}

static void
fixed(void)
{
	int v = 1, flag = 1;
	MPI_Comm c;

	MPI_Comm_dup(MPI_COMM_SELF, &c);
	MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
	for (int key = IMPI_CLIENT_SIZE; key <= IMPI_HOST_COLOR; key++) {
		CHECK(MPI_Comm_set_attr(c, key, &v) != MPI_SUCCESS);
		CHECK(MPI_Comm_delete_attr(c, key) != MPI_SUCCESS);
		CHECK(attr(c, key) == (key == IMPI_CLIENT_SIZE || key == IMPI_HOST_SIZE));
	}
	MPI_Comm_free(&c);
	/* keys of users do not reach them */
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &v, NULL);
	CHECK(v > IMPI_HOST_COLOR);
	MPI_Comm_get_attr(MPI_COMM_WORLD, v, &c, &flag);
	CHECK(!flag);
	MPI_Comm_free_keyval(&v);
}

int
main(int argc, char **argv)
{
	const char *client = getenv("IMPI_CLIENT");
	MPI_Comm turned;

	start(&argc, &argv);
	if (client != NULL) {
		CHECK(attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR) == (int)strtoull(client, NULL, 10));
		CHECK(attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE) > (int)strtoull(client, NULL, 10));
	} else {
		CHECK(attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE) == 1);
		CHECK(attr(MPI_COMM_WORLD, IMPI_HOST_SIZE) == 1);
	}
	agreed(MPI_COMM_WORLD, IMPI_CLIENT_SIZE, IMPI_CLIENT_COLOR);
	agreed(MPI_COMM_WORLD, IMPI_HOST_SIZE, IMPI_HOST_COLOR);
	/* relative to the communicator, not to the order of its ranks */
	MPI_Comm_split(MPI_COMM_WORLD, check_rank % 3, -check_rank, &turned);
	agreed(turned, IMPI_CLIENT_SIZE, IMPI_CLIENT_COLOR);
	agreed(turned, IMPI_HOST_SIZE, IMPI_HOST_COLOR);
	MPI_Comm_free(&turned);
	fixed();
	return finish();
}
