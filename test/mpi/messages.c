/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages in every form in which libmpitrace notes them; test/smoke/mpirun.sh looks at its trace.
 * An even number of ranks. */
#include "check.h"

#define ROOM 4096

static char in[2][ROOM], out[2][ROOM];
static int other, left, right;

/* What a receive from anybody had is known behind it. */
static void
from_anybody(void)
{
	MPI_Status s;
	int n;

	if (check_rank) {
		MPI_Send(out[0], 100 * check_rank, MPI_CHAR, 0, check_rank, MPI_COMM_WORLD);
		return;
	}
	for (int i = 1; i < check_size; i++) {
		MPI_Recv(in[0], ROOM, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
		MPI_Get_count(&s, MPI_CHAR, &n);
		CHECK(n == 100 * s.MPI_SOURCE && s.MPI_TAG == s.MPI_SOURCE);
	}
}

static void
swapped(void)
{
	MPI_Request r;

	MPI_Sendrecv(out[0], 10, MPI_DOUBLE, right, 1, in[0], 20, MPI_DOUBLE, left, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(out[0], 10, MPI_DOUBLE, MPI_PROC_NULL, 1, in[0], 20, MPI_DOUBLE, MPI_PROC_NULL,
		     1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Isendrecv(out[0], 77, MPI_CHAR, right, 11, in[0], ROOM, MPI_CHAR, left, 11,
		      MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* Two communicators of the same processes: what is sent second in one is taken first. */
static void
twins(void)
{
	MPI_Comm half, twin;
	MPI_Request r[4];
	int mine, n;
	MPI_Status s[4];

	MPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, -check_rank, &half);
	MPI_Comm_dup(half, &twin);
	MPI_Comm_rank(half, &mine);
	MPI_Irecv(in[0], ROOM, MPI_CHAR, 1 - mine, 5, twin, &r[0]);
	MPI_Irecv(in[1], ROOM, MPI_CHAR, MPI_ANY_SOURCE, 5, half, &r[1]);
	MPI_Isend(out[0], 300, MPI_CHAR, 1 - mine, 5, half, &r[2]);
	MPI_Issend(out[1], 400, MPI_CHAR, 1 - mine, 5, twin, &r[3]);
	MPI_Waitall(4, r, s);
	MPI_Get_count(&s[0], MPI_CHAR, &n);
	CHECK(n == 400);
	MPI_Comm_free(&twin);
	MPI_Comm_free(&half);
}

/* Started three times, waited for in three ways. */
static void
started_again(void)
{
	MPI_Request r[2];
	int n, which, at[2];

	MPI_Recv_init(in[0], ROOM, MPI_CHAR, other, 7, MPI_COMM_WORLD, &r[0]);
	MPI_Send_init(out[0], 64, MPI_CHAR, other, 7, MPI_COMM_WORLD, &r[1]);
	MPI_Startall(2, r);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Start(&r[1]);
	MPI_Start(&r[0]);
	for (int waits = 2; waits > 0; waits -= n) {
		MPI_Waitsome(2, r, &n, at, MPI_STATUSES_IGNORE);
		CHECK(n > 0);
	}
	MPI_Startall(2, r);
	for (int i = 0; i < 2; i++)
		MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE);
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
}

/* A message that is taken out of the queue before its receive; one that is given up. */
static void
taken_out(void)
{
	MPI_Request r[2];
	MPI_Message m;
	MPI_Status s;
	int flag = 0, n;

	MPI_Isend(out[0], 11, MPI_CHAR, other, 8, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(out[0], 12, MPI_CHAR, other, 8, MPI_COMM_WORLD, &r[1]);
	MPI_Probe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &s);
	CHECK(s.MPI_SOURCE == other);
	MPI_Mprobe(other, 8, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
	MPI_Recv(in[0], ROOM, MPI_CHAR, other, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Mrecv(in[1], ROOM, MPI_CHAR, &m, &s);
	MPI_Get_count(&s, MPI_CHAR, &n);
	CHECK(n == 11);
	while (!flag)
		MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
	MPI_Isend(out[0], 13, MPI_CHAR, other, 9, MPI_COMM_WORLD, &r[0]);
	for (flag = 0; !flag;)
		MPI_Improbe(other, 9, MPI_COMM_WORLD, &flag, &m, &s);
	MPI_Imrecv(in[1], ROOM, MPI_CHAR, &m, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Irecv(in[0], ROOM, MPI_CHAR, other, 10, MPI_COMM_WORLD, &r[0]);
	MPI_Cancel(&r[0]);
	MPI_Wait(&r[0], &s);
	MPI_Test_cancelled(&s, &flag);
	CHECK(flag);
}

/* Longer than the room for it; given up by who sends it, and by who would receive it, and never
 * looked at again. */
static void
cut_and_given_up(void)
{
	MPI_Request r;
	MPI_Status s;
	int class;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Send(out[0], 50, MPI_CHAR, other, 13, MPI_COMM_WORLD);
	MPI_Send(out[0], 60, MPI_CHAR, other, 14, MPI_COMM_WORLD);
	MPI_Error_class(MPI_Recv(in[0], 5, MPI_CHAR, other, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
			&class);
	CHECK(class == MPI_ERR_TRUNCATE);
	MPI_Irecv(in[0], 5, MPI_CHAR, MPI_ANY_SOURCE, 14, MPI_COMM_WORLD, &r);
	MPI_Error_class(MPI_Wait(&r, &s), &class);
	CHECK(class == MPI_ERR_TRUNCATE && s.MPI_SOURCE == other);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Issend(out[0], 70, MPI_CHAR, other, 15, MPI_COMM_WORLD, &r);
	MPI_Cancel(&r);
	MPI_Request_free(&r);
	MPI_Irecv(in[0], 5, MPI_CHAR, other, 16, MPI_COMM_WORLD, &r);
	MPI_Cancel(&r);
	MPI_Request_free(&r);
	MPI_Barrier(MPI_COMM_WORLD);
}

int
main(int argc, char **argv)
{
	start(&argc, &argv);
	other = check_rank ^ 1;
	left = (check_rank + check_size - 1) % check_size;
	right = (check_rank + 1) % check_size;
	from_anybody();
	MPI_Barrier(MPI_COMM_WORLD);
	swapped();
	twins();
	started_again();
	taken_out();
	cut_and_given_up();
	return finish();
}
