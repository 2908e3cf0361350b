/* SPDX-License-Identifier: BSD-2-Clause */
/* Survivors start a new process in the place of a dead one, and go on with it: revoke, agree and
 * shrink on communicators with processes of several jobs.  Then the new one dies, too, while all
 * wait for somebody who stays away; nobody has told them but their paths.
 *
 * Under mpirun --keep-going, two ranks or more. */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>

/* The living of comm and n new processes, which have the last ranks. */
static MPI_Comm
with_new(MPI_Comm comm, const char *program, int n)
{
	MPI_Comm inter, all;
	int flag = 6;

	CHECK(MPI_Comm_spawn(program, MPI_ARGV_NULL, n, MPI_INFO_NULL, 0, comm, &inter,
			     MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
	CHECK(MPIX_Comm_agree(inter, &flag) == MPI_SUCCESS && flag == 3);
	CHECK(MPI_Intercomm_merge(inter, 0, &all) == MPI_SUCCESS);
	MPI_Comm_free(&inter);
	MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
	return all;
}

/* All of both jobs; rank 0 gets a sum, revokes, and shrinks with the others. */
static MPI_Comm
work_together(MPI_Comm all)
{
	int rank, n, flag, x = 1, sum = 0;
	MPI_Comm next;

	MPI_Comm_rank(all, &rank);
	MPI_Comm_size(all, &n);
	CHECK(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, all) == MPI_SUCCESS && sum == n);
	flag = ~(1 << rank);
	CHECK(MPIX_Comm_agree(all, &flag) == MPI_SUCCESS && (flag & ((1 << n) - 1)) == 0);
	if (rank == 0)
		MPIX_Comm_revoke(all);
	else
		WANT(MPIX_ERR_REVOKED, MPI_Recv(&x, 1, MPI_INT, 0, 9, all, MPI_STATUS_IGNORE));
	CHECK(MPIX_Comm_shrink(all, &next) == MPI_SUCCESS);
	MPI_Comm_size(next, &sum);
	CHECK(sum == n);
	MPI_Comm_free(&all);
	MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
	return next;
}

static void
as_new(MPI_Comm parent)
{
	MPI_Comm all;
	int flag = 3, x;

	CHECK(MPIX_Comm_agree(parent, &flag) == MPI_SUCCESS && flag == 6);
	CHECK(MPI_Intercomm_merge(parent, 1, &all) == MPI_SUCCESS);
	MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
	all = work_together(all);
	MPI_Recv(&x, 1, MPI_INT, 0, 1, all, MPI_STATUS_IGNORE);
	raise(SIGKILL);
}

/* The last one of all is dead, or about to be. */
static void
after_second_death(MPI_Comm all)
{
	MPI_Comm less;
	MPI_Group g;
	int n, m, x = 0;

	if (check_rank != 0)
		WANT(MPIX_ERR_PROC_FAILED, MPI_Bcast(&x, 1, MPI_INT, 0, all));
	MPI_Comm_size(all, &n);
	CHECK(MPIX_Comm_shrink(all, &less) == MPI_SUCCESS);
	MPI_Comm_size(less, &m);
	CHECK(m == n - 1);
	CHECK(MPIX_Comm_get_failed(all, &g) == MPI_SUCCESS);
	MPI_Group_size(g, &m);
	CHECK(m == 1);
	MPI_Group_free(&g);
	WANT(MPIX_ERR_PROC_FAILED, MPI_Send(&x, 1, MPI_INT, n - 1, 1, all));
	int mine = (int)check_failed, sum = 0;
	CHECK(MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, less) == MPI_SUCCESS);
	if (check_rank == 0)
		printf("%s: %ld checks, %d failed\n", sum ? "FAIL" : "ok", check_done, sum);
	MPI_Comm_free(&less);
}

/* Nothing is started, and the root, who alone knows how many were wanted, is told so of each. */
static void
spawn_with_the_dead(char *program)
{
	int codes[3] = {-1, -1, -1};
	MPI_Comm none;

	WANT(MPIX_ERR_PROC_FAILED, MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0,
						  MPI_COMM_WORLD, &none, codes));
	CHECK(none == MPI_COMM_NULL && codes[2] == -1);
	for (int i = 0; i < 2; i++)
		CHECK(codes[i] == (check_rank == 0 ? MPIX_ERR_PROC_FAILED : -1));
}

int
main(int argc, char **argv)
{
	MPI_Comm parent, less, all;
	int x = 0, rank;

	start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		as_new(parent);
	if (check_rank == check_size - 1)
		raise(SIGKILL);
	while (MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS)
		;
	spawn_with_the_dead(argv[0]);
	CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &less) == MPI_SUCCESS);
	all = work_together(with_new(less, argv[0], 1));
	MPI_Comm_rank(all, &rank);
	if (rank == 0)
		MPI_Send(&x, 1, MPI_INT, check_size - 1, 1, all);
	after_second_death(all);
	MPI_Comm_free(&all);
	MPI_Comm_free(&less);
	MPI_Finalize();
	return check_failed != 0;
}
