/* SPDX-License-Identifier: BSD-2-Clause */
/* Collectives with unequal blocks and with datatypes that do not lie contiguous;
 * several non-blocking ones under way at once; results equal on all ranks. */
#include "check.h"

#include <stdbool.h>

static int
len(int r)
{
	return r % 3 == 1 ? 0 : 5 + r * 3;
}

/* The layout: blocks backwards, with gaps. */
static void
layout(int *counts, int *displs, int *total)
{
	int at = 2;

	for (int r = check_size - 1; r >= 0; r--) {
		counts[r] = len(r);
		displs[r] = at;
		at += len(r) + 1;
	}
	*total = at;
}

static int
value(int r, int i)
{
	return r * 1000 + i;
}

static void
gatherv(void)
{
	int counts[64], displs[64], total, mine[256];
	int *all;

	layout(counts, displs, &total);
	all = malloc((size_t)total * sizeof(int));
	for (int i = 0; i < len(check_rank); i++)
		mine[i] = value(check_rank, i);
	for (int root = -1; root < check_size; root++) {
		bool here = root == -1 || root == check_rank;

		for (int i = 0; i < total; i++)
			all[i] = -1;
		if (root == -1)
			MPI_Allgatherv(mine, len(check_rank), MPI_INT, all, counts, displs, MPI_INT,
				       MPI_COMM_WORLD);
		else
			MPI_Gatherv(mine, len(check_rank), MPI_INT, all, here ? counts : NULL,
				    here ? displs : NULL, MPI_INT, root, MPI_COMM_WORLD);
		for (int r = 0; here && r < check_size; r++) {
			for (int i = 0; i < len(r); i++)
				CHECK(all[displs[r] + i] == value(r, i));
			CHECK(all[displs[r] + len(r)] == -1 && all[0] == -1);
		}
	}
	/* back again */
	for (int i = 0; i < 256; i++)
		mine[i] = -1;
	MPI_Bcast(all, total, MPI_INT, check_size - 1, MPI_COMM_WORLD);
	for (int root = 0; root < check_size; root++) {
		MPI_Scatterv(all, counts, displs, MPI_INT, mine, len(check_rank), MPI_INT, root,
			     MPI_COMM_WORLD);
		for (int i = 0; i < len(check_rank); i++)
			CHECK(mine[i] == value(check_rank, i));
	}
	free(all);
}

static void
alltoallv(void)
{
	int sc[64] = {0}, sd[64] = {0}, rc[64], rd[64], st = 0, rt = 0;
	int sb[64], rb[64];
	MPI_Datatype types[64];
	int *out, *in;

	for (int r = 0; r < check_size; r++) {
		sc[r] = (check_rank * 2 + r) % 5;
		rc[r] = (r * 2 + check_rank) % 5;
		sd[r] = st;
		rd[r] = rt;
		sb[r] = st * (int)sizeof(int);
		rb[r] = rt * (int)sizeof(int);
		st += sc[r];
		rt += rc[r] + 1;
		types[r] = MPI_INT;
	}
	out = malloc((size_t)(st + 1) * sizeof(int));
	in = malloc((size_t)(rt + 1) * sizeof(int));
	for (int r = 0; r < check_size; r++)
		for (int i = 0; i < sc[r]; i++)
			out[sd[r] + i] = check_rank * 10000 + r * 100 + i;
	for (int w = 0; w < 2; w++) {
		for (int i = 0; i < rt; i++)
			in[i] = -1;
		if (w)
			MPI_Alltoallw(out, sc, sb, types, in, rc, rb, types, MPI_COMM_WORLD);
		else
			MPI_Alltoallv(out, sc, sd, MPI_INT, in, rc, rd, MPI_INT, MPI_COMM_WORLD);
		for (int r = 0; r < check_size; r++) {
			for (int i = 0; i < rc[r]; i++)
				CHECK(in[rd[r] + i] == r * 10000 + check_rank * 100 + i);
			CHECK(in[rd[r] + rc[r]] == -1);
		}
	}
	free(out);
	free(in);
}

/* Columns of a matrix: the receive side strided, the send side not. */
static void
strided(void)
{
	int n = 50, *matrix = malloc((size_t)n * (size_t)check_size * sizeof(int)), col[50];
	MPI_Datatype column, resized;

	MPI_Type_vector(n, 1, check_size, MPI_INT, &column);
	MPI_Type_create_resized(column, 0, sizeof(int), &resized);
	MPI_Type_commit(&resized);
	MPI_Type_free(&column);
	for (int i = 0; i < n; i++)
		col[i] = check_rank * 1000 + i;
	MPI_Allgather(col, n, MPI_INT, matrix, 1, resized, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		for (int r = 0; r < check_size; r++)
			CHECK(matrix[i * check_size + r] == r * 1000 + i);
	memset(col, 0, sizeof(col));
	MPI_Scatter(matrix, 1, resized, col, n, MPI_INT, 0, MPI_COMM_WORLD);
	CHECK(col[n - 1] == check_rank * 1000 + n - 1);
	MPI_Bcast(matrix, check_size, resized, 0, MPI_COMM_WORLD);
	CHECK(matrix[n * check_size - 1] == (check_size - 1) * 1000 + n - 1);
	MPI_Type_free(&resized);
	free(matrix);
}

static void
many_at_once(void)
{
	enum { K = 12 };
	MPI_Request r[K * 2];
	int a[K], b[K], c[K];
	MPI_Comm dup;

	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	for (int k = 0; k < K; k++) {
		a[k] = check_rank + k;
		c[k] = check_rank == k % check_size ? k * 7 : -1;
		MPI_Iallreduce(&a[k], &b[k], 1, MPI_INT, MPI_SUM, k % 2 ? dup : MPI_COMM_WORLD,
			       &r[2 * k]);
		MPI_Ibcast(&c[k], 1, MPI_INT, k % check_size, MPI_COMM_WORLD, &r[2 * k + 1]);
	}
	for (int k = K; k-- > 0;) {
		MPI_Wait(&r[2 * k], MPI_STATUS_IGNORE);
		MPI_Wait(&r[2 * k + 1], MPI_STATUS_IGNORE);
	}
	for (int k = 0; k < K; k++) {
		CHECK(b[k] == check_size * (check_size - 1) / 2 + k * check_size);
		CHECK(c[k] == k * 7);
	}
	MPI_Comm_free(&dup);
}

/* Blocks that land on each other: who is left on top nobody says, but the call ends.  Large
 * enough for messages that wait for their receiver. */
static void
on_top(void)
{
	enum { N = 200000 };
	int *counts = malloc((size_t)check_size * sizeof(int));
	int *displs = calloc((size_t)check_size, sizeof(int));
	char *mine = malloc(N), *all = calloc(2, N);

	memset(mine, 'a' + check_rank % 20, N);
	for (int i = 0; i < check_size; i++)
		counts[i] = N - 10000 * (i % 10);
	for (int way = 0; way < 3; way++) { /* all at 0; the last later; falling */
		for (int i = 0; i < check_size; i++)
			displs[i] = way == 0   ? 0
				    : way == 1 ? (i == check_size - 1) * 1000
					       : (check_size - 1 - i) * 10;
		MPI_Allgatherv(mine, counts[check_rank], MPI_CHAR, all, counts, displs, MPI_CHAR,
			       MPI_COMM_WORLD);
		CHECK(all[0] >= 'a' && all[N - 100000] >= 'a');
	}
	free(counts);
	free(displs);
	free(mine);
	free(all);
}

/* Persistent operations are initialised in the same order and started in any. */
static void
any_start(void)
{
	enum { K = 4 };
	MPI_Request r[K];
	int in[K], sum[K], root[2];

	for (int k = 0; k < 2; k++) {
		MPI_Allreduce_init(&in[k], &sum[k], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
				   MPI_INFO_NULL, &r[2 * k]);
		MPI_Bcast_init(&root[k], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
			       &r[2 * k + 1]);
	}
	for (int turn = 0; turn < 3; turn++) {
		for (int k = 0; k < 2; k++) {
			in[k] = check_rank + 10 * k + turn;
			root[k] = check_rank == 0 ? 70 + k + turn : -1;
		}
		for (int k = 0; k < K; k++)
			MPI_Start(&r[(k + check_rank + turn) % K]);
		MPI_Waitall(K, r, MPI_STATUSES_IGNORE);
		for (int k = 0; k < 2; k++) {
			CHECK(sum[k] ==
			      check_size * (check_size - 1) / 2 + check_size * (10 * k + turn));
			CHECK(root[k] == 70 + k + turn);
		}
	}
	for (int k = 0; k < K; k++)
		MPI_Request_free(&r[k]);
}

/* Floating-point sums are the same bits everywhere. */
static void
same_bits(void)
{
	static const int sizes[] = {1, 10, 1000, 50000};
	double *x = malloc(50000 * sizeof(double)), *s = malloc(50000 * sizeof(double));
	double *root = malloc(50000 * sizeof(double));

	for (size_t k = 0; k < 4; k++) {
		for (int i = 0; i < sizes[k]; i++)
			x[i] = 1.0 / (1.0 + mix((uint32_t)(check_rank * 77777 + i)) % 9999);
		MPI_Allreduce(x, s, sizes[k], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		memcpy(root, s, (size_t)sizes[k] * sizeof(double));
		MPI_Bcast(root, sizes[k], MPI_DOUBLE, 0, MPI_COMM_WORLD);
		CHECKF(memcmp(root, s, (size_t)sizes[k] * sizeof(double)) == 0, "size %d",
		       sizes[k]);
	}
	free(x);
	free(s);
	free(root);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	gatherv();
	alltoallv();
	strided();
	many_at_once();
	on_top();
	any_start();
	same_bits();
	return finish();
}
