/* SPDX-License-Identifier: BSD-2-Clause */
/* count_mpi - what one MPI call costs in instructions, for callgrind (make count).
 *
 *   mpirun -n 2 count_mpi WHAT TURNS FILE
 *
 * Rank 0 is under callgrind, which counts inside count_turn(), rank 1 is not.  So that nothing is
 * waited for, rank 0 does not begin a turn before rank 1 has done its part of it; the two tell each
 * other by FILE, which both map, and not by messages.
 *
 *   send       MPI_Send of 8 B
 *   recv       MPI_Recv of 8 B that lies in the ring
 *   match      the same where 32 messages came before it that nobody has received
 *   allreduce  MPI_Allreduce of 8 B, the other's part being there
 *   window     MPI_Accumulate of 8 B to a window of the other, between nodes: the origin's side;
 *              with LIBMPI_TRANSPORT=udp, as the next
 *   udp        half a round trip between nodes: MPI_Recv of 8 B that lies in the socket, and
 *              MPI_Send of the answer
 *
 * LIBMPI_SPIN_US is to be long: who sleeps wants to be woken, which is another matter. */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TAG    5
#define BEFORE 32 /* messages that nobody has received */
#define WARM   8

struct shared {
	_Atomic int begun[2], ready[2]; /* turns, by rank */
};
static struct shared *shared;

static double in[1] = {1}, out[1];
static char buf[8];
static MPI_Win win;

static void
until(const _Atomic int *at, int turn)
{
	while (atomic_load(at) < turn)
		sched_yield();
}

__attribute__((noinline)) void count_turn(char what);
void
count_turn(char what)
{
	if (what == 's')
		MPI_Send(buf, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
	else if (what == 'a')
		MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	else if (what == 'w')
		MPI_Accumulate(in, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, win);
	else
		MPI_Recv(buf, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (what == 'u')
		MPI_Send(buf, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

static void
counted_side(char what, int turn)
{
	atomic_store(&shared->begun[0], turn);
	until(&shared->ready[1], turn);
	if (what == 'a')
		usleep(2000); /* it can say that it begins, but not that its message is there */
	count_turn(what);
	if (what == 'w')
		MPI_Win_flush(1, win);
	for (int i = 0; what == 'm' && i < BEFORE; i++)
		MPI_Recv(buf, 8, MPI_BYTE, 1, TAG + 1 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	atomic_store(&shared->ready[0], turn);
}

/* A flush wants an answer. */
static void
answer_until(int turn)
{
	int there;
	while (atomic_load(&shared->ready[0]) < turn)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

static void
other_side(char what, int turn)
{
	until(&shared->begun[0], turn);
	for (int i = 0; what == 'm' && i < BEFORE; i++)
		MPI_Send(buf, 8, MPI_BYTE, 0, TAG + 1 + i, MPI_COMM_WORLD);
	if (what == 'r' || what == 'm' || what == 'u')
		MPI_Send(buf, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
	atomic_store(&shared->ready[1], turn);
	if (what == 'a')
		MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	else if (what == 'w')
		answer_until(turn);
	else if (what == 's' || what == 'u')
		MPI_Recv(buf, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	until(&shared->ready[0], turn);
}

int
main(int argc, char **argv)
{
	int rank, fd, turns = argc == 4 ? (int)strtoul(argv[2], NULL, 10) : 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	fd = turns > 0 ? open(argv[3], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, sizeof *shared))
		MPI_Abort(MPI_COMM_WORLD, 2);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Win_create(out, sizeof out, sizeof out[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < WARM; i++) /* the way there and back is known */
		MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 1; i <= turns; i++)
		(rank == 0 ? counted_side : other_side)(argv[1][0], i);
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	if (rank == 0)
		printf("%d\n", turns);
	return 0;
}
