/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that poll instead of wait, on fewer cores than ranks: a token goes round by
 * MPI_Iprobe, then by MPI_Test.  If a poll that finds nothing kept the core, each hop
 * would cost a slice of the scheduler for every rank in between. */
#include "check.h"

#define ROUNDS 250

static void
by_probe(int left, int right)
{
	for (int i = 0; i < ROUNDS; i++) {
		int token = i, flag = 0;
		MPI_Status st;

		if (check_rank == 0)
			MPI_Send(&token, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
		while (!flag)
			MPI_Iprobe(left, 1, MPI_COMM_WORLD, &flag, &st);
		MPI_Recv(&token, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECKF(token == i, "round %d brought token %d", i, token);
		if (check_rank != 0)
			MPI_Send(&token, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
	}
}

static void
by_test(int left, int right)
{
	for (int i = 0; i < ROUNDS; i++) {
		int token = -1, flag = 0;
		MPI_Request r;

		MPI_Irecv(&token, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &r);
		if (check_rank == 0)
			MPI_Send(&i, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
		while (!flag)
			MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
		CHECKF(token == i, "round %d brought token %d", i, token);
		if (check_rank != 0)
			MPI_Send(&token, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
	}
}

int
main(int argc, char **argv)
{
	int left, right;

	start(&argc, &argv);
	left = (check_rank + check_size - 1) % check_size;
	right = (check_rank + 1) % check_size;
	by_probe(left, right);
	by_test(left, right);
	return finish();
}
