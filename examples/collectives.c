/* SPDX-License-Identifier: BSD-2-Clause */
/* collectives - how long collective calls over several clusters take, and whether their data is
 * right.
 *
 *   collectives [--bytes N] [--calls N] [--ops bcast,allgather,alltoall,allreduce] [--gap-ms N]
 *
 * Rank 0 prints one line "OP BYTES LEAST MEDIAN MOST" for each operation, in milliseconds; a call
 * takes as long as the process that is in it longest, from a barrier on.  BYTES: of a broadcast
 * or reduced vector, or of each block.  gap: time between calls, in which the program would
 * compute.  What arrived is compared with what must arrive, every time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS_MAX 1000
#define TAG	  7

struct bench {
	int rank, size, bytes, calls, gap_ms;
	unsigned char *out, *in;
	double took_s[CALLS_MAX];
};

static unsigned char
byte_of(int rank, int block, int i, int call)
{
	return (unsigned char)(rank * 31 + block * 17 + i * 7 + i / 251 + call);
}

static void
wrong(const char *op, int call)
{
	fprintf(stderr, "collectives: %s, call %d: wrong data\n", op, call);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void
fill(unsigned char *at, const struct bench *b, int rank, int block, int call)
{
	for (int i = 0; i < b->bytes; i++)
		at[i] = byte_of(rank, block, i, call);
}

static int
same(const unsigned char *at, const struct bench *b, int rank, int block, int call)
{
	for (int i = 0; i < b->bytes; i++)
		if (at[i] != byte_of(rank, block, i, call))
			return 0;
	return 1;
}

/* ---- one function per operation: prepare (step 0), call (1), check (2; true: right) */

static int
bcast(struct bench *b, int step, int call)
{
	if (step == 0)
		fill(b->in, b, b->rank, 0, call);
	else if (step == 1)
		MPI_Bcast(b->in, b->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
	return step < 2 || same(b->in, b, 0, 0, call);
}

static int
allgather(struct bench *b, int step, int call)
{
	int right = 1;

	if (step == 0)
		fill(b->out, b, b->rank, 0, call);
	else if (step == 1)
		MPI_Allgather(b->out, b->bytes, MPI_BYTE, b->in, b->bytes, MPI_BYTE,
			      MPI_COMM_WORLD);
	for (int r = 0; step == 2 && r < b->size; r++)
		right &= same(b->in + (size_t)r * (size_t)b->bytes, b, r, 0, call);
	return right;
}

static int
alltoall(struct bench *b, int step, int call)
{
	int right = 1;

	for (int r = 0; r < b->size; r++) {
		size_t at = (size_t)r * (size_t)b->bytes;

		if (step == 0)
			fill(b->out + at, b, b->rank, r, call);
		else if (step == 2)
			right &= same(b->in + at, b, r, b->rank, call);
	}
	if (step == 1)
		MPI_Alltoall(b->out, b->bytes, MPI_BYTE, b->in, b->bytes, MPI_BYTE, MPI_COMM_WORLD);
	return right;
}

static int
allreduce(struct bench *b, int step, int call)
{
	unsigned *out = (unsigned *)(void *)b->out, *in = (unsigned *)(void *)b->in;
	int n = b->bytes / (int)sizeof(unsigned), right = 1;

	for (int i = 0; i < n; i++) {
		if (step == 0)
			out[i] = (unsigned)(b->rank + i + call);
		else if (step == 2)
			right &= in[i] == (unsigned)(b->size * (b->size - 1) / 2) +
						  (unsigned)b->size * (unsigned)(i + call);
	}
	if (step == 1)
		MPI_Allreduce(out, in, n, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
	return right;
}

static const struct op {
	const char *name;
	int (*run)(struct bench *b, int step, int call);
} ops[] = {{"bcast", bcast},
	   {"allgather", allgather},
	   {"alltoall", alltoall},
	   {"allreduce", allreduce}};

/* ---- measuring */

static int
by_time(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The longest of all processes; by plain messages, so that no collective call is in between. */
static void
collect(struct bench *b)
{
	double theirs[CALLS_MAX];

	if (b->rank != 0) {
		MPI_Send(b->took_s, b->calls, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD);
		return;
	}
	for (int r = 1; r < b->size; r++) {
		MPI_Recv(theirs, b->calls, MPI_DOUBLE, r, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < b->calls; i++)
			if (theirs[i] > b->took_s[i])
				b->took_s[i] = theirs[i];
	}
	qsort(b->took_s, (size_t)b->calls, sizeof(double), by_time);
}

static void
measure(struct bench *b, const struct op *op)
{
	struct timespec gap = {b->gap_ms / 1000, b->gap_ms % 1000 * 1000000L};

	for (int i = 0; i < b->calls; i++) {
		op->run(b, 0, i);
		nanosleep(&gap, NULL);
		MPI_Barrier(MPI_COMM_WORLD);
		double start = MPI_Wtime();
		op->run(b, 1, i);
		b->took_s[i] = MPI_Wtime() - start;
		/* Where processes share processors, who looks at what came takes them from those
		 * that still communicate. */
		MPI_Barrier(MPI_COMM_WORLD);
		if (!op->run(b, 2, i))
			wrong(op->name, i);
	}
	collect(b);
	if (b->rank == 0) {
		printf("%s %d %.3f %.3f %.3f\n", op->name, b->bytes, 1e3 * b->took_s[0],
		       1e3 * b->took_s[b->calls / 2], 1e3 * b->took_s[b->calls - 1]);
		fflush(stdout);
	}
}

static int
number(const char *text, int most)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (*end != '\0' || v < 0 || v > most) {
		fprintf(stderr, "collectives: %s is not a number from 0 to %d\n", text, most);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	return (int)v;
}

int
main(int argc, char **argv)
{
	struct bench b = {.bytes = 262144, .calls = 5};
	const char *wanted = "bcast,allgather,alltoall,allreduce";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b.size);
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--bytes") == 0)
			b.bytes = number(argv[i + 1], 1 << 28);
		else if (strcmp(argv[i], "--calls") == 0)
			b.calls = number(argv[i + 1], CALLS_MAX);
		else if (strcmp(argv[i], "--gap-ms") == 0)
			b.gap_ms = number(argv[i + 1], 60000);
		else if (strcmp(argv[i], "--ops") == 0)
			wanted = argv[i + 1];
	}
	b.out = malloc((size_t)b.bytes * (size_t)b.size + 1);
	b.in = malloc((size_t)b.bytes * (size_t)b.size + 1);
	if (b.out == NULL || b.in == NULL || b.calls == 0)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
		if (strstr(wanted, ops[k].name) != NULL)
			measure(&b, &ops[k]);
	if (b.rank == 0)
		printf("ok\n");
	free(b.out);
	free(b.in);
	MPI_Finalize();
	return 0;
}
