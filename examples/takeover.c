/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that goes on when its processes die: under mpispd (doc/sp.md) a spare takes the rank of
 * one that died over, and the step that was under way is done again.
 *
 *	takeover [STEPS [MS]]		so many steps (200) of so many milliseconds (10)
 *
 * Each step adds up a number of each rank, and checks the sum.  All that a process has to know to
 * take a rank over is the number of the step, which it asks the others for. */
#include <mpi-ext.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOT_YET (1 << 30) /* the step of a new process */

static int rank, size;

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The lowest step that somebody has not done; all do it again from there. */
static int
agree_on_step(int *step)
{
	int mine = *step, all, rc;

	rc = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (rc == MPI_SUCCESS)
		*step = all == NOT_YET ? 0 : all;
	return rc;
}

static int
do_step(int step, int ms)
{
	double mine = rank + step, sum;
	int rc;

	usleep((useconds_t)ms * 1000);
	rc = MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (rc == MPI_SUCCESS && sum != size * (size - 1) / 2.0 + (double)size * step) {
		fprintf(stderr, "takeover: rank %d, step %d: the sum is %g\n", rank, step, sum);
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	return rc;
}

int
main(int argc, char **argv)
{
	int steps = argc > 1 ? (int)strtoul(argv[1], NULL, 10) : 200;
	int ms = argc > 2 ? (int)strtoul(argv[2], NULL, 10) : 10;
	int step = 0, again = 1, new = 0, repairs = 0, repaired = 0, rc;
	double last, gap = 0;
	MPI_Comm world;

	MPI_Init(&argc, &argv);
	last = now_s();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPIX_Comm_repair(MPI_COMM_WORLD, &world, &new);
	printf("takeover: rank %d is process %d%s at %.6f\n", rank, (int)getpid(),
	       new ? ", a new one" : "", last);
	fflush(stdout);
	if (new)
		step = NOT_YET;
	while (step < steps || again) {
		rc = again ? agree_on_step(&step) : do_step(step, ms);
		if (rc == MPIX_ERR_AGAIN) {
			rc = MPIX_Comm_repair(MPI_COMM_WORLD, &world, &new);
			MPI_Comm_rank(world, &rank); /* others, if the world shrinks */
			MPI_Comm_size(world, &size);
			again = repaired = 1;
			repairs++;
		} else if (rc == MPI_SUCCESS && again) {
			again = 0;
		} else if (rc == MPI_SUCCESS) {
			step++;
			if (repaired)
				printf("takeover: rank %d of %d goes on after %.1f ms\n", rank,
				       size, 1e3 * (now_s() - last));
			fflush(stdout);
			repaired = 0;
			gap = now_s() - last > gap ? now_s() - last : gap;
			last = now_s();
		}
		if (rc != MPI_SUCCESS)
			MPI_Abort(MPI_COMM_WORLD, 4);
	}
	if (rank == 0)
		printf("takeover: %d steps are right; %d repairs, longest gap %.1f ms\n", steps,
		       repairs, 1e3 * gap);
	MPI_Finalize();
	return 0;
}
