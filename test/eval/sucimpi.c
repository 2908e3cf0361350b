/* SPDX-License-Identifier: BSD-2-Clause */
/* sucimpi - what suci-perf measures, over MPI: the peers of `make eval-suci`.
 *
 *   sucimpi pingpong|burst|gather|tree SECONDS SIZE...
 *
 * Under a launcher; rank 0 leads.  Each size runs for about so many seconds; a line of JSON for it.
 * gather: every other rank sends to rank 0, which takes what comes.  tree: binomial, by messages,
 * as suci-perf does it, for neither has a call of its own for that here.  Blocks are numbered, and
 * a wrong number ends the job: exit status 1. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode { PINGPONG, BURST, GATHER, TREE, MODES };
static const char *const mode_name[MODES] = {"pingpong", "burst", "gather", "tree"};
enum { BLOCK = 1, RESULT = 2, GO = 3 };

static int rank, ranks;
static char *block;
static uint32_t *got; /* of each rank */

static void
send_block(int to, size_t size, uint32_t number)
{
	memcpy(block, &number, sizeof number);
	MPI_Send(block, (int)size, MPI_BYTE, to, BLOCK, MPI_COMM_WORLD);
}

static void
take_block(int from, size_t size)
{
	MPI_Status st;
	uint32_t number;
	int n;

	MPI_Recv(block, (int)size, MPI_BYTE, from, BLOCK, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, MPI_BYTE, &n);
	memcpy(&number, block, sizeof number);
	if (n != (int)size || number != got[st.MPI_SOURCE]++) {
		fprintf(stderr, "sucimpi: a block of rank %d is another\n", st.MPI_SOURCE);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* Rank 0's clock runs before any other sends.  A barrier alone does not see to that: who leaves it
 * first would fill buffers that rank 0 then empties as if it had taken no time. */
static void
start_all(void)
{
	int word = 0;

	for (int i = 1; rank == 0 && i < ranks; i++)
		MPI_Send(&word, 1, MPI_INT, i, GO, MPI_COMM_WORLD);
	if (rank > 0)
		MPI_Recv(&word, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Everybody else tells rank 0 that it is through. */
static void
tell_result(int others)
{
	int word = 0;

	for (int i = 0; rank == 0 && i < others; i++)
		MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	if (rank > 0 && rank <= others)
		MPI_Send(&word, 1, MPI_INT, 0, RESULT, MPI_COMM_WORLD);
}

static void
pass_down(size_t size, uint32_t count)
{
	int low = 1; /* the lowest bit of rank, or beyond all ranks */

	while (low < ranks && !(rank & low))
		low *= 2;
	for (uint32_t i = 0; i < count; i++) {
		if (rank)
			take_block(rank - low, size);
		for (int bit = low / 2; bit; bit /= 2)
			if (rank + bit < ranks)
				send_block(rank + bit, size, i);
	}
	tell_result(ranks - 1);
}

/* Seconds at rank 0. */
static double
play(enum mode mode, size_t size, uint32_t count)
{
	memset(got, 0, (size_t)ranks * sizeof *got);
	MPI_Barrier(MPI_COMM_WORLD);
	double begin = MPI_Wtime();
	switch (mode) {
	case PINGPONG:
		for (uint32_t i = 0; i < count && rank < 2; i++) {
			if (rank == 0)
				send_block(1, size, i);
			take_block(!rank, size);
			if (rank == 1)
				send_block(0, size, i);
		}
		break;
	case BURST:
		for (uint32_t i = 0; i < count; i++) {
			if (rank == 0)
				send_block(1, size, i);
			if (rank == 1)
				take_block(0, size);
		}
		tell_result(1);
		break;
	case GATHER:
		start_all();
		for (uint32_t i = 0; rank && i < count; i++)
			send_block(0, size, i);
		for (uint64_t i = 0; !rank && i < (uint64_t)count * (uint32_t)(ranks - 1); i++)
			take_block(MPI_ANY_SOURCE, size);
		break;
	case TREE:
		pass_down(size, count);
		break;
	case MODES:
		break;
	}
	return MPI_Wtime() - begin;
}

/* As many as fill the time, found in two steps. */
static void
measure(enum mode mode, size_t size, double seconds)
{
	uint32_t count = size >= 1u << 19 ? 2 : 16;
	double took = 0;

	for (int i = 0; i < 3; i++) {
		took = play(mode, size, count);
		double want = (i ? seconds : seconds / 10) * count / took;
		uint32_t next = want < 1 ? 1 : want > 1e8 ? 100000000 : (uint32_t)want;
		MPI_Bcast(&next, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
		if (i < 2)
			count = next;
	}
	if (rank == 0)
		printf("{\"size\": %zu, \"count\": %u, \"seconds\": %.9f}\n", size, count, took);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	enum mode mode = PINGPONG;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	while (argc > 3 && mode < MODES && strcmp(argv[1], mode_name[mode]) != 0)
		mode++;
	if (argc < 4 || mode == MODES || ranks < 2) {
		fprintf(stderr, "usage: sucimpi pingpong|burst|gather|tree SECONDS SIZE...\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	got = calloc((size_t)ranks, sizeof *got);
	for (int i = 3; i < argc; i++) {
		size_t size = strtoull(argv[i], NULL, 10);
		block = calloc(1, size < 4 ? 4 : size);
		if (!block || !got || size < 4 || size > 1u << 30)
			MPI_Abort(MPI_COMM_WORLD, 2);
		measure(mode, size, strtod(argv[2], NULL));
		free(block);
	}
	free(got);
	MPI_Finalize();
	return 0;
}
