/* SPDX-License-Identifier: BSD-2-Clause */
/* Under mpirun --keep-going ranks die as soon as they are through with a collective call.  It ends
 * well for the others, too, however late they or those between them and the dead are. */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

#define LATE_US 200000 /* the others have long heard of the death */

static MPI_Comm comm;
static int rank, size;

static void
drop_dead(void)
{
	MPI_Comm less;

	CHECK(MPIX_Comm_shrink(comm, &less) == MPI_SUCCESS);
	if (comm != MPI_COMM_WORLD)
		MPI_Comm_free(&comm);
	comm = less;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
}

/* All wait for what the root says last.  Some pass it on, and come late to that: all but one. */
static void
root_dies(int round)
{
	int said = rank == 0 ? 100 + round : 0, nothing = 0;
	MPI_Request r = MPI_REQUEST_NULL;

	if (rank != 0)
		MPI_Ibcast(&said, 1, MPI_INT, 0, comm, &r);
	/* All others are in the call. */
	for (int from = 1; from < size; from++)
		if (rank == from)
			MPI_Send(&nothing, 1, MPI_INT, 0, round, comm);
		else if (rank == 0)
			MPI_Recv(&nothing, 1, MPI_INT, from, round, comm, MPI_STATUS_IGNORE);
	if (rank == 0) {
		MPI_Ibcast(&said, 1, MPI_INT, 0, comm, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		raise(SIGKILL);
	}
	if (rank != size - 1)
		usleep(LATE_US);
	CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && said == 100 + round);
}

/* A call of few messages, and one that makes a communicator. */
static void
leaf_dies(void)
{
	MPI_Comm copy = MPI_COMM_NULL;
	int rc = MPI_Barrier(comm);

	CHECK(rc == MPI_SUCCESS);
	rc = MPI_Comm_dup(comm, &copy);
	if (rank == size - 1)
		raise(SIGKILL);
	CHECK(rc == MPI_SUCCESS);
	MPI_Comm_free(&copy);
}

/* Messages of anybody are asked for until the barrier behind all of them is over, as programs do
 * that do not know who writes to them.  One of them goes as soon as it is over for it. */
static void
asker_dies(void)
{
	int flag = 0, over = 0;
	MPI_Status st;
	MPI_Request r;

	MPI_Ibarrier(comm, &r);
	if (rank == size - 1) {
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		raise(SIGKILL);
	}
	/* What it needs of the others goes on; they do not look at the barrier. */
	for (double t = MPI_Wtime(); MPI_Wtime() - t < LATE_US * 1e-6;)
		MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, &st);
	while (!over) {
		CHECK(MPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &flag, &st) == MPI_SUCCESS && !flag);
		CHECK(MPI_Test(&r, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	}
}

int
main(int argc, char **argv)
{
	/* So long nobody is to wait here: those who are late come. */
	setenv("LIBMPI_LAST_WORDS_MS", "30000", 0);
	start(&argc, &argv);
	comm = MPI_COMM_WORLD;
	rank = check_rank;
	size = check_size;
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (int round = 0; size > 3; round++) {
		if (round % 3 == 0)
			root_dies(round);
		else if (round % 3 == 1)
			leaf_dies();
		else
			asker_dies();
		drop_dead();
	}
	int sum = 0, mine = (int)check_failed;
	MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, comm);
	if (rank == 0)
		printf("%s: %ld checks, %d failed\n", sum ? "FAIL" : "ok", check_done, sum);
	MPI_Finalize();
	return check_failed != 0;
}
