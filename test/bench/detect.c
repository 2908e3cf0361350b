/* SPDX-License-Identifier: BSD-2-Clause */
/* How long until all know of a death: detect FILE, under mpirun --keep-going.
 *
 * The highest rank notes the time in FILE and kills itself; all others wait for a message of it,
 * and note when that fails.  Then the next one, until one is left.  Rank 0 prints a line for each
 * death: living ranks, us until the first and until the last of them knew. */
#include <fcntl.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* All wait for rank `last` of comm, which dies. */
static int64_t
wait_for_death(MPI_Comm comm, int last, volatile int64_t *died)
{
	int rank, x;

	MPI_Comm_rank(comm, &rank);
	MPI_Barrier(comm);
	if (rank == last) {
		usleep(20000); /* they wait, and sleep if they do that */
		*died = now_ns();
		raise(SIGKILL);
	}
	if (MPI_Recv(&x, 1, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS)
		MPI_Abort(comm, 1);
	return now_ns();
}

int
main(int argc, char **argv)
{
	MPI_Comm comm = MPI_COMM_WORLD, less;
	int size, rank, fd;
	int64_t mine[2], first, last;

	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_size(comm, &size);
	fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
	volatile int64_t *died =
		mmap(NULL, sizeof(*died), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (died == MAP_FAILED) {
		fprintf(stderr, "detect FILE: a file of 8 bytes or more\n");
		MPI_Abort(comm, 2);
	}
	for (; size > 1; size--) {
		mine[0] = wait_for_death(comm, size - 1, died) - *died;
		mine[1] = -mine[0];
		if (MPIX_Comm_shrink(comm, &less) != MPI_SUCCESS)
			MPI_Abort(comm, 1);
		comm = less;
		MPI_Comm_rank(comm, &rank);
		MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_INT64_T, MPI_MAX, comm);
		last = mine[0];
		first = -mine[1];
		if (rank == 0)
			printf("%d %.1f %.1f\n", size - 1, (double)first / 1e3, (double)last / 1e3);
	}
	MPI_Finalize();
	return 0;
}
