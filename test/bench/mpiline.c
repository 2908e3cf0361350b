/* SPDX-License-Identifier: BSD-2-Clause */
/* mpiline - what a line between two ranks costs, while all others wait: alpha, half a round trip of
 * 8 bytes, and beta, what each byte of 256 KiB adds to it.  Medians; rank 0 prints both, in
 * seconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define TURNS 101
#define LARGE (256 << 10)

static char buf[LARGE], in[LARGE];

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double
both_s(int rank, int turns)
{
	double took[TURNS];
	for (int i = 0; i < turns && rank < 2; i++) {
		double begin = MPI_Wtime();
		MPI_Sendrecv(buf, LARGE, MPI_BYTE, 1 - rank, 0, in, LARGE, MPI_BYTE, 1 - rank, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		took[i] = MPI_Wtime() - begin;
	}
	if (rank >= 2)
		return 0;
	qsort(took, (size_t)turns, sizeof *took, by_size);
	return took[turns / 2];
}

static double
half_s(int rank, int bytes, int turns)
{
	double took[TURNS];
	for (int i = 0; i < turns; i++) {
		double begin = MPI_Wtime();
		if (rank == 0) {
			MPI_Send(buf, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(buf, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else if (rank == 1) {
			MPI_Recv(buf, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(buf, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
		}
		took[i] = (MPI_Wtime() - begin) / 2;
	}
	qsort(took, (size_t)turns, sizeof *took, by_size);
	return took[turns / 2];
}

int
main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	double alpha = half_s(rank, 8, TURNS), large = half_s(rank, LARGE, 11);
	double both = both_s(rank, 11);
	if (rank == 0)
		printf("line %.9f %.12f %.3f\n", alpha, (large - alpha) / LARGE, both / large);
	return MPI_Finalize();
}
