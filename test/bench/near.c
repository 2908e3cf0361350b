/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages between two processes of one machine: near world, two ranks; or near spawn, one rank and
 * who it starts.  A line for each length: bytes, half a round trip in us, MB/s. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP 50
#define TURN_S	0.2 /* about, for each length */

static char *buf;

static void
bounce_message(MPI_Comm comm, int peer, int begins, int bytes, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		if (begins)
			MPI_Send(buf, bytes, MPI_BYTE, peer, 0, comm);
		MPI_Recv(buf, bytes, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
		if (!begins)
			MPI_Send(buf, bytes, MPI_BYTE, peer, 0, comm);
	}
}

int
main(int argc, char **argv)
{
	static const int lengths[] = {8, 1024, 8192, 65536, 1 << 20, 4 << 20};
	MPI_Comm comm = MPI_COMM_WORLD;
	int rank, begins, peer = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(comm, &rank);
	begins = rank == 0;
	if (argc > 1 && !strcmp(argv[1], "world")) {
		peer = 1 - rank;
	} else {
		MPI_Comm_get_parent(&comm);
		begins = comm == MPI_COMM_NULL;
		if (begins)
			MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
				       &comm, MPI_ERRCODES_IGNORE);
	}
	buf = calloc(1, 4 << 20);
	for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
		int n = lengths[k], rounds;
		double t = MPI_Wtime();

		bounce_message(comm, peer, begins, n, WARM_UP);
		rounds = (int)(TURN_S / (MPI_Wtime() - t) * WARM_UP);
		rounds = rounds < WARM_UP ? WARM_UP : rounds > 20000 ? 20000 : rounds;
		if (begins)
			MPI_Send(&rounds, 1, MPI_INT, peer, 1, comm);
		else
			MPI_Recv(&rounds, 1, MPI_INT, peer, 1, comm, MPI_STATUS_IGNORE);
		t = MPI_Wtime();
		bounce_message(comm, peer, begins, n, rounds);
		t = (MPI_Wtime() - t) / rounds / 2;
		if (begins)
			printf("%d %.3f %.1f\n", n, t * 1e6, n / t / 1e6);
	}
	if (comm != MPI_COMM_WORLD)
		MPI_Comm_disconnect(&comm);
	MPI_Finalize();
	return 0;
}
