/* SPDX-License-Identifier: BSD-2-Clause */
/* How long it takes to start N processes: spawn start BEGAN_NS, run as N ranks by a launcher that
 * was called at that time of CLOCK_REALTIME; or spawn N ROUNDS, one rank, which starts N by
 * MPI_Comm_spawn, hears from each of them, and disconnects.  Each prints milliseconds, a line each:
 * until all are through MPI_Init; until MPI_Comm_spawn returns, until all have answered. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double
since_ms(long long began_ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)((long long)t.tv_sec * 1000000000 + t.tv_nsec - began_ns) / 1e6;
}

/* All of a launcher are there. */
static void
tell_started(long long began_ns)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%.2f\n", since_ms(began_ns));
}

static void
answer_parent(MPI_Comm parent)
{
	int x = 1;

	MPI_Send(&x, 1, MPI_INT, 0, 0, parent);
	MPI_Comm_disconnect(&parent);
}

static void
spawn_once(char *program, int n)
{
	double began = MPI_Wtime(), returned;
	MPI_Comm children;
	int x;

	MPI_Comm_spawn(program, MPI_ARGV_NULL, n, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
		       MPI_ERRCODES_IGNORE);
	returned = MPI_Wtime();
	for (int i = 0; i < n; i++)
		MPI_Recv(&x, 1, MPI_INT, i, 0, children, MPI_STATUS_IGNORE);
	printf("%.2f %.2f\n", (returned - began) * 1e3, (MPI_Wtime() - began) * 1e3);
	MPI_Comm_disconnect(&children);
}

int
main(int argc, char **argv)
{
	MPI_Comm parent;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		answer_parent(parent);
	else if (argc == 3 && !strcmp(argv[1], "start"))
		tell_started(strtoll(argv[2], NULL, 0));
	else
		for (int i = 0; argc == 3 && i < strtol(argv[2], NULL, 0); i++)
			spawn_once(argv[0], (int)strtol(argv[1], NULL, 0));
	MPI_Finalize();
	return 0;
}
