/* SPDX-License-Identifier: BSD-2-Clause */
/* One process sends more than the receivers' credit, all of it small, and finalizes at
 * once; the others receive it when it may long be gone.  And the other way round. */
#include "check.h"

#include <unistd.h>

#define N 300

int
main(int argc, char **argv)
{
	long bad = 0;
	int got = 0;

	start(&argc, &argv);
	if (check_rank == check_size - 1) {
		for (int i = 0; i < N; i++)
			for (int r = 0; r < check_size - 1; r++)
				MPI_Send(&i, 1, MPI_INT, r, i % 7, MPI_COMM_WORLD);
	} else {
		usleep(100000 * (unsigned)(check_size - check_rank));
		for (int i = 0; i < N; i++) {
			MPI_Recv(&got, 1, MPI_INT, check_size - 1, i % 7, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			bad += got != i;
		}
		CHECKF(bad == 0, "%ld messages of %d are wrong", bad, N);
	}
	MPI_Finalize();
	if (check_rank == 0)
		printf(check_failed ? "%ld checks failed\n" : "ok, %ld checks\n",
		       check_failed ? check_failed : check_done);
	return check_failed != 0;
}
